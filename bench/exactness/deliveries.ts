/**
 * Visits, and the ways in which a source gets to hear of them.
 *
 * ```
 *   visits of a few devices over hours ─▶ a way ─▶ records, each with the time at which it arrives
 *
 *   delayed devices   a third of them are always 10 s to 10 min behind: more than lateness allows
 *   fast clocks       a third of them stamp 20 to 120 s too late, and tell at once
 *   late uploads      no coverage for 20 to 120 min, then all at once: oldest first, newest first or anyhow,
 *                     before or behind the first live record
 *   restarts          the process is down three times, for 1 to 20 min; what was sent meanwhile is there afterwards
 * ```
 *
 * Where nothing else is said, a record arrives within 2 s of its crossing, so slightly out of order. Stays are of any
 * length around the threshold, some of them within seconds of it. No copies: they are another part's.
 *
 * @module
 */
import { Chance } from "../../tests/sim/chance.ts";

const SECOND_US = 1_000_000;
const MINUTE_US = 60 * SECOND_US;
const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;

/** From an ENTER until its DWELL. */
export const THRESHOLD_US = 10 * MINUTE_US;
/** How far the watermark stays behind. */
export const LATENESS_US = 5 * SECOND_US;

/** The ways. */
export const WAYS = ["delayed devices", "fast clocks", "late uploads", "restarts"] as const;
/** One of them. */
export type Way = (typeof WAYS)[number];

/** A record, and when it arrives. */
export interface Arrival {
  readonly pair: string;
  readonly kind: "ENTER" | "EXIT";
  readonly eventUs: number;
  readonly arrivesUs: number;
}

/** What a source gets. */
export interface Deliveries {
  /** By arrival. */
  readonly arrivals: readonly Arrival[];
  /** When the process is down; ascending, and apart. */
  readonly outages: readonly { readonly fromUs: number; readonly toUs: number }[];
  /** When all visits are over, or have earned what they can. */
  readonly endUs: number;
}

/** How much there is. */
export interface DeliveryOptions {
  readonly seed: number;
  readonly way: Way;
  readonly devices: number;
  readonly hours: number;
}

/** Draws visits and how they are delivered. */
export function drawDeliveries({ seed, way, devices, hours }: DeliveryOptions): Deliveries {
  const chance = new Chance(seed);
  const untilUs = BEGIN_US + hours * 60 * MINUTE_US;
  const arrivals: Arrival[] = [];
  for (let device = 0; device < devices; device++) {
    const crossings = drawCrossings(chance, `d${device}`, untilUs);
    const isOdd = device % 3 === 0;
    if (way === "late uploads" && isOdd) arrivals.push(...upload(chance, crossings));
    else arrivals.push(...tell(chance, crossings, isOdd ? way : "restarts"));
  }
  arrivals.sort((a, b) => a.arrivesUs - b.arrivesUs);
  const lastUs = arrivals.reduce(
    (most, { eventUs, arrivesUs }) => Math.max(most, eventUs, arrivesUs),
    untilUs,
  );
  return {
    arrivals,
    outages: way === "restarts" ? drawOutages(chance, hours) : [],
    endUs: lastUs + 2 * THRESHOLD_US,
  };
}

/** A crossing as the device stamps it. */
type Crossing = Omit<Arrival, "arrivesUs">;

/** A device's visits to two fences, one after the other. No two crossings are of one microsecond. */
function drawCrossings(chance: Chance, device: string, untilUs: number): Crossing[] {
  const crossings: Crossing[] = [];
  let timeUs = BEGIN_US + chance.below(20 * MINUTE_US);
  while (timeUs < untilUs) {
    const pair = `${device} f${chance.below(2)}`;
    crossings.push({ pair, kind: "ENTER", eventUs: timeUs });
    // Some stays are exactly as long as the threshold, or differ from it by a microsecond.
    timeUs += chance.weighted([
      [chance.between(MINUTE_US, 9 * MINUTE_US), 4],
      [THRESHOLD_US + chance.between(-8, 8) * SECOND_US + chance.between(-1, 1), 2],
      [chance.between(11 * MINUTE_US, 40 * MINUTE_US), 4],
    ]);
    crossings.push({ pair, kind: "EXIT", eventUs: timeUs });
    timeUs += chance.between(10 * SECOND_US, 20 * MINUTE_US);
  }
  return crossings;
}

function tell(chance: Chance, crossings: readonly Crossing[], way: Way): Arrival[] {
  const behindUs = way === "delayed devices" ? chance.between(10 * SECOND_US, 10 * MINUTE_US) : 0;
  const aheadUs = way === "fast clocks" ? chance.between(20 * SECOND_US, 120 * SECOND_US) : 0;
  return crossings.map((crossing) => ({
    ...crossing,
    eventUs: crossing.eventUs + aheadUs,
    arrivesUs: crossing.eventUs + behindUs + chance.below(2 * SECOND_US),
  }));
}

/** A device that loses coverage, and comes back with all that it kept. */
function upload(chance: Chance, crossings: readonly Crossing[]): Arrival[] {
  const arrivals: Arrival[] = [];
  for (let at = 0; at < crossings.length;) {
    const online = crossings.slice(at, at += chance.between(1, 6));
    arrivals.push(...tell(chance, online, "restarts"));
    const awayUs = (crossings[at]?.eventUs ?? 0) + chance.between(20, 120) * MINUTE_US;
    const from = at;
    while (at < crossings.length && (crossings[at] as Crossing).eventUs < awayUs) at++;
    const kept = crossings.slice(from, at);
    const order = chance.pick([() => kept, () => kept.toReversed(), () => chance.shuffled(kept)])();
    // The first live record, which is the next one, may come a moment before the upload.
    const backUs = chance.happens(0.5)
      ? awayUs
      : Math.max(awayUs, (crossings[at]?.eventUs ?? 0) + 2 * SECOND_US);
    order.forEach((crossing, i) => arrivals.push({ ...crossing, arrivesUs: backUs + i * 1000 }));
  }
  return arrivals;
}

function drawOutages(chance: Chance, hours: number): { fromUs: number; toUs: number }[] {
  const partUs = hours * 60 * MINUTE_US / 4;
  return [1, 2, 3].map((part) => {
    const fromUs = BEGIN_US + part * partUs + chance.below(partUs / 4);
    return { fromUs, toUs: fromUs + chance.between(MINUTE_US, 20 * MINUTE_US) };
  });
}
