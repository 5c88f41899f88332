/**
 * Times that can't be: every boundary of SPEC 1's two reasons.
 *
 * @module
 */
import { equal, match } from "node:assert/strict";
import { judgeTimes, OLDEST_EVENT_TIME_US, type Times } from "../../lib/plausibility.ts";

const SECOND = 1_000_000;
const SKEW = 300 * SECOND;
const AGE = 30 * 86_400 * SECOND;
/** The wall clock, and the dedup clock as of the last record. */
const T = Date.UTC(2026, 5, 1) * 1000;
const LIMITS = { maxFutureSkewUs: SKEW, maxAgeUs: AGE, liveWithinUs: 60 * SECOND, settleUs: 30 * SECOND };
const USUAL: Times = { eventTimeUs: T, ingestTimeUs: NaN, dedupClockUs: T, wallUs: T };

type Row = readonly [name: string, times: Partial<Times>, reason: string | null];

function check(table: readonly Row[]): void {
  for (const [name, times, reason] of table) {
    equal(judgeTimes({ ...USUAL, ...times }, LIMITS)?.reason ?? null, reason, name);
  }
}

Deno.test("plausibility: nothing was before 2000", () => {
  const early = { dedupClockUs: -Infinity, wallUs: OLDEST_EVENT_TIME_US };
  check([
    ["on the day", { ...early, eventTimeUs: OLDEST_EVENT_TIME_US }, null],
    ["a µs before", { ...early, eventTimeUs: OLDEST_EVENT_TIME_US - 1 }, "TIME_TOO_OLD"],
    ["the epoch", { eventTimeUs: 0 }, "TIME_TOO_OLD"],
    ["before the epoch", { eventTimeUs: -1 }, "TIME_TOO_OLD"],
  ]);
  equal(OLDEST_EVENT_TIME_US, Date.UTC(2000, 0, 1) * 1000);
});

Deno.test("plausibility: an event is at most max_age behind the dedup clock, its own ingest time counted", () => {
  check([
    ["exactly max_age behind", { eventTimeUs: T - AGE }, null],
    ["a µs more", { eventTimeUs: T - AGE - 1 }, "TIME_TOO_OLD"],
    [
      "its ingest time moves the clock on first",
      { eventTimeUs: T - AGE, ingestTimeUs: T + 1 },
      "TIME_TOO_OLD",
    ],
    ["exactly max_age behind its ingest time", { eventTimeUs: T - AGE + 5, ingestTimeUs: T + 5 }, null],
    [
      "an older ingest time moves no clock back",
      { eventTimeUs: T - AGE - 1, ingestTimeUs: T - AGE },
      "TIME_TOO_OLD",
    ],
    ["the first record of a replay", { eventTimeUs: T - 5 * AGE, dedupClockUs: -Infinity }, null],
    [
      "the first record, itself stale",
      { eventTimeUs: T - AGE - 1, ingestTimeUs: T, dedupClockUs: -Infinity },
      "TIME_TOO_OLD",
    ],
  ]);
});

Deno.test("plausibility: an event is at most max_future_skew past the ingest time that it carries", () => {
  const ingestTimeUs = T - 1000 * SECOND;
  check([
    ["exactly", { ingestTimeUs, eventTimeUs: ingestTimeUs + SKEW }, null],
    ["a µs more", { ingestTimeUs, eventTimeUs: ingestTimeUs + SKEW + 1 }, "TIME_IN_FUTURE"],
  ]);
});

Deno.test("plausibility: without an ingest time, the wall clock is what an event is judged by", () => {
  check([
    ["exactly", { eventTimeUs: T + SKEW }, null],
    ["a µs more", { eventTimeUs: T + SKEW + 1 }, "TIME_IN_FUTURE"],
    [
      "the dedup clock is not what counts",
      { eventTimeUs: T + SKEW + 1, dedupClockUs: T + 2 * SKEW },
      "TIME_IN_FUTURE",
    ],
  ]);
});

Deno.test("plausibility: an ingest time is at most max_future_skew past the wall clock", () => {
  check([
    ["exactly", { ingestTimeUs: T + SKEW }, null],
    ["a µs more", { ingestTimeUs: T + SKEW + 1 }, "TIME_IN_FUTURE"],
    ["an event past the wall clock by twice that, step by step", {
      ingestTimeUs: T + SKEW,
      eventTimeUs: T + 2 * SKEW,
    }, null],
    [
      "a stale one is told as what it is first",
      { ingestTimeUs: T + SKEW + 1, eventTimeUs: 0 },
      "TIME_TOO_OLD",
    ],
    ["a future ingest time does not make an event too old", {
      ingestTimeUs: T + 2 * AGE,
      eventTimeUs: T,
    }, "TIME_IN_FUTURE"],
  ]);
});

Deno.test("plausibility: no skew allowed at all", () => {
  const strict = { ...LIMITS, maxFutureSkewUs: 0 };
  equal(judgeTimes(USUAL, strict), null);
  equal(judgeTimes({ ...USUAL, eventTimeUs: T + 1 }, strict)?.reason, "TIME_IN_FUTURE");
});

Deno.test("plausibility: the detail names the times and the limit", () => {
  const detail = (times: Partial<Times>): string => judgeTimes({ ...USUAL, ...times }, LIMITS)?.detail ?? "";
  match(detail({ eventTimeUs: 0 }), /1970-01-01T00:00:00.*before 2000-01-01$/);
  // Seconds in a field of milliseconds.
  match(
    detail({ eventTimeUs: 1_777_881_600_000 }),
    /before 2000-01-01: times 1000 it would be 2026-05-04T08:00:00\.000000Z, so its unit/,
  );
  match(detail({ eventTimeUs: T - AGE - 1 }), /more than 30d before 2026-06-01/);
  match(detail({ eventTimeUs: T + SKEW + 1 }), /Event time .* more than 5m past the wall clock/);
  match(detail({ ingestTimeUs: T + SKEW + 1 }), /Ingest time .* more than 5m past the wall clock/);
  match(detail({ ingestTimeUs: T - 1, eventTimeUs: T + SKEW }), /past its ingest time/);
});
