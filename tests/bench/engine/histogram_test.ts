/**
 * The histogram against sorting, and its way from one process to another.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Histogram } from "../../../bench/engine/histogram.ts";
import { randomFrom } from "../../support/random.ts";

const SHARES = [0, 0.01, 0.5, 0.9, 0.99, 0.999, 1];

Deno.test("histogram: percentiles are those of the sorted durations, up to a step of one per cent", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomFrom(seed);
    const durations = Array.from({ length: 1 + Math.floor(random() * 3000) }, () => 10 ** (random() * 7 - 1));
    const histogram = new Histogram();
    for (const us of durations) histogram.record(us);
    const sorted = durations.toSorted((a, b) => a - b);
    for (const share of SHARES) {
      const exact = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] as number;
      const is = histogram.percentileUs(share);
      const wanted = share === 0 ? is : exact;
      assert.ok(
        is >= wanted * 0.9999 && is <= wanted * 1.0101,
        `seed ${seed}, share ${share}: ${is}, ${exact}`,
      );
    }
    assert.equal(histogram.worstUs, sorted.at(-1));
    assert.equal(histogram.count, sorted.length);
  }
});

Deno.test("histogram: what took longer is counted up to a step", () => {
  const histogram = new Histogram();
  for (const us of [1, 4_900, 5_200, 6_000, 1e7]) histogram.record(us);
  assert.equal(histogram.countAbove(5_000), 3);
  assert.equal(histogram.countAbove(1e6), 1);
  assert.equal(histogram.countAbove(1e8), 0);
});

Deno.test("histogram: none, the shortest and the longest", () => {
  const histogram = new Histogram();
  assert.ok(Number.isNaN(histogram.percentileUs(0.5)));
  histogram.record(0);
  assert.equal(histogram.percentileUs(1), 0);
  histogram.record(1e12);
  assert.equal(histogram.worstUs, 1e12);
  assert.equal(histogram.count, 2);
});

Deno.test("histogram: is the same after a journey as JSON", () => {
  const histogram = new Histogram();
  const random = randomFrom(7);
  for (let i = 0; i < 1000; i++) histogram.record(random() * 1e4);
  const arrived = Histogram.fromJson(JSON.parse(JSON.stringify(histogram.toJson())));
  assert.deepEqual(arrived.toJson(), histogram.toJson());
  assert.equal(arrived.count, 1000);
  for (const share of SHARES) assert.equal(arrived.percentileUs(share), histogram.percentileUs(share));
});
