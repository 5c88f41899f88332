/**
 * Topics of a real broker for the tests of `fencepost dead-letters`, and the processes that work over them.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { join } from "node:path";
import type { Kafka, Message } from "kafkajs";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { type Ended, killAtOnce, runFencepost, startFencepost, until } from "../support/fencepost_process.ts";
import type { KafkaBroker } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, readAll } from "../support/kafka_messages.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];

/** What is sent to the source's topic. */
export interface SentRecord {
  readonly value: string;
  readonly key?: string;
  readonly partition?: number;
  readonly timestampMs?: number;
}

/** What lies in a topic. */
export interface FoundRecord {
  readonly value: string;
  readonly key: string | null;
  readonly partition: number;
  readonly timestampMs: number;
}

/** A record that is kept as a dead letter. */
export interface KeptRecord {
  readonly record: string;
  readonly offset: number;
  readonly partition?: number;
  readonly source?: string;
  readonly reason?: string;
}

/** See the module's header. */
export class DeadLettersWorld {
  readonly source: string;
  readonly triggers: string;
  readonly deadLetters: string;
  readonly directory: string;

  readonly #broker: KafkaBroker;
  readonly #kafka: Kafka;
  readonly #file: string;

  private constructor(broker: KafkaBroker, directory: string, topics: readonly string[]) {
    const [source = "", triggers = "", deadLetters = ""] = topics;
    this.source = source;
    this.triggers = triggers;
    this.deadLetters = deadLetters;
    this.directory = directory;
    this.#broker = broker;
    this.#kafka = clientOf(broker.brokers);
    this.#file = join(directory, "kafka.json");
  }

  /** Makes topics: source and triggers with so many partitions, and dead letters with half as many. */
  static async make(
    broker: KafkaBroker,
    { partitions, directory }: { readonly partitions: number; readonly directory: string },
  ): Promise<DeadLettersWorld> {
    const topics: string[] = [];
    for (const count of [partitions, partitions, Math.ceil(partitions / 2)]) {
      topics.push(await broker.topic(count));
    }
    const world = new DeadLettersWorld(broker, directory, topics);
    await world.configure({});
    return world;
  }

  /** Writes the configuration, with more in it. */
  async configure(more: Readonly<Record<string, unknown>>): Promise<void> {
    const config = {
      deployment: this.source,
      kafka: { brokers: this.#broker.brokers },
      source: { type: "kafka", topic: this.source, group: this.source },
      sink: { type: "kafka", topic: this.triggers },
      dead_letters: { type: "kafka", topic: this.deadLetters },
      checkpoint: { path: join(this.directory, "state") },
      ...more,
    };
    await Deno.writeTextFile(this.#file, JSON.stringify(config));
  }

  /** Sends records to the source's topic, as its producers do. */
  async send(records: readonly SentRecord[]): Promise<void> {
    const messages = records.map(({ timestampMs = Date.now(), ...rest }) => ({
      ...rest,
      timestamp: String(timestampMs),
    }));
    await this.#produce(this.source, messages);
  }

  /** Keeps dead letters as `run` writes them, without a `run`. */
  async keep(...letters: readonly KeptRecord[]): Promise<void> {
    const at = formatTimestamp(Date.now() * 1000);
    const messages = letters.map(
      ({ record, offset, partition = 0, source = this.source, reason = "INVALID_KIND" }) => ({
        value: record,
        partition: 0,
        headers: {
          reason,
          detail: "odd",
          source_topic: source,
          source_partition: String(partition),
          source_offset: String(offset),
          at,
        },
      }),
    );
    await this.#produce(this.deadLetters, messages);
  }

  /** Puts something among the dead letters that is none. */
  async keepNoise(): Promise<void> {
    await this.#produce(this.deadLetters, [{ value: "noise", partition: 0 }]);
  }

  /** Runs until so many triggers and dead letters are there and the source is read, and stops it. */
  async runUntil(triggers: number, deadLetters: number): Promise<void> {
    const { child, ended } = startFencepost(["run", "--config", this.#file], { permissions: PERMISSIONS });
    let failure: unknown = null;
    try {
      await until(
        async () =>
          (await this.found(this.triggers)).length === triggers &&
          (await this.found(this.deadLetters)).length === deadLetters &&
          await this.#isRead(),
        `${triggers} triggers and ${deadLetters} dead letters`,
      );
      child.kill("SIGTERM");
    } catch (error) {
      failure = error;
      killAtOnce(child);
    }
    const { status, stderr } = await ended;
    equal(failure, null, `${failure}\n${stderr}`);
    equal(status, 0, stderr);
  }

  /** `fencepost dead-letters …` with the configuration. */
  async run(action: "list" | "replay", ...args: readonly string[]): Promise<Ended> {
    const words = ["dead-letters", action, "--config", this.#file, ...args];
    return await runFencepost(words, { permissions: PERMISSIONS });
  }

  /** What `list --json` says, but for the summary. */
  async listed(): Promise<Record<string, unknown>[]> {
    const { status, stdout, stderr } = await this.run("list", "--json");
    equal(status, 0, stderr);
    return stdout.trimEnd().split("\n").map((line) => JSON.parse(line)).slice(0, -1);
  }

  /** All committed records of a topic, partition by partition. */
  async found(topic: string): Promise<FoundRecord[]> {
    const found: FoundRecord[] = [];
    for (const { partition, low } of await this.#ends(topic)) {
      const from = Number(low);
      for (const { value, key, timestampMs } of await readAll(this.#kafka, topic, { partition, from })) {
        const text = key === null ? null : decoder.decode(key);
        found.push({ value: decoder.decode(value ?? undefined), key: text, partition, timestampMs });
      }
    }
    return found;
  }

  /** What the source's topic has got since. */
  async foundSince(before: readonly FoundRecord[]): Promise<FoundRecord[]> {
    const left = before.map((record) => JSON.stringify(record));
    return (await this.found(this.source)).filter((record) => {
      const at = left.indexOf(JSON.stringify(record));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  }

  async #produce(topic: string, messages: Message[]): Promise<void> {
    await otherProducer(this.#kafka, null, (producer) => producer.send({ topic, messages }));
  }

  async #ends(topic: string): Promise<{ partition: number; low: string; offset: string }[]> {
    const admin = this.#kafka.admin();
    await admin.connect();
    try {
      const ends = await admin.fetchTopicOffsets(topic);
      return ends.toSorted((one, other) => one.partition - other.partition);
    } finally {
      await admin.disconnect();
    }
  }

  async #isRead(): Promise<boolean> {
    const ends = await this.#ends(this.source);
    const admin = this.#kafka.admin();
    await admin.connect();
    try {
      const [committed] = await admin.fetchOffsets({ groupId: this.source, topics: [this.source] });
      return ends.every(({ partition, offset }) =>
        offset === "0" || committed?.partitions.find((of) => of.partition === partition)?.offset === offset
      );
    } finally {
      await admin.disconnect();
    }
  }
}

/** A record of an ENTER, or of what else is said. */
export function transition(
  device: string,
  atMs: number,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const event_time = new Date(atMs).toISOString();
  return JSON.stringify({ device_id: device, fence_id: "depot", kind: "ENTER", event_time, ...more });
}

/** Where Kafka's default partitioner sends a device. */
export function partitionOf(device: string, partitions: number): number {
  const bytes = encoder.encode(device);
  return toPartition(murmur2(bytes, 0, bytes.length), partitions);
}
