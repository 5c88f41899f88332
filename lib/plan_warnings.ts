/**
 * Where what a workload asks for crosses a bound, but for that of the widths (see `lib/plan_widths.ts`).
 *
 * @module
 */
import { COUNTS_MAX } from "./config.ts";
import type { PlannedMemory } from "./plan_memory.ts";
import type { PlanWarning } from "./plan_widths.ts";
import { formatDuration } from "./time.ts";

/** Half of what one process takes over HTTP here, and less than half of what it takes from a file: a peak is no average. */
const RATE_MAX = 100_000;
const GIB = 2 ** 30;

/** What is asked for; see `lib/plan.ts`. */
export interface Asked {
  /** Records a second at the peak. */
  readonly ratePerSecond: number;
  /** How long dead letters are kept, µs; null where they are not sent again. */
  readonly retentionUs: number | null;
  /** Pairs that are heard from. */
  readonly pairs: number;
  /** What the process may take. */
  readonly memoryBytes: number;
  /** How old a record may be, µs. */
  readonly maxAgeUs: number;
  /** How much disorder is waited for, µs. */
  readonly latenessUs: number;
  /** Of each dwell rule, ascending, µs. */
  readonly thresholds: readonly (readonly number[])[];
}

/** What it was given. */
export interface Given {
  /** How long an id is remembered, µs. */
  readonly ttlUs: number;
  /** Ids a partition. */
  readonly capacity: number;
  /** Of all splits. */
  readonly partitions: number;
  /** Ids that a record puts into the window. */
  readonly idsPerRecord: number;
  /** What is taken. */
  readonly memory: PlannedMemory;
}

/**
 * The warnings.
 *
 * @param wantedTtlUs the ttl that retention asks for
 */
export function planWarnings(workload: Asked, planned: Given, wantedTtlUs: number): PlanWarning[] {
  const { ratePerSecond, retentionUs, pairs, memoryBytes, maxAgeUs, latenessUs } = workload;
  const { ttlUs, capacity, partitions, idsPerRecord, memory } = planned;
  const warnings: PlanWarning[] = [];
  const warn = (key: string, text: string): void => {
    warnings.push({ key, text });
  };
  if (retentionUs !== null && ttlUs < retentionUs) {
    const ids = Math.ceil(ratePerSecond * idsPerRecord * wantedTtlUs / 1e6);
    warn(
      "identity.ttl",
      `${formatDuration(ttlUs)} is below the retention of dead letters, ${
        formatDuration(retentionUs)
      }, which would take ` +
        `${ids} ids: dead-letters replay refuses what is older than ttl; keep them for less long, or share the devices ` +
        "among more processes",
    );
  }
  const livesUs = capacity * partitions / (ratePerSecond * idsPerRecord) * 1e6;
  if (capacity === COUNTS_MAX.windowIds && livesUs < ttlUs) {
    warn(
      "identity.capacity",
      `${capacity} ids a partition are the most there can be: at this rate ids leave after ` +
        `${Math.floor(livesUs / 1e6)} s, before ttl (evicted_live), and later copies come out again`,
    );
  }
  if (ttlUs > maxAgeUs) {
    warn(
      "time.max_age",
      `${formatDuration(maxAgeUs)} is below ttl, ${
        formatDuration(ttlUs)
      }: records that are older are TIME_TOO_OLD`,
    );
  }
  if (pairs > COUNTS_MAX.pairs) {
    warn(
      "pairs.capacity",
      `${COUNTS_MAX.pairs} pairs are the most that a process has: share the devices among more`,
    );
  }
  if (ratePerSecond > RATE_MAX) {
    const processes = Math.ceil(ratePerSecond / RATE_MAX);
    warn(
      "partitions",
      `${ratePerSecond} records a second are more than the ${RATE_MAX} that one process should be given: share the ` +
        `devices among ${processes}`,
    );
  }
  const thresholdUs = Math.min(...workload.thresholds.map((afterUs) => afterUs[0] ?? Infinity));
  if (latenessUs >= thresholdUs) {
    warn(
      "dwell.lateness",
      `${formatDuration(latenessUs)} is not below the smallest threshold, ${formatDuration(thresholdUs)}: ` +
        "this can't be run",
    );
  }
  if (memory.totalBytes > memoryBytes) {
    warn(
      "memory",
      `${gib(memory.totalBytes)} GiB are more than the ${
        gib(memoryBytes)
      } there are: shorten retry and replay, or share ` +
        "the devices among more processes",
    );
  } else if (memory.totalBytes + memory.backlogBytes > memoryBytes) {
    warn(
      "mailbox.capacity",
      `${gib(memory.backlogBytes)} GiB of records in full mailboxes may come on top, more than there is`,
    );
  }
  return warnings;
}

function gib(bytes: number): string {
  return (bytes / GIB).toFixed(2);
}
