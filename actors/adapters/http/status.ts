/**
 * `GET /v1/status`: all that the page shows, in one piece, so that it never shows numbers of two moments.
 *
 * Counts are of this process and never go back; rates are what whoever asks makes of two answers. With `?history=1` the
 * last quarter of an hour comes with it, a sample a second, so that who opens the page during an outage sees its beginning.
 *
 * @module
 */
import type { Config } from "../../../lib/config.ts";
import { PendingCounts } from "../../../lib/pending_counts.ts";
import { VERSION } from "../../../lib/version.ts";
import type { Intake } from "../../intake.ts";
import type { Onlookers } from "../../onlookers.ts";
import type { ShownDeadLetter } from "../../recent_dead_letters.ts";
import type { SplitReport } from "../../split_actor.ts";
import type { NamedLook } from "../../named_look.ts";
import type { WebhookReport } from "../../webhook_endpoint.ts";

/** Triggers and dead letters that are shown. */
const RECENT = 12;

const decoder = new TextDecoder();

/** What a status is made of. */
export interface StatusSources {
  readonly config: Config;
  readonly intake: Intake | null;
  readonly report: () => SplitReport | null;
  readonly looks: () => readonly NamedLook[];
  readonly onlookers: Onlookers;
  readonly endpoints: () => readonly WebhookReport[];
  readonly notReady: () => string | null;
  /** Where the service listens. */
  readonly url: () => string;
}

/** Counts at one moment: what goes into charts. */
export interface Sample {
  /** ms since the epoch. */
  readonly at: number;
  readonly read: number;
  /** Transitions that were judged: of them some are copies. */
  readonly received: number;
  readonly suppressed: number;
  readonly dead_lettered: number;
  readonly refused: number;
  readonly late: number;
  readonly enter: number;
  readonly exit: number;
  readonly dwell: number;
  readonly retract: number;
  readonly pending: number;
}

/** A split, as it is shown. */
export interface SplitStatus {
  readonly name: string;
  /** ms since the epoch; null before the first record. */
  readonly watermark: number | null;
  readonly following: boolean;
  readonly overdue: boolean;
  readonly read: number;
  readonly waiting: number;
  readonly pairs: number;
  readonly pending_dwells: number;
  readonly mailboxes: readonly number[];
  readonly mailbox_capacity: number;
  readonly window: { readonly ids: number; readonly bytes: number; readonly evicted_live: number };
  readonly checkpoint: {
    readonly number: number;
    readonly age_s: number;
    readonly took_s: number;
    readonly bytes: number;
  };
}

/** An endpoint that triggers are sent to, as it is shown. */
export interface EndpointStatus {
  readonly name: string;
  readonly delivered: number;
  /** Attempts that failed. */
  readonly failed: number;
  readonly pending: number;
  readonly retrying: number;
  /** Null where none is pending, or none was looked at yet. */
  readonly oldest_pending_s: number | null;
  /** Given up, and dead letters. */
  readonly rejected: number;
  readonly disabled: boolean;
  readonly down: boolean;
}

/** The answer. */
export interface Status {
  readonly version: string;
  readonly uptime_s: number;
  readonly not_ready: string | null;
  readonly source: { readonly type: string; readonly name: string };
  readonly lateness_s: number;
  readonly checkpoint_interval_s: number;
  readonly sample: Sample;
  readonly dead_letters: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
  /** Records taken and not durable, and how many may be; null where requests are not taken. */
  readonly in_flight: { readonly records: number; readonly limit: number } | null;
  readonly splits: readonly SplitStatus[];
  readonly endpoints: readonly EndpointStatus[];
  /** Visits by how far their next deadline lies ahead. */
  readonly pending: {
    readonly overdue: number;
    readonly seconds: readonly number[];
    readonly minutes: readonly number[];
    readonly hours: readonly number[];
    readonly beyond: number;
    readonly is_sample: boolean;
    /** s ahead of the watermark, at least; null for none. */
    readonly next_s: number | null;
  };
  /** The newest first, once they are durable. */
  readonly recent_triggers: readonly unknown[];
  readonly recent_dead_letters: readonly ShownDeadLetter[];
}

/** The sample of now. */
export function sampleOf({ report, intake }: Pick<StatusSources, "report" | "intake">): Sample {
  const now = report();
  const counters = now?.countersNow;
  const letters = Object.values(now?.deadLettersNow ?? {}).reduce((sum, count) => sum + count, 0);
  return {
    at: Date.now(),
    read: now?.readNow ?? 0,
    received: counters?.received ?? 0,
    suppressed: counters?.suppressed ?? 0,
    dead_lettered: letters,
    refused: intake === null ? 0 : Object.values(intake.shed).reduce((sum, count) => sum + count, 0),
    late: counters?.late ?? 0,
    enter: counters?.enter ?? 0,
    exit: counters?.exit ?? 0,
    dwell: (counters?.dwell ?? 0) + (counters?.passedOn ?? 0),
    retract: counters?.retract ?? 0,
    pending: now?.pendingDwells ?? 0,
  };
}

/** The whole of it. */
export function statusOf(sources: StatusSources, uptimeMs: number): Status {
  const { config, intake, report, onlookers } = sources;
  const looks = sources.looks();
  const letters = Object.entries(report()?.deadLettersNow ?? {}).filter(([, count]) => count > 0);
  return {
    version: VERSION,
    uptime_s: Math.floor(uptimeMs / 1000),
    not_ready: sources.notReady(),
    source: { type: config.source.type, name: nameOf(config, sources.url()) },
    lateness_s: config.dwell.latenessUs / 1e6,
    checkpoint_interval_s: config.checkpoint.intervalUs / 1e6,
    sample: sampleOf(sources),
    dead_letters: Object.fromEntries(letters),
    refused: intake === null ? {} : { ...intake.shed },
    in_flight: intake === null ? null : { records: intake.admission.inFlight, limit: intake.admission.limit },
    splits: looks.map(splitStatus),
    endpoints: sources.endpoints().map(endpointStatus),
    pending: pendingStatus(looks),
    recent_triggers: onlookers.triggers.newestFirst(RECENT).map((line) => JSON.parse(decoder.decode(line))),
    recent_dead_letters: onlookers.deadLetters.newestFirst().slice(0, RECENT),
  };
}

function splitStatus({ name, report, mailboxes, mailboxCapacity }: NamedLook): SplitStatus {
  const { isFollowing, windowBytes, checkpoint } = report.vitals;
  return {
    name,
    watermark: Number.isFinite(report.watermarkUs) ? Math.floor(report.watermarkUs / 1000) : null,
    following: isFollowing,
    overdue: report.overdue,
    read: report.readNow,
    waiting: report.waiting,
    pairs: report.pairs,
    pending_dwells: report.pendingDwells,
    mailboxes,
    mailbox_capacity: mailboxCapacity,
    window: { ids: report.windowIds, bytes: windowBytes, evicted_live: report.evictedLive },
    checkpoint: {
      number: report.checkpoints,
      age_s: seconds(checkpoint.ageUs),
      took_s: seconds(checkpoint.lastUs),
      bytes: checkpoint.lastBytes,
    },
  };
}

function endpointStatus({ attempts, oldestPendingUs, ...report }: WebhookReport): EndpointStatus {
  const { delivered, ...failed } = attempts;
  const { name, pending, retrying, rejected, disabled, down } = report;
  return {
    ...{ name, delivered, pending, retrying, rejected, disabled, down },
    failed: Object.values(failed).reduce((sum, count) => sum + count, 0),
    oldest_pending_s: oldestPendingUs === null ? null : seconds(oldestPendingUs),
  };
}

function pendingStatus(looks: readonly NamedLook[]): Status["pending"] {
  const all = new PendingCounts();
  let nextS: number | null = null;
  for (const { pending, report } of looks) {
    all.merge(pending);
    if (!Number.isFinite(pending.firstUs) || !Number.isFinite(report.watermarkUs)) continue;
    const aheadS = seconds(Math.max(0, pending.firstUs - report.watermarkUs));
    nextS = nextS === null ? aheadS : Math.min(nextS, aheadS);
  }
  const { overdue, beyond, isSample } = all;
  return {
    overdue,
    seconds: all.seconds,
    minutes: all.minutes,
    hours: all.hours,
    beyond,
    is_sample: isSample,
    next_s: nextS,
  };
}

/** Where records come from, for a person. */
function nameOf(config: Config, url: string): string {
  if (config.source.type === "http") return url.slice(url.indexOf("//") + 2);
  if (config.source.type === "kafka") return config.source.topic;
  return config.source.path;
}

function seconds(us: number): number {
  return Math.round(us / 1000) / 1000;
}
