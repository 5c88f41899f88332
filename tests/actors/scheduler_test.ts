/**
 * Whose turn it is: that nobody starves, and that the event loop gets its chance.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Clock } from "../../actors/ports.ts";
import { type Actor, Scheduler, type Step } from "../../actors/scheduler.ts";

/** A clock that only the actors move on, and that counts the turns of the event loop. */
class TurnClock implements Clock {
  nowUs = 0;
  /** When each turn began. */
  readonly turns: number[] = [];

  wallUs(): number {
    return this.nowUs;
  }

  monotonicUs(): number {
    return this.nowUs;
  }

  delay(): Promise<void> {
    return Promise.resolve();
  }

  nextTurn(): Promise<void> {
    this.turns.push(this.nowUs);
    return Promise.resolve();
  }

  every(): () => void {
    return () => {};
  }
}

/** Says its name at each step, as often as it has something to do. */
class Speaker implements Actor {
  readonly #speak: () => void;
  left: number;

  constructor(left: number, speak: () => void) {
    this.left = left;
    this.#speak = speak;
  }

  step(): Step {
    this.#speak();
    return --this.left > 0 ? "again" : "idle";
  }
}

/** Lets everything run that can. */
async function settle(scheduler: Scheduler): Promise<void> {
  for (let turns = 0; turns < 10_000 && !scheduler.idle; turns++) await Promise.resolve();
  ok(scheduler.idle, "it comes to rest");
}

function neverFails(error: unknown): void {
  throw error;
}

Deno.test("scheduler: each actor has one step a round, in the order in which they became ready", async () => {
  const said: string[] = [];
  const scheduler = new Scheduler(new TurnClock(), neverFails);
  for (const [name, steps] of [["a", 3], ["b", 1], ["c", 2]] as const) {
    scheduler.ready(new Speaker(steps, () => said.push(name)));
  }
  equal(said.length, 0, "nothing runs within the call that made it ready");
  await settle(scheduler);
  equal(said.join(""), "abcaca");
});

Deno.test("scheduler: the turn is given back after 2 ms and one step, and then goes on with whose turn it was", async () => {
  for (const stepUs of [1, 300, 700, 2000, 2001, 50_000]) {
    const clock = new TurnClock();
    const steps = [0, 0, 0, 0, 0];
    const scheduler = new Scheduler(clock, neverFails);
    steps.forEach((_, i) => {
      scheduler.ready(
        new Speaker(20, () => {
          clock.nowUs += stepUs;
          steps[i] = (steps[i] ?? 0) + 1;
          ok(
            Math.max(...steps) - Math.min(...steps) <= 1,
            `with ${stepUs} µs a step, all are equally far: ${steps}`,
          );
        }),
      );
    });
    await settle(scheduler);
    deepEqual(steps, [20, 20, 20, 20, 20]);
    clock.turns.push(clock.nowUs);
    clock.turns.forEach((beganUs, i) => {
      const tookUs = (clock.turns[i + 1] ?? beganUs) - beganUs;
      ok(tookUs <= 2000 + stepUs, `with ${stepUs} µs a step, a turn took ${tookUs} µs`);
    });
  }
});

Deno.test("scheduler: made ready twice before its step, an actor has one step", async () => {
  let steps = 0;
  const scheduler = new Scheduler(new TurnClock(), neverFails);
  const actor = new Speaker(1, () => steps++);
  scheduler.ready(actor);
  scheduler.ready(actor);
  await settle(scheduler);
  equal(steps, 1);
  scheduler.ready(actor);
  await settle(scheduler);
  equal(steps, 2, "and after it another");
});

Deno.test("scheduler: an actor that another one makes ready in its step is not forgotten", async () => {
  const said: string[] = [];
  const scheduler = new Scheduler(new TurnClock(), neverFails);
  const second = new Speaker(1, () => said.push("second"));
  const first = new Speaker(1, () => {
    said.push("first");
    scheduler.ready(second);
  });
  scheduler.ready(first);
  await settle(scheduler);
  deepEqual(said, ["first", "second"]);
});

Deno.test("scheduler: what an actor throws is told once and stops all of them", async () => {
  const failures: unknown[] = [];
  const said: string[] = [];
  const scheduler = new Scheduler(new TurnClock(), (error) => failures.push(error));
  const fault = new Error("we are wrong");
  scheduler.ready(new Speaker(9, () => said.push("before")));
  scheduler.ready(
    new Speaker(9, () => {
      throw fault;
    }),
  );
  const after = new Speaker(9, () => said.push("after"));
  scheduler.ready(after);
  for (let i = 0; i < 100; i++) await Promise.resolve();
  scheduler.ready(new Speaker(1, () => said.push("later")));
  for (let i = 0; i < 100; i++) await Promise.resolve();
  deepEqual(failures, [fault]);
  deepEqual(said, ["before"]);
});

Deno.test("scheduler: stopped, it lets no actor run any more", async () => {
  const said: number[] = [];
  const scheduler = new Scheduler(new TurnClock(), neverFails);
  const actor = new Speaker(100, () => {
    said.push(said.length);
    if (said.length === 3) scheduler.stop();
  });
  scheduler.ready(actor);
  for (let i = 0; i < 1000; i++) await Promise.resolve();
  scheduler.ready(new Speaker(1, () => said.push(-1)));
  for (let i = 0; i < 100; i++) await Promise.resolve();
  deepEqual(said, [0, 1, 2]);
});

Deno.test("scheduler: whoever waits for it to be idle hears of it when all have done what they can", async () => {
  const scheduler = new Scheduler(new TurnClock(), neverFails);
  await scheduler.whenIdle();
  let idle = 0;
  const actor = new Speaker(3, () => equal(idle, 0, "not before its last step"));
  scheduler.ready(actor);
  for (let waiting = 0; waiting < 2; waiting++) scheduler.whenIdle().then(() => idle++);
  await settle(scheduler);
  await Promise.resolve();
  equal(idle, 2);
  equal(actor.left, 0);
});
