/**
 * One Kafka partition as a source split, while this process is the member of the group that reads it.
 *
 * ```
 *   group ──▶ accept ──▶ queue ──▶ read          paused at the high mark, resumed at the low one
 *     ▲                    │
 *     └── seek, pause, resume (the feed)         sought by open, after the split has been restored
 * ```
 *
 * **The checkpoint is the truth, a committed offset a hint.** `open` seeks to the checkpoint's position; `acknowledge`
 * commits for those who watch the lag, and nothing is ever read from there. Where there is an offset but no checkpoint,
 * there was one, on another host or in a state that is lost: to begin afresh would tell all of it again, so that is refused.
 *
 * **Where the log no longer has the position.** Retention may have passed it: that is said, with the count, and reading
 * goes on at the log's start, since what is gone stays gone. A position *behind the end* is refused: the topic was made
 * anew, or the broker lost the end of it. Waiting would let the log grow past the position and skip what lies before. So is
 * a log whose record before the position is *another* than the one that was read: it has grown past it already. (Where
 * retention or compaction has taken that record, nothing can be told.)
 *
 * **Every record once, in order**, or a hole that is said and counted: see {@link LogCursor}.
 *
 * **Caught up** is what the broker says and not what an empty queue says: the last fetch that came back showed the log's
 * end to be where this has read to, and it was *sent* no longer than {@link PROOF_US} ago by both clocks. So a process
 * that was stopped or suspended has to ask again, and an answer that waited in a socket meanwhile proves nothing. A
 * transaction that is open at the log's end is something unread.
 *
 * A failure is final until `close`, and `open` begins anew; a partition that was revoked never opens again, its next
 * assignment comes with a source of its own.
 *
 * @module
 */
import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { assert } from "../../../lib/assert.ts";
import type { Json } from "../../../lib/json.ts";
import type { RecordBatch } from "../../../lib/record_batch.ts";
import { type Clock, type Source, UnavailableError } from "../../ports.ts";
import { type FetchedBatch, packBatch } from "./fetched_batch.ts";
import { KafkaRefusedError } from "./kafka_client.ts";
import { type KafkaPosition, type MarkedRecord, markOf, parseKafkaPosition } from "./kafka_position.ts";
import { type LogBounds, LogCursor } from "./log_cursor.ts";

/** An older proof of having caught up is none: some fetches of an idle partition, and less than any lateness. */
export const PROOF_US = 1_000_000;
/** Columns of a record beside its bytes. */
const COLUMN_BYTES = 32;

/** What a source asks of the group that it belongs to, about its own partition. The first four wait. */
export interface PartitionFeed {
  bounds(): Promise<LogBounds>;
  /** The record at an offset of the log; null where there is none any more. */
  recordAt(offset: number): Promise<MarkedRecord | null>;
  /** The offset that the group has committed; null where it has none. */
  committed(): Promise<number | null>;
  /** Rejects where the group may have given the partition to another member. */
  confirm(): Promise<void>;
  /** The next fetch begins there. */
  seek(offset: number): void;
  pause(): void;
  resume(): void;
  /** Commits the offset some time. */
  acknowledge(offset: number): void;
}

/** How much of a partition may wait to be read. What was under way when it paused comes on top: one fetch at most. */
export interface QueueMarks {
  readonly highRecords: number;
  readonly highBytes: number;
  /** Resumed when both are reached again. */
  readonly lowRecords: number;
  readonly lowBytes: number;
}

/** See the module's header. */
export interface KafkaPartitionSourceOptions {
  readonly topic: string;
  readonly partition: number;
  readonly feed: PartitionFeed;
  readonly clock: Clock;
  readonly marks: QueueMarks;
  /** Whether the broker may take records out of the middle of the log. */
  readonly compacted: boolean;
  /** Whether the records' format asks for their keys and headers. */
  readonly withContexts?: boolean;
  readonly notice: (message: string) => void;
}

/** The partition is another member's now, or will be: whoever still works on it is about to be told to stop. */
export class PartitionRevokedError extends UnavailableError {}

/** See the module's header. */
export class KafkaPartitionSource implements Source {
  readonly kind = "kafka";
  readonly name: string;
  readonly rereadable = true;
  readonly live = true;
  readonly keepsUnread = true;
  readonly partition: number;

  readonly #options: KafkaPartitionSourceOptions;
  readonly #cursor: LogCursor;
  #hash: XXHashAPI | null = null;
  #state: "closed" | "open" | "revoked" = "closed";
  #failure: Error | null = null;
  readonly #queue: RecordBatch[] = [];
  #queuedRecords = 0;
  #queuedBytes = 0;
  #paused = false;
  #endOffset = Infinity;
  #provedAt = { wallUs: -Infinity, monotonicUs: -Infinity };
  /** Wakes the read that waits. */
  #wake: (() => void) | null = null;
  #silence = 0;
  /** Calls of `open` so far: one that another has overtaken must not go on. */
  #opening = 0;

  constructor(options: KafkaPartitionSourceOptions) {
    this.#options = options;
    this.name = options.topic;
    this.partition = options.partition;
    const { compacted, notice } = options;
    this.#cursor = new LogCursor({ described: this.#described(), compacted, notice });
  }

  /** Records that the log should have had and did not. */
  get missing(): number {
    return this.#cursor.missing;
  }

  /** Whether the group holds its records back. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Records that wait to be read. */
  get queuedRecords(): number {
    return this.#queuedRecords;
  }

  /**
   * @throws {KafkaRefusedError} where the position is behind the log's end, or missing though there was one
   * @throws {PartitionRevokedError} where the partition is no longer this member's
   */
  async open(position: Json | null): Promise<"resumed" | "started"> {
    this.close();
    const opening = ++this.#opening;
    this.#checkOwned();
    const known = position === null ? null : parseKafkaPosition(position);
    if (known !== null && known.partition !== this.partition) {
      throw new Error(`Cannot read ${this.#described()} on from a position in partition ${known.partition}`);
    }
    this.#hash ??= await xxhash();
    const bounds = await this.#options.feed.bounds();
    if (known !== null) await this.#refuseOther(known, bounds);
    const committed = known === null ? await this.#options.feed.committed() : null;
    this.#checkOwned();
    assert(opening === this.#opening, "a source is opened by one at a time");
    if (known !== null) this.#cursor.resume(known.offset, bounds);
    else if (committed !== null) throw await this.#lostState(committed);
    else this.#cursor.begin(bounds.start);
    this.#state = "open";
    this.#options.feed.seek(this.#cursor.next);
    this.#options.feed.resume();
    return known === null ? "started" : "resumed";
  }

  async read(signal: AbortSignal): Promise<RecordBatch | null> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#failure !== null) throw this.#failure;
      this.#checkOwned();
      assert(this.#state === "open", "a source is opened before it is read");
      const batch = this.#queue.shift();
      if (batch !== undefined) {
        this.#queuedRecords -= batch.count;
        this.#queuedBytes -= bytesOf(batch);
        this.#resumeIfLow();
        return batch;
      }
      await this.#arrival(signal);
    }
  }

  /** Rejects where the partition is no longer this member's, or the group does not say that it is. */
  async confirm(): Promise<void> {
    this.#checkOwned();
    await this.#options.feed.confirm();
    this.#checkOwned();
  }

  placeOf(offset: number, _line: number): Json {
    return { partition: this.partition, offset };
  }

  /** Batches have buffers of their own. */
  release(): void {}

  caughtUp(): boolean {
    if (this.#state !== "open" || this.#failure !== null) return false;
    if (this.#queue.length > 0 || this.#paused || this.#cursor.next < this.#endOffset) return false;
    const { clock } = this.#options;
    const monotonicUs = clock.monotonicUs() - this.#provedAt.monotonicUs;
    const wallUs = clock.wallUs() - this.#provedAt.wallUs;
    // A monotonic clock may stand still while a machine sleeps. A wall clock that was set back asks for a new proof.
    return monotonicUs <= PROOF_US && wallUs >= 0 && wallUs <= PROOF_US;
  }

  /** Resolves at once: a checkpoint does not wait for those who only watch. */
  acknowledge(position: Json): Promise<void> {
    const { offset } = parseKafkaPosition(position);
    if (this.#state !== "revoked") this.#options.feed.acknowledge(offset);
    return Promise.resolve();
  }

  /** Nothing more is fetched; what waits is forgotten, and a read that waits rejects. `open` begins anew. */
  close(): void {
    if (this.#state === "open") {
      this.#options.feed.pause();
      this.#shut("closed", new UnavailableError(`${this.#described()} was closed`));
    }
    this.#failure = null;
  }

  /** For the group: the partition is lost, or has been handed over. A read that waits rejects; nothing opens it again. */
  revoke(): void {
    this.#shut("revoked", this.#revokedError());
  }

  /**
   * For the group, regularly: another moment has passed.
   *
   * @returns how many have passed since a fetch of this partition came back, while one should have
   */
  countSilence(): number {
    const isFetching = this.#state === "open" && !this.#paused && this.#failure === null;
    this.#silence = isFetching ? this.#silence + 1 : 0;
    return this.#silence;
  }

  /**
   * For the group: a fetch has come back, whatever it brought.
   *
   * @param askedAt when it was sent
   */
  observe(batch: FetchedBatch, askedAt: { readonly wallUs: number; readonly monotonicUs: number }): void {
    if (this.#state !== "open" || this.#failure !== null) return;
    // Of what brings records, `accept` hears.
    if (batch.messages.length === 0 && !this.#moveOn(batch)) return;
    this.#silence = 0;
    this.#endOffset = Number(batch.highWatermark);
    this.#provedAt = { wallUs: askedAt.wallUs, monotonicUs: askedAt.monotonicUs };
  }

  /**
   * For the group: records were fetched.
   *
   * @returns whether they were taken; if not, they are to be fetched again
   */
  accept(batch: FetchedBatch): boolean {
    if (this.#state !== "open" || this.#failure !== null || !this.#moveOn(batch)) return false;
    if (batch.messages.length > 0) this.#enqueue(batch);
    return true;
  }

  /** Goes behind what a fetch has brought; false, and a failure, where it is not from here. */
  #moveOn(batch: FetchedBatch): boolean {
    const refusal = this.#cursor.moveOn(batch);
    if (refusal === null) return true;
    this.#failure = new UnavailableError(`Cannot go on reading ${this.#described()}: ${refusal}`);
    this.#options.feed.pause();
    this.#wake?.();
    return false;
  }

  #shut(state: "closed" | "revoked", error: Error): void {
    this.#state = state;
    this.#failure = error;
    this.#wake?.();
    this.#paused = false;
    this.#queue.length = 0;
    this.#queuedRecords = 0;
    this.#queuedBytes = 0;
    this.#endOffset = Infinity;
  }

  #enqueue(fetched: FetchedBatch): void {
    const { marks, feed, withContexts = false } = this.#options;
    assert(this.#hash !== null, "a source is opened before records are put into it");
    const batch = packBatch(fetched, this.#hash, { withContexts });
    this.#queue.push(batch);
    this.#queuedRecords += batch.count;
    this.#queuedBytes += bytesOf(batch);
    const isFull = this.#queuedRecords >= marks.highRecords || this.#queuedBytes >= marks.highBytes;
    if (isFull && !this.#paused) {
      this.#paused = true;
      feed.pause();
    }
    this.#wake?.();
  }

  #resumeIfLow(): void {
    const { marks, feed } = this.#options;
    if (!this.#paused || this.#queuedRecords > marks.lowRecords || this.#queuedBytes > marks.lowBytes) return;
    this.#paused = false;
    feed.resume();
  }

  /** Resolves when there may be something to read, rejects when the signal is aborted. */
  #arrival(signal: AbortSignal): Promise<void> {
    assert(this.#wake === null, "one read at a time");
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        signal.removeEventListener("abort", onAbort);
        this.#wake = null;
      };
      const onAbort = (): void => {
        settle();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#wake = () => {
        settle();
        if (this.#failure === null) resolve();
        else reject(this.#failure);
      };
    });
  }

  #checkOwned(): void {
    if (this.#state === "revoked") throw this.#revokedError();
  }

  /** Looks whether the log is the one that was read. */
  async #refuseOther({ offset, last }: KafkaPosition, { start, end }: LogBounds): Promise<void> {
    if (last === null || last.offset < start || offset > end) return;
    const found = await this.#options.feed.recordAt(last.offset);
    assert(this.#hash !== null, "there is a hash before anything is compared");
    if (found === null) return;
    const mark = markOf(found, this.#hash);
    if (mark.hash === last.hash) return;
    throw new KafkaRefusedError(
      `Cannot go on reading ${this.#described()}: the checkpoint is at offset ${offset}, but the record at ${last.offset} is ` +
        `another than the one that was read. The topic was made anew, or the broker has lost the end of it: ` +
        `begin afresh with another state, which reads what is there from its beginning`,
    );
  }

  /** Who stood still after it had found no state hears of the offset of the one that has the partition now. */
  async #lostState(committed: number): Promise<Error> {
    try {
      await this.confirm();
    } catch (cause) {
      return new PartitionRevokedError(`${this.#described()} may be read by another process by now`, {
        cause,
      });
    }
    return new KafkaRefusedError(
      `Cannot begin ${this.#described()}: its group has read it to offset ${committed}, so there is a state of it, on another ` +
        `host, under another deployment or lost. Name the checkpoint.path and the deployment that have it, or begin afresh ` +
        `with another source.group`,
    );
  }

  #revokedError(): PartitionRevokedError {
    return new PartitionRevokedError(`${this.#described()} is no longer read by this process`);
  }

  #described(): string {
    return `partition ${this.partition} of ${this.name}`;
  }
}

function bytesOf(batch: RecordBatch): number {
  return batch.bytes.length + batch.count * COLUMN_BYTES;
}
