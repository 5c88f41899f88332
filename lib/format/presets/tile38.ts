/**
 * Tile38, a hook or channel (HTTP, Kafka, MQTT).
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const TILE38: Preset = {
  name: "tile38",
  about: "Tile38, a hook or channel (HTTP, Kafka, MQTT)",
  mapping: {
    device_id: "/id",
    fence_id: "/hook",
    kind: ["/detect", "/command"],
    kinds: {
      enter: "ENTER",
      exit: "EXIT",
      inside: "SKIP",
      outside: "SKIP",
      cross: "SKIP",
      roam: "SKIP",
      del: "STALE",
      drop: "SKIP",
    },
    event_time: "/time",
  },
  clock:
    "The server's, as it took the SET: it is not the device's. A hook's retry keeps it, a device's repeat gets a new one.",
  skipped:
    "inside and outside, which come with each SET; cross (in and out again between two points), roam, and drop of a whole collection.",
  redelivery:
    "A hook sends one event a POST, in order, until the answer is 200, 201 or 202, for 30 s; then the event is gone. The bytes of a retry are the same. Channels are at most once.",
  limits: [
    "An object that is deleted or expires inside a fence gives no exit but del: it is taken as STALE, which ends the visit without a trigger.",
    "An outage of more than 30 s loses EXITs, so dwell.on_reenter restart is right, and thresholds may be told of one who has left.",
    'Ids are unique in a collection only. With several of them: {"preset": "tile38", "device_id": {"join": ["/key", "/id"], "with": "/"}}.',
  ],
};
