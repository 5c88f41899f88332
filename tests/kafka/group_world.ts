/**
 * A topic, a group and its members for each test of the consumer group.
 *
 * @module
 */
import { CompressionTypes, Kafka, logLevel, type Message } from "kafkajs";
import type { KafkaGroupLimits } from "../../actors/adapters/kafka/kafka_group.ts";
import type { KafkaBroker } from "../support/kafka_broker.ts";
import { clientOf } from "../support/kafka_messages.ts";
import { GroupLog, type HangingSockets, TestMember } from "./group_support.ts";

const LIMITS: Partial<KafkaGroupLimits> = { heartbeatIntervalMs: 200, sessionTimeoutMs: 6_000 };

/** What a test works with. */
export interface GroupWorld {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly group: string;
  readonly log: GroupLog;
  /** A new member, not started. Stopped at the end if it still runs. */
  readonly member: (limits?: Partial<KafkaGroupLimits>, client?: Kafka) => TestMember;
  /** A new member that has joined. */
  readonly started: (limits?: Partial<KafkaGroupLimits>, client?: Kafka) => Promise<TestMember>;
  /** A client whose connections can hang. */
  readonly hangingClient: (sockets: HangingSockets) => Kafka;
  /** Values `from`, `from + 1`… as keys and values, to each partition of the topic in turn. */
  readonly produce: (what: {
    readonly from?: number;
    readonly count: number;
    readonly partitions?: number;
    readonly compression?: CompressionTypes;
    /** What a key is. */
    readonly keyOf?: (value: number) => string;
  }) => Promise<void>;
  readonly withAdmin: <T>(use: (admin: ReturnType<Kafka["admin"]>) => Promise<T>) => Promise<T>;
}

/** Defines a test on a topic and a group of its own; ignored where there is no broker. */
export function groupTest(
  broker: KafkaBroker | null,
  name: string,
  topicOf: { readonly partitions: number; readonly configs?: Record<string, string> },
  fn: (world: GroupWorld) => Promise<void>,
): void {
  Deno.test({
    name: `KafkaGroup: ${name}`,
    ignore: broker === null,
    async fn() {
      if (broker === null) return;
      const topic = await broker.topic(topicOf.partitions, topicOf.configs);
      const members: TestMember[] = [];
      try {
        await fn(makeWorld(broker.brokers, topic, members));
      } finally {
        await Promise.all(members.map(({ group }) => group.stop()));
      }
    },
  });
}

function makeWorld(brokers: readonly string[], topic: string, members: TestMember[]): GroupWorld {
  const kafka = clientOf(brokers);
  const group = `group-of-${topic}`;
  const log = new GroupLog();
  const member: GroupWorld["member"] = (limits = {}, client = kafka) => {
    const made = new TestMember(log, { kafka: client, topic, group, limits: { ...LIMITS, ...limits } });
    members.push(made);
    return made;
  };
  return {
    kafka,
    topic,
    group,
    log,
    member,
    async started(limits, client) {
      const made = member(limits, client);
      await made.group.start();
      return made;
    },
    hangingClient: ({ factory }) =>
      new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, socketFactory: factory }),
    async produce({ from = 0, count, partitions = 1, compression = CompressionTypes.None, keyOf = String }) {
      const messages: Message[] = Array.from({ length: count }, (_, i) => ({
        partition: (from + i) % partitions,
        key: keyOf(from + i),
        value: String(from + i),
      }));
      // Idempotent: right after a topic is made one partition may have no leader yet, and what is sent again is all.
      const producer = kafka.producer({ idempotent: true, allowAutoTopicCreation: false });
      await producer.connect();
      try {
        await producer.send({ topic, messages, compression, acks: -1 });
      } finally {
        await producer.disconnect();
      }
    },
    async withAdmin(use) {
      const admin = kafka.admin();
      await admin.connect();
      try {
        return await use(admin);
      } finally {
        await admin.disconnect();
      }
    },
  };
}

/** The values from `from` to before `to`. */
export function numbers(from: number, to: number, step = 1): string[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => String(from + i * step));
}
