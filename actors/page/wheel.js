// @ts-check
/// <reference lib="dom" />
/**
 * The timing wheel, drawn as a dial of three rings: the next minute by seconds, the next hour by minutes, the next day by
 * hours. The watermark is at twelve; what is due comes towards it against the clock.
 */
import { byId, count, drawn, duration, setText, short, table } from "./text.js";

/** @typedef {import("../adapters/http/status.ts").Status} Status */

/** Radii of each ring, from where its bars stand to where the longest ends. */
const RINGS = /** @type {const} */ ([
  { name: "seconds", label: "1 min", from: 62, to: 88, step: "s" },
  { name: "minutes", label: "1 h", from: 96, to: 122, step: "min" },
  { name: "hours", label: "1 d", from: 130, to: 156, step: "h" },
]);
const SIZE = 166;

/** See above. */
export class Wheel {
  constructor() {
    this.svg = drawn("svg", { viewBox: `${-SIZE} ${-SIZE} ${2 * SIZE} ${2 * SIZE}`, role: "img" });
    this.rings = RINGS.map((ring) => {
      const slots = ring.name === "hours" ? 24 : 60;
      for (let i = 0; i < slots; i++) {
        this.svg.append(drawn("path", { class: "slot", d: sector(ring.from, ring.from + 2, i, slots) }));
      }
      const bars = Array.from({ length: slots }, () => drawn("path", { class: `bar ${ring.name}` }));
      this.svg.append(...bars);
      return { ring, bars, slots };
    });
    this.svg.append(drawn("path", { class: "hand", d: `M0 -58V${-SIZE + 4}` }));
    for (const { label, from } of RINGS) {
      this.svg.append(
        drawn("text", { x: "-4", y: String(-from - 6), class: "ring", "text-anchor": "end" }, label),
      );
    }
    this.total = drawn("text", { y: "-4", class: "total", "text-anchor": "middle" });
    this.unit = drawn("text", { y: "14", class: "unit", "text-anchor": "middle" });
    this.next = drawn("text", { y: "32", class: "next", "text-anchor": "middle" });
    this.svg.append(this.total, this.unit, this.next);
    this.note = document.createElement("p");
    this.note.className = "hint";
    byId("wheel").append(this.svg, this.note);
    this.details = /** @type {HTMLDetailsElement} */ (byId("wheel-table"));
  }

  /** @param {Status} status */
  update({ pending, sample }) {
    for (const { ring, bars, slots } of this.rings) {
      const counts = pending[ring.name];
      const most = Math.max(1, ...counts);
      bars.forEach((bar, i) => {
        const due = counts[i] ?? 0;
        // By the root: a few must be seen beside thousands.
        const length = due === 0 ? 0 : Math.max(3, Math.sqrt(due / most) * (ring.to - ring.from));
        bar.setAttribute("d", due === 0 ? "" : sector(ring.from, ring.from + length, i, slots));
      });
    }
    const { overdue, beyond, next_s, is_sample } = pending;
    setText(this.total, short(sample.pending));
    setText(this.unit, sample.pending === 1 ? "dwell pending" : "dwells pending");
    setText(
      this.next,
      overdue > 0 ? `${short(overdue)} overdue` : next_s === null ? "" : `next in ${duration(next_s)}`,
    );
    this.next.classList.toggle("bad", overdue > 0);
    this.svg.setAttribute("aria-label", `${count(sample.pending)} dwells pending, ${count(overdue)} overdue`);
    const notes = [];
    if (beyond > 0) notes.push(`${short(beyond)} are due later than in a day.`);
    if (is_sample) notes.push("Estimated from a sample of the pairs.");
    setText(this.note, notes.join(" "));
    if (this.details.open) this.#updateTable(pending);
  }

  /** @param {Status["pending"]} pending */
  #updateTable({ overdue, seconds, minutes, hours, beyond }) {
    /** @param {readonly number[]} counts */
    const sum = (counts) => counts.reduce((all, due) => all + due, 0);
    const rows = [
      ["Overdue", count(overdue)],
      ["Within 10 s", count(sum(seconds.slice(0, 10)))],
      ["Within a minute", count(sum(seconds))],
      ["Within 10 minutes", count(sum(minutes.slice(0, 10)))],
      ["Within an hour", count(sum(minutes))],
      ["Within 6 hours", count(sum(hours.slice(0, 6)))],
      ["Within a day", count(sum(hours))],
      ["Later", count(beyond)],
    ];
    this.details.querySelector(".scroll")?.replaceChildren(
      table("Visits by when their next dwell is due", ["Due", "Visits"], rows),
    );
  }
}

/**
 * A piece of a ring: slot `i` of so many, clockwise from the top, with a gap to the next.
 * @param {number} from
 * @param {number} to
 * @param {number} i
 * @param {number} slots
 * @returns {string}
 */
function sector(from, to, i, slots) {
  const gap = slots === 24 ? 0.02 : 0.016;
  const begin = i / slots * 2 * Math.PI + gap;
  const end = (i + 1) / slots * 2 * Math.PI - gap;
  /**
   * @param {number} radius
   * @param {number} angle
   */
  const at = (radius, angle) =>
    `${(radius * Math.sin(angle)).toFixed(2)} ${(-radius * Math.cos(angle)).toFixed(2)}`;
  const outer = `M${at(from, begin)}L${at(to, begin)}A${to} ${to} 0 0 1 ${at(to, end)}`;
  return `${outer}L${at(from, end)}A${from} ${from} 0 0 0 ${at(from, begin)}Z`;
}
