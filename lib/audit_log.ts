/**
 * What the audit remembers of the triggers it has seen: by id, and by what they tell of and when.
 *
 * ```
 *   row    | id (16 bytes) | event time (8) | group (4) | line (4) | previous (4) |      in segments of 65,536
 *            ▲                ▲               the row before it of the same group and bucket ┘
 *         by id            by group and bucket: the newest row of each          HashIndex, 4 bytes at a load of 0.7
 * ```
 *
 * About 48 bytes a trigger; a `Map` of id strings alone would take 100 to 190. A *group* is a pair, a kind, and for a
 * DWELL its threshold, so that a visit's several DWELLs are not held against each other; its name costs some 200 bytes,
 * once. Rows are never removed: ten gigabytes of triggers, about as many as the index holds, are two gigabytes here.
 *
 * @module
 */
import { EMPTY, HashIndex } from "./hash_index.ts";

const SEGMENT_BITS = 16;
const SEGMENT_ROWS = 1 << SEGMENT_BITS;
const SEGMENT_MASK = SEGMENT_ROWS - 1;

/** The group's bit that says that the trigger has a seq. */
const HAS_SEQ = 0x8000_0000;
/** How many rows of one group and bucket are looked at: a few are enough to say that something is wrong there. */
const CLOSE_ROWS_MAX = 64;
/** No row. */
export const NO_ROW: number = -1;

interface Segment {
  readonly lanes: Uint32Array;
  readonly timesUs: Float64Array;
  readonly groups: Uint32Array;
  readonly lines: Uint32Array;
  readonly previous: Int32Array;
}

/** One trigger to be remembered. */
export interface AuditRow {
  /** The id's four words. */
  readonly lanes: Uint32Array;
  /** The number of what it tells of; below 2^31. */
  readonly group: number;
  /** Whether its producer numbered it. */
  readonly hasSeq: boolean;
  /** µs since the epoch. */
  readonly eventTimeUs: number;
  /** 1-based. */
  readonly line: number;
}

/** See the module's header. */
export class AuditLog {
  readonly #bucketUs: number;
  readonly #segments: Segment[] = [];
  readonly #byId = new HashIndex((row) => idHash(this.lanes(row)));
  readonly #byCell = new HashIndex((row) => cellHash(this.group(row), this.#cellOf(this.timeUs(row))));
  #size = 0;

  /** Two triggers of a group that are closer than `bucketUs` µs are found by {@link closest}. */
  constructor(bucketUs: number) {
    this.#bucketUs = bucketUs;
  }

  /** How many rows there are. */
  get size(): number {
    return this.#size;
  }

  /** A row's event time, µs since the epoch. */
  timeUs(row: number): number {
    return this.#segment(row).timesUs[row & SEGMENT_MASK] as number;
  }

  /** The line that a row was read from. */
  line(row: number): number {
    return this.#segment(row).lines[row & SEGMENT_MASK] as number;
  }

  /** What a row tells of. */
  group(row: number): number {
    return (this.#segment(row).groups[row & SEGMENT_MASK] as number) & ~HAS_SEQ;
  }

  /** Whether a row's producer numbered it. */
  hasSeq(row: number): boolean {
    return ((this.#segment(row).groups[row & SEGMENT_MASK] as number) & HAS_SEQ) !== 0;
  }

  /** The words of a row's id. */
  lanes(row: number): Uint32Array {
    const at = (row & SEGMENT_MASK) * 4;
    return this.#segment(row).lanes.subarray(at, at + 4);
  }

  /** The row with an id, or {@link NO_ROW}. */
  find(lanes: Uint32Array): number {
    const index = this.#byId;
    for (let row = index.first(idHash(lanes)); row !== EMPTY; row = index.following()) {
      const known = this.lanes(row);
      if (lanes.every((word, at) => word === known[at])) return row;
    }
    return NO_ROW;
  }

  /**
   * The row of the same group that is closest in event time and less than a bucket away, or {@link NO_ROW}. Two that both
   * have a seq are left out: their producer says that they are two.
   */
  closest({ group, eventTimeUs, hasSeq }: Pick<AuditRow, "group" | "eventTimeUs" | "hasSeq">): number {
    const cell = this.#cellOf(eventTimeUs);
    let found = NO_ROW;
    let distanceUs = this.#bucketUs;
    for (let near = cell - 1; near <= cell + 1; near++) {
      let row = this.#newest(group, near);
      for (let looked = 0; row !== NO_ROW && looked < CLOSE_ROWS_MAX; looked++, row = this.#previous(row)) {
        const apartUs = Math.abs(this.timeUs(row) - eventTimeUs);
        if (apartUs >= distanceUs || (hasSeq && this.hasSeq(row))) continue;
        found = row;
        distanceUs = apartUs;
      }
    }
    return found;
  }

  /** Remembers a trigger. */
  add({ lanes, group, hasSeq, eventTimeUs, line }: AuditRow): void {
    const row = this.#size++;
    if ((row & SEGMENT_MASK) === 0) this.#segments.push(newSegment());
    const segment = this.#segment(row);
    const at = row & SEGMENT_MASK;
    segment.lanes.set(lanes, at * 4);
    segment.timesUs[at] = eventTimeUs;
    segment.groups[at] = hasSeq ? group | HAS_SEQ : group;
    segment.lines[at] = line;
    this.#byId.insert(idHash(lanes), row);
    const cell = this.#cellOf(eventTimeUs);
    const previous = this.#newest(group, cell);
    segment.previous[at] = previous;
    if (previous === NO_ROW) this.#byCell.insert(cellHash(group, cell), row);
    else this.#byCell.replaceCurrent(row);
  }

  /** The newest row of a group in a bucket. It is the index's current candidate then, which {@link add} relies on. */
  #newest(group: number, cell: number): number {
    const index = this.#byCell;
    for (let row = index.first(cellHash(group, cell)); row !== EMPTY; row = index.following()) {
      if (this.group(row) === group && this.#cellOf(this.timeUs(row)) === cell) return row;
    }
    return NO_ROW;
  }

  #previous(row: number): number {
    return this.#segment(row).previous[row & SEGMENT_MASK] as number;
  }

  #segment(row: number): Segment {
    return this.#segments[row >>> SEGMENT_BITS] as Segment;
  }

  #cellOf(timeUs: number): number {
    return Math.floor(timeUs / this.#bucketUs);
  }
}

function newSegment(): Segment {
  return {
    lanes: new Uint32Array(SEGMENT_ROWS * 4),
    timesUs: new Float64Array(SEGMENT_ROWS),
    groups: new Uint32Array(SEGMENT_ROWS),
    lines: new Uint32Array(SEGMENT_ROWS),
    previous: new Int32Array(SEGMENT_ROWS),
  };
}

/** An id is a hash already, but what is audited may hold anything. */
function idHash(lanes: Uint32Array): number {
  const [a = 0, b = 0, c = 0, d = 0] = lanes;
  return mixed(a ^ Math.imul(b, 0x9e37_79b1) ^ Math.imul(c, 0x85eb_ca6b) ^ Math.imul(d, 0xc2b2_ae35));
}

function cellHash(group: number, cell: number): number {
  return mixed(Math.imul(group, 0x9e37_79b1) ^ (cell | 0));
}

/** Murmur3's finaliser, since {@link HashIndex} wants all 32 bits to be good. */
function mixed(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
