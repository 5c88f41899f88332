// @ts-check
/**
 * The samples of the last quarter of an hour, as columns, and the rates between them.
 */

/** @typedef {import("../adapters/http/status.ts").Sample} Sample */
/** @typedef {keyof Sample} Column */

/** Samples that are kept: one a second. */
const KEPT = 900;

/** See above. */
export class Samples {
  constructor() {
    /** @type {Record<string, number[]>} */
    this.columns = {};
  }

  /** @returns {number} */
  get length() {
    return this.column("at").length;
  }

  /**
   * @param {Column} name
   * @returns {number[]}
   */
  column(name) {
    return this.columns[name] ?? [];
  }

  /**
   * Takes over what the service remembers.
   * @param {Readonly<Record<string, number[]>>} columns
   */
  load(columns) {
    this.columns = Object.fromEntries(
      Object.entries(columns).map(([name, values]) => [name, values.slice(-KEPT)]),
    );
  }

  /**
   * Appends a sample. Counts that went back are those of another process: nothing can be said across that.
   * @param {Sample} sample
   */
  push(sample) {
    const lastAt = this.column("at").at(-1) ?? -Infinity;
    if (sample.at <= lastAt) return;
    if (sample.read < (this.column("read").at(-1) ?? 0)) this.columns = {};
    for (const [name, value] of Object.entries(sample)) {
      const column = this.columns[name] ??= [];
      column.push(value);
      if (column.length > KEPT) column.shift();
    }
  }

  /**
   * By how much a count has grown in the last so many seconds, or since the first sample.
   * @param {Column} name
   * @param {number} seconds
   * @returns {number}
   */
  grown(name, seconds) {
    const values = this.column(name);
    const from = this.indexBefore(seconds);
    return values.length === 0 ? 0 : (values.at(-1) ?? 0) - (values[from] ?? 0);
  }

  /**
   * What it grew by a second, over the last so many.
   * @param {Column} name
   * @param {number} seconds
   * @returns {number}
   */
  rate(name, seconds) {
    const at = this.column("at");
    const tookMs = (at.at(-1) ?? 0) - (at[this.indexBefore(seconds)] ?? 0);
    return tookMs <= 0 ? 0 : this.grown(name, seconds) / tookMs * 1000;
  }

  /**
   * The index of the newest sample that is so many seconds old, or of the oldest.
   * @param {number} seconds
   * @returns {number}
   */
  indexBefore(seconds) {
    const at = this.column("at");
    const sinceMs = (at.at(-1) ?? 0) - seconds * 1000;
    let index = at.length - 1;
    while (index > 0 && (at[index] ?? 0) > sinceMs) index--;
    return Math.max(0, index);
  }

  /**
   * Growth a second in steps of so many seconds: times in s since the epoch, and the values. A step in which there was no
   * sample has none.
   * @param {readonly Column[]} names
   * @param {number} stepS
   * @returns {{ times: number[], values: (number | null)[][] }}
   */
  steps(names, stepS) {
    const at = this.column("at");
    /** @type {number[]} */
    const times = [];
    /** @type {(number | null)[][]} */
    const values = names.map(() => []);
    const stepMs = stepS * 1000;
    let from = 0;
    for (let i = 1; i < at.length; i++) {
      const step = Math.floor((at[i] ?? 0) / stepMs);
      if (step === Math.floor((at[from] ?? 0) / stepMs)) continue;
      const tookMs = (at[i] ?? 0) - (at[from] ?? 0);
      // Nobody looked for a while: a line across that would say that it was even.
      const isGap = tookMs > 3 * stepMs;
      times.push(step * stepS);
      names.forEach((name, n) => {
        const column = this.column(name);
        const grown = (column[i] ?? 0) - (column[from] ?? 0);
        values[n]?.push(isGap ? null : grown / tookMs * 1000);
      });
      from = i;
    }
    return { times, values };
  }
}
