/**
 * A whole topic as the output of a source that is none, on a real broker.
 *
 * @module
 */
import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { TopicSink } from "../../actors/adapters/kafka/topic_sink.ts";
import { FencedError } from "../../actors/ports.ts";
import type { Json } from "../../lib/json.ts";
import { afterAll } from "../support/after_all.ts";
import { until } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, valuesOf } from "../support/kafka_messages.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (partitions: number, configs: Record<string, string> = {}): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions, configs);

afterAll(async () => await broker?.stop());

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const DEVICES = Array.from({ length: 20 }, (_, i) => `truck-${i}`);

/** The line of a trigger of a device. */
function lineOf(device: string, number = 0, fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: number.toString(16).padStart(32, "0"),
    kind: "ENTER",
    device_id: device,
    fence_id: "depot-3",
    event_time: "2026-11-30T20:40:00.123000Z",
    ...fields,
  });
}

/** Those that a topic has, by partition. */
async function linesIn(topic: string, partitions: number): Promise<string[][]> {
  const lines: string[][] = [];
  for (let partition = 0; partition < partitions; partition++) {
    lines.push(await valuesOf(kafka, topic, { partition }));
  }
  return lines;
}

/** Opens a sink, hands it over, and closes it again. */
async function withSink<T>(
  topic: string,
  { position = null, notices = [], owner = topic }: { position?: Json; notices?: string[]; owner?: string },
  use: (sink: TopicSink) => Promise<T>,
): Promise<T> {
  const sink = new TopicSink({
    kafka,
    topic,
    transactionalId: (partition) => `${owner}-${partition}`,
    cloudevents: false,
    notice: (message) => notices.push(message),
  });
  try {
    await sink.open(position);
    return await use(sink);
  } finally {
    sink.close();
  }
}

/** Writes lines; those that were refused come back. */
async function write(sink: TopicSink, lines: readonly string[]): Promise<string[]> {
  const refused: string[] = [];
  const bytes = encoder.encode(lines.map((line) => `${line}\n`).join(""));
  await sink.write({ bytes, byteLength: bytes.length, count: lines.length }, (line) => {
    refused.push(decoder.decode(line));
  });
  return refused;
}

async function readBack(sink: TopicSink): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of sink.readBack()) lines.push(decoder.decode(line));
  return lines.toSorted();
}

Deno.test({
  name:
    "TopicSink: each device is where Kafka's default partitioner puts it, in order, and the position has them all",
  ignore,
  async fn() {
    const [topic, theirs] = [await newTopic(5), await newTopic(5)];
    const lines = [...DEVICES, ...DEVICES].map((device, i) => lineOf(device, i));
    await withSink(topic, {}, async (sink) => {
      deepStrictEqual([sink.name, sink.readable], [topic, true]);
      deepStrictEqual(await sink.flush(), { topic, offsets: [0, 0, 0, 0, 0] });
      deepStrictEqual(await write(sink, lines), []);
      await write(sink, []);
      await otherProducer(kafka, null, async (producer) => {
        await producer.send({
          topic: theirs,
          messages: lines.map((value) => ({
            key: (JSON.parse(value) as { device_id: string }).device_id,
            value,
          })),
        });
      });
      const found = await linesIn(topic, 5);
      deepStrictEqual(found, await linesIn(theirs, 5));
      ok(found.filter((some) => some.length > 0).length > 2, "several partitions");
      deepStrictEqual(await sink.flush(), { topic, offsets: found.map(({ length }) => length) });
    });
  },
});

Deno.test({
  name: "TopicSink: reads back what all partitions have behind the position, and fences who had them",
  ignore,
  async fn() {
    const topic = await newTopic(3);
    const [first, second] = [
      DEVICES.map((device) => lineOf(device, 1)),
      DEVICES.map((device) => lineOf(device, 2)),
    ];
    await withSink(topic, {}, async (old) => {
      await write(old, first);
      const position = await old.flush();
      await write(old, second);
      await withSink(topic, { position }, async (sink) => {
        deepStrictEqual(await readBack(sink), second.toSorted());
        await rejects(write(old, first), FencedError);
        await withSink(topic, { position: await sink.flush() }, async (next) => {
          deepStrictEqual(await readBack(next), []);
        });
      });
    });
    deepStrictEqual((await linesIn(topic, 3)).flat().toSorted(), [...first, ...second].toSorted());
  },
});

Deno.test({
  name: "TopicSink: a topic that has got more partitions: said once, and nothing is lost or told again",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    const notices: string[] = [];
    const [first, second] = [
      DEVICES.map((device) => lineOf(device, 1)),
      DEVICES.map((device) => lineOf(device, 2)),
    ];
    const position = await withSink(topic, { notices }, async (sink) => {
      const position = await sink.flush();
      await write(sink, first);
      return position;
    });
    const admin = kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] });
    await admin.disconnect();
    await until(() => linesIn(topic, 6).then(() => true, () => false), "leaders of the new partitions");
    // A crash before the checkpoint that knows of the new ones.
    await withSink(topic, { position, notices }, async (sink) => {
      deepStrictEqual(await readBack(sink), first.toSorted());
      await write(sink, second);
    });
    const known = await withSink(topic, { position, notices: [] }, async (sink) => {
      deepStrictEqual(await readBack(sink), [...first, ...second].toSorted());
      return await sink.flush() as { offsets: number[] };
    });
    strictEqual(known.offsets.length, 6);
    ok(known.offsets.slice(2).some((offset) => offset > 0));
    strictEqual(notices.length, 1);
    match(notices[0] as string, /has got more partitions, 6 and no longer 2/);
    await withSink(topic, { position: known as unknown as Json, notices }, async (sink) => {
      deepStrictEqual(await readBack(sink), []);
    });
    strictEqual(notices.length, 1, "said once");
  },
});

Deno.test({
  name:
    "TopicSink: another topic than before: all of the old one's tails are read back, of more partitions or of fewer",
  ignore,
  async fn() {
    const lines = DEVICES.map((device) => lineOf(device, 1));
    for (const [old, now] of [[5, 2], [2, 5]] as const) {
      const [before, topic] = [await newTopic(old), await newTopic(now)];
      const position = await withSink(before, { owner: topic }, async (sink) => {
        const position = await sink.flush();
        await write(sink, lines);
        return position;
      });
      const notices: string[] = [];
      await withSink(topic, { position, notices }, async (sink) => {
        deepStrictEqual(await readBack(sink), lines.toSorted());
        await write(sink, [lineOf("truck-7", 7)]);
        strictEqual((await sink.flush() as { offsets: number[] }).offsets.length, now);
      });
      ok(notices[0]?.includes(`went to topic ${before}`), notices[0]);
      deepStrictEqual((await linesIn(topic, now)).flat(), [lineOf("truck-7", 7)]);
    }
  },
});

Deno.test({
  name:
    "TopicSink: refused are a topic that is missing, one with fewer partitions, and what is no position of a topic",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    const open = (name: string, position: Json): Promise<void> =>
      withSink(name, { position }, () => Promise.resolve());
    await rejects(open(`${topic}-missing`, null), (error) => {
      ok(error instanceof KafkaRefusedError);
      match(error.message, /there is no such topic/);
      return true;
    });
    await rejects(
      open(topic, { topic, offsets: [0, 0, 0] }),
      /it has 2 partitions, and the checkpoint knows 3/,
    );
    await rejects(
      open(topic, { topic, offsets: [0, 9] }),
      /partition 1 ends at offset 0, and the checkpoint knows 9/,
    );
    for (const wrong of [7, { path: "-" }, { topic, partition: 0, offset: 0 }, { topic, offsets: [-1, 0] }]) {
      await rejects(open(topic, wrong), /the checkpoint's position is none of a Kafka topic/);
    }
  },
});

Deno.test({
  name:
    "TopicSink: what is too large for the topic is refused, in each partition, and all else is written; compacted is said",
  ignore,
  async fn() {
    const topic = await newTopic(3, { "max.message.bytes": "2000", "cleanup.policy": "compact" });
    const big = DEVICES.map((device, i) => lineOf(device, i, { attributes: "x".repeat(3_000) }));
    const small = DEVICES.map((device, i) => lineOf(device, 100 + i));
    const notices: string[] = [];
    await withSink(topic, { notices }, async (sink) => {
      const mixed = big.flatMap((line, i) => [line, small[i] as string]);
      deepStrictEqual((await write(sink, mixed)).toSorted(), big.toSorted());
    });
    deepStrictEqual((await linesIn(topic, 3)).flat().toSorted(), small.toSorted());
    strictEqual(notices.length, 1);
    match(notices[0] as string, /is compacted/);
  },
});
