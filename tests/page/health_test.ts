/**
 * Whether all is well: each reason alone, at its bound and behind it.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import type { EndpointStatus, Sample, SplitStatus, Status } from "../../actors/adapters/http/status.ts";
import { healthOf, suppressedRatio } from "../../actors/page/health.js";
import { Samples } from "../../actors/page/samples.js";
import { endpointWith, sampleAt, splitAt, statusAt } from "./status_values.ts";

const END = 1000;

/** The health at second {@link END}, ten minutes after a sample without counts. */
function healthWith(
  counts: Partial<Sample>,
  status: Partial<Status> = {},
  { since = END - 50 }: { since?: number } = {},
): ReturnType<typeof healthOf> {
  const samples = new Samples();
  samples.push(sampleAt(since));
  const now = sampleAt(END, { read: 100, ...counts });
  samples.push(now);
  return healthOf(statusAt(now, status), samples);
}

function namesOf({ reasons }: ReturnType<typeof healthOf>): string[] {
  return reasons.map(({ name }) => name);
}

Deno.test("healthOf: well, and what it says then", () => {
  const health = healthWith({ received: 100 });
  deepEqual([health.level, namesOf(health)], ["well", []]);
  match(health.note, /Records come in/);
  match(healthWith({ read: 0 }).note, /Nothing has come since/);
  const samples = new Samples();
  samples.push(sampleAt(END - 200, { read: 7 }));
  samples.push(sampleAt(END - 100, { read: 7 }));
  samples.push(sampleAt(END, { read: 7 }));
  match(healthOf(statusAt(sampleAt(END, { read: 7 })), samples).note, /last minute/);
});

const split = (differs: Partial<SplitStatus>): Partial<Status> => ({ splits: [splitAt(END, differs)] });
const endpoint = (differs: Partial<EndpointStatus>): Partial<Status> => ({
  endpoints: [endpointWith(differs)],
});
const checkpoint = (age_s: number): Partial<Status> =>
  split({ checkpoint: { number: 1, age_s, took_s: 0.01, bytes: 1 } });

const REASONS: readonly (readonly [
  name: string,
  level: "look" | "ill",
  bad: readonly [Partial<Sample>, Partial<Status>?],
  good: readonly [Partial<Sample>, Partial<Status>?],
])[] = [
  ["Not ready", "ill", [{}, { not_ready: "restoring" }], [{}, { not_ready: null }]],
  ["Deadlines overdue", "ill", [{}, split({ overdue: true })], [{}, split({ overdue: false })]],
  ["Checkpoint old", "ill", [{}, checkpoint(10.1)], [{}, checkpoint(10)]],
  ["Checkpoint old", "ill", [{}, { ...checkpoint(61), checkpoint_interval_s: 3 }], [{}, {
    ...checkpoint(60),
    checkpoint_interval_s: 3,
  }]],
  ["Shedding", "look", [{ refused: 1 }], [{ refused: 0 }]],
  ["Dead letters rise", "look", [{ dead_lettered: 1 }, { dead_letters: { LATE: 1 } }], [{
    dead_lettered: 0,
  }, { dead_letters: { LATE: 9 } }]],
  ["Late records", "look", [{ received: 2000, suppressed: 40, late: 101 }], [{
    received: 2000,
    suppressed: 40,
    late: 100,
  }]],
  ["Suppressed ratio", "look", [{ received: 1000, suppressed: 51 }], [{ received: 1000, suppressed: 50 }]],
  ["Suppressed ratio", "look", [{ received: 1000, suppressed: 9 }], [{ received: 1000, suppressed: 10 }]],
  ["Suppressed ratio", "look", [{ received: 1000, suppressed: 0 }], [{ received: 999, suppressed: 0 }]],
  ["Watermark behind", "look", [{}, split({ following: false, watermark: (END - 66) * 1000 })], [
    {},
    split({ following: false, watermark: (END - 65) * 1000 }),
  ]],
  ["Mailboxes high", "look", [{}, split({ mailboxes: [0, 51] })], [{}, split({ mailboxes: [50, 50] })]],
  ["Window too small", "look", [{}, split({ window: { ids: 1, bytes: 1, evicted_live: 1 } })], [
    {},
    split({ window: { ids: 1, bytes: 1, evicted_live: 0 } }),
  ]],
  ["Webhook disabled", "ill", [{}, endpoint({ disabled: true, down: true })], [{}, endpoint({})]],
  ["Webhook behind", "look", [{}, endpoint({ down: true })], [{}, endpoint({ failed: 9, retrying: 1 })]],
  ["Webhook behind", "look", [{}, endpoint({ oldest_pending_s: 901 })], [
    {},
    endpoint({ oldest_pending_s: 900 }),
  ]],
];
for (const [i, [name, level, bad, good]] of REASONS.entries()) {
  Deno.test(`healthOf: ${name} (${i}), at the bound and behind it`, () => {
    const health = healthWith(...bad);
    deepEqual([health.level, namesOf(health)], [level, [name]]);
    deepEqual(namesOf(healthWith(...good)), []);
  });
}

Deno.test("healthOf: an old watermark is no reason where nothing comes", () => {
  deepEqual(namesOf(healthWith({ read: 0 }, split({ following: false, watermark: 0 }))), []);
  deepEqual(namesOf(healthWith({}, split({ following: false, watermark: null }))), []);
});

Deno.test("healthOf: what has not risen for a minute is over", () => {
  const samples = new Samples();
  samples.push(sampleAt(END - 200));
  samples.push(sampleAt(END - 61, { refused: 9, dead_lettered: 9, read: 9 }));
  const now = sampleAt(END, { refused: 9, dead_lettered: 9, read: 99 });
  samples.push(now);
  deepEqual(namesOf(healthOf(statusAt(now), samples)), []);
});

Deno.test("healthOf: the worst reason is the level", () => {
  const health = healthWith({ refused: 5 }, { not_ready: "restoring" });
  deepEqual([health.level, namesOf(health)], ["ill", ["Not ready", "Shedding"]]);
});

Deno.test("suppressedRatio: of the last quarter of an hour", () => {
  const samples = new Samples();
  samples.push(sampleAt(0));
  equal(suppressedRatio(samples), null);
  samples.push(sampleAt(100, { received: 100_000, suppressed: 90_000 }));
  samples.push(sampleAt(1100, { received: 102_000, suppressed: 90_060 }));
  equal(suppressedRatio(samples), 60 / 2000);
});
