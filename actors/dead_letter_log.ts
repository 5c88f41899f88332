/**
 * Where dead letters are kept and read from again: a file, or a partition of a topic.
 *
 * @module
 */

/** A port, like those in ports.ts. */
export interface DeadLetterLog {
  /** The file's path, `-` for stdin, or the topic's name. */
  readonly name: string;
  /** Of the topic; null of a file. */
  readonly partition: number | null;
  /**
   * What is in it, as far as it went when it was opened. Can be had once.
   *
   * @throws {Error} where it can't be read on
   */
  lines(): AsyncGenerator<KeptLine>;
  close(): void;
}

/** An entry, which is a dead letter's line or something else. */
export interface KeptLine {
  /** Of the line, 1-based, or the offset in the partition. */
  readonly number: number;
  /** Without its line end, valid until the next one is asked for; null where it can be no dead letter. */
  readonly bytes: Uint8Array | null;
  /** Why it can be none, as it goes on behind "it"; where it isn't given, it is too long. */
  readonly damage?: string;
}
