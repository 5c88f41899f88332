/**
 * Where dead letters' records go that are sent again: a line each into a file or pipe that `run` reads, or a topic.
 *
 * @module
 */
import type { StoredDeadLetter } from "../lib/dead_letter_line.ts";

/** A port, like those in ports.ts. */
export interface ReplayTarget {
  /** For messages. */
  readonly name: string;
  /** Why the record can't go there byte for byte, in a sentence; null where it can. May be asked before `open`. */
  refusal(letter: StoredDeadLetter): string | null;
  /**
   * When `run` will take the pipeline to have first seen the record where that does not say so itself, µs since the epoch;
   * NaN where it is not the target's to say. May be asked before `open`, and costs a look-up.
   *
   * @throws {Error} where it can't be looked up
   */
  firstSeenUs(letter: StoredDeadLetter): Promise<number>;
  /**
   * Makes ready to send, behind all that is there.
   *
   * @throws {Error} where it can't be written to
   */
  open(): Promise<void>;
  /**
   * Sends the record, in order. It need not be there before `flush`.
   *
   * @param firstSeenUs as {@link firstSeenUs} had it
   */
  send(letter: StoredDeadLetter, firstSeenUs: number): Promise<void>;
  /** Resolves when all that was sent is durable, as far as this target can tell. */
  flush(): Promise<void>;
  /** Also where it was never opened. */
  close(): void;
}
