/**
 * One partition of an output topic, as both Kafka sinks use it: fenced, read back from a checkpoint's position, written
 * to in transactions.
 *
 * ```
 *   open:  is the partition there? ─▶ fence ─▶ where does it end? ─▶ what of it is behind the checkpoint's position?
 *
 *   topic | known to the checkpoint | written since, by who is fenced now | what comes
 *                                   ^ position.offset                     ^ the end, settled
 * ```
 *
 * A position is `{"topic","partition","offset"}`, behind the last record of ours; a marker of a transaction may lie there.
 * What can be wrong with one:
 *
 * - **Another topic or partition** than now: the output was moved, or the topic has got more partitions. What lies behind
 *   the position in the old place was told all the same, so it is read back, and writing goes on in the new place. Where
 *   the old one is gone nothing is read back, and a notice says that triggers may come again, with the same ids.
 * - **Behind the end**: what the checkpoint knows as written is gone (the topic was made anew, or brokers lost data).
 *   Going on would keep silent about it, and what was written since could lie anywhere: refused.
 * - **Before the start**: retention has taken what was written then. If anything of that was behind the checkpoint, it
 *   comes again, with the same ids, to readers who can't have the first copy any more: a notice, and on from the start.
 *
 * A fence waits for nobody's data, so the end is waited for ({@link PartitionReader.settledEnd}). Other writers may share
 * the partition; what they write is read back as well and is the caller's to tell apart.
 *
 * After a long quiet of ours that could be without bound. So each minute, where a position is asked for, the end is looked
 * up beside the work, and a later position is there: what of ours was written before it is told, what will be comes behind.
 *
 * Transactions cost 3 to 6 ms each however small, so after one has begun the next small one waits until `PACE_MS` have
 * passed: what comes meanwhile gathers where it comes from. A first line after a quiet time never waits.
 *
 * A record that is larger than the topic takes, alone, is refused, and the others are written: it would be refused again
 * after every restart, and nothing behind it would ever come.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { setTimeout as delay } from "node:timers/promises";
import { assert } from "../../../lib/assert.ts";
import type { Json } from "../../../lib/json.ts";
import { FencedWriter, type WriteMessage, type Written } from "./fenced_writer.ts";
import { KafkaRefusedError, partitionCount } from "./kafka_client.ts";
import { isDenied, sortKafkaFailure } from "./kafka_failure.ts";
import { PartitionReader, type ReadMessage } from "./partition_reader.ts";

/** How far the beginnings of small transactions are apart, in ms. */
const PACE_MS = 50;
/** A write of this many records doesn't wait: by then a transaction costs next to nothing. */
const PACE_RECORDS = 500;
/** How long nothing of ours may be written before the position moves on behind what others have, in ms. */
const LOOK_MS = 60_000;

/** Where to write. */
export interface OutputPartitionOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  /** The partition to write to, of so many; null where the topic has too few. */
  readonly partition: (count: number) => number | null;
  /** What is in it, for messages: `triggers`. */
  readonly content: string;
  readonly transactionalId: string;
  readonly notice: (message: string) => void;
  /** {@link LOOK_MS} where not given. */
  readonly lookMs?: number;
}

/** Told of a record that can't be written: its number among those of the call, and why. */
export type Refused = (number: number, why: string) => void;

/** A record to write here. */
export type OutputMessage = Pick<WriteMessage, "key" | "value" | "headers">;

interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** A run of offsets of some partition. */
interface Tail extends Position {
  readonly end: number;
}

/** See the module's header. */
export class OutputPartition {
  readonly #options: OutputPartitionOptions;
  #writer: FencedWriter | null = null;
  #partition = 0;
  #offset = 0;
  #looking: Promise<void> | null = null;
  /** Where it ended when that was looked at last. */
  #endSeen = 0;
  #tail: Tail | null = null;
  #pacedMs = -Infinity;
  /** When the end was looked at, or something was written: whichever was last. */
  #lookedMs = performance.now();

  constructor(options: OutputPartitionOptions) {
    this.#options = options;
  }

  /**
   * Takes the partition over, from whoever had the transactional id.
   *
   * @param json null where nothing is known of what was written
   * @throws {KafkaRefusedError} where the topic has no such partition, or ends before the position
   * @throws {UnavailableError} where the broker can't be reached, or another writer's transaction does not end
   */
  async open(json: Json | null): Promise<void> {
    assert(this.#writer === null, "an output is opened once");
    const { kafka, topic, transactionalId, notice } = this.#options;
    const known = json === null ? null : parsePosition(json);
    const count = await this.#count();
    const partition = this.#options.partition(count);
    if (partition === null) throw this.#tooFew(count);
    this.#partition = partition;
    this.#writer = new FencedWriter(kafka, transactionalId);
    await this.#writer.open();
    const here = await this.#bounds(topic, partition);
    this.#offset = here.end;
    if (known === null) return;
    if (known.topic !== topic || known.partition !== partition) {
      notice(
        `The ${this.#options.content} went to topic ${known.topic}, partition ${known.partition}, before; ` +
          `from here on it is topic ${topic}, partition ${partition}`,
      );
      this.#tail = await this.#movedTail(known);
      return;
    }
    if (known.offset > here.end) throw this.#tooShort(known, here.end);
    this.#tail = this.#tailFrom(known, here);
  }

  /** What lies behind the position that `open` was given: committed records, whoever wrote them. */
  async *readBack(): AsyncIterable<readonly ReadMessage[]> {
    const tail = this.#tail;
    if (tail === null || tail.offset >= tail.end) return;
    const reader = await PartitionReader.connect(this.#options.kafka, tail.topic, tail.partition);
    try {
      yield* reader.read(tail.offset, tail.end);
    } finally {
      await reader.close();
    }
  }

  /**
   * Writes the records; they are committed when this resolves.
   *
   * @param refused is told of those that are larger than the topic takes, by their number, after the others were committed;
   *   where it is null they end the writer
   * @throws {FencedError} where another owner has taken over
   * @throws {KafkaRefusedError} where a record is too large, and nobody is told
   * @throws {UnavailableError} where it failed; whether they were written is unknown then
   */
  async write(messages: readonly OutputMessage[], refused: Refused | null): Promise<void> {
    const { topic } = this.#options;
    const partition = this.#partition;
    for (let at = 0; at < messages.length;) {
      const rest = messages.slice(at).map((message) => ({ ...message, topic, partition }));
      at += await this.#transact(rest, refused === null ? null : (i, why) => refused(at + i, why));
    }
  }

  /** Writes as many of the records as one transaction takes; returns how many that were. */
  async #transact(messages: readonly WriteMessage[], refused: Refused | null): Promise<number> {
    const writer = this.#writer;
    assert(writer !== null, "an output is opened before it is written to");
    await this.#pace(messages.length);
    const written: Written = refused === null
      ? { taken: messages.length, refused: new Map(), ends: await writer.write(messages) }
      : await writer.writeWhatFits(messages);
    const count = written.taken - written.refused.size;
    if (count > 0) {
      const end = written.ends.get(`${this.#options.topic}/${this.#partition}`);
      assert(end !== undefined && end >= this.#offset + count, "what was written lies behind the rest");
      this.#offset = end;
      this.#lookedMs = performance.now();
    }
    for (const [number, why] of written.refused) refused?.(number, why);
    return written.taken;
  }

  async #pace(records: number): Promise<void> {
    if (records < PACE_RECORDS) {
      const waitMs = this.#pacedMs + PACE_MS - performance.now();
      if (waitMs > 0) await delay(waitMs);
    }
    this.#pacedMs = performance.now();
  }

  /** A position behind the last record that was written; nothing is being written meanwhile. */
  position(): Json {
    if (this.#endSeen > this.#offset) this.#offset = this.#endSeen;
    this.#look();
    return { topic: this.#options.topic, partition: this.#partition, offset: this.#offset };
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#writer?.close();
    await this.#looking;
  }

  /** Learns the end, some time, for a position to come. */
  #look(): void {
    const { kafka, topic, lookMs = LOOK_MS } = this.#options;
    if (this.#looking !== null || performance.now() - this.#lookedMs < lookMs) return;
    this.#lookedMs = performance.now();
    const look = async (): Promise<void> => {
      const reader = await PartitionReader.connect(kafka, topic, this.#partition);
      try {
        this.#endSeen = (await reader.bounds()).end;
      } finally {
        await reader.close();
      }
    };
    // Where it fails the position is only farther back.
    this.#looking = look().catch(() => {}).then(() => {
      this.#looking = null;
    });
  }

  async #count(): Promise<number> {
    const { kafka, topic } = this.#options;
    try {
      return await partitionCount(kafka, topic);
    } catch (error) {
      throw sortKafkaFailure(error, `learn how many partitions topic ${topic} has`);
    }
  }

  async #bounds(topic: string, partition: number): Promise<{ start: number; end: number }> {
    const reader = await PartitionReader.connect(this.#options.kafka, topic, partition);
    try {
      const end = await reader.settledEnd(this.#options.notice);
      return { start: (await reader.bounds()).start, end };
    } finally {
      await reader.close();
    }
  }

  #tailFrom(known: Position, { start, end }: { start: number; end: number }): Tail {
    if (known.offset < start) {
      this.#options.notice(
        `Topic ${known.topic}, partition ${known.partition}, begins at offset ${start} by now, and the checkpoint knows ` +
          `what lies before ${known.offset}: ${this.#options.content} that were written between, and that retention has ` +
          "taken, may come again with the same ids",
      );
    }
    return { ...known, offset: Math.max(known.offset, start), end };
  }

  /** The old place's tail; null where that is gone. */
  async #movedTail(known: Position): Promise<Tail | null> {
    const { notice, content } = this.#options;
    const again = `${content} written there since the checkpoint may come again with the same ids`;
    try {
      const bounds = await this.#bounds(known.topic, known.partition);
      if (known.offset <= bounds.end) return this.#tailFrom(known, bounds);
      notice(
        `Topic ${known.topic}, partition ${known.partition}, ends before the checkpoint's offset: ${again}`,
      );
    } catch (error) {
      // A right can be granted, and then it is read back.
      if (!(error instanceof KafkaRefusedError) || isDenied(error)) throw error;
      notice(`${error.message}: ${again}`);
    }
    return null;
  }

  #tooFew(count: number): Error {
    const { topic, content } = this.#options;
    return new KafkaRefusedError(
      `Cannot write ${content} to topic ${topic}: it has ${count} partitions, and needs as many as the source topic ` +
        "has. Add partitions to it",
    );
  }

  #tooShort({ topic, partition, offset }: Position, end: number): Error {
    return new KafkaRefusedError(
      `Cannot go on writing to topic ${topic}: partition ${partition} ends at offset ${end}, and the checkpoint knows ` +
        `${offset}. It was made anew, or has lost records: give another topic, or begin afresh with another state`,
    );
  }
}

/** @throws {KafkaRefusedError} where it is no position of a topic */
function parsePosition(json: Json): Position {
  if (typeof json === "object" && json !== null && "topic" in json) {
    const { topic, partition, offset } = json;
    if (typeof topic === "string" && isCount(partition) && isCount(offset)) {
      return { topic, partition, offset };
    }
  }
  throw new KafkaRefusedError(
    `Cannot go on writing: the checkpoint's position is none of a Kafka topic, got ${
      JSON.stringify(json)
    }. ` +
      "Set the output back to what it was, or begin afresh with another state",
  );
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
