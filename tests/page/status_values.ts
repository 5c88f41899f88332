/**
 * Statuses for the page's tests: a service that is well, and what differs.
 *
 * @module
 */
import type { EndpointStatus, Sample, SplitStatus, Status } from "../../actors/adapters/http/status.ts";

/** A sample of a second. */
export function sampleAt(second: number, counts: Partial<Sample> = {}): Sample {
  return {
    at: second * 1000,
    read: 0,
    received: 0,
    suppressed: 0,
    dead_lettered: 0,
    refused: 0,
    late: 0,
    enter: 0,
    exit: 0,
    dwell: 0,
    retract: 0,
    pending: 0,
    ...counts,
  };
}

/** A split that is well, at this second. */
export function splitAt(second: number, differs: Partial<SplitStatus> = {}): SplitStatus {
  return {
    name: "http",
    watermark: (second - 5) * 1000,
    following: true,
    overdue: false,
    read: 1,
    waiting: 0,
    pairs: 1,
    pending_dwells: 0,
    mailboxes: [0, 0],
    mailbox_capacity: 100,
    window: { ids: 1, bytes: 1024, evicted_live: 0 },
    checkpoint: { number: 1, age_s: 0, took_s: 0.01, bytes: 1000 },
    ...differs,
  };
}

/** An endpoint that is well. */
export function endpointWith(differs: Partial<EndpointStatus> = {}): EndpointStatus {
  return {
    name: "billing",
    delivered: 1,
    failed: 0,
    pending: 0,
    retrying: 0,
    oldest_pending_s: null,
    rejected: 0,
    disabled: false,
    down: false,
    ...differs,
  };
}

/** A service that is well, at the second of this sample. */
export function statusAt(sample: Sample, differs: Partial<Status> = {}): Status {
  return {
    version: "1",
    uptime_s: 1,
    not_ready: null,
    source: { type: "http", name: "127.0.0.1:8787" },
    lateness_s: 5,
    checkpoint_interval_s: 0.5,
    sample,
    dead_letters: {},
    refused: {},
    in_flight: { records: 0, limit: 1000 },
    splits: [splitAt(sample.at / 1000)],
    endpoints: [],
    pending: { overdue: 0, seconds: [], minutes: [], hours: [], beyond: 0, is_sample: false, next_s: null },
    recent_triggers: [],
    recent_dead_letters: [],
    ...differs,
  };
}
