/**
 * The alerts on what is in proportion to something: copies, dead letters and late records to all, the window to its rate.
 *
 * A share of few records says nothing, so each wants some hundred; a rise is measured against the day before.
 *
 * @module
 */
import type { AlertRule } from "./alert_rule.ts";

/** A ratio that is computed once for several rules. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

/** What is recorded. */
export const RECORDINGS: readonly RecordingRule[] = [
  { record: "job:fencepost_suppressed:ratio_rate30m", expr: suppressedRatio("[30m]") },
  { record: "job:fencepost_dead_letters:ratio_rate15m", expr: deadLetterRatio("[15m]") },
  { record: "job:fencepost_late_records:ratio_rate15m", expr: lateRatio("[15m]") },
];

/** On the dedup window. */
export function dedupRules(ttlUs: number): AlertRule[] {
  const ratio = "job:fencepost_suppressed:ratio_rate30m";
  const { rangeS, share } = windowRange(ttlUs);
  const range = `${rangeS}s`;
  const by = "sum by (job, source, partition)";
  const expected = `${by} (increase(fencepost_window_ids_added_total[${range}]))${
    share === 1 ? "" : ` * ${share}`
  }`;
  // Only where time went by as fast as it did for Prometheus, and for as long.
  const steady = `max by (job, source, partition) (abs(delta(fencepost_watermark_lag_seconds[${range}]))) < ${
    rangeS / 20
  }`;
  const since = `min by (job) (time() - process_start_time_seconds) > ${rangeS}`;
  return [
    {
      alert: "FencepostNothingSuppressed",
      expr: `${ratio} < 0.001\n  and ${suppressedRatio("[1d] offset 1h")} > 0.005\n  and ${busy("30m")}`,
      for: "30m",
      severity: "warning",
      summary: "No copies are recognised any more",
      description:
        "The day before, some of the transitions were copies, as they are wherever delivery is at least " +
        "once. Now hardly any is: either the upstream has stopped repeating, or copies come with other keys.",
      action:
        "Take a crossing that came twice and compare the ids: fencepost key --device … --time …. Look for a " +
        "changed device_id or fence_id, times that were rounded otherwise, a Kafka key that is not the device.",
    },
    {
      alert: "FencepostMuchSuppressed",
      expr: `${ratio} > 0.25\n  and ${busy("30m")}`,
      for: "15m",
      severity: "warning",
      summary: "{{ $value | humanizePercentage }} of the transitions are copies",
      description:
        "Healthy is 1 to 5 %. Towards a half, everything comes twice; beyond it, a client sends again and " +
        "again what it was already told is taken.",
      action:
        "See whether two producers, or two mirrors of a topic, send the same; whether a client retries what was " +
        "answered with 200; whether identity.bucket is wider than a device's shortest real visit.",
    },
    {
      alert: "FencepostWindowSize",
      expr: `abs(${by} (fencepost_window_ids) / (${expected}) - 1) > 0.1\n` +
        `  and (${by} (fencepost_window_ids) > 1000 or ${expected} > 1000)\n  and ${steady}\n  and on (job) ${since}`,
      // After a partition has moved, its window is older than the counter beside it.
      for: `${Math.max(900, rangeS)}s`,
      severity: "warning",
      summary:
        "The dedup window of {{ $labels.source }}[{{ $labels.partition }}] is not what rate × ttl makes it",
      description:
        "It differs by {{ $value | humanizePercentage }} from the ids that were put in within identity.ttl. " +
        "Smaller, ids leave too early, and copies come out again; larger, they don't leave.",
      action:
        "Smaller: raise identity.capacity (see fencepost_window_evicted_live_total). Larger: the dedup clock " +
        "stands still; look at the ingest times of the records.",
    },
    {
      alert: "FencepostWindowFull",
      expr: "increase(fencepost_window_evicted_live_total[15m]) > 0",
      for: "0m",
      severity: "warning",
      summary:
        "Ids leave the dedup window of {{ $labels.source }}[{{ $labels.partition }}] before identity.ttl",
      description: "A copy that comes later than the window now reaches back is told again.",
      action: "Raise identity.capacity (30 bytes an id of memory), or partitions, or lower identity.ttl.",
    },
  ];
}

/** On what comes in. */
export function inputRules(): AlertRule[] {
  const rise = (ratio: string, before: string, least: number): string =>
    `${ratio} > ${least}\n  and ${ratio} > 3 * ${before}\n  and ${busy("15m")}`;
  return [
    {
      alert: "FencepostDeadLettersRise",
      expr: rise("job:fencepost_dead_letters:ratio_rate15m", deadLetterRatio("[1d] offset 15m"), 0.002),
      for: "10m",
      severity: "warning",
      summary: "{{ $value | humanizePercentage }} of the records go to the dead letters",
      description: "More than three times as many as the day before. A producer sends what can't be taken.",
      action:
        "fencepost dead-letters list --since 1h shows them with their reasons. Once it is mended, fencepost " +
        "dead-letters replay sends them again.",
    },
    {
      alert: "FencepostSinkRejects",
      expr: 'increase(fencepost_dead_letters_total{reason="SINK_REJECTED"}[15m]) > 0\n' +
        "  or increase(fencepost_sink_given_up_total[15m]) > 0",
      for: "0m",
      severity: "critical",
      summary: "An output has refused triggers for good",
      description:
        "They are in the dead letters with the reason SINK_REJECTED; what a webhook has given up may be about to be.",
      action:
        "fencepost dead-letters list --reason SINK_REJECTED shows which and why; replay them when it is mended.",
    },
    {
      alert: "FencepostLateRecordsRise",
      expr: rise("job:fencepost_late_records:ratio_rate15m", lateRatio("[1d] offset 15m"), 0.05),
      for: "10m",
      severity: "warning",
      summary: "{{ $value | humanizePercentage }} of the transitions come late",
      description: "More than three times as many as the day before: at or before the watermark on arrival.",
      action:
        "Devices that were offline catch up, and it passes; or a pipeline in front has become slower than " +
        "dwell.lateness, which has to be raised then.",
    },
  ];
}

function suppressedRatio(range: string): string {
  return `sum by (job) (rate(fencepost_transitions_total{outcome="suppressed"}${range})) / ` +
    `sum by (job) (rate(fencepost_transitions_total${range}))`;
}

function deadLetterRatio(range: string): string {
  return `sum by (job) (rate(fencepost_dead_letters_total${range})) / ` +
    `sum by (job) (rate(fencepost_records_read_total${range}))`;
}

function lateRatio(range: string): string {
  return `sum by (job) (rate(fencepost_late_records_total${range})) / ` +
    `sum by (job) (rate(fencepost_transitions_total${range}))`;
}

/** Enough records that a share of them says something. */
function busy(range: string): string {
  return `sum by (job) (increase(fencepost_records_read_total[${range}])) > 500`;
}

/** Over what time the ids are counted that the window should hold, and their share: too few scrapes make no rate. */
function windowRange(ttlUs: number): { readonly rangeS: number; readonly share: number } {
  const rangeS = Math.max(120, Math.ceil(ttlUs / 1e6));
  return { rangeS, share: ttlUs / 1e6 / rangeS };
}
