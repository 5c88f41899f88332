/**
 * Azuga, webhooks.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const AZUGA: Preset = {
  name: "azuga",
  about: "Azuga, webhooks",
  mapping: {
    device_id: "/deviceId",
    fence_id: "/address",
    kind: "/messageType",
    kinds: { ENTERED_GEOFENCE: "ENTER", EXIT_GEOFENCE: "EXIT" },
    other_kinds: "skip",
    event_time: { at: "/locationTime", unit: "ms" },
    precision: "s",
  },
  clock: "locationTime, in milliseconds that are mostly whole seconds.",
  skipped: "All other messages, which have the same flat shape.",
  redelivery: "Not known.",
  limits: [
    'A message names no geofence: its address stands for it, so two geofences at one address are one. Where yours have a better name: {"preset": "azuga", "fence_id": "/…"}.',
    "Most of the hundred fields are 0 or null, the position too.",
  ],
};
