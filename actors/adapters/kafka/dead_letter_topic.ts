/**
 * Reads the dead letters out of their topic: read committed, all partitions, each as far as it went when it was opened.
 *
 * Without that end a replay that runs beside `fencepost run` would send what comes back again and again.
 *
 * A record's dead letter is handed over once, should it be there twice: a process may have written it when its checkpoint
 * was lost. It is known by its record's topic, partition, offset (a refused trigger by its id) *and content*, since a source topic that was made anew
 * counts its offsets from 0 again. Costs some 50 bytes a dead letter.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { murmur2 } from "../../../lib/murmur2.ts";
import type { DeadLetterLog, KeptLine } from "../../dead_letter_log.ts";
import { partitionCount } from "./kafka_client.ts";
import { readDeadLetter } from "./kafka_dead_letters.ts";
import { PartitionReader, type ReadMessage } from "./partition_reader.ts";

/**
 * The topic's partitions, in their order.
 *
 * @throws {KafkaRefusedError} where there is no such topic, or it may not be read
 * @throws {UnavailableError} where the broker can't be reached
 */
export async function openDeadLetterTopic(kafka: Kafka, topic: string): Promise<DeadLetterLog[]> {
  const logs: DeadLetterLog[] = [];
  const seen = new Set<string>();
  const count = await partitionCount(kafka, topic);
  for (let partition = 0; partition < count; partition++) {
    // Connected again to be read: a topic may have more partitions than a process has sockets to spare.
    const reader = await PartitionReader.connect(kafka, topic, partition);
    try {
      logs.push(new DeadLetterPartition({ kafka, topic, partition, ...await reader.bounds(), seen }));
    } finally {
      await reader.close();
    }
  }
  return logs;
}

interface DeadLetterPartitionOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly partition: number;
  readonly start: number;
  readonly end: number;
  /** What was handed over, of all partitions: more of them later move a source partition's dead letters. */
  readonly seen: Set<string>;
}

/** One partition, between two offsets. */
class DeadLetterPartition implements DeadLetterLog {
  readonly name: string;
  readonly partition: number;

  readonly #options: DeadLetterPartitionOptions;

  constructor(options: DeadLetterPartitionOptions) {
    this.#options = options;
    this.name = options.topic;
    this.partition = options.partition;
  }

  async *lines(): AsyncGenerator<KeptLine> {
    const { kafka, topic, partition, start, end } = this.#options;
    if (start >= end) return;
    const reader = await PartitionReader.connect(kafka, topic, partition);
    try {
      for await (const messages of reader.read(start, end)) {
        for (const message of messages) {
          const line = this.#line(message);
          if (line !== null) yield line;
        }
      }
    } finally {
      await reader.close();
    }
  }

  close(): void {
    // A connection is held only while lines are read.
  }

  /** Null where it was handed over before. */
  #line(message: ReadMessage): KeptLine | null {
    const { offset: number, value } = message;
    const letter = readDeadLetter(message);
    if (letter === null || value === null) {
      return { number, bytes: null, damage: "has not the headers of one" };
    }
    const { topic, partition, place, line } = letter;
    const content = `${value.length} ${murmur2(value, 0, value.length)}`;
    const name = `${topic} ${partition} ${place} ${content}`;
    const { seen } = this.#options;
    if (seen.has(name)) return null;
    seen.add(name);
    return { number, bytes: line };
  }
}
