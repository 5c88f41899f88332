/**
 * The ways to keep timers against a model, the workload's arithmetic, and the whole part in the small.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Churn, CHURN_START_US, STEP_US, timeOfStep } from "../../../bench/timers/churn.ts";
import { HashedWheel } from "../../../bench/timers/hashed_wheel.ts";
import { LazyHeap } from "../../../bench/timers/lazy_heap.ts";
import { measureTimers } from "../../../bench/timers/measure_timers.ts";
import { OurWheel } from "../../../bench/timers/our_wheel.ts";
import type { Timers, TimersOptions } from "../../../bench/timers/timers.ts";
import { randomFrom } from "../../support/random.ts";
import { runSmallPart } from "../support/small_part.ts";

const SECOND_US = 1_000_000;

/** Each way, and how late it may tell. */
const WAYS: readonly [string, (options: TimersOptions) => Timers, number][] = [
  ["heap", (options) => new LazyHeap(options), 0],
  ["scan", (options) => new HashedWheel(options, "scan"), SECOND_US],
  ["tombstone", (options) => new HashedWheel(options, "tombstone"), SECOND_US],
  ["ours", (options) => new OurWheel(options), 0],
];

for (const [name, make, lateUsMax] of WAYS) {
  Deno.test(`timers, ${name}: each is told once, when it is due, and none that was cancelled`, () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed);
      let nowUs = CHURN_START_US;
      const pending = new Map<number, number>();
      const timers = make({
        capacity: 10_000,
        nowUs: () => nowUs,
        told: (pair) => {
          const deadlineUs = pending.get(pair) ?? NaN;
          assert.ok(deadlineUs <= nowUs, `seed ${seed}: pair ${pair} is not due`);
          pending.delete(pair);
        },
      });
      for (let pair = 0; pair < 2000; pair++) {
        const deadlineUs = nowUs + 1 + Math.floor(random() * 600 * SECOND_US);
        pending.set(pair, deadlineUs);
        timers.schedule(pair, deadlineUs);
        const cancelled = Math.floor(random() * (pair + 1));
        if (random() < 0.5 && pending.delete(cancelled)) timers.cancel(cancelled);
        nowUs += Math.floor(random() * SECOND_US);
        timers.advanceTo(nowUs);
        const overdue = [...pending.values()].filter((us) => us + lateUsMax <= nowUs);
        assert.deepEqual(overdue, [], `seed ${seed}, pair ${pair}`);
      }
      nowUs += 602 * SECOND_US;
      timers.advanceTo(nowUs);
      assert.equal(pending.size, 0, `seed ${seed}`);
    }
  });
}

Deno.test("churn: as many come as go, eight in nine before they are due, and each leaves after it came", () => {
  const churn = new Churn({ pairs: 100_000, steps: 3000, seed: 3 });
  let came = 0;
  let left = 0;
  const isThere = new Set(Array.from({ length: churn.pairs }, (_, pair) => pair));
  for (let step = 0; step < churn.steps; step++) {
    for (const pair of churn.departures(step)) {
      assert.ok(isThere.delete(pair), `step ${step}: pair ${pair} is not there`);
      assert.ok((churn.deadlinesUs[pair] as number) > timeOfStep(step));
      left++;
    }
    const [from, to] = churn.arrivals(step);
    for (let pair = from; pair < to; pair++) isThere.add(pair);
    came += to - from;
  }
  const endUs = timeOfStep(churn.steps);
  const told = [...isThere].filter((pair) => (churn.deadlinesUs[pair] as number) <= endUs).length;
  // 30 s of a life of 316.7 s in the mean.
  assert.equal(came, Math.floor(churn.pairs * 3000 * STEP_US / 316_666_666.67));
  assert.ok(Math.abs((left + told) / came - 1) < 0.03, `${came} came, ${left} left, ${told} were told`);
  assert.ok(Math.abs(left / told / 8 - 1) < 0.1, `${left} left, ${told} were told`);
});

Deno.test("timers: every way has every column; npm's loses some, the others none", async () => {
  const part = await runSmallPart(measureTimers, ["--inside", "20000", "--rounds", "2"]);
  assert.deepEqual(part.heads, [[
    "schedule CPU µs",
    "cancel CPU µs",
    "all in all CPU µs",
    "memory MB",
    "turn p99 ms",
    "turn worst ms",
    "worst, CPU ms",
    "lost timers",
    "due timers",
  ]]);
  const others = [
    "setTimeout a pair",
    "heap, lazy deletion",
    "hashed wheel, scan",
    "hashed wheel, tombstones",
  ];
  assert.deepEqual(part.fullRows, [[...others, "npm timer-wheel", "ours"]]);
  for (const name of [...others.slice(1), "ours"]) {
    assert.equal(part.median(name, "lost"), 0, name);
    assert.ok(part.median(name, "due") > 19_000, name);
  }
  assert.ok(part.median("npm timer-wheel", "lost") > 0);
});
