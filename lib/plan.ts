/**
 * What to configure for a workload, and what it will take: SPEC 7's keys from a rate, delays and sizes.
 *
 * ```
 *   skew, revisit, thresholds ─▶ bucket, guard, max_skew          see `lib/plan_widths.ts`
 *   retry, replay, retention  ─▶ ttl         ─┐
 *   rate × ids a record       ────────────────┴▶ ids in the window ─▶ capacity, partitions
 *   rate × lateness           ─▶ waiting_capacity                  ─┐
 *   pairs                     ─▶ pairs.capacity                    ─┴▶ memory, checkpoints
 * ```
 *
 * - **ttl.** A copy is known as long as its id is in the window: the longest time from a record to its last copy. A retry
 *   may fall into what is replayed, so retry and replay add up, with a tenth more, and 30 s at least, for clocks that run
 *   ahead and pull the dedup clock with them. A dead letter is sent again within its retention, and retried then. It is
 *   the window's memory that the last asks for: where that would be more than all there is, ttl keeps to the first two.
 * - **capacity** is a bound and costs nothing until it is used, so it has half as much again: devices are not spread evenly.
 * - **partitions** share the devices of a split among actors of one thread. More of them do not make it faster; they keep
 *   turns, tables and mailboxes small. So 16, and more only for what one index is good for.
 * - **mailbox.** A record is under way for a second at most while all goes well: a checkpoint's interval and its commit. A
 *   source is paused at half of a mailbox, and devices are not spread evenly: so four seconds' share.
 * - **waiting_capacity** is a bound that, reached, moves the watermark: four times what is to be expected.
 *
 * Each record is taken for one that makes a trigger, since a peak is not when copies come; one visit in nine is taken to
 * last until its thresholds, as in published figures (cancel to fire 8:1).
 *
 * @module
 */
import { COUNTS_MAX } from "./config.ts";
import { RING_ROW_BYTES } from "./dedup_window.ts";
import { planCheckpoint, type PlannedCheckpoint } from "./plan_checkpoint.ts";
import { planMemory, type PlannedMemory } from "./plan_memory.ts";
import { planWarnings } from "./plan_warnings.ts";
import { type PlannedWidths, type PlanWarning, planWidths, roundUp } from "./plan_widths.ts";

/** What is to be done. */
export interface Workload {
  /** Records a second at the peak, of this process. */
  readonly ratePerSecond: number;
  /** Until a sender's last retry arrives, µs. */
  readonly retryUs: number;
  /** How far back a source or a consumer may be set, µs. */
  readonly replayUs: number;
  /** How long dead letters are kept to be sent again, µs; null where they are not. */
  readonly retentionUs: number | null;
  /** How far apart the event times of two copies may be, µs. */
  readonly skewUs: number;
  /** The shortest real re-entry, µs. */
  readonly revisitUs: number;
  /** Pairs that are heard from within `maxAgeUs`. */
  readonly pairs: number;
  /** Of a pair's device and fence together. */
  readonly idBytes: number;
  /** Thresholds of each dwell rule, ascending, µs. */
  readonly thresholds: readonly (readonly number[])[];
  /** How much disorder is waited for, µs. */
  readonly latenessUs: number;
  /** From one checkpoint to the next, µs. */
  readonly intervalUs: number;
  /** How old a record may be, µs. */
  readonly maxAgeUs: number;
  /** Kafka's splits have one partition each. */
  readonly source: "ndjson" | "kafka" | "http";
  /** Those of the topic that the process reads, or those asked for; null where the plan may choose. */
  readonly partitions: number | null;
  /** Whether the process answers over HTTP. */
  readonly listens: boolean;
  /** Whether checkpoints go into a directory. */
  readonly stateInDirectory: boolean;
  /** What the process may take. */
  readonly memoryBytes: number;
}

/** What to configure, and what comes of it. */
export interface Plan {
  /** Bucket, guard and what goes with them. */
  readonly widths: Omit<PlannedWidths, "warnings">;
  /** How long an id is remembered, µs. */
  readonly ttlUs: number;
  /** Whether that is below the retention of dead letters. */
  readonly allowShortTtl: boolean;
  /** Ids a partition. */
  readonly capacity: number;
  /** Pairs a process. */
  readonly pairsCapacity: number;
  /** Of all splits. */
  readonly partitions: number;
  /** Records a partition. */
  readonly mailboxCapacity: number;
  /** Records, a split. */
  readonly waitingCapacity: number;
  /** Ids that a record puts into the window. */
  readonly idsPerRecord: number;
  /** Of all partitions. */
  readonly windowIds: number;
  /** Of all splits. */
  readonly waitingRecords: number;
  /** What it takes of memory. */
  readonly memory: PlannedMemory;
  /** What is written. */
  readonly checkpoint: PlannedCheckpoint;
  /** Where bounds cross. */
  readonly warnings: readonly PlanWarning[];
}

const MARGIN_SHARE = 0.1;
const MARGIN_LEAST_US = 30_000_000;
const UNEVEN = 1.5;
const PARTITIONS_LEAST = 16;
/** Behind some 13 million values an index has tables that grow as a whole. */
const INDEX_VALUES_MAX = 5_000_000;
const MAILBOX_SECONDS = 4;
/** Eight batches. */
const MAILBOX_LEAST = 1024;
const WAITING_TIMES = 4;
const WAITING_LEAST = 100_000;
const PAIRS_TIMES = 1.25;
const PAIRS_LEAST = 10_000;
const CAPACITY_LEAST = 10_000;
/** Visits that earn their thresholds, and ENTERs among the records. */
const EARNED_SHARE = 1 / 9;
const ENTER_SHARE = 1 / 2;

/** See the module's header. */
export function plan(workload: Workload): Plan {
  const { ratePerSecond, pairs, retryUs, replayUs, retentionUs } = workload;
  const { warnings: widthWarnings, ...widths } = planWidths(workload);
  const idsPerRecord = idsOf(workload, widths);
  const isKafka = workload.source === "kafka";

  // More than that there is no memory for, in whatever partitions.
  const idsMax = workload.memoryBytes / RING_ROW_BYTES;
  const copiesUs = retryUs + replayUs;
  const needsUs = copiesUs + Math.max(MARGIN_LEAST_US, copiesUs * MARGIN_SHARE);
  const wantedUs = Math.max(needsUs, (retentionUs ?? -retryUs) + retryUs);
  const build = (ttlUs: number): Omit<Plan, "warnings" | "allowShortTtl"> => {
    const idsWanted = ratePerSecond * idsPerRecord * ttlUs / 1e6;
    const partitions = workload.partitions ??
      (isKafka ? PARTITIONS_LEAST : partitionsFor(Math.max(Math.min(idsWanted, idsMax), pairs)));
    const capacity = within(roundUp(UNEVEN * idsWanted / partitions), CAPACITY_LEAST, COUNTS_MAX.windowIds);
    const windowIds = Math.ceil(Math.min(idsWanted, capacity * partitions));
    const waitingRecords = Math.ceil(ratePerSecond * workload.latenessUs / 1e6);
    const mailboxCapacity = within(
      2 ** Math.ceil(Math.log2(Math.max(1, MAILBOX_SECONDS * ratePerSecond / partitions))),
      MAILBOX_LEAST,
      COUNTS_MAX.mailbox,
    );
    const demands = { ...workload, idsPerRecord, windowIds, waitingRecords, partitions, mailboxCapacity };
    return {
      widths,
      ttlUs,
      capacity,
      pairsCapacity: within(roundUp(pairs * PAIRS_TIMES), PAIRS_LEAST, COUNTS_MAX.pairs),
      partitions,
      mailboxCapacity,
      waitingCapacity: within(
        roundUp(WAITING_TIMES * waitingRecords / (isKafka ? partitions : 1)),
        WAITING_LEAST,
        COUNTS_MAX.waiting,
      ),
      idsPerRecord,
      windowIds,
      waitingRecords,
      memory: planMemory(demands),
      checkpoint: planCheckpoint({ ...demands, isDirectory: workload.stateInDirectory }),
    };
  };

  const wanted = build(roundUpDuration(wantedUs));
  const holdsWanted = wanted.memory.totalBytes <= workload.memoryBytes &&
    ratePerSecond * idsPerRecord * wanted.ttlUs / 1e6 <= wanted.capacity * wanted.partitions;
  const chosen = wantedUs === needsUs || holdsWanted ? wanted : build(roundUpDuration(needsUs));
  const allowShortTtl = retentionUs !== null && chosen.ttlUs < retentionUs;
  const planned = { ...chosen, allowShortTtl };
  return { ...planned, warnings: [...widthWarnings, ...planWarnings(workload, planned, wanted.ttlUs)] };
}

/** A trigger's id, the edge id of those near a boundary, and that of each DWELL. */
function idsOf({ thresholds }: Workload, { guardUs, bucketUs }: Omit<PlannedWidths, "warnings">): number {
  const dwells = Math.max(0, ...thresholds.map((afterUs) => afterUs.length));
  return 1 + 2 * guardUs / bucketUs + ENTER_SHARE * EARNED_SHARE * dwells;
}

function partitionsFor(values: number): number {
  const least = 2 ** Math.ceil(Math.log2(Math.max(1, values / INDEX_VALUES_MAX)));
  return within(least, PARTITIONS_LEAST, COUNTS_MAX.partitions);
}

function within(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

const UNITS_US = [86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000] as const;
/** So many of a unit make one more of it a tenth at most. */
const UNITS_LEAST = 10;
/** The longest that the configuration takes, 3,650 days. */
const TTL_MAX_US = 3650 * 86_400_000_000;

/** Not below it, and by a tenth above at most, as somebody would write it. */
function roundUpDuration(us: number): number {
  const unitUs = UNITS_US.find((unit) => us >= UNITS_LEAST * unit) ?? 1_000;
  return within(Math.ceil(us / unitUs) * unitUs, 1_000, TTL_MAX_US);
}
