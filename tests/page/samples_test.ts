/**
 * The page's memory: rates between samples, gaps, and another process in the place of the first.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { Samples } from "../../actors/page/samples.js";
import { sampleAt } from "./status_values.ts";

/** Samples of seconds, `read` growing by so many each. */
function samplesOf(seconds: readonly number[], perSecond: number): Samples {
  const samples = new Samples();
  for (const second of seconds) samples.push(sampleAt(second, { read: second * perSecond }));
  return samples;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

Deno.test("Samples: growth and rate over the last seconds, or all there is", () => {
  const samples = samplesOf(range(0, 100), 7);
  deepEqual([samples.grown("read", 10), samples.rate("read", 10)], [70, 7]);
  deepEqual([samples.grown("read", 1000), samples.rate("read", 1000)], [99 * 7, 7]);
  const one = samplesOf([5], 7);
  deepEqual([one.grown("read", 10), one.rate("read", 10)], [0, 0]);
  const none = new Samples();
  deepEqual([none.grown("read", 10), none.rate("read", 10), none.length], [0, 0, 0]);
});

Deno.test("Samples: counts that went back are another process's", () => {
  const samples = samplesOf(range(0, 100), 7);
  samples.push(sampleAt(100, { read: 3 }));
  samples.push(sampleAt(101, { read: 5 }));
  deepEqual([samples.length, samples.grown("read", 60)], [2, 2]);
});

Deno.test("Samples: a quarter of an hour is kept, and none twice", () => {
  const samples = samplesOf(range(0, 1000), 1);
  samples.push(sampleAt(999, { read: 999 }));
  samples.push(sampleAt(5, { read: 999 }));
  equal(samples.length, 900);
  equal(samples.column("read")[0], 100);
});

Deno.test("Samples: steps are even, and a gap is none", () => {
  const { times, values: [read = []] } = samplesOf([...range(0, 21), ...range(60, 71)], 2).steps(["read"], 5);
  deepEqual(times, [5, 10, 15, 20, 60, 65, 70]);
  deepEqual(read, [2, 2, 2, 2, null, 2, 2]);
});

Deno.test("Samples: what the service remembers comes first", () => {
  const samples = new Samples();
  samples.load({ at: [1000, 2000], read: [10, 20] });
  samples.push(sampleAt(3, { read: 30 }));
  equal(samples.grown("read", 60), 20);
});
