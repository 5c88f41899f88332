/**
 * Amazon Location Service, geofence events through EventBridge.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const AWS_LOCATION: Preset = {
  name: "aws-location",
  about: "Amazon Location Service, geofence events through EventBridge",
  mapping: {
    message_when: [{ at: "/detail-type", is: ["Location Geofence Event"] }],
    device_id: "/detail/DeviceId",
    fence_id: "/detail/GeofenceId",
    kind: "/detail/EventType",
    kinds: { ENTER: "ENTER", EXIT: "EXIT" },
    event_time: "/detail/SampleTime",
    ingest_time: "/time",
  },
  clock:
    "detail.SampleTime, the device's, in milliseconds; the ingest time is the envelope's, in whole seconds.",
  skipped: "Other detail types, above all Location Device Position Event.",
  redelivery: "At least once, by its documentation; no order is promised.",
  limits: [
    "The first position inside gives ENTER, also where the device was inside before; what is inside is kept for 30 days.",
    "Deleting a device or a geofence gives no EXIT.",
    "Geofence ids are unique in a collection only.",
  ],
};
