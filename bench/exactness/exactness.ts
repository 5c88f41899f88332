/**
 * Whether the DWELLs that are told are those that were earned: false ones, missed ones, and those that were told before
 * the stay had lasted for so long.
 *
 * ```
 *   visits ─┬─▶ all records, in event-time order, nothing late ─▶ the oracle (tests/sim/oracle.ts) ─▶ what was earned
 *           ╰─▶ as they are delivered ─▶ rivals.ts, Fencepost's actors ─▶ what was told, and when
 * ```
 *
 * The oracle knows everything, and is asked in the ideal order. Nobody else can know of an EXIT that is still in a device
 * without coverage: a DWELL that it contradicts later is false, unless it was taken back (RETRACT), which is counted by
 * itself. A DWELL that is told twice is false once. Times are simulated: the same seeds give the same numbers everywhere.
 *
 * @module
 */
import { formatTimestamp } from "../../lib/time.ts";
import { makeOracle, type RunOracle } from "../../tests/sim/oracle.ts";
import type { PartContext } from "../engine/part.ts";
import { type Deliveries, drawDeliveries, THRESHOLD_US, type Way, WAYS } from "./deliveries.ts";
import { OURS } from "../engine/section.ts";
import { exactnessConfig, lastLine, lineOf, runFencepost } from "./fencepost_dwells.ts";
import { makeRivals, type Rival, type Told } from "./rivals.ts";

const PART = "exactness";
const DEVICES = 30;
const HOURS = 6;

/** What one was like over all seeds of a way. */
export interface Exactness {
  readonly name: string;
  false: number;
  missed: number;
  early: number;
  /** Told, and taken back. */
  retracted: number;
}

/** All of a way. */
export interface WayOutcome {
  readonly way: Way;
  readonly records: number;
  /** DWELLs that were earned. */
  readonly earned: number;
  readonly outcomes: readonly Exactness[];
}

/** Runs everyone over the seeds 1 to `seeds` of a way. */
export async function measureWay(way: Way, seeds: number): Promise<WayOutcome> {
  const oracle = await makeOracle();
  const sums = new Map<string, Exactness>();
  let records = 0;
  let earned = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const deliveries = drawDeliveries({ seed, way, devices: DEVICES, hours: HOURS });
    const truth = earnedOf(oracle, deliveries);
    records += deliveries.arrivals.length;
    earned += truth.size;
    const add = (name: string, told: readonly Told[], retracted: number): void => {
      const sum = sums.get(name) ?? { name, false: 0, missed: 0, early: 0, retracted: 0 };
      sums.set(name, sum);
      compare(sum, told, truth);
      sum.retracted += retracted;
    };
    for (const rival of makeRivals()) add(rival.name, runRival(rival, deliveries), 0);
    const { told, retracted } = await runFencepost(deliveries);
    add(OURS, told, retracted);
  }
  return { way, records, earned, outcomes: [...sums.values()] };
}

/** Runs it. */
export async function measureExactness({ scale, report }: PartContext): Promise<void> {
  for (const way of WAYS) {
    const { records, earned, outcomes } = await measureWay(way, scale.exactnessSeeds);
    report.begin(
      `exactness: ${way}; ${scale.exactnessSeeds} seeds, ${records} records, ${earned} DWELLs earned`,
    );
    for (const { name, retracted, ...wrong } of outcomes) {
      for (const column of ["false", "missed", "early"] as const) {
        const target = name === OURS ? { target: 0 } : {};
        report.add({ part: PART, name, column, unit: "DWELLs", rounds: [wrong[column]], ...target });
      }
      const column = "told and taken back";
      report.add({ part: PART, name, column, unit: "DWELLs", rounds: [retracted], better: "neither" });
    }
  }
}

/** What was earned: each pair and enter time, and when the stay had lasted for so long, µs. */
function earnedOf(oracle: RunOracle, { arrivals, endUs }: Deliveries): Map<string, number> {
  const punctual = arrivals.toSorted((a, b) => a.eventUs - b.eventUs).map((arrival) =>
    lineOf({ ...arrival, arrivesUs: arrival.eventUs })
  );
  const { triggers } = oracle(exactnessConfig(), [...punctual, lastLine(endUs)], {
    atEof: "flush",
    wallUs: endUs,
  });
  const eventUsOf = new Map(
    arrivals.map(({ pair, eventUs }) => [keyOf(pair, formatTimestamp(eventUs)), eventUs]),
  );
  return new Map(
    triggers.filter(({ kind }) => kind === "DWELL").map(({ device_id, fence_id, entered_at }) => {
      const key = keyOf(`${device_id} ${fence_id}`, entered_at ?? "");
      return [key, (eventUsOf.get(key) ?? NaN) + THRESHOLD_US];
    }),
  );
}

function keyOf(pair: string, enteredAt: string): string {
  return `${pair} ${enteredAt}`;
}

function runRival(rival: Rival, { arrivals, outages, endUs }: Deliveries): readonly Told[] {
  const downs = [...outages];
  let upSinceUs = -Infinity;
  for (const arrival of arrivals) {
    const [down] = downs;
    if (down !== undefined && arrival.arrivesUs >= down.fromUs) {
      downs.shift();
      rival.passTime(down.fromUs);
      rival.restart(upSinceUs = down.toUs);
    }
    // What was sent meanwhile is read as soon as the process is there again.
    const arrivesUs = Math.max(arrival.arrivesUs, upSinceUs);
    rival.passTime(arrivesUs);
    rival.take({ ...arrival, arrivesUs });
  }
  rival.end(endUs);
  return rival.told;
}

function compare(sum: Exactness, told: readonly Told[], truth: ReadonlyMap<string, number>): void {
  const right = new Set<string>();
  for (const { pair, enteredAt, atUs } of told) {
    const key = keyOf(pair, enteredAt);
    const dueUs = truth.get(key);
    if (dueUs === undefined || right.has(key)) {
      sum.false++;
      continue;
    }
    right.add(key);
    if (atUs < dueUs) sum.early++;
  }
  sum.missed += truth.size - right.size;
}
