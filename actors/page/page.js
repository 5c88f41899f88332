// @ts-check
/// <reference lib="dom" />
/**
 * The page: asks for the status once a second and hands it to its parts.
 *
 * While nobody sees it, it does not ask; when it is seen again, it asks for what it has missed.
 */
import { getStatus, Refusal, token } from "./api.js";
import { Charts } from "./charts.js";
import { DeviceSearch } from "./device.js";
import { healthOf, RATIO_HIGH, RATIO_LOW, suppressedRatio } from "./health.js";
import { Latest } from "./latest.js";
import { Samples } from "./samples.js";
import { Splits } from "./splits.js";
import { byId, clockTime, count, duration, element, percent, rate, setText, short } from "./text.js";
import { TokenForm } from "./token.js";
import { Webhooks } from "./webhooks.js";
import { Wheel } from "./wheel.js";

/** @typedef {import("./api.js").StatusAnswer} StatusAnswer */
/** @typedef {import("./health.js").Health} Health */

const ASK_MS = 1000;
const ASK_MS_MAX = 5000;
/** A rate is over so many seconds. */
const RATE_S = 10;

const WORDS = { well: "All is well", look: "Look here", ill: "Look here now" };
const FIGURES = /** @type {const} */ ([
  ["records", "Records a second"],
  ["triggers", "Triggers a second"],
  ["ratio", "Share of copies"],
  ["pending", "Dwells pending"],
  ["behind", "Watermark behind"],
  ["durable", "Durable within"],
  ["refused", "Refused, last minute"],
  ["letters", "Dead letters, last minute"],
]);

class Page {
  constructor() {
    this.samples = new Samples();
    this.charts = new Charts();
    this.wheel = new Wheel();
    this.splits = new Splits();
    this.webhooks = new Webhooks();
    this.search = new DeviceSearch();
    this.latest = new Latest((device) => this.search.show(device));
    this.token = new TokenForm(() => this.again());
    this.figures = new Map(FIGURES.map(([name, label]) => {
      const value = element("dd", {}, "—");
      const note = element("dd", { class: "note" });
      byId("figures").append(element("div", { "data-figure": name }, element("dt", {}, label), value, note));
      return [name, { value, note }];
    }));
    this.needsHistory = true;
    this.isPaused = false;
    this.failures = 0;
    this.lastMs = NaN;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.isAsking = false;
    /** What a screen reader was told last. */
    /** @type {string} */
    this.said = "";
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.again();
    });
    byId("pause").addEventListener("click", () => this.pause(!this.isPaused));
  }

  /** Asks now, for the history as well. */
  again() {
    this.needsHistory = true;
    clearTimeout(this.timer);
    if (!this.isAsking) this.ask();
  }

  /** @param {boolean} isPaused */
  pause(isPaused) {
    this.isPaused = isPaused;
    const button = byId("pause");
    button.setAttribute("aria-pressed", String(isPaused));
    setText(button, isPaused ? "Go on" : "Pause");
    document.documentElement.classList.toggle("paused", isPaused);
    if (!isPaused) this.again();
  }

  async ask() {
    if (document.hidden || this.isPaused) return;
    this.isAsking = true;
    try {
      const withHistory = this.needsHistory;
      const status = await getStatus(withHistory);
      if (withHistory) this.needsHistory = false;
      this.failures = 0;
      this.token.done();
      this.show(status);
    } catch (error) {
      this.failures++;
      this.needsHistory = true;
      this.showFailure(error);
    } finally {
      this.isAsking = false;
    }
    this.timer = setTimeout(() => this.ask(), Math.min(ASK_MS_MAX, ASK_MS * Math.max(1, this.failures)));
  }

  /** @param {StatusAnswer} status */
  show(status) {
    if (this.isPaused) return;
    this.lastMs = Date.now();
    if (status.history !== undefined) this.samples.load(status.history);
    this.samples.push(status.sample);
    const { source, version, uptime_s } = status;
    setText(byId("facts"), `${version} · ${source.type} ${source.name} · up ${duration(uptime_s)}`);
    this.showHealth(healthOf(status, this.samples));
    this.showFigures(status);
    this.charts.update(this.samples);
    this.wheel.update(status);
    this.splits.update(status);
    this.webhooks.update(status);
    this.latest.update(status);
  }

  /** @param {Health} health */
  showHealth({ level, reasons, note }) {
    byId("health").dataset["level"] = level;
    setText(byId("health-words"), WORDS[level]);
    setText(byId("health-note"), reasons.length === 0 ? note : "");
    document.title = level === "well" ? "Fencepost" : `${WORDS[level]} · Fencepost`;
    const list = byId("reasons");
    while (list.childElementCount > reasons.length) list.lastElementChild?.remove();
    reasons.forEach(({ level, name, text }, i) => {
      const item = list.children[i] ??
        list.appendChild(element("li", {}, element("strong"), " ", element("span")));
      item.className = level;
      setText(/** @type {Element} */ (item.firstElementChild), name);
      setText(/** @type {Element} */ (item.lastElementChild), text);
    });
    this.announce([WORDS[level], ...reasons.map(({ name }) => name)].join(": "));
  }

  /**
   * Says what has changed, once: numbers that change each second would never be silent.
   * @param {string} text
   */
  announce(text) {
    if (text === this.said) return;
    this.said = text;
    setText(byId("announce"), text);
  }

  /** @param {StatusAnswer} status */
  showFigures({ splits, sample, pending, in_flight, dead_letters }) {
    const { samples } = this;
    const kinds = /** @type {const} */ (["enter", "exit", "dwell", "retract"]);
    const triggers = kinds.reduce((sum, kind) => sum + samples.rate(kind, RATE_S), 0);
    const told = kinds.reduce((sum, kind) => sum + sample[kind], 0);
    this.figure("records", rate(samples.rate("read", RATE_S)), `${short(sample.read)} read`);
    this.figure("triggers", rate(triggers), `${short(told)} told`);
    const ratio = suppressedRatio(samples);
    const isUsual = ratio === null || (ratio >= RATIO_LOW && ratio <= RATIO_HIGH);
    this.figure(
      "ratio",
      ratio === null ? "—" : percent(ratio),
      ratio === null ? "too few to tell" : "1 to 5 % is usual",
      !isUsual,
    );
    const next = pending.next_s === null ? "" : `next in ${duration(pending.next_s)}`;
    this.figure(
      "pending",
      short(sample.pending),
      pending.overdue > 0 ? `${short(pending.overdue)} overdue` : next,
    );
    const lags = splits.flatMap(({ watermark }) =>
      watermark === null ? [] : [(sample.at - watermark) / 1000]
    );
    const following = splits.filter((split) => split.following).length;
    this.figure(
      "behind",
      lags.length === 0 ? "—" : duration(Math.max(...lags)),
      `${following} of ${splits.length} follow the clock`,
    );
    const took = Math.max(0, ...splits.map(({ checkpoint }) => checkpoint.took_s));
    const age = Math.max(0, ...splits.map(({ checkpoint }) => checkpoint.age_s));
    this.figure(
      "durable",
      took === 0 ? "—" : duration(took),
      age > 1 ? `${duration(age)} due` : "last checkpoint",
    );
    const refused = samples.grown("refused", 60);
    const room = in_flight === null
      ? ""
      : `${short(in_flight.records)} of ${short(in_flight.limit)} in flight`;
    this.figure("refused", short(refused), room, refused > 0);
    const letters = samples.grown("dead_lettered", 60);
    const all = Object.values(dead_letters).reduce((sum, some) => sum + some, 0);
    this.figure("letters", short(letters), `${count(all)} in all`, letters > 0);
  }

  /**
   * @param {typeof FIGURES[number][0]} name
   * @param {string} value
   * @param {string} note
   * @param {boolean} [isOdd]
   */
  figure(name, value, note, isOdd = false) {
    const shown = this.figures.get(name);
    if (shown === undefined) return;
    setText(shown.value, value);
    setText(shown.note, note);
    shown.value.classList.toggle("odd", isOdd);
  }

  /** @param {unknown} error */
  showFailure(error) {
    if (error instanceof Refusal && (error.status === 401 || error.status === 403 || error.status === 429)) {
      const why = token() === null ? "" : `${error.message}. `;
      this.token.ask(`${why}It needs the scope read, and is kept until this tab is closed.`);
      this.showState("wait", "Who are you?", "This service shows itself to those who have a token.");
      return;
    }
    const since = Number.isNaN(this.lastMs) ? "" : ` What is below is of ${clockTime(this.lastMs)}.`;
    const why = error instanceof Refusal
      ? `The service answered ${error.status}: ${error.message}.`
      : "The service does not answer.";
    this.showState("ill", "No answer", `${why}${since}`);
  }

  /**
   * @param {string} level
   * @param {string} words
   * @param {string} note
   */
  showState(level, words, note) {
    byId("health").dataset["level"] = level;
    setText(byId("health-words"), words);
    setText(byId("health-note"), note);
    byId("reasons").replaceChildren();
    document.title = `${words} · Fencepost`;
    this.announce(words);
  }
}

new Page().ask();
