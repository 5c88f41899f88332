import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { readAll } from "../support/kafka_messages.ts";
import { groupTest, numbers } from "./group_world.ts";

// One of our own in any case: it is killed, and its cleaner is in a hurry.
const broker = await startKafka({ properties: { "log.cleaner.backoff.ms": "200" } });
afterAll(async () => await broker?.stop());

const test = groupTest.bind(null, broker);

test("what a compacted topic has left is read, and its gaps are none to speak of", {
  partitions: 1,
  configs: { "cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.01" },
}, async ({ kafka, topic, log, produce, started }) => {
  let produced = 0;
  let left: string[] = [];
  // The last segment is never cleaned: it takes another record until the one before has been.
  do {
    await produce({ from: produced, count: 20, keyOf: (value) => String(value % 3) });
    produced += 20;
    const messages = await readAll(kafka, topic);
    left = messages.map(({ value }) => new TextDecoder().decode(value ?? undefined));
  } while (left.length > produced - 20);
  const member = await started();
  await log.until(() => log.values.get(0)?.at(-1) === String(produced - 1));
  const read = log.values.get(0) ?? [];
  ok(read.length < produced && read.length > 0);
  ok(read.every((value) => left.includes(value)));
  deepStrictEqual([member.sources.get(0)?.missing, member.notices], [0, []]);
});

test(
  "a broker that is killed and comes back: read on, nothing lost, nothing twice",
  { partitions: 2 },
  async ({ log, started, member: create, produce }) => {
    await produce({ count: 100, partitions: 2 });
    const member = await started();
    await log.until(() => log.count === 100);
    await broker?.kill();
    const late = create();
    const starting = late.group.start();
    await log.until(() => late.notices.length > 0 && member.notices.length > 0);
    await broker?.restart();
    await starting;
    await log.until(() => member.sources.size + late.sources.size === 2 && late.sources.size === 1);
    await produce({ from: 100, count: 100, partitions: 2 });
    await log.until(() => log.count >= 200);
    for (const partition of [0, 1]) deepStrictEqual(log.values.get(partition), numbers(partition, 200, 2));
    deepStrictEqual([...member.failures, ...late.failures], []);
    for (const { notices } of [member, late]) {
      strictEqual(
        notices.filter((notice) => /tried again until it works/.test(notice)).length,
        1,
        notices.join("\n"),
      );
      strictEqual(notices.filter((notice) => /^Reads .* again$/.test(notice)).length, 1, notices.join("\n"));
    }
  },
);
