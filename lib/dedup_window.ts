/**
 * The dedup window: which ids were told lately. Bounded by time (`ttl`) and by number (`capacity`).
 *
 * ```
 *           head                                   tail
 *   ring    | id id id id id id id id id id id id id |      oldest first: insertion order is expiry order
 *   clocks  | 12 12 13 13 13 14 14 15 15 15 15 16 16 |      when each was put in, µs
 *   index   hash of the id → its number in the ring
 * ```
 *
 * A duplicate does not extend an id's life, so the ring never needs reordering: what expires is always at the head, and
 * what a checkpoint does not have yet is always at the tail. All 128 bits are compared. 24 bytes a row and 4 / 0.7 for
 * the index: about 30 bytes an id, in segments, so that nothing is ever copied to grow. `Map` and `lru-cache` take 77 to
 * 190 bytes and 1.7 to 2.1 µs; a Bloom filter in front of an exact look-up of 0.1 µs saves nothing.
 *
 * Where triggers leave in event-time order, ids are put in by clocks that are not ascending: each record brings its own
 * of when it arrived. The test is made entry by entry, and what has expired stays in the ring as long as a record waits
 * that came before it expired.
 *
 * @module
 */
import { assert } from "./assert.ts";
import { EMPTY, HashIndex } from "./hash_index.ts";

const SEGMENT_BITS = 11;
const SEGMENT_ROWS = 1 << SEGMENT_BITS;
const SEGMENT_MASK = SEGMENT_ROWS - 1;
/** Bytes of an id in the ring: four words and a double. */
export const RING_ROW_BYTES = 24;

/** Bytes of one id in {@link DedupWindow.copyRows}: four words, and how far its clock is from that of the first one. */
export const WINDOW_ROW_BYTES = 20;
/** Bytes before them: the clock of the first one. */
export const WINDOW_IMAGE_HEADER_BYTES = 8;

/** Bounds of a window. */
export interface DedupWindowOptions {
  /** How long an id is remembered, µs of the dedup clock. */
  readonly ttlUs: number;
  /** How many ids at most. */
  readonly capacity: number;
}

interface Segment {
  readonly ids: Int32Array;
  readonly clocksUs: Float64Array;
}

/** See the module's header. Ids are four words of an array, as {@link Identity.lanes} has them. */
export class DedupWindow {
  /** Ids that left before their time because `capacity` was reached. */
  evictedLive = 0;
  /** The dedup clock that it is asked by, in µs. Fields, since a number that is handed on costs an allocation. */
  clockUs: number = -Infinity;
  /** The lowest dedup clock that it may still be asked by: {@link clockUs} itself, where clocks ascend. */
  oldestClockUs: number = -Infinity;

  readonly #ttlUs: number;
  readonly #capacity: number;
  readonly #index: HashIndex;
  /** Segment `n >>> SEGMENT_BITS` minus the first one's number. */
  readonly #segments: Segment[] = [];
  #spare: Segment | null = null;
  #touched = 0;
  #firstSegment = 0;
  #head = 0;
  /** What the index stores for the head: its number modulo {@link EMPTY}. */
  #headValue = 0;
  #tail = 0;
  /** Whether all clocks so far have ascended. One that has expired may stand behind one that lives where they have not. */
  #ascends = true;
  #lastClockUs = -Infinity;

  /** An empty window; memory comes with the ids. */
  constructor(options: DedupWindowOptions) {
    // The index knows an id by its number modulo EMPTY: of more than that many, two would have the same.
    assert(
      options.capacity >= 1 && options.capacity < EMPTY,
      "a window holds at least one id, and its index all",
    );
    this.#ttlUs = options.ttlUs;
    this.#capacity = options.capacity;
    this.#index = new HashIndex((value) => {
      const number = this.#numberOf(value);
      return this.#segment(number).ids[(number & SEGMENT_MASK) * 4 + 3] as number;
    });
  }

  /** How many ids are in the ring, expired ones that were not met yet included. */
  get size(): number {
    return this.#tail - this.#head;
  }

  /** Number of the oldest id; numbers only ascend. */
  get head(): number {
    return this.#head;
  }

  /** Number of the next id. */
  get tail(): number {
    return this.#tail;
  }

  /** Bytes held by the ring and its index. */
  get byteLength(): number {
    return this.#segments.length * SEGMENT_ROWS * RING_ROW_BYTES + this.#index.byteLength;
  }

  /**
   * Touches the memory that asking for some ids is about to need, as {@link PairTable.prefetch} does.
   *
   * @param lanes eight words for each trigger: its id and its edge's
   * @param idCounts how many ids each has: 0 to 2
   * @param count how many triggers
   */
  prefetch(lanes: Int32Array, idCounts: Uint8Array, count: number): void {
    const index = this.#index;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const ids = idCounts[i] as number;
      if (ids > 0) sum ^= index.peek(lanes[i * 8 + 3] as number);
      if (ids > 1) sum ^= index.peek(lanes[i * 8 + 7] as number);
    }
    this.#touched = sum;
  }

  /** Whether an id is in the window at {@link clockUs}. */
  has(lanes: Int32Array, base: number): boolean {
    const number = this.#find(lanes, base);
    return number >= 0 && this.clockUs - this.#clockOf(number) < this.#ttlUs;
  }

  /**
   * Puts an id in if it is not in the window at {@link clockUs}; whether it was put in. {@link has} and {@link put} in one
   * step, with one look into the index.
   */
  admit(lanes: Int32Array, base: number): boolean {
    const number = this.#find(lanes, base);
    const known = number >= 0;
    if (known && this.clockUs - this.#clockOf(number) < this.#ttlUs) return false;
    // Nothing leaves the ring here, as a rule: what leaves is looked up in the index, and many at a time are faster.
    if (known || this.#tail - this.#head >= this.#capacity) this.put(lanes, base);
    else this.#index.insertHere(lanes[base + 3] as number, valueOf(this.#append(lanes, base)));
    return true;
  }

  /** Puts an id in, at {@link clockUs}. The caller has asked {@link has}. An expired entry of the same id is superseded. */
  put(lanes: Int32Array, base: number): void {
    this.expire();
    // More than one where it was restored with a smaller capacity than it was written with.
    while (this.#tail - this.#head >= this.#capacity) {
      if (this.clockUs - this.#clockOf(this.#head) < this.#ttlUs) this.evictedLive++;
      this.#dropHead();
    }
    // Where clocks ascend, nothing that has expired is still in the ring, so there is nothing to supersede.
    this.#enter(lanes, base, this.oldestClockUs < this.clockUs || !this.#ascends);
  }

  /** Lets go of what has expired at {@link oldestClockUs}. */
  expire(): void {
    const beforeUs = this.oldestClockUs - this.#ttlUs;
    while (this.#head < this.#tail && this.#clockOf(this.#head) <= beforeUs) this.#dropHead();
  }

  /**
   * Copies rows into bytes, for a checkpoint: those from a number up to another, or as many of them as have clocks that
   * lie within half an hour of the first one's. How many these are follows from the length, see {@link WINDOW_ROW_BYTES}.
   */
  copyRows(from: number, to: number): Uint8Array {
    const words = new Int32Array((WINDOW_IMAGE_HEADER_BYTES + (to - from) * WINDOW_ROW_BYTES) / 4);
    const firstUs = this.#clockOf(from);
    SCRATCH_CLOCK[0] = firstUs;
    let at = 0;
    words[at++] = SCRATCH_WORDS[0] as number;
    words[at++] = SCRATCH_WORDS[1] as number;
    for (let number = from; number < to; number++) {
      const { ids, clocksUs } = this.#segment(number);
      const row = number & SEGMENT_MASK;
      const awayUs = (clocksUs[row] as number) - firstUs;
      if (awayUs !== (awayUs | 0)) break;
      for (let word = 0; word < 4; word++) words[at++] = ids[row * 4 + word] as number;
      words[at++] = awayUs;
    }
    return new Uint8Array(words.buffer, 0, at * 4);
  }

  /** Begins anew behind the rows before `head`: the first call of a restore. */
  restoreFrom(head: number): void {
    assert(this.#tail === 0, "a window is restored before it is used");
    this.#head = this.#tail = head;
    this.#headValue = valueOf(head);
    this.#firstSegment = segmentOf(head);
  }

  /** Puts back rows that {@link copyRows} gave, the first of them having the number `from`; older ones are skipped. */
  restoreRows(from: number, bytes: Uint8Array): void {
    const words = new Int32Array(bytes.slice().buffer);
    SCRATCH_WORDS[0] = words[0] as number;
    SCRATCH_WORDS[1] = words[1] as number;
    const firstUs = SCRATCH_CLOCK[0] as number;
    let number = from;
    for (
      let base = WINDOW_IMAGE_HEADER_BYTES / 4;
      base < words.length;
      base += WINDOW_ROW_BYTES / 4, number++
    ) {
      if (number < this.#tail) continue;
      assert(number === this.#tail, "a window's rows are restored in their order");
      this.clockUs = firstUs + (words[base + 4] as number);
      this.#enter(words, base, true);
    }
  }

  /** Appends a row and leads the index to it. A superseded row stays in the ring until its turn. */
  #enter(lanes: Int32Array, base: number, maySupersede: boolean): void {
    const superseded = maySupersede && this.#find(lanes, base) >= 0;
    const value = valueOf(this.#append(lanes, base));
    if (superseded) this.#index.replaceCurrent(value);
    else this.#index.insert(lanes[base + 3] as number, value);
  }

  #append(lanes: Int32Array, base: number): number {
    const number = this.#tail;
    const row = number & SEGMENT_MASK;
    if (segmentOf(number) - this.#firstSegment >= this.#segments.length) this.#addSegment();
    const segment = this.#segment(number);
    segment.ids[row * 4] = lanes[base] as number;
    segment.ids[row * 4 + 1] = lanes[base + 1] as number;
    segment.ids[row * 4 + 2] = lanes[base + 2] as number;
    segment.ids[row * 4 + 3] = lanes[base + 3] as number;
    segment.clocksUs[row] = this.clockUs;
    if (this.clockUs < this.#lastClockUs) this.#ascends = false;
    this.#lastClockUs = this.clockUs;
    this.#tail = number + 1;
    return number;
  }

  #addSegment(): void {
    const spare = this.#spare;
    this.#spare = null;
    this.#segments.push(
      spare ?? { ids: new Int32Array(SEGMENT_ROWS * 4), clocksUs: new Float64Array(SEGMENT_ROWS) },
    );
  }

  /** The number of an id in the ring, or -1. Leaves the index standing at it. */
  #find(lanes: Int32Array, base: number): number {
    const a = lanes[base] as number;
    const b = lanes[base + 1] as number;
    const c = lanes[base + 2] as number;
    const d = lanes[base + 3] as number;
    const index = this.#index;
    for (let value = index.first(d); value !== EMPTY; value = index.following()) {
      const number = this.#numberOf(value);
      const ids = this.#segment(number).ids;
      const at = (number & SEGMENT_MASK) * 4;
      if (ids[at + 3] === d && ids[at + 2] === c && ids[at + 1] === b && ids[at] === a) return number;
    }
    return -1;
  }

  #dropHead(): void {
    const number = this.#head;
    const segment = this.#segment(number);
    const hash = segment.ids[(number & SEGMENT_MASK) * 4 + 3] as number;
    this.#index.remove(hash, this.#headValue);
    this.#head = number + 1;
    this.#headValue = this.#headValue + 1 === EMPTY ? 0 : this.#headValue + 1;
    if ((this.#head & SEGMENT_MASK) === 0) {
      this.#spare = segment;
      this.#segments.shift();
      this.#firstSegment++;
    }
  }

  /** The full number behind a value of the index, which keeps it modulo {@link EMPTY}. */
  #numberOf(value: number): number {
    const ahead = value - this.#headValue;
    return this.#head + (ahead < 0 ? ahead + EMPTY : ahead);
  }

  #segment(number: number): Segment {
    return this.#segments[segmentOf(number) - this.#firstSegment] as Segment;
  }

  #clockOf(number: number): number {
    return this.#segment(number).clocksUs[number & SEGMENT_MASK] as number;
  }
}

function segmentOf(number: number): number {
  return number < 0x8000_0000 ? number >>> SEGMENT_BITS : Math.floor(number / SEGMENT_ROWS);
}

function valueOf(number: number): number {
  return number < EMPTY ? number : number % EMPTY;
}

const SCRATCH_CLOCK = new Float64Array(1);
const SCRATCH_WORDS = new Int32Array(SCRATCH_CLOCK.buffer);
