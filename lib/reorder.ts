/**
 * The records that wait: for the watermark, in event-time order; or, having come late, by pair, to be taken together.
 *
 * ```
 *   entry n   timeUs clockUs arrival row flags next previous     40 bytes, in segments, used again
 *   waiting   a timing wheel over the entries: the one that is due first is popped first, equal times as they came
 *   held      row → its group; a queue of groups by the watermark at which they are taken
 * ```
 *
 * The reorder buffer is the next cost after decoding, so it is no heap: entries are nearly sorted, and a wheel's slots
 * sort them for the price of a list. What only some records have (a seq, attributes) is kept beside, in a `Map`.
 *
 * @module
 */
import { assert } from "./assert.ts";
import { type Kind, KIND_STALE } from "./kind.ts";
import type { TransitionBatch } from "./transition_batch.ts";
import { LINK_SEGMENT_BITS, NO_ROW, TimingWheel, WheelLinks } from "./timing_wheel.ts";

/** Records of one pair that are held at most: its group is taken as this one arrives. */
export const HELD_RECORDS_MAX = 1000;

const SEGMENT_BITS = LINK_SEGMENT_BITS;
const SEGMENT_ROWS = 1 << SEGMENT_BITS;
const SEGMENT_MASK = SEGMENT_ROWS - 1;

const KIND_MASK = 3;
const SUPPRESSED = 4;
const BEYOND_WINDOW = 8;
const HELD = 16;
const EXTRAS = 32;
const LIVE = 64;
/** Its trigger is yet to leave, when it is applied: kept with it, since a restart may be told to emit on arrival. */
const UNTOLD = 128;

/** It is in the list of those that no checkpoint has for good. Not written; it stays when the entry is given back. */
const UNSAVED = 256;

/** Places by which rows are told apart at first: see {@link ReorderBuffer.entriesOf}. */
const MARKS = 4096;

/** Words an entry: row, flags, next and previous of the wheel. */
const WORDS = 4;
const ROW = 0;
const FLAGS = 1;
const LINKS = 2;

/** Doubles an entry. */
const NUMBERS = 3;
const TIME = 0;
const CLOCK = 1;
/** Which record of the partition it was: decides between equal times after a restart. */
const ARRIVAL = 2;

/** Bytes of an entry in memory, besides its seq and attributes. */
export const ENTRY_MEMORY_BYTES: number = NUMBERS * 8 + WORDS * 4;

/** Bytes of an entry in a checkpoint, at most, besides its seq and attributes: see {@link ReorderBuffer.writeImage}. */
export const ENTRY_BYTES: number = 5 + 4 * 8 + 8 + 3;

/** What only some waiting records have. */
export interface EntryExtras {
  /** The seq as a number that stands for it; NaN for none. */
  readonly seqKey: number;
  /** The seq's text and the attributes, for a trigger that is yet to leave; empty where it has left. */
  readonly seq: Uint8Array;
  /** The attributes' JSON text. */
  readonly attributes: Uint8Array;
}

/** A record that begins to wait. */
export interface NewEntry {
  /** Row of its pair. */
  readonly row: number;
  /** ENTER, EXIT or STALE. */
  readonly kind: Kind;
  /** Event time, µs. */
  readonly timeUs: number;
  /** The dedup clock that it came with. */
  readonly clockUs: number;
  /** Whether Admit suppressed it. */
  readonly suppressed: boolean;
  /** Whether the window could no longer vouch for it. */
  readonly beyondWindow: boolean;
  /** Null for the most of them. */
  readonly extras: EntryExtras | null;
}

/** An entry as {@link ReorderBuffer.readImages} found it. */
export interface SavedEntry {
  /** Row of its pair. */
  readonly row: number;
  /** Kind and the bits beside it. */
  readonly flags: number;
  /** Event time, µs. */
  readonly timeUs: number;
  /** The dedup clock when it came, µs. */
  readonly clockUs: number;
  /** Which record of the partition it was. */
  readonly arrival: number;
  /** The watermark at which its group is taken, µs; NaN where it is not held. */
  readonly dueUs: number;
  /** Null for the most of them. */
  readonly extras: EntryExtras | null;
  /** Whether a checkpoint has it for good. */
  readonly isSaved?: boolean;
}

interface Group {
  /** When it is taken at the latest: the watermark on the first one's arrival plus lateness. */
  readonly dueUs: number;
  readonly entries: number[];
}

/** See the module's header. */
export class ReorderBuffer {
  readonly #numbers: Float64Array[] = [];
  readonly #words: Int32Array[] = [];
  readonly #free: number[] = [];
  readonly #extras = new Map<number, EntryExtras>();
  readonly #wheel: TimingWheel;
  readonly #groups = new Map<number, Group>();
  /** Rows with a group, by when it is due, which ascends; a group taken early is passed over. */
  #queue: { readonly row: number; readonly group: Group }[] = [];
  #queueHead = 0;
  #entryCount = 0;
  #arrivals = 0;
  /** Entries that no checkpoint has for good, each once; some of them free again. */
  #unsaved: number[] = [];
  #size = 0;

  /** Entries as they came, with their arrival number; null where nobody asks for the oldest clock. */
  #byArrival: { readonly entry: number; readonly arrival: number }[] | null;
  #byArrivalHead = 0;

  /**
   * An empty buffer.
   *
   * @param options `ordered`: whether triggers leave in order, so that what waits is untold, and {@link oldestClockUs}
   * will be asked for
   */
  constructor(options: { readonly ordered: boolean }) {
    this.#byArrival = options.ordered ? [] : null;
    const links = new WheelLinks(this.#words, { stride: WORDS, offset: LINKS });
    this.#wheel = new TimingWheel(links, { segments: this.#numbers, stride: NUMBERS, offset: TIME });
  }

  /** How many records wait or are held. */
  get size(): number {
    return this.#size;
  }

  /** No record that waits is due before this watermark, in µs. */
  get quietUntilUs(): number {
    return this.#wheel.quietUntilUs;
  }

  /** How many are held. */
  get heldCount(): number {
    return this.#size - this.#wheel.size;
  }

  /** Bytes held, without extras and groups. */
  get byteLength(): number {
    return this.#words.length * SEGMENT_ROWS * ENTRY_MEMORY_BYTES + this.#wheel.byteLength;
  }

  /** Event time of an entry, µs. */
  timeUs(entry: number): number {
    return this.#number(entry, TIME);
  }

  /** The dedup clock when it came, µs. */
  clockUs(entry: number): number {
    return this.#number(entry, CLOCK);
  }

  /** Row of its pair. */
  row(entry: number): number {
    return (this.#words[entry >>> SEGMENT_BITS] as Int32Array)[
      (entry & SEGMENT_MASK) * WORDS + ROW
    ] as number;
  }

  /** ENTER, EXIT or STALE. */
  kind(entry: number): Kind {
    return (this.#flags(entry) & KIND_MASK) as Kind;
  }

  /** Whether an entry is in use. */
  isLive(entry: number): boolean {
    return (this.#flags(entry) & LIVE) !== 0;
  }

  /** Whether it is held, rather than waiting. */
  isHeld(entry: number): boolean {
    return (this.#flags(entry) & HELD) !== 0;
  }

  /** Whether Admit suppressed it on arrival. */
  suppressed(entry: number): boolean {
    return (this.#flags(entry) & SUPPRESSED) !== 0;
  }

  /** Whether the window could no longer vouch for it on arrival. */
  beyondWindow(entry: number): boolean {
    return (this.#flags(entry) & BEYOND_WINDOW) !== 0;
  }

  /** Whether its trigger is yet to leave. */
  untold(entry: number): boolean {
    return (this.#flags(entry) & UNTOLD) !== 0;
  }

  /** What only some entries have. */
  extras(entry: number): EntryExtras | undefined {
    return this.#extras.size === 0 ? undefined : this.#extras.get(entry);
  }

  /** The seq as a number that stands for it; NaN for none. */
  seqKey(entry: number): number {
    return this.extras(entry)?.seqKey ?? NaN;
  }

  /** Lets a record wait for the watermark. */
  wait(
    batch: TransitionBatch,
    i: number,
    row: number,
    beyondWindow: boolean,
    extras: EntryExtras | null,
  ): void {
    const untold = this.#byArrival !== null && batch.kind(i) !== KIND_STALE;
    const flags = batch.kind(i) | (beyondWindow ? BEYOND_WINDOW : 0) | (untold ? UNTOLD : 0);
    const entry = this.#allocate(row, flags, extras);
    const numbers = this.#numbers[entry >>> SEGMENT_BITS] as Float64Array;
    const base = (entry & SEGMENT_MASK) * NUMBERS;
    numbers[base + TIME] = batch.eventTimeUs(i);
    numbers[base + CLOCK] = batch.dedupClockUs(i);
    this.#wheel.schedule(entry);
  }

  /** The waiting record that is due first at this watermark, or {@link NO_ROW}; the caller releases it. */
  popDue(watermarkUs: number): number {
    return this.#wheel.popDue(watermarkUs);
  }

  /** Event time of the first record that waits (not held), in µs; Infinity for none. */
  firstWaitingUs(): number {
    const entry = this.#wheel.first();
    return entry === NO_ROW ? Infinity : this.timeUs(entry);
  }

  /** When the first group is due, as a watermark in µs; Infinity for none. */
  firstGroupDueUs(): number {
    this.#passTaken();
    return this.#queue[this.#queueHead]?.group.dueUs ?? Infinity;
  }

  /** The lowest dedup clock of what waits or is held; Infinity for none, or where clocks are not tracked. */
  oldestClockUs(): number {
    const queue = this.#byArrival;
    if (queue === null) return Infinity;
    for (let first = queue[this.#byArrivalHead]; first !== undefined; first = queue[this.#byArrivalHead]) {
      // Clocks ascend as records come, so the first that is still here has the lowest.
      if (this.isLive(first.entry) && this.#number(first.entry, ARRIVAL) === first.arrival) {
        return this.clockUs(first.entry);
      }
      this.#byArrivalHead++;
      if (this.#byArrivalHead > 1024 && this.#byArrivalHead * 2 > queue.length) {
        queue.splice(0, this.#byArrivalHead);
        this.#byArrivalHead = 0;
      }
    }
    queue.length = this.#byArrivalHead = 0;
    return Infinity;
  }

  /**
   * Holds a late record with its pair's other ones.
   *
   * @param dueUs when the group is taken at the latest, should this be its first record
   * @returns how many the group has now
   */
  hold(record: NewEntry, dueUs: number): number {
    const { row, kind, timeUs, clockUs, extras } = record;
    const flags = kind | HELD | (record.suppressed ? SUPPRESSED : 0) |
      (record.beyondWindow ? BEYOND_WINDOW : 0);
    return this.#join(row, this.#add(row, timeUs, clockUs, flags, extras), dueUs);
  }

  /** The pair of a group that is due at this watermark, or {@link NO_ROW}; the caller takes it. */
  dueGroup(watermarkUs: number): number {
    if (this.#groups.size === 0) return NO_ROW;
    this.#passTaken();
    const first = this.#queue[this.#queueHead];
    return first !== undefined && first.group.dueUs <= watermarkUs ? first.row : NO_ROW;
  }

  /** Takes a pair's group: its entries in event-time order, equal times as they came. The caller releases them. */
  takeGroup(row: number): readonly number[] {
    const group = this.#groups.get(row);
    if (group === undefined) return [];
    this.#groups.delete(row);
    return group.entries.sort((a, b) => this.timeUs(a) - this.timeUs(b));
  }

  /** Gives an entry back. */
  release(entry: number): void {
    if (this.#extras.size > 0) this.#extras.delete(entry);
    const words = this.#words[entry >>> SEGMENT_BITS] as Int32Array;
    const at = (entry & SEGMENT_MASK) * WORDS + FLAGS;
    words[at] = (words[at] as number) & UNSAVED;
    this.#free.push(entry);
    this.#size--;
  }

  /** How many have come: the next one's arrival number. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** The entries that no checkpoint has for good, in no order. */
  unsaved(): readonly number[] {
    let kept = 0;
    for (const entry of this.#unsaved) {
      if (this.isLive(entry)) this.#unsaved[kept++] = entry;
      else this.#setFlags(entry, 0);
    }
    this.#unsaved.length = kept;
    return this.#unsaved;
  }

  /** A checkpoint has for good what came before this arrival number, is not held, and lies no further ahead than `farUs`. */
  saved(arrivals: number, farUs: number): void {
    let kept = 0;
    for (const entry of this.#unsaved) {
      const flags = this.#flags(entry);
      const isLive = (flags & LIVE) !== 0;
      const isSaved = (flags & HELD) === 0 && this.#number(entry, ARRIVAL) < arrivals &&
        this.timeUs(entry) <= farUs;
      if (isLive && !isSaved) this.#unsaved[kept++] = entry;
      else this.#setFlags(entry, flags & ~UNSAVED);
    }
    this.#unsaved.length = kept;
  }

  /** When a pair's group is taken at the latest, a watermark in µs; NaN where it has none. */
  groupDueUs(row: number): number {
    return this.#groups.get(row)?.dueUs ?? NaN;
  }

  /**
   * The entries of some rows, by their row. Looks through all there are until it has found as many, some 4 ns each.
   *
   * @param counts how many each of the rows has
   */
  entriesOf(counts: ReadonlyMap<number, number>): Map<number, number[]> {
    const found = new Map<number, number[]>();
    let left = 0;
    for (const [row, count] of counts) {
      found.set(row, []);
      left += count;
    }
    // Most rows are none of these, which their last bits tell sooner than a look-up.
    const marked = new Uint8Array(MARKS);
    for (const row of counts.keys()) marked[row & (MARKS - 1)] = 1;
    for (let entry = 0; entry < this.#entryCount && left > 0; entry++) {
      const words = this.#words[entry >>> SEGMENT_BITS] as Int32Array;
      const at = (entry & SEGMENT_MASK) * WORDS;
      const row = words[at + ROW] as number;
      if (marked[row & (MARKS - 1)] === 0) continue;
      if (((words[at + FLAGS] as number) & LIVE) === 0) continue;
      const entries = found.get(row);
      if (entries === undefined) continue;
      entries.push(entry);
      left--;
    }
    return found;
  }

  /** Entries ever used: all are below this. */
  get entryCount(): number {
    return this.#entryCount;
  }

  /**
   * Writes an entry as a checkpoint keeps it, nothing where it is free; returns the place behind it.
   *
   * ```
   *   row u32 | flags u8 | timeUs f64 | clockUs f64 | arrival f64 | dueUs f64 of a held one
   *   with extras: seqKey f64 | seq length u8 | attributes length u16 | both
   * ```
   */
  writeImage(view: DataView, at: number, entry: number): number {
    const flags = this.#flags(entry);
    if ((flags & LIVE) === 0) return at;
    const row = this.row(entry);
    view.setUint32(at, row, true);
    view.setUint8(at + 4, flags);
    view.setFloat64(at + 5, this.timeUs(entry), true);
    view.setFloat64(at + 13, this.clockUs(entry), true);
    view.setFloat64(at + 21, this.#number(entry, ARRIVAL), true);
    at += 29;
    if ((flags & HELD) !== 0) {
      view.setFloat64(at, (this.#groups.get(row) as Group).dueUs, true);
      at += 8;
    }
    if ((flags & EXTRAS) !== 0) {
      const { seqKey, seq, attributes } = this.#extras.get(entry) as EntryExtras;
      view.setFloat64(at, seqKey, true);
      view.setUint8(at + 8, seq.length);
      view.setUint16(at + 9, attributes.length, true);
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      bytes.set(seq, at + 11);
      bytes.set(attributes, at + 11 + seq.length);
      at += 11 + seq.length + attributes.length;
    }
    return at;
  }

  /** Reads images `from` to `end` back, for {@link restore}. */
  static readImages(view: DataView, from: number, end: number): SavedEntry[] {
    const saved: SavedEntry[] = [];
    let at = from;
    while (at < end) {
      const row = view.getUint32(at, true);
      const flags = view.getUint8(at + 4);
      const timeUs = view.getFloat64(at + 5, true);
      const clockUs = view.getFloat64(at + 13, true);
      const arrival = view.getFloat64(at + 21, true);
      at += 29;
      let dueUs = NaN;
      if ((flags & HELD) !== 0) {
        dueUs = view.getFloat64(at, true);
        at += 8;
      }
      let extras: EntryExtras | null = null;
      if ((flags & EXTRAS) !== 0) {
        const seqEnd = at + 11 + view.getUint8(at + 8);
        const attributesEnd = seqEnd + view.getUint16(at + 9, true);
        const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
        extras = {
          seqKey: view.getFloat64(at, true),
          seq: bytes.slice(at + 11, seqEnd),
          attributes: bytes.slice(seqEnd, attributesEnd),
        };
        at = attributesEnd;
      }
      saved.push({ row, flags, timeUs, clockUs, arrival, dueUs, extras });
    }
    return saved;
  }

  /**
   * Puts saved entries back into an empty buffer, as they came.
   *
   * @param floor what comes from now on has no lower arrival number
   */
  restore(saved: SavedEntry[], floor = 0): void {
    assert(this.#size === 0, "a reorder buffer is restored before it is used");
    saved.sort((a, b) => a.arrival - b.arrival);
    for (const { row, flags, timeUs, clockUs, arrival, dueUs, extras, isSaved } of saved) {
      this.#arrivals = arrival;
      const kept = flags & ~(EXTRAS | LIVE);
      const entry = this.#add(row, timeUs, clockUs, kept, extras);
      if ((flags & HELD) !== 0) this.#join(row, entry, dueUs);
      else this.#wheel.schedule(entry);
      if (isSaved === true) {
        this.#setFlags(entry, this.#flags(entry) & ~UNSAVED);
        this.#unsaved.pop();
      }
    }
    this.#arrivals = Math.max(this.#arrivals, floor);
  }

  #passTaken(): void {
    const queue = this.#queue;
    for (let first = queue[this.#queueHead]; first !== undefined; first = queue[this.#queueHead]) {
      if (this.#groups.get(first.row) === first.group) break;
      this.#queueHead++;
    }
    if (this.#queueHead > 1024 && this.#queueHead * 2 > queue.length) {
      this.#queue = queue.slice(this.#queueHead);
      this.#queueHead = 0;
    }
  }

  /** Adds an entry to its pair's group; returns how many that has now. */
  #join(row: number, entry: number, dueUs: number): number {
    let group = this.#groups.get(row);
    if (group === undefined) {
      group = { dueUs, entries: [] };
      this.#groups.set(row, group);
      this.#queue.push({ row, group });
    }
    group.entries.push(entry);
    return group.entries.length;
  }

  #add(row: number, timeUs: number, clockUs: number, flags: number, extras: EntryExtras | null): number {
    const entry = this.#allocate(row, flags, extras);
    const numbers = this.#numbers[entry >>> SEGMENT_BITS] as Float64Array;
    const base = (entry & SEGMENT_MASK) * NUMBERS;
    numbers[base + TIME] = timeUs;
    numbers[base + CLOCK] = clockUs;
    return entry;
  }

  /** Finds a free entry; its times are the caller's to fill in. */
  #allocate(row: number, flags: number, extras: EntryExtras | null): number {
    const entry = this.#free.pop() ?? this.#entryCount++;
    const segment = entry >>> SEGMENT_BITS;
    if (segment === this.#words.length) {
      this.#numbers.push(new Float64Array(SEGMENT_ROWS * NUMBERS));
      this.#words.push(new Int32Array(SEGMENT_ROWS * WORDS));
    }
    const words = this.#words[segment] as Int32Array;
    (this.#numbers[segment] as Float64Array)[(entry & SEGMENT_MASK) * NUMBERS + ARRIVAL] = this.#arrivals;
    this.#byArrival?.push({ entry, arrival: this.#arrivals });
    this.#arrivals++;
    const at = (entry & SEGMENT_MASK) * WORDS;
    words[at + ROW] = row;
    if (((words[at + FLAGS] as number) & UNSAVED) === 0) this.#unsaved.push(entry);
    words[at + FLAGS] = flags | LIVE | UNSAVED | (extras === null ? 0 : EXTRAS);
    if (extras !== null) this.#extras.set(entry, extras);
    this.#size++;
    return entry;
  }

  #flags(entry: number): number {
    return (this.#words[entry >>> SEGMENT_BITS] as Int32Array)[
      (entry & SEGMENT_MASK) * WORDS + FLAGS
    ] as number;
  }

  #setFlags(entry: number, flags: number): void {
    (this.#words[entry >>> SEGMENT_BITS] as Int32Array)[(entry & SEGMENT_MASK) * WORDS + FLAGS] = flags;
  }

  #number(entry: number, column: number): number {
    return (this.#numbers[entry >>> SEGMENT_BITS] as Float64Array)[
      (entry & SEGMENT_MASK) * NUMBERS + column
    ] as number;
  }
}
