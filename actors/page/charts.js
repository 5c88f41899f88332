// @ts-check
/// <reference lib="dom" />
/**
 * The charts, by uplot: what came in and what became of it, what went out, and the share of copies. Beside each its key
 * with the values of now, or of where the pointer is; below them a table that says the same.
 */
import { RATIO_HIGH, RATIO_LOW } from "./health.js";
import { byId, clockTime, drawn, element, percent, rate, setText, table } from "./text.js";

/** @typedef {import("./samples.js").Samples} Samples */
/** @typedef {import("./samples.js").Column} Column */
/** @typedef {import("uplot")} UPlot */
/** @typedef {{ label: string, column: Column, colour: string, dash?: number[] }} Line */
/** @typedef {(value: number | null | undefined) => string} Format */

/** Seconds in a point: fewer would be noise. */
const STEP_S = 5;
const RATIO_STEP_S = 30;
const SPAN_S = 900;
const HEIGHT = 148;

/** @type {Format} */
const perSecond = (value) => value === null || value === undefined ? "—" : `${rate(value)}/s`;
/** @type {Format} */
const share = (value) => value === null || value === undefined ? "—" : percent(value);

/** @type {readonly { id: string, title: string, lines: readonly Line[] }[]} */
const RATES = [
  {
    id: "in",
    title: "Records in",
    lines: [
      { label: "Read", column: "read", colour: "--in" },
      { label: "Copies suppressed", column: "suppressed", colour: "--copies", dash: [6, 3] },
      { label: "Dead letters", column: "dead_lettered", colour: "--dead", dash: [2, 3] },
      { label: "Refused", column: "refused", colour: "--refused", dash: [8, 3, 2, 3] },
    ],
  },
  {
    id: "out",
    title: "Triggers out",
    lines: [
      { label: "ENTER", column: "enter", colour: "--enter" },
      { label: "EXIT", column: "exit", colour: "--exit", dash: [6, 3] },
      { label: "DWELL", column: "dwell", colour: "--dwell", dash: [2, 3] },
      { label: "RETRACT", column: "retract", colour: "--dead", dash: [8, 3, 2, 3] },
    ],
  },
];

/** One chart, with its key. */
class Chart {
  /**
   * @param {HTMLElement} parent
   * @param {{ id: string, title: string, lines: readonly Pick<Line, "label" | "colour" | "dash">[] }} shape
   * @param {{ format: Format, band?: readonly [number, number], least: number }} axis
   */
  constructor(parent, { id, title, lines }, axis) {
    this.lines = lines;
    this.axis = axis;
    /** @type {(number | null)[][]} */
    this.data = [[], ...lines.map(() => [])];
    /** @type {UPlot | null} */
    this.plot = null;
    this.values = lines.map(() => element("span", { class: "value" }, "—"));
    this.at = element("span", { class: "at" });
    const keys = lines.map(({ label, colour, dash }, i) =>
      element("li", {}, keyMark(colour, dash), label, " ", this.values[i] ?? "")
    );
    this.holder = element("div", { class: "plot", role: "img", "aria-labelledby": `chart-${id}` });
    parent.append(element(
      "figure",
      {},
      element(
        "figcaption",
        {},
        element("h3", { id: `chart-${id}` }, title),
        element("ul", { class: "keys" }, ...keys),
        this.at,
      ),
      this.holder,
    ));
    new ResizeObserver(() => this.resize()).observe(this.holder);
  }

  /** Draws it anew, in the colours of now. */
  build() {
    this.plot?.destroy();
    const { format, band, least } = this.axis;
    const grid = { stroke: colourOf("--rule"), width: 1 };
    const text = { stroke: colourOf("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false } };
    /** @type {import("uplot").Options} */
    const options = {
      width: Math.max(50, this.holder.clientWidth),
      height: HEIGHT,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        // Always the whole quarter of an hour: a place on the axis has one meaning.
        x: { range: () => this.span() },
        y: { range: (_plot, _low, high) => [0, Math.max(least, (high ?? 0) * 1.1)] },
      },
      axes: [
        {
          ...text,
          grid: { show: false },
          size: 24,
          values: (_plot, ticks) => ticks.map(minuteOf),
          space: 70,
          incrs: [60, 120, 180, 300],
        },
        {
          ...text,
          grid,
          size: 52,
          space: 36,
          values: (_plot, ticks) => ticks.map((tick) => format(tick).replace("/s", "")),
        },
      ],
      series: [
        {},
        ...this.lines.map(({ label, colour, dash }, i) => ({
          label,
          stroke: colourOf(colour),
          width: i === 0 ? 2 : 1.5,
          points: { show: false },
          ...(dash === undefined ? {} : { dash }),
          ...(i === 0 && band === undefined ? { fill: colourOf(`${colour}-wash`) } : {}),
        })),
      ],
      hooks: {
        setCursor: [() => this.showValues()],
        ...(band === undefined ? {} : { drawClear: [(plot) => drawBand(plot, band)] }),
      },
    };
    const Plot = /** @type {typeof import("uplot")} */ (Reflect.get(globalThis, "uPlot"));
    this.plot = new Plot(options, /** @type {import("uplot").AlignedData} */ (this.data), this.holder);
    // Its text is in the table; what is in the canvas nobody can read.
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  /** @param {(number | null)[][]} data times first */
  update(data) {
    this.data = data;
    if (this.plot === null) this.build();
    else this.plot.setData(/** @type {import("uplot").AlignedData} */ (data));
    this.showValues();
  }

  /** @returns {[number, number]} of the times on the axis, s */
  span() {
    const end = this.data[0]?.at(-1) ?? Date.now() / 1000;
    return [end - SPAN_S, end];
  }

  resize() {
    this.plot?.setSize({ width: Math.max(50, this.holder.clientWidth), height: HEIGHT });
  }

  /** Those where the pointer is, or the last. */
  showValues() {
    const hovered = this.plot?.cursor.idx ?? null;
    const index = hovered ?? (this.data[0]?.length ?? 0) - 1;
    this.values.forEach((value, i) => setText(value, this.axis.format(this.data[i + 1]?.[index])));
    setText(this.at, hovered === null ? "" : clockTime((this.data[0]?.[index] ?? 0) * 1000));
  }
}

/** All of them. */
export class Charts {
  constructor() {
    const parent = byId("charts");
    this.rates = RATES.map((shape) => ({
      shape,
      chart: new Chart(parent, shape, { format: perSecond, least: 1 }),
    }));
    this.ratio = new Chart(
      parent,
      {
        id: "ratio",
        title: "Share of copies",
        lines: [{ label: "of all that was judged; 1 to 5 % is usual", colour: "--copies" }],
      },
      { format: share, band: [RATIO_LOW, RATIO_HIGH], least: 0.06 },
    );
    this.details = /** @type {HTMLDetailsElement} */ (byId("charts-table"));
    document.addEventListener("theme", () => {
      for (const { chart } of this.rates) chart.build();
      this.ratio.build();
    });
  }

  /** @param {Samples} samples */
  update(samples) {
    for (const { shape, chart } of this.rates) {
      const { times, values } = samples.steps(shape.lines.map(({ column }) => column), STEP_S);
      chart.update([times, ...values]);
    }
    const { times, values: [suppressed = [], received = []] } = samples.steps(
      ["suppressed", "received"],
      RATIO_STEP_S,
    );
    this.ratio.update([
      times,
      suppressed.map((rate, i) => {
        const of = received[i] ?? 0;
        return rate === null || of === 0 ? null : rate / of;
      }),
    ]);
    if (this.details.open) this.#updateTable(samples);
  }

  /** @param {Samples} samples */
  #updateTable(samples) {
    const lines = RATES.flatMap(({ lines }) => lines);
    const { times, values } = samples.steps(lines.map(({ column }) => column), 60);
    const rows = times.map((time, i) => [
      minuteOf(time),
      ...values.map((column) => perSecond(column[i])),
    ]).reverse();
    this.details.querySelector(".scroll")?.replaceChildren(
      table("Rates by minute, the newest first", ["Until", ...lines.map(({ label }) => label)], rows),
    );
  }
}

/**
 * @param {UPlot} plot
 * @param {readonly [number, number]} band
 */
function drawBand(plot, [low, high]) {
  const { ctx, bbox } = plot;
  const top = plot.valToPos(high, "y", true);
  ctx.save();
  ctx.fillStyle = colourOf("--band");
  ctx.fillRect(bbox.left, top, bbox.width, plot.valToPos(low, "y", true) - top);
  ctx.restore();
}

/**
 * A piece of the line, as it is in the chart.
 * @param {string} colour
 * @param {number[]} [dash]
 * @returns {SVGElement}
 */
function keyMark(colour, dash) {
  const line = { x1: "0", x2: "18", y1: "4", y2: "4", "stroke-width": "2.5", class: `stroke${colour}` };
  const dashes = dash === undefined ? {} : { "stroke-dasharray": dash.join(" ") };
  return drawn(
    "svg",
    { viewBox: "0 0 18 8", class: "key", "aria-hidden": "true" },
    drawn("line", { ...line, ...dashes }),
  );
}

/**
 * A colour of the style sheet as it is now, light or dark: a canvas doesn't know of either.
 * @param {string} name
 * @returns {string}
 */
function colourOf(name) {
  const probe = byId("charts");
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.style.color = "";
  return color;
}

/**
 * @param {number} seconds
 * @returns {string}
 */
function minuteOf(seconds) {
  const date = new Date(seconds * 1000);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}
