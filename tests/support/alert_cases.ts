/**
 * Series of metrics as an operator would see them, and the alerts that there must be then, and no others.
 *
 * @module
 */

/** A series and its values each minute, in promtool's notation. */
type Series = Readonly<Record<string, string>>;

const OF = 'job="fencepost", instance="a:1"';
const SPLIT = `${OF}, source="records", partition="0"`;
/** In minutes. */
export const DAY = 1440;

/** What is well: a day and more of it, beside which a case has its own series. */
function well(minutes: number, changed: Series = {}): Series {
  return {
    [`up{${OF}}`]: `1x${minutes}`,
    [`process_start_time_seconds{${OF}}`]: `0x${minutes}`,
    [`fencepost_split_open{${SPLIT}}`]: `1x${minutes}`,
    [`fencepost_records_read_total{${SPLIT}}`]: `0+6000x${minutes}`,
    [`fencepost_transitions_total{${SPLIT}, outcome="emitted"}`]: `0+5820x${minutes}`,
    [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: `0+180x${minutes}`,
    [`fencepost_dead_letters_total{${SPLIT}, reason="INVALID_TIME"}`]: `0+3x${minutes}`,
    [`fencepost_dead_letters_total{${SPLIT}, reason="SINK_REJECTED"}`]: `0x${minutes}`,
    [`fencepost_late_records_total{${SPLIT}}`]: `0+60x${minutes}`,
    [`fencepost_window_ids_added_total{${SPLIT}}`]: `0+7000x${minutes}`,
    [`fencepost_window_ids{${SPLIT}}`]: `35000x${minutes}`,
    [`fencepost_window_evicted_live_total{${SPLIT}}`]: `0x${minutes}`,
    [`fencepost_watermark_lag_seconds{${SPLIT}}`]: `5x${minutes}`,
    [`fencepost_pending_dwells{${SPLIT}}`]: `100x${minutes}`,
    [`fencepost_waiting_records{${SPLIT}}`]: `100x${minutes}`,
    [`fencepost_deadlines_overdue{${SPLIT}}`]: `0x${minutes}`,
    [`fencepost_watermark_forced_total{${SPLIT}}`]: `0x${minutes}`,
    [`fencepost_pairs_over_capacity_total{${SPLIT}}`]: `0x${minutes}`,
    [`fencepost_checkpoint_age_seconds{${SPLIT}}`]: `0.5x${minutes}`,
    [`fencepost_fire_lag_seconds_bucket{${OF}, le="2"}`]: `0+10x${minutes}`,
    [`fencepost_fire_lag_seconds_bucket{${OF}, le="60"}`]: `0+10x${minutes}`,
    [`fencepost_fire_lag_seconds_bucket{${OF}, le="+Inf"}`]: `0+10x${minutes}`,
    [`fencepost_shed_records_total{${OF}, cause="full"}`]: `0x${minutes}`,
    [`fencepost_shed_records_total{${OF}, cause="closed"}`]: `0+1x${minutes}`,
    [`fencepost_http_requests_total{${OF}, route="/v1/transitions", status="2xx"}`]: `0+6000x${minutes}`,
    [`fencepost_http_requests_total{${OF}, route="/v1/transitions", status="5xx"}`]: `0x${minutes}`,
    [`fencepost_heap_used_bytes{${OF}}`]: `1000x${minutes}`,
    [`fencepost_heap_limit_bytes{${OF}}`]: `4000x${minutes}`,
    [`fencepost_event_loop_lag_seconds_bucket{${OF}, le="0.01"}`]: `0+600x${minutes}`,
    [`fencepost_event_loop_lag_seconds_bucket{${OF}, le="1"}`]: `0+600x${minutes}`,
    [`fencepost_event_loop_lag_seconds_bucket{${OF}, le="+Inf"}`]: `0+600x${minutes}`,
    [`fencepost_sink_oldest_pending_seconds{${OF}, endpoint="crm"}`]: `1x${minutes}`,
    [`fencepost_sink_disabled{${OF}, endpoint="crm"}`]: `0x${minutes}`,
    [`fencepost_sink_given_up_total{${OF}, endpoint="crm"}`]: `0x${minutes}`,
    ...changed,
  };
}

/** What is seen, when, and which alerts there are then. */
export interface AlertCase {
  readonly name: string;
  readonly series: Series;
  readonly atMinute: number;
  readonly alerts: readonly string[];
}

const HOUR = 60;
/** For each rule what must fire it, and what must fire none. */
export const CASES: readonly AlertCase[] = [
  { name: "all is well, for a day", series: well(DAY + HOUR), atMinute: DAY + HOUR, alerts: [] },
  { name: "all is well, an hour after the start", series: well(HOUR), atMinute: HOUR, alerts: [] },
  { name: "nothing comes at all", series: { [`up{${OF}}`]: "1x60" }, atMinute: HOUR, alerts: [] },
  {
    name: "it does not answer",
    series: { [`up{${OF}}`]: "1x10 0x10" },
    atMinute: 15,
    alerts: ["FencepostDown"],
  },
  { name: "one scrape was missed", series: { [`up{${OF}}`]: "1x10 0 1x10" }, atMinute: 11, alerts: [] },
  {
    name: "it is not there",
    series: { 'up{job="other"}': "1x30" },
    atMinute: 20,
    alerts: ["FencepostAbsent"],
  },
  {
    name: "it starts again and again",
    series: well(HOUR, { [`process_start_time_seconds{${OF}}`]: "0x10 600 660 720 780x50" }),
    atMinute: 20,
    alerts: ["FencepostRestarts"],
  },
  {
    name: "a partition can't be opened",
    series: well(HOUR, { [`fencepost_split_open{${SPLIT}}`]: "1x20 0x40" }),
    atMinute: 30,
    alerts: ["FencepostSplitNotOpen"],
  },
  {
    name: "a partition has moved",
    series: well(HOUR, { [`fencepost_split_open{${SPLIT}}`]: "1x20 0x3 1x40" }),
    atMinute: 23,
    alerts: [],
  },
  {
    name: "copies are not recognised any more",
    series: well(DAY + 3 * HOUR, {
      [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: `0+180x${DAY + HOUR} 259380x${
        2 * HOUR
      }`,
    }),
    atMinute: DAY + 3 * HOUR,
    alerts: ["FencepostNothingSuppressed"],
  },
  {
    name: "there never were copies",
    series: well(DAY + HOUR, {
      [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: `0x${DAY + HOUR}`,
    }),
    atMinute: DAY + HOUR,
    alerts: [],
  },
  {
    name: "copies at the edges of what is healthy, 1 and 5 %",
    series: well(2 * DAY, {
      [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: `0+300x${DAY} 432000+60x${DAY}`,
    }),
    atMinute: 2 * DAY,
    alerts: [],
  },
  {
    name: "everything comes twice",
    series: well(2 * HOUR, {
      [`fencepost_transitions_total{${SPLIT}, outcome="emitted"}`]: "0+5820x60 349200+3000x60",
      [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: "0+180x60 10800+3000x60",
    }),
    atMinute: 2 * HOUR,
    alerts: ["FencepostMuchSuppressed"],
  },
  {
    name: "a client sends an hour again, for ten minutes",
    series: well(2 * HOUR, {
      [`fencepost_transitions_total{${SPLIT}, outcome="suppressed"}`]: "0+180x60 10800+2000x10 30800+180x50",
    }),
    atMinute: 72,
    alerts: [],
  },
  {
    name: "the window is a fifth too small",
    series: well(HOUR, { [`fencepost_window_ids{${SPLIT}}`]: "35000x20 28000x40" }),
    atMinute: 50,
    alerts: ["FencepostWindowSize"],
  },
  {
    name: "the window does not let go",
    series: well(HOUR, { [`fencepost_window_ids{${SPLIT}}`]: "35000x20 35000+500x40" }),
    atMinute: 55,
    alerts: ["FencepostWindowSize"],
  },
  {
    name: "the window is 5 % off",
    series: well(HOUR, { [`fencepost_window_ids{${SPLIT}}`]: "35000x20 36750x40" }),
    atMinute: 50,
    alerts: [],
  },
  {
    name: "the window grows with the rate",
    series: well(HOUR, {
      [`fencepost_window_ids_added_total{${SPLIT}}`]: "0+7000x20 140000+14000x40",
      [`fencepost_window_ids{${SPLIT}}`]: "35000x20 42000 49000 56000 63000 70000x40",
    }),
    atMinute: 50,
    alerts: [],
  },
  {
    name: "a backlog is read: its time goes by faster than ours",
    series: well(HOUR, {
      [`fencepost_watermark_lag_seconds{${SPLIT}}`]: "36000-540x60",
      [`fencepost_window_ids{${SPLIT}}`]: "3500x60",
    }),
    atMinute: 50,
    alerts: [],
  },
  {
    name: "ids leave before their time",
    series: well(HOUR, { [`fencepost_window_evicted_live_total{${SPLIT}}`]: "0x20 0+10x40" }),
    atMinute: 30,
    alerts: ["FencepostWindowFull"],
  },
  {
    name: "the watermark stands still",
    series: well(2 * HOUR, { [`fencepost_watermark_lag_seconds{${SPLIT}}`]: "5x30 5+60x90" }),
    atMinute: 60,
    alerts: ["FencepostWatermarkStuck"],
  },
  {
    name: "it stands still and nothing is pending",
    series: well(2 * HOUR, {
      [`fencepost_watermark_lag_seconds{${SPLIT}}`]: "5x30 5+60x90",
      [`fencepost_pending_dwells{${SPLIT}}`]: "0x120",
      [`fencepost_waiting_records{${SPLIT}}`]: "0x120",
    }),
    atMinute: 60,
    alerts: [],
  },
  {
    name: "the watermark is an hour behind, as steadily as ever",
    series: well(HOUR, { [`fencepost_watermark_lag_seconds{${SPLIT}}`]: "3600x60" }),
    atMinute: 60,
    alerts: [],
  },
  {
    name: "deadlines are overdue",
    series: well(HOUR, { [`fencepost_deadlines_overdue{${SPLIT}}`]: "0x20 1x40" }),
    atMinute: 30,
    alerts: ["FencepostDeadlinesOverdue"],
  },
  {
    name: "deadlines were overdue for a moment",
    series: well(HOUR, { [`fencepost_deadlines_overdue{${SPLIT}}`]: "0x20 1x3 0x40" }),
    atMinute: 23,
    alerts: [],
  },
  {
    name: "DWELLs leave a minute late",
    series: well(HOUR, { [`fencepost_fire_lag_seconds_bucket{${OF}, le="2"}`]: "0x60" }),
    atMinute: 50,
    alerts: ["FencepostDwellsLate"],
  },
  {
    name: "the watermark had to be moved",
    series: well(HOUR, { [`fencepost_watermark_forced_total{${SPLIT}}`]: "0x20 1x40" }),
    atMinute: 25,
    alerts: ["FencepostWatermarkForced"],
  },
  {
    name: "a producer sends poison",
    series: well(DAY + HOUR, {
      [`fencepost_dead_letters_total{${SPLIT}, reason="INVALID_TIME"}`]: `0+3x${DAY} 4320+300x${HOUR}`,
    }),
    atMinute: DAY + 30,
    alerts: ["FencepostDeadLettersRise"],
  },
  {
    name: "there always was some poison",
    series: well(DAY + HOUR, {
      [`fencepost_dead_letters_total{${SPLIT}, reason="INVALID_TIME"}`]: `0+300x${DAY + HOUR}`,
    }),
    atMinute: DAY + 30,
    alerts: [],
  },
  {
    name: "an output refuses a trigger",
    series: well(HOUR, { [`fencepost_dead_letters_total{${SPLIT}, reason="SINK_REJECTED"}`]: "0x20 1x40" }),
    atMinute: 25,
    alerts: ["FencepostSinkRejects"],
  },
  {
    name: "records come late",
    series: well(DAY + HOUR, {
      [`fencepost_late_records_total{${SPLIT}}`]: `0+60x${DAY} 86400+1200x${HOUR}`,
    }),
    atMinute: DAY + 30,
    alerts: ["FencepostLateRecordsRise"],
  },
  {
    name: "nothing becomes durable",
    series: well(HOUR, { [`fencepost_checkpoint_age_seconds{${SPLIT}}`]: "0.5x20 0.5+60x40" }),
    atMinute: 30,
    alerts: ["FencepostCheckpointOld"],
  },
  {
    name: "too many are inside",
    series: well(HOUR, { [`fencepost_pairs_over_capacity_total{${SPLIT}}`]: "0x20 1x40" }),
    atMinute: 25,
    alerts: ["FencepostPairsOverCapacity"],
  },
  {
    name: "the heap is full",
    series: well(HOUR, { [`fencepost_heap_used_bytes{${OF}}`]: "1000x20 3600x40" }),
    atMinute: 40,
    alerts: ["FencepostHeapNearLimit"],
  },
  {
    name: "the event loop is slow",
    series: well(HOUR, { [`fencepost_event_loop_lag_seconds_bucket{${OF}, le="0.01"}`]: "0x60" }),
    atMinute: 40,
    alerts: ["FencepostEventLoopSlow"],
  },
  {
    name: "records are refused",
    series: well(HOUR, { [`fencepost_shed_records_total{${OF}, cause="full"}`]: "0x10 0+600x50" }),
    atMinute: 40,
    alerts: ["FencepostShedding"],
  },
  {
    name: "connections are refused",
    series: well(HOUR, { [`fencepost_shed_records_total{${OF}, cause="unread"}`]: "0x10 0+60x50" }),
    atMinute: 40,
    alerts: ["FencepostShedding"],
  },
  {
    name: "requests fail",
    series: well(HOUR, {
      [`fencepost_http_requests_total{${OF}, route="/v1/transitions", status="5xx"}`]: "0x10 0+60x50",
    }),
    atMinute: 40,
    alerts: ["FencepostRequestsFail"],
  },
  {
    name: "an endpoint takes nothing",
    series: well(HOUR, { [`fencepost_sink_oldest_pending_seconds{${OF}, endpoint="crm"}`]: "1x10 1+60x50" }),
    atMinute: 40,
    alerts: ["FencepostEndpointBehind"],
  },
  {
    name: "what an endpoint has not taken is given up",
    series: well(HOUR, { [`fencepost_sink_given_up_total{${OF}, endpoint="crm"}`]: "0x20 1x40" }),
    atMinute: 25,
    alerts: ["FencepostSinkRejects"],
  },
  {
    name: "an endpoint is gone",
    series: well(HOUR, { [`fencepost_sink_disabled{${OF}, endpoint="crm"}`]: "0x10 1x50" }),
    atMinute: 12,
    alerts: ["FencepostEndpointDisabled"],
  },
];
