/**
 * Cuts a stream of bytes into records, one a line, without copying them.
 *
 * ```
 *   block   …handed over…|  record\n record\r\n \n rec |  room for the next read  |
 *                        ^ lineStart                   ^ filled                   ^ end of the block
 * ```
 *
 * Bytes are read straight into a block; the batches that come of it are views of the block, which is not written again
 * where a batch has been cut from it until that is released. The unfinished line at the end is the start of the next batch
 * and is only copied where the block is used up, so a pipe that trickles doesn't allocate a block for each record. A
 * consumer that keeps up and releases in time is given the same block again and again, warm and for nothing.
 *
 * A line over the limit keeps its first 64 KiB in the block. What follows is hashed and overwritten by the next read, so
 * that a line without an end costs no more memory than one of 64 KiB.
 *
 * Searching the line ends by `indexOf` costs about 25 ns a line of 190 bytes.
 *
 * @module
 */
import type { XXHash } from "xxhash-wasm";
import { assert } from "../../lib/assert.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import type { OversizeRecord, RecordBatch } from "../../lib/record_batch.ts";

/** Bytes of a block: about 5,600 records. */
const BLOCK_BYTES = 1 << 20;
/** A block with less room than this is left to its batches, unless reads are smaller still. */
const ROOM_BYTES_MIN = BLOCK_BYTES / 4;

/** A pipe that trickles brings few records at a time. */
const COLUMN_ROWS_FIRST = 16;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/** A batch without the position, which only the source knows how to write. */
export type SplitLines = Omit<RecordBatch, "position" | "ingestTimesUs">;

/** See the module's header. */
export class LineSplitter {
  /** Where the unfinished line begins: all before it has been handed over, or was blank. */
  offset: number;
  /** Line ends before {@link offset}. */
  line: number;

  readonly #readBytes: number;
  readonly #createHash: () => XXHash<bigint>;
  #block = new Uint8Array(BLOCK_BYTES);
  #lineStart = 0;
  #filled = 0;
  /** Whether batches may still be read that were cut from the block, and described by the columns. */
  #inUse = false;
  #columns = new Columns();
  #overlong: { readonly hash: XXHash<bigint>; byteLength: number; heldReturn: boolean } | null = null;

  /**
   * @param options.offset where in the source the first byte will come from; only at 0 a byte order mark is skipped
   * @param options.line line ends before it
   * @param options.readBytes bytes of a read at most
   * @param options.createHash XXH64 with seed 0
   */
  constructor(
    options: { offset: number; line: number; readBytes: number; createHash: () => XXHash<bigint> },
  ) {
    assert(options.readBytes >= 1, "a read takes a byte at least");
    this.offset = options.offset;
    this.line = options.line;
    this.#readBytes = Math.min(options.readBytes, BLOCK_BYTES);
    this.#createHash = options.createHash;
  }

  /** Where the next bytes of the source are to be put, from its start; the same until {@link take} is called. */
  room(): Uint8Array<ArrayBuffer> {
    if (BLOCK_BYTES - this.#filled < Math.min(this.#readBytes, ROOM_BYTES_MIN)) {
      const kept = this.#block.subarray(this.#lineStart, this.#filled);
      if (this.#inUse) this.#block = new Uint8Array(BLOCK_BYTES);
      this.#block.set(kept);
      this.#lineStart = 0;
      this.#filled = kept.length;
    }
    return this.#block.subarray(this.#filled, Math.min(BLOCK_BYTES, this.#filled + this.#readBytes));
  }

  /** No batch so far is in use any more: the block may be written over. */
  release(): void {
    this.#inUse = false;
  }

  /**
   * Takes note of bytes that were put into {@link room}.
   *
   * @returns the records that are complete now, null where there are none
   */
  take(byteLength: number): SplitLines | null {
    const from = this.#filled;
    this.#filled += byteLength;
    assert(this.#filled <= BLOCK_BYTES, "no more was read than there was room for");
    this.#skipMark();
    const columns = this.#freeColumns();
    // No line end is before `from`: it would have been found when those bytes came.
    let search = from;
    // Without a view, the search would go on into what lies behind `filled`.
    const filled = this.#block.subarray(0, this.#filled);
    for (;;) {
      const end = filled.indexOf(LINE_FEED, search);
      if (end === -1) break;
      this.#endLine(columns, { end, next: end + 1 });
      search = this.#lineStart;
    }
    this.#shortenLine();
    return this.#handOver(columns);
  }

  /**
   * Takes the unfinished line for a record: the input ended without a line end.
   *
   * @returns null where there is nothing left
   */
  finish(): SplitLines | null {
    const columns = this.#freeColumns();
    if (this.#filled > this.#lineStart) this.#endLine(columns, { end: this.#filled, next: this.#filled });
    return this.#handOver(columns);
  }

  #freeColumns(): Columns {
    if (this.#inUse) this.#columns = new Columns();
    this.#columns.clear();
    return this.#columns;
  }

  #handOver(columns: Columns): SplitLines | null {
    const lines = columns.finish(this.#block);
    if (lines !== null) this.#inUse = true;
    return lines;
  }

  /** A byte order mark is no part of the first record. It may come in pieces, but always before any line end. */
  #skipMark(): void {
    if (this.offset !== 0 || this.#filled - this.#lineStart < 3) return;
    const block = this.#block;
    const at = this.#lineStart;
    if (block[at] !== 0xef || block[at + 1] !== 0xbb || block[at + 2] !== 0xbf) return;
    this.#lineStart += 3;
    this.offset = 3;
  }

  #endLine(columns: Columns, { end, next }: { end: number; next: number }): void {
    const start = this.#lineStart;
    this.line++;
    let consumed = next - start;
    const contentEnd = end > start && this.#block[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    if (this.#overlong === null && contentEnd - start > RECORD_BYTES_MAX) {
      this.#overlong = { hash: this.#createHash(), byteLength: 0, heldReturn: false };
      this.#hash(start, end);
    } else if (this.#overlong !== null) {
      this.#hash(start + RECORD_BYTES_MAX, end);
    }
    if (this.#overlong !== null) {
      const { hash, byteLength, heldReturn } = this.#overlong;
      consumed = byteLength + (heldReturn ? 1 : 0) + (next - end);
      const oversize = { byteLength, hash: hash.digest().toString(16).padStart(16, "0") };
      columns.addOversize(oversize, { start, offset: this.offset, line: this.line });
      this.#overlong = null;
    } else if (!isBlank(this.#block, start, contentEnd)) {
      columns.add({ start, end: contentEnd, offset: this.offset, line: this.line });
    }
    this.offset += consumed;
    this.#lineStart = next;
  }

  /** Of an unfinished line that is surely over the limit, keeps the beginning and hashes the rest away. */
  #shortenLine(): void {
    if (this.#overlong !== null) {
      this.#hash(this.#lineStart + RECORD_BYTES_MAX, this.#filled);
    } else {
      // One byte more may be the `\r` of its line end.
      if (this.#filled - this.#lineStart <= RECORD_BYTES_MAX + 1) return;
      this.#overlong = { hash: this.#createHash(), byteLength: 0, heldReturn: false };
      this.#hash(this.#lineStart, this.#filled);
    }
    this.#filled = this.#lineStart + RECORD_BYTES_MAX;
  }

  /** Hashes on. A `\r` at the end is held back until it is known whether the line ends there. */
  #hash(start: number, end: number): void {
    const overlong = this.#overlong;
    if (overlong === null || start === end) return;
    if (overlong.heldReturn) {
      overlong.hash.update(RETURN);
      overlong.byteLength++;
    }
    overlong.heldReturn = this.#block[end - 1] === CARRIAGE_RETURN;
    const hashedEnd = overlong.heldReturn ? end - 1 : end;
    overlong.hash.update(this.#block.subarray(start, hashedEnd));
    overlong.byteLength += hashedEnd - start;
  }
}

const RETURN = Uint8Array.of(CARRIAGE_RETURN);

/** A line of nothing but what JSON takes for white space is no record. */
function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN) return false;
  }
  return true;
}

/** Where a line is in the block and in the source. */
interface LinePlace {
  readonly start: number;
  readonly offset: number;
  readonly line: number;
}

/** The columns of a batch while it is cut. */
class Columns {
  #starts = new Uint32Array(COLUMN_ROWS_FIRST);
  #ends = new Uint32Array(COLUMN_ROWS_FIRST);
  #offsets = new Float64Array(COLUMN_ROWS_FIRST);
  #lines = new Float64Array(COLUMN_ROWS_FIRST);
  #count = 0;
  #oversize = new Map<number, OversizeRecord>();

  clear(): void {
    this.#count = 0;
    if (this.#oversize.size > 0) this.#oversize = new Map();
  }

  add({ start, end, offset, line }: LinePlace & { readonly end: number }): void {
    if (this.#count === this.#starts.length) this.#grow();
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = end;
    this.#offsets[this.#count] = offset;
    this.#lines[this.#count] = line;
    this.#count++;
  }

  addOversize(oversize: OversizeRecord, place: LinePlace): void {
    this.#oversize.set(this.#count, oversize);
    this.add({ ...place, end: place.start + RECORD_BYTES_MAX });
  }

  finish(bytes: Uint8Array): SplitLines | null {
    if (this.#count === 0) return null;
    return {
      bytes,
      starts: this.#starts,
      ends: this.#ends,
      offsets: this.#offsets,
      lines: this.#lines,
      count: this.#count,
      oversize: this.#oversize,
    };
  }

  #grow(): void {
    const capacity = this.#starts.length * 2;
    this.#starts = enlarge(this.#starts, new Uint32Array(capacity));
    this.#ends = enlarge(this.#ends, new Uint32Array(capacity));
    this.#offsets = enlarge(this.#offsets, new Float64Array(capacity));
    this.#lines = enlarge(this.#lines, new Float64Array(capacity));
  }
}

function enlarge<Column extends Uint32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
