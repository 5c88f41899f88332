/**
 * Which thresholds a fence has: the first rule whose pattern matches. Asked once a pair, not once a record.
 *
 * @module
 */
import type { DwellRule } from "./config.ts";

const STAR = 0x2a;
const encoder = new TextEncoder();

/** The rules, compiled. Rule 0 is "none matched"; rule n is the n-th of the configuration. */
export class FenceRules {
  /** Thresholds in µs, ascending, by rule. */
  readonly thresholdsUs: readonly (readonly number[])[];
  readonly #patterns: readonly Uint8Array[];

  /** Compiles the patterns; the order of the rules is kept. */
  constructor(rules: readonly DwellRule[]) {
    this.#patterns = rules.map((rule) => encoder.encode(rule.fence));
    this.thresholdsUs = [[], ...rules.map((rule) => rule.afterUs)];
  }

  /** The number of the rule for the fence id in `bytes[start .. end)`. */
  match(bytes: Uint8Array, start: number, end: number): number {
    for (let i = 0; i < this.#patterns.length; i++) {
      if (matches(this.#patterns[i] as Uint8Array, bytes, start, end)) return i + 1;
    }
    return 0;
  }
}

/** Whether a pattern, in which `*` stands for any run of bytes, matches all of a text. Never worse than their product. */
function matches(pattern: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  let place = 0;
  let star = -1;
  let resume = start;
  while (at < end) {
    if (pattern[place] === STAR) {
      star = place++;
      resume = at;
    } else if (pattern[place] === bytes[at]) {
      place++;
      at++;
    } else if (star >= 0) {
      place = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[place] === STAR) place++;
  return place === pattern.length;
}
