/**
 * From a 32-bit hash to the numbers stored under it: open addressing in tables that split, so that it grows without a
 * stall.
 *
 * ```
 *   hash       ├── directory: as many of its first bits as needed ──┤          ├── 20 bits: where in the table ──┤
 *
 *   directory  [ A A B C ]      A table that has come to 4,096 slots splits in two by its next bit. The directory,
 *                               up to 4,096 entries, doubles when its longest prefix does.
 *
 *   slot       26 bits of value, 6 bits of how far from its place it stands
 * ```
 *
 * Who stands farther from its place goes before those that stand nearer to theirs (Celis, "Robin Hood Hashing", 1986). So
 * a look-up stops at the first that stands nearer than what is sought would, and only those of the same place are handed
 * out as candidates: each costs the caller a cache miss. What leaves is followed up by those behind it, whose hashes
 * nobody has to look up for that.
 *
 * One table that doubles at two million entries holds the event loop up for far more than 5 ms; a split moves some 3,300
 * entries, under a millisecond even where several come in one turn. Behind some 13 million entries the directory has taken
 * all the bits that the place in a table leaves it, and tables grow instead. Small tables grow by three fifths, and halves begin at a load of 0.6, so on average a slot
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

/** No (further) candidate. Values are below it. */
export const EMPTY = 0x3ff_ffff;

const FREE = -1;
const DISTANCE_BITS = 6;
/** Stands for itself and all that are greater. */
const DISTANCE_MAX = (1 << DISTANCE_BITS) - 1;

const SLOTS_FIRST = 16;
const SLOTS_MAX = 4096;
const LOAD_MAX = 0.8;
const LOAD_AFTER_SPLIT = 0.6;
/** From the {@link LOAD_AFTER_SPLIT} of a half the next growth is the last before it splits. */
const GROWTH = 1.6;
const PLACE_BITS = 20;
const PLACE_MASK = (1 << PLACE_BITS) - 1;
const PLACE_SCALE = 1 / (1 << PLACE_BITS);
/** No bit of a hash says both which table and where in it: all of a table would stand in one part of it. */
const DIRECTORY_BITS_MAX = 32 - PLACE_BITS;

/**
 * Bytes of the tables of an index that has come to so many values: the sum of what {@link HashIndex} allocates where all
 * tables are alike, as those of good hashes nearly are.
 */
export function indexBytes(count: number): number {
  let tables = 1;
  while (count / tables > SLOTS_MAX * LOAD_MAX && tables < 1 << DIRECTORY_BITS_MAX) tables *= 2;
  let slots = tables === 1 ? SLOTS_FIRST : Math.ceil(SLOTS_MAX * LOAD_MAX / 2 / LOAD_AFTER_SPLIT);
  while (slots * LOAD_MAX < count / tables) {
    const grown = Math.ceil(slots * GROWTH);
    slots = slots < SLOTS_MAX ? Math.min(SLOTS_MAX, grown) : grown;
  }
  return tables * slots * 4;
}

interface Table {
  slots: Int32Array;
  count: number;
  limit: number;
  /** How many first bits all its hashes share. */
  readonly depth: number;
}

/** See the module's header. Hashes are 32 bits, signed or not. */
export class HashIndex {
  readonly #hashOf: (value: number) => number;
  #directory: Table[] = [makeTable(SLOTS_FIRST, 0)];
  /** Shift that leaves a hash's directory bits; 32 stands for none of them. */
  #depth = 0;
  #size = 0;
  /** Where the last look-up stands: at a candidate, or where what was sought belongs. */
  #slots: Int32Array = (this.#directory[0] as Table).slots;
  #slot = 0;
  #distance = 0;
  /** What is being moved from one table to another. */
  #moved = new Int32Array(SLOTS_MAX);
  #movedHashes = new Int32Array(SLOTS_MAX);

  /**
   * An empty index.
   *
   * @param hashOf tells a stored value's hash again, when a table grows or splits
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
    return this.#seek(slots, home(hash, slots.length), 0);
  }

  /** Which value stands where one with this hash would stand first, whether it has that hash or not, or {@link EMPTY}. */
  peek(hash: number): number {
    const slots = this.#tableOf(hash).slots;
    return (slots[home(hash, slots.length)] as number) >>> DISTANCE_BITS;
  }

  /** The candidate after the one that {@link first} or this returned last, or {@link EMPTY}. */
  following(): number {
    const slots = this.#slots;
    const slot = this.#slot + 1;
    return this.#seek(slots, slot === slots.length ? 0 : slot, this.#distance + 1);
  }

  /** Adds a value under its hash. The caller has made sure that it is not there. */
  insert(hash: number, value: number): void {
    const table = this.#tableWithRoom(hash);
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
    pushIn(this.#slots, this.#slot, value, this.#distance);
  }

  /**
   * Puts another value in the place of the candidate returned last, which must have the same hash: an entry moves
   * without a removal.
   */
  replaceCurrent(value: number): void {
    const distance = (this.#slots[this.#slot] as number) & DISTANCE_MAX;
    this.#slots[this.#slot] = (value << DISTANCE_BITS) | distance;
  }

  /** Takes a value out, if it is there. Those behind it move up, so that no tombstones are left. */
  remove(hash: number, value: number): void {
    const table = this.#tableOf(hash);
    const slots = table.slots;
    const length = slots.length;
    let slot = home(hash, length);
    for (let distance = 0;; distance++) {
      const word = slots[slot] as number;
      if (word >>> DISTANCE_BITS === value) break;
      if (word === FREE || (word & DISTANCE_MAX) < Math.min(distance, DISTANCE_MAX)) return;
      slot = slot + 1 === length ? 0 : slot + 1;
    }
    for (;;) {
      const next = slot + 1 === length ? 0 : slot + 1;
      const word = slots[next] as number;
      const distance = word & DISTANCE_MAX;
      if (word === FREE || distance === 0) break;
      slots[slot] = distance < DISTANCE_MAX ? word - 1 : this.#nearer(word, next, length);
      slot = next;
    }
    slots[slot] = FREE;
    table.count--;
    this.#size--;
  }

  /** Walks from a slot to the next candidate. */
  #seek(slots: Int32Array, slot: number, distance: number): number {
    for (;; distance++) {
      const word = slots[slot] as number;
      const ahead = (word & DISTANCE_MAX) - Math.min(distance, DISTANCE_MAX);
      if (ahead <= 0 || word === FREE) {
        this.#slot = slot;
        this.#distance = distance;
        return ahead === 0 && word !== FREE ? word >>> DISTANCE_BITS : EMPTY;
      }
      slot = slot + 1 === slots.length ? 0 : slot + 1;
    }
  }

  /** What becomes of a word whose distance does not fit, one slot nearer. */
  #nearer(word: number, slot: number, length: number): number {
    const value = word >>> DISTANCE_BITS;
    const away = slot - home(this.#hashOf(value), length);
    const distance = (away < 0 ? away + length : away) - 1;
    return (value << DISTANCE_BITS) | Math.min(distance, DISTANCE_MAX);
  }

  #tableOf(hash: number): Table {
    return this.#directory[this.#depth === 0 ? 0 : hash >>> (32 - this.#depth)] as Table;
  }

  #tableWithRoom(hash: number): Table {
    for (;;) {
      const table = this.#tableOf(hash);
      if (table.count < table.limit) return table;
      // Where the directory ends, as with very many equal hashes, there is nothing to be had from another split.
      if (table.slots.length < SLOTS_MAX || table.depth === DIRECTORY_BITS_MAX) this.#grow(table);
      else this.#split(table, hash);
    }
  }

  /**
   * The values of a table and, in {@link #movedHashes}, their hashes; returns how many. All of them before any is placed: a
   * hash is a cache miss of the caller's, and the processor waits for several at a time where nothing comes in between.
   */
  #gather(table: Table): number {
    if (this.#moved.length < table.count) {
      this.#moved = new Int32Array(table.slots.length);
      this.#movedHashes = new Int32Array(table.slots.length);
    }
    const values = this.#moved;
    const hashes = this.#movedHashes;
    let count = 0;
    for (const word of table.slots) {
      if (word !== FREE) values[count++] = word >>> DISTANCE_BITS;
    }
    for (let i = 0; i < count; i++) hashes[i] = this.#hashOf(values[i] as number);
    return count;
  }

  #grow(table: Table): void {
    const old = table.slots;
    const count = this.#gather(table);
    const length = Math.ceil(old.length * GROWTH);
    const grown = new Int32Array(old.length < SLOTS_MAX ? Math.min(SLOTS_MAX, length) : length).fill(FREE);
    for (let i = 0; i < count; i++) place(grown, this.#movedHashes[i] as number, this.#moved[i] as number);
    table.slots = grown;
    table.limit = Math.floor(grown.length * LOAD_MAX);
  }

  #split(table: Table, hash: number): void {
    if (table.depth === this.#depth) {
      this.#directory = this.#directory.flatMap((entry) => [entry, entry]);
      this.#depth++;
    }
    const bit = 31 - table.depth;
    const count = this.#gather(table);
    const values = this.#moved;
    const hashes = this.#movedHashes;
    let ones = 0;
    for (let i = 0; i < count; i++) ones += ((hashes[i] as number) >>> bit) & 1;
    const halves = [count - ones, ones].map((half) => {
      const slotCount = Math.max(SLOTS_FIRST, Math.ceil(half / LOAD_AFTER_SPLIT));
      return { ...makeTable(slotCount, table.depth + 1), count: half };
    }) as [Table, Table];
    for (let i = 0; i < count; i++) {
      const hash = hashes[i] as number;
      place((halves[(hash >>> bit) & 1] as Table).slots, hash, values[i] as number);
    }
    // The entries of the directory that share the table's bits: the first half of them go to one, the rest to the other.
    const span = 1 << (this.#depth - table.depth);
    const prefix = table.depth === 0 ? 0 : (hash >>> (32 - table.depth)) * span;
    for (let i = 0; i < span; i++) this.#directory[prefix + i] = halves[i < span / 2 ? 0 : 1];
  }
}

function makeTable(slotCount: number, depth: number): Table {
  return {
    slots: new Int32Array(slotCount).fill(FREE),
    count: 0,
    limit: Math.floor(slotCount * LOAD_MAX),
    depth,
  };
}

function home(hash: number, length: number): number {
  return ((hash & PLACE_MASK) * length * PLACE_SCALE) >>> 0;
}

function place(slots: Int32Array, hash: number, value: number): void {
  let slot = home(hash, slots.length);
  for (let distance = 0;; distance++) {
    const word = slots[slot] as number;
    if (word === FREE || (word & DISTANCE_MAX) < Math.min(distance, DISTANCE_MAX)) {
      pushIn(slots, slot, value, distance);
      return;
    }
    slot = slot + 1 === slots.length ? 0 : slot + 1;
  }
}

/** Puts a value into a slot; who stood there and those behind move on by one, up to the first free slot. */
function pushIn(slots: Int32Array, slot: number, value: number, distance: number): void {
  let word = (value << DISTANCE_BITS) | Math.min(distance, DISTANCE_MAX);
  for (;;) {
    const next = slots[slot] as number;
    slots[slot] = word;
    if (next === FREE) return;
    word = (next & DISTANCE_MAX) < DISTANCE_MAX ? next + 1 : next;
    slot = slot + 1 === slots.length ? 0 : slot + 1;
  }
}
