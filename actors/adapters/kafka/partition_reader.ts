/**
 * Reads one partition of a topic from an offset to another, read committed, without a consumer group: what a restore
 * reads back of an output, and the state topic.
 *
 * ```
 *   start                      end (last stable offset)          high watermark
 *     |  data  M  data  M  data |  an open transaction …           |
 *     └──────── read ──────────┘   M: a marker of a transaction, an offset without a record
 * ```
 *
 * Offsets have gaps: markers, aborted records, records that compaction or a deletion took. So the reader goes on from
 * the end of the last *batch* it saw, and is done when it has come to `to`, not when it has seen a record there: a
 * partition that ends in a marker would never end otherwise. A batch that compaction has emptied shows nothing at all
 * (kafkajs drops it, with its length); over such ones it goes an offset at a time.
 *
 * A reader never mends itself: what fails is thrown, and a new one is made.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { setTimeout as delay } from "node:timers/promises";
import { assert } from "../../../lib/assert.ts";
import { UnavailableError } from "../../ports.ts";
import { committedMessages } from "./committed_messages.ts";
import { KafkaRefusedError } from "./kafka_client.ts";
import {
  type Broker,
  type Cluster,
  createCluster,
  EARLIEST,
  type FetchedPartition,
  LATEST,
  type RawMessage,
  READ_COMMITTED,
  READ_UNCOMMITTED,
} from "./kafka_cluster.ts";
import { sortKafkaFailure } from "./kafka_failure.ts";

/** Bytes of one fetch. */
const FETCH_BYTES_MAX = 4 << 20;
/** How long a broker waits for data before it answers that there is none, in ms. */
const FETCH_WAIT_MS = 100;
/** Empty answers in a row, where there should be data, before it gives up. */
const EMPTY_FETCHES_MAX = 50;
/** The longest pause between two looks at a partition's end, in ms. */
const SETTLE_PAUSE_MS_MAX = 250;
/**
 * How long {@link PartitionReader.settledEnd} waits for other writers' transactions, in ms. One that a dead process left
 * open is aborted after its timeout (15 s of ours) and up to 10 s more.
 */
const SETTLE_MS_MAX = 40_000;
/** After this long it says what it waits for, in ms. */
const SETTLE_NOTICE_MS = 2_000;

/** A committed record. Its bytes are the reader's until the next piece is asked for. */
export interface ReadMessage {
  /** Its place in the partition. */
  readonly offset: number;
  /** Milliseconds since the epoch, as the producer or (where the topic says so) the broker has it. */
  readonly timestampMs: number;
  readonly key: Uint8Array | null;
  /** Null for a tombstone. */
  readonly value: Uint8Array | null;
  /** By name; of several with one name the last. */
  readonly headers: ReadonlyMap<string, Uint8Array>;
}

/** See the module's header. */
export class PartitionReader {
  readonly #cluster: Cluster;
  readonly #broker: Broker;
  readonly #topic: string;
  readonly #partition: number;

  private constructor(cluster: Cluster, broker: Broker, topic: string, partition: number) {
    this.#cluster = cluster;
    this.#broker = broker;
    this.#topic = topic;
    this.#partition = partition;
  }

  /**
   * Connects to the partition's leader.
   *
   * @throws {KafkaRefusedError} where there is no such topic or partition, or it may not be read
   * @throws {UnavailableError} where the broker can't be reached
   */
  static async connect(kafka: Kafka, topic: string, partition: number): Promise<PartitionReader> {
    const cluster = createCluster(kafka);
    try {
      await cluster.connect();
      await cluster.addTargetTopic(topic);
      const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
      if (nodeId === undefined) throw new KafkaRefusedError(`Topic ${topic} has no partition ${partition}`);
      return new PartitionReader(cluster, await cluster.findBroker({ nodeId }), topic, partition);
    } catch (error) {
      await cluster.disconnect().catch(() => {});
      throw sortKafkaFailure(error, `read partition ${partition} of topic ${topic}`);
    }
  }

  /** The first offset that is there, and the last stable one: behind all that a read-committed reader is given. */
  async bounds(): Promise<{ readonly start: number; readonly end: number }> {
    return {
      start: await this.#offset(EARLIEST, READ_COMMITTED),
      end: await this.#offset(LATEST, READ_COMMITTED),
    };
  }

  /**
   * The end, waited for until it is behind everything that was in the partition when this was called.
   *
   * The last stable offset lags: by milliseconds after a transaction was completed, and for as long as *any* writer has an
   * older transaction open. What was committed behind that would not be read back, and so be written twice. An owner
   * asks for it after it has fenced the one before, whose open transaction is aborted by then.
   *
   * @param notice is told where that takes long
   * @throws {UnavailableError} where another writer's transaction does not end
   */
  async settledEnd(notice: (message: string) => void): Promise<number> {
    const written = await this.#offset(LATEST, READ_UNCOMMITTED);
    const startedMs = performance.now();
    let noticed = false;
    for (let pauseMs = 2;; pauseMs = Math.min(2 * pauseMs, SETTLE_PAUSE_MS_MAX)) {
      const end = await this.#offset(LATEST, READ_COMMITTED);
      if (end >= written) return end;
      const waitedMs = performance.now() - startedMs;
      const why =
        `another writer's transaction is open in partition ${this.#partition} of topic ${this.#topic}, ` +
        `at offset ${end}`;
      if (waitedMs > SETTLE_MS_MAX) {
        throw new UnavailableError(
          `Cannot read back what was written: ${why}, for ${SETTLE_MS_MAX / 1000} s by now`,
        );
      }
      if (waitedMs > SETTLE_NOTICE_MS && !noticed) {
        noticed = true;
        notice(`Waiting to read back what was written: ${why}`);
      }
      await delay(pauseMs);
    }
  }

  /**
   * The committed records with `from <= offset < to`, in order and in pieces, none of them empty.
   *
   * @param to is not behind the last stable offset, as {@link bounds} and {@link settledEnd} tell it
   * @param bytesMax of one fetch; a batch that is larger comes all the same, alone
   * @throws {UnavailableError} where records that were there are gone, or a fetch fails
   */
  async *read(
    from: number,
    to: number,
    bytesMax: number = FETCH_BYTES_MAX,
  ): AsyncIterable<readonly ReadMessage[]> {
    let emptyFetches = 0;
    for (let at = from; at < to;) {
      const fetched = await this.#fetch(at, bytesMax);
      if (fetched === null) continue;
      const next = endOfBatches(fetched.messages, at);
      const messages = committedMessages(fetched.messages, fetched.abortedTransactions)
        .filter(({ offset }) => Number(offset) >= at && Number(offset) < to)
        .map(toReadMessage);
      if (messages.length > 0) yield messages;
      if (next > at) {
        at = next;
        emptyFetches = 0;
      } else if (Number(fetched.lastStableOffset) > at) {
        // Nothing to see where something lies: a batch that compaction has emptied.
        at++;
      } else if (++emptyFetches === EMPTY_FETCHES_MAX) {
        throw new UnavailableError(
          `Cannot read partition ${this.#partition} of topic ${this.#topic}: it ends at offset ` +
            `${fetched.lastStableOffset}, and went on to ${to} before`,
        );
      }
    }
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#cluster.disconnect().catch(() => {});
  }

  /** Null where a quota is used up: the broker then answers for no partition at all, and makes the next request wait. */
  async #fetch(offset: number, maxBytes: number): Promise<FetchedPartition | null> {
    const partition = { partition: this.#partition, fetchOffset: String(offset), maxBytes };
    try {
      const { responses } = await this.#broker.fetch({
        isolationLevel: READ_COMMITTED,
        maxWaitTime: FETCH_WAIT_MS,
        minBytes: 1,
        maxBytes,
        topics: [{ topic: this.#topic, partitions: [partition] }],
      });
      return responses.length === 0 ? null : only(responses.flatMap(({ partitions }) => partitions));
    } catch (error) {
      throw this.#sort(
        error,
        `read partition ${this.#partition} of topic ${this.#topic} at offset ${offset}`,
      );
    }
  }

  async #offset(timestamp: string, isolationLevel: number): Promise<number> {
    try {
      const { responses } = await this.#broker.listOffsets({
        isolationLevel,
        topics: [{ topic: this.#topic, partitions: [{ partition: this.#partition, timestamp }] }],
      });
      return Number(only(responses.flatMap(({ partitions }) => partitions)).offset);
    } catch (error) {
      throw this.#sort(error, `learn where partition ${this.#partition} of topic ${this.#topic} ends`);
    }
  }

  /** The metadata had the partition and its leader: one that does not know it yet, or not any more, will. */
  #sort(error: unknown, doing: string): Error {
    const isUnknown = error instanceof Error && "type" in error &&
      error.type === "UNKNOWN_TOPIC_OR_PARTITION";
    if (!isUnknown) return sortKafkaFailure(error, doing);
    return new UnavailableError(`Cannot ${doing}: its leader does not know it yet`, { cause: error });
  }
}

/** Behind the last batch that was seen; `at` where none was. */
function endOfBatches(messages: readonly RawMessage[], at: number): number {
  const last = messages.at(-1);
  if (last === undefined) return at;
  const batch = last.batchContext;
  const end = batch === undefined ? Number(last.offset) : Number(batch.firstOffset) + batch.lastOffsetDelta;
  return Math.max(at, end + 1);
}

function toReadMessage({ offset, timestamp, key, value, headers = {} }: RawMessage): ReadMessage {
  const named = new Map<string, Uint8Array>();
  for (const [name, content] of Object.entries(headers)) {
    const last = Array.isArray(content) ? content.at(-1) as Uint8Array : content as Uint8Array | null;
    named.set(name, last ?? new Uint8Array(0));
  }
  return { offset: Number(offset), timestampMs: Number(timestamp), key, value, headers: named };
}

function only<T>(answers: readonly T[]): T {
  const answer = answers[0];
  assert(
    answer !== undefined && answers.length === 1,
    "a broker answers for the partition that was asked for",
  );
  return answer;
}
