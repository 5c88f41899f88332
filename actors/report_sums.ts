/**
 * Sums of what splits report.
 *
 * @module
 */
import { Counters } from "../lib/counters.ts";
import { DEAD_LETTER_REASONS } from "../lib/dead_letter.ts";
import { continueVitals } from "./split_meter.ts";
import type { DeadLetterCounts, SplitReport } from "./split_actor.ts";

/** Both together. */
export function addCounters(one: Counters, other: Counters): Counters {
  const sum = new Counters();
  sum.add(one);
  sum.add(other);
  return sum;
}

/** Both together. */
export function addDeadLetters(one: DeadLetterCounts, other: DeadLetterCounts): DeadLetterCounts {
  return Object.fromEntries(
    DEAD_LETTER_REASONS.map((reason) => [reason, one[reason] + other[reason]]),
  ) as DeadLetterCounts;
}

/**
 * How a partition is doing, with what this process has done for it before: it may come back, and a split that failed is
 * opened anew. What was read twice is counted twice, since it was.
 */
export function continueReport(report: SplitReport, before: SplitReport | undefined): SplitReport {
  if (before === undefined) return report;
  return {
    ...report,
    readNow: before.readNow + report.readNow,
    countersNow: addCounters(before.countersNow, report.countersNow),
    deadLettersNow: addDeadLetters(before.deadLettersNow, report.deadLettersNow),
    vitals: continueVitals(report.vitals, before.vitals),
  };
}
