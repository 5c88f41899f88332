/**
 * What a split measures of itself besides its counts: how long changes wait to be durable, how large and how slow its
 * checkpoints are, how late its DWELLs leave.
 *
 * Asked once a scrape and told once a batch, a checkpoint or a DWELL: nothing here is paid for a record.
 *
 * ```
 *   changed ──▶ barrier ──▶ durable            age: since the oldest change that is not durable
 *      ╰─────────── age ───────╯               (0 where there is none: a quiet split's checkpoint does not grow old)
 * ```
 *
 * @module
 */
import type { CheckpointCommit } from "../lib/chunk.ts";
import { addHistograms, Histogram, type HistogramCounts } from "../lib/histogram.ts";

/** Bounds of how late a DWELL leaves, s. */
const FIRE_LAG_S = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1800, 7200];
/** Bounds of how long a checkpoint takes, s. */
const CHECKPOINT_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What a split's checkpoints were, in this process. */
export interface CheckpointMeasures {
  /** Those that became durable. */
  readonly count: number;
  /** How long the oldest change waits that is not durable; 0 where there is none. */
  readonly ageUs: number;
  /** What was written, of all and of the last one. */
  readonly bytes: number;
  readonly lastBytes: number;
  /** From the barrier of the last one until it was durable. */
  readonly lastUs: number;
  /** From the barrier until it was durable, s. */
  readonly durations: HistogramCounts;
}

/** How a split is, besides what it counts. What adds up is of this process alone. */
export interface SplitVitals {
  /** The source's name and, of a topic, the partition; 0 where there is one only. */
  readonly source: string;
  readonly partition: number;
  /** Whether it has taken over and reads. */
  readonly isOpen: boolean;
  /** Whether its watermark follows the wall clock. */
  readonly isFollowing: boolean;
  /** How far the first pending deadline lies behind the watermark that the partitions were told, µs; 0 for not. */
  readonly overdueUs: number;
  /** Records in all mailboxes, and how full the fullest is, 0 to 1. */
  readonly mailboxRecords: number;
  readonly mailboxFill: number;
  readonly pairsBytes: number;
  readonly windowBytes: number;
  /** Ids that were put into the windows, and that left before their time. */
  readonly windowIdsAdded: number;
  readonly evictedLive: number;
  readonly heartbeats: number;
  /** Messages and crossings that were no transition by their format. */
  readonly skipped: number;
  readonly checkpoint: CheckpointMeasures;
  /** How long after its event time and the lateness a DWELL that no late record brought was handed to the outputs, s. */
  readonly fireLag: HistogramCounts;
}

/** See the module's header. Times are monotonic where not said otherwise. */
export class SplitMeter {
  readonly #fireLag = new Histogram(FIRE_LAG_S);
  readonly #durations = new Histogram(CHECKPOINT_S);
  #changedSinceUs = Infinity;
  /** The oldest change in the checkpoint that is being made, and when its barrier was drawn. */
  #takenSinceUs = Infinity;
  #barrierUs = 0;
  #count = 0;
  #bytes = 0;
  #lastBytes = 0;
  #lastUs = 0;

  /** Something has changed that is in no checkpoint. */
  changed(nowUs: number): void {
    this.#changedSinceUs = Math.min(this.#changedSinceUs, nowUs);
  }

  /** A checkpoint takes all changes so far. */
  barrier(nowUs: number): void {
    this.#takenSinceUs = this.#changedSinceUs;
    this.#changedSinceUs = Infinity;
    this.#barrierUs = nowUs;
  }

  /** It is durable. */
  durable(commit: CheckpointCommit, nowUs: number): void {
    this.#takenSinceUs = Infinity;
    this.#count++;
    this.#lastBytes = commit.put.reduce((sum, { bytes }) => sum + bytes.length, commit.manifest.length);
    this.#bytes += this.#lastBytes;
    this.#lastUs = nowUs - this.#barrierUs;
    this.#durations.observe(this.#lastUs / 1e6);
  }

  /**
   * DWELLs were handed to the outputs.
   *
   * @param dueUs when each could leave at the earliest, by the wall clock
   */
  fired(dueUs: readonly number[], wallUs: number): void {
    for (const us of dueUs) this.#fireLag.observe(Math.max(0, wallUs - us) / 1e6);
  }

  /** What was measured of the checkpoints. */
  checkpoint(nowUs: number): CheckpointMeasures {
    const sinceUs = Math.min(this.#takenSinceUs, this.#changedSinceUs);
    return {
      count: this.#count,
      ageUs: sinceUs === Infinity ? 0 : Math.max(0, nowUs - sinceUs),
      bytes: this.#bytes,
      lastBytes: this.#lastBytes,
      lastUs: this.#lastUs,
      durations: this.#durations.snapshot(),
    };
  }

  /** How late DWELLs left. */
  get fireLag(): HistogramCounts {
    return this.#fireLag.snapshot();
  }
}

/** A split's vitals with what this process has measured of it before: it may have been opened anew. */
export function continueVitals(now: SplitVitals, before: SplitVitals): SplitVitals {
  return { ...now, ...sums(now, before) };
}

/** Those of several splits as of one. */
export function addVitals(one: SplitVitals, other: SplitVitals): SplitVitals {
  return {
    ...one,
    ...sums(one, other),
    isOpen: one.isOpen && other.isOpen,
    isFollowing: one.isFollowing && other.isFollowing,
    overdueUs: Math.max(one.overdueUs, other.overdueUs),
    mailboxRecords: one.mailboxRecords + other.mailboxRecords,
    mailboxFill: Math.max(one.mailboxFill, other.mailboxFill),
    pairsBytes: one.pairsBytes + other.pairsBytes,
    windowBytes: one.windowBytes + other.windowBytes,
    checkpoint: {
      ...sums(one, other).checkpoint,
      ageUs: Math.max(one.checkpoint.ageUs, other.checkpoint.ageUs),
      lastBytes: one.checkpoint.lastBytes + other.checkpoint.lastBytes,
      lastUs: Math.max(one.checkpoint.lastUs, other.checkpoint.lastUs),
    },
  };
}

/** What adds up over time; the rest of the checkpoint's is the first one's. */
function sums(
  one: SplitVitals,
  other: SplitVitals,
): Pick<SplitVitals, "windowIdsAdded" | "evictedLive" | "heartbeats" | "skipped" | "checkpoint" | "fireLag"> {
  return {
    windowIdsAdded: one.windowIdsAdded + other.windowIdsAdded,
    evictedLive: one.evictedLive + other.evictedLive,
    heartbeats: one.heartbeats + other.heartbeats,
    skipped: one.skipped + other.skipped,
    checkpoint: {
      ...one.checkpoint,
      count: one.checkpoint.count + other.checkpoint.count,
      bytes: one.checkpoint.bytes + other.checkpoint.bytes,
      durations: addHistograms(one.checkpoint.durations, other.checkpoint.durations),
    },
    fireLag: addHistograms(one.fireLag, other.fireLag),
  };
}
