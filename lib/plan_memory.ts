/**
 * What a process takes of memory, by what its structures allocate.
 *
 * ```
 *   pairs      128 B each, ids of more than 30 B in the arena, and 5 to 8 B of index
 *   window     24 B an id in the ring, and 5 to 8 B of index
 *   waiting    40 B a record, rate × lateness of them, and 16 B of the lists that they stand in
 *   fixed      two wheels a partition, the process itself, what is under way
 * ```
 *
 * The index is what its tables allocate (see {@link indexBytes}); all else is rows. What they are made of is counted
 * where they are, so that a row that grows shows here too. The process itself is not to be counted but measured, and
 * `deno task bench --only plan` does: it compares all of this with what is resident.
 *
 * Not in it: attributes of records that wait where triggers leave in order, and what a source that can wait has in the
 * mailboxes while it is behind, which has a bound of its own ({@link PlannedMemory.backlogBytes}).
 *
 * @module
 */
import { RING_ROW_BYTES } from "./dedup_window.ts";
import { indexBytes } from "./hash_index.ts";
import { pairBytes } from "./pair_table.ts";
import { ENTRY_MEMORY_BYTES } from "./reorder.ts";
import { WHEEL_BYTES } from "./timing_wheel.ts";

/** What is there at once. */
export interface MemoryDemands {
  /** Pairs, of all partitions. */
  readonly pairs: number;
  /** Of a pair's device and fence together. */
  readonly idBytes: number;
  /** Ids in all windows. */
  readonly windowIds: number;
  /** Records that wait for the watermark. */
  readonly waitingRecords: number;
  /** Records a second. */
  readonly ratePerSecond: number;
  /** Of all splits of the process. */
  readonly partitions: number;
  /** Records in a mailbox at most. */
  readonly mailboxCapacity: number;
  /** Whether the process answers over HTTP. */
  readonly listens: boolean;
}

/** Bytes, by what they are for. */
export interface PlannedMemory {
  /** Rows, ids and their index. */
  readonly pairsBytes: number;
  /** Ids and their index. */
  readonly windowBytes: number;
  /** What waits. */
  readonly waitingBytes: number;
  /** What a partition takes with nothing in it. */
  readonly partitionsBytes: number;
  /** The process with nothing in it, and what is under way. */
  readonly processBytes: number;
  /** All of these: what is resident while the source keeps pace. */
  readonly totalBytes: number;
  /** Besides, at most: mailboxes at their high mark, while a source that can wait is behind. */
  readonly backlogBytes: number;
}

/** Deno, the code and V8's heap once there was work: 95 to 115 MiB. */
const PROCESS_BYTES = 103 * 2 ** 20;
/** The HTTP service and its metrics, where there is one: 30 MiB, and up to 50 where records come in by it. */
const LISTENING_BYTES = 38 * 2 ** 20;
/** What a second's records leave behind until it is collected, each: lines, batches, what a checkpoint is written from. */
const UNDER_WAY_BYTES = 630;
/** V8 collects when there is as much of it. */
const UNDER_WAY_BYTES_MAX = 30 * 2 ** 20;
/** Tables that grow and the holes that they leave. */
const HOLES_SHARE = 0.03;
/** A list's place of a waiting record in V8's heap, twice: what no checkpoint has yet, and what can be used again. */
const WAITING_LISTS_BYTES = 16;
/** A record in a mailbox: its row in a batch, some 150 B, and its line. */
const MAILBOX_RECORD_BYTES = 400;

/** See the module's header. */
export function planMemory(demands: MemoryDemands): PlannedMemory {
  const { pairs, idBytes, windowIds, waitingRecords, ratePerSecond, partitions, mailboxCapacity } = demands;
  const indexOf = (count: number): number => partitions * indexBytes(Math.ceil(count / partitions));
  const pairsBytes = (pairs * pairBytes(idBytes) + indexOf(pairs)) * (1 + HOLES_SHARE);
  const windowBytes = (windowIds * RING_ROW_BYTES + indexOf(windowIds)) * (1 + HOLES_SHARE);
  const waitingBytes = waitingRecords * (ENTRY_MEMORY_BYTES + WAITING_LISTS_BYTES);
  const partitionsBytes = partitions * 2 * WHEEL_BYTES;
  const processBytes = PROCESS_BYTES + (demands.listens ? LISTENING_BYTES : 0) +
    Math.min(ratePerSecond * UNDER_WAY_BYTES, UNDER_WAY_BYTES_MAX);
  return {
    pairsBytes,
    windowBytes,
    waitingBytes,
    partitionsBytes,
    processBytes,
    totalBytes: pairsBytes + windowBytes + waitingBytes + partitionsBytes + processBytes,
    backlogBytes: partitions * mailboxCapacity / 2 * MAILBOX_RECORD_BYTES,
  };
}
