/**
 * Streams in which nothing is late: crossings of a few pairs, each of a microsecond of its own, that reach the source in
 * any order that lateness allows. For them SPEC 3 promises that the DWELLs are a function of the set of records alone.
 *
 * @module
 */
import { Chance } from "./chance.ts";

/** A crossing. */
export interface Crossing {
  readonly kind: "ENTER" | "EXIT" | "STALE";
  readonly deviceId: string;
  readonly fenceId: string;
  readonly eventUs: number;
  readonly seq: number | null;
}

/** What to draw. */
export interface PunctualOptions {
  readonly seed: number;
  readonly count: number;
  /** Where the first crossing may lie, µs. */
  readonly beginUs: number;
  /** Between the first and the last, µs. */
  readonly spanUs: number;
}

/** Draws crossings, in event-time order: some pairs' anywhere, some just behind the last one. */
export function drawCrossings({ seed, count, beginUs, spanUs }: PunctualOptions): Crossing[] {
  const chance = new Chance(seed);
  const seqProbability = chance.pick([0, 0, 0.5, 1]);
  const crossings: Crossing[] = [];
  let lastUs = beginUs;
  for (let i = 0; i < count; i++) {
    const anyUs = chance.happens(0.4) ? lastUs + chance.below(3_000_000) : beginUs + chance.below(spanUs);
    // No two of one microsecond, whose order would count.
    lastUs = Math.floor(anyUs / count) * count + i;
    crossings.push({
      kind: chance.weighted([["ENTER", 5], ["EXIT", 4], ["STALE", 1]]),
      deviceId: chance.pick(["d0", "d1", "d2"]),
      fenceId: chance.pick(["f0", "f1"]),
      eventUs: lastUs,
      seq: chance.happens(seqProbability) ? i : null,
    });
  }
  return crossings.sort((a, b) => a.eventUs - b.eventUs);
}

/** A crossing on its way. */
export interface Delivery {
  readonly crossing: Crossing;
  /** When the source sees it, which is also its ingest time; µs. */
  readonly arrivesUs: number;
}

/** Lines in the order in which they arrive. */
export function deliver(deliveries: readonly Delivery[]): string[] {
  return deliveries.toSorted((a, b) => a.arrivesUs - b.arrivesUs).map(({ crossing, arrivesUs }) =>
    JSON.stringify({
      device_id: crossing.deviceId,
      fence_id: crossing.fenceId,
      kind: crossing.kind,
      event_time_us: crossing.eventUs,
      ingest_time_us: arrivesUs,
      ...(crossing.seq === null ? {} : { seq: crossing.seq }),
    })
  );
}
