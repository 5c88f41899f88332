/**
 * The histogram: which bucket a value is in, at each edge, and sums.
 *
 * @module
 */
import { deepEqual, equal, throws } from "node:assert/strict";
import { addHistograms, Histogram } from "../../lib/histogram.ts";

Deno.test("Histogram: a bound counts below itself, what is above all has a bucket of its own", () => {
  const histogram = new Histogram([0.1, 1]);
  for (const value of [0, 0.1, 0.1000001, 1, 1.5, Infinity]) histogram.observe(value);
  deepEqual(histogram.counts, [2, 2, 2]);
  equal(histogram.sum, Infinity);
});

Deno.test("Histogram: a snapshot stands still, and two add up", () => {
  const histogram = new Histogram([1, 2]);
  histogram.observe(1);
  const before = histogram.snapshot();
  histogram.observe(5);
  deepEqual(before.counts, [1, 0, 0]);
  const both = addHistograms(before, histogram.snapshot());
  deepEqual([both.counts, both.sum], [[2, 0, 1], 7]);
  throws(() => addHistograms(before, new Histogram([1])), /same bounds/);
  throws(() => new Histogram([2, 1]), /ascend/);
});
