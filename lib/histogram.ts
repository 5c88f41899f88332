/**
 * How often a measurement was how large: counts between bounds, which add up over splits and over time as a mean can't.
 *
 * ```
 *   bounds      0.01     0.1      1
 *   counts   3       9        4       1      one more than bounds: what is above all of them
 * ```
 *
 * @module
 */
import { assert } from "./assert.ts";

/** What a histogram has counted, in its unit. */
export interface HistogramCounts {
  /** Upper bounds, ascending; a value that is one counts below it. */
  readonly bounds: readonly number[];
  /** One for each bound, and one for what lies above all. */
  readonly counts: readonly number[];
  /** Of all values. */
  readonly sum: number;
}

/** See the module's header. */
export class Histogram implements HistogramCounts {
  /** As given. */
  readonly bounds: readonly number[];
  /** One more than bounds. */
  readonly counts: number[];
  /** Of all values. */
  sum = 0;

  /** Counts nothing yet; the bounds ascend. */
  constructor(bounds: readonly number[]) {
    assert(bounds.every((bound, i) => i === 0 || (bounds[i - 1] as number) < bound), "bounds ascend");
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts a value. */
  observe(value: number): void {
    let i = 0;
    while (i < this.bounds.length && value > (this.bounds[i] as number)) i++;
    (this.counts[i] as number)++;
    this.sum += value;
  }

  /** What was counted so far. */
  snapshot(): HistogramCounts {
    return { bounds: this.bounds, counts: [...this.counts], sum: this.sum };
  }
}

/** Both together; they must have the same bounds. */
export function addHistograms(one: HistogramCounts, other: HistogramCounts): HistogramCounts {
  assert(one.bounds.length === other.bounds.length, "only what has the same bounds can be added");
  return {
    bounds: one.bounds,
    counts: one.counts.map((count, i) => count + (other.counts[i] as number)),
    sum: one.sum + other.sum,
  };
}
