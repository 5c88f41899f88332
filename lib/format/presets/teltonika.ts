/**
 * Teltonika, AVL records that a gateway has decoded to JSON (Codec 8).
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const TELTONIKA: Preset = {
  name: "teltonika",
  about: "Teltonika, AVL records that a gateway has decoded to JSON (Codec 8)",
  mapping: {
    records: "/records",
    device_id: { message: "/imei" },
    kinds: { "0": "EXIT", "1": "ENTER", "2": "SKIP", "3": "SKIP" },
    event_time: { at: "/timestamp", unit: "ms" },
    crossings: [
      { when: [{ at: "/event_io_id", is: [155] }], kind: "/io/155", fence_id: { const: "zone-01" } },
      { when: [{ at: "/event_io_id", is: [156] }], kind: "/io/156", fence_id: { const: "zone-02" } },
      { when: [{ at: "/event_io_id", is: [157] }], kind: "/io/157", fence_id: { const: "zone-03" } },
      { when: [{ at: "/event_io_id", is: [158] }], kind: "/io/158", fence_id: { const: "zone-04" } },
      { when: [{ at: "/event_io_id", is: [159] }], kind: "/io/159", fence_id: { const: "zone-05" } },
    ],
  },
  clock: "timestamp of each record, the device's, in milliseconds.",
  skipped:
    "Records of other IO events, and over-speeding in a zone (2 is its end, 3 its start): more than 0 does not mean inside.",
  redelivery:
    "A packet has many records, and comes again until their number is acknowledged; devices can be set to send the newest first.",
  limits: [
    "Binary on the wire: it takes a gateway to speak it. Ours are the names of its JSON: imei, records, timestamp, event_io_id, io.",
    'Zones are numbered in each device, zone-01 (IO 155 on FMB models) to zone-05: the same number is another place on another device. Other models have other numbers: {"preset": "teltonika", "crossings": […]}.',
  ],
};
