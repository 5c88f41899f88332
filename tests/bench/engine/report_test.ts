/**
 * What the report says of rounds and targets.
 *
 * @module
 */
import assert from "node:assert/strict";
import { median } from "../../../bench/engine/numbers.ts";
import { Report } from "../../../bench/engine/report.ts";
import { OURS } from "../../../bench/engine/section.ts";

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

Deno.test("report: cells become a table, which says what beats ours and which target was missed", () => {
  const texts: string[] = [];
  const report = new Report((text) => texts.push(text));
  report.begin("a table");
  const cell = { part: "part", column: "cost", unit: "µs" };
  report.add({ ...cell, name: "Map", rounds: [3, 1, 2], reference: 1.7 });
  report.add({ ...cell, name: OURS, rounds: [4], target: 3 });
  report.add({ ...cell, name: "LRU", rounds: [4] });
  report.add({ ...cell, name: "Map", column: "rate", unit: "1/s", rounds: [9], better: "more" });
  report.add({ ...cell, name: OURS, column: "rate", unit: "1/s", rounds: [8] });
  report.add({ ...cell, name: "Map", column: "size", rounds: [1], better: "neither" });
  report.add({ ...cell, name: OURS, column: "size", rounds: [2] });
  const before = texts.length;
  report.end();
  report.end();
  assert.deepEqual(texts.slice(before).map((line) => line.trimEnd()), [
    "                 cost  rate  size",
    "                   µs   1/s    µs",
    "  Map   2 ±50% (1.70)     9     1",
    "  ours              4     8     2",
    "  LRU               4     –     –",
    "  beats ours: Map, cost: 2 ±50% against 4 µs",
    "  beats ours: Map, rate: 9 against 8 1/s",
    "  target missed: ours, cost: 4, at most 3 µs",
  ]);
});
