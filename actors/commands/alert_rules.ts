/**
 * What to be woken for: the field's runbook of a deduplicating pipeline, as Prometheus rules.
 *
 * | what is watched | why |
 * |---|---|
 * | the suppressed ratio | an at-least-once upstream repeats 1 to 5 %; none means that copies are not recognised, a half that all comes twice |
 * | the window's size | is rate × ttl; anything else means that ids leave too early or never |
 * | watermark, overdue deadlines | DWELLs that don't fire: nothing else tells, since nothing is written |
 * | dead letters, late records | a producer has changed |
 * | checkpoints | what a crash would have read again |
 *
 * A ratio says nothing of few records, and what has always been so is no alert: rises are measured against the day before.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { dedupRules, inputRules } from "./ratio_alerts.ts";
import type { AlertRule } from "./alert_rule.ts";

/** What the rules depend on besides the metrics. */
export interface AlertOptions {
  /** The scrape job's name. */
  readonly job: string;
  readonly config: Pick<Config, "identity" | "checkpoint">;
}

/** All alerts for a configuration. */
export function alertRules({ job, config }: AlertOptions): AlertRule[] {
  return [
    ...lifeRules(job),
    ...dedupRules(config.identity.ttlUs),
    ...timeRules(),
    ...inputRules(),
    ...stateRules(config.checkpoint.intervalUs),
    ...outwardRules(),
  ];
}

function lifeRules(job: string): AlertRule[] {
  const of = `{job=${JSON.stringify(job)}}`;
  return [
    {
      alert: "FencepostDown",
      expr: `up${of} == 0`,
      for: "2m",
      severity: "critical",
      summary: "Fencepost on {{ $labels.instance }} does not answer",
      description:
        "Its metrics could not be read for two minutes: no triggers leave, and none of its DWELLs fire.",
      action:
        "Look at its log and exit status. A start on the same state goes on where it stopped; nothing is lost.",
    },
    {
      alert: "FencepostAbsent",
      expr: `absent(up${of})`,
      for: "5m",
      severity: "critical",
      summary: "Prometheus knows no Fencepost",
      description: `There is no target with job="${job}".`,
      action:
        "See whether it is deployed, and whether the scrape job has another name (fencepost ops alerts --job NAME).",
    },
    {
      alert: "FencepostRestarts",
      expr: `changes(process_start_time_seconds${of}[30m]) > 2`,
      for: "0m",
      severity: "warning",
      summary: "Fencepost on {{ $labels.instance }} was started {{ $value }} times in half an hour",
      description: "Each start reads the state anew, and what came since the last checkpoint is read again.",
      action: "The last line on its stderr says why it ended: a full disk, an output that is gone, memory.",
    },
    {
      alert: "FencepostSplitNotOpen",
      expr: "fencepost_split_open == 0",
      for: "5m",
      severity: "critical",
      summary: "{{ $labels.source }}[{{ $labels.partition }}] is not read",
      description:
        "It has been restored, or tried again, for five minutes. The rest of the process may be well.",
      action:
        "Its log names the partition and what failed: most often a broker or a state that can't be reached.",
    },
  ];
}

function timeRules(): AlertRule[] {
  return [
    {
      alert: "FencepostWatermarkStuck",
      expr:
        "delta(fencepost_watermark_lag_seconds[10m]) > 480\n  and fencepost_watermark_lag_seconds > 600\n" +
        "  and (fencepost_pending_dwells > 0 or fencepost_waiting_records > 0)",
      for: "5m",
      severity: "critical",
      summary: "Time stands still in {{ $labels.source }}[{{ $labels.partition }}]",
      description: "Its watermark has not moved for ten minutes, so DWELLs that are pending don't fire.",
      action:
        "If nothing comes in, look at the producer; a HEARTBEAT moves time on. If something does: its event times " +
        "are older than what was seen already, or records are read and can't be taken (see the mailboxes and the log).",
    },
    {
      alert: "FencepostDeadlinesOverdue",
      expr: "fencepost_deadlines_overdue == 1",
      for: "5m",
      severity: "warning",
      summary: "Deadlines are overdue in {{ $labels.source }}[{{ $labels.partition }}]",
      description: "For five minutes more DWELLs have been due than could be fired.",
      action:
        "Look at the processor and the output: a slow one makes the partitions wait. After a long stop this is " +
        "the backlog, and passes.",
    },
    {
      alert: "FencepostDwellsLate",
      expr: "histogram_quantile(0.99, sum by (job, le) (rate(fencepost_fire_lag_seconds_bucket[10m]))) > 30",
      for: "15m",
      severity: "warning",
      summary: "DWELLs leave {{ $value | humanizeDuration }} after their time",
      description:
        "Of those of the last ten minutes, one in a hundred left as late, dwell.lateness not counted.",
      action:
        "Compare the watermark's lag: if that is as large, records come late or time does not follow the wall " +
        "clock. If not, the process is too slow.",
    },
    {
      alert: "FencepostWatermarkForced",
      expr: "increase(fencepost_watermark_forced_total[15m]) > 0",
      for: "0m",
      severity: "warning",
      summary: "Too many records wait in {{ $labels.source }}[{{ $labels.partition }}]",
      description:
        "dwell.waiting_capacity was reached and the watermark moved to let some go: others become late.",
      action:
        "A record with a wrong ingest time, a very long dwell.lateness, or a flood of late ones: raise " +
        "dwell.waiting_capacity if it is legitimate.",
    },
  ];
}

function stateRules(intervalUs: number): AlertRule[] {
  const oldS = Math.max(60, Math.ceil(10 * intervalUs / 1e6));
  return [
    {
      alert: "FencepostCheckpointOld",
      expr: `fencepost_checkpoint_age_seconds > ${oldS}`,
      for: "2m",
      severity: "critical",
      summary:
        "{{ $labels.source }}[{{ $labels.partition }}] has made nothing durable for {{ $value | humanizeDuration }}",
      description:
        "What came since would be read again after a crash; over HTTP and pipes, clients wait for answers.",
      action:
        "Look at the disk, broker or database that checkpoint.path names, and at the output: a checkpoint waits " +
        "until it is flushed.",
    },
    {
      alert: "FencepostPairsOverCapacity",
      expr: "increase(fencepost_pairs_over_capacity_total[15m]) > 0",
      for: "0m",
      severity: "warning",
      summary: "More pairs are inside than pairs.capacity",
      description: "None of them can be forgotten, so memory grows.",
      action: "Raise pairs.capacity if there are as many; if not, look for EXITs that never come.",
    },
    {
      alert: "FencepostHeapNearLimit",
      expr: "fencepost_heap_used_bytes / fencepost_heap_limit_bytes > 0.85",
      for: "10m",
      severity: "critical",
      summary: "The heap of {{ $labels.instance }} is {{ $value | humanizePercentage }} full",
      description: "At its limit the process ends.",
      action:
        "Share the partitions among more processes, or raise the limit: --v8-flags=--max-old-space-size.",
    },
    {
      alert: "FencepostEventLoopSlow",
      expr:
        "histogram_quantile(0.99, sum by (job, instance, le) (rate(fencepost_event_loop_lag_seconds_bucket[5m]))) > 0.5",
      for: "10m",
      severity: "warning",
      summary: "The event loop of {{ $labels.instance }} is {{ $value | humanizeDuration }} late",
      description: "Everything waits as long: requests, heartbeats to the group, deadlines.",
      action: "The process needs more processor time, or less to do.",
    },
  ];
}

function outwardRules(): AlertRule[] {
  return [
    {
      alert: "FencepostShedding",
      expr: 'sum by (job, instance) (rate(fencepost_shed_records_total{cause!="closed"}[5m])) > 0',
      for: "10m",
      severity: "warning",
      summary: "{{ $value | humanize }} records a second are refused",
      description:
        "More is sent than becomes durable within http.target, or by more connections or in more bytes at a time than " +
        "http.connections_max and http.bodies_bytes_max. Clients are told, and have to send it again.",
      action:
        "Larger batches from the clients, a faster disk, more processes. Nothing that was accepted is lost.",
    },
    {
      alert: "FencepostRequestsFail",
      expr:
        'sum by (job, route) (rate(fencepost_http_requests_total{status="5xx",route!="/readyz"}[5m])) > 0.1',
      for: "10m",
      severity: "warning",
      summary: "Requests to {{ $labels.route }} fail",
      description: "{{ $value | humanize }} a second are answered with a 5xx.",
      action: "503 is said while it starts or stops; for a 500 the log has the error.",
    },
    {
      alert: "FencepostEndpointBehind",
      expr: "fencepost_sink_oldest_pending_seconds > 900",
      for: "5m",
      severity: "warning",
      summary: "{{ $labels.endpoint }} takes no triggers",
      description:
        "The oldest has waited for {{ $value | humanizeDuration }}; it is tried again until it is too old.",
      action: "See what fencepost_sink_attempts_total counts for it, and ask those who run it.",
    },
    {
      alert: "FencepostEndpointDisabled",
      expr: "fencepost_sink_disabled == 1",
      for: "0m",
      severity: "critical",
      summary: "{{ $labels.endpoint }} has said that it is gone",
      description: "It answered 410: nothing is sent to it any more.",
      action: "Take it out of the configuration, or give its new address.",
    },
  ];
}
