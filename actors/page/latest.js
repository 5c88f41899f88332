// @ts-check
/// <reference lib="dom" />
/**
 * The latest triggers and dead letters: what was there stays where it is, so that who reads or has opened one keeps it.
 */
import { byId, clockTime, count, duration, element, idText, setText, visible } from "./text.js";

/** @typedef {import("../adapters/http/status.ts").Status} Status */

/** A list of entries, the newest first. */
class Entries {
  /**
   * @param {string} id
   * @param {(entry: Record<string, unknown>) => HTMLElement} make
   */
  constructor(id, make) {
    this.list = byId(id);
    this.empty = byId(`${id}-empty`);
    this.make = make;
    /** @type {Map<string, HTMLElement>} */
    this.shown = new Map();
  }

  /** @param {readonly unknown[]} entries */
  update(entries) {
    const kept = new Set(entries.map((entry) => JSON.stringify(entry)));
    for (const [key, node] of this.shown) {
      if (kept.has(key)) continue;
      node.remove();
      this.shown.delete(key);
    }
    for (const entry of entries.toReversed()) {
      const key = JSON.stringify(entry);
      if (this.shown.has(key)) continue;
      const node = this.make(/** @type {Record<string, unknown>} */ (entry));
      this.shown.set(key, node);
      this.list.prepend(node);
    }
    this.empty.hidden = this.shown.size > 0;
  }
}

/** Both lists. */
export class Latest {
  /** @param {(device: string) => void} lookUp is told of a device that somebody wants to see */
  constructor(lookUp) {
    this.triggers = new Entries("triggers", (trigger) => triggerEntry(trigger, lookUp));
    this.letters = new Entries("letters", letterEntry);
    this.sums = byId("letters-sum");
  }

  /** @param {Status} status */
  update({ recent_triggers, recent_dead_letters, dead_letters }) {
    this.triggers.update(recent_triggers);
    this.letters.update(recent_dead_letters);
    const sums = Object.entries(dead_letters).map(([reason, sum]) => `${reason} ${count(sum)}`);
    if (sums.join() === Array.from(this.sums.children).map(({ textContent }) => textContent).join()) return;
    this.sums.replaceChildren(...sums.map((text) => element("li", {}, text)));
  }
}

/**
 * @param {Record<string, unknown>} trigger
 * @param {(device: string) => void} lookUp
 * @returns {HTMLElement}
 */
function triggerEntry(trigger, lookUp) {
  const { kind, device_id, fence_id, event_time, dwell_s, visit_s, late, id } = trigger;
  const device = String(device_id ?? "");
  const button = element("button", { type: "button", class: "plain" }, idText(device));
  button.addEventListener("click", () => lookUp(device));
  const notes = [];
  if (typeof dwell_s === "number") notes.push(`after ${duration(dwell_s)}`);
  if (typeof visit_s === "number") notes.push(`was there ${duration(visit_s)}`);
  if (late === true) notes.push("late");
  const name = String(kind ?? "?");
  return element(
    "li",
    { title: `id ${visible(String(id ?? ""))}` },
    element("span", { class: `kind ${/^[A-Z]+$/.test(name) ? name.toLowerCase() : ""}` }, visible(name)),
    element(
      "span",
      { class: "what" },
      button,
      element("span", { class: "muted" }, " at "),
      idText(String(fence_id ?? "")),
    ),
    element("span", { class: "muted" }, notes.join(", ")),
    timeOf(event_time),
  );
}

/**
 * @param {Record<string, unknown>} letter
 * @returns {HTMLElement}
 */
function letterEntry(letter) {
  const { reason, detail, source, position, at, record, record_base64, clipped } = letter;
  const text = typeof record === "string" ? record : typeof record_base64 === "string" ? record_base64 : "";
  const shown = visible(text) + (clipped === true ? "…" : "");
  return element(
    "li",
    {},
    element("span", { class: "kind dead" }, visible(String(reason ?? "?"))),
    element(
      "details",
      { class: "what" },
      element("summary", {}, element("bdi", {}, visible(String(detail ?? "")))),
      element(
        "p",
        { class: "muted" },
        `${visible(String(source ?? ""))} ${visible(JSON.stringify(position ?? null))}`,
      ),
      element("pre", { dir: "ltr" }, element("code", {}, shown)),
    ),
    timeOf(at),
  );
}

/**
 * @param {unknown} time
 * @returns {HTMLElement}
 */
function timeOf(time) {
  const text = String(time ?? "");
  const ms = Date.parse(text);
  const made = element("time", { title: visible(text) });
  if (!Number.isNaN(ms)) made.setAttribute("datetime", text);
  setText(made, clockTime(ms));
  return made;
}
