/**
 * Where a partition's log is read, and whether anything of it was missed.
 *
 * A fetch asks for an offset; whether that is the one that is next here is all there is to check, since within the answer
 * the broker leaves out only what was compacted away, aborted, or never a record.
 *
 * ```
 *   next 5, asked for 5   the usual
 *   next 5, asked for 9   the log's start has overtaken us, and kafkajs has jumped there without a word: 4 are missing
 *   next 5, asked for 2   the log has lost its end, and was jumped back to: a failure
 * ```
 *
 * On a topic that is never compacted, offsets that are missing within an answer are noticed as well.
 *
 * @module
 */
import { type FetchedBatch, offsetBehind } from "./fetched_batch.ts";
import { KafkaRefusedError } from "./kafka_client.ts";

/** Where a partition's log begins and ends, for those who read what is committed. */
export interface LogBounds {
  readonly start: number;
  /** The last stable offset: an open transaction lies behind it, and so nobody has read further. */
  readonly end: number;
}

/** See the module's header. */
export interface LogCursorOptions {
  /** As in `partition 3 of topic`. */
  readonly described: string;
  /** Whether the broker may take records out of the middle of the log. */
  readonly compacted: boolean;
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class LogCursor {
  readonly #options: LogCursorOptions;
  #next = 0;
  #missing = 0;
  #holes = 0;

  constructor(options: LogCursorOptions) {
    this.#options = options;
  }

  /** The offset that the next fetch must ask for. */
  get next(): number {
    return this.#next;
  }

  /** Records that the log should have had and did not. */
  get missing(): number {
    return this.#missing;
  }

  /** Begins at an offset of the log. */
  begin(offset: number): void {
    this.#next = offset;
  }

  /**
   * Goes on at an offset that was next before, or at the log's start where that has overtaken it.
   *
   * @throws {KafkaRefusedError} where the log ends before it. Waiting would let the log grow past the offset, and skip
   *   what lies before
   */
  resume(offset: number, { start, end }: LogBounds): void {
    const { described } = this.#options;
    if (offset > end) {
      throw new KafkaRefusedError(
        `Cannot go on reading ${described}: the checkpoint is at offset ${offset}, but the log ends at ${end}. ` +
          `The topic was made anew, or the broker has lost the end of it: ` +
          `begin afresh with another state, which reads what is there from its beginning`,
      );
    }
    this.#next = offset;
    this.#skipTo(start);
  }

  /** Goes behind what a fetch has brought. Returns why it can't, null where it has. */
  moveOn(batch: FetchedBatch): string | null {
    const askedFor = Number(batch.fetchedOffset);
    if (askedFor < this.#next) {
      return `it was read to offset ${this.#next}, but the log begins anew at ${askedFor}: ` +
        `the topic was made anew, or the broker has lost the end of the log`;
    }
    this.#skipTo(askedFor);
    const behind = offsetBehind(batch);
    const present = batch.messagesWithinOffset.length;
    if (!this.#options.compacted && present > 0 && behind - askedFor > present) {
      this.#countMissing(
        behind - askedFor - present,
        "the log does not have them, though it is not compacted",
      );
    }
    this.#next = behind;
    return null;
  }

  #skipTo(offset: number): void {
    if (offset <= this.#next) return;
    const why = `they were deleted before they were read, it is read on from ${offset}`;
    this.#countMissing(offset - this.#next, why);
    this.#next = offset;
  }

  /** Says the first, the second, the fourth…: a log that is full of holes doesn't fill another. */
  #countMissing(records: number, why: string): void {
    this.#missing += records;
    this.#holes++;
    if ((this.#holes & (this.#holes - 1)) !== 0) return;
    const inAll = this.#holes === 1 ? "" : ` (${this.#missing} in all)`;
    const { described, notice } = this.#options;
    notice(`${described}: ${records} records from offset ${this.#next} on are missing${inAll}: ${why}`);
  }
}
