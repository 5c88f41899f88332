/**
 * Parts that measure processes, in the small: that all their rows and columns are there, and are numbers. How large they
 * are is the machine's business.
 *
 * @module
 */
import assert from "node:assert/strict";
import { compareAfternoon } from "../../bench/afternoon/comparison.ts";
import { parseBenchArguments } from "../../bench/bench.ts";
import { measureCheckpoint } from "../../bench/checkpoint/checkpoint.ts";
import { measureGrowth } from "../../bench/end_to_end/growth.ts";
import type { Part, Scale } from "../../bench/engine/part.ts";
import { Report } from "../../bench/engine/report.ts";

const SMALL: Scale = {
  ...parseBenchArguments([]).scale,
  rounds: 1,
  records: 3_000,
  insidePairs: 20_000,
  pendingDwells: [1_000, 3_000],
  growthPairs: [20_000, 30_000],
  partitionCounts: [1, 5],
};

/** Rows of a part, and how many cells each has. */
async function rowsOf(part: Part): Promise<Record<string, number>> {
  const directory = await Deno.makeTempDir();
  const report = new Report(() => {});
  try {
    await part({ scale: SMALL, report, directory });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  const rows: Record<string, number> = {};
  for (const { name, column, unit, rounds } of report.measurements) {
    for (const value of rounds) assert.ok(value > 0, `${name}, ${column}: ${value} ${unit}`);
    rows[name] = (rows[name] ?? 0) + 1;
  }
  return rows;
}

Deno.test("compareAfternoon: rate and CPU of all three, memory of both programs", async () => {
  assert.deepEqual(await rowsOf(compareAfternoon), {
    "reading and parsing only": 2,
    "an afternoon's program": 4,
    "ours": 4,
  });
});

Deno.test("measureGrowth: a row for each number of pairs and of partitions, and the floor", async () => {
  assert.deepEqual(await rowsOf(measureGrowth), {
    "reading and parsing only, 20000": 4,
    "20000 pairs": 4,
    "30000 pairs": 4,
    "1 partition": 4,
    "5 partitions": 4,
  });
});

Deno.test("measureCheckpoint: a row for each number of pending dwells", async () => {
  assert.deepEqual(await rowsOf(measureCheckpoint), {
    "a process that only says its version": 1,
    "1000 pending": 5,
    "3000 pending": 5,
  });
});
