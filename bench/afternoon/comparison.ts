/**
 * What a TypeScript developer would write in an afternoon, against Fencepost on the same files.
 *
 * ```
 *   the canonical workload, with stays of the usual lengths ─▶ parse_lines.ts   the floor
 *                                                           ├▶ afternoon.ts     records a second, CPU a record,
 *                                                           ╰▶ fencepost run    and whether both tell the same
 *   so many pairs that come in and stay ─▶ afternoon.ts, fencepost run           the process's memory
 * ```
 *
 * The three take turns, each a process of its own, start-up included. The afternoon's program keeps nothing over a crash and
 * checks no field; Fencepost does, with a checkpoint each 500 ms. Triggers are the same if kind, pair, event time and
 * enter time are: the ids are made differently. Nobody has published a figure for this.
 *
 * @module
 */
import { join } from "node:path";
import type { PartContext } from "../engine/part.ts";
import { fencepost, measureProcess, script, type Took } from "../engine/processes.ts";
import { OURS } from "../engine/section.ts";
import { writeBlocks } from "../engine/write_blocks.ts";
import { fillLines } from "../engine/inside_load.ts";
import { DEFAULT_START_US, type LoadOptions } from "../load_options.ts";
import { generateLoad } from "../load.ts";

const PART = "afternoon";
const FLOOR = "reading and parsing only";
const AFTERNOON = "an afternoon's program";

/** Runs it. */
export async function compareAfternoon(context: PartContext): Promise<void> {
  await compareThroughput(context);
  await compareMemory(context);
}

async function compareThroughput({ scale, report, directory }: PartContext): Promise<void> {
  const records = scale.records;
  const load: LoadOptions = { records, seed: 1 };
  report.begin(`afternoon: ${records} records of the canonical workload, 3 % copies, file to file`);
  const input = join(directory, "input.ndjson");
  await writeBlocks(input, generateLoad(load));
  const tooks = new Map<string, Took[]>([[FLOOR, []], [AFTERNOON, []], [OURS, []]]);
  for (let round = 0; round < scale.rounds; round++) {
    tooks.get(FLOOR)?.push(await measureProcess(script("parse_lines.ts", [input])));
    tooks.get(AFTERNOON)?.push(await measureProcess(afternoon(input, join(directory, "afternoon.ndjson"))));
    tooks.get(OURS)?.push(await measureProcess(ours(directory, `ours-${round}`, input)));
  }
  for (const [name, rounds] of tooks) {
    const add = (column: string, unit: string, of: (took: Took) => number, better: "less" | "more"): void => {
      // The floor tells nothing and keeps nothing: it is no contender.
      const kind = name === FLOOR ? "neither" : better;
      report.add({ part: PART, name, column, unit, rounds: rounds.map(of), better: kind });
    };
    add("rate", "records/s", (took) => Math.round(records / took.wallSeconds), "more");
    add("CPU", "µs/record", (took) => took.cpuSeconds / records * 1e6, "less");
  }
  const told = await triggersOf(join(directory, "ours-0.ndjson"));
  const theirs = await triggersOf(join(directory, "afternoon.ndjson"));
  report.note(
    `of ${told.size} triggers of ours the afternoon's program lacks ${told.difference(theirs).size}, ` +
      `and it has ${theirs.difference(told).size} that are none: copies over a bucket's edge, ` +
      "and DWELLs that depend on the order of arrival",
  );
}

async function compareMemory({ scale, report, directory }: PartContext): Promise<void> {
  const pairs = scale.insidePairs;
  report.begin(`afternoon: ${pairs} pairs come in and stay, ids of 25 bytes`);
  const input = join(directory, "filling.ndjson");
  await writeBlocks(input, fillLines(pairs, DEFAULT_START_US));
  for (
    const [name, command] of [
      [AFTERNOON, afternoon(input, join(directory, "afternoon.ndjson"))],
      [OURS, ours(directory, "filled", input)],
    ] as const
  ) {
    const { peakMiB } = await measureProcess(command);
    report.add({ part: PART, name, column: "memory at its peak", unit: "MiB", rounds: [peakMiB] });
    const bytes = peakMiB * 2 ** 20 / pairs;
    report.add({ part: PART, name, column: "whole process, a pair", unit: "bytes", rounds: [bytes] });
  }
}

function afternoon(input: string, output: string): string[] {
  return script("../afternoon/afternoon.ts", [input, output]);
}

function ours(directory: string, name: string, input: string): string[] {
  const path = (suffix: string): string => join(directory, `${name}${suffix}`);
  const files = ["--input", input, "--output", path(".ndjson"), "--dead-letters", path("-letters.ndjson")];
  return fencepost(["run", ...files, "--state", path("-state")]);
}

/** What each line of an output tells, whatever its id. */
async function triggersOf(path: string): Promise<Set<string>> {
  const told = new Set<string>();
  for (const line of (await Deno.readTextFile(path)).split("\n")) {
    if (line === "") continue;
    const trigger = JSON.parse(line) as Record<string, string>;
    const { kind, device_id, fence_id, event_time, entered_at } = trigger;
    // The afternoon's DWELLs have milliseconds.
    const when = entered_at === undefined ? event_time : entered_at.slice(0, 23);
    told.add(JSON.stringify([kind, device_id, fence_id, when]));
  }
  return told;
}
