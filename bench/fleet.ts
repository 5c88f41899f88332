/**
 * A delivery fleet: trucks that leave depots, pass tolls, call at customers and come back, for ever.
 *
 * ```
 *   depot 20–60 min ─ drive 3–14 min ─ customer 2–22 min ─ drive ─ toll 6–42 s ─ drive ─ customer … ─ depot
 * ```
 *
 * A tour has 12 stops, and a truck calls at the same 12 each time: so it has 12 pairs. A depot is shared by some 250
 * trucks, a toll by thousands, a customer by a few. Where a truck stops is computed and not stored, so that a fleet of a
 * million trucks is three small arrays.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";
import { TimeQueue } from "./time_queue.ts";

/** Stops of a tour, so pairs of a truck. */
export const STOPS_PER_TOUR = 12;

const MINUTE_US = 60_000_000;
/** A truck neither stays nor drives for less, however much is to happen in how little time: wider than a bucket. */
const SHORTEST_US = 3_000_000;

/** Least and most minutes. */
const DEPOT_MINUTES = [20, 60] as const;
const CUSTOMER_MINUTES = [2, 22] as const;
const TOLL_MINUTES = [0.1, 0.7] as const;
const DRIVE_MINUTES = [3, 14] as const;

const DEPOT = 0;
const TOLL = 1;
const CUSTOMER = 2;
const NAME_PREFIXES = ["depot-", "toll-", "customer-"] as const;
const NAME_DIGITS = [4, 4, 6] as const;
const STAYS = [DEPOT_MINUTES, TOLL_MINUTES, CUSTOMER_MINUTES] as const;
const TOUR = [
  DEPOT,
  CUSTOMER,
  CUSTOMER,
  TOLL,
  CUSTOMER,
  CUSTOMER,
  CUSTOMER,
  CUSTOMER,
  TOLL,
  CUSTOMER,
  CUSTOMER,
  CUSTOMER,
] as const;

/** How many stops of a tour are of each type, and the how-many-eth of its type each stop is. */
const STOPS_OF_TYPE = [0, 0, 0] as [number, number, number];
const STOP_RANKS = TOUR.map((type) => STOPS_OF_TYPE[type]++);

const TRUCKS_PER_DEPOT = 250;
const TOLLS = 40;
const CUSTOMERS_PER_TRUCK = 3;

/** How long a stop and the drive to the next one take on average, µs. */
export const MEAN_CYCLE_US = (mean(DRIVE_MINUTES) +
  TOUR.reduce<number>((sum, type) => sum + mean(STAYS[type]), 0) / STOPS_PER_TOUR) * MINUTE_US;

/** A truck crossed a fence. */
export interface Crossing {
  readonly truck: number;
  /** 0 to 11: which of its stops. */
  readonly stop: number;
  readonly entered: boolean;
  /** µs since the epoch. */
  readonly timeUs: number;
  /** The truck's number for it, from 0. */
  readonly seq: number;
}

/** What a fleet is like. */
export interface FleetOptions {
  readonly trucks: number;
  readonly startUs: number;
  /** All durations are this many times the usual ones. */
  readonly pace: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

/** See the module's header. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #next = new TimeQueue<number>();
  /** Crossings so far, of each truck: an even number is outside. */
  readonly #crossings: Uint32Array;

  constructor(options: FleetOptions) {
    assert(options.trucks >= 1, "a fleet has trucks");
    this.#options = options;
    this.#crossings = new Uint32Array(options.trucks);
    for (let truck = 0; truck < options.trucks; truck++) {
      // Somewhere on the tour, so that they don't all leave their depots at once.
      this.#crossings[truck] = 2 * Math.floor(options.random() * STOPS_PER_TOUR);
      this.#next.push(options.startUs + Math.floor(options.random() * MEAN_CYCLE_US * options.pace), truck);
    }
  }

  /** When the next crossing is, µs since the epoch. */
  get nextUs(): number {
    return this.#next.nextUs;
  }

  /** The next crossing of any truck. */
  cross(): Crossing {
    const timeUs = this.#next.nextUs;
    const truck = this.#next.pop();
    const seq = this.#crossings[truck] as number;
    this.#crossings[truck] = seq + 1;
    const entered = seq % 2 === 0;
    const stop = (seq >> 1) % STOPS_PER_TOUR;
    const [least, most] = entered ? STAYS[TOUR[stop] as 0 | 1 | 2] : DRIVE_MINUTES;
    const { pace, random } = this.#options;
    const takesUs = Math.floor((least + random() * (most - least)) * MINUTE_US * pace);
    this.#next.push(timeUs + Math.max(SHORTEST_US, takesUs), truck);
    return { truck, stop, entered, timeUs, seq };
  }

  /** A truck's `device_id`. */
  static truckName(truck: number): string {
    return `truck-${String(truck).padStart(6, "0")}`;
  }

  /** The `fence_id` of one of a truck's stops. */
  fenceName(truck: number, stop: number): string {
    const type = TOUR[stop] as 0 | 1 | 2;
    return NAME_PREFIXES[type] +
      String(this.#fenceNumber(type, truck, stop)).padStart(NAME_DIGITS[type], "0");
  }

  #fenceNumber(type: 0 | 1 | 2, truck: number, stop: number): number {
    if (type === DEPOT) return Math.floor(truck / TRUCKS_PER_DEPOT);
    // Two stops of a truck are never one fence: their remainders by the stops of that type differ.
    const stops = STOPS_OF_TYPE[type];
    const groups = type === TOLL
      ? TOLLS / stops
      : Math.ceil(this.#options.trucks * CUSTOMERS_PER_TRUCK / stops);
    return scatter(truck * STOPS_PER_TOUR + stop) % groups * stops + (STOP_RANKS[stop] as number);
  }
}

function mean([least, most]: readonly [number, number]): number {
  return (least + most) / 2;
}

/** An integer that looks unrelated to its neighbours' (murmur3's finalizer). */
function scatter(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
