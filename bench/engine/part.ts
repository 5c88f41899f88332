/**
 * What a part of the measurements is given.
 *
 * @module
 */
import type { Report } from "./report.ts";

/** How much to measure. */
export interface Scale {
  /** Rounds of what is compared with a reference. */
  readonly rounds: number;
  /** Records of the canonical workload. */
  readonly records: number;
  /** Its pairs, one workload each. */
  readonly workloadPairs: readonly number[];
  /** Records of the trace in which duplicates are counted. */
  readonly traceRecords: number;
  /** Seeds of each way in which DWELLs are looked at. */
  readonly exactnessSeeds: number;
  /** Ids in the window. */
  readonly windowIds: number;
  /** Pairs that are inside at once. */
  readonly insidePairs: number;
  /** Pending dwells of which a checkpoint is made, one after the other. */
  readonly pendingDwells: readonly number[];
  /** Pairs over which the cost of a record is measured, one after the other. */
  readonly growthPairs: readonly number[];
  /** Partitions likewise. */
  readonly partitionCounts: readonly number[];
  /** Seconds of what is measured in real time. */
  readonly liveSeconds: number;
  /** Seconds that a way to keep timers is looked at in each round. */
  readonly churnSeconds: number;
  /** Seconds that a dedup window is looked at in each round. */
  readonly windowSeconds: number;
}

/** Where a part puts its files and its numbers. */
export interface PartContext {
  readonly scale: Scale;
  readonly report: Report;
  /** Its own, empty, gone afterwards. */
  readonly directory: string;
}

/** One part. */
export type Part = (context: PartContext) => Promise<void>;
