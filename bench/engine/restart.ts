/**
 * How long a restart takes with millions of dwells pending: from the start of the process until it says what it has
 * restored, with nothing new to read. The state is one that the real process wrote. The reference is a Deno that starts
 * and does nothing.
 *
 * @module
 */
import { join } from "node:path";
import { FILL_STEP_US, fillLines } from "./inside_load.ts";
import type { PartContext } from "./part.ts";
import { fencepost, measureProcess } from "./processes.ts";

const PART = "restart";
/** What a process says on stderr when it has restored its state. */
const RESTORED = "Going on from the state";

/** Runs it. */
export async function measureRestart({ scale, report, directory }: PartContext): Promise<void> {
  const pairs = scale.insidePairs;
  report.begin(`restart: ${pairs} dwells pending`);
  const input = join(directory, "input.ndjson");
  const thresholdSeconds = Math.ceil(pairs * FILL_STEP_US / 1e6) + 3600;
  const command = fencepost([
    "run",
    ...["--input", input, "--at-eof", "hold", "--output", join(directory, "triggers.ndjson")],
    ...["--state", join(directory, "state"), "--dead-letters", join(directory, "dead-letters.ndjson")],
    ...["--set", `dwell.rules=[{"fence":"*","after":["${thresholdSeconds}s"]}]`],
  ]);
  await writeFilling(input, pairs);
  await measureProcess(command);

  const idles: number[] = [];
  const restored: number[] = [];
  const ended: number[] = [];
  let said = "";
  for (let round = 0; round < scale.rounds; round++) {
    idles.push((await measureProcess(fencepost(["--version"]))).wallSeconds);
    const restart = await timeRestart(command);
    restored.push(restart.restoredSeconds);
    ended.push(restart.endedSeconds);
    said = restart.said;
  }
  report.note(said);
  report.add({ part: PART, name: "a process that only says its version", unit: "s", rounds: idles });
  report.add({ part: PART, name: "restart until restored", unit: "s", rounds: restored, target: 3 });
  report.add({ part: PART, name: "restart until its end", unit: "s", rounds: ended });
}

async function writeFilling(path: string, pairs: number): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  for (const block of fillLines(pairs, Date.UTC(2025, 4, 5, 4) * 1000)) {
    for (let at = 0; at < block.length;) at += await file.write(block.subarray(at));
  }
}

async function timeRestart(
  command: readonly string[],
): Promise<{ restoredSeconds: number; endedSeconds: number; said: string }> {
  const [executable, ...args] = command as [string, ...string[]];
  const startedMs = performance.now();
  const child = new Deno.Command(executable, { args, stdout: "null", stderr: "piped" }).spawn();
  let restoredSeconds = NaN;
  let said = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (Number.isNaN(restoredSeconds) && said.includes(RESTORED)) {
      restoredSeconds = (performance.now() - startedMs) / 1000;
    }
  }
  const { success } = await child.status;
  if (!success) throw new Error(`Cannot measure the restart: it failed: ${said}`);
  const line = said.split("\n").find((text) => text.includes(RESTORED)) ?? "";
  return { restoredSeconds, endedSeconds: (performance.now() - startedMs) / 1000, said: line };
}
