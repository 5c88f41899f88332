import { deepEqual } from "node:assert/strict";
import { differenceOf } from "./comparison.ts";
import { shrink } from "./shrink.ts";

const NUMBERS = Array.from({ length: 101 }, (_, i) => i);

Deno.test("shrink: leaves the lines that it takes to fail, in their order", async () => {
  for (const needed of [[0], [100], [7, 8], [0, 50, 100], [3, 31, 32, 77], []]) {
    const fails = (fewer: readonly number[]): Promise<boolean> =>
      Promise.resolve(needed.every((number) => fewer.includes(number)));
    deepEqual(await shrink(NUMBERS, fails), needed);
  }
});

Deno.test("shrink: a line that only another one needs goes with it", async () => {
  // 10 fails by itself; where 90 is there it takes 20 as well.
  const fails = (fewer: readonly number[]): Promise<boolean> =>
    Promise.resolve(fewer.includes(10) && (!fewer.includes(90) || fewer.includes(20)));
  deepEqual(await shrink(NUMBERS, fails), [10]);
});

Deno.test("comparison: names what is too much and what is missing, each as often", () => {
  deepEqual(differenceOf(["a", "b", "a"], ["a", "a", "b"]), null);
  deepEqual(differenceOf(["a", "b", "b"], ["a"]), "too many: 1 entries\n  2 × b");
  deepEqual(differenceOf(["a"], ["a", "a", "c"]), "missing: 2 entries\n  1 × a\n  1 × c");
  deepEqual(differenceOf(["a"], ["b"]), "too many: 1 entries\n  1 × a\nmissing: 1 entries\n  1 × b");
});
