import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { CompressionTypes } from "kafkajs";
import Broker from "kafkajs/src/broker/index.js";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { PartitionReader } from "../../actors/adapters/kafka/partition_reader.ts";
import { UnavailableError } from "../../actors/ports.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, deleteBefore, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { randomFrom } from "../support/random.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (partitions: number, configs?: Record<string, string>): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions, configs);

afterAll(async () => await broker?.stop());

async function withReader<T>(topic: string, use: (reader: PartitionReader) => Promise<T>): Promise<T> {
  const reader = await PartitionReader.connect(kafka, topic, 0);
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

async function offsetsOf(reader: PartitionReader, from: number, to: number): Promise<number[]> {
  const offsets: number[] = [];
  for await (const piece of reader.read(from, to)) {
    ok(piece.length > 0, "no piece is empty");
    offsets.push(...piece.map(({ offset }) => offset));
  }
  return offsets;
}

/** Texts as records. */
function values(...texts: string[]): { value: string }[] {
  return texts.map((value) => ({ value }));
}

Deno.test({
  name: "PartitionReader: an empty partition has nothing, and ends at once",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await withReader(topic, async (reader) => {
      deepStrictEqual(await reader.bounds(), { start: 0, end: 0 });
      strictEqual(await reader.settledEnd(() => {}), 0);
      deepStrictEqual(await offsetsOf(reader, 0, 0), []);
    });
  },
});

Deno.test({
  name: "PartitionReader: reads from one offset to another, and no record besides",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(
      kafka,
      null,
      (producer) => producer.send({ topic, messages: values("0", "1", "2", "3", "4") }),
    );
    await withReader(topic, async (reader) => {
      for (const [from, to] of [[0, 5], [0, 0], [0, 1], [2, 4], [4, 5], [5, 5]] as const) {
        const expected = Array.from({ length: to - from }, (_, i) => from + i);
        deepStrictEqual(await offsetsOf(reader, from, to), expected, `${from} to ${to}`);
      }
    });
  },
});

Deno.test({
  name: "PartitionReader: a partition that ends in markers and aborted records ends",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(kafka, topic, async (producer) => {
      const committed = await producer.transaction();
      await committed.send({ topic, messages: values("a", "b") });
      await committed.commit();
      const aborted = await producer.transaction();
      await aborted.send({ topic, messages: values("x", "y", "z") });
      await aborted.abort();
    });
    await withReader(topic, async (reader) => {
      const end = await reader.settledEnd(() => {});
      // Two records, a marker, three records, a marker.
      strictEqual(end, 7);
      for (let from = 0; from <= end; from++) {
        deepStrictEqual(await offsetsOf(reader, from, end), [0, 1].filter((offset) => offset >= from));
      }
    });
  },
});

Deno.test({
  name: "PartitionReader: aborted transactions that lie across each other, over seeds",
  ignore,
  async fn() {
    for (let seed = 1; seed <= 5; seed++) {
      const random = randomFrom(seed);
      const topic = await newTopic(1);
      const expected: string[] = [];
      await otherProducer(
        kafka,
        `${topic}-a`,
        (a) =>
          otherProducer(kafka, `${topic}-b`, (b) =>
            otherProducer(kafka, `${topic}-c`, async (c) => {
              const sent: { text: string; by: number; round: number }[] = [];
              const kept = new Set<string>();
              for (let round = 0; round < 3; round++) {
                const open = await Promise.all([a, b, c].map((producer) => producer.transaction()));
                for (let i = 0; i < 8; i++) {
                  const by = Math.floor(random() * 3);
                  const text = `${round}-${i}-${by}`;
                  // The key looks like an abort marker's.
                  await open[by]?.send({ topic, messages: [{ key: "\0\0\0\0", value: text }] });
                  sent.push({ text, by, round });
                }
                // They end in another order than they began.
                for (const by of [0, 1, 2].sort(() => random() - 0.5)) {
                  const commits = random() < 0.4;
                  if (commits) kept.add(`${round}/${by}`);
                  await (commits ? open[by]?.commit() : open[by]?.abort());
                }
              }
              for (const { text, by, round } of sent) if (kept.has(`${round}/${by}`)) expected.push(text);
            })),
      );
      deepStrictEqual(await valuesOf(kafka, topic), expected, `seed ${seed}`);
      // The same from anywhere within.
      const all = await readAll(kafka, topic);
      for (let from = 0; from < 30; from += 3) {
        const found = (await readAll(kafka, topic, { from })).map(({ offset }) => offset);
        const later = all.map(({ offset }) => offset).filter((offset) => offset >= from);
        deepStrictEqual(found, later, `seed ${seed}, from ${from}`);
      }
    }
  },
});

Deno.test({
  name: "PartitionReader: the end is waited for until another's transaction is over",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(kafka, topic, async (producer) => {
      const open = await producer.transaction();
      await open.send({ topic, messages: values("first") });
      await otherProducer(kafka, null, (plain) => plain.send({ topic, messages: values("behind it") }));
      await withReader(topic, async (reader) => {
        deepStrictEqual(await reader.bounds(), { start: 0, end: 0 });
        const waiting = reader.settledEnd(() => {});
        await open.commit();
        ok(await waiting >= 2);
      });
    });
    deepStrictEqual(await valuesOf(kafka, topic), ["first", "behind it"]);
  },
});

Deno.test({
  name: "PartitionReader: compressed and large records",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const texts = Array.from({ length: 300 }, (_, i) => `${i}:${"x".repeat(i === 150 ? 64 << 10 : 100)}`);
    await otherProducer(kafka, null, async (producer) => {
      for (let at = 0; at < texts.length; at += 100) {
        await producer.send({
          topic,
          compression: at === 100 ? CompressionTypes.None : CompressionTypes.GZIP,
          messages: values(...texts.slice(at, at + 100)),
        });
      }
      // More than one fetch takes.
      for (let i = 0; i < 8; i++) {
        await producer.send({ topic, messages: values("y".repeat(900_000)) });
      }
    });
    const found = await valuesOf(kafka, topic);
    deepStrictEqual(found.slice(0, 300), texts);
    deepStrictEqual(found.slice(300).map(({ length }) => length), Array.from({ length: 8 }, () => 900_000));
    // In the middle of a compressed batch.
    deepStrictEqual((await valuesOf(kafka, topic, { from: 250 })).slice(0, 50), texts.slice(250));
  },
});

Deno.test({
  name:
    "PartitionReader: answers without a partition, as a quota that is used up brings them, are asked for again",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(kafka, null, (producer) => producer.send({ topic, messages: values("a", "b", "c") }));
    const methods = Broker.prototype as unknown as { fetch: (request: unknown) => Promise<unknown> };
    const { fetch } = methods;
    let fetches = 0;
    methods.fetch = function (request) {
      return ++fetches % 3 === 0 ? fetch.call(this, request) : Promise.resolve({ responses: [] });
    };
    try {
      deepStrictEqual(await valuesOf(kafka, topic), ["a", "b", "c"]);
    } finally {
      methods.fetch = fetch;
    }
    strictEqual(fetches, 3);
  },
});

Deno.test({
  name: "PartitionReader: what retention has taken is an error, and no gap in silence",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(kafka, null, (producer) => producer.send({ topic, messages: values("a", "b", "c") }));
    await deleteBefore(kafka, topic, 2);
    await withReader(topic, async (reader) => {
      deepStrictEqual(await reader.bounds(), { start: 2, end: 3 });
      deepStrictEqual(await offsetsOf(reader, 2, 3), [2]);
      await rejects(offsetsOf(reader, 1, 3), UnavailableError);
    });
  },
});

Deno.test({
  name: "PartitionReader: a topic or partition that is not there is refused",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await rejects(PartitionReader.connect(kafka, topic, 1), KafkaRefusedError);
    await rejects(PartitionReader.connect(kafka, `${topic}-missing`, 0), KafkaRefusedError);
  },
});
