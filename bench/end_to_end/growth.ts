/**
 * How the cost of a record grows, file to file, with the pairs that there are and with the partitions.
 *
 * ```
 *   so many pairs come in and stay, one record each ─┬─▶ parse_lines.ts   the floor, once: it knows no pairs
 *                                                    ╰─▶ fencepost run    16 partitions, and others at the fewest pairs
 * ```
 *
 * Each record is a new pair, which is the dearest one: all tables grow while it is measured. CPU time and the memory's peak
 * are those of the whole process, start-up and checkpoints included. One file is written, for the most pairs, and cut to
 * the size of the others. Nobody has published a figure for this.
 *
 * @module
 */
import { join } from "node:path";
import { fillLines } from "../engine/inside_load.ts";
import type { PartContext } from "../engine/part.ts";
import { fencepost, measureProcess, script, type Took } from "../engine/processes.ts";
import { writeBlocks } from "../engine/write_blocks.ts";
import { DEFAULT_START_US } from "../load_options.ts";

const PART = "growth";
const DEFAULT_PARTITIONS = 16;

/** Runs it. */
export async function measureGrowth({ scale, report, directory }: PartContext): Promise<void> {
  const pairCounts = scale.growthPairs.toSorted((a, b) => b - a);
  const [most = 0] = pairCounts;
  const fewest = pairCounts.at(-1) ?? 0;
  const input = join(directory, "input.ndjson");
  await writeBlocks(input, fillLines(most, DEFAULT_START_US));
  // Lines of one length: all numbers in them are padded.
  const lineBytes = (await Deno.stat(input)).size / most;
  const run = async (partitions: number): Promise<Took> => {
    const paths = ["triggers.ndjson", "letters.ndjson", "state"].map((name) => join(directory, name));
    const [output = "", letters = "", state = ""] = paths;
    const files = ["--input", input, "--output", output, "--dead-letters", letters, "--state", state];
    const bounds = ["--set", `pairs.capacity=${2 * most}`, "--set", `partitions=${partitions}`];
    try {
      return await measureProcess(fencepost(["run", ...files, ...bounds]));
    } finally {
      for (const path of paths) await Deno.remove(path, { recursive: true });
    }
  };
  const byPairs: [number, Took][] = [];
  for (const pairs of pairCounts) {
    await Deno.truncate(input, pairs * lineBytes);
    byPairs.push([pairs, await run(DEFAULT_PARTITIONS)]);
  }

  const add = (name: string, pairs: number, took: Took): void => {
    const cell = (column: string, unit: string, value: number): void => {
      report.add({ part: PART, name, column, unit, rounds: [value], better: "neither" });
    };
    cell("CPU", "µs/record", took.cpuSeconds / pairs * 1e6);
    cell("rate", "records/s", Math.round(pairs / took.wallSeconds));
    cell("memory at its peak", "MiB", took.peakMiB);
    cell("whole process", "bytes/pair", took.peakMiB * 2 ** 20 / pairs);
  };
  report.begin(`growth: file to file over so many pairs, ${DEFAULT_PARTITIONS} partitions`);
  add(`reading and parsing only, ${fewest}`, fewest, await measureProcess(script("parse_lines.ts", [input])));
  for (const [pairs, took] of byPairs.toReversed()) add(`${pairs} pairs`, pairs, took);
  report.begin(`growth: file to file over so many partitions, ${fewest} pairs`);
  for (const partitions of scale.partitionCounts) {
    add(`${partitions} partition${partitions === 1 ? "" : "s"}`, fewest, await run(partitions));
  }
}
