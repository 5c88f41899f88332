import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { KafkaDeadLetters } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import { FencedError } from "../../actors/ports.ts";
import { type DeadLetter, decodeKnownDeadLetter, encodeDeadLetter } from "../../lib/dead_letter.ts";
import type { Json } from "../../lib/json.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, readAll } from "../support/kafka_messages.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (partitions: number): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions);

afterAll(async () => await broker?.stop());

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** 2026-11-30T20:40:00.123456Z */
const AT_US = Date.UTC(2026, 10, 30, 20, 40, 0) * 1000 + 123_456;

/** The line of a dead letter of the source topic `in`. */
function lineOf(offset: number, fields: Partial<DeadLetter> & { partition?: number } = {}): string {
  const { partition = 0, ...rest } = fields;
  return decoder.decode(encodeDeadLetter({
    reason: "MALFORMED_JSON",
    detail: "Not JSON, at 'ü'",
    source: "in",
    position: { partition, offset },
    record: encoder.encode(`{"n":${offset}`),
    ...rest,
  }, AT_US));
}

/** A trigger with an id. */
function triggerOf(id: string): string {
  const rest = { kind: "ENTER", device_id: "d", fence_id: "f", event_time: "2026-11-30T20:40:00.123000Z" };
  return JSON.stringify({ id, ...rest });
}

/** The dead letter of one that the output refused. */
function rejected(id: string): string {
  const record = encoder.encode(triggerOf(id));
  const letter = {
    reason: "SINK_REJECTED",
    detail: "too large",
    source: "in",
    position: null,
    record,
  } as const;
  return decoder.decode(encodeDeadLetter(letter, AT_US));
}

interface Given {
  readonly topic: string;
  readonly sourcePartition?: number;
  readonly position?: Json;
}

/** Opens dead letters of the source topic `in`, hands them over, and closes them again. */
async function withDeadLetters<T>(
  { topic, sourcePartition = 0, position = null }: Given,
  use: (sink: KafkaDeadLetters) => Promise<T>,
): Promise<T> {
  const sink = new KafkaDeadLetters({
    kafka,
    topic,
    sourceTopic: "in",
    sourcePartition,
    transactionalId: `${topic}-${sourcePartition}`,
    notice: () => {},
  });
  try {
    await sink.open(position);
    return await use(sink);
  } finally {
    sink.close();
  }
}

async function write(sink: KafkaDeadLetters, lines: readonly string[]): Promise<void> {
  const bytes = encoder.encode(lines.join(""));
  await sink.write({ bytes, byteLength: bytes.length, count: lines.length });
}

async function readBack(sink: KafkaDeadLetters): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of sink.readBack()) lines.push(`${decoder.decode(line)}\n`);
  return lines;
}

Deno.test({
  name: "KafkaDeadLetters: the value is the record as it came, and what is known of it is in the headers",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const odd = Uint8Array.of(0xff, 0x00, 0x7b, 0xc3);
    const cut = encoder.encode("x".repeat(64 << 10));
    await withDeadLetters({ topic }, async (sink) => {
      await write(sink, [
        lineOf(7, { record: encoder.encode('\ufeff{"a":"ü\\u0000"\r') }),
        lineOf(8, { reason: "INVALID_UTF8", record: odd }),
        lineOf(9, {
          reason: "TOO_LARGE",
          record: cut,
          oversize: { byteLength: 99_999, hash: "0123456789abcdef" },
        }),
        lineOf(10, { record: new Uint8Array(0) }),
      ]);
      deepStrictEqual(await sink.flush(), { topic, partition: 0, offset: 4 });
    });
    const messages = await readAll(kafka, topic);
    deepStrictEqual(
      messages.map(({ key, value }) => [key, [...value ?? []]]),
      [encoder.encode('\ufeff{"a":"ü\\u0000"\r'), odd, cut, new Uint8Array(0)].map((
        bytes,
      ) => [null, [...bytes]]),
    );
    const headers = messages.map((message) =>
      Object.fromEntries([...message.headers].map(([name, bytes]) => [name, decoder.decode(bytes)]))
    );
    deepStrictEqual(headers[0], {
      reason: "MALFORMED_JSON",
      detail: "Not JSON, at 'ü'",
      source_topic: "in",
      source_partition: "0",
      source_offset: "7",
      at: "2026-11-30T20:40:00.123456Z",
    });
    deepStrictEqual([headers[2]?.["byte_length"], headers[2]?.["xxh64"]], ["99999", "0123456789abcdef"]);
  },
});

Deno.test({
  name: "KafkaDeadLetters: reads back the lines that it was given behind the position",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const lines = [
      lineOf(2),
      lineOf(3, { reason: "INVALID_UTF8", record: Uint8Array.of(0xff, 0xfe) }),
      lineOf(4, {
        reason: "TOO_LARGE",
        record: encoder.encode("z".repeat(64 << 10)),
        oversize: { byteLength: 70_000, hash: "00000000deadbeef" },
      }),
      lineOf(5, { reason: "LATE", detail: "" }),
      rejected("1".repeat(32)),
      rejected("2".repeat(32)),
    ];
    const position = await withDeadLetters({ topic }, async (sink) => {
      await write(sink, [lineOf(1)]);
      const known = await sink.flush();
      await write(sink, lines);
      // Should a record be there twice all the same, it is told once.
      await write(sink, [lines[0] as string, lines[5] as string]);
      return known;
    });
    // What others write there is none of ours.
    await otherProducer(kafka, null, (producer) =>
      producer.send({
        topic,
        messages: [
          { value: "no headers" },
          {
            value: null,
            headers: { reason: "LATE", source_topic: "in", source_partition: "0", source_offset: "6" },
          },
          {
            value: "x",
            headers: { reason: "ODD", source_topic: "in", source_partition: "0", source_offset: "6" },
          },
          {
            value: "x",
            headers: { reason: "LATE", source_topic: "in", source_partition: "0", source_offset: "-6" },
          },
        ],
      }));
    await withDeadLetters({ topic, position }, async (sink) => {
      const found = await readBack(sink);
      deepStrictEqual(found, lines);
      deepStrictEqual(found.map((line) => decodeKnownDeadLetter(encoder.encode(line))), [
        { reason: "MALFORMED_JSON", source: "in", position: { partition: 0, offset: 2 } },
        { reason: "INVALID_UTF8", source: "in", position: { partition: 0, offset: 3 } },
        { reason: "TOO_LARGE", source: "in", position: { partition: 0, offset: 4 } },
        { reason: "LATE", source: "in", position: { partition: 0, offset: 5 } },
        { reason: "SINK_REJECTED", trigger: encoder.encode(triggerOf("1".repeat(32))) },
        { reason: "SINK_REJECTED", trigger: encoder.encode(triggerOf("2".repeat(32))) },
      ]);
    });
  },
});

Deno.test({
  name: "KafkaDeadLetters: source partitions share a smaller topic, and each is told its own",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    const starts = await Promise.all(
      Array.from(
        { length: 5 },
        (_, partition) => withDeadLetters({ topic, sourcePartition: partition }, (sink) => sink.flush()),
      ),
    );
    deepStrictEqual(starts.map((start) => (start as { partition: number }).partition), [0, 1, 0, 1, 0]);
    const linesOf = (partition: number): string[] =>
      Array.from({ length: 6 }, (_, i) => lineOf(10 * partition + i, { partition }));
    await Promise.all(
      starts.map((position, partition) =>
        withDeadLetters({ topic, sourcePartition: partition, position }, async (sink) => {
          for (const line of linesOf(partition)) await write(sink, [line]);
        })
      ),
    );
    await Promise.all(
      starts.map((position, partition) =>
        withDeadLetters({ topic, sourcePartition: partition, position }, async (sink) => {
          deepStrictEqual(await readBack(sink), linesOf(partition));
        })
      ),
    );
    strictEqual((await readAll(kafka, topic, { partition: 1 })).length, 12);
  },
});

Deno.test({
  name: "KafkaDeadLetters: an owner that another has followed can't write",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await withDeadLetters({ topic }, async (old) => {
      await withDeadLetters({ topic }, async (owner) => {
        await rejects(write(old, [lineOf(1)]), FencedError);
        await write(owner, [lineOf(2)]);
      });
    });
    const [message, ...more] = await readAll(kafka, topic);
    deepStrictEqual(more, []);
    ok(message !== undefined);
    strictEqual(decoder.decode(message.value ?? undefined), '{"n":2');
  },
});

Deno.test({
  name: "KafkaDeadLetters: crossings of one message are told apart, and come back as they were written",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const lines = [1, 2].map((record) =>
      lineOf(7, {
        position: { partition: 0, offset: 7, part: { record, crossing: 1, pointer: `/é/${record}` } },
      })
    );
    const position = await withDeadLetters({ topic }, (sink) => sink.flush());
    await withDeadLetters({ topic }, async (sink) => await write(sink, [...lines, lineOf(8)]));
    // Each once, also where a crash has had one of them written twice.
    await withDeadLetters({ topic }, async (sink) => await write(sink, lines.slice(1)));
    deepStrictEqual(
      await withDeadLetters({ topic, position }, readBack),
      [...lines, lineOf(8)],
    );
  },
});
