// @ts-check
/// <reference lib="dom" />
/**
 * The splits: how far each one's watermark is behind the wall clock, on a scale that shows a second as well as a day, and
 * what is in its mailboxes.
 */
import { byId, bytes, count, drawn, duration, element, setText, short, visible } from "./text.js";

/** @typedef {import("../adapters/http/status.ts").Status} Status */
/** @typedef {import("../adapters/http/status.ts").SplitStatus} SplitStatus */

const HEAD = [
  "Split",
  "Watermark, behind now",
  "Moved by",
  "Records",
  "Waiting",
  "Pairs",
  "Window",
  "Mailboxes",
  "Checkpoint",
];
/** Marks on the scale, s. */
const MARKS = /** @type {const} */ ([["1 s", 1], ["1 min", 60], ["1 h", 3600], ["1 d", 86_400]]);
/** Bars that a row of mailboxes has room for: of more, each shows the fullest of several. */
const BARS_MAX = 32;

/** See above. */
export class Splits {
  constructor() {
    this.body = element("tbody");
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    const heads = HEAD.map((text) => element("th", { scope: "col" }, text));
    heads[1]?.append(scale());
    byId("splits").append(element(
      "table",
      { class: "splits" },
      element("caption", { class: "unseen" }, "Splits"),
      element("thead", {}, element("tr", {}, ...heads)),
      this.body,
    ));
  }

  /** @param {Status} status */
  update(status) {
    const names = new Set(status.splits.map(({ name }) => name));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.tr.remove();
      this.rows.delete(name);
    }
    for (const split of status.splits) {
      let row = this.rows.get(split.name);
      if (row === undefined) {
        row = new Row(split.name);
        this.rows.set(split.name, row);
        this.body.append(row.tr);
      }
      row.update(split, status);
    }
    setText(
      byId("splits-hint"),
      `The watermark is held ${
        duration(status.lateness_s)
      } back (dwell.lateness). Without records it follows the wall clock.`,
    );
  }
}

class Row {
  /** @param {string} name */
  constructor(name) {
    this.lag = element("span", { class: "lag" });
    this.track = new Track();
    this.mover = element("td");
    this.read = element("td");
    this.waiting = element("td");
    this.pairs = element("td");
    this.window = element("td");
    this.boxes = new Boxes();
    this.checkpoint = element("td");
    this.tr = element(
      "tr",
      {},
      element("th", { scope: "row" }, visible(name)),
      element("td", { class: "clock" }, this.track.svg, this.lag),
      this.mover,
      this.read,
      this.waiting,
      this.pairs,
      this.window,
      element("td", { class: "boxes" }, this.boxes.svg, this.boxes.text),
      this.checkpoint,
    );
  }

  /**
   * @param {SplitStatus} split
   * @param {Status} status
   */
  update(split, { sample, lateness_s }) {
    const lagS = split.watermark === null ? null : (sample.at - split.watermark) / 1000;
    setText(this.lag, lagS === null ? "no record yet" : duration(lagS));
    this.track.update(lagS, lateness_s);
    setText(this.mover, split.watermark === null ? "" : split.following ? "wall clock" : "records");
    setText(this.read, short(split.read));
    setText(this.waiting, short(split.waiting));
    setText(this.pairs, short(split.pairs));
    setText(this.window, `${short(split.window.ids)} ids, ${bytes(split.window.bytes)}`);
    this.boxes.update(split.mailboxes, split.mailbox_capacity);
    const { number, took_s, age_s, bytes: written } = split.checkpoint;
    const age = age_s > 1 ? `, ${duration(age_s)} due` : "";
    setText(this.checkpoint, `${count(number)}: ${bytes(written)} in ${duration(took_s)}${age}`);
  }
}

/** The scale: now at the right, a day and more at the left. */
class Track {
  constructor() {
    this.svg = drawn("svg", { viewBox: "0 0 200 18", class: "track", "aria-hidden": "true" });
    this.svg.append(drawn("rect", { class: "ground", x: "0", y: "7", width: "200", height: "4", rx: "2" }));
    this.bar = drawn("rect", { class: "behind", y: "7", height: "4", rx: "2" });
    this.svg.append(this.bar);
    for (const [, mark] of MARKS) {
      this.svg.append(
        drawn("line", {
          class: "mark",
          x1: String(placeOf(mark)),
          x2: String(placeOf(mark)),
          y1: "5",
          y2: "13",
        }),
      );
    }
    this.lateness = drawn("line", { class: "lateness", y1: "2", y2: "16" });
    this.at = drawn("circle", { class: "at", cy: "9", r: "5" });
    this.svg.append(this.lateness, this.at);
  }

  /**
   * @param {number | null} lagS
   * @param {number} latenessS
   */
  update(lagS, latenessS) {
    const late = placeOf(latenessS);
    this.lateness.setAttribute("x1", String(late));
    this.lateness.setAttribute("x2", String(late));
    const at = lagS === null ? 200 : placeOf(Math.max(0, lagS));
    this.at.setAttribute("cx", String(Math.min(195, Math.max(5, at))));
    this.at.setAttribute("visibility", lagS === null ? "hidden" : "visible");
    this.bar.setAttribute("x", String(at));
    this.bar.setAttribute("width", String(200 - at));
  }
}

/** @returns {SVGElement} the words of the scale */
function scale() {
  const svg = drawn("svg", { viewBox: "0 0 200 12", class: "scale", "aria-hidden": "true" });
  for (const [label, mark] of MARKS) {
    svg.append(drawn("text", { x: String(placeOf(mark)), y: "10", "text-anchor": "middle" }, label));
  }
  return svg;
}

/**
 * By the logarithm: 0 s at 200, a second at some 175, a day at 15.
 * @param {number} seconds
 * @returns {number}
 */
function placeOf(seconds) {
  return Math.max(0, 200 - Math.log10(1 + seconds * 2) * 35.3);
}

/** A bar for each mailbox. */
class Boxes {
  constructor() {
    this.svg = drawn("svg", { class: "mailboxes", "aria-hidden": "true", preserveAspectRatio: "none" });
    this.text = element("span");
    /** @type {SVGElement[]} */
    this.bars = [];
  }

  /**
   * @param {readonly number[]} depths
   * @param {number} capacity
   */
  update(depths, capacity) {
    const per = Math.ceil(depths.length / BARS_MAX);
    const shown = Math.ceil(depths.length / per);
    if (this.bars.length !== shown) this.#build(shown);
    this.bars.forEach((bar, i) => {
      const fill = Math.max(0, ...depths.slice(i * per, (i + 1) * per)) / capacity;
      const height = Math.max(1, Math.min(1, fill) * 16);
      bar.setAttribute("height", height.toFixed(1));
      bar.setAttribute("y", (17 - height).toFixed(1));
      bar.setAttribute("class", fill > 0.5 ? "full" : fill > 0 ? "some" : "none");
    });
    const fullest = Math.max(0, ...depths) / capacity;
    setText(this.text, fullest === 0 ? "empty" : `fullest ${Math.max(1, Math.round(fullest * 100))} %`);
  }

  /** @param {number} shown */
  #build(shown) {
    this.svg.setAttribute("viewBox", `0 0 ${shown * 4} 18`);
    this.bars = Array.from({ length: shown }, (_, i) => drawn("rect", { x: String(i * 4), width: "3" }));
    this.svg.replaceChildren(...this.bars);
  }
}
