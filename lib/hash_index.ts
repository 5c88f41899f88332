/**
 * From a 32-bit hash to the numbers stored under it: open addressing in tables that split, so that it grows without a
 * stall.
 *
 * ```
 *   hash       ├── directory: as many of its first bits as needed ──┤          ├── 20 bits: where in the table ──┤
 *
 *   directory  [ A A B C ]      A table that has come to 16,384 slots splits in two by its next bit. The directory,
 *                               a few hundred entries, doubles when its longest prefix does.
 * ```
 *
 * One table that doubles at two million entries holds the event loop up for far more than 5 ms; a split moves some 13,000
 * entries, under a millisecond. Small tables grow by a third, and halves begin at a load of 0.6, so on average a slot
 * costs 4 / 0.7 bytes. A `Map` costs 77 to 190 bytes a key. Many tiny tables from the start were tried: each look-up
 * then meets a cold table's header, and a look-up of a small index costs twice as much.
 *
 * The index knows nothing of keys: the caller walks the candidates of a hash and compares.
 *
 * ```ts
 * import { EMPTY, HashIndex } from "./hash_index.ts";
 *
 * const index = new HashIndex((value) => value * 0x9E3779B1 >>> 0);
 * index.insert(7 * 0x9E3779B1 >>> 0, 7);
 * let value = index.first(7 * 0x9E3779B1 >>> 0);
 * while (value !== EMPTY && value !== 7) value = index.following();
 * ```
 *
 * @module
 */
import { assert } from "./assert.ts";

/** No (further) candidate. Values are below it. */
export const EMPTY = 0xffff_ffff;

const SLOTS_FIRST = 16;
const SLOTS_MAX = 16_384;
const LOAD_MAX = 0.8;
const LOAD_AFTER_SPLIT = 0.6;
const GROWTH = 4 / 3;
const DIRECTORY_BITS_MAX = 12;
const PLACE_MASK = (1 << 20) - 1;
const PLACE_SCALE = 1 / (1 << 20);

interface Table {
  slots: Uint32Array;
  count: number;
  limit: number;
  /** How many first bits all its hashes share. */
  readonly depth: number;
}

/** See the module's header. */
export class HashIndex {
  readonly #hashOf: (value: number) => number;
  #directory: Table[] = [makeTable(SLOTS_FIRST, 0)];
  /** Shift that leaves a hash's directory bits; 32 stands for none of them. */
  #depth = 0;
  #slots: Uint32Array = (this.#directory[0] as Table).slots;
  #slot = 0;
  #size = 0;

  /**
   * An empty index.
   *
   * @param hashOf tells a stored value's hash again, when a table grows or splits or an entry leaves
   */
  constructor(hashOf: (value: number) => number) {
    this.#hashOf = hashOf;
  }

  /** How many values there are. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of all tables. */
  get byteLength(): number {
    let sum = 0;
    for (const table of new Set(this.#directory)) sum += table.slots.byteLength;
    return sum;
  }

  /** The first value that may have this hash, or {@link EMPTY}. */
  first(hash: number): number {
    const slots = this.#tableOf(hash).slots;
    this.#slots = slots;
    const slot = home(hash, slots.length);
    this.#slot = slot;
    return slots[slot] as number;
  }

  /** The candidate after the one that {@link first} or this returned last, or {@link EMPTY}. */
  following(): number {
    const slots = this.#slots;
    let slot = this.#slot + 1;
    if (slot === slots.length) slot = 0;
    this.#slot = slot;
    return slots[slot] as number;
  }

  /** Adds a value under its hash. The caller has made sure that it is not there. */
  insert(hash: number, value: number): void {
    let table = this.#tableOf(hash);
    while (table.count >= table.limit) {
      if (table.slots.length < SLOTS_MAX) this.#grow(table);
      else this.#split(table, hash);
      table = this.#tableOf(hash);
    }
    table.count++;
    this.#size++;
    place(table.slots, hash, value);
  }

  /**
   * Adds a value under a hash for which {@link first} and {@link following} have just come to {@link EMPTY}, with nothing
   * in between: the place is known.
   */
  insertHere(hash: number, value: number): void {
    const table = this.#tableOf(hash);
    if (table.count >= table.limit) {
      this.insert(hash, value);
      return;
    }
    table.count++;
    this.#size++;
    this.#slots[this.#slot] = value;
  }

  /**
   * Puts another value in the place of the candidate returned last, which must have the same hash: an entry moves
   * without a removal.
   */
  replaceCurrent(value: number): void {
    this.#slots[this.#slot] = value;
  }

  /** Takes a value out, if it is there. Those behind it move up, so that no tombstones are left. */
  remove(hash: number, value: number): void {
    const table = this.#tableOf(hash);
    const slots = table.slots;
    const length = slots.length;
    let hole = home(hash, length);
    while (slots[hole] !== value) {
      if (slots[hole] === EMPTY) return;
      hole = hole + 1 === length ? 0 : hole + 1;
    }
    let slot = hole;
    for (;;) {
      slot = slot + 1 === length ? 0 : slot + 1;
      const candidate = slots[slot] as number;
      if (candidate === EMPTY) break;
      const wanted = home(this.#hashOf(candidate), length);
      // The candidate may fill the hole unless its own place lies between the hole and itself (cyclically).
      const reachable = hole <= slot ? wanted <= hole || wanted > slot : wanted <= hole && wanted > slot;
      if (reachable) {
        slots[hole] = candidate;
        hole = slot;
      }
    }
    slots[hole] = EMPTY;
    table.count--;
    this.#size--;
  }

  #tableOf(hash: number): Table {
    return this.#directory[this.#depth === 0 ? 0 : hash >>> (32 - this.#depth)] as Table;
  }

  #grow(table: Table): void {
    const old = table.slots;
    const grown = new Uint32Array(Math.min(SLOTS_MAX, Math.ceil(old.length * GROWTH))).fill(EMPTY);
    for (const value of old) {
      if (value !== EMPTY) place(grown, this.#hashOf(value), value);
    }
    table.slots = grown;
    table.limit = Math.floor(grown.length * LOAD_MAX);
  }

  #split(table: Table, hash: number): void {
    assert(table.depth < DIRECTORY_BITS_MAX, "an index holds at most some 45 million values");
    if (table.depth === this.#depth) {
      this.#directory = this.#directory.flatMap((entry) => [entry, entry]);
      this.#depth++;
    }
    const slotCount = Math.ceil(table.count / 2 / LOAD_AFTER_SPLIT);
    const halves = [makeTable(slotCount, table.depth + 1), makeTable(slotCount, table.depth + 1)] as const;
    const bit = 31 - table.depth;
    for (const value of table.slots) {
      if (value === EMPTY) continue;
      const valueHash = this.#hashOf(value);
      const half = halves[(valueHash >>> bit) & 1] as Table;
      if (half.count >= half.limit) this.#grow(half);
      half.count++;
      place(half.slots, valueHash, value);
    }
    // The entries of the directory that share the table's bits: the first half of them go to one, the rest to the other.
    const span = 1 << (this.#depth - table.depth);
    const prefix = table.depth === 0 ? 0 : (hash >>> (32 - table.depth)) * span;
    for (let i = 0; i < span; i++) this.#directory[prefix + i] = halves[i < span / 2 ? 0 : 1];
  }
}

function makeTable(slotCount: number, depth: number): Table {
  return {
    slots: new Uint32Array(slotCount).fill(EMPTY),
    count: 0,
    limit: Math.floor(slotCount * LOAD_MAX),
    depth,
  };
}

function home(hash: number, length: number): number {
  return ((hash & PLACE_MASK) * length * PLACE_SCALE) >>> 0;
}

function place(slots: Uint32Array, hash: number, value: number): void {
  const length = slots.length;
  let slot = home(hash, length);
  while (slots[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
  slots[slot] = value;
}
