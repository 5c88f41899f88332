/**
 * The metrics of the splits: what was read and told, and how each is doing.
 *
 * No label names a device or a fence: those are without bound. What adds up is kept of splits that have gone to another
 * process as well, or a rate would see them jump; how a split is doing is shown while it is here.
 *
 * @module
 */
import type { Config } from "../../../lib/config.ts";
import type { Counters } from "../../../lib/counters.ts";
import { DEAD_LETTER_REASONS } from "../../../lib/dead_letter.ts";
import { addHistograms, type HistogramCounts } from "../../../lib/histogram.ts";
import type { SplitReport } from "../../split_actor.ts";
import type { SplitView } from "../../split_view.ts";
import type { Labels, MetricSet } from "./metric_set.ts";

const SPLIT = ["source", "partition"] as const;

/** Transitions by what became of them; those that wait are not among them yet. */
const OUTCOMES: Readonly<Record<string, (counters: Counters) => number>> = {
  emitted: ({ enter, exit, passedOn }) => enter + exit + passedOn,
  suppressed: ({ suppressed }) => suppressed,
  silent: ({ silent }) => silent,
  absorbed: ({ absorbed }) => absorbed,
  refused_late: ({ lateRefused }) => lateRefused,
};

/** Triggers by kind. */
const KINDS: Readonly<Record<string, (counters: Counters) => number>> = {
  ENTER: ({ enter }) => enter,
  EXIT: ({ exit }) => exit,
  DWELL: ({ dwell }) => dwell,
  DWELL_PASSED_ON: ({ passedOn }) => passedOn,
  RETRACT: ({ retract }) => retract,
};

/** Counts that have no label of their own. */
const COUNTS: readonly (readonly [string, string, (report: SplitReport) => number])[] = [
  ["records_read", "Records read, heartbeats and what went to the dead letters included", (r) => r.readNow],
  ["heartbeats", "Heartbeats read", (r) => r.vitals.heartbeats],
  ["skipped", "Messages and crossings that are no transition by source.format", (r) => r.vitals.skipped],
  ["late_records", "Transitions at or before the watermark on arrival", (r) => r.countersNow.late],
  [
    "late_records_skipped",
    "Late transitions, older than what was applied, that earned no DWELL",
    (r) => r.countersNow.lateSkipped,
  ],
  [
    "dwells_contradicted",
    "DWELLs that were told and that a late record says should not have been",
    (r) => r.countersNow.dwellContradicted,
  ],
  [
    "flaps_in_bucket",
    "Visits that began in the time bucket of the one before, and so have no ENTER of their own",
    (r) => r.countersNow.flapsInBucket,
  ],
  [
    "watermark_forced",
    "Times that the watermark was moved because too many records waited (dwell.waiting_capacity)",
    (r) => r.countersNow.watermarkForced,
  ],
  [
    "held_groups_full",
    "Held groups of late records that were taken early because they or all were too many",
    (r) => r.countersNow.heldGroupsFull,
  ],
  [
    "pairs_evicted",
    "Pairs that were forgotten early because there were too many (pairs.capacity)",
    (r) => r.countersNow.pairsEvicted,
  ],
  [
    "pairs_over_capacity",
    "Times that the pairs grew past pairs.capacity since all were inside",
    (r) => r.countersNow.pairsOverCapacity,
  ],
  ["window_ids_added", "Ids put into the dedup window", (r) => r.vitals.windowIdsAdded],
  [
    "window_evicted_live",
    "Ids that left the dedup window before identity.ttl because identity.capacity was reached",
    (r) => r.vitals.evictedLive,
  ],
  ["checkpoints", "Checkpoints that became durable", (r) => r.vitals.checkpoint.count],
  ["checkpoint_written_bytes", "Bytes written to checkpoints", (r) => r.vitals.checkpoint.bytes],
];

/** How a split is doing, while it is here. */
const GAUGES: readonly (readonly [string, string, (report: SplitReport, wallUs: number) => number])[] = [
  [
    "split_open",
    "1 while the split reads, 0 while it is restored or tried again",
    (r) => Number(r.vitals.isOpen),
  ],
  [
    "watermark_lag_seconds",
    "How far the watermark is behind the wall clock; absent before the first record",
    (r, wallUs) => (wallUs - r.watermarkUs) / 1e6,
  ],
  [
    "watermark_following",
    "1 while the watermark follows the wall clock",
    (r) => Number(r.vitals.isFollowing),
  ],
  [
    "deadlines_overdue",
    "1 while deadlines have been overdue for longer than a tick: the partitions can't keep up",
    (r) => Number(r.overdue),
  ],
  [
    "deadlines_overdue_seconds",
    "How far the first of those deadlines is behind the watermark",
    (r) => r.vitals.overdueUs / 1e6,
  ],
  ["pending_dwells", "Thresholds that a visit has not reached yet", (r) => r.pendingDwells],
  [
    "waiting_records",
    "Records that wait for the watermark, or are held with others of their pair",
    (r) => r.waiting,
  ],
  ["pairs", "Pairs of a device and a fence that are remembered", (r) => r.pairs],
  ["pairs_bytes", "Memory of the pairs", (r) => r.vitals.pairsBytes],
  ["window_ids", "Ids in the dedup window", (r) => r.windowIds],
  ["window_bytes", "Memory of the dedup window", (r) => r.vitals.windowBytes],
  ["mailbox_records", "Records in the partitions' mailboxes", (r) => r.vitals.mailboxRecords],
  ["mailbox_fill_ratio", "How full the fullest mailbox is, 0 to 1", (r) => r.vitals.mailboxFill],
  [
    "checkpoint_age_seconds",
    "How long the oldest change has waited that is in no durable checkpoint; 0 where there is none",
    (r) => r.vitals.checkpoint.ageUs / 1e6,
  ],
  ["checkpoint_last_bytes", "Bytes that the last checkpoint wrote", (r) => r.vitals.checkpoint.lastBytes],
];

/** Where they come from. */
export interface SplitMetricsOptions {
  readonly config: Config;
  readonly splits: () => readonly SplitView[];
  readonly wallUs: () => number;
}

/** Registers them. */
export function registerSplitMetrics(set: MetricSet, { config, splits, wallUs }: SplitMetricsOptions): void {
  const each = (tell: (report: SplitReport, of: Labels) => void, here = false): void => {
    for (const { report, isHere } of splits()) {
      const { source, partition } = report.vitals;
      if (isHere || !here) tell(report, { source, partition });
    }
  };
  set.counter({
    name: "fencepost_transitions_total",
    help: "Transitions by what became of them",
    labels: [...SPLIT, "outcome"],
  }, (tell) =>
    each(({ countersNow }, of) => {
      for (const [outcome, count] of Object.entries(OUTCOMES)) tell(count(countersNow), { ...of, outcome });
    }));
  set.counter({
    name: "fencepost_triggers_total",
    help: "Triggers by kind; DWELL_PASSED_ON is one that an upstream made",
    labels: [...SPLIT, "kind"],
  }, (tell) =>
    each(({ countersNow }, of) => {
      for (const [kind, count] of Object.entries(KINDS)) tell(count(countersNow), { ...of, kind });
    }));
  set.counter({
    name: "fencepost_dead_letters_total",
    help: "Records that went to the dead letters, by reason",
    labels: [...SPLIT, "reason"],
  }, (tell) =>
    each(({ deadLettersNow }, of) => {
      for (const reason of DEAD_LETTER_REASONS) tell(deadLettersNow[reason], { ...of, reason });
    }));
  for (const [name, help, read] of COUNTS) {
    const named = { name: `fencepost_${name}_total`, help, labels: SPLIT };
    set.counter(named, (tell) => each((report, of) => tell(read(report), of)));
  }
  for (const [name, help, read] of GAUGES) {
    const named = { name: `fencepost_${name}`, help, labels: SPLIT };
    set.gauge(named, (tell) => each((report, of) => tell(read(report, wallUs()), of), true));
  }
  const added = (of: (report: SplitReport) => HistogramCounts): HistogramCounts | null => {
    const [first, ...rest] = splits().map(({ report }) => of(report));
    return first === undefined ? null : rest.reduce(addHistograms, first);
  };
  set.histogram({
    name: "fencepost_fire_lag_seconds",
    help:
      "How long after its event time and dwell.lateness a DWELL of a live source was handed to the outputs",
  }, () => added(({ vitals }) => vitals.fireLag));
  set.histogram({
    name: "fencepost_checkpoint_duration_seconds",
    help: "From a checkpoint's barrier until it was durable",
  }, () => added(({ vitals }) => vitals.checkpoint.durations));
  const settings: readonly (readonly [string, string, number])[] = [
    ["window_ttl_seconds", "identity.ttl", config.identity.ttlUs / 1e6],
    ["window_capacity_ids", "identity.capacity, of each partition", config.identity.capacity],
    ["lateness_seconds", "dwell.lateness", config.dwell.latenessUs / 1e6],
    ["checkpoint_interval_seconds", "checkpoint.interval", config.checkpoint.intervalUs / 1e6],
    ["mailbox_capacity_records", "mailbox.capacity", config.mailbox.capacity],
    ["pairs_capacity", "pairs.capacity", config.pairs.capacity],
  ];
  for (const [name, key, value] of settings) {
    set.gauge(
      { name: `fencepost_config_${name}`, help: `The configuration's ${key}` },
      (tell) => tell(value),
    );
  }
}
