/**
 * What a source asks about a topic's log beside reading it: where each partition begins and ends, how far a group has
 * read it, and whether it is compacted.
 *
 * After a rebalance all partitions ask at once, and one answer holds for all of them; so those who ask while a question
 * is under way share the next one. Not that one: what it will answer may be older than the position that is to be
 * compared with it, and a position behind the log's end is refused for good.
 *
 * After a failure the connection is thrown away, and the next question makes a new one.
 *
 * @module
 */
import { type Admin, ConfigResourceTypes, type Kafka } from "kafkajs";
import { UnavailableError } from "../../ports.ts";
import { explainKafkaFailure } from "./kafka_client.ts";
import type { LogBounds } from "./log_cursor.ts";
import { PartitionReader, type ReadMessage } from "./partition_reader.ts";

/** A fetch brings a whole batch at least: more than the one record is of no use. */
const RECORD_FETCH_BYTES = 1;

type BoundsByPartition = ReadonlyMap<number, LogBounds>;

/** See the module's header. */
export class TopicLog {
  readonly #kafka: Kafka;
  readonly #topic: string;
  #admin: Promise<Admin> | null = null;
  #asking: Promise<unknown> = Promise.resolve();
  #next: Promise<BoundsByPartition> | null = null;

  constructor(kafka: Kafka, topic: string) {
    this.#kafka = kafka;
    this.#topic = topic;
  }

  /**
   * Where a partition's log begins and ends now.
   *
   * @throws {UnavailableError} where the broker doesn't answer, or does not know the partition yet. Not even a refusal is
   *   final here: the member that asks has joined, so it had the rights, and if they are gone the group will say so
   */
  async bounds(partition: number): Promise<LogBounds> {
    this.#next ??= this.#asking.then(() => this.#ask());
    const bounds = (await this.#next).get(partition);
    if (bounds !== undefined) return bounds;
    throw new UnavailableError(
      `Cannot read partition ${partition} of ${this.#topic}: the broker does not know it`,
    );
  }

  /**
   * The record at an offset before the log's end; null where there is none that may be seen.
   *
   * @throws {UnavailableError} where the broker doesn't answer
   */
  async recordAt(partition: number, offset: number): Promise<ReadMessage | null> {
    const reader = await PartitionReader.connect(this.#kafka, this.#topic, partition);
    try {
      for await (const messages of reader.read(offset, offset + 1, RECORD_FETCH_BYTES)) {
        return messages[0] ?? null;
      }
      return null;
    } finally {
      await reader.close();
    }
  }

  /**
   * Where the group has said that it has read a partition to; null where it has not.
   *
   * @throws {UnavailableError} where the broker doesn't answer
   */
  async committed(group: string, partition: number): Promise<number | null> {
    try {
      const admin = await this.#connected();
      const topics = await admin.fetchOffsets({ groupId: group, topics: [this.#topic] });
      const answer = topics[0]?.partitions.find((of) => of.partition === partition);
      return answer === undefined || Number(answer.offset) < 0 ? null : Number(answer.offset);
    } catch (error) {
      this.#forget();
      const { message } = explainKafkaFailure(error, `ask for the offsets that group ${group} has committed`);
      throw new UnavailableError(message, { cause: error });
    }
  }

  /** Whether the broker may take records out of the middle of the log; null where it doesn't tell: that needs a right. */
  async isCompacted(): Promise<boolean | null> {
    const resource = { type: ConfigResourceTypes.TOPIC, name: this.#topic, configNames: ["cleanup.policy"] };
    try {
      const admin = await this.#connected();
      const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
      const policy = resources[0]?.configEntries.find(({ configName }) => configName === "cleanup.policy");
      return policy?.configValue.includes("compact") ?? null;
    } catch {
      this.#forget();
      return null;
    }
  }

  close(): void {
    this.#forget();
  }

  #ask(): Promise<BoundsByPartition> {
    this.#next = null;
    const asked = this.#askNow();
    this.#asking = asked.catch(() => {});
    return asked;
  }

  async #askNow(): Promise<BoundsByPartition> {
    try {
      const admin = await this.#connected();
      const offsets = await admin.fetchTopicOffsets(this.#topic);
      return new Map(
        offsets.map(({ partition, low, high }) => [partition, { start: Number(low), end: Number(high) }]),
      );
    } catch (error) {
      this.#forget();
      const { message } = explainKafkaFailure(error, `ask for the offsets of ${this.#topic}`);
      throw new UnavailableError(message, { cause: error });
    }
  }

  #connected(): Promise<Admin> {
    this.#admin ??= this.#connect();
    return this.#admin;
  }

  async #connect(): Promise<Admin> {
    const admin = this.#kafka.admin();
    await admin.connect();
    return admin;
  }

  #forget(): void {
    const forgotten = this.#admin;
    this.#admin = null;
    // It may not have connected, or be gone already.
    forgotten?.then((admin) => admin.disconnect()).catch(() => {});
  }
}
