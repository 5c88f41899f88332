/**
 * What a few rounds of one measurement come to, and how a number is written.
 *
 * @module
 */

/** The one in the middle, or the mean of the two that are; NaN of none. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Half of what lies between the least and the most, in per cent of the median; 0 of one round, or about 0. */
export function spreadPercent(rounds: readonly number[]): number {
  const middle = Math.abs(median(rounds));
  const half = (Math.max(...rounds) - Math.min(...rounds)) / 2;
  return middle > 0 && half > 0 ? Math.round(half / middle * 100) : 0;
}

/** Three digits that count; whole numbers as they are. */
export function shorten(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
