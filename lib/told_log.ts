/**
 * The ledgers of what was told, in the checkpoints: stored once, and after that what has changed of them.
 *
 * ```
 *   stream "told"   w w w c c c …   whole ledgers, and a chunk or more for each checkpoint at which they had changed;
 *                                   written whole again when the changes take as many chunks as that, and 64
 * ```
 *
 * Behind a pipe what was told stays in the ledger for `max_age`, since nothing of it comes again: with each checkpoint
 * anew, 20,000 triggers would be 1.7 MB twice a second for a month. Over a file they are gone within seconds.
 *
 * A chunk has JSON lines, as `ToldLedger` gives them. A later line of the same id replaces the one before.
 *
 * @module
 */
import {
  type CheckpointChunk,
  type Checksum,
  type ChunkRange,
  ChunkWriter,
  type Section,
  SECTION_TOLD,
} from "./chunk.ts";
import type { LedgerLine, ToldLedger } from "./told_ledger.ts";

/** Name of the stream. */
export const TOLD = "told";
/** Chunks of changes that are kept beside whole ledgers, however short these are. */
const CHANGES_CHUNKS_MIN = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** See the module's header. */
export class ToldLog {
  readonly #checksum: Checksum;
  #start = 0;
  #end = 0;
  #writer: ChunkWriter | null = null;
  /** Whether the next checkpoint has them whole: so has the first of a process, which has read back what it needs. */
  #whole = true;
  #wholeChunks = 0;
  /** Triggers in the ledgers that were added to the checkpoint that is being made. */
  #size = 0;

  /** Begins with nothing stored. */
  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** The chunks that the last checkpoint needs. */
  get range(): ChunkRange {
    return { stream: TOLD, start: this.#start, end: this.#end };
  }

  /** Goes on behind the chunks of a checkpoint that is restored. */
  restore({ start, end }: { readonly start: number; readonly end: number }): void {
    this.#start = start;
    this.#end = end;
  }

  /** Adds a partition's ledger to the checkpoint that is being made. */
  add(number: number, ledger: ToldLedger): void {
    this.#size += ledger.size;
    const lines = this.#whole ? ledger.takeWhole() : ledger.takeChanges();
    if (lines.length === 0) return;
    const writer = this.#writer ??= new ChunkWriter(this.#checksum);
    writer.begin(number, SECTION_TOLD);
    for (const line of lines) writer.writeBytes(encoder.encode(`${JSON.stringify(line)}\n`));
    writer.end();
  }

  /** Ends the checkpoint that is being made. */
  finish(put: CheckpointChunk[], drop: ChunkRange[]): void {
    const chunks = this.#size === 0 ? [] : this.#writer?.finish() ?? [];
    const whole = this.#whole || this.#size === 0;
    if (whole) {
      drop.push(this.range);
      this.#start = this.#end;
      this.#wholeChunks = chunks.length;
    }
    for (const bytes of chunks) put.push({ stream: TOLD, id: this.#end++, bytes });
    this.#whole = this.#size === 0 || this.#end - this.#start > 2 * this.#wholeChunks + CHANGES_CHUNKS_MIN;
    this.#writer = null;
    this.#size = 0;
  }
}

/** Puts what a section has into a ledger. */
export function restoreTold(ledger: ToldLedger, { view, start, end }: Section): void {
  const text = decoder.decode(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
  for (const line of text.split("\n")) {
    if (line !== "") ledger.restore(JSON.parse(line) as LedgerLine);
  }
}
