/**
 * Home Assistant, events of its bus: state_changed of trackers and persons, and the companion apps' zone events.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const HOME_ASSISTANT: Preset = {
  name: "home-assistant",
  about:
    "Home Assistant, events of its bus: state_changed of trackers and persons, and the companion apps' zone events",
  mapping: {
    event_time: "/event/time_fired",
    crossings: [{
      when: [{ at: "/event/event_type", is: ["state_changed"] }, {
        at: "/event/data/entity_id",
        starts_with: ["device_tracker.", "person."],
      }, {
        at: "/event/data/old_state/state",
        is_not: ["not_home", "unavailable", "unknown", null],
        differs_from: "/event/data/new_state/state",
      }, { at: "/event/data/new_state/state", is_not: ["unavailable", "unknown", null] }],
      device_id: "/event/data/entity_id",
      fence_id: "/event/data/old_state/state",
      kind: { const: "EXIT" },
    }, {
      when: [{ at: "/event/event_type", is: ["state_changed"] }, {
        at: "/event/data/entity_id",
        starts_with: ["device_tracker.", "person."],
      }, {
        at: "/event/data/new_state/state",
        is_not: ["not_home", "unavailable", "unknown", null],
        differs_from: "/event/data/old_state/state",
      }],
      device_id: "/event/data/entity_id",
      fence_id: "/event/data/new_state/state",
      kind: { const: "ENTER" },
    }, {
      when: [
        { at: "/event/event_type", is: ["state_changed"] },
        { at: "/event/data/entity_id", starts_with: ["device_tracker.", "person."] },
        { at: "/event/data/old_state/state", is_not: ["not_home", "unavailable", "unknown", null] },
        { at: "/event/data/new_state/state", is: [null] },
      ],
      device_id: "/event/data/entity_id",
      fence_id: "/event/data/old_state/state",
      kind: { const: "STALE" },
    }, {
      when: [{ at: "/event/event_type", is: ["ios.zone_entered", "ios.zone_exited"] }],
      device_id: "/event/data/sourceDeviceID",
      fence_id: "/event/data/zone",
      kind: "/event/event_type",
      kinds: { "ios.zone_entered": "ENTER", "ios.zone_exited": "EXIT" },
    }],
  },
  clock: "time_fired, Home Assistant's clock as it heard of it, in microseconds.",
  skipped:
    "States of all other entities; updates of attributes; changes between not_home, unavailable and unknown.",
  redelivery: "One event a message over a socket, and none again after a reconnect: an outage loses EXITs.",
  limits: [
    "One change of state can be two crossings: out of the old zone and into the new one.",
    "A restart makes each tracker anew (no old_state), which is an ENTER where it is inside: dwell.on_reenter continue keeps the visit.",
    "From a zone to unavailable is no EXIT, since nobody knows; from there to not_home is none either. An entity that is removed inside is STALE.",
    "state_changed names a zone by its name (Cafe 1), the apps' events by its id (zone.cafe_1): these are two fences, so subscribe to one of the two.",
  ],
};
