/**
 * Whether the widths of ids fit what a producer's times can tell.
 *
 * Of a producer that has whole seconds, two copies of a crossing that are not alike are a whole second apart at least. The
 * guard at a bucket's edges, and the pair's memory (`max_skew`), then have to reach that far, or they catch nothing.
 *
 * @module
 */
import type { Config } from "../config.ts";
import { formatDuration } from "../time.ts";
import type { Mapping, TimeUnit } from "./mapping.ts";

const UNIT_US: Readonly<Record<TimeUnit, number>> = { s: 1_000_000, ms: 1000, us: 1, ns: 0, rfc3339: 0 };

/** How coarse the event times of a format are, µs; 0 where that can't be told. */
export function coarsestUs({ crossings, precision }: Mapping): number {
  if (precision !== null) return UNIT_US[precision];
  return Math.max(0, ...crossings.flatMap(({ eventTime }) => eventTime.map(({ unit }) => UNIT_US[unit])));
}

/**
 * What does not fit times of this unit, and what would, as a sentence; null where all does.
 *
 * @param unitUs how coarse the times are, µs
 */
export function misfit(unitUs: number, { bucketUs, guardUs, maxSkewUs }: Config["identity"]): string | null {
  const short = [
    ...(guardUs < unitUs ? [`identity.guard (${formatDuration(guardUs)})`] : []),
    ...(maxSkewUs < unitUs ? [`identity.max_skew (${formatDuration(maxSkewUs)})`] : []),
  ];
  if (unitUs === 0 || short.length === 0) return null;
  // Twice the guard must be below the bucket: so twice as much fits well.
  const fitting = [
    `identity.guard ${formatDuration(unitUs)}`,
    ...(bucketUs <= 2 * unitUs ? [`identity.bucket ${formatDuration(4 * unitUs)}`] : []),
    ...(maxSkewUs < unitUs && maxSkewUs !== guardUs ? [`identity.max_skew ${formatDuration(unitUs)}`] : []),
  ];
  const verb = short.length === 1 ? "is" : "are";
  return `Event times come in steps of ${formatDuration(unitUs)}, and ${
    short.join(" and ")
  } ${verb} shorter: a copy that ` +
    `is one step off is told again where a bucket (${formatDuration(bucketUs)}) ends in between. ` +
    `What would fit: ${fitting.join(", ")}`;
}
