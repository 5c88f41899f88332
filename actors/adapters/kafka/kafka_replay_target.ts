/**
 * Sends records again to the source's topic: the same bytes, by an idempotent producer, acknowledged by all replicas.
 *
 * Where to and with which key: lib/replay_place.ts. The headers that a record had are not kept, and `run` reads none.
 *
 * **The timestamp is the one that the record had**, not the time of sending, since `run` takes it for the ingest time of
 * a record that has none of its own, and that is when the pipeline *first* saw it (SPEC 1). What hangs on it:
 *
 * - Ids expire by the highest ingest time of the partition, and `max_age` is counted from it. Of a log that is read
 *   behind the times, last year's for instance, a single record with the time of today would make it forget all of its
 *   ids and refuse all that follow as too old. A time that it has seen before moves nothing.
 * - `TIME_IN_FUTURE` is judged by it. A device's clock that was an hour ahead was wrong, and is an hour later.
 *
 * It is looked up at the source ({@link SourceRecords}). Where it is not there any more, the event time stands for it, but
 * for no later than now: that claims no more than the record says itself. Where there is no event time, what is sent can
 * only come back and moves no clock, so it is now.
 *
 * Two things to know. Where the topic has `message.timestamp.type=LogAppendTime` the broker's clock counts, here as for
 * every record. And retention goes by timestamps: a record that is older than `retention.ms` and alone in its segment may
 * be deleted before a consumer that is far behind has read it.
 *
 * No transaction: nothing here is decided together. A replay that breaks off has sent the first so many, and what is sent
 * once more by the next is known by its id. After a failure the producer is never used again (see fenced_writer.ts).
 *
 * @module
 */
import type { Kafka, Producer } from "kafkajs";
import type { StoredDeadLetter } from "../../../lib/dead_letter_line.ts";
import { type PlaceBy, replayPlace, sourceOffset, sourcePartition } from "../../../lib/replay_place.ts";
import type { Format } from "../../../lib/format/format.ts";
import { hasTimes, recordOutcomes } from "../../../lib/format/record_outcomes.ts";
import type { ReplayTarget } from "../../replay_target.ts";
import { KafkaRefusedError, partitionCount } from "./kafka_client.ts";
import { sortKafkaFailure } from "./kafka_failure.ts";
import { cutIntoSends, type Message, type WriteMessage } from "./partition_sends.ts";
import { SourceRecords } from "./source_records.ts";

/** Records that are kept until they are sent. */
const BATCH_RECORDS = 500;
/** Bytes of one send: far below what a topic takes by default, since nothing is gained by more. */
const SEND_BYTES = 100_000;
const US_PER_MS = 1000;

/** See the module's header. */
export interface KafkaReplayOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly placeBy: PlaceBy;
  /** What the topic's records are. */
  readonly format: Pick<Format, "mapping">;
  /** The wall clock, µs since the epoch. */
  readonly wallUs: number;
}

/** See the module's header. */
export class KafkaReplayTarget implements ReplayTarget {
  readonly name: string;

  readonly #options: KafkaReplayOptions;
  readonly #partitions: number;
  readonly #originals: SourceRecords;
  readonly #outcomes: ReturnType<typeof recordOutcomes>;
  #producer: Producer | null = null;
  #messages: WriteMessage[] = [];

  private constructor(options: KafkaReplayOptions, partitions: number) {
    this.name = `topic ${options.topic}`;
    this.#options = options;
    this.#partitions = partitions;
    this.#outcomes = recordOutcomes(options.format);
    this.#originals = new SourceRecords(options.kafka, options.topic);
  }

  /**
   * Looks at the topic.
   *
   * @throws {KafkaRefusedError} where there is none
   * @throws {UnavailableError} where the broker can't be reached
   */
  static async connect(options: KafkaReplayOptions): Promise<KafkaReplayTarget> {
    return new KafkaReplayTarget(options, await partitionCount(options.kafka, options.topic));
  }

  refusal(letter: StoredDeadLetter): string | null {
    const { topic } = this.#options;
    if (letter.source !== topic) return `It came from ${letter.source}, and topic ${topic} is another source`;
    const place = this.#place(letter);
    return "why" in place ? place.why : null;
  }

  async firstSeenUs(letter: StoredDeadLetter): Promise<number> {
    const { topic, wallUs } = this.#options;
    const partition = sourcePartition(letter);
    const offset = sourceOffset(letter);
    if (letter.source === topic && partition !== null && partition < this.#partitions && offset !== null) {
      const timestampMs = await this.#originals.timestampMs({ partition, offset, bytes: letter.record });
      if (timestampMs !== null) return timestampMs * US_PER_MS;
    }
    for (const decoded of this.#outcomes(letter.record, null)) {
      if (hasTimes(decoded)) return Math.max(0, Math.min(decoded.transition.eventTimeUs, wallUs));
    }
    return wallUs;
  }

  async open(): Promise<void> {
    const { kafka, topic } = this.#options;
    const producer = kafka.producer({
      idempotent: true,
      allowAutoTopicCreation: false,
      // Every record says its partition.
      createPartitioner: () => ({ message }) => message.partition as number,
    });
    this.#producer = producer;
    try {
      await producer.connect();
    } catch (error) {
      throw sortKafkaFailure(error, `write to topic ${topic}`);
    }
  }

  async send(letter: StoredDeadLetter, firstSeenUs: number): Promise<void> {
    const place = this.#place(letter);
    if ("why" in place) throw new KafkaRefusedError(place.why);
    const timestampMs = Math.floor(firstSeenUs / US_PER_MS);
    const { topic } = this.#options;
    this.#messages.push({ topic, ...place, value: letter.record, timestampMs });
    if (this.#messages.length >= BATCH_RECORDS) await this.flush();
  }

  async flush(): Promise<void> {
    const messages = this.#messages;
    this.#messages = [];
    for (const { partition, pieces } of cutIntoSends(messages, SEND_BYTES)) {
      for (const piece of pieces) await this.#write(partition, piece);
    }
  }

  close(): void {
    // Neither rejects, and nobody waits for them: what was flushed is acknowledged.
    void this.#producer?.disconnect().catch(() => {});
    void this.#originals.close();
  }

  #place(letter: StoredDeadLetter): ReturnType<typeof replayPlace> {
    const { placeBy, format } = this.#options;
    return replayPlace(letter, {
      partitions: this.#partitions,
      by: placeBy,
      isForeign: format.mapping !== null,
    });
  }

  async #write(partition: number, messages: Message[]): Promise<void> {
    const { topic } = this.#options;
    try {
      const answers = await this.#producer?.send({ topic, messages, acks: -1 }) ?? [];
      if (answers.length === 1 && Number(answers[0]?.baseOffset ?? NaN) >= 0) return;
    } catch (error) {
      throw sortKafkaFailure(error, `write to topic ${topic}`);
    }
    // kafkajs leaves out, without a word, what goes to a partition that it does not know.
    throw new KafkaRefusedError(
      `Cannot write to topic ${topic}: nobody has answered for partition ${partition}`,
    );
  }
}
