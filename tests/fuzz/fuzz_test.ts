/**
 * The short form of `deno task fuzz`, and what it has found.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { Audit } from "../../lib/audit.ts";
import { DamagedCheckpointError } from "../../lib/chunk.ts";
import { decodeDeadLetter } from "../../lib/dead_letter_line.ts";
import { parseEndpointState } from "../../lib/endpoint_state.ts";
import { parseOutboxLine } from "../../lib/outbox_line.ts";
import { parseTrigger } from "../../lib/trigger.ts";
import { TriggerLine } from "../../lib/trigger_line.ts";
import { wholeTriggerId } from "../../lib/whole_trigger.ts";
import { drawSteps, Life, LIFE_CONFIGS } from "../support/split_life.ts";
import { randomFrom } from "../support/random.ts";
import { runTarget } from "./run_target.ts";
import { fuzzTargets } from "./targets.ts";
import { TRIGGERS } from "./trigger_target.ts";

const encoder = new TextEncoder();
/** Of each target, for each 10,000 of its share. */
const INPUTS = 150;
/** Another than that of `deno task fuzz`. */
const SEED = 20_261_203;

for (const target of fuzzTargets()) {
  Deno.test(`fuzz: ${target.name}`, () => {
    const until = target.share / 10_000 * INPUTS;
    const { faults, outcomes } = runTarget(target, { seed: SEED, from: 0, until });
    deepEqual(faults, []);
    const unmet = target.outcomes.filter((outcome) => !outcomes.has(outcome));
    deepEqual(unmet, [], "all that should be tried was tried");
  });
}

Deno.test("fuzz: a target that is broken is found out, with its seed and step", () => {
  const target = {
    ...{ name: "canary", share: 1, outcomes: [], show: String },
    draw: () => 7,
    judge: (): string => {
      throw new Error("a fault");
    },
  };
  const { faults } = runTarget(target, { seed: 3, from: 5, until: 100 });
  deepEqual(faults.map(({ step, input }) => [step, input]), [5, 6, 7, 8, 9].map((step) => [step, "7"]));
});

/** A trigger of which a part is otherwise. */
function trigger(part: string, other: string): Uint8Array {
  const line = TRIGGERS[1] as string;
  ok(line.includes(part), part);
  return encoder.encode(line.replace(part, other));
}

Deno.test("found: an escape or a byte that is none, in a tail, threw out of TriggerLine: no output could be opened again", () => {
  const line = new TriggerLine();
  const torn = trigger('a\\"b', 'a\\"?');
  torn[torn.indexOf(0x3f)] = 0xff;
  for (const bytes of [trigger('a\\"b', "a\\&b"), trigger("\\u0000", "\\u00"), torn]) {
    equal(line.read(bytes, 0, bytes.length), false);
    equal(wholeTriggerId(bytes), null);
  }
});

Deno.test("found: a trigger that lost its end, or its inside, passed for the whole one in a tail and in the outbox", () => {
  const whole = TRIGGERS[0] as string;
  ok(wholeTriggerId(encoder.encode(whole)) !== null);
  for (
    const damaged of [
      whole.slice(0, -1),
      `${whole.slice(0, -1)},}`,
      whole.replace('"ENTER"', '"ENTER","kind":7'),
    ]
  ) {
    equal(wholeTriggerId(encoder.encode(damaged)), null, damaged);
    // A webhook's actor found no id in it and ended; or its receiver got a CloudEvent without one.
    equal(parseOutboxLine(encoder.encode(`ndjson 5 ${damaged}`)), null, damaged);
  }
});

Deno.test("found: two times further apart than a duration is long ended the audit", () => {
  const audit = new Audit(2_000_000);
  audit.beginFile("a");
  for (const year of ["2026", "0000", "9999"]) {
    const bytes = trigger('"event_time":"2026', `"event_time":"${year}`);
    equal(parseTrigger(bytes) === null, year !== "2026", `${year}: none that we have written`);
    audit.feed(bytes);
  }
  equal(audit.summary().other_lines, 2);
});

Deno.test("found: a dwell_s that is an array, nested deeper than the stack, ended the audit", () => {
  const line = (TRIGGERS[2] as string).replace("600", "[".repeat(30_000) + "]".repeat(30_000));
  const audit = new Audit(2_000_000);
  audit.beginFile("a");
  equal(audit.feed(encoder.encode(line)), null);
  equal(audit.summary().triggers, 1);
});

Deno.test("found: dead letters that could be read, but neither shown nor written again", () => {
  const deep = "[".repeat(30_000) + "]".repeat(30_000);
  const letter = (part: string): string =>
    `{"reason":"LATE","detail":"","source":"t","position":{"offset":1},"at":"2026-05-04T08:00:10.250000Z","record":"a",${part}}`;
  for (
    const [part, damage] of [
      // A later member of the same name is the one that counts.
      ['"at":"9999-12-31T23:59:59.999999Z"', /at which time/],
      ['"at":"0000-01-01T00:00:00+23:59"', /at which time/],
      ['"byte_length":1e400', /byte_length/],
      ['"byte_length":-1', /byte_length/],
      // JSON.stringify of Deno 2.4 has no more stack than we have.
      [`"detail":${deep}`, /detail/],
      [`"position":${deep}`, /position/],
    ] as const
  ) {
    const read = decodeDeadLetter(encoder.encode(letter(part)));
    ok("damage" in read && damage.test(read.damage), part.slice(0, 60));
  }
});

Deno.test("found: a webhook's state that was JSON, but none, was gone on from: with no cursor it would wait for ever", () => {
  const good = { outbox: "a", cursor: 7, retries: [], rejected: [], disabled: null };
  ok(parseEndpointState(encoder.encode(JSON.stringify(good))) !== null);
  const retry = { offset: 1, toldUs: 1, attempts: 1, dueUs: 1 };
  for (
    const part of [{ cursor: "7" }, { cursor: -1 }, { retries: {} }, { retries: [retry] }, { disabled: 1 }]
  ) {
    equal(
      parseEndpointState(encoder.encode(JSON.stringify({ ...good, ...part }))),
      null,
      JSON.stringify(part),
    );
  }
});

Deno.test("found: chunks in each other's place, each whole, made a state that never was", () => {
  const config = LIFE_CONFIGS[0] as Record<string, unknown>;
  const before = new Life(config, 2);
  for (const [i, step] of drawSteps(randomFrom(1), 40).entries()) {
    for (const record of step) before.driver.record(record);
    if (i % 8 === 7) before.checkpoint();
  }
  const { store } = before;
  Life.restored(config, 2, store);
  const pairs = store.streams.get("pairs") as Map<number, Uint8Array>;
  const [first, second] = [...pairs.keys()] as [number, number];
  const [one, other] = [pairs.get(first), pairs.get(second)] as [Uint8Array, Uint8Array];
  pairs.set(first, other).set(second, one);
  throws(() => Life.restored(config, 2, store), DamagedCheckpointError);
  // And one of an older life, which a store that was put back in part would have.
  pairs.set(first, one).set(second, one);
  throws(() => Life.restored(config, 2, store), DamagedCheckpointError);
});
