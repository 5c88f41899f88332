/**
 * The CPU time of a live pipe at rest: all it has to do is to look at the clock each second. The reference is a process
 * with a timer of a second and nothing else.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { FILL_STEP_US, fillLines } from "./inside_load.ts";
import type { PartContext } from "./part.ts";
import { cpuSecondsOf, fencepost } from "./processes.ts";

const PART = "rest";
const REST_SECONDS = 10;
/** Until the watermark has passed all that was sent, and the last checkpoint is through. */
const SETTLE_MS = 10_000;
const PAIRS = 5_000;

/** Runs it. */
export async function measureRest({ report, directory }: PartContext): Promise<void> {
  report.begin(`rest: a live pipe with ${PAIRS} pairs inside and nothing to read, ${REST_SECONDS} s`);
  const timer = spawn([Deno.execPath(), "eval", "setInterval(() => {}, 1000)"]);
  const live = spawn(fencepost([
    "run",
    ...["--input", "-", "--live", "--output", join(directory, "triggers.ndjson")],
    ...["--state", join(directory, "state"), "--dead-letters", join(directory, "dead-letters.ndjson")],
    ...["--set", "time.settle=1s"],
  ]));
  try {
    const writer = live.stdin.getWriter();
    for (const block of fillLines(PAIRS, Date.now() * 1000 - PAIRS * FILL_STEP_US)) await writer.write(block);
    await delay(SETTLE_MS);
    const before = [await cpuSecondsOf(timer.pid), await cpuSecondsOf(live.pid)] as const;
    await delay(REST_SECONDS * 1000);
    const perCent = async (pid: number, was: number): Promise<number> =>
      (await cpuSecondsOf(pid) - was) / REST_SECONDS * 100;
    const add = (name: string, used: number, target?: number): void => {
      report.add({
        part: PART,
        name,
        unit: "% of a core",
        rounds: [used],
        ...(target === undefined ? {} : { target }),
      });
    };
    add("a timer of a second", await perCent(timer.pid, before[0]));
    add("a live pipe at rest", await perCent(live.pid, before[1]), 1);
    await writer.close();
    await live.status;
  } finally {
    timer.kill("SIGKILL");
  }
}

function spawn([executable, ...args]: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(executable ?? "", { args, stdin: "piped", stdout: "null", stderr: "null" }).spawn();
}
