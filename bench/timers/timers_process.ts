/**
 * One way to keep timers, in a process of its own: filled once, then asked for a round of churn, and at the end for what
 * it has lost.
 *
 * ```
 *   fill     the pairs that live at the start; resident memory, before and after
 *   round    so many seconds, a step each 10 ms in real time: advance, cancel, schedule; meanwhile a witness asks for the
 *            event loop again and again, and notes the longest turn of each 10 ms
 *   drain    time passes in steps of a second until the last deadline and a minute more: who has not been told by then,
 *            or later than a minute, is lost
 * ```
 *
 * Between rounds the workload's clock stands still. `setTimeout` alone goes on by the machine's: some of its timers are
 * told before the others' are, and nobody can wait ten minutes for the rest, so that it is judged by what was due a
 * second before the end of the last round.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { answerQuestions } from "../engine/asked_process.ts";
import { Histogram } from "../engine/histogram.ts";
import { threadClock } from "../engine/thread_clock.ts";
import { Churn, CHURN_START_US, STEP_US, timeOfStep } from "./churn.ts";
import { HashedWheel } from "./hashed_wheel.ts";
import { LazyHeap } from "./lazy_heap.ts";
import { NpmWheel } from "./npm_wheel.ts";
import { OurWheel } from "./our_wheel.ts";
import { SetTimeout } from "./set_timeout.ts";
import type { Timers, TimersOptions } from "./timers.ts";

/** What filling took. */
export interface TimersFilled {
  readonly residentBytes: number;
}

/** What a round took. */
export interface TimersRound {
  readonly scheduled: number;
  readonly cancelled: number;
  /** CPU µs of the thread in all; of the host's own timers without their firing, which is in its turns. */
  readonly scheduleUs: number;
  readonly cancelUs: number;
  readonly advanceUs: number;
  /** Of the longest turn in each step. */
  readonly turnP99Us: number;
  readonly turnWorstUs: number;
  /** CPU time of the thread in the longest turn. */
  readonly workWorstUs: number;
}

/** What became of those that were due. */
export interface TimersDrained {
  readonly due: number;
  readonly lost: number;
}

/** The ways, by the names that the process is started with. */
const CONTENDERS: Readonly<Record<string, (options: TimersOptions) => Timers>> = {
  setTimeout: (options) => new SetTimeout(options),
  heap: (options) => new LazyHeap(options),
  scan: (options) => new HashedWheel(options, "scan"),
  tombstone: (options) => new HashedWheel(options, "tombstone"),
  npm: (options) => new NpmWheel(options),
  ours: (options) => new OurWheel(options),
};

const WARM_UP_PAIRS = 20_000;
const WARM_UP_STEPS = 50;
const DRAIN_STEP_US = 1_000_000;
const GRACE_US = 60_000_000;

const LIVE = 1;
const CANCELLED = 2;
const TOLD = 3;
const TOLD_TOO_LATE = 4;

/** One workload over one way. */
class Bout {
  readonly #churn: Churn;
  readonly #states: Uint8Array;
  readonly #timers: Timers;
  readonly #ownClock: boolean;
  #nowUs = CHURN_START_US;
  #step = 0;

  constructor(contender: string, churn: Churn) {
    this.#churn = churn;
    this.#states = new Uint8Array(churn.total);
    this.#ownClock = contender === "setTimeout";
    const make = CONTENDERS[contender];
    if (make === undefined) throw new Error(`Cannot measure ${contender}: it is none of the timers`);
    this.#timers = make({
      capacity: churn.total,
      nowUs: () => this.#nowUs,
      told: (pair) => this.#tell(pair),
    });
  }

  fill(): void {
    this.#note(0, this.#churn.pairs, []);
    this.#schedule(0, this.#churn.pairs);
  }

  async round(seconds: number): Promise<TimersRound> {
    const turns = new Histogram();
    let scheduleUs = 0;
    let cancelUs = 0;
    let advanceUs = 0;
    let scheduled = 0;
    let cancelled = 0;
    let workWorstUs = 0;
    let longestMs = 0;
    let lastMs = performance.now();
    let lastThreadUs = threadUs();
    const startedMs = lastMs;
    const steps = Math.round(seconds * 1e6 / STEP_US);
    for (let done = 0; done < steps;) {
      await nextTurn();
      const nowMs = performance.now();
      const nowThreadUs = threadUs();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      workWorstUs = Math.max(workWorstUs, nowThreadUs - lastThreadUs);
      lastMs = nowMs;
      lastThreadUs = nowThreadUs;
      if (nowMs - startedMs < done * STEP_US / 1000) continue;
      // The first steps' turn is that in which the round was asked for.
      if (done++ > 0) turns.record(longestMs * 1000);
      longestMs = 0;
      const [from, to] = this.#churn.arrivals(this.#step);
      const departures = this.#churn.departures(this.#step);
      this.#nowUs = timeOfStep(this.#step++);
      const beginUs = threadUs();
      this.#timers.advanceTo(this.#nowUs);
      const advancedUs = threadUs();
      this.#cancel(departures);
      const cancelledUs = threadUs();
      this.#schedule(from, to);
      scheduleUs += threadUs() - cancelledUs;
      cancelUs += cancelledUs - advancedUs;
      advanceUs += advancedUs - beginUs;
      this.#note(from, to, departures);
      scheduled += to - from;
      cancelled += departures.length;
    }
    return {
      scheduled,
      cancelled,
      scheduleUs,
      cancelUs,
      advanceUs,
      turnP99Us: turns.percentileUs(0.99),
      turnWorstUs: turns.worstUs,
      workWorstUs,
    };
  }

  async drain(): Promise<TimersDrained> {
    const dueBeforeUs = this.#ownClock ? this.#nowUs - DRAIN_STEP_US : Infinity;
    if (this.#ownClock) await nextTurn();
    else {
      const lastUs = this.#churn.deadlinesUs.reduce((a, b) => Math.max(a, b), 0) + GRACE_US;
      while (this.#nowUs < lastUs) {
        this.#nowUs += DRAIN_STEP_US;
        this.#timers.advanceTo(this.#nowUs);
      }
    }
    let due = 0;
    let lost = 0;
    this.#states.forEach((state, pair) => {
      if (state === CANCELLED || state === 0 || this.#deadlineOf(pair) > dueBeforeUs) return;
      due++;
      if (state !== TOLD) lost++;
    });
    return { due, lost };
  }

  #schedule(from: number, to: number): void {
    for (let pair = from; pair < to; pair++) this.#timers.schedule(pair, this.#deadlineOf(pair));
  }

  #cancel(pairs: readonly number[]): void {
    for (const pair of pairs) this.#timers.cancel(pair);
  }

  /** What is expected from now on. Not where it is measured, as it costs about as much as a cancel. */
  #note(from: number, to: number, departures: readonly number[]): void {
    this.#states.fill(LIVE, from, to);
    for (const pair of departures) if (this.#states[pair] === LIVE) this.#states[pair] = CANCELLED;
  }

  #tell(pair: number): void {
    const lateUs = this.#nowUs - this.#deadlineOf(pair);
    const wrong = this.#states[pair] !== LIVE || lateUs < 0;
    if (wrong && !this.#ownClock) {
      throw new Error(`Cannot compare timers that tell what is not due: pair ${pair}`);
    }
    this.#states[pair] = lateUs > GRACE_US ? TOLD_TOO_LATE : TOLD;
  }

  #deadlineOf(pair: number): number {
    return this.#churn.deadlinesUs[pair] as number;
  }
}

const threadUs = threadClock();

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function main(contender: string, pairs: number, steps: number): Promise<void> {
  // Compiled code, and a heap that has seen some work, before anything counts.
  const warmUp = new Bout(contender, new Churn({ pairs: WARM_UP_PAIRS, steps: WARM_UP_STEPS, seed: 1 }));
  warmUp.fill();
  await warmUp.round(WARM_UP_STEPS * STEP_US / 1e6);
  await warmUp.drain();

  const churn = new Churn({ pairs, steps, seed: 2 });
  const before = Deno.memoryUsage().rss;
  const bout = new Bout(contender, churn);
  await answerQuestions(([question, seconds]) => {
    if (question === "round") return bout.round(Number(seconds));
    if (question === "drain") return bout.drain();
    bout.fill();
    return { residentBytes: Deno.memoryUsage().rss - before };
  });
  // Timers of the host's own would keep the process for ten minutes.
  Deno.exit(0);
}

const [contender = "", pairs, steps] = Deno.args;
await main(contender, Number(pairs), Number(steps));
