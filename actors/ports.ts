/**
 * The doors between the actors and the world: interfaces only. `actors/adapters/` implement them, `actors/main.ts`
 * wires them, the simulator has its own.
 *
 * @module
 */
import type { CheckpointCommit, ChunkRange } from "../lib/chunk.ts";
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import type { Json } from "../lib/json.ts";
import type { RecordBatch } from "../lib/record_batch.ts";

export type { CheckpointChunk, CheckpointCommit, ChunkRange } from "../lib/chunk.ts";

/** What became of a record that was not taken as a new one. */
export type RecordOutcome =
  | "suppressed"
  | { readonly reason: DeadLetterReason; readonly detail: string };

/** Where records come from: one source split. */
export interface Source {
  /** The configuration's `source.type`: part of what a state was written with. */
  readonly kind: string;
  /** For dead letters and messages: a path, `-`, a topic. */
  readonly name: string;
  /** Whether what was read can be read again after a crash: a file or Kafka, but not a pipe. */
  readonly rereadable: boolean;
  /** Whether the wall clock may move its watermark on (SPEC 3). */
  readonly live: boolean;
  /** Of a topic, which partition it is. */
  readonly partition?: number;
  /** Whether it keeps what is sent while nobody reads: Kafka does, so time goes on while a process is down. */
  readonly keepsUnread: boolean;
  /**
   * Opens at a checkpoint's position, or at the start where that is null.
   *
   * @returns whether it goes on at the position, so that the same records come again
   * @throws {Error} where the position is not one of this source's (a file that shrank or begins otherwise)
   */
  open(position: Json | null): Promise<"resumed" | "started">;
  /**
   * The next records, at least one; null at the end of the input. Waits where there is nothing yet.
   * Rejects with the signal's reason when it is aborted, without losing what it had read: the next call returns it.
   */
  read(signal: AbortSignal): Promise<RecordBatch | null>;
  /** How a dead letter names a record's place: what {@link RecordBatch.offsets} and `lines` have of it. */
  placeOf(offset: number, line: number): Json;
  /** No batch that was read so far is in use any more: the memory that they lie in may be written again. */
  release(): void;
  /** Whether nothing is known to be unread: the last read found less than it could have taken. */
  caughtUp(): boolean;
  /** Whether somebody waits for a checkpoint: it is made as soon as it can be, whatever `checkpoint.interval` says. */
  isAwaited?(): boolean;
  /** Told of each record that turns out to be a copy, or goes to the dead letters, before the checkpoint that has it. */
  decided?(offset: number, outcome: RecordOutcome): void;
  /**
   * Told of each message of a format how many records it was: transitions and dead letters. None where it was no
   * transition. Not told where a record is a transition by itself.
   */
  counted?(offset: number, records: number): void;
  /** Tells the source that everything up to this position is in a durable checkpoint. */
  acknowledge(position: Json): Promise<void>;
  close(): void;
}

/** Lines on their way to a sink: `bytes[0 .. byteLength)`, each line ended by `\n`. */
export interface LineBatch {
  readonly bytes: Uint8Array;
  readonly byteLength: number;
  readonly count: number;
}

/**
 * Told of a line that a sink will never take, however often it is tried, and why, in a sentence: the topic's limit, an
 * answer that is final. The bytes are without their `\n`, and hold until the call returns.
 */
export type RefusedLine = (line: Uint8Array, why: string) => void;

/** Where lines go: triggers to one, dead letters to another. */
export interface Sink {
  /** For messages. */
  readonly name: string;
  /** Whether what was written can be read back after a crash: a file, but not a pipe. */
  readonly readable: boolean;
  /**
   * Opens behind all that is there. Where a checkpoint's position is given, a torn last line behind it is cut off.
   *
   * @throws {Error} where the output is shorter than the position says
   */
  open(position: Json | null): Promise<void>;
  /** The whole lines behind the position given to `open`, without their `\n`. Nothing where not `readable`. */
  readBack(): AsyncIterable<Uint8Array>;
  /** Lines that were to be added as it was opened, and that it will never take, with the reason. */
  refusedAtOpen?(): readonly (readonly [line: Uint8Array, why: string])[];
  /**
   * Hands the lines over, in order. The batch may be reused once this resolves.
   *
   * @param refused is told, before this resolves, of each line that was left out; the others are written all the same
   */
  write(lines: LineBatch, refused: RefusedLine): Promise<void>;
  /** Makes durable what was written (`fdatasync`); resolves with the position behind it. */
  flush(): Promise<Json>;
  close(): void;
}

/** Another process has taken this split over: nothing may be written any more. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** Something outside is away or does not answer: the same again may succeed later. */
export class UnavailableError extends Error {
  override readonly name: string = "UnavailableError";
}

/** Where a split's checkpoints are kept. Chunks first, then the manifest, fenced: all or nothing. */
export interface CheckpointStore {
  /** For messages: where the state is. */
  readonly name: string;
  /**
   * Takes the split over from whoever had it (their commits fail from here on), and returns the manifest, null if there
   * is none yet.
   */
  open(): Promise<Uint8Array | null>;
  /** Deletes all chunks outside these ranges: what a checkpoint that was not completed has left behind. */
  sweep(live: readonly ChunkRange[]): Promise<void>;
  /** The chunks of a range, ascending. A missing one is an error. */
  read(range: ChunkRange): AsyncIterable<Uint8Array>;
  /**
   * Makes a checkpoint durable: after a crash either all of it is there or nothing.
   *
   * @throws {FencedError} where another process has taken over
   */
  commit(commit: CheckpointCommit): Promise<void>;
  close(): void;
}

/** What the operating system tells of time, and the event loop's turns. */
export interface Clock {
  /** µs since the Unix epoch. May jump. */
  wallUs(): number;
  /** µs since some start. Never goes back. */
  monotonicUs(): number;
  /** Resolves after `us`; rejects with the signal's reason if that is aborted first. */
  delay(us: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in a later turn of the event loop, after I/O had its chance. */
  nextTurn(): Promise<void>;
  /** Calls back each `us` until the returned function is called. */
  every(us: number, callback: () => void): () => void;
}
