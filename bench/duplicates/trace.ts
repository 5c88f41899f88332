/**
 * Twelve hours of crossings of which it is known what they are: some records are copies, and each says of which crossing.
 *
 * ```
 *   pair    ENTER ── stay ── EXIT ── away ── ENTER …       a stay or an absence takes minutes, or, rarely, seconds
 *             ├─▶ the record
 *             ├─▶ a retry: after 0.2 to 4 s       the same bytes, or seen anew and stamped up to 200 ms beside it
 *             └─▶ a replay: after 10 to 240 s     likewise
 * ```
 *
 * A genuine re-entry comes 5 s after the ENTER before at the soonest. All copies come within the window's time to live, so
 * that what is compared is the keys and not the memory. Rows are columns of typed arrays in the order of arrival.
 *
 * @module
 */
import { randomFrom } from "../../tests/support/random.ts";
import { deviceName, fenceName } from "../engine/inside_load.ts";

const SECOND_US = 1_000_000;
const START_US = Date.UTC(2025, 4, 5, 4) * 1000;
/** From a crossing to its arrival. */
const ARRIVAL_US = [50_000, 900_000] as const;
const RETRY_US = [200_000, 4 * SECOND_US] as const;
const REPLAY_US = [10 * SECOND_US, 240 * SECOND_US] as const;
/** A stay or an absence of the usual length, and one after which the pair is seen again in seconds. */
const LONG_US = [60 * SECOND_US, 3600 * SECOND_US] as const;
const SHORT_US = [2.5 * SECOND_US, 30 * SECOND_US] as const;

/** What a trace is made of; it is printed beside what came of it. */
export interface TraceOptions {
  readonly seed: number;
  /** Rows, about. */
  readonly records: number;
  readonly spanUs: number;
  /** Copies among all rows. */
  readonly copyShare: number;
  /** Copies that are stamped anew; the others have the same bytes. */
  readonly restampedShare: number;
  /** How far from the first stamp they are at most. */
  readonly restampUs: number;
  /** Copies that are replayed, rather than retried. */
  readonly replayedShare: number;
  /** Visits after which the pair is there again in 5 to 60 s. */
  readonly quickShare: number;
}

/** The trace of the reference figures, as far as it is described. */
export const TRACE: TraceOptions = {
  seed: 1,
  records: 1_000_000,
  spanUs: 12 * 3600 * SECOND_US,
  copyShare: 0.06,
  restampedShare: 0.6,
  restampUs: 200_000,
  replayedShare: 0.3,
  quickShare: 0.005,
};

/** A trace: row i is the record that arrived as the i-th. */
export interface Trace {
  readonly rows: number;
  readonly pairs: number;
  readonly crossings: number;
  readonly copies: number;
  readonly pairOf: Uint32Array;
  /** 1 for an ENTER, 0 for an EXIT. */
  readonly isEnter: Uint8Array;
  readonly eventUs: Float64Array;
  /** Ascending. */
  readonly arrivalUs: Float64Array;
  /** Which crossing a row tells of. */
  readonly crossingOf: Uint32Array;
}

/** A pair's ids, one behind the other. */
export interface PairIds {
  readonly bytes: Uint8Array;
  readonly deviceEnd: number;
}

/** The ids of a pair of a trace. */
export function idsOf(pair: number): PairIds {
  const device = deviceName(pair);
  return { bytes: new TextEncoder().encode(device + fenceName(pair)), deviceEnd: device.length };
}

/** Generates a trace. */
export function generateTrace(options: TraceOptions): Trace {
  const { records, spanUs, copyShare } = options;
  const random = randomFrom(options.seed);
  const between = ([least, most]: readonly [number, number]): number =>
    least + Math.floor(random() * (most - least));
  // Of the usual lengths there are as many short ones as long ones.
  const usually = ([least, most]: readonly [number, number]): number =>
    Math.floor(least * (most / least) ** random());
  const rows = new Rows(Math.ceil(records * 1.1) + 1000);
  let pairs = 0;
  let crossings = 0;
  let copies = 0;
  const cross = (isEnter: 0 | 1, eventUs: number): void => {
    const crossing = crossings++;
    const arrivalUs = eventUs + between(ARRIVAL_US);
    rows.add({ pair: pairs, isEnter, eventUs, arrivalUs, crossing });
    // Geometric, so that some have two: each copy is of the crossing, and not of another copy.
    while (random() < copyShare) {
      const isReplayed = random() < options.replayedShare;
      const restampUs = random() < options.restampedShare
        ? between([-options.restampUs, options.restampUs + 1])
        : 0;
      const waitUs = between(isReplayed ? REPLAY_US : RETRY_US);
      rows.add({
        pair: pairs,
        isEnter,
        eventUs: eventUs + restampUs,
        arrivalUs: arrivalUs + waitUs,
        crossing,
      });
      copies++;
    }
  };
  for (; rows.count < records; pairs++) {
    let timeUs = START_US + usually(LONG_US);
    while (timeUs < START_US + spanUs && rows.count < records) {
      const isQuick = random() < options.quickShare;
      cross(1, timeUs);
      timeUs += isQuick ? between(SHORT_US) : usually(LONG_US);
      cross(0, timeUs);
      timeUs += isQuick ? between(SHORT_US) : usually(LONG_US);
    }
  }
  return { ...rows.inOrder(), pairs, crossings, copies };
}

/** A row to be. */
interface Row {
  readonly pair: number;
  readonly isEnter: 0 | 1;
  readonly eventUs: number;
  readonly arrivalUs: number;
  readonly crossing: number;
}

/** Rows in the order in which they happen to be made. */
class Rows {
  count = 0;
  readonly #pairOf: Uint32Array;
  readonly #isEnter: Uint8Array;
  readonly #eventUs: Float64Array;
  readonly #arrivalUs: Float64Array;
  readonly #crossingOf: Uint32Array;

  constructor(capacity: number) {
    this.#pairOf = new Uint32Array(capacity);
    this.#isEnter = new Uint8Array(capacity);
    this.#eventUs = new Float64Array(capacity);
    this.#arrivalUs = new Float64Array(capacity);
    this.#crossingOf = new Uint32Array(capacity);
  }

  add({ pair, isEnter, eventUs, arrivalUs, crossing }: Row): void {
    const row = this.count++;
    this.#pairOf[row] = pair;
    this.#isEnter[row] = isEnter;
    this.#eventUs[row] = eventUs;
    this.#arrivalUs[row] = arrivalUs;
    this.#crossingOf[row] = crossing;
  }

  /** All of them by arrival. */
  inOrder(): Omit<Trace, "pairs" | "crossings" | "copies"> {
    const order = this.#order();
    return {
      rows: order.length,
      pairOf: order.map((row) => this.#pairOf[row] as number),
      isEnter: Uint8Array.from(order, (row) => this.#isEnter[row] as number),
      eventUs: Float64Array.from(order, (row) => this.#eventUs[row] as number),
      arrivalUs: Float64Array.from(order, (row) => this.#arrivalUs[row] as number),
      crossingOf: order.map((row) => this.#crossingOf[row] as number),
    };
  }

  #order(): Uint32Array {
    const order = Uint32Array.from({ length: this.count }, (_, row) => row);
    const arrivalUs = this.#arrivalUs;
    return order.sort((a, b) => (arrivalUs[a] as number) - (arrivalUs[b] as number) || a - b);
  }
}
