/**
 * File to file: the CPU time of the whole process, against that of one that only reads and parses the lines.
 *
 * ```
 *   workload ─▶ parse_lines.ts                                      the floor
 *            ├▶ fencepost run, 16 partitions, a checkpoint each 500 ms
 *            └▶ the same with a checkpoint at the end only          what checkpoints cost
 * ```
 *
 * The three take turns, so that what else the machine does hits them alike; ratios are taken within a round. Start-up is
 * in all of them. CPU time and not wall time, because it does not depend on how many cores are idle.
 *
 * @module
 */
import { join } from "node:path";
import { generateLoad } from "../load.ts";
import type { PartContext } from "./part.ts";
import { fencepost, measureProcess, script, type Took } from "./processes.ts";

const PART = "throughput";

/** Runs it for each workload. */
export async function measureThroughput(context: PartContext): Promise<void> {
  for (const pairs of context.scale.workloadPairs) await measureWorkload(context, pairs);
}

async function measureWorkload({ scale, report, directory }: PartContext, pairs: number): Promise<void> {
  const input = join(directory, "input.ndjson");
  await writeLoad(input, { records: scale.records, seed: 1, pairs });
  report.begin(`throughput: ${scale.records} records, ${pairs} pairs, 3 % copies, file to file`);

  const floors: Took[] = [];
  const runs: Took[] = [];
  const runsWithout: Took[] = [];
  const run = async (extra: readonly string[]): Promise<Took> => {
    const output = join(directory, "triggers.ndjson");
    const state = join(directory, "state");
    const deadLetters = join(directory, "dead-letters.ndjson");
    const files = ["--input", input, "--output", output, "--state", state, "--dead-letters", deadLetters];
    try {
      return await measureProcess(fencepost(["run", ...files, ...extra]));
    } finally {
      for (const path of [output, state, deadLetters]) await Deno.remove(path, { recursive: true });
    }
  };
  for (let round = 0; round < scale.rounds; round++) {
    floors.push(await measureProcess(script("parse_lines.ts", [input])));
    runs.push(await run([]));
    runsWithout.push(await run(["--set", "checkpoint.interval=1h"]));
  }

  const of = `${pairs} pairs`;
  const ratios = (above: readonly Took[], below: readonly Took[]): number[] =>
    above.map((took, round) => took.cpuSeconds / (below[round] as Took).cpuSeconds);
  const cpu = (tooks: readonly Took[]): number[] => tooks.map((took) => took.cpuSeconds);
  report.add({ part: PART, name: `reading and parsing, ${of}`, unit: "CPU s", rounds: cpu(floors) });
  report.add({ part: PART, name: `run, ${of}`, unit: "CPU s", rounds: cpu(runs) });
  report.add({
    part: PART,
    name: `run / reading and parsing, ${of}`,
    unit: "×",
    rounds: ratios(runs, floors),
    target: 5,
  });
  report.add({ part: PART, name: `run without checkpoints, ${of}`, unit: "CPU s", rounds: cpu(runsWithout) });
  report.add({
    part: PART,
    name: `with checkpoints / without, ${of}`,
    unit: "× CPU",
    rounds: ratios(runs, runsWithout),
    target: 1.1,
  });
  report.add({
    part: PART,
    name: `with checkpoints / without, ${of}`,
    unit: "× time",
    rounds: runs.map((took, round) => took.wallSeconds / (runsWithout[round] as Took).wallSeconds),
    target: 1.1,
  });
  report.add({
    part: PART,
    name: `run, ${of}`,
    unit: "records/s",
    rounds: runs.map((took) => Math.round(scale.records / took.wallSeconds)),
  });
  await Deno.remove(input);
}

async function writeLoad(
  path: string,
  options: { records: number; seed: number; pairs: number },
): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  for (const block of generateLoad(options)) {
    for (let at = 0; at < block.length;) at += await file.write(block.subarray(at));
  }
}
