/**
 * How many duplicates leave, and how many genuine re-entries are swallowed, by what a copy is known by.
 *
 * ```
 *   trace.ts ─▶ each policy of policies.ts ─▶ which records were told of
 *      ╰──────── of which crossing each of them is ──────▶ told twice: a duplicate · never told: swallowed
 * ```
 *
 * The reference, published for a fleet's twelve hours with 6 % of the records retried or replayed: duplicates of 3.62 %
 * with raw timestamps, 0.11 % with buckets of 2 s, 0.02 % with a guard; 0 % with buckets of 30 s, and 214 re-entries
 * swallowed. Its trace is not public; ours is generated, and its options stand above the table. With a guard as wide as
 * the stamps are apart nothing is left here: 0.02 % must have been stamped further away than that.
 *
 * No time is measured here: the same seed gives the same numbers on every machine.
 *
 * @module
 */
import type { PartContext } from "../engine/part.ts";
import { OURS } from "../engine/section.ts";
import { makePolicies, type Policy } from "./policies.ts";
import { generateTrace, idsOf, type PairIds, TRACE, type Trace, type TraceOptions } from "./trace.ts";

const PART = "duplicates";

/** The published figures: duplicates in per cent, and re-entries swallowed. */
const REFERENCES: Readonly<Record<string, readonly [duplicates: number, swallowed?: number]>> = {
  "raw timestamps": [3.62],
  "2 s buckets": [0.11],
  "2 s buckets, the neighbour's too at an edge": [0.02],
  "30 s buckets": [0, 214],
};

/** What came of a policy. */
export interface DuplicatesOutcome {
  readonly policy: string;
  readonly told: number;
  /** Triggers of a crossing that was told before. */
  readonly duplicates: number;
  /** Genuine crossings of which nothing was told. */
  readonly swallowed: number;
}

/** Runs every policy over one trace. */
export async function countDuplicates(trace: Trace): Promise<DuplicatesOutcome[]> {
  const pairs = Array.from({ length: trace.pairs }, (_, pair) => idsOf(pair));
  return (await makePolicies()).map((policy) => count(policy, trace, pairs));
}

/** Runs it. */
export async function measureDuplicates({ scale, report }: PartContext): Promise<void> {
  const options: TraceOptions = { ...TRACE, records: scale.traceRecords };
  const trace = generateTrace(options);
  report.begin(
    `duplicates: ${trace.rows} records of ${
      options.spanUs / 3.6e9
    } h, ${trace.pairs} pairs, seed ${options.seed}`,
  );
  const percent = (share: number): string => `${share * 100} %`;
  report.note(
    `${trace.crossings} crossings and ${trace.copies} copies of them (${percent(options.copyShare)}); ` +
      `${percent(options.restampedShare)} of the copies stamped anew within ${
        options.restampUs / 1000
      } ms, ` +
      `${percent(options.replayedShare)} of them 10 to 240 s later, the others 0.2 to 4 s`,
  );
  report.note(
    `${percent(options.quickShare)} of the visits are followed by the next within 5 to 60 s; ` +
      "a window of 300 s for all",
  );
  for (const { policy, told, duplicates, swallowed } of await countDuplicates(trace)) {
    const [duplicatesThere, swallowedThere] = REFERENCES[policy] ?? [];
    const add = (column: string, unit: string, value: number, reference?: number): void => {
      report.add({
        ...{ part: PART, name: policy, column, unit, rounds: [value] },
        ...(policy === OURS ? { target: 0 } : {}),
        ...(reference === undefined ? {} : { reference }),
      });
    };
    add("duplicates", "% of triggers", duplicates / told * 100, duplicatesThere);
    add("swallowed", "crossings", swallowed, swallowedThere);
  }
}

function count(policy: Policy, trace: Trace, pairs: readonly PairIds[]): DuplicatesOutcome {
  const isTold = new Uint8Array(trace.crossings);
  let told = 0;
  let duplicates = 0;
  for (let row = 0; row < trace.rows; row++) {
    const crossing = trace.crossingOf[row] as number;
    const admitted = policy.admit({
      ids: pairs[trace.pairOf[row] as number] as PairIds,
      isEnter: trace.isEnter[row] === 1,
      eventUs: trace.eventUs[row] as number,
      arrivalUs: trace.arrivalUs[row] as number,
      seq: crossing,
    });
    if (!admitted) continue;
    told++;
    if (isTold[crossing] === 1) duplicates++;
    isTold[crossing] = 1;
  }
  return { policy: policy.name, told, duplicates, swallowed: trace.crossings - (told - duplicates) };
}
