/**
 * What the dashboard shows, from what is looked at first to what is looked at last.
 *
 * @module
 */

/** One panel. */
export interface Panel {
  readonly title: string;
  readonly kind: "timeseries" | "stat";
  /** Grafana's name of the unit. */
  readonly unit: string;
  readonly about: string;
  /** Expressions, and how each one's lines are called. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
  /** From which value on it is yellow and red; where not given it has no colour that says something. */
  readonly thresholds?: { readonly warning: number; readonly critical: number };
  readonly stacked?: boolean;
}

/** A row of them. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** The instances that were chosen. */
const OF = 'job=~"$job", instance=~"$instance"';
const SPLIT = "{{source}}[{{partition}}]";

function rate(metric: string, by: string, more = ""): string {
  return `sum by (${by}) (rate(${metric}{${OF}${more}}[$__rate_interval]))`;
}

function quantiles(metric: string): (readonly [string, string])[] {
  const of = (q: number): string =>
    `histogram_quantile(${q}, sum by (le) (rate(${metric}_bucket{${OF}}[$__rate_interval])))`;
  return [[of(0.5), "p50"], [of(0.99), "p99"]];
}

const RATIO = `${rate("fencepost_transitions_total", "job", ', outcome="suppressed"')} / ` +
  rate("fencepost_transitions_total", "job");

/** All of it. */
export const ROWS: readonly Row[] = [
  {
    title: "Is it well?",
    panels: [
      {
        title: "Splits that are read",
        kind: "stat",
        unit: "short",
        about: "Of all that are these processes', how many are open.",
        queries: [[`sum(fencepost_split_open{${OF}})`, "open"], [
          `count(fencepost_split_open{${OF}})`,
          "all",
        ]],
      },
      {
        title: "Suppressed",
        kind: "stat",
        unit: "percentunit",
        about: "Share of the transitions that are copies. Healthy is 1 to 5 %.",
        queries: [[RATIO, "copies"]],
        thresholds: { warning: 0.1, critical: 0.3 },
      },
      {
        title: "Watermark behind the wall clock",
        kind: "stat",
        unit: "s",
        about: "The split that is furthest behind.",
        queries: [[`max(fencepost_watermark_lag_seconds{${OF}})`, "lag"]],
        thresholds: { warning: 60, critical: 600 },
      },
      {
        title: "Oldest change that is not durable",
        kind: "stat",
        unit: "s",
        about: "What a crash now would have read again.",
        queries: [[`max(fencepost_checkpoint_age_seconds{${OF}})`, "age"]],
        thresholds: { warning: 10, critical: 60 },
      },
      {
        title: "Overdue",
        kind: "stat",
        unit: "short",
        about: "Splits whose deadlines have been overdue for longer than a tick.",
        queries: [[`sum(fencepost_deadlines_overdue{${OF}})`, "splits"]],
        thresholds: { warning: 1, critical: 5 },
      },
      {
        title: "Dead letters, last hour",
        kind: "stat",
        unit: "short",
        about: "Records that could not be taken.",
        queries: [[`sum(increase(fencepost_dead_letters_total{${OF}}[1h]))`, "records"]],
        thresholds: { warning: 1, critical: 1000 },
      },
    ],
  },
  {
    title: "What goes in and comes out",
    panels: [
      {
        title: "Transitions by outcome",
        kind: "timeseries",
        unit: "reqps",
        about: "What became of them.",
        queries: [[rate("fencepost_transitions_total", "outcome"), "{{outcome}}"]],
        stacked: true,
      },
      {
        title: "Triggers by kind",
        kind: "timeseries",
        unit: "reqps",
        about: "What left.",
        queries: [[rate("fencepost_triggers_total", "kind"), "{{kind}}"]],
        stacked: true,
      },
      {
        title: "Suppressed ratio",
        kind: "timeseries",
        unit: "percentunit",
        about: "Zero: copies are not recognised. Towards a half: everything comes twice.",
        queries: [[RATIO, "copies"]],
      },
      {
        title: "Dead letters by reason",
        kind: "timeseries",
        unit: "reqps",
        about: "Why records could not be taken.",
        queries: [[rate("fencepost_dead_letters_total", "reason"), "{{reason}}"]],
        stacked: true,
      },
      {
        title: "Late",
        kind: "timeseries",
        unit: "reqps",
        about:
          "Behind the watermark on arrival; those that earned nothing; DWELLs that should not have been told.",
        queries: [
          [rate("fencepost_late_records_total", "job"), "late"],
          [rate("fencepost_late_records_skipped_total", "job"), "earned nothing"],
          [rate("fencepost_dwells_contradicted_total", "job"), "DWELLs contradicted"],
        ],
      },
      {
        title: "Records read",
        kind: "timeseries",
        unit: "reqps",
        about: "By split.",
        queries: [[rate("fencepost_records_read_total", "source, partition"), SPLIT]],
      },
    ],
  },
  {
    title: "Time",
    panels: [
      {
        title: "Watermark behind the wall clock",
        kind: "timeseries",
        unit: "s",
        about: "Level is well. A line that climbs as fast as time is a watermark that stands still.",
        queries: [[`fencepost_watermark_lag_seconds{${OF}}`, SPLIT]],
      },
      {
        title: "DWELLs that are pending",
        kind: "timeseries",
        unit: "short",
        about: "Thresholds that visits have not reached yet.",
        queries: [[`fencepost_pending_dwells{${OF}}`, SPLIT]],
      },
      {
        title: "How late DWELLs leave",
        kind: "timeseries",
        unit: "s",
        about: "After their event time and dwell.lateness.",
        queries: quantiles("fencepost_fire_lag_seconds"),
      },
      {
        title: "Records that wait for the watermark",
        kind: "timeseries",
        unit: "short",
        about: "Bounded by dwell.waiting_capacity.",
        queries: [[`fencepost_waiting_records{${OF}}`, SPLIT]],
      },
    ],
  },
  {
    title: "Memory and state",
    panels: [
      {
        title: "Ids in the dedup window, against rate × ttl",
        kind: "timeseries",
        unit: "short",
        about: "Both lines should lie on each other, where identity.ttl is at most a few minutes old.",
        queries: [
          [`sum(fencepost_window_ids{${OF}})`, "ids"],
          [
            `sum(rate(fencepost_window_ids_added_total{${OF}}[5m])) * max(fencepost_config_window_ttl_seconds{${OF}})`,
            "rate × ttl",
          ],
        ],
      },
      {
        title: "Forgotten early",
        kind: "timeseries",
        unit: "reqps",
        about: "Ids and pairs that left because there were too many.",
        queries: [
          [rate("fencepost_window_evicted_live_total", "job"), "ids"],
          [rate("fencepost_pairs_evicted_total", "job"), "pairs"],
        ],
      },
      {
        title: "Memory",
        kind: "timeseries",
        unit: "bytes",
        about: "Of the process, and what it is used for.",
        queries: [
          [
            `sum(process_resident_memory_bytes{${OF}} and on (job, instance) fencepost_build_info)`,
            "process",
          ],
          [`sum(fencepost_heap_used_bytes{${OF}})`, "heap"],
          [`sum(fencepost_pairs_bytes{${OF}})`, "pairs"],
          [`sum(fencepost_window_bytes{${OF}})`, "window"],
        ],
      },
      {
        title: "Fullest mailbox",
        kind: "timeseries",
        unit: "percentunit",
        about: "Above a half, a source that can wait is paused.",
        queries: [[`fencepost_mailbox_fill_ratio{${OF}}`, SPLIT]],
      },
      {
        title: "Checkpoints: time",
        kind: "timeseries",
        unit: "s",
        about: "From the barrier until it is durable.",
        queries: quantiles("fencepost_checkpoint_duration_seconds"),
      },
      {
        title: "Checkpoints: bytes",
        kind: "timeseries",
        unit: "Bps",
        about: "Written.",
        queries: [[rate("fencepost_checkpoint_written_bytes_total", "source, partition"), SPLIT]],
      },
    ],
  },
  {
    title: "HTTP, endpoints, process",
    panels: [
      {
        title: "Requests",
        kind: "timeseries",
        unit: "reqps",
        about: "By route and status.",
        queries: [[rate("fencepost_http_requests_total", "route, status"), "{{route}} {{status}}"]],
      },
      {
        title: "How long requests take",
        kind: "timeseries",
        unit: "s",
        about: "One in a hundred takes longer.",
        queries: [[
          `histogram_quantile(0.99, ${rate("fencepost_http_request_duration_seconds_bucket", "route, le")})`,
          "{{route}}",
        ]],
      },
      {
        title: "Records refused",
        kind: "timeseries",
        unit: "reqps",
        about: "Nothing of them was taken; clients send them again.",
        queries: [[rate("fencepost_shed_records_total", "cause"), "{{cause}}"]],
      },
      {
        title: "Admission",
        kind: "timeseries",
        unit: "short",
        about: "Records taken and not durable, and how many may be.",
        queries: [
          [`fencepost_admission_in_flight_records{${OF}}`, "in flight"],
          [`fencepost_admission_limit_records{${OF}}`, "limit"],
        ],
      },
      {
        title: "Connections",
        kind: "timeseries",
        unit: "short",
        about: "Open, and ended by the gate each second.",
        queries: [
          [`fencepost_http_connections{${OF}}`, "open"],
          [rate("fencepost_http_connections_ended_total", "cause"), "{{cause}}"],
        ],
      },
      {
        title: "Attempts to send",
        kind: "timeseries",
        unit: "reqps",
        about: "To each endpoint, by what came of them.",
        queries: [[rate("fencepost_sink_attempts_total", "endpoint, outcome"), "{{endpoint}} {{outcome}}"]],
      },
      {
        title: "Oldest trigger that is to be sent",
        kind: "timeseries",
        unit: "s",
        about: "By endpoint.",
        queries: [[`fencepost_sink_oldest_pending_seconds{${OF}}`, "{{endpoint}}"]],
      },
      {
        title: "Event loop",
        kind: "timeseries",
        unit: "s",
        about: "How late timers come.",
        queries: quantiles("fencepost_event_loop_lag_seconds"),
      },
      {
        title: "Processor",
        kind: "timeseries",
        unit: "short",
        about: "Cores in use.",
        queries: [[
          `${rate("process_cpu_seconds_total", "job, instance")} and on (job, instance) fencepost_build_info`,
          "{{instance}}",
        ]],
      },
    ],
  },
];
