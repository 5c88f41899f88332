import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { KafkaSink, type KafkaSinkOptions } from "../../actors/adapters/kafka/kafka_sink.ts";
import { FencedError } from "../../actors/ports.ts";
import type { Json } from "../../lib/json.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, deleteBefore, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { API, LossySockets } from "../support/lossy_sockets.ts";
import { randomFrom } from "../support/random.ts";

const broker = await startKafka();
const ignore = broker === null;
const brokers = broker?.brokers ?? [];
const kafka = clientOf(brokers);
const newTopic = (partitions: number, configs: Record<string, string> = {}): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions, configs);

afterAll(async () => await broker?.stop());

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const TIME = "2026-11-30T20:40:00.123000Z";

function idOf(number: number): string {
  return number.toString(16).padStart(32, "0");
}

/** The line of a trigger with a number. */
function lineOf(number: number, fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: idOf(number),
    kind: "ENTER",
    device_id: "truck-7",
    fence_id: "depot-3",
    event_time: TIME,
    ...fields,
  });
}

type Given = Partial<KafkaSinkOptions> & { topic: string; notices?: string[]; position?: Json };

/** A line that was refused, and why. */
type Refusal = readonly [line: string, why: string];

/** Opens a sink, hands it over, and closes it again. */
async function withSink<T>(
  { notices = [], position = null, ...options }: Given,
  use: (sink: KafkaSink) => Promise<T>,
): Promise<T> {
  const sink = new KafkaSink({
    kafka,
    partition: 0,
    // The owner of a partition has the same one wherever the output goes.
    transactionalId: options.transactionalId ?? options.topic,
    cloudevents: false,
    notice: (message) => notices.push(message),
    ...options,
  });
  try {
    await sink.open(position);
    return await use(sink);
  } finally {
    sink.close();
  }
}

/** Writes lines; those that were refused come back. */
async function write(sink: KafkaSink, lines: readonly string[]): Promise<Refusal[]> {
  const refused: Refusal[] = [];
  const bytes = encoder.encode(lines.map((line) => `${line}\n`).join(""));
  // A batch's buffer is longer than what is in it, and used again.
  const buffer = new Uint8Array(bytes.length + 10).fill(0x21);
  buffer.set(bytes);
  await sink.write({ bytes: buffer, byteLength: bytes.length, count: lines.length }, (line, why) => {
    refused.push([decoder.decode(line), why]);
  });
  buffer.fill(0x0a);
  return refused;
}

async function readBack(sink: KafkaSink): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of sink.readBack()) lines.push(decoder.decode(line));
  return lines;
}

Deno.test({
  name: "KafkaSink: lines, keys and ids go to the partition of its number, and it says where it ends",
  ignore,
  async fn() {
    const topic = await newTopic(3);
    const lines = [lineOf(1), lineOf(2, { device_id: 'ü"\\' })];
    await withSink({ topic, partition: 2 }, async (sink) => {
      deepStrictEqual([sink.name, sink.readable], [topic, true]);
      deepStrictEqual(await sink.flush(), { topic, partition: 2, offset: 0 });
      await write(sink, lines);
      deepStrictEqual(await sink.flush(), { topic, partition: 2, offset: 2 });
      await write(sink, []);
      await write(sink, [lineOf(3)]);
      deepStrictEqual(await sink.flush(), { topic, partition: 2, offset: 4 });
      deepStrictEqual(await readBack(sink), []);
    });
    const messages = await readAll(kafka, topic, { partition: 2 });
    deepStrictEqual(
      messages.map(({ key, headers }) => [
        decoder.decode(key ?? undefined),
        [...headers].map(([name, value]) => `${name}=${decoder.decode(value)}`),
      ]),
      [["truck-7", [`id=${idOf(1)}`]], ['ü"\\', [`id=${idOf(2)}`]], ["truck-7", [`id=${idOf(3)}`]]],
    );
    deepStrictEqual(await valuesOf(kafka, topic, { partition: 2 }), [...lines, lineOf(3)]);
  },
});

Deno.test({
  name: "KafkaSink: as CloudEvents the id, kind and time are in the headers of the binary mode",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const kinds = ["ENTER", "EXIT", "DWELL", "RETRACT"];
    await withSink({ topic, cloudevents: { source: "/fleet" } }, async (sink) => {
      await write(sink, kinds.map((kind, i) => lineOf(i, { kind })));
    });
    const messages = await readAll(kafka, topic);
    deepStrictEqual(
      messages.map(({ headers }) =>
        Object.fromEntries([...headers].map(([name, value]) => [name, decoder.decode(value)]))
      ),
      kinds.map((kind, i) => ({
        ce_specversion: "1.0",
        ce_id: idOf(i),
        ce_source: "/fleet",
        ce_type: `fencepost.trigger.${kind.toLowerCase()}`,
        ce_time: TIME,
        "content-type": "application/json",
      })),
    );
    deepStrictEqual(await valuesOf(kafka, topic), kinds.map((kind, i) => lineOf(i, { kind })));
  },
});

Deno.test({
  name: "KafkaSink: reads back what was written behind the position, and goes on behind it",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const position = await withSink({ topic }, async (sink) => {
      await write(sink, [lineOf(1)]);
      const known = await sink.flush();
      await write(sink, [lineOf(2), lineOf(3)]);
      await write(sink, [lineOf(4)]);
      return known;
    });
    await withSink({ topic, position }, async (sink) => {
      deepStrictEqual(await sink.flush(), { topic, partition: 0, offset: 7 });
      deepStrictEqual(await readBack(sink), [lineOf(2), lineOf(3), lineOf(4)]);
      await write(sink, [lineOf(5)]);
      deepStrictEqual(await sink.flush(), { topic, partition: 0, offset: 8 });
    });
    // Without a position nothing is known of what is there.
    await withSink({ topic }, async (sink) => {
      deepStrictEqual(await readBack(sink), []);
      deepStrictEqual(await sink.flush(), { topic, partition: 0, offset: 9 });
    });
  },
});

Deno.test({
  name: "KafkaSink: an owner that another has followed can't write",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await withSink({ topic }, async (old) => {
      await write(old, [lineOf(1)]);
      await withSink({ topic }, async (owner) => {
        await rejects(write(old, [lineOf(2)]), FencedError);
        await write(owner, [lineOf(3)]);
      });
    });
    deepStrictEqual(await valuesOf(kafka, topic), [lineOf(1), lineOf(3)]);
  },
});

Deno.test({
  name: "KafkaSink: whatever is lost on the way, each trigger is there once after reading back, over seeds",
  ignore,
  async fn() {
    for (let seed = 1; seed <= 4; seed++) {
      const random = randomFrom(seed);
      const topic = await newTopic(1);
      const sockets = new LossySockets();
      const client = clientOf(brokers, sockets);
      /** The checkpoint: how many triggers were made, and where the output ended. */
      const checkpoint: { made: number; position: Json } = { made: 0, position: null };
      let losses = 0;
      for (let done = false; !done;) {
        sockets.away = false;
        const told = new Set<string>();
        let { made } = checkpoint;
        const { position } = checkpoint;
        await withSink({ topic, kafka: client, transactionalId: topic, position }, async (sink) => {
          if (position === null) checkpoint.position = await sink.flush();
          for await (const line of sink.readBack()) told.add(decoder.decode(line));
          while (made < 60) {
            const count = 1 + Math.floor(random() * 3);
            const lines = Array.from({ length: count }, (_, i) => lineOf(made + i));
            const chance = random();
            if (losses < 5 && chance < 0.4) {
              const api = chance < 0.15 ? API.produce : chance < 0.3 ? API.endTxn : API.addPartitionsToTxn;
              const what = random() < 0.5 ? "lose the request" : "lose the answer";
              sockets.fate = (key) => key === api ? what : "pass";
            }
            await write(sink, lines.filter((line) => !told.has(line)));
            sockets.fate = () => "pass";
            made += count;
            if (random() < 0.4) Object.assign(checkpoint, { made, position: await sink.flush() });
          }
          done = true;
        }).catch((error) => {
          if (sockets.lost === losses) throw error;
          losses = sockets.lost;
        });
      }
      ok(losses > 0, `seed ${seed}: something was lost`);
      const written = await valuesOf(kafka, topic);
      const expected = Array.from({ length: written.length }, (_, i) => lineOf(i));
      ok(written.length >= 60, `seed ${seed}`);
      deepStrictEqual(written, expected, `seed ${seed}, ${losses} losses`);
    }
  },
});

Deno.test({
  name: "KafkaSink: a topic with too few partitions, or none, is refused before anything is written",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    await rejects(withSink({ topic, partition: 2 }, () => Promise.resolve()), (error) => {
      ok(error instanceof KafkaRefusedError);
      ok(error.message.includes("it has 2 partitions"), error.message);
      return true;
    });
    await rejects(withSink({ topic: `${topic}-missing` }, () => Promise.resolve()), KafkaRefusedError);
  },
});

Deno.test({
  name: "KafkaSink: the output was another topic before: its tail is read back, and writing goes on here",
  ignore,
  async fn() {
    const [before, topic] = [await newTopic(1), await newTopic(1)];
    const transactionalId = topic;
    const position = await withSink({ topic: before, transactionalId }, async (sink) => {
      await write(sink, [lineOf(1)]);
      const known = await sink.flush();
      await write(sink, [lineOf(2)]);
      return known;
    });
    const notices: string[] = [];
    await withSink({ topic, transactionalId, position, notices }, async (sink) => {
      deepStrictEqual(await readBack(sink), [lineOf(2)]);
      await write(sink, [lineOf(3)]);
      deepStrictEqual(await sink.flush(), { topic, partition: 0, offset: 1 });
    });
    strictEqual(notices.length, 1);
    ok(notices[0]?.includes(`The triggers went to topic ${before}, partition 0, before`), notices[0]);
    deepStrictEqual(await valuesOf(kafka, topic), [lineOf(3)]);
    // And where that is gone, it says what follows.
    const gone = { topic: `${before}-gone`, partition: 0, offset: 0 };
    await withSink(
      { topic, position: gone, notices },
      async (sink) => deepStrictEqual(await readBack(sink), []),
    );
    ok(notices.at(-1)?.includes("may come again with the same ids"), notices.at(-1));
  },
});

Deno.test({
  name: "KafkaSink: positions that the topic does not have",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await withSink({ topic }, (sink) => write(sink, [lineOf(1), lineOf(2), lineOf(3)]));
    const open = (position: Json, notices: string[] = []): Promise<string[]> =>
      withSink({ topic, position, notices }, readBack);
    // Three records and a marker.
    deepStrictEqual(await open({ topic, partition: 0, offset: 4 }), []);
    await rejects(
      open({ topic, partition: 0, offset: 5 }),
      /partition 0 ends at offset 4, and the checkpoint knows 5/,
    );
    for (
      const wrong of [
        { path: "-", bytes: 7 },
        { topic, partition: 0 },
        { topic, partition: 0, offset: -1 },
        7,
      ]
    ) {
      await rejects(open(wrong), /the checkpoint's position is none of a Kafka topic/);
    }
    await deleteBefore(kafka, topic, 2);
    const notices: string[] = [];
    deepStrictEqual(await open({ topic, partition: 0, offset: 2 }, notices), [lineOf(3)]);
    strictEqual(notices.length, 0);
    deepStrictEqual(await open({ topic, partition: 0, offset: 1 }, notices), [lineOf(3)]);
    ok(notices[0]?.includes("begins at offset 2 by now"), notices[0]);
  },
});

Deno.test({
  name: "KafkaSink: opens behind a transaction that somebody else has still open",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await otherProducer(kafka, `${topic}-other`, async (producer) => {
      const open = await producer.transaction();
      await open.send({ topic, messages: [{ value: "theirs" }] });
      // Ours is committed, and no reader is given it yet.
      const position = { topic, partition: 0, offset: 0 };
      const wrote = new KafkaSink({
        kafka,
        topic,
        partition: 0,
        transactionalId: topic,
        cloudevents: false,
        notice: () => {},
      });
      const opening = wrote.open(position);
      await open.commit();
      await opening;
      deepStrictEqual(await readBack(wrote), ["theirs"]);
      wrote.close();
    });
  },
});

Deno.test({
  name:
    "KafkaSink: what the topic is too narrow for is refused with its size, however many, and all else is written",
  ignore,
  async fn() {
    const topic = await newTopic(1, { "max.message.bytes": "2000" });
    const big = { attributes: "x".repeat(3_000) };
    // More than one transaction refuses, and batches that are only too large together.
    const isBig = (i: number): boolean => i < 150 || i % 50 === 7;
    const lines = Array.from({ length: 700 }, (_, i) => lineOf(i, isBig(i) ? big : {}));
    await withSink({ topic }, async (sink) => {
      const refused = await write(sink, lines);
      deepStrictEqual(refused.map(([line]) => line), lines.filter((_, i) => isBig(i)));
      for (const [, why] of refused) {
        match(
          why,
          new RegExp(
            `^Topic ${topic} does not take it: a record of 3\\d\\d\\d bytes is larger than it takes \\(.+\\)$`,
          ),
        );
      }
      deepStrictEqual(await valuesOf(kafka, topic), lines.filter((_, i) => !isBig(i)));
      const position = await sink.flush() as { offset: number };
      deepStrictEqual(await write(sink, [lineOf(0, big)]), [[lineOf(0, big), refused[0]?.[1]]], "it alone");
      deepStrictEqual(await sink.flush(), position);
      deepStrictEqual(await write(sink, [lineOf(1000)]), []);
    });
    deepStrictEqual((await valuesOf(kafka, topic)).at(-1), lineOf(1000));
  },
});
