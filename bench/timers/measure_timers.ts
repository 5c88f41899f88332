/**
 * Six ways to keep 1.9 million timers of ten minutes, eight in nine of which are cancelled, at 12,000 operations a second.
 *
 * Each way is a process of its own ({@link file://./timers_process.ts}); they are filled one after the other, and then asked
 * for a round of churn in turns. All are there at once: 3 GB of memory, most of it `setTimeout`'s.
 *
 * ```
 *   schedule, cancel   CPU µs of the thread each, in the churn, with all the pairs there
 *   all in all         schedule, cancel and advance, CPU µs a pair that came: what lazy ways put off is in it
 *   memory             resident, what the fill added
 *   turn               the longest turn of the event loop in each 10 ms: their p99, and the worst; on a machine with other
 *                      work the CPU time of the worst tells more, since what others took is not in it
 *   lost               due and never told, or later than a minute
 * ```
 *
 * The references are the figures that this was asked to beat, for this workload: schedule, cancel, memory and worst pause of
 * four of the ways. Of their machine nothing is known: the order says more than the figures.
 *
 * @module
 */
import { AskedProcess } from "../engine/asked_process.ts";
import type { PartContext } from "../engine/part.ts";
import { script } from "../engine/processes.ts";
import { type Measurement, OURS } from "../engine/section.ts";
import { STEP_US } from "./churn.ts";
import type { TimersDrained, TimersFilled, TimersRound } from "./timers_process.ts";

/** The field's figures. */
interface Reference {
  readonly scheduleUs: number;
  readonly cancelUs: number;
  readonly memoryMB: number;
  readonly worstMs: number;
}

/** A way, as the process and the table call it. */
interface Contender {
  readonly key: string;
  readonly name: string;
  readonly reference?: Reference;
}

const CONTENDERS: readonly Contender[] = [
  {
    key: "setTimeout",
    name: "setTimeout a pair",
    reference: { scheduleUs: 41, cancelUs: 27, memoryMB: 380, worstMs: 94 },
  },
  {
    key: "heap",
    name: "heap, lazy deletion",
    reference: { scheduleUs: 3.1, cancelUs: 0.2, memoryMB: 152, worstMs: 18 },
  },
  {
    key: "scan",
    name: "hashed wheel, scan",
    reference: { scheduleUs: 0.9, cancelUs: 61, memoryMB: 61, worstMs: 22 },
  },
  {
    key: "tombstone",
    name: "hashed wheel, tombstones",
    reference: { scheduleUs: 0.9, cancelUs: 0.1, memoryMB: 61, worstMs: 2.4 },
  },
  { key: "npm", name: "npm timer-wheel" },
  { key: "ours", name: OURS },
];

/** Runs it. */
export async function measureTimers({ scale, report }: PartContext): Promise<void> {
  const pairs = scale.insidePairs;
  const seconds = scale.churnSeconds;
  const steps = Math.ceil(scale.rounds * seconds * 1e6 / STEP_US);
  report.begin(`timers: ${pairs} live, ten minutes each, cancelled to told 8:1, ${seconds} s a round`);
  report.note(
    "In brackets the field's figures. setTimeout is judged by what fell due while it was looked at.",
  );

  await using stack = new AsyncDisposableStack();
  const bouts = CONTENDERS.map((contender) => {
    const command = script("../timers/timers_process.ts", [contender.key, String(pairs), String(steps)]);
    return { contender, process: stack.use(new AskedProcess(command)), rounds: [] as TimersRound[] };
  });
  const filled: TimersFilled[] = [];
  for (const { process } of bouts) filled.push(await process.ask<TimersFilled>("fill"));
  for (let round = 0; round < scale.rounds; round++) {
    for (const { process, rounds } of bouts) {
      rounds.push(await process.ask<TimersRound>("round", String(seconds)));
    }
  }
  for (const [i, { contender, process, rounds }] of bouts.entries()) {
    const drained = await process.ask<TimersDrained>("drain");
    const residentBytes = filled[i]?.residentBytes ?? NaN;
    for (const cell of cellsOf(contender, { rounds, drained, residentBytes })) report.add(cell);
  }
}

function cellsOf(
  { name, reference }: Contender,
  { rounds, drained, residentBytes }: {
    rounds: readonly TimersRound[];
    drained: TimersDrained;
    residentBytes: number;
  },
): Measurement[] {
  const cell = (
    column: string,
    unit: string,
    numbers: readonly number[],
    known?: number,
  ): Measurement => ({
    part: "timers",
    name,
    column,
    unit,
    rounds: numbers,
    ...(known === undefined ? {} : { reference: known }),
  });
  return [
    cell("schedule", "CPU µs", rounds.map((r) => r.scheduleUs / r.scheduled), reference?.scheduleUs),
    cell("cancel", "CPU µs", rounds.map((r) => r.cancelUs / r.cancelled), reference?.cancelUs),
    cell(
      "all in all",
      "CPU µs",
      rounds.map((r) => (r.scheduleUs + r.cancelUs + r.advanceUs) / r.scheduled),
    ),
    cell("memory", "MB", [residentBytes / 1e6], reference?.memoryMB),
    cell("turn p99", "ms", rounds.map((r) => r.turnP99Us / 1000)),
    cell("turn worst", "ms", rounds.map((r) => r.turnWorstUs / 1000), reference?.worstMs),
    cell("worst, CPU", "ms", rounds.map((r) => r.workWorstUs / 1000)),
    cell("lost", "timers", [drained.lost]),
    { ...cell("due", "timers", [drained.due]), better: "neither" },
  ];
}
