/**
 * Looks up records of the source's topic by their offsets: a dead letter has its record's bytes, but not the time at which
 * the pipeline first saw it, which is the record's timestamp.
 *
 * A few ms each, and one connection for each partition. What retention or compaction has taken is not known, and neither
 * is what has other bytes by now: the topic was made anew, or the dead letter was mended.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { equalBytes } from "../../../lib/bytes.ts";
import { PartitionReader } from "./partition_reader.ts";

/** A fetch brings a whole batch at least: more than the one record is of no use. */
const FETCH_BYTES = 1;

/** Where a record was, and what. */
export interface SourceRecord {
  readonly partition: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

interface OpenPartition {
  readonly reader: PartitionReader;
  readonly start: number;
  readonly end: number;
}

/** See the module's header. */
export class SourceRecords {
  readonly #kafka: Kafka;
  readonly #topic: string;
  readonly #partitions = new Map<number, OpenPartition>();

  constructor(kafka: Kafka, topic: string) {
    this.#kafka = kafka;
    this.#topic = topic;
  }

  /**
   * A record's timestamp, ms since the epoch; null where it is not known.
   *
   * @throws {UnavailableError} where the broker doesn't answer
   */
  async timestampMs({ partition, offset, bytes }: SourceRecord): Promise<number | null> {
    const { reader, start, end } = await this.#open(partition);
    if (offset < start || offset >= end) return null;
    for await (const messages of reader.read(offset, offset + 1, FETCH_BYTES)) {
      for (const { value, timestampMs } of messages) {
        if (value !== null && timestampMs >= 0 && equalBytes(value, bytes)) return timestampMs;
      }
    }
    return null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#partitions.values()].map(({ reader }) => reader.close()));
    this.#partitions.clear();
  }

  async #open(partition: number): Promise<OpenPartition> {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const reader = await PartitionReader.connect(this.#kafka, this.#topic, partition);
    try {
      const opened = { reader, ...await reader.bounds() };
      this.#partitions.set(partition, opened);
      return opened;
    } catch (error) {
      await reader.close();
      throw error;
    }
  }
}
