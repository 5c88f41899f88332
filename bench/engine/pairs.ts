/**
 * Millions of pairs that are inside, each with a dwell pending: bytes a pair, and how long the longest turn of the event
 * loop is while they come and go.
 *
 * Turns are measured in the real pipeline, over a live pipe, with checkpoints going on:
 *
 * ```
 *   idle       the machine by itself: the reference
 *   filling    pairs enter as fast as the pipeline takes them: all tables grow
 *   traffic    each second 12,000 pairs enter and 12,000 others leave, in real time; tables go on growing,
 *              and 1,000 dwells a second of the filling fall due
 * ```
 *
 * Busy turns alone are counted in the percentile: between them are hundreds of thousands in which nothing happens.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Histogram } from "./histogram.ts";
import { FILL_STEP_US, fillLines, Traffic } from "./inside_load.ts";
import type { PairsOutcome } from "./pairs_process.ts";
import type { PartContext } from "./part.ts";
import { askProcess, script } from "./processes.ts";
import type { Report } from "./report.ts";
import type { Phase } from "./turns_process.ts";

const PART = "pairs";
const PARTITIONS = [1, 16] as const;

/** ENTERs a second, and EXITs. */
const PAIRS_PER_SECOND = 12_000;
const PACE_MS = 10;
/** The longest that a turn may take. */
const TURN_MS_MAX = 5;
/** From the start of the filling until its first dwell falls due: when the traffic is on, or near it. */
const FIRST_DWELL_US = 25_000_000;
/** How long the traffic flows before it counts: the filling's last checkpoint is through by then. */
const SETTLE_SECONDS = 5;

/** Runs it. */
export async function measurePairs(context: PartContext): Promise<void> {
  await measureBytes(context);
  await measureTurns(context);
}

async function measureBytes({ scale, report }: PartContext): Promise<void> {
  report.begin(`pairs: ${scale.insidePairs} inside, ids of 25 bytes, bytes of each`);
  for (const partitions of PARTITIONS) {
    const outcomes: PairsOutcome[] = [];
    for (let round = 0; round < Math.min(scale.rounds, 2); round++) {
      outcomes.push(
        await askProcess(script("pairs_process.ts", [String(partitions), String(scale.insidePairs)])),
      );
    }
    const add = (what: string, of: (outcome: PairsOutcome) => number, target?: number): void => {
      const name = `${partitions} partition${partitions === 1 ? "" : "s"}, ${what}`;
      const rounds = outcomes.map((outcome) => of(outcome) / outcome.pairs);
      report.add({ part: PART, name, unit: "B/pair", rounds, ...(target === undefined ? {} : { target }) });
    };
    add("pairs, ids and wheel by their own count", (outcome) => outcome.pairBytes, 150);
    add("window and what waits by their own count", (outcome) => outcome.windowBytes + outcome.waitingBytes);
    add("resident, without V8's heap", (outcome) => outcome.residentBytes - outcome.heapBytes, 150);
    add("resident, with it", (outcome) => outcome.residentBytes);
    add("pending dwells of each", (outcome) => outcome.pendingDwells);
  }
}

async function measureTurns({ scale, report, directory }: PartContext): Promise<void> {
  report.begin(
    `pairs: turns, ${PAIRS_PER_SECOND} schedules and as many cancels a second for ${scale.liveSeconds} s`,
  );
  const thresholdUs = scale.insidePairs * FILL_STEP_US + FIRST_DWELL_US;
  const rules = JSON.stringify([{ fence: "*", after: [`${Math.round(thresholdUs / 1e6)}s`] }]);
  const [executable, ...args] = script("turns_process.ts", [
    "run",
    ...["--input", "-", "--live", "--output", join(directory, "triggers.ndjson")],
    ...["--state", join(directory, "state"), "--dead-letters", join(directory, "dead-letters.ndjson")],
    ...["--set", `dwell.rules=${rules}`, "--set", "time.settle=1s"],
  ]) as [string, ...string[]];
  const child = new Deno.Command(executable, { args, stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const writer = child.stdin.getWriter();
  const nextPhase = (): void => child.kill("SIGUSR2");

  const startUs = Date.now() * 1000 - scale.insidePairs * FILL_STEP_US;
  for (const block of fillLines(scale.insidePairs, startUs)) await writer.write(block);
  nextPhase();
  const traffic = new Traffic(scale.insidePairs);
  const send = async (seconds: number): Promise<void> => {
    const startedMs = performance.now();
    for (let sent = 0; sent < PAIRS_PER_SECOND * seconds;) {
      await delay(PACE_MS);
      const due = Math.floor((performance.now() - startedMs) / 1000 * PAIRS_PER_SECOND);
      // After a pause of the machine's own there is much to catch up with.
      for (const block of traffic.take(due - sent, Date.now() * 1000)) await writer.write(block);
      sent = due;
    }
  };
  await send(SETTLE_SECONDS);
  nextPhase();
  await send(scale.liveSeconds);
  nextPhase();
  await writer.close();

  const said = await stderr ?? "";
  const { success } = await child.status;
  if (!success) throw new Error(`Cannot measure turns: the pipeline failed: ${said}`);
  const [idle, filling, , live] = JSON.parse(await stdout ?? "") as Phase[];
  addPhase(report, "idle", idle);
  addPhase(report, "filling", filling, TURN_MS_MAX);
  addPhase(report, "traffic", live, TURN_MS_MAX);
  report.add({
    part: PART,
    name: "filling, over a pipe",
    unit: "records/s",
    rounds: [Math.round(scale.insidePairs / (filling?.seconds ?? NaN))],
  });
  report.add({
    part: PART,
    name: "whole process, resident, with traffic",
    unit: "B/pair",
    rounds: [(live?.residentBytes ?? NaN) / scale.insidePairs],
  });
  for (const line of said.split("\n")) {
    if (/^(read|emitted|late|pending)/.test(line)) report.note(line);
  }
}

function addPhase(report: Report, name: string, phase: Phase | undefined, target?: number): void {
  if (phase === undefined) throw new Error("Cannot measure turns: a phase is missing");
  for (const what of ["turns", "worked"] as const) {
    const histogram = Histogram.fromJson(phase[what]);
    const of = `${name}, ${what === "turns" ? "turn" : "turn's CPU time"}`;
    const add = (percentile: string, us: number): void => {
      const bound = target === undefined ? {} : { target };
      report.add({ part: PART, name: `${of}, ${percentile}`, unit: "ms", rounds: [us / 1000], ...bound });
    };
    add("p99", histogram.percentileUs(0.99));
    add("worst", histogram.worstUs);
    const over = histogram.countAbove(TURN_MS_MAX * 1000);
    report.add({
      part: PART,
      name: `${of}, over ${TURN_MS_MAX} ms`,
      unit: `of ${histogram.count}`,
      rounds: [over],
    });
  }
}
