/**
 * What `deno task bench` runs: the engine's promises about time and memory, measured on the machine that it runs on.
 *
 * ```
 *   timers       cost, memory and the event loop's turns of 1.9 million timers, against the usual ways
 *   window       cost and bytes of an id in the dedup window, against maps, caches, a bloom filter and Redis
 *   duplicates   duplicates and swallowed re-entries of a twelve-hour trace, by what a copy is known by
 *   exactness    false, missed and early DWELLs against the oracle, of four usual ways and of ours
 *   afternoon    what one would write in an afternoon, on the same files
 *   throughput   CPU time of a run, against reading and parsing alone; what checkpoints cost
 *   pairs        bytes of a pair with its dwell pending; the event loop's longest turn with 1.9 million of them
 *   growth       CPU time and memory of a run over 1 to 8 million pairs, and 1 to 64 partitions
 *   checkpoint   time and bytes of a checkpoint of 0.1 to 5 million pending dwells, and of the restart from it
 *   rest         CPU time of a live pipe with nothing to do
 *   plan         what `fencepost plan` predicts of memory and checkpoints, against a process
 * ```
 *
 * Each is measured through the real process where there is one, beside a reference in the same run, in turns; the table
 * has medians with the least and the most, and says whether a target was met. A busy machine makes turns longer and
 * leaves CPU time alone: look at the references first. It takes some seven minutes and 3 GB of disk for a while.
 *
 * ```sh
 * deno task bench                                   # all
 * deno task bench --only window --rounds 5
 * deno task bench --only throughput --records 400000 --pairs 60000,1000000
 * ```
 *
 * The numbers go to `bench/results.json` too.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { compareAfternoon } from "./afternoon/comparison.ts";
import { measurePairs } from "./engine/pairs.ts";
import type { Part, Scale } from "./engine/part.ts";
import { Report } from "./engine/report.ts";
import { measurePlan } from "./engine/plan.ts";
import { measureRest } from "./engine/rest.ts";
import { measureCheckpoint } from "./checkpoint/checkpoint.ts";
import { measureGrowth } from "./end_to_end/growth.ts";
import { measureDuplicates } from "./duplicates/duplicates.ts";
import { measureExactness } from "./exactness/exactness.ts";
import { measureThroughput } from "./engine/throughput.ts";
import { measureTimers } from "./timers/measure_timers.ts";
import { measureWindow } from "./window/measure_window.ts";

const PARTS: Readonly<Record<string, Part>> = {
  timers: measureTimers,
  window: measureWindow,
  duplicates: measureDuplicates,
  exactness: measureExactness,
  afternoon: compareAfternoon,
  throughput: measureThroughput,
  pairs: measurePairs,
  growth: measureGrowth,
  checkpoint: measureCheckpoint,
  rest: measureRest,
  plan: measurePlan,
};

const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));

const SCALE: Scale = {
  rounds: 3,
  records: 1_000_000,
  workloadPairs: [60_000, 1_000_000],
  traceRecords: 600_000,
  exactnessSeeds: 10,
  windowIds: 5_000_000,
  insidePairs: 1_900_000,
  pendingDwells: [100_000, 500_000, 1_000_000, 1_900_000, 5_000_000],
  growthPairs: [1_000_000, 2_000_000, 4_000_000, 8_000_000],
  partitionCounts: [1, 4, 16, 64],
  liveSeconds: 20,
  churnSeconds: 3,
  windowSeconds: 2,
};

/** What to run, and how much of it. */
export interface BenchArguments {
  readonly parts: readonly string[];
  readonly scale: Scale;
}

/**
 * Reads the command line.
 *
 * @throws {RangeError} where it has something else
 */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  let parts = Object.keys(PARTS);
  let scale = SCALE;
  for (let i = 0; i < args.length; i += 2) {
    const flag = args[i] as string;
    const text = args[i + 1] ?? "";
    const numbers = text.split(",").map(Number);
    const [number = NaN] = numbers;
    const right = numbers.every((value) => Number.isSafeInteger(value) && value > 0);
    if (flag === "--only" && Object.hasOwn(PARTS, text)) parts = [text];
    else if (flag === "--pairs" && right) scale = { ...scale, workloadPairs: numbers };
    else if (flag === "--pending" && right) scale = { ...scale, pendingDwells: numbers };
    else if (flag === "--growth" && right) scale = { ...scale, growthPairs: numbers };
    else if (flag === "--rounds" && right) scale = { ...scale, rounds: number };
    else if (flag === "--records" && right) scale = { ...scale, records: number };
    else if (flag === "--ids" && right) scale = { ...scale, windowIds: number };
    else if (flag === "--inside" && right) scale = { ...scale, insidePairs: number };
    else if (flag === "--seconds" && right) scale = { ...scale, liveSeconds: number };
    else {
      throw new RangeError(
        `Cannot read ${flag} ${text}: give --only ${
          Object.keys(PARTS).join("|")
        }, --rounds, --records, --pairs N,N, ` + `--pending N,N, --growth N,N, ` +
          `--ids, --inside or --seconds with a number above 0`,
      );
    }
  }
  return { parts, scale };
}

async function main(): Promise<void> {
  const { parts, scale } = parseBenchArguments(Deno.args);
  const encoder = new TextEncoder();
  const report = new Report((text) => {
    Deno.stdout.writeSync(encoder.encode(text));
  });
  for (const name of parts) {
    const startedMs = performance.now();
    const directory = await Deno.makeTempDir({ prefix: "fencepost-bench-" });
    try {
      await (PARTS[name] as Part)({ scale, report, directory });
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
    report.end();
    report.note(`${name} took ${Math.round((performance.now() - startedMs) / 1000)} s`);
  }
  const machine = { deno: Deno.version.deno, v8: Deno.version.v8, cores: navigator.hardwareConcurrency };
  await Deno.writeTextFile(RESULTS, report.toJson(machine));
}

if (import.meta.main) await main();
