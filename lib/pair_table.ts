/**
 * The pairs: one row of numbers each in typed arrays, their ids as bytes in an arena, found by hash.
 *
 * ```
 *   row n    64 bytes  times  | ENTER END PREV_ENTER PREV_END APPLIED TOLD_ENTER TOLD_EXIT SEEN |
 *            32 bytes  words  | HASH FLAGS TOLD CONTRADICTED RULE WAITING, next and previous of the wheel |
 *            32 bytes  ids    | device length, fence length, device, fence |   or, where they are longer, where they are
 *            seqs      six doubles more, only in segments where a record had a `seq`, and of its row alone
 *   arena    longer ids, in slots of 8, 16, 24 … bytes, freed and used again
 * ```
 *
 * A row is 128 bytes, two cache lines that are fetched together: at random over millions of pairs it is the misses that
 * cost, and columns of their own would miss five times. Rows come in segments of 4,096 that are added and never copied,
 * so growth stops nobody. With 25 bytes of ids a pair takes 128 bytes and about 6 of the index; a `Map` from string keys
 * to objects takes several hundred, and a garbage collector that walks them.
 *
 * What changed since the last checkpoint is a list of rows, not of pages: random updates touch every page.
 *
 * @module
 */
import { EMPTY, HashIndex } from "./hash_index.ts";
import { NO_ROW, WheelLinks } from "./timing_wheel.ts";

/** Rows a segment. */
export const ROW_BITS = 12;
const ROWS = 1 << ROW_BITS;
/** `row & ROW_MASK` is the row's place in its segment. */
export const ROW_MASK = ROWS - 1;

const ROW_BYTES = 128;

/** Doubles from one row to the next. Times are µs since the epoch; 0 for "never", which no accepted record can have. */
export const TIMES = ROW_BYTES / 8;
/** When the visit began that is current or, outside, the last one. */
export const ENTER = 0;
/** When it ended; while inside, its next deadline, 0 for none. */
export const END = 1;
/** When the visit before it began. */
export const PREVIOUS_ENTER = 2;
/** When the visit before it ended. */
export const PREVIOUS_END = 3;
/** Event time of the last record that the dwell logic applied. */
export const APPLIED = 4;
/** Event time of the latest ENTER that was emitted: with {@link TOLD_EXIT} the pair's memory. */
export const TOLD_ENTER = 5;
/** Event time of the latest EXIT that was emitted. */
export const TOLD_EXIT = 6;
/** The highest event time of any record of the pair. */
export const SEEN = 7;

const TIME_COLUMNS = 8;

/** Words from one row to the next. */
export const WORDS = ROW_BYTES / 4;
const HASH = 16;
/** Bits, below. */
export const FLAGS = 17;
/** Which thresholds were told: of the visit in the low 16 bits, of the one before in the high ones. */
export const TOLD = 18;
/** Which of those were contradicted, likewise. */
export const CONTRADICTED = 19;
/** Number of the dwell rule of the pair's fence. */
export const RULE = 20;
/** How many of the pair's records wait or are held. */
export const WAITING = 21;
/** Next and previous. */
const LINKS = 22;
/** Where the arena has the ids, if the row has no room for them. */
const KEY = 24;
const KEY_AT = KEY * 4;
const KEY_BYTES_INLINE = ROW_BYTES - KEY_AT;

/** FLAGS: the row is in use. */
export const LIVE = 1 << 0;
/** FLAGS: a visit is going on. */
export const INSIDE = 1 << 1;
/** FLAGS: there is a visit, current or ended. */
export const HAS_VISIT = 1 << 2;
/** FLAGS: there is a visit before that one. */
export const HAS_PREVIOUS = 1 << 3;
/** FLAGS: the kind last told where triggers leave in order: 0 none, 1 ENTER, 2 EXIT. */
export const LAST_TOLD_SHIFT = 4;
/** FLAGS: the kinds applied at the microsecond APPLIED, one bit each for ENTER, EXIT, STALE. */
export const APPLIED_KINDS_SHIFT = 6;
/** FLAGS: how the visit ended, one of the `ENDED_BY_` constants in 2 bits. */
export const END_KIND_SHIFT = 9;
/** FLAGS: how the visit before it ended, likewise. */
export const PREVIOUS_END_KIND_SHIFT = 11;
/** FLAGS: number of the next threshold of the visit, 0 to 16. */
export const NEXT_SHIFT = 13;
/** FLAGS: late records of the pair are held. */
export const HELD = 1 << 18;
const DIRTY = 1 << 19;
/** The row's ids are in no checkpoint yet. */
const UNSAVED_KEY = 1 << 20;
/** The row's ids are in the arena. */
const KEY_IN_ARENA = 1 << 21;
/** A seq of the row is not NaN. Where none is, nothing reads them, which would be one more cache miss. */
const HAS_SEQS = 1 << 22;
const FLAGS_SAVED = (1 << 18) - 1;

/** The visit was ended by an EXIT; 0 stands for one that has not ended. */
export const ENDED_BY_EXIT = 1;
/** The visit was ended by a STALE. */
export const ENDED_BY_STALE = 2;
/** The visit was ended by the next ENTER. */
export const ENDED_BY_ENTER = 3;

/** Columns of seqs: numbers that stand for them ({@link seqKeyOf}), NaN for none. */
export const SEQS = 6;
/** Seq of the ENTER that began the visit. */
export const ENTER_SEQ = 0;
/** Of the last EXIT that ended a visit. */
export const EXIT_SEQ = 1;
/** Seq of the ENTER of the visit before. */
export const PREVIOUS_ENTER_SEQ = 2;
/** Seq of the EXIT of the visit before. */
export const PREVIOUS_EXIT_SEQ = 3;
/** Seq of the latest ENTER that was emitted. */
export const TOLD_ENTER_SEQ = 4;
/** Seq of the latest EXIT that was emitted. */
export const TOLD_EXIT_SEQ = 5;

const ARENA_SEGMENT_BYTES = 1 << 15;
const SLOT_UNIT = 8;
const CLASS_BITS = 7;
const CLASS_MASK = (1 << CLASS_BITS) - 1;
const KEY_HEADER = 2;

/**
 * Bytes of a pair in a table without its index: its row, and its ids' slot where the row has no room for them.
 *
 * @param idBytes of its device's and its fence's id together
 */
export function pairBytes(idBytes: number): number {
  const keyBytes = KEY_HEADER + idBytes;
  return ROW_BYTES + (keyBytes <= KEY_BYTES_INLINE ? 0 : Math.ceil(keyBytes / SLOT_UNIT) * SLOT_UNIT);
}

/** Longest image of a row: see {@link PairTable.writeImage}. */
export const IMAGE_BYTES_MAX: number = 4 + 3 + TIME_COLUMNS * 8 + 12 + SEQS * 8 + KEY_HEADER + 512;

/** So far before SEEN a time takes four bytes: 71 minutes. */
const NEAR_US_MAX = 2 ** 32 - 1;

const IMAGE_LIVE = 1;
const IMAGE_KEY = 2;
const IMAGE_SEQS = 4;
const IMAGE_MASKS = 8;

interface ArenaClass {
  readonly segments: Uint8Array[];
  readonly free: number[];
  readonly slotsPerSegment: number;
  readonly slotBytes: number;
  used: number;
}

/** See the module's header. Reads and writes of times and words go to {@link times} and {@link words} directly. */
export class PairTable {
  /** Segments of the times: row `r` is in segment `r >>> ROW_BITS`. */
  readonly times: Float64Array[] = [];
  /** Segments of the words, likewise: the same memory as {@link times}. */
  readonly words: Int32Array[] = [];
  /** The wheel's links, which lie in the words. */
  readonly links: WheelLinks = new WheelLinks(this.words, { stride: WORDS, offset: LINKS });
  /** Where the key last given to {@link locate} lies. */
  keyBytes: Uint8Array = new Uint8Array(0);
  /** Where the device's id begins in {@link keyBytes}. */
  deviceStart = 0;
  /** Where it ends. */
  deviceEnd = 0;
  /** Where the fence's id begins. */
  fenceStart = 0;
  /** Where it ends. */
  fenceEnd = 0;

  /** The same rows as {@link times} and {@link words}. */
  readonly #bytes: Uint8Array[] = [];
  readonly #seqs: (Float64Array | undefined)[] = [];
  readonly #index: HashIndex = new HashIndex((row) => this.word(row, HASH));
  readonly #classes: (ArenaClass | undefined)[] = [];
  readonly #free: number[] = [];
  /** Those who want to know which rows are added. */
  readonly #watchers = new Set<number[]>();
  /** Rows of which a restore has met a change, but not yet the ids. */
  readonly #orphans = new Set<number>();
  #prefetched = new Int32Array(128);
  #touched = 0;
  #dirty = new Int32Array(1024);
  #dirtyCount = 0;
  #rowCount = 0;
  #size = 0;

  /** How many pairs there are. */
  get size(): number {
    return this.#size;
  }

  /** Rows ever used: all are below this. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Rows that changed since the last {@link takeDirty}. */
  get dirtyCount(): number {
    return this.#dirtyCount;
  }

  /** Bytes held by rows, ids, links and index. */
  get byteLength(): number {
    let sum = this.#index.byteLength + this.#dirty.byteLength;
    sum += this.times.length * ROWS * ROW_BYTES;
    for (const seqs of this.#seqs) sum += seqs?.byteLength ?? 0;
    for (const arenaClass of this.#classes) sum += (arenaClass?.segments.length ?? 0) * ARENA_SEGMENT_BYTES;
    return sum;
  }

  /** A time of a row, µs, by its column ({@link ENTER} to {@link SEEN}); 0 for never. */
  time(row: number, column: number): number {
    return (this.times[row >>> ROW_BITS] as Float64Array)[(row & ROW_MASK) * TIMES + column] as number;
  }

  /** Sets a time of a row, µs. */
  setTime(row: number, column: number, valueUs: number): void {
    (this.times[row >>> ROW_BITS] as Float64Array)[(row & ROW_MASK) * TIMES + column] = valueUs;
  }

  /** A word of a row, by its column ({@link FLAGS} to {@link WAITING}). */
  word(row: number, column: number): number {
    return (this.words[row >>> ROW_BITS] as Int32Array)[(row & ROW_MASK) * WORDS + column] as number;
  }

  /** Sets a word of a row. */
  setWord(row: number, column: number, value: number): void {
    (this.words[row >>> ROW_BITS] as Int32Array)[(row & ROW_MASK) * WORDS + column] = value;
  }

  /** A seq's number, NaN for none. */
  seq(row: number, column: number): number {
    if ((this.word(row, FLAGS) & HAS_SEQS) === 0) return NaN;
    return (this.#seqs[row >>> ROW_BITS] as Float64Array)[(row & ROW_MASK) * SEQS + column] as number;
  }

  /** Sets a seq of a row, as the number that stands for it; NaN for none. */
  setSeq(row: number, column: number, key: number): void {
    const flags = this.word(row, FLAGS);
    const known = (flags & HAS_SEQS) !== 0;
    if (!known && Number.isNaN(key)) return;
    const seqs = this.#seqs[row >>> ROW_BITS] ??= new Float64Array(ROWS * SEQS);
    const at = (row & ROW_MASK) * SEQS;
    if (!known) {
      seqs.fill(NaN, at, at + SEQS);
      this.setWord(row, FLAGS, flags | HAS_SEQS);
    }
    seqs[at + column] = key;
    if (Number.isNaN(key) && seqs.subarray(at, at + SEQS).every(Number.isNaN)) {
      this.setWord(row, FLAGS, flags & ~HAS_SEQS);
    }
  }

  /** The row of a pair, or {@link NO_ROW}. */
  find(
    hash: number,
    bytes: Uint8Array,
    deviceStart: number,
    deviceEnd: number,
    fenceStart: number,
    fenceEnd: number,
  ): number {
    const index = this.#index;
    for (let row = index.first(hash); row !== EMPTY; row = index.following()) {
      const words = this.words[row >>> ROW_BITS] as Int32Array;
      const at = (row & ROW_MASK) * WORDS;
      if (words[at + HASH] !== (hash | 0)) continue;
      if (this.#keyIs(row, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd)) return row;
    }
    return NO_ROW;
  }

  /**
   * Touches the memory that {@link find} is about to need for some hashes. The look-ups do not depend on each other, so
   * the processor waits for several at a time, which it can't do across all that is done with a record.
   *
   * @param hashes of the pairs
   * @param count how many of them
   */
  prefetch(hashes: Int32Array, count: number): void {
    const rows = this.#prefetched.length < count
      ? this.#prefetched = new Int32Array(count)
      : this.#prefetched;
    for (let i = 0; i < count; i++) rows[i] = this.#index.peek(hashes[i] as number);
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const row = rows[i] as number;
      if (row !== EMPTY) {
        sum ^= (this.words[row >>> ROW_BITS] as Int32Array)[(row & ROW_MASK) * WORDS + HASH] as number;
      }
    }
    // Somewhere it must go, or nothing would be read.
    this.#touched = sum;
  }

  /** Adds a pair that is not there. Its row is all zero. */
  insert(
    hash: number,
    bytes: Uint8Array,
    deviceStart: number,
    deviceEnd: number,
    fenceStart: number,
    fenceEnd: number,
  ): number {
    const row = this.#free.pop() ?? this.#addRow();
    this.#occupy(row, hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd);
    this.touch(row);
    if (this.#watchers.size > 0) { for (const rows of this.#watchers) rows.push(row); }
    return row;
  }

  /** From here on adds each row that a pair is put in to `rows`, until the returned function is called. */
  watchInserted(rows: number[]): () => void {
    this.#watchers.add(rows);
    return () => this.#watchers.delete(rows);
  }

  /** Whether a row is in use, by a pair of this device. */
  isOf(row: number, device: Uint8Array): boolean {
    const flags = this.word(row, FLAGS);
    if ((flags & LIVE) === 0) return false;
    let stored = this.#bytes[row >>> ROW_BITS] as Uint8Array;
    let at = (row & ROW_MASK) * ROW_BYTES + KEY_AT;
    if ((flags & KEY_IN_ARENA) !== 0) {
      const reference = this.word(row, KEY);
      stored = this.#arenaSegment(reference);
      at = this.#arenaPlace(reference);
    }
    if (stored[at] !== device.length - 1) return false;
    at += KEY_HEADER;
    // From its end, where numbered devices differ.
    for (let i = device.length - 1; i >= 0; i--) if (stored[at + i] !== device[i]) return false;
    return true;
  }

  /** Forgets a pair. The row is zero from here on and will be used again. */
  release(row: number): void {
    this.touch(row);
    this.#index.remove(this.word(row, HASH), row);
    this.#freeKey(row);
    this.clear(row);
    this.setWord(row, FLAGS, DIRTY);
    this.#free.push(row);
    this.#size--;
  }

  /** Sets all that is known of a pair back, but not its ids. */
  clear(row: number): void {
    const segment = row >>> ROW_BITS;
    const at = row & ROW_MASK;
    (this.times[segment] as Float64Array).fill(0, at * TIMES, at * TIMES + TIME_COLUMNS);
    (this.words[segment] as Int32Array).fill(0, at * WORDS + FLAGS + 1, at * WORDS + LINKS);
    const kept = LIVE | DIRTY | UNSAVED_KEY | KEY_IN_ARENA;
    this.setWord(row, FLAGS, this.word(row, FLAGS) & kept);
  }

  /** Notes that a row has changed: the next checkpoint carries it. */
  touch(row: number): void {
    const words = this.words[row >>> ROW_BITS] as Int32Array;
    const at = (row & ROW_MASK) * WORDS + FLAGS;
    const flags = words[at] as number;
    if ((flags & DIRTY) !== 0) return;
    words[at] = flags | DIRTY;
    if (this.#dirtyCount === this.#dirty.length) {
      const grown = new Int32Array(this.#dirty.length * 2);
      grown.set(this.#dirty);
      this.#dirty = grown;
    }
    this.#dirty[this.#dirtyCount++] = row;
  }

  /** The rows that changed since the last call; valid until the next {@link touch}. */
  takeDirty(): Int32Array {
    const rows = this.#dirty.subarray(0, this.#dirtyCount);
    this.#dirtyCount = 0;
    return rows;
  }

  /** Points {@link keyBytes} and its ranges at a row's ids. */
  locate(row: number): void {
    let bytes = this.#bytes[row >>> ROW_BITS] as Uint8Array;
    let at = (row & ROW_MASK) * ROW_BYTES + KEY_AT;
    if ((this.word(row, FLAGS) & KEY_IN_ARENA) !== 0) {
      const reference = this.word(row, KEY);
      bytes = this.#arenaSegment(reference);
      at = this.#arenaPlace(reference);
    }
    this.keyBytes = bytes;
    this.deviceStart = at + KEY_HEADER;
    this.deviceEnd = this.deviceStart + (bytes[at] as number) + 1;
    this.fenceStart = this.deviceEnd;
    this.fenceEnd = this.fenceStart + (bytes[at + 1] as number) + 1;
  }

  /**
   * Writes a row as a checkpoint keeps it, and clears its mark of having changed. Times equal to SEEN and those that are
   * 0 are not written out, nor is the next deadline of a visit that goes on, which is computed anew.
   *
   * ```
   *   row u32 | form u8 | present u8 | like SEEN u8 | SEEN f64, other times | FLAGS u32 | TOLD, CONTRADICTED | seqs | ids
   *   present, like SEEN     a bit each for the other times: neither: 0; like: SEEN; present: f64; both: u32, µs before SEEN
   * ```
   *
   * @param full with the ids, even where an older checkpoint has them
   * @returns the place behind it
   */
  writeImage(view: DataView, at: number, row: number, full: boolean): number {
    const flags = this.word(row, FLAGS);
    this.setWord(row, FLAGS, flags & ~(DIRTY | UNSAVED_KEY));
    view.setUint32(at, row, true);
    if ((flags & LIVE) === 0) {
      view.setUint8(at + 4, 0);
      return at + 5;
    }
    const segment = row >>> ROW_BITS;
    const times = this.times[segment] as Float64Array;
    const base = (row & ROW_MASK) * TIMES;
    const seen = times[base + SEEN] as number;
    let form = IMAGE_LIVE;
    let present = 0;
    let like = 0;
    const formAt = at + 4;
    at += 7;
    view.setFloat64(at, seen, true);
    at += 8;
    for (let column = 0; column < SEEN; column++) {
      const time = times[base + column] as number;
      if (time === 0 || (column === END && (flags & INSIDE) !== 0)) continue;
      const beforeUs = seen - time;
      if (beforeUs !== 0) present |= 1 << column;
      if (beforeUs >= 0 && beforeUs <= NEAR_US_MAX) like |= 1 << column;
      if (beforeUs === 0) continue;
      if ((like & (1 << column)) !== 0) {
        view.setUint32(at, beforeUs, true);
        at += 4;
      } else {
        view.setFloat64(at, time, true);
        at += 8;
      }
    }
    view.setUint32(at, flags & FLAGS_SAVED, true);
    at += 4;
    const told = this.word(row, TOLD);
    const contradicted = this.word(row, CONTRADICTED);
    if (told !== 0 || contradicted !== 0) {
      form |= IMAGE_MASKS;
      view.setInt32(at, told, true);
      view.setInt32(at + 4, contradicted, true);
      at += 8;
    }
    if ((flags & HAS_SEQS) !== 0) {
      form |= IMAGE_SEQS;
      for (let column = 0; column < SEQS; column++, at += 8) {
        view.setFloat64(at, this.seq(row, column), true);
      }
    }
    if (full || (flags & UNSAVED_KEY) !== 0) {
      form |= IMAGE_KEY;
      this.locate(row);
      const key = this.keyBytes;
      for (let i = this.deviceStart - KEY_HEADER; i < this.fenceEnd; i++) {
        view.setUint8(at++, key[i] as number);
      }
    }
    view.setUint8(formAt, form);
    view.setUint8(formAt + 1, present);
    view.setUint8(formAt + 2, like);
    return at;
  }

  /**
   * Reads an image back; a later one of the same row replaces it. Returns the place behind it.
   *
   * @param hashOf the hash of the ids in a range, as {@link find} is given it
   */
  readImage(
    view: DataView,
    at: number,
    hashOf: (bytes: Uint8Array, deviceStart: number, deviceEnd: number, fenceEnd: number) => number,
  ): number {
    const row = view.getUint32(at, true);
    const form = view.getUint8(at + 4);
    while (this.#rowCount <= row) this.#addRow();
    const known = (this.word(row, FLAGS) & LIVE) !== 0;
    if ((form & IMAGE_LIVE) === 0) {
      if (known) this.#vacate(row);
      this.#orphans.delete(row);
      return at + 5;
    }
    const present = view.getUint8(at + 5);
    const like = view.getUint8(at + 6);
    at += 7;
    const times = this.times[row >>> ROW_BITS] as Float64Array;
    const base = (row & ROW_MASK) * TIMES;
    const seen = view.getFloat64(at, true);
    at += 8;
    times[base + SEEN] = seen;
    for (let column = 0; column < SEEN; column++) {
      const bit = 1 << column;
      let time = 0;
      if ((like & bit) === 0) {
        if ((present & bit) !== 0) {
          time = view.getFloat64(at, true);
          at += 8;
        }
      } else if ((present & bit) !== 0) {
        time = seen - view.getUint32(at, true);
        at += 4;
      } else {
        time = seen;
      }
      times[base + column] = time;
    }
    const flags = view.getUint32(at, true);
    at += 4;
    let told = 0;
    let contradicted = 0;
    if ((form & IMAGE_MASKS) !== 0) {
      told = view.getInt32(at, true);
      contradicted = view.getInt32(at + 4, true);
      at += 8;
    }
    const seqsAt = at;
    if ((form & IMAGE_SEQS) !== 0) at += SEQS * 8;
    if ((form & IMAGE_KEY) !== 0) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      const deviceStart = at + KEY_HEADER;
      const deviceEnd = deviceStart + view.getUint8(at) + 1;
      const fenceEnd = deviceEnd + view.getUint8(at + 1) + 1;
      at = fenceEnd;
      // The row may have been another pair's when an older image was written.
      if (known) this.#vacate(row);
      const hash = hashOf(bytes, deviceStart, deviceEnd, fenceEnd);
      this.#occupy(row, hash, bytes, deviceStart, deviceEnd, deviceEnd, fenceEnd);
      this.setWord(row, FLAGS, this.word(row, FLAGS) & ~UNSAVED_KEY);
      this.#orphans.delete(row);
    } else if (!known) {
      // A change from before the slice that brings the row itself.
      this.#orphans.add(row);
      return at;
    }
    this.setWord(row, FLAGS, (this.word(row, FLAGS) & ~(FLAGS_SAVED | HAS_SEQS)) | flags);
    this.setWord(row, TOLD, told);
    this.setWord(row, CONTRADICTED, contradicted);
    if ((form & IMAGE_SEQS) !== 0) {
      for (let column = 0; column < SEQS; column++) {
        this.setSeq(row, column, view.getFloat64(seqsAt + column * 8, true));
      }
    }
    return at;
  }

  /**
   * After all images were read: finds the rows that are free.
   *
   * @returns whether the images were complete: no row changed that never came to be
   */
  finishRestore(): boolean {
    this.#free.length = 0;
    for (let row = this.#rowCount - 1; row >= 0; row--) {
      if ((this.word(row, FLAGS) & LIVE) !== 0) continue;
      // What it was before it was released, or a change of a row that never came, is nothing to the next pair in it.
      this.clear(row);
      this.#free.push(row);
    }
    return this.#orphans.size === 0;
  }

  #vacate(row: number): void {
    this.#index.remove(this.word(row, HASH), row);
    this.#freeKey(row);
    this.setWord(row, FLAGS, 0);
    this.#size--;
  }

  #occupy(
    row: number,
    hash: number,
    bytes: Uint8Array,
    deviceStart: number,
    deviceEnd: number,
    fenceStart: number,
    fenceEnd: number,
  ): void {
    const length = KEY_HEADER + deviceEnd - deviceStart + fenceEnd - fenceStart;
    let flags = (this.word(row, FLAGS) & DIRTY) | LIVE | UNSAVED_KEY;
    let target = this.#bytes[row >>> ROW_BITS] as Uint8Array;
    let at = (row & ROW_MASK) * ROW_BYTES + KEY_AT;
    if (length > KEY_BYTES_INLINE) {
      const reference = this.#allocate(length);
      this.setWord(row, KEY, reference);
      flags |= KEY_IN_ARENA;
      target = this.#arenaSegment(reference);
      at = this.#arenaPlace(reference);
    }
    target[at++] = deviceEnd - deviceStart - 1;
    target[at++] = fenceEnd - fenceStart - 1;
    for (let i = deviceStart; i < deviceEnd; i++) target[at++] = bytes[i] as number;
    for (let i = fenceStart; i < fenceEnd; i++) target[at++] = bytes[i] as number;
    this.setWord(row, HASH, hash | 0);
    this.setWord(row, FLAGS, flags);
    this.#index.insert(hash >>> 0, row);
    this.#size++;
  }

  #addRow(): number {
    const row = this.#rowCount++;
    if ((row & ROW_MASK) === 0) {
      const buffer = new ArrayBuffer(ROWS * ROW_BYTES);
      this.times.push(new Float64Array(buffer));
      this.words.push(new Int32Array(buffer));
      this.#bytes.push(new Uint8Array(buffer));
    }
    return row;
  }

  #keyIs(
    row: number,
    bytes: Uint8Array,
    deviceStart: number,
    deviceEnd: number,
    fenceStart: number,
    fenceEnd: number,
  ): boolean {
    let stored = this.#bytes[row >>> ROW_BITS] as Uint8Array;
    let at = (row & ROW_MASK) * ROW_BYTES + KEY_AT;
    if ((this.word(row, FLAGS) & KEY_IN_ARENA) !== 0) {
      const reference = this.word(row, KEY);
      stored = this.#arenaSegment(reference);
      at = this.#arenaPlace(reference);
    }
    if (stored[at] !== deviceEnd - deviceStart - 1 || stored[at + 1] !== fenceEnd - fenceStart - 1) {
      return false;
    }
    at += KEY_HEADER;
    for (let i = deviceStart; i < deviceEnd; i++) if (stored[at++] !== bytes[i]) return false;
    for (let i = fenceStart; i < fenceEnd; i++) if (stored[at++] !== bytes[i]) return false;
    return true;
  }

  /** Finds a slot in the arena; the reference says which. */
  #allocate(length: number): number {
    const number = Math.ceil(length / SLOT_UNIT);
    const arenaClass = this.#classes[number] ??= {
      segments: [],
      free: [],
      slotBytes: number * SLOT_UNIT,
      slotsPerSegment: Math.floor(ARENA_SEGMENT_BYTES / (number * SLOT_UNIT)),
      used: 0,
    };
    const index = arenaClass.free.pop() ?? arenaClass.used++;
    if (Math.floor(index / arenaClass.slotsPerSegment) === arenaClass.segments.length) {
      arenaClass.segments.push(new Uint8Array(ARENA_SEGMENT_BYTES));
    }
    return (index << CLASS_BITS) | number;
  }

  #arenaSegment(reference: number): Uint8Array {
    const arenaClass = this.#classes[reference & CLASS_MASK] as ArenaClass;
    return arenaClass.segments[
      Math.floor((reference >>> CLASS_BITS) / arenaClass.slotsPerSegment)
    ] as Uint8Array;
  }

  #arenaPlace(reference: number): number {
    const arenaClass = this.#classes[reference & CLASS_MASK] as ArenaClass;
    return ((reference >>> CLASS_BITS) % arenaClass.slotsPerSegment) * arenaClass.slotBytes;
  }

  #freeKey(row: number): void {
    if ((this.word(row, FLAGS) & KEY_IN_ARENA) === 0) return;
    const reference = this.word(row, KEY);
    (this.#classes[reference & CLASS_MASK] as ArenaClass).free.push(reference >>> CLASS_BITS);
  }
}
