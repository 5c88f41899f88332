/**
 * Radar, webhooks.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const RADAR: Preset = {
  name: "radar",
  about: "Radar, webhooks",
  mapping: {
    records: ["/events", "/event"],
    device_id: ["/user/deviceId", { message: "/user/deviceId" }, "/user/userId", { message: "/user/userId" }],
    fence_id: "/geofence/_id",
    kind: "/type",
    kinds: {
      "user.entered_geofence": "ENTER",
      "user.exited_geofence": "EXIT",
      "user.dwelled_in_geofence": "DWELL",
    },
    other_kinds: "skip",
    when: [{ at: "/live", is_not: [false] }],
    event_time: "/createdAt",
    ingest_time: "/actualCreatedAt",
  },
  clock:
    "createdAt, which is the device's; the ingest time is actualCreatedAt, the server's, which may be hours later (replayed).",
  skipped: "Events of places, regions, beacons and trips, conversions, and test events (live is false).",
  redelivery:
    "Up to 5 events a POST, again until a 2xx. An event that the SDK makes offline gets another _id with each attempt, and the server may report the same crossing: _id is not used.",
  limits: [
    'A DWELL of Radar\'s is passed on beside our own: dwell.rules with "after": [] leave it alone.',
    "The signature is of a header and not of the body, and is not checked.",
  ],
};
