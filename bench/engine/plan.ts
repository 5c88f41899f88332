/**
 * What `fencepost plan` predicts, against a process that runs with the configuration that it printed.
 *
 * ```
 *   filling    ENTERs of all pairs, at the rate in event time, as fast as the pipeline takes them, up to now: longer than
 *              ttl, so that the window is as full as it will be
 *   traffic    ENTERs and EXITs at the rate, in real time; what is resident at its end counts
 * ```
 *
 * A twentieth, a quarter and all of the pairs, with a rate in proportion. The deviation is of the whole process, Deno and
 * V8's heap included, and has no sign: 10 % are the target, since a plan is for a machine that is bought or a limit that
 * is set. Checkpoints are compared by what the disk got; the output goes to `/dev/null`. There is no target for them, since what is
 * predicted is the mean of minutes: whether a round of slices falls into these seconds makes up to half of a difference.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fillLines, Traffic } from "./inside_load.ts";
import type { PartContext } from "./part.ts";
import { askProcess, diskBytesOf, fencepost, residentMiBOf } from "./processes.ts";
import { median } from "./numbers.ts";

const PART = "plan";
const SHARES = [1 / 20, 1 / 4, 1] as const;
/** From the first ENTER of the filling to the last, in event time. */
const FILLING_SECONDS = 60;
/** They make a ttl of 45 s, with 30 s for clocks. */
const DELAYS = ["--retry", "1s", "--replay", "14s"] as const;
const PACE_MS = 10;
const DEVIATION_MAX = 10;
/** How often, in the second half of the traffic, what is resident is looked at. */
const LOOKS = 5;

/** What is used here of what `plan --json` says. */
interface Planned {
  readonly memory: { readonly total_bytes: number };
  readonly checkpoint: { readonly disk_bytes_per_second: number };
  readonly config: unknown;
}

interface Measured {
  /** At several moments. */
  readonly residentMiB: readonly number[];
  readonly diskBytesPerSecond: number;
}

/** Runs it. */
export async function measurePlan({ scale, report, directory }: PartContext): Promise<void> {
  report.begin(`plan: predicted and measured, ${scale.liveSeconds} s of traffic`);
  for (const share of SHARES) {
    const filled = Math.ceil(scale.insidePairs * share);
    const rate = 2 * Math.ceil(filled / FILLING_SECONDS / 2);
    const pairs = filled + rate / 2 * scale.liveSeconds;
    const planned = await askProcess<Planned>(
      fencepost([
        ...["plan", "--json", "--rate", String(rate), "--pairs", String(pairs), "--after", "10h"],
        ...DELAYS,
      ]),
    );
    const place = await Deno.makeTempDir({ dir: directory });
    await Deno.writeTextFile(join(place, "config.json"), JSON.stringify(planned.config));
    const { residentMiB, diskBytesPerSecond } = await measureRun(place, {
      filled,
      rate,
      seconds: scale.liveSeconds,
    });
    const name = `${pairs} pairs, ${rate} records/s`;
    const predictedMiB = planned.memory.total_bytes / 2 ** 20;
    const add = (what: string, unit: string, rounds: readonly number[], target?: number): void => {
      const bound = target === undefined ? {} : { target };
      report.add({ part: PART, name: `${name}, ${what}`, unit, rounds, ...bound });
    };
    add("predicted", "MiB", [predictedMiB]);
    add("resident", "MiB", residentMiB);
    add("deviation", "%", [Math.abs(predictedMiB / median(residentMiB) - 1) * 100], DEVIATION_MAX);
    add("checkpoints to disk, predicted", "KiB/s", [planned.checkpoint.disk_bytes_per_second / 1024]);
    add("checkpoints to disk", "KiB/s", [diskBytesPerSecond / 1024]);
  }
}

interface Load {
  readonly filled: number;
  readonly rate: number;
  readonly seconds: number;
}

async function measureRun(place: string, { filled, rate, seconds }: Load): Promise<Measured> {
  const [executable, ...args] = fencepost([
    "run",
    ...["--config", join(place, "config.json"), "--input", "-", "--live", "--output", "/dev/null"],
    ...["--state", join(place, "state")],
  ]) as [string, ...string[]];
  const child = new Deno.Command(executable, { args, stdin: "piped", stdout: "null", stderr: "piped" })
    .spawn();
  const said = new Response(child.stderr).text();
  const writer = child.stdin.getWriter();
  const stepUs = Math.floor(1e6 / rate);
  for (const block of fillLines(filled, Date.now() * 1000 - filled * stepUs, stepUs)) {
    await writer.write(block);
  }
  const traffic = new Traffic(filled);
  const resident: number[] = [];
  const diskBefore = await diskBytesOf(child.pid);
  const startedMs = performance.now();
  const elapsed = (): number => (performance.now() - startedMs) / 1000;
  for (let sent = 0; sent < rate / 2 * seconds;) {
    await delay(PACE_MS);
    const due = Math.floor(Math.min(elapsed(), seconds) * rate / 2);
    for (const block of traffic.take(due - sent, Date.now() * 1000)) await writer.write(block);
    sent = due;
    const look = Math.floor((elapsed() / seconds - 0.5) * 2 * LOOKS);
    if (look >= 0 && resident.length <= look) resident.push(await residentMiBOf(child.pid));
  }
  const tookSeconds = elapsed();
  const diskBytes = await diskBytesOf(child.pid) - diskBefore;
  await writer.close();
  const { success } = await child.status;
  const error = await said;
  if (!success) throw new Error(`Cannot measure a plan: the run failed: ${error}`);
  return { residentMiB: resident, diskBytesPerSecond: diskBytes / tookSeconds };
}
