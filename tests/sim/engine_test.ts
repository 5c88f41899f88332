/**
 * The engine against the cases and against the oracle: the real `lib/` and `actors/`, on simulated ports, over seeds.
 *
 * A failure names the seed and what differs, and then the fewest lines that still differ.
 *
 * @module
 */
import { deepEqual, equal, fail } from "node:assert/strict";
import type { Config } from "../../lib/config.ts";
import { CASES_WALL_US, EMIT_ORDERS, loadCases } from "../support/cases.ts";
import { differenceOf, letterTexts, sameEntries, triggerText } from "./comparison.ts";
import { type EngineResult, runProcess } from "./engine.ts";
import { makeOracle, type OracleResult } from "./oracle.ts";
import { shrink } from "./shrink.ts";
import { generateStream } from "./streams.ts";

const SEEDS_A_BLOCK = 25;
const BLOCKS = 20;
const PARTITIONS = [1, 3, 16] as const;

const runOracle = await makeOracle();

Deno.test("engine: every case comes out as it should, in both orders", async (test) => {
  for (const { name, lines, expected } of await loadCases()) {
    for (const emit of EMIT_ORDERS) {
      await test.step(`${name}, ${emit}`, async () => {
        const { config, triggers, deadLetters, suppressed } = expected[emit];
        for (const partitions of PARTITIONS) {
          const options = { wallUs: CASES_WALL_US, batchRecords: partitions };
          const result = await runProcess({ ...config, partitions }, lines, options);
          const where = `${partitions} partitions`;
          sameEntries(result.triggers.map(triggerText), triggers.map(triggerText), where);
          deepEqual(letterTexts(result.deadLetters).sort(), letterTexts(deadLetters).sort(), where);
          if (suppressed !== null) equal(result.report.counters.suppressed, suppressed, where);
        }
      });
    }
  }
});

for (let block = 0; block < BLOCKS; block++) {
  const from = block * SEEDS_A_BLOCK;
  Deno.test(`engine: equals the oracle, seeds ${from} to ${from + SEEDS_A_BLOCK - 1}`, async () => {
    for (let seed = from; seed < from + SEEDS_A_BLOCK; seed++) await checkSeed(seed);
  });
}

/** Runs a seed's stream to its end, and some as inputs that will grow. */
async function checkSeed(seed: number): Promise<void> {
  const { config, lines, wallUs } = generateStream(seed);
  const stream = { config, lines, wallUs, where: `seed ${seed}`, batchRecords: 1 + seed % 97 };
  await checkStream(stream);
  if (seed % 4 > 0) return;
  const held: Config = { ...config, source: { ...config.source, atEof: "hold" } };
  await checkStream({ ...stream, config: held, where: `seed ${seed}, hold` });
}

interface Stream {
  readonly config: Config;
  readonly lines: readonly string[];
  readonly wallUs: number;
  readonly where: string;
  readonly batchRecords: number;
}

/** Compares runs with the oracle, and with each other, line by line. */
async function checkStream(stream: Stream): Promise<void> {
  const { config, lines, wallUs, where } = stream;
  const oracleOptions = { atEof: config.source.atEof, wallUs };
  const expected = runOracle(config, lines, oracleOptions);
  let reference: readonly string[] | null = null;
  for (const partitions of PARTITIONS) {
    const run = (some: readonly string[]): Promise<EngineResult> =>
      runProcess({ ...config, partitions }, some, stream);
    const result = await run(lines);
    const difference = compare(result, expected);
    if (difference !== null) {
      const fewest = await shrink(
        lines,
        async (some) => compare(await run(some), runOracle(config, some, oracleOptions)) !== null,
      );
      const remains = compare(await run(fewest), runOracle(config, fewest, oracleOptions));
      const headline = `${where}, ${partitions} partitions, emit ${config.emit}`;
      fail([headline, difference, `${fewest.length} lines still differ:`, ...fewest, remains].join("\n"));
    }
    reference ??= result.raw;
    sameEntries(result.raw, reference, `${where}, ${partitions} partitions against 1, as lines`);
  }
}

/** All in which the engine must equal the oracle, as text, against it. */
function compare(result: EngineResult, expected: OracleResult): string | null {
  const { counters, pendingDwells } = result.report;
  const engineCounts = {
    suppressed: counters.suppressed,
    late: counters.late,
    late_skipped: counters.lateSkipped,
    dwell_contradicted: counters.dwellContradicted,
    flaps_in_bucket: counters.flapsInBucket,
    pending: pendingDwells,
  };
  const { triggers, deadLetters, ...oracleCounts } = expected;
  return differenceOf(
    [...result.triggers.map(triggerText), ...letterTexts(result.deadLetters), triggerText(engineCounts)],
    [...triggers.map(triggerText), ...letterTexts(deadLetters), triggerText(oracleCounts)],
  );
}
