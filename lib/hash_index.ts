/**
 * From a 32-bit hash to the numbers stored under it: open addressing that grows without a stall.
 *
 * ```
 *   hash  ├── 8 bits ──┤├────────── 24 bits ──────────┤
 *             which table        where in that table (multiply-shift: a table need not be a power of two)
 * ```
 *
 * One table that doubles at two million entries holds the event loop up for far more than 5 ms. So there are 256 small
 * ones, each of which grows by itself by a third: the longest pause is that of one table (some 10,000 entries at two
 * million, under a millisecond), and on average a slot costs 4 / 0.7 bytes. A `Map` costs 77 to 190 bytes a key.
 *
 * The index knows nothing of keys: the caller walks the candidates of a hash and compares.
 *
 * ```ts
 * import { EMPTY, HashIndex } from "./hash_index.ts";
 *
 * const index = new HashIndex((value) => value * 0x9E3779B1);
 * index.insert(7 * 0x9E3779B1, 7);
 * let value = index.first(7 * 0x9E3779B1);
 * while (value !== EMPTY && value !== 7) value = index.following();
 * ```
 *
 * @module
 */

/** No (further) candidate. Values are below it. */
export const EMPTY = 0xffff_ffff;

const TABLE_COUNT = 256;
const SLOTS_FIRST = 8;
const LOAD_MAX = 0.8;
const GROWTH = 4 / 3;
const TWO_TO_24 = 0x100_0000;

/** See the module's header. */
export class HashIndex {
  readonly #tables: Uint32Array[] = [];
  readonly #counts = new Uint32Array(TABLE_COUNT);
  readonly #limits = new Uint32Array(TABLE_COUNT);
  readonly #hashOf: (value: number) => number;
  #table: Uint32Array;
  #slot = 0;
  #size = 0;

  /** @param hashOf tells a stored value's hash again, when a table grows or an entry leaves */
  constructor(hashOf: (value: number) => number) {
    this.#hashOf = hashOf;
    for (let i = 0; i < TABLE_COUNT; i++) {
      this.#tables.push(new Uint32Array(SLOTS_FIRST).fill(EMPTY));
      this.#limits[i] = Math.floor(SLOTS_FIRST * LOAD_MAX);
    }
    this.#table = this.#tables[0] as Uint32Array;
  }

  /** How many values there are. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of all tables. */
  get byteLength(): number {
    let sum = 0;
    for (const table of this.#tables) sum += table.byteLength;
    return sum;
  }

  /** The first value that may have this hash, or {@link EMPTY}. */
  first(hash: number): number {
    const table = this.#tables[hash >>> 24] as Uint32Array;
    this.#table = table;
    const slot = Math.floor((hash & 0xff_ffff) * table.length / TWO_TO_24);
    this.#slot = slot;
    return table[slot] as number;
  }

  /** The candidate after the one that {@link first} or this returned last, or {@link EMPTY}. */
  following(): number {
    const table = this.#table;
    let slot = this.#slot + 1;
    if (slot === table.length) slot = 0;
    this.#slot = slot;
    return table[slot] as number;
  }

  /** Adds a value under its hash. The caller has made sure that it is not there. */
  insert(hash: number, value: number): void {
    const number = hash >>> 24;
    if ((this.#counts[number] as number) >= (this.#limits[number] as number)) this.#grow(number);
    this.#counts[number] = (this.#counts[number] as number) + 1;
    this.#size++;
    place(this.#tables[number] as Uint32Array, hash, value);
  }

  /**
   * Puts another value in the place of the candidate returned last, which must have the same hash: an entry moves
   * without a removal.
   */
  replaceCurrent(value: number): void {
    this.#table[this.#slot] = value;
  }

  /** Takes a value out. Those behind it move up, so that no tombstones are left. */
  remove(hash: number, value: number): void {
    const number = hash >>> 24;
    const table = this.#tables[number] as Uint32Array;
    const length = table.length;
    let hole = home(hash, length);
    while (table[hole] !== value) {
      if (table[hole] === EMPTY) return;
      hole = hole + 1 === length ? 0 : hole + 1;
    }
    let slot = hole;
    for (;;) {
      slot = slot + 1 === length ? 0 : slot + 1;
      const candidate = table[slot] as number;
      if (candidate === EMPTY) break;
      const wanted = home(this.#hashOf(candidate), length);
      // The candidate may fill the hole unless its own place lies between the hole and itself (cyclically).
      const reachable = hole <= slot ? wanted <= hole || wanted > slot : wanted <= hole && wanted > slot;
      if (reachable) {
        table[hole] = candidate;
        hole = slot;
      }
    }
    table[hole] = EMPTY;
    this.#counts[number] = (this.#counts[number] as number) - 1;
    this.#size--;
  }

  #grow(number: number): void {
    const old = this.#tables[number] as Uint32Array;
    const table = new Uint32Array(Math.ceil(old.length * GROWTH) + 1).fill(EMPTY);
    for (const value of old) {
      if (value !== EMPTY) place(table, this.#hashOf(value), value);
    }
    this.#tables[number] = table;
    this.#limits[number] = Math.floor(table.length * LOAD_MAX);
  }
}

function home(hash: number, length: number): number {
  return Math.floor((hash & 0xff_ffff) * length / TWO_TO_24);
}

function place(table: Uint32Array, hash: number, value: number): void {
  const length = table.length;
  let slot = home(hash, length);
  while (table[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
  table[slot] = value;
}
