/**
 * The rights that a user needs: each one that is missing is named, and ends what needs it; those of the README are enough.
 *
 * @module
 */
import { fail, match, ok, strictEqual } from "node:assert/strict";
import type { Kafka } from "kafkajs";
import { createKafka, KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { KafkaDeadLetters } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import { KafkaGroup } from "../../actors/adapters/kafka/kafka_group.ts";
import { KafkaSink } from "../../actors/adapters/kafka/kafka_sink.ts";
import { KafkaStore } from "../../actors/adapters/kafka/kafka_store.ts";
import type { Sink } from "../../actors/ports.ts";
import { encodeDeadLetter } from "../../lib/dead_letter.ts";
import { afterAll } from "../support/after_all.ts";
import { otherProducer } from "../support/kafka_messages.ts";
import { AclBroker, type Right } from "./acl_broker.ts";

const acl = await AclBroker.start();
const ignore = acl === null;
const topic = await acl?.broker.topic(1) ?? "";
const stateTopic = await acl?.broker.topic(1, { "cleanup.policy": "compact" }) ?? "";

if (acl !== null) await produce(topic, ["{"]);

afterAll(async () => await acl?.broker.stop());

const encoder = new TextEncoder();
const AT_US = Date.UTC(2026, 10, 30, 20, 40, 0) * 1000;
const TRIGGER = encoder.encode(
  `${
    JSON.stringify({
      id: "0".repeat(32),
      kind: "ENTER",
      device_id: "d",
      fence_id: "f",
      event_time: "2026-11-30T20:40:00.123000Z",
    })
  }\n`,
);
const DEAD_LETTER = encodeDeadLetter({
  reason: "MALFORMED_JSON",
  detail: "Not JSON",
  source: "in",
  position: { partition: 0, offset: 0 },
  record: encoder.encode("{"),
}, AT_US);

const DENIED = "the user may not: grant";
const ON_TOPIC =
  `${DENIED} READ and DESCRIBE on topics that are read, WRITE, READ and DESCRIBE on those that are written ` +
  "(TOPIC_AUTHORIZATION_FAILED)";
const ON_ID =
  `${DENIED} WRITE and DESCRIBE on the transactional ids that begin with the deployment's name and a slash ` +
  "(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)";
const ON_GROUP = `${DENIED} READ on the group (GROUP_AUTHORIZATION_FAILED)`;

const TRANSACTIONS: readonly Right[] = [
  ["TRANSACTIONAL_ID", "dep-", "WRITE"],
  ["TRANSACTIONAL_ID", "dep-", "DESCRIBE"],
];
const READING: readonly Right[] = [
  ["TOPIC", topic, "READ"],
  ["TOPIC", topic, "DESCRIBE"],
  ["GROUP", "readers", "READ"],
];
const WRITING: readonly Right[] = [...rights(topic, "WRITE", "READ", "DESCRIBE"), ...TRANSACTIONS];
const STATE: readonly Right[] = [
  ...rights(stateTopic, "WRITE", "READ", "DESCRIBE", "DESCRIBE_CONFIGS"),
  ...TRANSACTIONS,
];

function rights(name: string, ...operations: Right[2][]): Right[] {
  return operations.map((operation) => ["TOPIC", name, operation]);
}

/** As somebody who may do all. */
async function produce(topic: string, values: readonly string[]): Promise<void> {
  await otherProducer((acl as AclBroker).kafka, null, async (producer) => {
    await producer.send({ topic, messages: values.map((value) => ({ value })) });
  });
}

function newId(): string {
  return `dep-${crypto.randomUUID()}`;
}

/** Writes a line, and reads it back as the next owner does. */
async function useSink(make: () => Sink, bytes: Uint8Array): Promise<void> {
  const first = make();
  const second = make();
  try {
    await first.open(null);
    const before = await first.flush();
    await first.write({ bytes, byteLength: bytes.length, count: 1 }, (_line, why) => fail(why));
    await second.open(before);
    let lines = 0;
    for await (const _line of second.readBack()) lines++;
    strictEqual(lines, 1);
  } finally {
    first.close();
    second.close();
  }
}

function useTriggers(kafka: Kafka): Promise<void> {
  const options = {
    kafka,
    topic,
    partition: 0,
    transactionalId: newId(),
    cloudevents: false,
    notice,
  } as const;
  return useSink(() => new KafkaSink(options), TRIGGER);
}

function useDeadLetters(kafka: Kafka): Promise<void> {
  const of = { sourceTopic: "in", sourcePartition: 0 };
  const options = { kafka, topic, ...of, transactionalId: newId(), notice };
  return useSink(() => new KafkaDeadLetters(options), DEAD_LETTER);
}

async function useState(kafka: Kafka, name = stateTopic): Promise<void> {
  const options = {
    kafka,
    topic: name,
    partition: 0,
    partitions: 1,
    split: newId(),
    transactionalId: newId(),
    notice,
  };
  const store = new KafkaStore(options);
  try {
    await store.open();
    await store.commit({ put: [], drop: [], manifest: encoder.encode("{}") });
  } finally {
    await store.close();
  }
  const next = new KafkaStore(options);
  try {
    strictEqual(new TextDecoder().decode(await next.open() ?? undefined), "{}");
  } finally {
    await next.close();
  }
}

/** Reads until something has come. */
async function useGroup(kafka: Kafka): Promise<void> {
  const done = Promise.withResolvers<void>();
  const group = new KafkaGroup({
    kafka,
    topic,
    group: "readers",
    notice,
    assigned: (source) => {
      const reading = source.open(null).then(() => source.read(new AbortController().signal));
      // Of a partition that is taken away again the group tells.
      reading.then(() => done.resolve(), () => {});
    },
    revoked: () => Promise.resolve(),
    failed: done.reject,
  });
  try {
    await group.start();
    await done.promise;
  } finally {
    await group.stop();
  }
}

function notice(): void {}

/** Does something as a new user with these rights. */
async function asUser(rights: readonly Right[], use: (kafka: Kafka) => Promise<void>): Promise<void> {
  const { config } = await (acl as AclBroker).user(rights);
  await use(await createKafka(config, { notice }));
}

async function failureOf(attempt: Promise<unknown>): Promise<Error> {
  return await attempt.then(() => new Error("It was not refused"), (error: Error) => error);
}

interface Case {
  readonly name: string;
  readonly use: (kafka: Kafka) => Promise<void>;
  readonly rights: readonly Right[];
  /** What goes on being refused without each of them; null where it may still do all. */
  readonly without: readonly (readonly [operation: readonly Right[2][], kind: Right[0], why: string])[];
}

const ALL_OF_TOPIC = ["WRITE", "READ", "DESCRIBE", "DESCRIBE_CONFIGS"] as const;
const OUTPUT: Case["without"] = [
  [["WRITE"], "TOPIC", ON_TOPIC],
  [["READ"], "TOPIC", ON_TOPIC],
  [ALL_OF_TOPIC, "TOPIC", ON_TOPIC],
  [["WRITE"], "TRANSACTIONAL_ID", ON_ID],
  [["WRITE", "DESCRIBE"], "TRANSACTIONAL_ID", ON_ID],
];
const CASES: readonly Case[] = [
  { name: "KafkaSink", use: useTriggers, rights: WRITING, without: OUTPUT },
  { name: "KafkaDeadLetters", use: useDeadLetters, rights: WRITING, without: OUTPUT },
  {
    name: "KafkaStore",
    use: useState,
    rights: STATE,
    without: [...OUTPUT, [
      ["DESCRIBE_CONFIGS"],
      "TOPIC",
      "whether it is compacted: grant DESCRIBE_CONFIGS on it",
    ]],
  },
  {
    name: "KafkaGroup",
    use: useGroup,
    rights: READING,
    without: [
      [["READ"], "TOPIC", ON_TOPIC],
      [["READ", "DESCRIBE"], "TOPIC", ON_TOPIC],
      [["READ"], "GROUP", ON_GROUP],
    ],
  },
];

for (const { name, use, rights, without } of CASES) {
  Deno.test({
    name: `${name}: has what it needs`,
    ignore,
    async fn() {
      await asUser(rights, use);
    },
  });
  for (const [operations, kind, why] of without) {
    Deno.test({
      name: `${name}: without ${operations.join(", ")} on ${kind} it is refused, and says what to grant`,
      ignore,
      async fn() {
        const left = rights.filter(([of, , operation]) => of !== kind || !operations.includes(operation));
        ok(left.length < rights.length);
        const error = await failureOf(asUser(left, use));
        ok(error instanceof KafkaRefusedError, `${error}`);
        ok(error.message.startsWith("Cannot ") && error.message.endsWith(why), error.message);
      },
    });
  }
}

Deno.test({
  name: "KafkaStore: a topic that it may not make is refused, with the right and the way to make it",
  ignore,
  async fn() {
    const granted = [...rights("not-there", ...ALL_OF_TOPIC), ...TRANSACTIONS];
    const error = await failureOf(asUser(granted, (kafka) => useState(kafka, "not-there")));
    ok(error instanceof KafkaRefusedError, `${error}`);
    match(
      error.message,
      /can't be made \(TOPIC_AUTHORIZATION_FAILED\)\. Grant CREATE on it, or make it yourself\. Make it: /,
    );
    await asUser([...granted, ["TOPIC", "not-there", "CREATE"]], (kafka) => useState(kafka, "not-there"));
  },
});

Deno.test({
  name:
    "KafkaSink: a topic that it wrote to before and may not read is refused, since a right can be granted",
  ignore,
  async fn() {
    const position = { topic: stateTopic, partition: 0, offset: 0 };
    const error = await failureOf(asUser(WRITING, async (kafka) => {
      const of = { topic, partition: 0, transactionalId: newId(), cloudevents: false } as const;
      const sink = new KafkaSink({ kafka, ...of, notice });
      try {
        await sink.open(position);
      } finally {
        sink.close();
      }
    }));
    ok(error instanceof KafkaRefusedError && error.message.includes(ON_TOPIC), error.message);
  },
});
