/**
 * What a fleet's crossings go through until they reach us: delays, lost coverage, retries, broken lines.
 *
 * Everything is delivered at a time of its own, and a line is written when nothing that has not happened yet could be
 * delivered before it. So lines leave in the order of delivery, which is not quite that of the ingest times and even less
 * that of the event times.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import { randomFrom } from "../tests/support/random.ts";
import { type Crossing, Fleet, MEAN_CYCLE_US, STOPS_PER_TOUR } from "./fleet.ts";
import { type Line, LineWriter } from "./line_writer.ts";
import { DEFAULT_SPAN_US, DEFAULT_START_US, type LoadOptions, type LoadSummary } from "./load_options.ts";
import { POISON_KINDS, poisonLine } from "./poison.ts";
import { TimeQueue } from "./time_queue.ts";

const SECOND_US = 1_000_000;

/** From a crossing to the gateway. */
const INGEST_US = [50_000, 900_000] as const;
/** From the gateway to us. */
const TRANSPORT_US = [1_000, 20_000] as const;
/** Until a copy follows: most retries at once, one in ten after what felt like an outage. */
const RETRY_US = [200_000, 4 * SECOND_US] as const;
const SLOW_RETRY_US = [4 * SECOND_US, 60 * SECOND_US] as const;
const SLOW_RETRY_SHARE = 0.1;
/** A crossing seen again is stamped this far from the first time at most: inside the guard. */
const RESTAMP_US = 199_000;
/** Crossings that a truck without coverage keeps. */
const KEPT_COUNT = [2, 8] as const;
/** Lines of an upload follow each other by this. */
const UPLOAD_STEP_US = 1_000;

/** Something on its way to us. */
interface Delivery extends Line {
  readonly type: "first" | "copy" | "poison";
  readonly late: boolean;
}

/** See the module's header. */
export class Gateway {
  readonly writer = new LineWriter();
  readonly #options: Required<LoadOptions>;
  readonly #random: () => number;
  readonly #fleet: Fleet;
  readonly #trucks: number;
  readonly #deliveries = new TimeQueue<Delivery>();
  /** What trucks without coverage keep, and how much it will be. */
  readonly #kept = new Map<number, { readonly crossings: Crossing[]; readonly count: number }>();
  readonly #poison = new Map<DeadLetterReason, number>();
  readonly #counts = { first: 0, ENTER: 0, EXIT: 0, STALE: 0, HEARTBEAT: 0, copy: 0, late: 0 };
  #lines = 0;

  /** Makes one with its fleet. */
  constructor(options: LoadOptions) {
    assert(
      Number.isSafeInteger(options.records) && options.records >= 0,
      "the number of records is a whole one",
    );
    const { records, spanUs = DEFAULT_SPAN_US } = options;
    const cycles = records / 2;
    const trucks = options.pairs === undefined
      ? Math.ceil(cycles * MEAN_CYCLE_US / spanUs)
      : Math.ceil(options.pairs / STOPS_PER_TOUR);
    this.#options = {
      startUs: DEFAULT_START_US,
      spanUs,
      pairs: trucks * STOPS_PER_TOUR,
      duplicateRatio: 0.03,
      lateRatio: 0,
      poisonRatio: 0,
      staleRatio: 0,
      heartbeatRatio: 0,
      seqRatio: 0.02,
      attributesRatio: 0.02,
      ...options,
    };
    this.#random = randomFrom(options.seed);
    this.#trucks = Math.max(1, trucks);
    const pace = spanUs * this.#trucks / Math.max(1, cycles) / MEAN_CYCLE_US;
    this.#fleet = new Fleet({
      trucks: this.#trucks,
      startUs: this.#options.startUs,
      pace,
      random: this.#random,
    });
  }

  /** Writes the next line: what is delivered before anything that has not happened yet. */
  writeNext(): void {
    while (this.#deliveries.nextUs > this.#fleet.nextUs) this.#cross(this.#fleet.cross());
    const delivery = this.#deliveries.pop();
    this.#lines++;
    if (delivery.type === "poison") {
      const kind = Math.floor(this.#random() * POISON_KINDS);
      const { reason, bytes } = poisonLine(kind, delivery.device, delivery.ingestTimeUs);
      this.#poison.set(reason, (this.#poison.get(reason) ?? 0) + 1);
      this.writer.writeRaw(bytes);
      return;
    }
    this.writer.write(delivery);
    if (delivery.type === "copy") {
      this.#counts.copy++;
      return;
    }
    this.#counts[delivery.kind]++;
    if (delivery.late) this.#counts.late++;
  }

  /** What was written, in so many bytes. */
  summary(bytes: number): LoadSummary {
    const { ENTER, EXIT, STALE, HEARTBEAT, copy, late } = this.#counts;
    return {
      lines: this.#lines,
      bytes,
      enters: ENTER,
      exits: EXIT,
      stales: STALE,
      heartbeats: HEARTBEAT,
      copies: copy,
      late,
      poison: Object.fromEntries(this.#poison),
      trucks: this.#trucks,
    };
  }

  #cross(crossing: Crossing): void {
    const kept = this.#kept.get(crossing.truck);
    if (kept !== undefined) {
      kept.crossings.push(crossing);
      if (kept.crossings.length >= kept.count) this.#upload(crossing.truck, kept.crossings);
      return;
    }
    const { lateRatio } = this.#options;
    // Of what is kept all but the last is late.
    const lateMean = (KEPT_COUNT[0] + KEPT_COUNT[1]) / 2 - 1;
    if (lateRatio > 0 && this.#random() * lateMean * (1 - lateRatio) < lateRatio) {
      this.#kept.set(crossing.truck, { crossings: [crossing], count: Math.round(this.#between(KEPT_COUNT)) });
      return;
    }
    this.#deliver(crossing, crossing.timeUs + this.#between(INGEST_US), "on time");
  }

  /** Coverage again: all at once, oldest or newest first, the last crossing (it is live) before or behind the rest. */
  #upload(truck: number, crossings: Crossing[]): void {
    this.#kept.delete(truck);
    const live = crossings.pop() as Crossing;
    const liveFirst = this.#random() < 0.5;
    if (this.#random() < 0.5) crossings.reverse();
    const atUs = live.timeUs + this.#between(INGEST_US);
    const uploadUs = atUs + UPLOAD_STEP_US * (crossings.length + 1);
    this.#deliver(live, liveFirst ? atUs : uploadUs, "on time");
    crossings.forEach((crossing, i) => this.#deliver(crossing, atUs + UPLOAD_STEP_US * (i + 1), "late"));
  }

  #deliver(crossing: Crossing, ingestTimeUs: number, when: "on time" | "late"): void {
    const { truck, stop, entered, seq } = crossing;
    const { duplicateRatio, poisonRatio, staleRatio, heartbeatRatio, seqRatio, attributesRatio } =
      this.#options;
    const random = this.#random;
    const first: Delivery = {
      type: "first",
      late: when === "late",
      device: Fleet.truckName(truck),
      fence: this.#fleet.fenceName(truck, stop),
      kind: entered ? "ENTER" : random() < staleRatio ? "STALE" : "EXIT",
      eventTimeUs: crossing.timeUs,
      ingestTimeUs,
      place: Math.floor(random() * 10_000),
      seq: truck < this.#trucks * seqRatio ? seq : null,
      hasAttributes: random() < attributesRatio,
    };
    // An upload comes through one connection, in its order.
    const deliveredUs = ingestTimeUs + (when === "late" ? TRANSPORT_US[1] : this.#between(TRANSPORT_US));
    this.#deliveries.push(deliveredUs, first);
    if (random() < duplicateRatio) this.#copy(first, deliveredUs);
    if (random() < poisonRatio) this.#deliveries.push(deliveredUs, { ...first, type: "poison" });
    if (random() < heartbeatRatio) {
      this.#deliveries.push(deliveredUs, {
        ...first,
        kind: "HEARTBEAT",
        eventTimeUs: ingestTimeUs,
        late: false,
      });
    }
  }

  #copy(first: Delivery, deliveredUs: number): void {
    const waitUs = this.#between(this.#random() < SLOW_RETRY_SHARE ? SLOW_RETRY_US : RETRY_US);
    const exact: Delivery = { ...first, type: "copy" };
    const again = this.#random() < 0.5 ? exact : {
      ...exact,
      eventTimeUs: first.eventTimeUs + this.#between([-RESTAMP_US, RESTAMP_US]),
      ingestTimeUs: first.ingestTimeUs + waitUs,
    };
    this.#deliveries.push(deliveredUs + waitUs, again);
  }

  /** An integer of a range. */
  #between([least, most]: readonly [number, number]): number {
    return least + Math.floor(this.#random() * (most - least));
  }
}
