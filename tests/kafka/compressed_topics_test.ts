/**
 * Topics whose records Kafka's own code has compressed: the broker does so where the topic has a `compression.type`, with
 * what Java's producers use. Whether it really has is looked up in the log's files.
 *
 * @module
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { createKafka } from "../../actors/adapters/kafka/kafka_client.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { otherProducer, valuesOf } from "../support/kafka_messages.ts";
import { randomFrom } from "../support/random.ts";
import { groupTest } from "./group_world.ts";

const directory = await Deno.makeTempDir({ prefix: "fencepost-kafka-" });
// Settings of its own make it a broker of its own, whose files can be read.
const broker = await startKafka({ directory, properties: {} });

afterAll(async () => {
  if (broker !== null) await broker.stop();
  else await Deno.remove(directory, { recursive: true });
});

/** Codecs by the number that a batch has of them, with the settings that make them differ most. */
const CODECS = [
  { name: "gzip", number: 1, level: { "compression.gzip.level": "9" } },
  { name: "snappy", number: 2, level: null },
  { name: "lz4", number: 3, level: { "compression.lz4.level": "17" } },
  { name: "zstd", number: 4, level: { "compression.zstd.level": "22" } },
] as const;

const RECORDS = 2_000;
const LARGE_BYTES = 500_000;

/** What is sent, batch by batch. */
function batches(): string[][] {
  const random = randomFrom(7);
  const noise = (length: number): string =>
    Array.from({ length }, () => String.fromCharCode(0x21 + Math.floor(random() * 90))).join("");
  const transition = (number: number): string =>
    JSON.stringify({ device_id: `truck-${number % 50}`, fence_id: "Höfe", kind: "ENTER", seq: number });
  return [
    ["one by itself"],
    Array.from({ length: RECORDS }, (_, number) => transition(number)),
    [JSON.stringify({ note: "well compressed ".repeat(LARGE_BYTES / 16) })],
    [noise(LARGE_BYTES)],
    ["", "small before", noise(LARGE_BYTES), "x", "y".repeat(LARGE_BYTES / 2), "small behind"],
    Array.from({ length: 40 }, (_, number) => noise(number * 500)),
  ];
}

/** The codecs of the batches in a partition's log, in order: see Kafka's record batch format. */
async function codecsOf(topic: string): Promise<number[]> {
  const log = await Deno.readFile(join(directory, "data", `${topic}-0`, "00000000000000000000.log"));
  const view = new DataView(log.buffer);
  const codecs: number[] = [];
  for (let at = 0; at + 61 <= log.length && view.getInt32(at + 8) > 0; at += 12 + view.getInt32(at + 8)) {
    codecs.push(view.getInt16(at + 21) & 7);
  }
  return codecs;
}

for (const { name, number, level } of CODECS) {
  for (const settings of level === null ? [{}] : [{}, level]) {
    const configs = { "compression.type": name, ...settings };
    groupTest(
      broker,
      `reads what was compressed, ${Object.values(configs).join(" ")}`,
      { partitions: 1, configs },
      async ({ kafka: producing, topic, log, started }) => {
        const sent = batches();
        await otherProducer(producing, null, async (producer) => {
          for (const values of sent) {
            await producer.send({ topic, messages: values.map((value) => ({ value })) });
          }
        });
        deepStrictEqual(await codecsOf(topic), sent.map(() => number));

        const config = { brokers: broker?.brokers ?? [], clientId: "test", ssl: null, sasl: null };
        const kafka = await createKafka(config, { notice: () => {} });
        assertSame(await valuesOf(kafka, topic), sent.flat());

        const member = await started({}, kafka);
        await log.until(() => log.count === sent.flat().length || member.failures.length > 0);
        deepStrictEqual([member.failures, member.notices], [[], []]);
        // Of one that is too large for a transition, it keeps the beginning.
        assertSame(log.values.get(0) ?? [], sent.flat().map((value) => value.slice(0, RECORD_BYTES_MAX)));
      },
    );
  }
}

/** As `deepStrictEqual`, which would print megabytes. */
function assertSame(actual: readonly string[], expected: readonly string[]): void {
  strictEqual(actual.length, expected.length);
  const wrong = actual.findIndex((value, i) => value !== expected[i]);
  strictEqual(
    wrong,
    -1,
    `record ${wrong}: ${actual[wrong]?.slice(0, 100)}, not ${expected[wrong]?.slice(0, 100)}`,
  );
}
