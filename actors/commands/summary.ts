/**
 * How a run goes and went: the line on a terminal, and the summary at its end, for people or machines.
 *
 * Counts are those of this process; what the state has counted since it began is beside them.
 *
 * @module
 */
import type { Counters } from "../../lib/counters.ts";
import { DEAD_LETTER_REASONS } from "../../lib/dead_letter.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { addCounters, addDeadLetters } from "../report_sums.ts";
import type { SplitReport } from "../split_actor.ts";
import { addVitals } from "../split_meter.ts";

/** One report of several splits; null for none. */
export function sumReports(reports: readonly SplitReport[]): SplitReport | null {
  const [first, ...rest] = reports;
  if (first === undefined) return null;
  return rest.reduce((sum, report): SplitReport => ({
    read: sum.read + report.read,
    readNow: sum.readNow + report.readNow,
    counters: addCounters(sum.counters, report.counters),
    countersNow: addCounters(sum.countersNow, report.countersNow),
    deadLetters: addDeadLetters(sum.deadLetters, report.deadLetters),
    deadLettersNow: addDeadLetters(sum.deadLettersNow, report.deadLettersNow),
    pairs: sum.pairs + report.pairs,
    pendingDwells: sum.pendingDwells + report.pendingDwells,
    waiting: sum.waiting + report.waiting,
    windowIds: sum.windowIds + report.windowIds,
    evictedLive: sum.evictedLive + report.evictedLive,
    checkpoints: sum.checkpoints + report.checkpoints,
    // The time that all have come to.
    watermarkUs: Math.min(sum.watermarkUs, report.watermarkUs),
    overdue: sum.overdue || report.overdue,
    vitals: addVitals(sum.vitals, report.vitals),
  }), first);
}

/** Triggers by kind, as the summary has them. */
function emittedOf(counters: Counters): Record<string, number> {
  return {
    ENTER: counters.enter,
    EXIT: counters.exit,
    DWELL: counters.dwell,
    DWELL_passed_on: counters.passedOn,
    RETRACT: counters.retract,
  };
}

/** The line that shows how it goes, on a terminal. */
export class Progress {
  readonly #say: (text: string) => void;
  #shown = false;

  /** @param say writes to stderr */
  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  /** Writes the line anew. */
  show(report: SplitReport | null, elapsedUs: number): void {
    if (report === null) return;
    const counters = report.countersNow;
    const triggers = counters.enter + counters.exit + counters.dwell + counters.passedOn + counters.retract;
    const perSecond = Math.round(report.readNow / Math.max(elapsedUs, 1) * 1e6);
    const time = Number.isFinite(report.watermarkUs) ? ` · at ${formatTimestamp(report.watermarkUs)}` : "";
    this.#say(
      `\r\x1b[K${report.readNow} read (${perSecond}/s) · ${triggers} triggers · ${counters.suppressed} suppressed · ` +
        `${report.pendingDwells} pending${time}`,
    );
    this.#shown = true;
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#shown) this.#say("\r\x1b[K");
    this.#shown = false;
  }

  /** Writes a line for good, above it. */
  say(line: string): void {
    this.clear();
    this.#say(line + "\n");
  }
}

/** The summary as one line of JSON. */
export function summaryJson(report: SplitReport, elapsedUs: number): string {
  const counters = report.countersNow;
  const summary = {
    read: report.readNow,
    read_in_all: report.read,
    emitted: emittedOf(counters),
    emitted_in_all: emittedOf(report.counters),
    suppressed: counters.suppressed,
    dead_lettered: Object.fromEntries(Object.entries(report.deadLettersNow).filter(([, count]) => count > 0)),
    skipped: report.vitals.skipped,
    silent: counters.silent,
    absorbed: counters.absorbed,
    late: counters.late,
    late_skipped: counters.lateSkipped,
    dwell_contradicted: counters.dwellContradicted,
    flaps_in_bucket: counters.flapsInBucket,
    watermark_forced: counters.watermarkForced,
    held_groups_full: counters.heldGroupsFull,
    evicted_live: report.evictedLive,
    pairs: report.pairs,
    pairs_evicted: counters.pairsEvicted,
    pairs_over_capacity: counters.pairsOverCapacity,
    pending_dwells: report.pendingDwells,
    waiting: report.waiting,
    watermark: Number.isFinite(report.watermarkUs) ? formatTimestamp(report.watermarkUs) : null,
    checkpoints: report.checkpoints,
    seconds: Math.round(elapsedUs / 1e3) / 1e3,
    records_per_second: Math.round(report.readNow / Math.max(elapsedUs, 1) * 1e6),
  };
  return JSON.stringify(summary) + "\n";
}

/** The summary for people. */
export function summaryText(report: SplitReport, elapsedUs: number): string {
  const counters = report.countersNow;
  const seconds = elapsedUs / 1e6;
  const lines: [string, string | number][] = [
    ["read", `${report.readNow}${report.read === report.readNow ? "" : ` (${report.read} in all)`}`],
    [
      "emitted",
      `${counters.enter} ENTER, ${counters.exit} EXIT, ${counters.dwell} DWELL` +
      (counters.passedOn > 0 ? `, ${counters.passedOn} DWELL passed on` : "") +
      (counters.retract > 0 ? `, ${counters.retract} RETRACT` : ""),
    ],
    ["suppressed", counters.suppressed],
  ];
  for (const reason of DEAD_LETTER_REASONS) {
    if (report.deadLettersNow[reason] > 0) {
      lines.push([`dead letters: ${reason}`, report.deadLettersNow[reason]]);
    }
  }
  const sometimes: [string, number][] = [
    ["skipped, no transition", report.vitals.skipped],
    ["silent", counters.silent],
    ["absorbed", counters.absorbed],
    ["late", counters.late],
    ["late, earned nothing", counters.lateSkipped],
    ["dwells contradicted", counters.dwellContradicted],
    ["flaps in a bucket", counters.flapsInBucket],
    ["watermark forced", counters.watermarkForced],
    ["held groups full", counters.heldGroupsFull],
    ["ids evicted live", report.evictedLive],
    ["pairs evicted", counters.pairsEvicted],
    ["still waiting", report.waiting],
  ];
  for (const [name, count] of sometimes) if (count > 0) lines.push([name, count]);
  lines.push(["pairs", report.pairs], ["pending dwells", report.pendingDwells]);
  const perSecond = Math.round(report.readNow / Math.max(seconds, 1e-6));
  lines.push(["took", `${seconds.toFixed(2)} s, ${perSecond} records per second`]);
  return lines.map(([name, value]) => `${name.padEnd(30)}${value}\n`).join("");
}
