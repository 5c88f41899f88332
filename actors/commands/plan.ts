/**
 * `fencepost plan`: what to configure for a workload, and what it will take.
 *
 * The configuration alone goes to stdout, so that `fencepost plan … > fencepost.json` makes a file for `--config`. It is
 * what `--config` and `--set` had, with what was planned over it, and checked as `run` would check it.
 *
 * @module
 */
import { type Config, listenOf, parseConfig, setConfigKey } from "../../lib/config.ts";
import type { Json } from "../../lib/json.ts";
import { type Plan, plan, type Workload } from "../../lib/plan.ts";
import { statePlaceOf } from "../../lib/state_place.ts";
import { formatDuration } from "../../lib/time.ts";
import type { PlanArguments } from "./plan_arguments.ts";

/** What the command needs of the process it runs in. */
export interface PlanEnvironment {
  /** Writes to stdout. */
  readonly write: (text: string) => Promise<void>;
  /** Writes to stderr. */
  readonly say: (text: string) => void;
}

/** The shortest real re-entry where nobody says it, µs: that of the default bucket. */
const REVISIT_US = 5_000_000;

/**
 * Runs the command.
 *
 * @param base what the configuration says so far
 * @returns the exit status
 * @throws {ConfigError} where what comes out can't be run, or the base can't
 */
export async function planCommand(
  asked: PlanArguments,
  base: Json,
  { write, say }: PlanEnvironment,
): Promise<number> {
  const withRules = asked.afterUs === null ? base : setConfigKey(base, "dwell.rules", [{
    fence: "*",
    after: asked.afterUs.map(formatDuration),
  }]);
  const workload = workloadOf(asked, parseConfig(base));
  const planned = plan(workload);
  if (!asked.json) say(reportOf(workload, planned));
  const json = settingsOf(workload, planned).reduce(
    (config, [key, value]) => setConfigKey(config, key, value),
    withRules,
  );
  parseConfig(json);
  await write(JSON.stringify(asked.json ? { ...figuresOf(planned), config: json } : json, null, 2) + "\n");
  return 0;
}

/** What is asked for, and what the configuration says of all else. */
function workloadOf(asked: PlanArguments, config: Config): Workload {
  const { identity, dwell, checkpoint, source, time, deadLetters } = config;
  return {
    ...asked,
    retentionUs: asked.retentionUs ?? deadLetters.retentionUs,
    skewUs: asked.skewUs ?? identity.maxSkewUs,
    revisitUs: asked.revisitUs ?? identity.minRevisitUs ?? REVISIT_US,
    thresholds: asked.afterUs === null ? dwell.rules.map(({ afterUs }) => afterUs) : [asked.afterUs],
    latenessUs: dwell.latenessUs,
    intervalUs: checkpoint.intervalUs,
    maxAgeUs: time.maxAgeUs,
    source: source.type,
    listens: listenOf(config) !== null,
    stateInDirectory: statePlaceOf(checkpoint.path).type === "directory",
  };
}

/** The keys that are planned. */
function settingsOf({ source, retentionUs }: Workload, planned: Plan): (readonly [string, Json])[] {
  const { bucketUs, guardUs, maxSkewUs, minRevisitUs } = planned.widths;
  const durationOrNull = (us: number | null): Json => us === null ? null : formatDuration(us);
  return [
    ["identity.bucket", formatDuration(bucketUs)],
    ["identity.guard", formatDuration(guardUs)],
    ["identity.max_skew", durationOrNull(maxSkewUs)],
    ["identity.min_revisit", durationOrNull(minRevisitUs)],
    ["identity.ttl", formatDuration(planned.ttlUs)],
    ["identity.capacity", planned.capacity],
    ["identity.allow_short_ttl", planned.allowShortTtl],
    ["dwell.waiting_capacity", planned.waitingCapacity],
    ["pairs.capacity", planned.pairsCapacity],
    // A partition of a topic is a split with one partition.
    ...(source === "kafka" ? [] : [["partitions", planned.partitions]] as const),
    ["mailbox.capacity", planned.mailboxCapacity],
    ["dead_letters.retention", durationOrNull(retentionUs)],
  ];
}

/** For machines: bytes, ids, records. */
function figuresOf({ memory, checkpoint, warnings, ...planned }: Plan): Record<string, Json> {
  return {
    ids_per_record: planned.idsPerRecord,
    window_ids: planned.windowIds,
    waiting_records: planned.waitingRecords,
    partitions: planned.partitions,
    memory: {
      pairs_bytes: memory.pairsBytes,
      window_bytes: memory.windowBytes,
      waiting_bytes: memory.waitingBytes,
      partitions_bytes: memory.partitionsBytes,
      process_bytes: memory.processBytes,
      total_bytes: memory.totalBytes,
      backlog_bytes: memory.backlogBytes,
    },
    checkpoint: {
      bytes_per_record: checkpoint.bytesPerRecord,
      bytes_per_second: checkpoint.bytesPerSecond,
      disk_bytes_per_second: checkpoint.diskBytesPerSecond,
      state_bytes: checkpoint.stateBytes,
    },
    warnings: warnings.map(({ key, text }) => ({ key, text })),
  };
}

/** For people. */
function reportOf(workload: Workload, planned: Plan): string {
  const { memory, checkpoint, widths, partitions, windowIds, waitingRecords } = planned;
  const rows: (readonly [string, string, string])[] = [
    ["ttl", formatDuration(planned.ttlUs), "until the last copy of a record, and some more"],
    [
      "bucket, guard",
      `${formatDuration(widths.bucketUs)}, ${formatDuration(widths.guardUs)}`,
      widthsOf(workload),
    ],
    [
      "ids",
      String(windowIds),
      `${planned.idsPerRecord.toFixed(2)} a record, ${planned.capacity} a partition at most`,
    ],
    ["partitions", String(partitions), `${planned.mailboxCapacity} records in a mailbox at most`],
    ["memory: pairs", mib(memory.pairsBytes), `${workload.pairs}`],
    ["memory: window", mib(memory.windowBytes), `${windowIds} ids`],
    [
      "memory: waiting",
      mib(memory.waitingBytes),
      `${waitingRecords} records, for ${formatDuration(workload.latenessUs)}`,
    ],
    [
      "memory: process",
      mib(memory.processBytes + memory.partitionsBytes),
      "Deno, the code, what is under way",
    ],
    [
      "memory",
      mib(memory.totalBytes),
      `and ${mib(memory.backlogBytes)} while a source that can wait is behind`,
    ],
    [
      "checkpoints",
      `${mib(checkpoint.bytesPerSecond)}/s`,
      `${checkpoint.bytesPerRecord.toFixed(0)} B a record; ${
        mib(checkpoint.diskBytesPerSecond)
      }/s where they are kept`,
    ],
    ["state", mib(checkpoint.stateBytes), "at most, which a restart reads"],
  ];
  const warnings = planned.warnings.map(({ key, text }) => `warning: ${key}: ${text}\n`);
  return rows.map(([name, value, about]) => `${name.padEnd(18)}${value.padStart(14)}   ${about}\n`).join("") +
    warnings.join("");
}

function widthsOf({ skewUs, revisitUs }: Workload): string {
  return `for a skew of ${formatDuration(skewUs)} and a revisit of ${formatDuration(revisitUs)}`;
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
