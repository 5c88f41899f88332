/**
 * What each dedup window in memory has to be able to do to be compared, and those that one would take from the shelf.
 *
 * Each gets ids in the form that it likes best, made beforehand: making them costs nothing here.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import { DedupWindow } from "../../lib/dedup_window.ts";
import { hexOf } from "./hex_of.ts";

/** The dedup clock, µs. */
export interface WindowClock {
  nowUs: number;
}

/** Bounds. */
export interface WindowOptions {
  /** So many ids live at once. */
  readonly ids: number;
  readonly ttlUs: number;
  readonly clock: WindowClock;
}

/** A window in this process. */
export interface Window<Id> {
  /** By its own count, where it keeps one. */
  readonly byteLength?: number;
  /** The id that four words are; it may be used once, and before the next one is made. */
  idOf(lanes: Int32Array): Id;
  /** Whether it was new. */
  admit(id: Id): boolean;
  /** Puts in an id that is new; the same as `admit` where nothing else is said. */
  fill?(id: Id, left: number): void;
}

function bigintOf(lanes: Int32Array): bigint {
  const [low, high] = new BigUint64Array(lanes.buffer, lanes.byteOffset, 2);
  return ((high ?? 0n) << 64n) | (low ?? 0n);
}

/**
 * A `Map` of ids and when they came: insertion order is expiry order. One iterator for long: a new one for each id steps
 * over all that were deleted before, 0.5 ms of it at 5 million.
 */
export class MapWindow<Id extends string | bigint> implements Window<Id> {
  readonly idOf: (lanes: Int32Array) => Id;
  readonly #options: WindowOptions;
  readonly #map = new Map<Id, number>();
  #ids = this.#map.keys();
  #oldest: Id | undefined;

  /** An empty one; see {@link mapOfStrings} and {@link mapOfBigints}. */
  constructor(options: WindowOptions, idOf: (lanes: Int32Array) => Id) {
    this.#options = options;
    this.idOf = idOf;
  }

  admit(id: Id): boolean {
    this.expire();
    if (this.#map.has(id)) return false;
    this.add(id);
    return true;
  }

  /** Puts an id in that is not there. */
  add(id: Id): void {
    this.#map.set(id, this.#options.clock.nowUs);
  }

  /** Lets go of what has expired. */
  expire(): void {
    const beforeUs = this.#options.clock.nowUs - this.#options.ttlUs;
    while (this.#map.size > 0) {
      if (this.#oldest === undefined) {
        const next = this.#ids.next();
        // One that has come to its end does not go on, whatever comes.
        if (next.done) this.#ids = this.#map.keys();
        this.#oldest = next.value;
        continue;
      }
      if ((this.#map.get(this.#oldest) as number) > beforeUs) return;
      this.#map.delete(this.#oldest);
      this.#oldest = undefined;
    }
  }

  /** Whether it is there and has not expired. */
  has(id: Id): boolean {
    this.expire();
    return this.#map.has(id);
  }
}

/** With ids as strings. */
export function mapOfStrings(options: WindowOptions): MapWindow<string> {
  return new MapWindow(options, hexOf);
}

/** With ids as bigints. */
export function mapOfBigints(options: WindowOptions): MapWindow<bigint> {
  return new MapWindow(options, bigintOf);
}

/** npm's `lru-cache` with a ttl, as large as the ids that live at once. */
export function lruCache({ ids, ttlUs, clock }: WindowOptions): Window<string> {
  const cache = new LRUCache<string, true>({
    max: ids,
    // Its unit is that of its clock; it keeps what is as old as the ttl, and the others do not.
    ttl: ttlUs - 1,
    // It asks each time. With a resolution it would keep the time until a timer of the host's says otherwise.
    ttlResolution: 0,
    perf: { now: () => clock.nowUs },
  });
  return {
    idOf: hexOf,
    admit(id): boolean {
      if (cache.has(id)) return false;
      cache.set(id, true);
      return true;
    },
  };
}

/** Ids put in before expired ones are let go, as a partition does it, once a batch. */
const EXPIRE_ADMITS = 128;

/** Ours: `lib/dedup_window.ts`. */
export function ourWindow({ ids, ttlUs, clock }: WindowOptions): Window<Int32Array> {
  const window = new DedupWindow({ ttlUs, capacity: 2 * ids });
  let admits = 0;
  return {
    get byteLength(): number {
      return window.byteLength;
    },
    idOf: (lanes) => lanes,
    admit(lanes): boolean {
      window.clockUs = clock.nowUs;
      window.oldestClockUs = clock.nowUs;
      // The admit that it falls to pays for all of them.
      if (++admits % EXPIRE_ADMITS === 0) window.expire();
      return window.admit(lanes, 0);
    },
  };
}
