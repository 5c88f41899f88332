/**
 * The split's clocks: every boundary of SPEC 1 and 3 as a table, and a naive model over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { AssertionFailed } from "../../lib/assert.ts";
import type { Json } from "../../lib/json.ts";
import { type Now, SplitClock, type SplitClockOptions } from "../../lib/split_clock.ts";
import { randomFrom } from "../support/random.ts";

const SECOND = 1_000_000;
/** A wall clock and a monotonic clock that have nothing to do with each other. */
const WALL = 1_780_000_000 * SECOND;
const MONOTONIC = 77 * SECOND;

const FILE: SplitClockOptions = {
  latenessUs: 5 * SECOND,
  liveWithinUs: 60 * SECOND,
  settleUs: 30 * SECOND,
  tickUs: SECOND,
  maxFutureSkewUs: 300 * SECOND,
  live: false,
  keepsUnread: false,
};
const PIPE: SplitClockOptions = { ...FILE, live: true };
const KAFKA: SplitClockOptions = { ...PIPE, keepsUnread: true };

/** So long after the start, on both clocks. */
function after(seconds: number): Now {
  return { wallUs: WALL + seconds * SECOND, monotonicUs: MONOTONIC + seconds * SECOND };
}

/** Ticks each second of `(from, to]`, with nothing unread. */
function tickThrough(clock: SplitClock, from: number, to: number): void {
  for (let second = from + 1; second <= to; second++) clock.tick(after(second), true);
}

/** A Kafka split that has caught up, its last record having arrived at second 0 without any delay. */
function caughtUp(options: SplitClockOptions = KAFKA): SplitClock {
  const clock = new SplitClock(options);
  clock.tick(after(-1), true);
  clock.observe(WALL, WALL, after(0));
  return clock;
}

Deno.test("split clock: before the first record all is −Infinity", () => {
  const clock = new SplitClock(KAFKA);
  tickThrough(clock, 0, 100);
  clock.flush();
  equal(clock.watermarkUs, -Infinity);
  equal(clock.watermarkBeforeUs, -Infinity);
  equal(clock.dedupClockUs, -Infinity);
  equal(clock.highestObservedUs, -Infinity);
  equal(clock.following, false);
});

Deno.test("split clock: what a record does to the clocks", () => {
  const t = WALL;
  // The split has seen event time t, ingest time t + 10.
  const table: readonly (readonly [
    name: string,
    eventTimeUs: number,
    ingestTimeUs: number,
    watermarkUs: number,
    dedupClockUs: number,
  ])[] = [
    ["older in every way", t - 1, t + 9, t, t + 10],
    ["exactly the highest", t, t + 10, t, t + 10],
    ["a µs newer", t + 1, t + 11, t + 1, t + 11],
    ["newer ingest time of an old event", t - 50, t + 500, t, t + 500],
    ["event time ahead of its ingest time pulls no further than that", t + 900, t + 11, t + 11, t + 11],
    ["event time ahead, ingest time old", t + 900, t - 1, t, t + 10],
    ["event time ahead, ingest time the highest again", t + 900, t + 10, t + 10, t + 10],
  ];
  for (const [name, eventTimeUs, ingestTimeUs, watermarkUs, dedupClockUs] of table) {
    const clock = new SplitClock(FILE);
    clock.observe(t, t + 10, after(0));
    clock.observe(eventTimeUs, ingestTimeUs, after(0));
    equal(clock.watermarkBeforeUs, t - FILE.latenessUs, name);
    equal(clock.watermarkUs, watermarkUs - FILE.latenessUs, name);
    equal(clock.highestObservedUs, watermarkUs, name);
    equal(clock.dedupClockUs, dedupClockUs, name);
  }
});

Deno.test("split clock: without an ingest time a file has the highest event time, a live source the arrival clock", () => {
  const file = new SplitClock(FILE);
  file.observe(WALL - 100, NaN, after(0));
  equal(file.dedupClockUs, WALL - 100, "its own included");
  file.observe(WALL - 300, NaN, after(0));
  equal(file.dedupClockUs, WALL - 100);
  file.observe(WALL + 50, NaN, after(0));
  equal(file.dedupClockUs, WALL + 50);
  equal(file.watermarkUs, WALL + 50 - FILE.latenessUs);

  const pipe = new SplitClock(PIPE);
  pipe.observe(WALL - 100, NaN, after(2));
  equal(pipe.dedupClockUs, WALL + 2 * SECOND);
  equal(pipe.watermarkUs, WALL - 100 - PIPE.latenessUs);
  pipe.observe(WALL + 9 * SECOND, NaN, after(3));
  equal(pipe.highestObservedUs, WALL + 3 * SECOND, "the arrival clock holds back an event time ahead of it");
});

Deno.test("split clock: an event time that came with an ingest time counts for those without", () => {
  const clock = new SplitClock(FILE);
  clock.observe(WALL, WALL - 40, after(0));
  equal(clock.dedupClockUs, WALL - 40);
  clock.observe(WALL - 70, NaN, after(0));
  equal(clock.dedupClockUs, WALL);
});

Deno.test("split clock: a record without ingest time that moves time far on is told of", () => {
  const far = FILE.maxFutureSkewUs;
  const table: readonly (readonly [
    name: string,
    options: SplitClockOptions,
    ahead: number,
    ingest: number,
    told: boolean,
  ])[] = [
    ["at the limit", FILE, far, NaN, false],
    ["a µs past it", FILE, far + 1, NaN, true],
    ["with an ingest time", FILE, far + 1, WALL, false],
    ["live, where the arrival clock holds it back", PIPE, far + 1, NaN, false],
  ];
  for (const [name, options, ahead, ingest, told] of table) {
    const clock = new SplitClock(options);
    clock.observe(WALL, NaN, after(0));
    equal(clock.warnedFutureRecord, false, "nothing is known before the first record");
    clock.observe(WALL + ahead, ingest, after(0));
    equal(clock.warnedFutureRecord, told, name);
  }
});

Deno.test("split clock: following adds the monotonic time since the highest observed time arrived", () => {
  const clock = new SplitClock(KAFKA);
  clock.tick(after(-1), true);
  // A steady pipeline delay of 20 s is allowed for: it is not made up.
  clock.observe(WALL - 20 * SECOND, WALL - 3 * SECOND, after(0));
  const watermarkUs = WALL - 25 * SECOND;
  equal(clock.watermarkUs, watermarkUs);
  clock.tick(after(1), true);
  ok(clock.following);
  equal(clock.watermarkUs, watermarkUs + SECOND);
  equal(clock.dedupClockUs, WALL - 2 * SECOND);
  tickThrough(clock, 1, 600);
  equal(clock.watermarkUs, watermarkUs + 600 * SECOND);
  equal(clock.dedupClockUs, WALL + 597 * SECOND);
  equal(clock.highestObservedUs, WALL - 20 * SECOND, "nothing was observed");
});

Deno.test("split clock: an older record is judged by the watermark that followed, and moves nothing", () => {
  const clock = caughtUp();
  tickThrough(clock, 0, 60);
  const watermarkUs = WALL + 55 * SECOND;
  clock.observe(WALL + 10 * SECOND, WALL + 12 * SECOND, after(61));
  equal(clock.watermarkBeforeUs, watermarkUs);
  equal(clock.watermarkUs, watermarkUs);
  equal(clock.dedupClockUs, WALL + 60 * SECOND);
});

Deno.test("split clock: a wall clock that is set moves neither clock", () => {
  // Further forward looks like a suspend: that is a gap, below.
  for (const jump of [-86_400, -3, 3, 4]) {
    const clock = caughtUp();
    tickThrough(clock, 0, 10);
    clock.tick({ wallUs: after(11 + jump).wallUs, monotonicUs: after(11).monotonicUs }, true);
    equal(clock.watermarkUs, WALL + 6 * SECOND, `by ${jump} s`);
    equal(clock.dedupClockUs, WALL + 11 * SECOND, `by ${jump} s`);
  }
});

Deno.test("split clock: what it takes to follow", () => {
  const behind = (us: number): [number, number] => [WALL - us, WALL - us];
  const table: readonly (readonly [
    name: string,
    options: SplitClockOptions,
    times: readonly [eventTimeUs: number, ingestTimeUs: number],
    nothingUnread: boolean,
    follows: boolean,
  ])[] = [
    ["live, caught up, fresh", KAFKA, behind(0), true, true],
    ["a file", FILE, behind(0), true, false],
    ["something is unread", KAFKA, behind(0), false, false],
    ["as old as allowed on arrival", KAFKA, behind(60 * SECOND), true, true],
    ["a µs older", KAFKA, behind(60 * SECOND + 1), true, false],
    ["as far ahead as allowed", KAFKA, behind(-60 * SECOND), true, true],
    ["a µs further", KAFKA, behind(-60 * SECOND - 1), true, false],
    ["a late upload, stamped now", KAFKA, [WALL - 3600 * SECOND, WALL], true, false],
    ["a device's clock ahead, ingested now", KAFKA, [WALL + 290 * SECOND, WALL], true, true],
  ];
  for (const [name, options, [eventTimeUs, ingestTimeUs], nothingUnread, follows] of table) {
    const clock = new SplitClock(options);
    clock.tick(after(-1), true);
    clock.observe(eventTimeUs, ingestTimeUs, after(0));
    const beforeUs = clock.watermarkUs;
    clock.tick(after(1), nothingUnread);
    equal(clock.following, follows, name);
    equal(clock.watermarkUs - beforeUs, follows ? SECOND : 0, name);
  }
});

Deno.test("split clock: last year's log does not jump to today, even once caught up", () => {
  const clock = new SplitClock(KAFKA);
  clock.tick(after(0), false);
  const yearUs = 365 * 86_400 * SECOND;
  for (let second = 0; second < 5; second++) {
    const timeUs = WALL - yearUs + second * SECOND;
    clock.observe(timeUs, timeUs, after(second));
  }
  const beforeUs = clock.watermarkUs;
  tickThrough(clock, 5, 1000);
  equal(clock.watermarkUs, beforeUs);
  equal(clock.dedupClockUs, beforeUs + KAFKA.latenessUs);
});

Deno.test("split clock: a stale highest record stops it until a fresh one is the highest", () => {
  const clock = new SplitClock(KAFKA);
  clock.tick(after(-1), true);
  clock.observe(WALL - 100 * SECOND, WALL - 100 * SECOND, after(0));
  clock.tick(after(1), true);
  equal(clock.following, false);
  clock.observe(WALL + SECOND, WALL + SECOND, after(1));
  clock.tick(after(2), true);
  ok(clock.following);
  // An older one behind it, however stale, is not the highest.
  clock.observe(WALL - 500 * SECOND, WALL + 2 * SECOND, after(2));
  clock.tick(after(3), true);
  ok(clock.following);
});

Deno.test("split clock: a source that keeps nothing follows after `settle` of being open, and then counts it", () => {
  const clock = new SplitClock(PIPE);
  clock.tick(after(0), true);
  clock.observe(WALL, WALL, after(0));
  tickThrough(clock, 0, 29);
  equal(clock.following, false);
  equal(clock.watermarkUs, WALL - 5 * SECOND);
  clock.tick({ wallUs: after(30).wallUs, monotonicUs: after(30).monotonicUs - 1 }, true);
  equal(clock.following, false, "a µs before");
  clock.tick(after(30), true);
  ok(clock.following);
  equal(clock.watermarkUs, WALL + 25 * SECOND);
});

Deno.test("split clock: after a gap between two ticks it has to be proven anew", () => {
  const table: readonly (readonly [
    name: string,
    options: SplitClockOptions,
    wallUs: number,
    monotonicUs: number,
    follows: boolean,
  ])[] = [
    ["a late tick", KAFKA, 5 * SECOND, 5 * SECOND, true],
    ["a stopped process", KAFKA, 5 * SECOND + 1, 5 * SECOND + 1, false],
    ["a suspend that the monotonic clock leaves out", KAFKA, 3600 * SECOND, SECOND, false],
    ["a wall clock that was set back meanwhile", KAFKA, -3600 * SECOND, 5 * SECOND + 1, false],
    ["long ticks: five of them", { ...KAFKA, tickUs: 10 * SECOND }, 50 * SECOND, 50 * SECOND, true],
    [
      "long ticks: more than five",
      { ...KAFKA, tickUs: 10 * SECOND },
      50 * SECOND + 1,
      50 * SECOND + 1,
      false,
    ],
  ];
  for (const [name, options, wallUs, monotonicUs, follows] of table) {
    const clock = caughtUp(options);
    clock.tick(after(1), true);
    ok(clock.following);
    const beforeUs = clock.watermarkUs;
    const now = { wallUs: after(1).wallUs + wallUs, monotonicUs: after(1).monotonicUs + monotonicUs };
    clock.tick(now, true);
    equal(clock.following, follows, name);
    equal(clock.watermarkUs, follows ? beforeUs + monotonicUs : beforeUs, name);
    // The next tick finds nothing unread either: what had piled up would have been read by now.
    clock.tick({ wallUs: now.wallUs + SECOND, monotonicUs: now.monotonicUs + SECOND }, true);
    ok(clock.following, name);
    equal(clock.watermarkUs, beforeUs + monotonicUs + SECOND, name);
  }
});

Deno.test("split clock: after a gap, clients of a source that keeps nothing get their time again", () => {
  const clock = caughtUp(PIPE);
  tickThrough(clock, -1, 60);
  ok(clock.following);
  const beforeUs = clock.watermarkUs;
  tickThrough(clock, 99, 129);
  equal(clock.following, false);
  equal(clock.watermarkUs, beforeUs);
  clock.tick(after(130), true);
  ok(clock.following);
  equal(clock.watermarkUs, WALL + 125 * SECOND);
});

Deno.test("split clock: the first tick proves nothing, it may come before the first read", () => {
  const clock = new SplitClock(KAFKA);
  clock.observe(WALL, WALL, after(0));
  clock.tick(after(1), true);
  equal(clock.following, false);
  clock.tick(after(2), true);
  ok(clock.following);
});

Deno.test("split clock: flush drops the lateness, and only that", () => {
  const clock = caughtUp();
  clock.flush();
  equal(clock.watermarkUs, WALL);
  equal(clock.dedupClockUs, WALL);
  const ahead = caughtUp();
  tickThrough(ahead, 0, 60);
  ahead.flush();
  equal(ahead.watermarkUs, WALL + 55 * SECOND, "a watermark that followed further stays");
});

Deno.test("split clock: force moves the watermark, and never back", () => {
  const clock = caughtUp();
  clock.force(WALL - 4 * SECOND);
  equal(clock.watermarkUs, WALL - 4 * SECOND);
  clock.force(WALL - 40 * SECOND);
  equal(clock.watermarkUs, WALL - 4 * SECOND);
  clock.observe(WALL + 1, WALL + 1, after(1));
  equal(clock.watermarkBeforeUs, WALL - 4 * SECOND);
  equal(clock.watermarkUs, WALL - 4 * SECOND, "until the records reach it");
});

Deno.test("split clock: a state goes through JSON, before and after the first record", () => {
  const clock = new SplitClock(KAFKA);
  const untouched = restored(KAFKA, clock.state());
  equal(untouched.watermarkUs, -Infinity);
  equal(untouched.dedupClockUs, -Infinity);
  equal(untouched.highestObservedUs, -Infinity);
  deepEqual(untouched.state(), clock.state());

  clock.observe(WALL + 100, WALL + 7, after(0));
  const copy = restored(KAFKA, clock.state());
  equal(copy.watermarkUs, clock.watermarkUs);
  equal(copy.watermarkBeforeUs, clock.watermarkUs);
  equal(copy.dedupClockUs, clock.dedupClockUs);
  deepEqual(copy.state(), clock.state());
  throws(() => new SplitClock(KAFKA).restore([]), AssertionFailed);
  throws(() => new SplitClock(KAFKA).restore(null), AssertionFailed);
});

Deno.test("split clock: a restart counts the time the process was down, by the wall clock, once", () => {
  const table: readonly (readonly [name: string, options: SplitClockOptions, quietTicks: number])[] = [
    ["what was sent meanwhile was kept", KAFKA, 1],
    ["clients get time to send it", PIPE, 30],
  ];
  for (const [name, options, quietTicks] of table) {
    const clock = restored(options, caughtUp(options).state());
    // Down for 1000 s, and the monotonic clock starts anew.
    const restart = (second: number): Now => ({
      wallUs: after(1000 + second).wallUs,
      monotonicUs: second * SECOND,
    });
    for (let second = 0; second < quietTicks; second++) {
      clock.tick(restart(second), true);
      equal(clock.watermarkUs, WALL - 5 * SECOND, name);
    }
    clock.tick(restart(quietTicks), true);
    equal(clock.watermarkUs, WALL + (995 + quietTicks) * SECOND, name);
    equal(clock.dedupClockUs, WALL + (1000 + quietTicks) * SECOND, name);
    // From here on time is monotonic, whatever the wall clock says.
    clock.tick({ wallUs: restart(-500).wallUs, monotonicUs: restart(quietTicks + 1).monotonicUs }, true);
    equal(clock.watermarkUs, WALL + (996 + quietTicks) * SECOND, name);
  }
});

Deno.test("split clock: a wall clock that was set back while the process was down takes nothing back", () => {
  const clock = restored(KAFKA, caughtUp().state());
  clock.tick({ wallUs: WALL - 900 * SECOND, monotonicUs: 0 }, true);
  clock.tick({ wallUs: WALL - 899 * SECOND, monotonicUs: SECOND }, true);
  equal(clock.watermarkUs, WALL - 5 * SECOND);
  clock.tick({ wallUs: WALL - 898 * SECOND, monotonicUs: 2 * SECOND }, true);
  equal(clock.watermarkUs, WALL - 4 * SECOND);
});

Deno.test("split clock: a file's state goes on live, with an ingest time nobody saw arrive", () => {
  const file = new SplitClock(FILE);
  file.observe(WALL - 10 * SECOND, WALL + 200 * SECOND, after(0));
  const pipe = restored(KAFKA, file.state());
  pipe.tick(after(0), true);
  pipe.observe(WALL, WALL, after(0));
  pipe.tick(after(1), true);
  ok(pipe.following);
  equal(pipe.watermarkUs, WALL - 4 * SECOND);
  equal(pipe.dedupClockUs, WALL + 200 * SECOND);
});

Deno.test("split clock: behaves like the naive model over any history", () => {
  for (let seed = 1; seed <= 60; seed++) compareWithModel(seed);
});

function restored(options: SplitClockOptions, state: Json): SplitClock {
  const clock = new SplitClock(options);
  clock.restore(JSON.parse(JSON.stringify(state)));
  return clock;
}

/** All that ever happened, and each clock computed from it afresh. */
class Model {
  readonly #options: SplitClockOptions;
  readonly #records: { eventTimeUs: number; observedUs: number; ingestTimeUs: number; arrival: Now }[] = [];
  readonly #ticks: Now[] = [];
  watermarkUs = -Infinity;
  dedupClockUs = -Infinity;

  constructor(options: SplitClockOptions) {
    this.#options = options;
  }

  observe(eventTimeUs: number, carriedUs: number, arrival: Now): void {
    const highestUs = Math.max(eventTimeUs, ...this.#records.map((record) => record.eventTimeUs));
    const ingestTimeUs = !Number.isNaN(carriedUs)
      ? carriedUs
      : this.#options.live
      ? arrival.wallUs
      : highestUs;
    const observedUs = Math.min(eventTimeUs, ingestTimeUs);
    this.#records.push({ eventTimeUs, observedUs, ingestTimeUs, arrival });
    this.watermarkUs = Math.max(this.watermarkUs, observedUs - this.#options.latenessUs);
    this.dedupClockUs = Math.max(this.dedupClockUs, ingestTimeUs);
  }

  tick(now: Now, nothingUnread: boolean): void {
    this.#ticks.push(now);
    if (!this.#options.live || !nothingUnread || this.#records.length === 0) return;
    const open = this.#ticks.findLastIndex((tick, i) => i === 0 || isGap(this.#ticks[i - 1] as Now, tick));
    if (open === this.#ticks.length - 1) return;
    const openUs = now.monotonicUs - (this.#ticks[open] as Now).monotonicUs;
    if (!this.#options.keepsUnread && openUs < this.#options.settleUs) return;
    const first = firstHighest(this.#records, (record) => record.observedUs);
    if (Math.abs(first.arrival.wallUs - first.observedUs) > this.#options.liveWithinUs) return;
    const sinceUs = now.monotonicUs - first.arrival.monotonicUs;
    this.watermarkUs = Math.max(this.watermarkUs, first.observedUs - this.#options.latenessUs + sinceUs);
    const ingested = firstHighest(this.#records, (record) => record.ingestTimeUs);
    const ingestedSinceUs = now.monotonicUs - ingested.arrival.monotonicUs;
    this.dedupClockUs = Math.max(this.dedupClockUs, ingested.ingestTimeUs + ingestedSinceUs);
  }
}

function firstHighest<T>(items: readonly T[], key: (item: T) => number): T {
  return items.reduce((best, item) => key(item) > key(best) ? item : best);
}

function isGap(before: Now, now: Now): boolean {
  return now.wallUs - before.wallUs > 5 * SECOND || now.monotonicUs - before.monotonicUs > 5 * SECOND;
}

function compareWithModel(seed: number): void {
  const random = randomFrom(seed);
  const base = [FILE, PIPE, KAFKA][seed % 3] as SplitClockOptions;
  const options = { ...base, settleUs: Math.floor(random() * 4) * SECOND };
  const clock = new SplitClock(options);
  const model = new Model(options);
  let wallUs = WALL;
  let monotonicUs = MONOTONIC;
  let followed = 0;
  for (let step = 0; step < 300; step++) {
    const place = `seed ${seed}, step ${step}`;
    const passedUs = Math.floor(random() * (random() < 0.05 ? 20 : 1) * SECOND);
    monotonicUs += passedUs;
    wallUs += passedUs + (random() < 0.02 ? Math.floor((random() - 0.5) * 20 * SECOND) : 0);
    const now = { wallUs, monotonicUs };
    const beforeUs = model.watermarkUs;
    if (random() < 0.6) {
      const nothingUnread = random() < 0.8;
      clock.tick(now, nothingUnread);
      model.tick(now, nothingUnread);
      if (clock.following) followed++;
    } else {
      const delayUs = Math.floor((random() < 0.1 ? random() * 200 : random() * 3) * SECOND);
      const eventTimeUs = wallUs - delayUs + (random() < 0.1 ? 2 * SECOND : 0);
      const ingestTimeUs = random() < 0.3 ? NaN : wallUs - Math.floor(random() * delayUs);
      clock.observe(eventTimeUs, ingestTimeUs, now);
      model.observe(eventTimeUs, ingestTimeUs, now);
      equal(clock.watermarkBeforeUs, beforeUs, place);
    }
    equal(clock.watermarkUs, model.watermarkUs, place);
    equal(clock.dedupClockUs, model.dedupClockUs, place);
    ok(clock.watermarkUs >= beforeUs, place);
  }
  equal(followed > 0, options.live, `seed ${seed} follows if it can`);
}
