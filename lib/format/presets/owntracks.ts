/**
 * OwnTracks, transitions (MQTT, HTTP).
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const OWNTRACKS: Preset = {
  name: "owntracks",
  about: "OwnTracks, transitions (MQTT, HTTP)",
  mapping: {
    message_when: [{ at: "/_type", is: ["transition"] }],
    device_id: [{ join: [{ topic_segment: 1 }, { topic_segment: 2 }], with: "/" }, {
      join: [{ header: "x-limit-u" }, { header: "x-limit-d" }],
      with: "/",
    }, { join: [{ segment: 1, of: "/topic" }, { segment: 2, of: "/topic" }], with: "/" }],
    fence_id: ["/rid", "/desc"],
    kind: "/event",
    kinds: { enter: "ENTER", leave: "EXIT" },
    event_time: { at: "/tst", unit: "s" },
  },
  clock: "tst, the phone's clock, in whole seconds. wtst is when the fence was made.",
  skipped: "All that is no transition: location, lwt, waypoint, status, steps, card, cmd, encrypted.",
  redelivery:
    "Over HTTP a phone keeps what it could not post, and posts it later, in no promised order; over MQTT it is not retained.",
  limits: [
    "The device is user/device of the topic owntracks/user/device/event, or of the headers X-Limit-U and X-Limit-D; tid is initials only, and two phones may share them.",
    "The fence is rid (since 2021), else desc, which the user may change; a beacon's begins with a dash.",
    "An encrypted payload can't be read, and is skipped.",
  ],
};
