/**
 * How wide a bucket is to be: wider than copies differ, narrower than a device comes back.
 *
 * ```
 *   2 skew  <  bucket  <  revisit          copies of one crossing are one, two crossings are two
 *              bucket  <= threshold / 2    a DWELL has a bucket of its own
 *   skew    <= guard   <  bucket / 2       copies on both sides of a boundary share its edge
 * ```
 *
 * Where these leave room, a bucket is ten times the skew, so that one trigger in five has an edge id, 2 s at least, and at
 * most two fifths of the revisit, since what was taken for the shortest one seldom is. Where they cross, no width is right
 * for all: the bucket then keeps two crossings apart, since a trigger that never comes is worse than one that comes twice,
 * and the guard is as wide as it can be. Producers that number their crossings (`seq`) need none of this.
 *
 * @module
 */
import { formatDuration } from "./time.ts";

/** What the widths have to be right for, µs. */
export interface WidthDemands {
  /** How far apart the event times of two copies of one crossing may be. */
  readonly skewUs: number;
  /** The shortest time until a device really crosses again the same way. */
  readonly revisitUs: number;
  /** The thresholds of each dwell rule, ascending. */
  readonly thresholds: readonly (readonly number[])[];
}

/** Something that can't be as asked. */
export interface PlanWarning {
  /** The key of the configuration that it shows in. */
  readonly key: string;
  /** What is to be expected, and what would help. */
  readonly text: string;
}

/** The widths, µs. */
export interface PlannedWidths {
  /** Of a bucket. */
  readonly bucketUs: number;
  /** Of the guard at its edges. */
  readonly guardUs: number;
  /** Null for the guard. */
  readonly maxSkewUs: number | null;
  /** Null where the bucket is not below it. */
  readonly minRevisitUs: number | null;
  /** Where bounds cross. */
  readonly warnings: readonly PlanWarning[];
}

const BUCKET_LEAST_US = 2_000_000;
/** The configuration takes no narrower one. */
const BUCKET_MIN_US = 1_000;
/** Nor a wider one. */
const BUCKET_MAX_US = 86_400_000_000;
const BUCKET_SKEWS = 10;
const REVISIT_SHARE = 0.4;
/** Of a bucket: below the half that the configuration refuses. */
const GUARD_SHARE_MAX = 0.45;
/** Likewise, below the whole. */
const MAX_SKEW_SHARE_MAX = 0.9;

/** See the module's header. */
export function planWidths({ skewUs, revisitUs, thresholds }: WidthDemands): PlannedWidths {
  const leastGapUs = Math.min(
    ...thresholds.flatMap((afterUs) => afterUs.map((us, i) => us - (afterUs[i - 1] ?? 0))),
  );
  // Rounded down, one below the revisit stays below it; one that is half of a gap may be all of it.
  const limitUs = Math.min(BUCKET_MAX_US, revisitUs - 1, Math.floor(leastGapUs / 2));
  const wantedUs = Math.min(
    limitUs,
    Math.max(BUCKET_LEAST_US, BUCKET_SKEWS * skewUs),
    REVISIT_SHARE * revisitUs,
  );
  // Where the one wanted is too narrow for the skew: in the middle of what is left, or all of it.
  const candidates = [wantedUs, skewUs + limitUs / 2, limitUs].map(roundDown);
  const fitting = [...candidates, limitUs].find((us) => us > 2 * skewUs && us <= limitUs);
  const bucketUs = Math.max(BUCKET_MIN_US, fitting ?? roundDown(limitUs));
  const fits = 2 * skewUs < bucketUs;
  const guardUs = fits ? skewUs : roundDown(bucketUs * GUARD_SHARE_MAX);
  const maxSkewUs = fits ? null : Math.min(skewUs, roundDown(bucketUs * MAX_SKEW_SHARE_MAX));
  return {
    bucketUs,
    guardUs,
    maxSkewUs,
    minRevisitUs: revisitUs > bucketUs ? revisitUs : null,
    warnings: warningsOf({ bucketUs, guardUs, skewUs, revisitUs, leastGapUs }),
  };
}

interface Widths {
  readonly bucketUs: number;
  readonly guardUs: number;
  readonly skewUs: number;
  readonly revisitUs: number;
  readonly leastGapUs: number;
}

function warningsOf({ bucketUs, guardUs, skewUs, revisitUs, leastGapUs }: Widths): PlanWarning[] {
  const [bucket, guard, skew, revisit] = [bucketUs, guardUs, skewUs, revisitUs].map(formatDuration);
  const warnings: PlanWarning[] = [];
  const help = "let producers number their crossings (seq), or bring their clocks nearer";
  if (skewUs >= bucketUs) {
    warnings.push({
      key: "identity.bucket",
      text:
        `skew ${skew} is not below the bucket, ${bucket}: copies that are further apart come out twice; ${help}`,
    });
  } else if (skewUs > guardUs) {
    warnings.push({
      key: "identity.guard",
      text:
        `skew ${skew} is not below half of the bucket, ${bucket}: of copies more than ${guard} apart with a boundary ` +
        `between them, those of the pair's latest trigger alone are known; ${help}`,
    });
  }
  if (revisitUs <= 2 * skewUs) {
    warnings.push({
      key: "identity.min_revisit",
      text:
        `revisit ${revisit} is not above twice the skew, ${skew}: no width tells a copy from a crossing; ${help}`,
    });
  }
  if (bucketUs >= revisitUs) {
    warnings.push({
      key: "identity.min_revisit",
      text:
        `the bucket, ${bucket}, is not below the revisit, ${revisit}: of two crossings in one bucket one is lost`,
    });
  }
  if (leastGapUs < 2 * bucketUs) {
    warnings.push({
      key: "dwell.rules",
      text: `thresholds ${
        formatDuration(leastGapUs)
      } apart are below twice the bucket, ${bucket}: this can't be run`,
    });
  } else if (skewUs > guardUs && leastGapUs / 2 < revisitUs) {
    warnings.push({
      key: "dwell.rules",
      text: `thresholds ${
        formatDuration(leastGapUs)
      } apart allow no bucket above ${bucket}: longer ones would leave room`,
    });
  }
  return warnings;
}

/** The greatest number of two digits and zeros that is not above it. */
export function roundDown(value: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.floor(value / step) * step;
}

/** The least number of two digits and zeros that is not below it. */
export function roundUp(value: number): number {
  const down = roundDown(value);
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return down >= value ? down : down + step;
}
