/**
 * The ticker, over a clock that ticks by hand.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import type { Clock } from "../../actors/ports.ts";
import { type Tick, Ticker } from "../../actors/ticker.ts";

/** A clock whose timers fire when told. */
class HandClock implements Clock {
  wall = 1_000_000;
  monotonic = 0;
  readonly timers = new Map<() => void, number>();

  wallUs(): number {
    return this.wall;
  }

  monotonicUs(): number {
    return this.monotonic;
  }

  delay(): Promise<void> {
    return Promise.reject(new Error("The ticker needs no delay"));
  }

  nextTurn(): Promise<void> {
    return Promise.reject(new Error("The ticker needs no turn"));
  }

  every(us: number, callback: () => void): () => void {
    this.timers.set(callback, us);
    return () => this.timers.delete(callback);
  }

  /** Moves both clocks on and fires every timer. */
  pass(us: number): void {
    this.wall += us;
    this.monotonic += us;
    for (const fire of this.timers.keys()) fire();
  }
}

Deno.test("ticker: one timer for all subscribers, none without", () => {
  const clock = new HandClock();
  const ticker = new Ticker(clock, 500);
  equal(clock.timers.size, 0);
  const first = ticker.subscribe(() => {});
  const second = ticker.subscribe(() => {});
  deepEqual([...clock.timers.values()], [500]);
  first();
  equal(clock.timers.size, 1);
  second();
  equal(clock.timers.size, 0);
});

Deno.test("ticker: everyone is told the same instant", () => {
  const clock = new HandClock();
  const ticker = new Ticker(clock, 500);
  const told: [name: string, tick: Tick][] = [];
  ticker.subscribe((tick) => told.push(["a", tick]));
  ticker.subscribe((tick) => told.push(["b", tick]));
  clock.pass(500);
  clock.wall -= 100;
  clock.pass(500);
  deepEqual(told, [
    ["a", { wallUs: 1_000_500, monotonicUs: 500 }],
    ["b", { wallUs: 1_000_500, monotonicUs: 500 }],
    ["a", { wallUs: 1_000_900, monotonicUs: 1000 }],
    ["b", { wallUs: 1_000_900, monotonicUs: 1000 }],
  ]);
});

Deno.test("ticker: who unsubscribed hears nothing more, not even of the tick that is under way", () => {
  const clock = new HandClock();
  const ticker = new Ticker(clock, 1);
  const told: string[] = [];
  let cancelSecond = (): void => {};
  ticker.subscribe(() => {
    told.push("first");
    cancelSecond();
  });
  cancelSecond = ticker.subscribe(() => told.push("second"));
  clock.pass(1);
  clock.pass(1);
  deepEqual(told, ["first", "first"]);
});

Deno.test("ticker: a callback that subscribed twice is called twice, and unsubscribing twice harms nobody", () => {
  const clock = new HandClock();
  const ticker = new Ticker(clock, 1);
  let calls = 0;
  const callback = (): number => calls++;
  const cancel = ticker.subscribe(callback);
  ticker.subscribe(callback);
  clock.pass(1);
  equal(calls, 2);
  cancel();
  cancel();
  clock.pass(1);
  equal(calls, 3);
});

Deno.test("ticker: stops, and a later subscription starts it again", () => {
  const clock = new HandClock();
  const ticker = new Ticker(clock, 1);
  let calls = 0;
  ticker.subscribe(() => calls++);
  ticker.stop();
  ticker.stop();
  clock.pass(1);
  equal(calls, 0);
  equal(clock.timers.size, 0);
  ticker.subscribe(() => {});
  clock.pass(1);
  equal(calls, 1);
  ticker.stop();
});
