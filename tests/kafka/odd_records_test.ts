/**
 * Records that nobody should send, and triggers that a topic does not take: said or kept, and never a crash or a loss.
 *
 * @module
 */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigResourceTypes } from "kafkajs";
import { readDeadLetter } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import { parseJsonObject } from "../../lib/json_object.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory, until } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (configs: Record<string, string> = {}, partitions = 1): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions, configs);

afterAll(async () => await broker?.stop());

const decoder = new TextDecoder();
const SECOND_MS = 1_000;
const NOW_MS = Date.now() - 60 * SECOND_MS;

interface OddMessage {
  readonly value: string | Buffer | null;
  readonly key?: string;
  readonly timestamp?: string;
  readonly headers?: Record<string, string>;
}

function transition(number: number, fields: Record<string, unknown> = {}): string {
  const kind = number % 2 === 0 ? "ENTER" : "EXIT";
  const event_time_ms = NOW_MS + number * 5 * SECOND_MS;
  return JSON.stringify({ device_id: "d", fence_id: "f", kind, event_time_ms, ...fields });
}

async function produce(topic: string, messages: readonly OddMessage[]): Promise<void> {
  await otherProducer(kafka, null, async (producer) => {
    for (const message of messages) await producer.send({ topic, messages: [message] });
  });
}

/** What becomes of a record: the reason of its dead letter, a trigger, or nothing. */
type Fate = string | "trigger" | "nothing";

const ODD: readonly (readonly [what: string, message: OddMessage, fate: Fate])[] = [
  ["a transition", { value: transition(0) }, "trigger"],
  ["a tombstone", { key: "d", value: null }, "MALFORMED_JSON"],
  ["an empty value", { value: "" }, "MALFORMED_JSON"],
  ["a line end", { value: "\n" }, "MALFORMED_JSON"],
  ["half an object", { value: transition(1).slice(0, -1) }, "MALFORMED_JSON"],
  ["two lines", { value: `${transition(1)}\n${transition(2)}` }, "MALFORMED_JSON"],
  ["deep JSON", { value: "[".repeat(60_000) }, "MALFORMED_JSON"],
  ["no object", { value: "[1]" }, "NOT_AN_OBJECT"],
  ["null, the word", { value: "null" }, "NOT_AN_OBJECT"],
  ["no UTF-8", { value: Buffer.from([0x7b, 0xff, 0x7d]) }, "INVALID_UTF8"],
  ["zeros", { value: Buffer.alloc(1_000) }, "MALFORMED_JSON"],
  [
    "a schema registry's frame",
    { value: Buffer.concat([Buffer.alloc(5), Buffer.from(transition(1))]) },
    "MALFORMED_JSON",
  ],
  ["no ids", { value: "{}" }, "MISSING_FIELD"],
  ["half a megabyte", { value: transition(1, { attributes: "x".repeat(500_000) }) }, "TOO_LARGE"],
  ["half a megabyte of bytes", { value: Buffer.alloc(500_000, 0xff) }, "TOO_LARGE"],
  ["a timestamp of 1970", { value: transition(1), timestamp: "1" }, "TIME_IN_FUTURE"],
  ["a timestamp of 2255", { value: transition(1), timestamp: "9000000000000" }, "TIME_IN_FUTURE"],
  ["a line end behind it, a key and headers", {
    value: `${transition(1)}\r\n`,
    key: "k",
    headers: { id: "x" },
  }, "trigger"],
  ["a copy", { value: transition(1) }, "nothing"],
  ["the last", { value: transition(2) }, "trigger"],
];

Deno.test({
  name:
    "run: records that nobody should send are dead letters, each once and with its reason, and the rest goes on",
  ignore,
  async fn() {
    const input = await newTopic({ "message.timestamp.after.max.ms": "9223372036854775807" });
    const [triggers, deadLetters] = [await newTopic(), await newTopic()];
    await produce(input, ODD.map(([, message]) => message));
    await inDirectory(async (directory) => {
      const run = await KafkaRun.start(directory, configOf({ input, triggers, deadLetters }));
      const expected = ODD.filter(([, , fate]) => fate === "trigger").length;
      await run.until(kafka, triggers, expected);
      match(await run.end(), /^0: /);
    });
    const fates = new Map<number, string>();
    for (const message of await readAll(kafka, deadLetters)) {
      const letter = readDeadLetter(message);
      const { reason } = parseJsonObject(letter?.line ?? new Uint8Array(0)) ?? {};
      strictEqual(fates.has(Number(letter?.place ?? -1)), false, "each once");
      fates.set(Number(letter?.place ?? -1), String(reason));
      const sent = ODD[Number(letter?.place ?? -1)]?.[1].value ?? "";
      const bytes = typeof sent === "string" ? Buffer.from(sent) : sent;
      // Of one that is too large the beginning, without a character that is torn there.
      const kept = Buffer.from(message.value ?? []);
      ok(kept.length >= Math.min(bytes.length, 65_536 - 3), `${kept.length} bytes are kept`);
      deepStrictEqual(kept, bytes.subarray(0, kept.length));
    }
    deepStrictEqual(
      ODD.map(([what], offset) => [what, fates.get(offset) ?? "taken"]),
      ODD.map(([what, , fate]) => [what, /^[A-Z]/.test(fate) ? fate : "taken"]),
    );
  },
});

Deno.test({
  name:
    "run: a record that the topic of dead letters is too narrow for ends it, and loses nothing once that is mended",
  ignore,
  async fn() {
    const topics = { input: await newTopic(), triggers: await newTopic(), deadLetters: await newTopic() };
    await alter(topics.deadLetters, "2000");
    const after = [transition(2), transition(3)];
    await produce(topics.input, [transition(0), "{".repeat(3_000), ...after].map((value) => ({ value })));
    await inDirectory(async (directory) => {
      for (let tries = 0; tries < 2; tries++) {
        const { code, said } = await (await KafkaRun.start(directory, configOf(topics))).ended();
        strictEqual(code, 1, said);
        match(
          said,
          new RegExp(
            `Cannot write to topic ${topics.deadLetters}: a record of \\d+ bytes is larger than it takes`,
          ),
        );
        match(said, /Raise the topic's max\.message\.bytes/);
      }
      await alter(topics.deadLetters, "100000");
      const run = await KafkaRun.start(directory, configOf(topics));
      await run.until(kafka, topics.triggers, 3);
      await run.until(kafka, topics.deadLetters, 1);
      match(await run.end(), /^0: /);
    });
    const ids = (await valuesOf(kafka, topics.triggers)).map((value) => JSON.parse(value).id);
    strictEqual(new Set(ids).size, ids.length);
  },
});

/** Every tenth trigger is larger than its topic takes. */
const MANY = Array.from(
  { length: 60 },
  (_, i) => transition(i, { seq: i, ...(i % 10 === 3 ? { attributes: "x".repeat(3_000) } : {}) }),
);

/** What a topic holds: the `seq` of each trigger, in the order in which it came out. */
function seqsOf(values: readonly string[]): number[] {
  return values.map((value) => Number((JSON.parse(value) as { seq: string }).seq));
}

Deno.test({
  name:
    "run: a trigger that its topic is too narrow for is a dead letter, once, and the others go out, killed or not",
  ignore,
  async fn() {
    const topics = { input: await newTopic(), triggers: await newTopic(), deadLetters: await newTopic() };
    await alter(topics.triggers, "2000");
    await produce(topics.input, MANY.map((value) => ({ value })));
    // Its checkpoint is not reached before it is killed, so what it has done has to be found in the topics.
    const config = { ...configOf(topics) as Record<string, unknown> };
    const checkpoint = { path: `kafka:state-${topics.input}`, interval: "1h" };
    const seldom = { ...config, checkpoint };
    const isNarrow = (seq: number): boolean => seq % 10 === 3;
    const all = MANY.map((_, i) => i);
    const kept = async (): Promise<void> => {
      deepStrictEqual(seqsOf(await valuesOf(kafka, topics.triggers)), all.filter((seq) => !isNarrow(seq)));
      const letters = await readAll(kafka, topics.deadLetters);
      deepStrictEqual(
        seqsOf(letters.map(({ value }) => decoder.decode(value ?? undefined))),
        all.filter(isNarrow),
      );
      for (const message of letters) {
        const letter = parseJsonObject(readDeadLetter(message)?.line ?? new Uint8Array(0)) ?? {};
        deepStrictEqual([letter["reason"], letter["source"], letter["position"]], [
          "SINK_REJECTED",
          topics.input,
          null,
        ]);
        match(
          String(letter["detail"]),
          new RegExp(
            `^Topic ${topics.triggers} does not take it: a record of 3\\d\\d\\d bytes .*larger than the max`,
          ),
        );
      }
    };
    await inDirectory(async (directory) => {
      for (let kills = 0; kills < 2; kills++) {
        const run = await KafkaRun.start(directory, seldom);
        await run.until(kafka, topics.triggers, 54);
        await run.until(kafka, topics.deadLetters, 6);
        await run.kill();
        await kept();
      }
      // Now they would fit, and yet each was told as what it is.
      await alter(topics.triggers, "100000");
      const run = await KafkaRun.start(directory, seldom);
      await produce(topics.input, [{ value: transition(60, { seq: 60 }) }]);
      await run.until(kafka, topics.triggers, 55);
      const said = await run.end();
      match(said, /^0: /);
      match(said, /SINK_REJECTED +6\b|6 SINK_REJECTED/);
    });
    all.push(60);
    await kept();
  },
});

Deno.test({
  name: "run: killed again and again while its topic refuses triggers: each is told or a dead letter, once",
  ignore,
  async fn() {
    const topics = { input: await newTopic(), triggers: await newTopic(), deadLetters: await newTopic() };
    await alter(topics.triggers, "2000");
    const config = configOf(topics);
    await inDirectory(async (directory) => {
      for (let at = 0; at < MANY.length; at += 20) {
        const run = await KafkaRun.start(directory, config);
        await run.says(/\[0\]: /);
        await produce(topics.input, MANY.slice(at, at + 20).map((value) => ({ value })));
        // Each time elsewhere: before anything was told, or behind a few.
        await delay(3 * at);
        await run.kill();
      }
      const run = await KafkaRun.start(directory, config);
      await run.says(/\[0\]: /);
      await run.until(kafka, topics.triggers, 54);
      await run.until(kafka, topics.deadLetters, 6);
      match(await run.end(), /^0: /);
    });
    const told = seqsOf(await valuesOf(kafka, topics.triggers));
    const refused = seqsOf(await valuesOf(kafka, topics.deadLetters));
    deepStrictEqual([...told, ...refused].toSorted((a, b) => a - b), MANY.map((_, i) => i));
  },
});

Deno.test({
  name:
    "run: records without a key are said, once, where they are spread over partitions; heartbeats need none",
  ignore,
  async fn() {
    const beat = JSON.stringify({ kind: "HEARTBEAT", event_time_ms: NOW_MS });
    const table: readonly (readonly [partitions: number, keys: boolean, said: number])[] = [
      [2, false, 1],
      [2, true, 0],
      [1, false, 0],
    ];
    for (const [partitions, keys, said] of table) {
      const topics = {
        input: await newTopic({}, partitions),
        triggers: await newTopic({}, partitions),
        deadLetters: await newTopic(),
      };
      const lines = [0, 1, 2, 3].map((number) => transition(number, { device_id: `d${number}` }));
      const messages = lines.map((value, i) => ({ value, ...(keys ? { key: `d${i}` } : {}) }));
      await produce(topics.input, [{ value: beat }, { value: beat }, ...messages]);
      await inDirectory(async (directory) => {
        const run = await KafkaRun.start(directory, configOf(topics));
        await until(async () => {
          const all = Array.from(
            { length: partitions },
            (_, partition) => valuesOf(kafka, topics.triggers, { partition }),
          );
          return (await Promise.all(all)).flat().length === 4;
        }, "four triggers");
        const text = await run.end();
        strictEqual(text.match(/have no key/g)?.length ?? 0, said, text);
      });
    }
  },
});

function configOf(
  { input, triggers, deadLetters }: Record<"input" | "triggers" | "deadLetters", string>,
): unknown {
  return {
    kafka: { brokers: broker?.brokers },
    source: { type: "kafka", topic: input, group: `g-${input}` },
    sink: { type: "kafka", topic: triggers },
    dead_letters: { type: "kafka", topic: deadLetters },
    checkpoint: { path: `kafka:state-${input}` },
  };
}

async function alter(topic: string, bytes: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const configEntries = [{ name: "max.message.bytes", value: bytes }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
    });
  } finally {
    await admin.disconnect();
  }
}
