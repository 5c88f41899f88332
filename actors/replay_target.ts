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
   * Makes ready to send, behind all that is there.
   *
   * @throws {Error} where it can't be written to
   */
  open(): Promise<void>;
  /** Sends the record, in order. It need not be there before `flush`. */
  send(letter: StoredDeadLetter): Promise<void>;
  /** Resolves when all that was sent is durable, as far as this target can tell. */
  flush(): Promise<void>;
  close(): void;
}
