import { deepStrictEqual, match, notStrictEqual, strictEqual } from "node:assert/strict";
import { parseConfig } from "../../lib/config.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../lib/dead_letter.ts";
import type { StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import { ReplayJudge, type ReplayRefusal } from "../../lib/replay.ts";
import { formatTimestamp } from "../../lib/time.ts";

const encoder = new TextEncoder();
const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;
const WALL_US = 1_777_881_610_250_000;

function record(eventTimeUs: number, more: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const event_time = formatTimestamp(eventTimeUs);
  return encoder.encode(
    JSON.stringify({ device_id: "a", fence_id: "f", kind: "ENTER", event_time, ...more }),
  );
}

/** A record that nothing is wrong with any more. */
const MENDED = record(WALL_US - SECOND_US);

function letter(
  reason: DeadLetterReason,
  bytes: Uint8Array,
  more: Partial<StoredDeadLetter> = {},
): StoredDeadLetter {
  return {
    reason,
    detail: "",
    source: "-",
    position: { offset: 0, line: 1 },
    atUs: WALL_US,
    record: bytes,
    ...more,
  };
}

interface Options {
  readonly config?: unknown;
  readonly force?: boolean;
  readonly olderThanTtl?: boolean;
  readonly firstSeenUs?: number;
}

function judge(kept: StoredDeadLetter, options: Options = {}): ReplayRefusal | null {
  const { config = {}, force = false, olderThanTtl = false, firstSeenUs = NaN } = options;
  const circumstances = { config: parseConfig(config), wallUs: WALL_US, force, olderThanTtl };
  return new ReplayJudge(circumstances).refusal(kept, firstSeenUs);
}

/** What the refusal says it would be; null where it is sent. */
function comesBackAs(kept: StoredDeadLetter, options: Options = {}): string | null {
  const refusal = judge(kept, options);
  if (refusal === null) return null;
  strictEqual(refusal.because, "comes_back");
  return refusal.why.match(/^It would come back as ([A-Z_0-9]+): /)?.[1] ?? refusal.why;
}

Deno.test("ReplayJudge: what a mended record was refused for does not matter", () => {
  for (const reason of DEAD_LETTER_REASONS) {
    if (reason === "TOO_LARGE" || reason === "SINK_REJECTED") continue;
    strictEqual(judge(letter(reason, MENDED)), null, reason);
  }
});

Deno.test("ReplayJudge: a record that is as bad as it was comes back", () => {
  const cases: [DeadLetterReason, Uint8Array][] = [
    ["MALFORMED_JSON", encoder.encode("{")],
    ["MALFORMED_JSON", new Uint8Array(0)],
    ["INVALID_UTF8", Uint8Array.of(0x22, 0xff, 0x22)],
    ["NOT_AN_OBJECT", encoder.encode("[]")],
    ["MISSING_FIELD", encoder.encode('{"kind":"ENTER"}')],
    ["INVALID_ID", record(WALL_US, { device_id: "" })],
    ["INVALID_KIND", record(WALL_US, { kind: "INSIDE" })],
    ["INVALID_TIME", record(WALL_US, { event_time: 7 })],
    ["INVALID_FIELD", record(WALL_US, { seq: -1 })],
    ["TOO_LARGE", record(WALL_US, { note: "x".repeat(65_536) })],
  ];
  for (const [reason, bytes] of cases) {
    // Whatever it was a dead letter for: what it would be today counts.
    for (const kept of [letter("INVALID_FIELD", bytes), letter("LATE", bytes)]) {
      strictEqual(comesBackAs(kept), reason);
      strictEqual(judge(kept, { force: true }), null);
    }
  }
});

Deno.test("ReplayJudge: a record from the future passes once that has come", () => {
  const skewUs = 300 * SECOND_US;
  const ingest_time = formatTimestamp(WALL_US - DAY_US);
  const cases: [Uint8Array, string | null][] = [
    [record(WALL_US + skewUs - 1), null],
    [record(WALL_US + skewUs), null],
    [record(WALL_US + skewUs + 1), "TIME_IN_FUTURE"],
    // Against an ingest time of its own, time does not help.
    [record(WALL_US - DAY_US + skewUs, { ingest_time }), null],
    [record(WALL_US - DAY_US + skewUs + 1, { ingest_time }), "TIME_IN_FUTURE"],
  ];
  for (const [bytes, expected] of cases) {
    strictEqual(comesBackAs(letter("TIME_IN_FUTURE", bytes)), expected);
  }
  const later = record(WALL_US + 2 * skewUs);
  strictEqual(
    comesBackAs(letter("TIME_IN_FUTURE", later), { config: { time: { max_future_skew: "10m" } } }),
    null,
  );
});

Deno.test("ReplayJudge: a record that was too old passes only where max_age was raised", () => {
  const old = (ageUs: number): StoredDeadLetter => letter("TIME_TOO_OLD", record(WALL_US - ageUs));
  strictEqual(comesBackAs(old(30 * DAY_US)), null);
  strictEqual(comesBackAs(old(30 * DAY_US + 1)), "TIME_TOO_OLD");
  strictEqual(comesBackAs(old(40 * DAY_US), { config: { time: { max_age: "41d" } } }), null);
  strictEqual(
    comesBackAs(letter("TIME_TOO_OLD", record(946_684_799_999_999)), {
      config: { time: { max_age: "36500d" } },
    }),
    "TIME_TOO_OLD",
  );
});

Deno.test("ReplayJudge: an old log's records are not too old for having been mended", () => {
  const yearAgo = WALL_US - 365 * DAY_US;
  strictEqual(comesBackAs(letter("INVALID_KIND", record(yearAgo))), null);
  const ingest_time = formatTimestamp(yearAgo + 31 * DAY_US);
  strictEqual(comesBackAs(letter("INVALID_KIND", record(yearAgo, { ingest_time }))), "TIME_TOO_OLD");
});

Deno.test("ReplayJudge: LATE comes back where triggers leave in order, and passes where they don't", () => {
  const late = letter("LATE", MENDED);
  strictEqual(comesBackAs(late, { config: { emit: "ordered" } }), "LATE");
  strictEqual(comesBackAs(late, { config: { emit: "ordered" }, force: true }), null);
  strictEqual(comesBackAs(late, { config: { emit: "arrival" } }), null);
  strictEqual(comesBackAs(letter("INVALID_KIND", MENDED), { config: { emit: "ordered" } }), null);
});

Deno.test("ReplayJudge: a topic's record is judged by the time at which it was first seen, if it says none", () => {
  const skewUs = 300 * SECOND_US;
  const ingest_time = formatTimestamp(WALL_US);
  const cases: [Uint8Array, number, string | null][] = [
    [record(WALL_US), NaN, null],
    [record(WALL_US), WALL_US - skewUs, null],
    [record(WALL_US), WALL_US - skewUs - 1, "TIME_IN_FUTURE"],
    [record(WALL_US, { ingest_time }), WALL_US - skewUs - 1, null],
    [record(WALL_US - 31 * DAY_US), WALL_US - DAY_US, null],
    [record(WALL_US - 31 * DAY_US), WALL_US - DAY_US + 1, "TIME_TOO_OLD"],
  ];
  for (const [bytes, firstSeenUs, expected] of cases) {
    strictEqual(comesBackAs(letter("INVALID_KIND", bytes), { firstSeenUs }), expected);
    strictEqual(judge(letter("INVALID_KIND", bytes), { firstSeenUs, force: true }), null);
  }
});

Deno.test("ReplayJudge: a trigger that the output refused is no record, and never sent", () => {
  for (const bytes of [encoder.encode('{"id":"0","kind":"DWELL"}'), MENDED]) {
    const refusal = judge(letter("SINK_REJECTED", bytes), { force: true, olderThanTtl: true });
    strictEqual(refusal?.because, "trigger");
    match(refusal?.why ?? "", /^It is a trigger that the output refused/);
  }
});

Deno.test("ReplayJudge: what is not there as a whole is never sent", () => {
  const oversize = { byteLength: 70_000, hash: "" };
  const cases: [StoredDeadLetter, RegExp][] = [
    [letter("TOO_LARGE", MENDED), /only the first \d+ bytes of it were kept$/],
    [letter("TOO_LARGE", MENDED, { oversize }), /only the first \d+ of its 70000 bytes were kept$/],
    [letter("INVALID_KIND", MENDED, { oversize }), /of its 70000 bytes/],
  ];
  for (const [kept, why] of cases) {
    const refusal = judge(kept, { force: true, olderThanTtl: true });
    strictEqual(refusal?.because, "incomplete");
    match(refusal?.why ?? "", why);
  }
});

Deno.test("ReplayJudge: older than ttl", () => {
  const aged = (ageUs: number): StoredDeadLetter => letter("INVALID_KIND", MENDED, { atUs: WALL_US - ageUs });
  const ttlUs = 300 * SECOND_US;
  // A clock that was set back has made it younger than it is: nothing better is known.
  for (const ageUs of [-DAY_US, 0, ttlUs - 1, ttlUs]) strictEqual(judge(aged(ageUs)), null);
  const refusal = judge(aged(ttlUs + 1));
  strictEqual(refusal?.because, "older_than_ttl");
  match(refusal?.why ?? "", /since 2026-05-04T07:55:10\.249999Z, longer than identity\.ttl \(5m\)/);
  strictEqual(judge(aged(ttlUs + 1), { config: { identity: { ttl: "301s" } } }), null);
  strictEqual(judge(aged(DAY_US), { olderThanTtl: true }), null);
  notStrictEqual(judge(aged(DAY_US), { force: true }), null);
});

Deno.test("ReplayJudge: what is wrong with the record is said before its age", () => {
  const both = letter("LATE", encoder.encode("{"), { atUs: WALL_US - DAY_US });
  deepStrictEqual(
    [{}, { force: true }, { olderThanTtl: true }, { force: true, olderThanTtl: true }].map((options) =>
      judge(both, options)?.because ?? null
    ),
    ["comes_back", "older_than_ttl", "comes_back", null],
  );
});

Deno.test("ReplayJudge: messages of a format are tried by it", () => {
  const format = {
    device_id: "/d",
    fence_id: "/f",
    kind: "/k",
    kinds: { in: "ENTER", ping: "SKIP" },
    event_time: "/t",
  };
  const config = { source: { type: "ndjson", format } };
  const message = (k: string): Uint8Array =>
    encoder.encode(JSON.stringify({ d: "a", f: "b", k, t: formatTimestamp(WALL_US - SECOND_US) }));
  strictEqual(judge(letter("INVALID_KIND", message("in")), { config }), null);
  strictEqual(comesBackAs(letter("INVALID_KIND", message("out")), { config }), "INVALID_KIND");
  strictEqual(
    judge(letter("INVALID_KIND", message("ping")), { config })?.why,
    "It is no transition, by source.format",
  );
  // What is a transition in our own words is none in these.
  strictEqual(comesBackAs(letter("INVALID_KIND", MENDED), { config }), "MISSING_FIELD");
});
