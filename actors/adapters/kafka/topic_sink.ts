/**
 * Triggers out to a whole topic, from a source that is none: of a file, a pipe, or HTTP. Each goes to the partition that
 * Kafka's default partitioner gives its device, so that a device's triggers stay in order.
 *
 * ```
 *   lines ─▶ by device ─┬─▶ partition 0: KafkaSink, its transactional id, its tail      position
 *                       ├─▶ …                                                         {"topic","offsets":[12,0,7]}
 *                       ╰─▶ partition n
 * ```
 *
 * Each partition is fenced, read back and written as where the source is a topic (kafka_sink.ts): that costs a producer a
 * partition, about 1 MiB and some 10 ms at the start. A `write` waits for all of them; a crash when some have theirs is
 * mended by reading all tails back, since what the others lack comes out again.
 *
 * How many partitions there are is looked up as it opens. A topic that
 *
 * - **has got more** since the checkpoint gives devices other partitions from then on, as to every producer, which is said.
 *   The new ones are read back from their start, since the checkpoint knows that they were not there;
 * - **has fewer** was made anew: refused;
 * - **is another one** than before: the old one's tails are read back, and writing goes on here.
 *
 * @module
 */
import type { Json } from "../../../lib/json.ts";
import { linesByPartition } from "../../../lib/lines_by_partition.ts";
import { type LineBatch, type RefusedLine, type Sink, UnavailableError } from "../../ports.ts";
import { waitForAll } from "../../wait_for_all.ts";
import { KafkaRefusedError, partitionCount } from "./kafka_client.ts";
import { KafkaSink, type KafkaSinkOptions } from "./kafka_sink.ts";
import { warnOfCompaction } from "./warn_of_compaction.ts";

/** Where triggers go. */
export interface TopicSinkOptions
  extends Pick<KafkaSinkOptions, "kafka" | "topic" | "cloudevents" | "notice"> {
  /** Of a partition. */
  readonly transactionalId: (partition: number) => string;
}

interface Position {
  readonly topic: string;
  /** Of each partition, behind the last record of ours. */
  readonly offsets: readonly number[];
}

/** See the module's header. */
export class TopicSink implements Sink {
  readonly name: string;
  readonly readable: boolean = true;

  readonly #options: TopicSinkOptions;
  /** One a partition; behind those any that are only read back. */
  #sinks: readonly KafkaSink[] = [];
  #partitions = 0;

  constructor(options: TopicSinkOptions) {
    this.#options = options;
    this.name = options.topic;
  }

  /**
   * Takes all partitions over.
   *
   * @throws {KafkaRefusedError} where there is no such topic, or it is not the one that the checkpoint knows
   * @throws {UnavailableError} where the broker can't be reached
   */
  async open(json: Json | null): Promise<void> {
    const { kafka, topic, notice } = this.#options;
    const known = json === null ? null : parsePosition(json);
    const count = this.#partitions = await this.#count();
    const knownCount = known?.offsets.length ?? count;
    const hasMoved = known !== null && known.topic !== topic;
    if (!hasMoved && knownCount > count) {
      throw new KafkaRefusedError(
        `Cannot go on writing to topic ${topic}: it has ${count} partitions, and the checkpoint knows ${knownCount}. It ` +
          "was made anew: give another topic, or begin afresh with another state",
      );
    }
    this.#sinks = Array.from({ length: Math.max(count, knownCount) }, (_, i) => this.#sinkOf(i));
    const begins = (i: number): Json => hasMoved ? null : { topic, partition: i, offset: 0 };
    const placeOf = (i: number): Json => known === null ? null : placeIn(known, i) ?? begins(i);
    await waitForAll(this.#sinks.map((sink, i) => sink.open(placeOf(i))));
    if (!hasMoved && knownCount < count) {
      notice(
        `Topic ${topic} has got more partitions, ${count} and no longer ${knownCount}: from here on the triggers of most ` +
          "devices go to another one than before",
      );
    }
    await warnOfCompaction(kafka, { topic, notice });
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    for (const sink of this.#sinks) yield* sink.readBack();
  }

  async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    const writes = [...linesByPartition(lines, this.#partitions)].map(([partition, some]) =>
      (this.#sinks[partition] as KafkaSink).write(some, refused)
    );
    await waitForAll(writes);
  }

  async flush(): Promise<Json> {
    const places = await waitForAll(this.#sinks.slice(0, this.#partitions).map((sink) => sink.flush()));
    return {
      topic: this.#options.topic,
      offsets: places.map((place) => (place as { readonly offset: number }).offset),
    };
  }

  close(): void {
    for (const sink of this.#sinks) sink.close();
  }

  /** Of an old topic that had more partitions than this one, what is too many is read back by one that writes nothing. */
  #sinkOf(number: number): KafkaSink {
    const { transactionalId, ...options } = this.#options;
    return new KafkaSink({
      ...options,
      partition: number % this.#partitions,
      transactionalId: transactionalId(number),
    });
  }

  async #count(): Promise<number> {
    const { kafka, topic } = this.#options;
    const count = await partitionCount(kafka, topic);
    if (count > 0) return count;
    throw new UnavailableError(`Cannot write to topic ${topic}: no broker has told of its partitions yet`);
  }
}

/** The position of one partition, as its own sink has it; null where there was no such partition. */
function placeIn({ topic, offsets }: Position, partition: number): Json {
  const offset = offsets[partition];
  return offset === undefined ? null : { topic, partition, offset };
}

/** @throws {KafkaRefusedError} where it is no position of a topic */
function parsePosition(json: Json): Position {
  if (typeof json === "object" && json !== null && "topic" in json) {
    const { topic, offsets } = json;
    if (typeof topic === "string" && Array.isArray(offsets) && offsets.every(isCount)) {
      return { topic, offsets };
    }
  }
  throw new KafkaRefusedError(
    `Cannot go on writing: the checkpoint's position is none of a Kafka topic, got ${
      JSON.stringify(json)
    }. ` +
      "Set the output back to what it was, or begin afresh with another state",
  );
}

function isCount(value: Json): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
