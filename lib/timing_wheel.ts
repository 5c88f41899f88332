/**
 * A hashed, hierarchical timing wheel over row numbers: schedule and cancel in O(1), due rows in exact order.
 *
 * ```
 *   run      | r r r |                          the tick that time is in, sorted: popped from the front
 *   fine     [ | | |#| | | | ... ]  256 ticks   of 65.5 ms: what is left of the current period (16.8 s)
 *   coarse   [ | |#| | |#| | ... ]  4096 periods of 16.8 s (19 h); what lies further ahead stays for another lap
 * ```
 *
 * Rows hang in doubly linked lists through {@link WheelLinks}, 8 bytes in each row, so that a cancelled row is unlinked at
 * once: no tombstones that pile up, no scan for them. When time enters a period its rows move to the fine slots, when it
 * enters a tick they are sorted into the run; so a due row is exact to the microsecond although a slot is not. A heap
 * costs O(log n) for each of the nine in ten deadlines that are cancelled, `setTimeout` 4 to 7 µs and 650 bytes each.
 * Here: 20 to 130 ns, and a jump of a year touches occupied slots only.
 *
 * Worked example: at 08:00:00 a row due at 08:10:00 goes to the coarse slot of its 16.8 s period. At 08:09:50, say, that
 * period begins: the row moves to the fine slot of its tick. At 08:09:59.98 the tick begins: the row is sorted into the
 * run. At 08:10:00.000000 it is popped, at 08:09:59.999999 it is not.
 *
 * @module
 */

/** No row. */
export const NO_ROW: number = -1;

const TICK_US = 0x1_0000;
const FINE_SLOTS = 256;
const COARSE_SLOTS = 4096;
const SLOTS = FINE_SLOTS + COARSE_SLOTS;

/** Bytes of a wheel without rows. */
export const WHEEL_BYTES: number = SLOTS * 4 + (FINE_SLOTS + COARSE_SLOTS) / 8;

/** Rows a segment, as a power of two: of everyone whose rows go into a wheel. */
export const LINK_SEGMENT_BITS = 12;
const LINK_SEGMENT_MASK = (1 << LINK_SEGMENT_BITS) - 1;

/** `previous` of a row that is in no list. */
const UNLINKED = 0;
/** `previous` of a row in the run; that of the row that heads slot `s` is `-(s + 1)`. */
const IN_RUN = -0x4000_0000;

/** Below this many rows a run is sorted by insertion: it is nearly sorted already. */
const INSERTION_SORT_MAX = 32;

/** Where the rows' deadlines are: at `offset` of every `stride` doubles of the segments of 4,096 rows, in µs. */
export interface WheelDeadlines {
  /** The times, µs since the epoch, 4,096 rows a segment. */
  readonly segments: readonly Float64Array[];
  /** Numbers from one row's to the next's. */
  readonly stride: number;
  /** Which of a row's doubles is the deadline. */
  readonly offset: number;
}

/**
 * The list links of rows, `next` and `previous`, which live in the rows themselves: at `offset` and behind it, of every
 * `stride` words of the segments of 4,096 rows.
 */
export class WheelLinks {
  readonly #segments: readonly Int32Array[];
  readonly #stride: number;
  readonly #offset: number;

  /**
   * Links that lie in somebody's words.
   *
   * @param segments belongs to the rows' owner, who adds to it as rows come
   */
  constructor(segments: readonly Int32Array[], layout: { readonly stride: number; readonly offset: number }) {
    this.#segments = segments;
    this.#stride = layout.stride;
    this.#offset = layout.offset;
  }

  /** The row behind this one in its list, plus one; 0 for none. */
  next(row: number): number {
    return (this.#segments[row >>> LINK_SEGMENT_BITS] as Int32Array)[
      (row & LINK_SEGMENT_MASK) * this.#stride + this.#offset
    ] as number;
  }

  /** What leads to this row; see the constants above. */
  previous(row: number): number {
    return (this.#segments[row >>> LINK_SEGMENT_BITS] as Int32Array)[
      (row & LINK_SEGMENT_MASK) * this.#stride + this.#offset + 1
    ] as number;
  }

  /** Sets what {@link next} gives: the row that follows plus one, 0 for none. */
  setNext(row: number, value: number): void {
    (this.#segments[row >>> LINK_SEGMENT_BITS] as Int32Array)[
      (row & LINK_SEGMENT_MASK) * this.#stride + this.#offset
    ] = value;
  }

  /** Sets what {@link previous} gives. */
  setPrevious(row: number, value: number): void {
    (this.#segments[row >>> LINK_SEGMENT_BITS] as Int32Array)[
      (row & LINK_SEGMENT_MASK) * this.#stride + this.#offset + 1
    ] = value;
  }
}

/** See the module's header. */
export class TimingWheel {
  readonly #links: WheelLinks;
  readonly #deadlines: readonly Float64Array[];
  readonly #deadlineStride: number;
  readonly #deadlineOffset: number;
  readonly #heads = new Int32Array(SLOTS);
  readonly #fineOccupied = new Uint32Array(FINE_SLOTS / 32);
  readonly #coarseOccupied = new Uint32Array(COARSE_SLOTS / 32);

  /** All rows due in a tick up to this one are in the run. */
  #tick = -Infinity;
  #period = -Infinity;
  #size = 0;

  #runRows = new Int32Array(64);
  #runKeys = new Float64Array(64);
  #runHead = 0;
  #runLength = 0;

  /** Nothing is due before this: whoever asks often looks here first. */
  quietUntilUs: number = Infinity;

  #scratch = new Int32Array(64);

  /**
   * An empty wheel over rows that somebody else keeps.
   *
   * @param links the rows' own
   * @param deadlines must not change for a row while it is scheduled
   */
  constructor(links: WheelLinks, deadlines: WheelDeadlines) {
    this.#links = links;
    this.#deadlines = deadlines.segments;
    this.#deadlineStride = deadlines.stride;
    this.#deadlineOffset = deadlines.offset;
  }

  /** How many rows are scheduled. */
  get size(): number {
    return this.#size;
  }

  /** Bytes held, without the links. */
  get byteLength(): number {
    return WHEEL_BYTES + this.#runRows.length * 16;
  }

  /** Schedules a row that is not scheduled, for the deadline in its column. It may be in the past. */
  schedule(row: number): void {
    const deadlineUs = this.#deadlineOf(row);
    const tick = Math.floor(deadlineUs / TICK_US);
    if (this.#tick === -Infinity) this.#moveTo(tick - 1);
    this.#size++;
    if (deadlineUs < this.quietUntilUs) this.quietUntilUs = deadlineUs;
    if (tick <= this.#tick) this.#insertIntoRun(row, deadlineUs);
    else this.#link(row, tick);
  }

  /** Takes a row out that is scheduled here. */
  cancel(row: number): void {
    const links = this.#links;
    const previous = links.previous(row);
    links.setPrevious(row, UNLINKED);
    this.#size--;
    // In the run the entry stays behind and is passed over: its row no longer bears the run's mark, or another key.
    if (previous === IN_RUN) return;
    const next = links.next(row);
    if (previous > 0) {
      links.setNext(previous - 1, next);
      if (next !== 0) links.setPrevious(next - 1, previous);
      return;
    }
    const slot = -previous - 1;
    this.#heads[slot] = next;
    if (next !== 0) links.setPrevious(next - 1, previous);
    else this.#setOccupied(slot, false);
  }

  /** Whether a row is scheduled. */
  isScheduled(row: number): boolean {
    return this.#links.previous(row) !== UNLINKED;
  }

  /**
   * Takes out the row that is due first, if it is due by `nowUs`: ascending deadlines, equal ones in the order in which
   * they were scheduled (but a row that was cancelled in the current tick and scheduled for the same µs again has its
   * old place). {@link NO_ROW} where there is none. A caller that has had enough for one turn stops calling.
   */
  popDue(nowUs: number): number {
    if (nowUs < this.quietUntilUs) return NO_ROW;
    for (;;) {
      while (this.#runHead < this.#runLength) {
        const row = this.#runRows[this.#runHead] as number;
        const keyUs = this.#runKeys[this.#runHead] as number;
        if (this.#links.previous(row) !== IN_RUN || this.#deadlineOf(row) !== keyUs) {
          this.#runHead++;
          continue;
        }
        if (keyUs > nowUs) {
          this.quietUntilUs = keyUs;
          return NO_ROW;
        }
        this.#runHead++;
        this.#links.setPrevious(row, UNLINKED);
        this.#size--;
        return row;
      }
      this.#runHead = this.#runLength = 0;
      if (!this.#enterNextTick(Math.floor(nowUs / TICK_US))) return NO_ROW;
    }
  }

  /** The first deadline there is, in µs, or Infinity: a lower bound, exact to a tick (or period, further ahead). */
  nextDeadlineUs(): number {
    for (let at = this.#runHead; at < this.#runLength; at++) {
      const row = this.#runRows[at] as number;
      const keyUs = this.#runKeys[at] as number;
      if (this.#links.previous(row) === IN_RUN && this.#deadlineOf(row) === keyUs) return keyUs;
    }
    if (this.#size === 0) return Infinity;
    const fine = nextOccupied(this.#fineOccupied, this.#tick - this.#period * FINE_SLOTS + 1, FINE_SLOTS);
    const tick = fine >= 0 ? this.#period * FINE_SLOTS + fine : this.#nextPeriod() * FINE_SLOTS;
    // What popDue has already found quiet is no bound any more: who goes from bound to bound would stand still.
    return Math.max(tick * TICK_US, this.quietUntilUs);
  }

  /** The row that is due first, wherever it is, without taking it out: for bounds. {@link NO_ROW} when empty. */
  first(): number {
    if (this.#size === 0) return NO_ROW;
    const row = this.popDue(Infinity);
    this.#links.setPrevious(row, IN_RUN);
    this.#runHead--;
    this.#size++;
    this.quietUntilUs = this.#runKeys[this.#runHead] as number;
    return row;
  }

  /** Enters the next tick up to `limit` that has rows, and sorts them into the run. False where there is none. */
  #enterNextTick(limit: number): boolean {
    for (;;) {
      if (this.#size === 0) {
        if (limit > this.#tick && limit !== Infinity) this.#moveTo(limit);
        this.quietUntilUs = Infinity;
        return false;
      }
      if (this.#tick >= limit) break;
      const fine = nextOccupied(this.#fineOccupied, this.#tick - this.#period * FINE_SLOTS + 1, FINE_SLOTS);
      if (fine >= 0) {
        const tick = this.#period * FINE_SLOTS + fine;
        if (tick > limit) {
          this.#tick = limit;
          break;
        }
        this.#tick = tick;
        this.#loadRun(fine);
        return true;
      }
      const period = this.#nextPeriod();
      if (period * FINE_SLOTS > limit) {
        this.#moveTo(limit);
        break;
      }
      this.#moveTo(period * FINE_SLOTS - 1);
      this.#period = period;
      this.#cascade(period);
    }
    this.quietUntilUs = (this.#tick + 1) * TICK_US;
    return false;
  }

  /** The next period after the current one whose coarse slot has rows, perhaps for a later lap. */
  #nextPeriod(): number {
    const from = this.#period + 1;
    const slot = coarseSlot(from);
    const found = nextOccupied(this.#coarseOccupied, slot, COARSE_SLOTS);
    if (found >= 0) return from + found - slot;
    return from + COARSE_SLOTS - slot + nextOccupied(this.#coarseOccupied, 0, COARSE_SLOTS);
  }

  #moveTo(tick: number): void {
    this.#tick = tick;
    this.#period = Math.floor(tick / FINE_SLOTS);
  }

  /** Moves the rows of a period that begins to their fine slots; those of a later lap stay. */
  #cascade(period: number): void {
    const slot = FINE_SLOTS + coarseSlot(period);
    const count = this.#unload(slot);
    for (let i = 0; i < count; i++) {
      const row = this.#scratch[i] as number;
      this.#link(row, Math.floor(this.#deadlineOf(row) / TICK_US));
    }
  }

  /** Sorts the rows of a fine slot into the empty run. */
  #loadRun(slot: number): void {
    const count = this.#unload(slot);
    while (this.#runRows.length < count) this.#growRun();
    const rows = this.#runRows;
    const keys = this.#runKeys;
    let sorted = true;
    for (let i = 0; i < count; i++) {
      const row = this.#scratch[i] as number;
      const key = this.#deadlineOf(row);
      rows[i] = row;
      keys[i] = key;
      if (i > 0 && key < (keys[i - 1] as number)) sorted = false;
      this.#links.setPrevious(row, IN_RUN);
    }
    this.#runLength = count;
    if (!sorted) this.#sortRun(count);
  }

  #sortRun(count: number): void {
    const rows = this.#runRows;
    const keys = this.#runKeys;
    if (count <= INSERTION_SORT_MAX) {
      for (let i = 1; i < count; i++) {
        const row = rows[i] as number;
        const key = keys[i] as number;
        let at = i;
        while (at > 0 && (keys[at - 1] as number) > key) {
          keys[at] = keys[at - 1] as number;
          rows[at] = rows[at - 1] as number;
          at--;
        }
        keys[at] = key;
        rows[at] = row;
      }
      return;
    }
    const order = Array.from({ length: count }, (_, i) => i);
    order.sort((a, b) => (keys[a] as number) - (keys[b] as number));
    const sortedRows = order.map((i) => rows[i] as number);
    const sortedKeys = order.map((i) => keys[i] as number);
    rows.set(sortedRows);
    keys.set(sortedKeys);
  }

  /** Puts a row of the current tick, or of the past, into its place in the run, behind its equals. */
  #insertIntoRun(row: number, keyUs: number): void {
    this.#links.setPrevious(row, IN_RUN);
    if (this.#runLength === this.#runRows.length) this.#growRun();
    const keys = this.#runKeys;
    let low = this.#runHead;
    let high = this.#runLength;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((keys[middle] as number) <= keyUs) low = middle + 1;
      else high = middle;
    }
    keys.copyWithin(low + 1, low, this.#runLength);
    this.#runRows.copyWithin(low + 1, low, this.#runLength);
    keys[low] = keyUs;
    this.#runRows[low] = row;
    this.#runLength++;
  }

  #growRun(): void {
    const rows = new Int32Array(this.#runRows.length * 2);
    const keys = new Float64Array(rows.length);
    rows.set(this.#runRows);
    keys.set(this.#runKeys);
    this.#runRows = rows;
    this.#runKeys = keys;
  }

  /** Hangs a row into the slot of a tick that is ahead. */
  #link(row: number, tick: number): void {
    const period = Math.floor(tick / FINE_SLOTS);
    const slot = period === this.#period ? tick - period * FINE_SLOTS : FINE_SLOTS + coarseSlot(period);
    const links = this.#links;
    const head = this.#heads[slot] as number;
    links.setNext(row, head);
    links.setPrevious(row, -(slot + 1));
    if (head !== 0) links.setPrevious(head - 1, row + 1);
    else this.#setOccupied(slot, true);
    this.#heads[slot] = row + 1;
  }

  /** Empties a slot into the scratch array, in the order in which its rows were scheduled; returns how many. */
  #unload(slot: number): number {
    let count = 0;
    for (let link = this.#heads[slot] as number; link !== 0; link = this.#links.next(link - 1)) {
      if (count === this.#scratch.length) {
        const grown = new Int32Array(count * 2);
        grown.set(this.#scratch);
        this.#scratch = grown;
      }
      this.#scratch[count++] = link - 1;
    }
    this.#heads[slot] = 0;
    this.#setOccupied(slot, false);
    // The lists grow at their heads.
    const scratch = this.#scratch;
    for (let low = 0, high = count - 1; low < high; low++, high--) {
      const row = scratch[low] as number;
      scratch[low] = scratch[high] as number;
      scratch[high] = row;
    }
    return count;
  }

  #deadlineOf(row: number): number {
    return (this.#deadlines[row >>> LINK_SEGMENT_BITS] as Float64Array)[
      (row & LINK_SEGMENT_MASK) * this.#deadlineStride + this.#deadlineOffset
    ] as number;
  }

  #setOccupied(slot: number, occupied: boolean): void {
    const fine = slot < FINE_SLOTS;
    const bitmap = fine ? this.#fineOccupied : this.#coarseOccupied;
    const bit = fine ? slot : slot - FINE_SLOTS;
    if (occupied) bitmap[bit >>> 5] = (bitmap[bit >>> 5] as number) | (1 << (bit & 31));
    else bitmap[bit >>> 5] = (bitmap[bit >>> 5] as number) & ~(1 << (bit & 31));
  }
}

function coarseSlot(period: number): number {
  return period - Math.floor(period / COARSE_SLOTS) * COARSE_SLOTS;
}

/** The first set bit at or behind `from`, or -1. */
function nextOccupied(bitmap: Uint32Array, from: number, length: number): number {
  if (from >= length) return -1;
  let word = from >>> 5;
  let bits = (bitmap[word] as number) & (-1 << (from & 31));
  while (bits === 0) {
    if (++word === bitmap.length) return -1;
    bits = bitmap[word] as number;
  }
  return (word << 5) + 31 - Math.clz32(bits & -bits);
}
