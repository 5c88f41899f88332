/**
 * Crowd Connected, region actions.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const CROWDCONNECTED: Preset = {
  name: "crowdconnected",
  about: "Crowd Connected, region actions",
  mapping: {
    records: "/regionActions",
    device_id: "/deviceId",
    fence_id: "/regionId",
    kind: "/regionActionType",
    kinds: { ENTRY: "ENTER", EXIT: "EXIT" },
    event_time: { at: "/timestamp", unit: "ms" },
  },
  clock: "timestamp of each action, in milliseconds.",
  skipped: "Nothing.",
  redelivery:
    "Up to 100 actions a POST, each 60 s; they are dropped where the receiver is slow, and not sent again.",
  limits: ["What was dropped is lost: an EXIT that is missing leaves a visit open until the next ENTER."],
};
