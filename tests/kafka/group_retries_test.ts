import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  FIRST_PAUSE_US,
  GroupRetries,
  LONGEST_PAUSE_US,
  SAY_AGAIN_US,
} from "../../actors/adapters/kafka/group_retries.ts";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { UnavailableError } from "../../actors/ports.ts";
import { StillClock } from "./group_support.ts";

const PATIENCE_US = 10_000_000;
const away = new UnavailableError("The broker is away");
const refused = new KafkaRefusedError("There is no such topic");

function makeWorld(): { retries: GroupRetries; clock: StillClock; notices: string[] } {
  const clock = new StillClock();
  const notices: string[] = [];
  const notice = (message: string): void => void notices.push(message);
  const retries = new GroupRetries({ clock, patienceUs: PATIENCE_US, described: "Reads t", notice });
  return { retries, clock, notices };
}

Deno.test("GroupRetries: pauses double up to the longest, for ever", () => {
  const { retries } = makeWorld();
  const pauses = Array.from({ length: 1_200 }, () => retries.failed(away));
  deepStrictEqual(pauses.slice(0, 4), [1, 2, 4, 8].map((times) => times * FIRST_PAUSE_US));
  ok(pauses.slice(6).every((pause) => pause === LONGEST_PAUSE_US));
});

Deno.test("GroupRetries: an outage is said at once and once a minute, its end once", () => {
  const { retries, clock, notices } = makeWorld();
  for (const us of [0, 1, SAY_AGAIN_US - 1, SAY_AGAIN_US, SAY_AGAIN_US + 1]) {
    clock.monotonic = us;
    retries.failed(away);
  }
  const said = "The broker is away; it is tried again until it works";
  deepStrictEqual(notices, [said, said]);
  retries.joined();
  retries.joined();
  deepStrictEqual(notices.slice(2), ["Reads t again"]);
});

Deno.test("GroupRetries: what joins the first time says nothing", () => {
  const { retries, notices } = makeWorld();
  strictEqual(retries.hasJoined, false);
  retries.joined();
  strictEqual(retries.hasJoined, true);
  deepStrictEqual(notices, []);
});

for (
  const { workedUs, pauseUs } of [
    { workedUs: LONGEST_PAUSE_US - 1, pauseUs: 4 * FIRST_PAUSE_US },
    { workedUs: LONGEST_PAUSE_US, pauseUs: FIRST_PAUSE_US },
  ]
) {
  Deno.test(`GroupRetries: after ${workedUs} µs of work the pause is ${pauseUs} µs`, () => {
    const { retries, clock } = makeWorld();
    retries.failed(away);
    retries.failed(away);
    retries.joined();
    clock.monotonic += workedUs;
    strictEqual(retries.failed(away), pauseUs);
  });
}

Deno.test("GroupRetries: a refusal before anything worked is final", () => {
  const { retries, notices } = makeWorld();
  strictEqual(retries.failed(refused), null);
  deepStrictEqual(notices, []);
});

Deno.test("GroupRetries: a refusal of what once worked is believed when it has lasted", () => {
  const { retries, clock } = makeWorld();
  retries.joined();
  ok(retries.failed(refused) !== null);
  clock.monotonic += PATIENCE_US - 1;
  ok(retries.failed(refused) !== null);
  // Not refused in between: it begins anew.
  ok(retries.failed(away) !== null);
  clock.monotonic += 1;
  ok(retries.failed(refused) !== null);
  clock.monotonic += PATIENCE_US;
  strictEqual(retries.failed(refused), null);
});

Deno.test("GroupRetries: what joins, and is refused at once, again and again, is given up", () => {
  const { retries, clock } = makeWorld();
  let tries = 0;
  for (; tries < 1_000; tries++) {
    retries.joined();
    const pauseUs = retries.failed(refused);
    if (pauseUs === null) break;
    clock.monotonic += pauseUs;
  }
  ok(tries > 1 && tries < 20, `${tries} tries`);
});
