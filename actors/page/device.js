// @ts-check
/// <reference lib="dom" />
/**
 * The search for a device: where it is, since when, what is pending.
 */
import { get, Refusal } from "./api.js";
import { byId, clockTime, count, duration, element, idText, visible } from "./text.js";

/** @typedef {{ readonly after_s: number, readonly event_time: string }} Threshold */
/**
 * @typedef {object} Pair
 * @property {string} fence_id
 * @property {boolean} inside
 * @property {string | null} entered_at
 * @property {string | null} left_at
 * @property {string | null} ended_by
 * @property {readonly Threshold[]} told
 * @property {readonly Threshold[]} pending
 * @property {number} waiting_count
 * @property {string} last_seen
 */
/** @typedef {{ watermark: string | null, pairs_count: number, pairs: readonly Pair[] }} DeviceAnswer */

/** See above. */
export class DeviceSearch {
  constructor() {
    this.input = /** @type {HTMLInputElement} */ (byId("device"));
    this.answer = byId("device-answer");
    this.asked = 0;
    byId("device-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#look(this.input.value);
    });
  }

  /**
   * Looks a device up that somebody has chosen elsewhere on the page.
   * @param {string} device
   */
  show(device) {
    this.input.value = device;
    this.#look(device);
    this.input.focus();
    this.input.scrollIntoView({ block: "center" });
  }

  /** @param {string} device */
  async #look(device) {
    const asked = ++this.asked;
    /** @type {Node[]} */
    let shown;
    try {
      const found = /** @type {DeviceAnswer} */ (await get(`v1/devices/${encodeURIComponent(device)}`));
      shown = described(found, device);
    } catch (error) {
      shown = [refusalOf(error, device)];
    }
    // Another may have been asked for meanwhile.
    if (asked === this.asked) this.answer.replaceChildren(...shown);
  }
}

/**
 * @param {unknown} error
 * @param {string} device
 * @returns {HTMLElement}
 */
function refusalOf(error, device) {
  if (!(error instanceof Refusal)) return element("p", { class: "bad" }, "The service did not answer.");
  if (error.status !== 404) return element("p", { class: "bad" }, visible(error.message));
  return element("p", {}, "Nothing is known of ", idText(device), `. ${visible(error.message)}`);
}

/**
 * @param {DeviceAnswer} found
 * @param {string} device
 * @returns {HTMLElement[]}
 */
function described({ watermark, pairs, pairs_count }, device) {
  const inside = pairs.filter((pair) => pair.inside);
  const where = inside.length === 0
    ? [" is inside no fence."]
    : [" is inside ", ...inside.flatMap(({ fence_id }, i) => [i === 0 ? "" : ", ", idText(fence_id)]), "."];
  const more = pairs_count > pairs.length
    ? ` The first ${pairs.length} of ${count(pairs_count)} pairs are shown.`
    : "";
  const waiting = pairs.reduce((sum, { waiting_count }) => sum + waiting_count, 0);
  const waits = waiting === 0 ? "" : ` ${count(waiting)} of its records wait for the watermark.`;
  const asOf = watermark === null ? "" : ` As of the watermark ${momentOf(watermark)}.`;
  const head = ["Fence", "Where", "Since", "Dwells told", "Dwells pending", "Waiting records", "Last seen"];
  return [
    element("p", {}, idText(device), ...where, element("span", { class: "muted" }, asOf + waits + more)),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pairs of the device" },
      element(
        "table",
        {},
        element("caption", { class: "unseen" }, "Pairs of the device"),
        element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...pairs.map(pairRow)),
      ),
    ),
  ];
}

/**
 * @param {Pair} pair
 * @returns {HTMLElement}
 */
function pairRow(
  { fence_id, inside, entered_at, left_at, ended_by, told, pending, waiting_count, last_seen },
) {
  const where = inside
    ? "inside"
    : entered_at === null
    ? "not yet known"
    : `outside, by ${ended_by ?? "EXIT"}`;
  const since = inside ? entered_at : left_at;
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, idText(fence_id)),
    element("td", {}, where),
    element("td", {}, since === null ? "—" : momentOf(since)),
    element("td", {}, told.map(({ after_s }) => duration(after_s)).join(", ") || "none"),
    element(
      "td",
      {},
      pending.map(({ after_s, event_time }) => `${duration(after_s)} at ${momentOf(event_time)}`).join(
        ", ",
      ) || "none",
    ),
    element("td", {}, count(waiting_count)),
    element("td", {}, momentOf(last_seen)),
  );
}

/**
 * @param {string} time
 * @returns {string}
 */
function momentOf(time) {
  return clockTime(Date.parse(time));
}
