/**
 * Records of our own: device_id, fence_id, kind and a time.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const NATIVE: Preset = {
  name: "native",
  about: "Records of our own: device_id, fence_id, kind and a time",
  mapping: null,
  clock:
    "event_time, event_time_ms, event_time_us or event_time_ns; ingest_time and its units where the pipeline gives it.",
  skipped: "Nothing. HEARTBEAT only moves time on.",
  redelivery: "Yours to say: a record may come any number of times, in any order.",
  limits: ["A record is one transition. Its message has no array of them."],
};
