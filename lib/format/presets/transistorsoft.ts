/**
 * Transistorsoft background geolocation, single and batched.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const TRANSISTORSOFT: Preset = {
  name: "transistorsoft",
  about: "Transistorsoft background geolocation, single and batched",
  mapping: {
    records: "/location",
    when: [{ at: "/event", is: ["geofence"] }],
    device_id: [{ message: "/device_id" }, "/extras/device_id", { header: "x-device-id" }],
    fence_id: "/geofence/identifier",
    kind: "/geofence/action",
    kinds: { ENTER: "ENTER", EXIT: "EXIT", DWELL: "DWELL" },
    event_time: "/timestamp",
  },
  clock:
    "timestamp of the location, the phone's, in milliseconds. There is no ingest time: the arrival's is taken.",
  skipped: "Locations of other events: motionchange, heartbeat, or none.",
  redelivery:
    "A phone keeps its records until the server answers, so they come late, in bursts, again, and not always in order.",
  limits: [
    'The schema has no device id. It is looked for in params.device_id beside location, in extras.device_id, and in the header X-Device-Id; elsewhere: {"preset": "transistorsoft", "device_id": …}.',
    "A message has at most 64 KiB here: set maxBatchSize to 50.",
    "A DWELL of the phone's is passed on beside our own.",
  ],
};
