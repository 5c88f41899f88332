/**
 * A topic whose segments compaction has emptied: what is left of them has offsets and no records.
 *
 * @module
 */
import { deepStrictEqual, ok } from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { valuesOf } from "../support/kafka_messages.ts";
import { groupTest } from "./group_world.ts";

// The cleaner else looks each 15 s.
const broker = await startKafka({ properties: { "log.cleaner.backoff.ms": "200" } });
afterAll(async () => await broker?.stop());

/** Two batches of as much are more than a segment of the least size, so compaction doesn't join theirs. */
const RECORDS = 12;
const RECORD_BYTES = 50_000;

const test = groupTest.bind(null, broker);

test(
  "a compacted topic with a segment of emptied batches is read on, and to its end",
  {
    partitions: 1,
    configs: {
      ...{
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "segment.bytes": String(1 << 20),
        "min.cleanable.dirty.ratio": "0.001",
      },
      ...{ "min.compaction.lag.ms": "0", "max.compaction.lag.ms": "100" },
    },
  },
  async ({ topic, log, started, kafka }) => {
    // The last batch of each idempotent producer is kept when it is empty, for the numbers that it has.
    const send = async (value: string): Promise<void> => {
      const producer = kafka.producer({ idempotent: true, allowAutoTopicCreation: false });
      await producer.connect();
      const messages = Array.from({ length: RECORDS }, (_, key) => ({
        key: String(key),
        value: `${value} of ${key}`.padEnd(RECORD_BYTES),
      }));
      await producer.send({ topic, messages, acks: -1 });
      await producer.disconnect();
      // The next one begins a segment.
      await delay(200);
    };
    const values = async (): Promise<string[]> => await valuesOf(kafka, topic);
    // Of what is no longer written to, the last value of a key stays; the first segment has none of those.
    for (const value of ["first", "second", "third"]) await send(value);
    let expected = await values();
    for (let looks = 0; expected.length > 2 * RECORDS; looks++) {
      ok(looks < 150, `compaction leaves ${expected.length} records`);
      await delay(100);
      expected = await values();
    }
    const member = await started();
    await log.until(() => log.count >= expected.length && member.sources.get(0)?.caughtUp() === true);
    deepStrictEqual(log.values.get(0), expected);
    deepStrictEqual(member.notices, []);
  },
);
