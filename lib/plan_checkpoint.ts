/**
 * What checkpoints write, by what a record leaves in them.
 *
 * ```
 *   pairs      a row as it arrives and again as the watermark passes it, some 30 B each time, new ids with it
 *   slices     of all rows, some 60 B each, as often as the journal has come to its bound: see `lib/checkpoint.ts`
 *   window     20 B an id
 *   waiting    29 B
 *   rest       36 KiB, a checkpoint: much where there are few records, nothing where there are many
 * ```
 *
 * A pair's two changes are one where `lateness` is shorter than the time between two checkpoints, and one in the reckoning
 * is a bit too much then. A directory's store writes each byte twice, into its log and then in its place; a topic takes it
 * once, before what its brokers copy.
 *
 * @module
 */
import { JOURNAL_BYTES_MIN, ROW_RECKONED_BYTES, SLICE_BYTES_MIN } from "./checkpoint.ts";
import { WINDOW_ROW_BYTES } from "./dedup_window.ts";

/** What is to be written. */
export interface CheckpointDemands {
  /** Records a second. */
  readonly ratePerSecond: number;
  /** Ids that each puts into the window. */
  readonly idsPerRecord: number;
  /** Pairs there are. */
  readonly pairs: number;
  /** Ids in all windows. */
  readonly windowIds: number;
  /** Records that wait for the watermark. */
  readonly waitingRecords: number;
  /** Of all splits. */
  readonly partitions: number;
  /** From one checkpoint to the next, µs. */
  readonly intervalUs: number;
  /** Whether it goes into a directory. */
  readonly isDirectory: boolean;
}

/** What checkpoints write. */
export interface PlannedCheckpoint {
  /** Its share of the chunks. */
  readonly bytesPerRecord: number;
  /** Of chunks. */
  readonly bytesPerSecond: number;
  /** What the disk gets of it. */
  readonly diskBytesPerSecond: number;
  /** What a restart reads, at most. */
  readonly stateBytes: number;
}

/** Both changes of a pair, its ids counted as those of every other record. */
const CHANGES_BYTES = 60;
/** What goes with each checkpoint: counters and clocks, and, again each time, what is too little for a chunk. */
const REST_BYTES = 36 << 10;
/** A whole row with ids of some 25 B. */
const ROW_IMAGE_BYTES = 60;
const WAITING_BYTES = 29;
const DIRECTORY_WRITES = 2;

/** See the module's header. */
export function planCheckpoint(demands: CheckpointDemands): PlannedCheckpoint {
  const { ratePerSecond, idsPerRecord, pairs, windowIds, waitingRecords, partitions } = demands;
  // Between two rounds the journal comes to its bound; in a round each checkpoint brings a slice as long as itself, or more.
  const journalBytes = ratePerSecond * demands.intervalUs / 1e6 * CHANGES_BYTES;
  const sliceBytes = Math.max(1, journalBytes, partitions * SLICE_BYTES_MIN);
  const boundBytes = Math.max(JOURNAL_BYTES_MIN, pairs * ROW_RECKONED_BYTES);
  const rowsBytes = pairs * ROW_IMAGE_BYTES;
  const slices = rowsBytes / (boundBytes + rowsBytes * journalBytes / sliceBytes);
  // No checkpoint where nothing has changed.
  const checkpointsPerSecond = Math.min(ratePerSecond, 1e6 / Math.max(1, demands.intervalUs));
  const bytesPerRecord = CHANGES_BYTES * (1 + slices) + idsPerRecord * WINDOW_ROW_BYTES + WAITING_BYTES +
    checkpointsPerSecond * REST_BYTES / ratePerSecond;
  const bytesPerSecond = ratePerSecond * bytesPerRecord;
  return {
    bytesPerRecord,
    bytesPerSecond,
    diskBytesPerSecond: bytesPerSecond * (demands.isDirectory ? DIRECTORY_WRITES : 1),
    stateBytes: boundBytes + 2 * rowsBytes + windowIds * WINDOW_ROW_BYTES + waitingRecords * WAITING_BYTES,
  };
}
