/**
 * Samsara, webhooks: GeofenceEntry, GeofenceExit and AlertIncident.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const SAMSARA: Preset = {
  name: "samsara",
  about: "Samsara, webhooks: GeofenceEntry, GeofenceExit and AlertIncident",
  mapping: {
    records: ["/data/conditions", ""],
    message_when: [{ at: "/eventType", is: ["GeofenceEntry", "GeofenceExit", "AlertIncident"] }, {
      at: "/data/isResolved",
      is_not: [true],
    }],
    event_time: [{ at: { message: "/data/happenedAtTime" } }, { at: { message: "/eventTime" } }],
    ingest_time: { at: { message: "/eventTime" } },
    precision: "s",
    crossings: [{
      when: [{ at: { message: "/eventType" }, is: ["GeofenceEntry", "GeofenceExit"] }],
      device_id: { message: "/data/vehicle/id" },
      fence_id: { message: "/data/address/id" },
      kind: { message: "/eventType" },
      kinds: { GeofenceEntry: "ENTER", GeofenceExit: "EXIT" },
    }, {
      when: [{ at: "/details/geofenceEntry/vehicle/id", is_not: [null] }],
      device_id: "/details/geofenceEntry/vehicle/id",
      fence_id: "/details/geofenceEntry/address/id",
      kind: { const: "ENTER" },
    }, {
      when: [{ at: "/details/geofenceExit/vehicle/id", is_not: [null] }],
      device_id: "/details/geofenceExit/vehicle/id",
      fence_id: "/details/geofenceExit/address/id",
      kind: { const: "EXIT" },
    }],
  },
  clock:
    "data.happenedAtTime, in whole seconds, else eventTime; the ingest time is eventTime, when it was sent.",
  skipped:
    "Ping, alerts of other conditions, incidents that are resolved (they tell of an end, and not of an entry), and version 1 alerts, which name neither vehicle nor geofence.",
  redelivery: "One event a POST; how often it is sent again is not known.",
  limits: [
    "Vehicle and address may have the same id: they are two fields, and nothing is mixed up.",
    "Messages with times of January 1970, as in Samsara's own documentation, are seconds that were taken for milliseconds: they are dead letters (TIME_TOO_OLD).",
  ],
};
