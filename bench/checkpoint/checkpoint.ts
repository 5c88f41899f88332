/**
 * What a checkpoint of so many pending dwells takes, and a restart from it.
 *
 * ```
 *   ENTERs of so many pairs ─▶ checkpoint_process.ts   one checkpoint, behind the last record: all rows are new
 *                                   │ state
 *                                   ╰─▶ fencepost run   from its start until it says what it has restored, nothing new to read
 * ```
 *
 * In a run, a checkpoint takes what has changed since the one before and a slice of the rest; this one has everything to
 * write. Its time goes from the barrier until it is durable, the output's sync included. The reference of the restart is a
 * Deno that starts and says its version. Nobody has published a figure for this.
 *
 * @module
 */
import { join } from "node:path";
import type { CheckpointOutcome } from "./checkpoint_process.ts";
import { FILL_STEP_US, fillLines } from "../engine/inside_load.ts";
import type { PartContext } from "../engine/part.ts";
import { askProcess, fencepost, measureProcess, script } from "../engine/processes.ts";
import { writeBlocks } from "../engine/write_blocks.ts";
import { DEFAULT_START_US } from "../load_options.ts";

const PART = "checkpoint";
/** What a process says on stderr when it has restored its state. */
const RESTORED = "Going on from the state";
/** So many pending dwells must be there again after so many seconds. */
const TARGET_PENDING = 1_900_000;
const TARGET_SECONDS = 3;
const MB = 1e6;
/** More than lateness, and than an ENTER's way to us. */
const HEARTBEAT_US = 60_000_000;

/** Runs it. */
export async function measureCheckpoint({ scale, report, directory }: PartContext): Promise<void> {
  const idles: number[] = [];
  for (let round = 0; round < scale.rounds; round++) {
    idles.push((await measureProcess(fencepost(["--version"]))).wallSeconds);
  }
  report.begin("checkpoint: of pending dwells, ids of 25 bytes, 16 partitions; and a restart from it");
  report.add({ part: PART, name: "a process that only says its version", unit: "s", rounds: idles });
  for (const pending of scale.pendingDwells) {
    const input = join(directory, `${pending}.ndjson`);
    const state = join(directory, `${pending}-state`);
    await writeBlocks(input, linesOf(pending));
    const thresholdSeconds = Math.ceil(pending * FILL_STEP_US / 1e6) + 3600;
    const settings = {
      "source.path": input,
      "source.at_eof": "hold",
      "sink.path": join(directory, `${pending}-triggers.ndjson`),
      "checkpoint.path": state,
      "dead_letters.path": join(directory, `${pending}-letters.ndjson`),
      "dwell.rules": JSON.stringify([{ fence: "*", after: [`${thresholdSeconds}s`] }]),
    };
    const words = Object.entries(settings).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
    const outcome = await askProcess<CheckpointOutcome>(script("../checkpoint/checkpoint_process.ts", words));
    if (outcome.pendingDwells !== pending) {
      throw new Error(`Cannot measure: ${outcome.pendingDwells} dwells are pending, not ${pending}`);
    }
    const restored: number[] = [];
    for (let round = 0; round < scale.rounds; round++) {
      restored.push(await timeRestart(fencepost(["run", ...words])));
    }
    const name = `${pending} pending`;
    const add = (column: string, unit: string, rounds: readonly number[], target?: number): void => {
      const bound = target === undefined ? {} : { target };
      report.add({ part: PART, name, column, unit, rounds, ...bound });
    };
    add("checkpoint", "s", [outcome.seconds]);
    add("checkpoint", "MB", [outcome.bytes / MB]);
    add("checkpoint", "MB/s", [outcome.bytes / MB / outcome.seconds]);
    add("a pair", "bytes", [outcome.bytes / pending]);
    add("restart", "s", restored, pending === TARGET_PENDING ? TARGET_SECONDS : undefined);
    await Promise.all(
      [input, settings["sink.path"], state].map((path) => Deno.remove(path, { recursive: true })),
    );
  }
}

/** ENTERs, and a heartbeat that lets the watermark pass all of them. */
function* linesOf(pending: number): Generator<Uint8Array, void, void> {
  yield* fillLines(pending, DEFAULT_START_US);
  const timeUs = DEFAULT_START_US + pending * FILL_STEP_US + HEARTBEAT_US;
  const heartbeat = { kind: "HEARTBEAT", event_time_us: timeUs, ingest_time_us: timeUs };
  yield new TextEncoder().encode(`${JSON.stringify(heartbeat)}\n`);
}

/** Seconds until a process has restored its state. */
async function timeRestart(command: readonly string[]): Promise<number> {
  const [executable, ...args] = command as [string, ...string[]];
  const startedMs = performance.now();
  const child = new Deno.Command(executable, { args, stdout: "null", stderr: "piped" }).spawn();
  let seconds = NaN;
  let said = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (Number.isNaN(seconds) && said.includes(RESTORED)) seconds = (performance.now() - startedMs) / 1000;
  }
  const { success } = await child.status;
  if (!success || Number.isNaN(seconds)) throw new Error(`Cannot measure the restart: ${said}`);
  return seconds;
}
