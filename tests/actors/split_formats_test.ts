/**
 * A split whose records are messages of a format: each any number of transitions, which share its place in the source.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { parseConfig } from "../../lib/config.ts";
import type { Json } from "../../lib/json.ts";
import { type EngineResult, runProcess, runWithCrashes } from "../sim/engine.ts";
import { World } from "../sim/simulated_ports.ts";
import { randomFrom } from "../support/random.ts";
import { NOON_US } from "../support/split_world.ts";

const FORMAT: Json = {
  message_when: [{ at: "/type", is: ["crossings"] }],
  records: "/list",
  when: [{ at: "/what", is_not: ["ping"] }],
  device_id: "/who",
  fence_id: { message: "/fence" },
  kind: "/what",
  kinds: { in: "ENTER", out: "EXIT" },
  event_time: { at: "/at", unit: "us" },
  ingest_time: { at: { message: "/sent" }, unit: "us" },
};
const SOURCE: Json = { type: "ndjson", format: FORMAT };
const OFTEN: Json = { interval: "0s", path: "fencepost-data" };

interface Crossing {
  readonly who: string | number;
  readonly what: string;
  readonly at: number;
}

function message(list: readonly Crossing[], { type = "crossings", fence = "depot", sent = 0 } = {}): string {
  return JSON.stringify({ type, fence, sent: NOON_US + sent * 1e6, list });
}

/** Messages of a seed, some crossings of which are bad, old or none, and the same in our own words. */
function streamOf(seed: number, count: number): { messages: string[]; own: string[]; skipped: number } {
  const next = randomFrom(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  const messages: string[] = [];
  const own: string[] = [];
  let skipped = 0;
  for (let i = 0; i < count; i++) {
    const second = -3000 + i * 20;
    const type = next() < 0.1 ? "ping" : "crossings";
    const list = Array.from({ length: below(6) }, (): Crossing => {
      const late = next() < 0.15 ? 900 : 0;
      return {
        who: next() < 0.1 ? 7 : `truck-${below(5)}`,
        what: next() < 0.1 ? "ping" : next() < 0.05 ? "inside" : next() < 0.5 ? "in" : "out",
        at: NOON_US + (second - late) * 1e6 + below(15_000_000),
      };
    });
    messages.push(message(list, { type, sent: second + 15 }));
    if (type === "ping" || list.length === 0) skipped++;
    else skipped += list.filter(({ what }) => what === "ping").length;
    if (type === "ping") continue;
    for (const { who, what, at } of list) {
      if (what === "ping") continue;
      own.push(JSON.stringify({
        device_id: who,
        fence_id: "depot",
        kind: { in: "ENTER", out: "EXIT" }[what] ?? what,
        event_time_us: at,
        ingest_time_us: NOON_US + (second + 15) * 1e6,
      }));
    }
  }
  return { messages, own, skipped };
}

function configOf(more: Readonly<Record<string, Json>> = {}): ReturnType<typeof parseConfig> {
  return parseConfig({ checkpoint: OFTEN, source: SOURCE, ...more });
}

const reasonsOf = ({ deadLetters }: EngineResult): string[] =>
  deadLetters.map(({ reason }) => reason).toSorted();

for (const emit of ["arrival", "ordered"] as const) {
  Deno.test(`split, format: the same triggers and dead letters as in our own words, emit ${emit}`, async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const { messages, own, skipped } = streamOf(seed, 60);
      const options = { wallUs: NOON_US, batchRecords: 1 + seed * 3 };
      const mapped = await runProcess(configOf({ emit }), messages, options);
      const native = await runProcess(configOf({ emit, source: { type: "ndjson" } }), own, options);
      deepEqual(mapped.raw.toSorted(), native.raw.toSorted(), `seed ${seed}`);
      deepEqual(reasonsOf(mapped), reasonsOf(native), `seed ${seed}`);
      const { vitals, readNow, counters, deadLetters } = mapped.report;
      equal(vitals.skipped, skipped, `seed ${seed}`);
      const refused = Object.values(deadLetters).reduce((sum, count) => sum + count, 0);
      equal(readNow, counters.received + refused - deadLetters.LATE + skipped, `seed ${seed}`);
    }
  });

  Deno.test(`split, format: a crash at any step, each trigger and dead letter once, emit ${emit}`, async () => {
    const { messages } = streamOf(3, 24);
    const options = { wallUs: NOON_US, batchRecords: 3 };
    const config = configOf({ emit, partitions: 2 });
    const world = new World();
    const calm = await runProcess(config, messages, { ...options, world });
    ok(calm.deadLetters.length > 5 && calm.triggers.length > 5);
    if (emit === "ordered") ok(reasonsOf(calm).includes("LATE"));
    for (let step = 1; step < world.steps; step += 2) {
      for (const unflushed of ["kept", "lost"] as const) {
        const crash = { step, afterEffect: step % 3 === 0, unflushed };
        const result = await runWithCrashes(config, messages, [crash], options);
        const where = `step ${step}, ${unflushed}`;
        deepEqual(result.raw.toSorted(), calm.raw.toSorted(), where);
        deepEqual(lettersOf(result), lettersOf(calm), where);
        equal(result.report.read, calm.report.read, where);
      }
    }
  });
}

function lettersOf({ deadLetters }: EngineResult): string[] {
  return deadLetters.map(({ line, reason }) => `${line} ${reason}`).toSorted();
}

Deno.test("split, format: a dead letter is of its crossing alone, and says where in the message that is", async () => {
  const world = new World();
  const at = NOON_US - 60e6;
  const bad = [{ who: "a", what: "in", at }, { who: 7, what: "in", at }, { who: "b", what: "gone", at }];
  await runProcess(configOf(), [message([]), message(bad), "{"], { wallUs: NOON_US, world });
  const letters = world.deadLetters.lines().map((line) => JSON.parse(line));
  deepEqual(
    letters.map(({ reason, position }) => [reason, position.line, position.part ?? null]),
    [
      ["INVALID_ID", 2, { record: 2, crossing: 1, pointer: "/list/1" }],
      ["INVALID_KIND", 2, { record: 3, crossing: 1, pointer: "/list/2" }],
      ["MALFORMED_JSON", 3, null],
    ],
  );
  equal(letters[0].record, message([bad[1] as Crossing]));
  ok(letters[0].detail.startsWith("/list/1: device_id (/who) must be"), letters[0].detail);
});

Deno.test("split, format: what a letter keeps, sent again, is that crossing and no other", async () => {
  const world = new World();
  const at = NOON_US - 60e6;
  const list = [{ who: "a", what: "in", at }, { who: "b", what: "gone", at }];
  await runProcess(configOf(), [message(list)], { wallUs: NOON_US, world });
  const [letter] = world.deadLetters.lines().map((line) => JSON.parse(line));
  const mended = letter.record.replace("gone", "in");
  const again = await runProcess(configOf(), [mended], { wallUs: NOON_US });
  deepEqual(again.triggers.map(({ device_id }) => device_id), ["b"]);
  equal(again.report.counters.suppressed, 0);
});

Deno.test("split, format: a message of more crossings than a mailbox holds is taken, a piece at a time", async () => {
  for (const mailbox of [1, 2, 7, 64]) {
    const list = Array.from({ length: 600 }, (_, i) => ({
      who: `t${i}`,
      what: "in",
      at: NOON_US - 60e6 + i,
    }));
    const config = configOf({
      partitions: 3,
      mailbox: { capacity: mailbox },
      dwell: { waiting_capacity: 50 },
    });
    const { report, triggers } = await runProcess(config, [message(list), message(list)], {
      wallUs: NOON_US,
    });
    equal(triggers.filter(({ kind }) => kind === "ENTER").length, 600);
    deepEqual([report.readNow, report.counters.suppressed], [1200, 600]);
  }
});
