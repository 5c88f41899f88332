/**
 * What the report says of rounds and targets.
 *
 * @module
 */
import assert from "node:assert/strict";
import { median, Report } from "../../../bench/engine/report.ts";

Deno.test("median: the one in the middle, or between the two that are", () => {
  const cases: [number[], number][] = [[[3], 3], [[9, 1, 5], 5], [[4, 1], 2.5], [[8, 2, 6, 4], 5]];
  for (const [numbers, wanted] of cases) assert.equal(median(numbers), wanted);
  assert.ok(Number.isNaN(median([])));
});

Deno.test("report: a target is met by the median, and may be reached", () => {
  const cases: [number[], RegExp][] = [
    [[5], /at most 5: yes$/],
    [[5.001], /at most 5: NO$/],
    [[9, 4, 5], /at most 5: yes$/],
    [[9, 4, 6], /at most 5: NO$/],
    // Not measured is not met.
    [[NaN], /at most 5: NO$/],
  ];
  for (const [rounds, wanted] of cases) {
    const texts: string[] = [];
    const report = new Report((text) => texts.push(text));
    report.add({ part: "part", name: "name", unit: "s", rounds, target: 5 });
    assert.match(texts.at(-1)?.trimEnd() ?? "", wanted);
  }
});

Deno.test("report: the JSON has every round and the median", () => {
  const report = new Report(() => {});
  report.add({ part: "part", name: "name", unit: "s", rounds: [3, 1, 2] });
  assert.deepEqual(JSON.parse(report.toJson({ cores: 2 })), {
    machine: { cores: 2 },
    measurements: [{ part: "part", name: "name", unit: "s", rounds: [3, 1, 2], median: 2 }],
  });
});
