/**
 * Traccar, event forwarding (HTTP, Kafka, MQTT).
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const TRACCAR: Preset = {
  name: "traccar",
  about: "Traccar, event forwarding (HTTP, Kafka, MQTT)",
  mapping: {
    device_id: "/device/uniqueId",
    fence_id: "/event/geofenceId",
    number_ids: ["fence_id"],
    kind: "/event/type",
    kinds: { geofenceEnter: "ENTER", geofenceExit: "EXIT" },
    other_kinds: "skip",
    when: [{ at: "/event/geofenceId", is_not: [0] }],
    event_time: "/event/eventTime",
    ingest_time: "/position/serverTime",
    precision: "s",
  },
  clock:
    "event.eventTime, the device's clock, mostly in whole seconds; the ingest time is position.serverTime.",
  skipped: "All other types of events: deviceOnline, alarm, geofenceCrossed, … And those of no geofence (0).",
  redelivery:
    "HTTP is tried once, so an event may be lost; posts may overtake one another. MQTT has QoS 1, Kafka waits for all replicas.",
  limits: [
    "A position older than the last one raises no event: what a device uploads late is never told.",
    "geofenceCrossed is in and out between two positions: neither ENTER nor EXIT.",
    'The fence is the database\'s number, as text. For its name: {"preset": "traccar", "fence_id": "/geofence/name"}.',
  ],
};
