/**
 * Writes to Kafka as the one owner of a transactional id: each `write` is a transaction, all of it or nothing, and
 * whoever had the id before can write nothing from the moment on that `open` has returned.
 *
 * ```
 *   old owner   ── send ── stopped ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ wakes up: commit ─▶ FencedError, its records are aborted
 *   new owner                 open ─ epoch + 1 ── read back ── write ── write ──
 * ```
 *
 * What was measured, and why it is built so:
 *
 * - kafkajs takes the epoch, which is the fence, with its first transaction and not when it connects. So `open` begins one
 *   and aborts it; nothing but that goes to the broker. Where the owner before left a transaction open it takes a quarter
 *   of a second.
 * - After anything was rejected the producer is never used again, not even to abort. Its next batch could get the sequence
 *   numbers of one whose answer was lost: the broker would take it for that one and acknowledge it unwritten. And a commit
 *   that was rejected may have happened. A new writer, its fence and reading back answer both.
 * - A send goes to one partition at a time. Where one of several brokers fails kafkajs sends again to all that have not
 *   answered yet, also to those that are about to: with new sequence numbers, so twice.
 * - kafkajs leaves out, without a word, what goes to a partition that it does not know. So answers are counted.
 * - What a topic refuses for its size it looks at first: nothing of that send was written, nothing is unknown, and kafkajs
 *   takes its sequence numbers back. So several records are sent again in halves; and one alone, that the topic will never
 *   take, is left out where the caller can say what becomes of it, or else ends the writer.
 * - A write has less time than the broker gives the transaction. Otherwise the broker would abort it and raise the epoch,
 *   and what is only slow would look like another owner. (It still does where the process stood still for that long.)
 *
 * Not `idempotent: true`: a transaction is idempotent as it is, and the option only asks for a second producer id.
 *
 * @module
 */
import type { Kafka, Producer, Transaction } from "kafkajs";
import { assert } from "../../../lib/assert.ts";
import { FencedError, UnavailableError } from "../../ports.ts";
import { KafkaRefusedError, TRANSACTION_TIMEOUT_MS } from "./kafka_client.ts";
import { sortKafkaFailure } from "./kafka_failure.ts";
import { cutIntoSends, type Message, SEND_BYTES_MAX, sizeOf, type WriteMessage } from "./partition_sends.ts";

export type { WriteMessage } from "./partition_sends.ts";

/** How long one write may take, in ms. */
const WRITE_MS_MAX = 12_000;
/**
 * Refused records in one transaction at most, and how long it goes on to look for them, in ms: each is found among up to
 * 500 by halving, and a transaction has to end in time. The rest is the next one's.
 */
const REFUSED_MAX = 100;
const REFUSING_MS_MAX = 5_000;
/** How long `open` may take, in ms: a connection, and five tries of the fence with growing pauses. */
const OPEN_MS_MAX = 30_000;
/** How long `close` waits for answers that are under way, in ms. */
const CLOSE_MS_MAX = 1_000;

/**
 * A transaction's first send is refused until the broker has completed the one before, a few ms: kafkajs' default would
 * wait 300. With 40 retries it gives up at about the time a write has.
 */
const RETRY = { initialRetryTime: 5, multiplier: 1.5, maxRetryTime: 500, retries: 40 };

/** Answers that say that another producer has the id; 90 is PRODUCER_FENCED, which kafkajs has no name for. */
const FENCED_TYPES: readonly unknown[] = ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"];
const PRODUCER_FENCED_CODE = 90;

/** What has become of the records of a write: the first `taken` of them are written, or were refused. */
export interface Written {
  readonly taken: number;
  /** The numbers of those that were not written, since they are larger than their topic takes, and why. */
  readonly refused: ReadonlyMap<number, string>;
  /** For each `topic/partition` written to, the offset behind its last record. */
  readonly ends: ReadonlyMap<string, number>;
}

/** What is known of a transaction's records so far. */
interface Progress {
  taken: number;
  readonly refused: Map<number, string>;
  readonly ends: Map<string, number>;
  /** Whether a record that is too large is left out. */
  readonly leavesOut: boolean;
  readonly sinceMs: number;
}

/** See the module's header. */
export class FencedWriter {
  readonly #kafka: Kafka;
  readonly #transactionalId: string;
  #producer: Producer | null = null;
  /** Why nothing more is written. */
  #failure: Error | null = null;
  #writing = false;
  #closed: Promise<void> | null = null;
  /** Smaller once a topic has refused a send of several records for its size. */
  #sendBytesMax = SEND_BYTES_MAX;

  /** @param transactionalId is the owner's alone: two writers with one id fence each other */
  constructor(kafka: Kafka, transactionalId: string) {
    this.#kafka = kafka;
    this.#transactionalId = transactionalId;
  }

  /**
   * Connects, and fences whoever had the id before: what that one has not committed by now never will be.
   *
   * @throws {KafkaRefusedError} where the id may not be used
   * @throws {UnavailableError} where the broker can't be reached
   */
  async open(): Promise<void> {
    assert(this.#producer === null && this.#closed === null, "a writer is opened once");
    const producer = this.#kafka.producer({
      transactionalId: this.#transactionalId,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      retry: RETRY,
      // Every record says its partition.
      createPartitioner: () => ({ message }) => message.partition as number,
    });
    this.#producer = producer;
    const fenced = async (): Promise<void> => {
      await producer.connect();
      await (await producer.transaction()).abort();
    };
    await this.#attempt(fenced(), OPEN_MS_MAX, `take over as ${this.#transactionalId}`);
  }

  /**
   * Writes all the records in one transaction, those of a partition in their order.
   *
   * @returns for each `topic/partition` written to, the offset behind its last record
   * @throws {FencedError} where another owner has taken the id
   * @throws {KafkaRefusedError} where a record is larger than its topic takes, or the topic may not be written to
   * @throws {UnavailableError} where it failed otherwise; whether the records were written is unknown then
   */
  async write(messages: readonly WriteMessage[]): Promise<ReadonlyMap<string, number>> {
    const { taken, ends } = await this.#write(messages, false);
    assert(taken === messages.length, "all of it was written, or it would have failed");
    return ends;
  }

  /**
   * The same for records of one partition, without those that are larger than its topic takes. Where there are many of
   * these not all records are taken, and the rest is for another call.
   *
   * @throws as {@link write} does, but for the size of a record
   */
  async writeWhatFits(messages: readonly WriteMessage[]): Promise<Written> {
    return await this.#write(messages, true);
  }

  /** Ends the connection. What was not written yet never will be. */
  async close(): Promise<void> {
    this.#failure ??= new UnavailableError(`The writer ${this.#transactionalId} is closed`);
    this.#closed ??= this.#dispose();
    await this.#closed;
  }

  async #write(messages: readonly WriteMessage[], leavesOut: boolean): Promise<Written> {
    if (this.#failure !== null) throw this.#failure;
    const producer = this.#producer;
    assert(producer !== null && this.#closed === null, "a writer is open when it is written to");
    assert(!this.#writing, "one write at a time");
    const progress: Progress = {
      taken: 0,
      refused: new Map(),
      ends: new Map(),
      leavesOut,
      sinceMs: performance.now(),
    };
    if (messages.length === 0) return progress;
    this.#writing = true;
    try {
      return await this.#attempt(
        this.#transact(producer, messages, progress),
        WRITE_MS_MAX,
        `write to topic ${[...new Set(messages.map(({ topic }) => topic))].join(", ")}`,
      );
    } finally {
      this.#writing = false;
    }
  }

  async #transact(
    producer: Producer,
    messages: readonly WriteMessage[],
    progress: Progress,
  ): Promise<Written> {
    const transaction = await producer.transaction();
    for (const { topic, pieces } of cutIntoSends(messages, this.#sendBytesMax)) {
      for (const piece of pieces) {
        if (isEnough(progress)) break;
        await this.#send(transaction, { topic, messages: piece, progress });
      }
    }
    this.#assertGoesOn();
    await transaction.commit();
    return progress;
  }

  /** Sends records of one partition; in halves where they are too large together. */
  async #send(
    transaction: Transaction,
    { topic, messages, progress }: { topic: string; messages: Message[]; progress: Progress },
  ): Promise<void> {
    if (isEnough(progress)) return;
    this.#assertGoesOn();
    const { partition } = messages[0] as Message;
    try {
      const answers = await transaction.send({ topic, messages, acks: -1, timeout: WRITE_MS_MAX });
      const offset = Number(answers[0]?.baseOffset ?? NaN);
      if (answers.length === 1 && offset >= 0) {
        progress.ends.set(`${topic}/${partition}`, offset + messages.length);
        progress.taken += messages.length;
        return;
      }
    } catch (error) {
      if (!hasType(error, TOO_LARGE_TYPES)) throw error;
      if (messages.length === 1) {
        const why = tooLarge(messages[0] as Message, error);
        if (!progress.leavesOut) throw refusal(topic, why, error);
        progress.refused.set(progress.taken++, `Topic ${topic} does not take it: ${why}`);
        return;
      }
      const refusedBefore = progress.refused.size;
      const half = messages.length >> 1;
      await this.#send(transaction, { topic, messages: messages.slice(0, half), progress });
      await this.#send(transaction, { topic, messages: messages.slice(half), progress });
      // None was too large by itself: they were too many.
      if (progress.refused.size === refusedBefore) this.#sendBytesMax = halfOf(messages);
      return;
    }
    throw new KafkaRefusedError(
      `Cannot write to topic ${topic}: nobody has answered for partition ${partition}, is there one of that number?`,
    );
  }

  /** After a failure or a deadline nothing more is sent, and above all nothing committed. */
  #assertGoesOn(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async #attempt<T>(work: Promise<T>, limitMs: number, doing: string): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const why = new UnavailableError(`Cannot ${doing}: no answer for ${limitMs / 1000} s`);
      timer = setTimeout(() => reject(why), limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      this.#failure ??= this.#explain(error, doing);
      // A send that is still being tried connects again by itself: it is let go of when it has ended, too.
      const disconnect = (): void => void this.#producer?.disconnect().catch(() => {});
      work.then(disconnect, disconnect);
      this.#closed ??= this.#dispose();
      throw this.#failure;
    } finally {
      clearTimeout(timer);
    }
  }

  #explain(error: unknown, doing: string): Error {
    if (hasType(error, FENCED_TYPES)) {
      return new FencedError(
        `Another process has taken over as ${this.#transactionalId}, or this one stood still for longer than ` +
          `${TRANSACTION_TIMEOUT_MS / 1000} s: what it was writing is not written`,
        { cause: error },
      );
    }
    return sortKafkaFailure(error, doing);
  }

  /** Disconnecting waits for all answers; one that was lost would hold it up for as long as a request may take. */
  async #dispose(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => timer = setTimeout(resolve, CLOSE_MS_MAX));
    await Promise.race([this.#producer?.disconnect().catch(() => {}), limit]);
    clearTimeout(timer);
  }
}

const TOO_LARGE_TYPES: readonly unknown[] = ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"];

/** Whether kafkajs was told one of these by a broker; what it rejects with wraps it. */
function hasType(error: unknown, types: readonly unknown[]): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type, code } = cause as Error & { type?: unknown; code?: unknown };
    if (types.includes(type) || (types === FENCED_TYPES && code === PRODUCER_FENCED_CODE)) return true;
  }
  return false;
}

/** What the next sends may have, after these were too large together. */
function halfOf(messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  return Math.max(1, Math.min(SEND_BYTES_MAX, bytes) >> 1);
}

/** Why a record was refused: its size, and the broker's words. */
function tooLarge(message: Message, error: unknown): string {
  let said = error;
  while (said instanceof Error && said.cause instanceof Error) said = said.cause;
  const words = said instanceof Error ? said.message : String(said);
  return `a record of ${sizeOf(message)} bytes is larger than it takes (${words})`;
}

function refusal(topic: string, why: string, cause: unknown): Error {
  return new KafkaRefusedError(
    `Cannot write to topic ${topic}: ${why}. Raise the topic's max.message.bytes`,
    { cause },
  );
}

/** Whether so much was refused that the rest is for another transaction. */
function isEnough({ refused, sinceMs }: Progress): boolean {
  return refused.size >= REFUSED_MAX || refused.size > 0 && performance.now() - sinceMs > REFUSING_MS_MAX;
}
