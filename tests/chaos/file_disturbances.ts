/**
 * What is done to a process over files, or to the files. The moments are the seed's; what they meet is the machine's.
 *
 * Each leaves the process ended, and says whether it was still at work when it was disturbed: one that had reached the
 * input's end before is no disturbance.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { FileProcess, type FileProcessOptions } from "./file_process.ts";
import type { FileWorld } from "./file_world.ts";
import type { SmallDisk } from "./small_disk.ts";
import { takeAway } from "./take_away.ts";

/** One process in three is killed this soon after its start: while it opens, restores or reads back. */
const EARLY_MS = [20, 600] as const;
const EARLY_SHARE = 1 / 3;
/** Otherwise so long after it has begun to write. */
const LATER_MS = [0, 120] as const;
/** A process is stopped for as long. */
const STOPPED_MS = [50, 1_500] as const;
/** Bytes that a full disk still has: none, a page, some checkpoints. */
const LEFT_BYTES_MAX = 400_000;
/** Bytes that a reader takes before it goes away. */
const READ_BYTES_MAX = 1_500_000;

/** What is disturbed. */
export interface DisturbedFiles {
  readonly world: FileWorld;
  /** Starts one; its stdout is piped where the round reads it. */
  readonly start: () => FileProcess;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Told of what should not be. */
  readonly fault: (text: string) => void;
  /** Of the round with a small disk. */
  readonly disk: SmallDisk | null;
  /** Takes whole lines that came out of stdout. */
  readonly received: (lines: readonly string[]) => void;
  /** Where logs go. */
  readonly logs: string;
}

/** Does one of its kind; returns whether it met a process at work. */
export type FileDisturbance = (disturbed: DisturbedFiles) => Promise<boolean>;

/** SIGKILL. */
export async function killOne(disturbed: DisturbedFiles): Promise<boolean> {
  const process = disturbed.start();
  if (disturbed.random() < EARLY_SHARE) await wait(EARLY_MS, disturbed);
  else if (await process.hasWorked()) await wait(LATER_MS, disturbed);
  const isKilled = await process.kill();
  await check(process, "killed", disturbed);
  return isKilled;
}

/** SIGSTOP for a while, in which others try to have its state and its output, and SIGCONT. */
export async function stopFileProcess(disturbed: DisturbedFiles): Promise<boolean> {
  const process = disturbed.start();
  if (await process.hasWorked()) await wait(LATER_MS, disturbed);
  const isStopped = process.signal("SIGSTOP");
  if (isStopped) {
    await intrude(disturbed, "its state", {});
    await intrude(disturbed, "its output", { state: join(disturbed.logs, "another-state") });
    await wait(STOPPED_MS, disturbed);
    process.signal("SIGCONT");
  }
  await check(process, "done", disturbed);
  return isStopped;
}

/** SIGTERM: it drains and ends with status 0. */
export async function restartOne(disturbed: DisturbedFiles): Promise<boolean> {
  const process = disturbed.start();
  if (await process.hasWorked()) await wait(LATER_MS, disturbed);
  const isAsked = process.signal("SIGTERM");
  await check(process, "done", disturbed);
  return isAsked;
}

/** The disk is full before it starts, or while it works, and has room again after it has ended. */
export async function fillDisk(disturbed: DisturbedFiles): Promise<boolean> {
  const { disk, random } = disturbed;
  if (disk === null) throw new Error("This round needs a small disk");
  const leaving = random() < 0.3 ? 0 : Math.floor(random() * LEFT_BYTES_MAX);
  const isEarly = random() < EARLY_SHARE;
  if (isEarly) await disk.fill(leaving);
  const process = disturbed.start();
  if (!isEarly) {
    if (await process.hasWorked()) await wait([0, 30], disturbed);
    await disk.fill(leaving);
  }
  await check(process, "failure", disturbed);
  await disk.free();
  return await process.code() === 1;
}

/** A file or the state's directory can't be written any more, from before the start or while it works. */
export async function takeRightsAway(disturbed: DisturbedFiles): Promise<boolean> {
  const { world: { files }, random } = disturbed;
  const paths = [files.output, files.deadLetters, files.state, join(files.state, "state.kv")];
  const path = paths[Math.floor(random() * paths.length)] as string;
  const isThere = await Deno.stat(path).then(() => true, () => false);
  const isEarly = isThere && random() < EARLY_SHARE;
  let taken = isEarly ? await takeAway(path) : null;
  const process = disturbed.start();
  try {
    if (!isEarly && await process.hasWorked()) {
      await wait([0, 30], disturbed);
      taken = await takeAway(path);
    }
    await check(process, "failure", disturbed);
  } finally {
    await taken?.giveBack();
  }
  return taken !== null && await process.code() === 1;
}

/** Whoever reads stdout goes away; the output file stays. */
export async function closePipe(disturbed: DisturbedFiles): Promise<boolean> {
  const process = disturbed.start();
  const wanted = Math.floor(disturbed.random() ** 2 * READ_BYTES_MAX);
  const reader = process.child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length <= wanted) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  disturbed.received(text.split("\n").slice(0, -1));
  await check(process, "failure", disturbed);
  return await process.code() === 1;
}

/** Another process that wants what is taken is sent away with status 1. */
async function intrude(disturbed: DisturbedFiles, what: string, options: FileProcessOptions): Promise<void> {
  const { world, logs, fault } = disturbed;
  const log = await Deno.makeTempFile({ dir: logs, suffix: ".log" });
  const intruder = new FileProcess(world, log, options);
  if (await intruder.code() !== 1) fault(`Another process was let have ${what}:\n${await intruder.said()}`);
}

async function check(
  process: FileProcess,
  expected: Parameters<FileProcess["fault"]>[0],
  { fault }: DisturbedFiles,
): Promise<void> {
  const wrong = await process.fault(expected);
  if (wrong !== null) fault(wrong);
}

async function wait(
  [least, most]: readonly [number, number],
  { random }: Pick<DisturbedFiles, "random">,
): Promise<void> {
  await delay(least + random() * (most - least));
}
