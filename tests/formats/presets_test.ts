/**
 * Each preset over its sample. What is expected was written by reading what is known of the producers, not by running this.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { findPreset } from "../../lib/format/format.ts";
import { type MappingJson, readMapping } from "../../lib/format/mapping.ts";
import type { MessageContext } from "../../lib/format/message_values.ts";
import { PRESETS } from "../../lib/format/presets.ts";
import { decodedWith, type Decoding } from "../support/decode_messages.ts";

const FIXTURES = new URL("../fixtures/formats/", import.meta.url);
const encoder = new TextEncoder();

function context(given: { topic?: string; headers?: Record<string, string> }): MessageContext {
  return {
    topic: given.topic ?? null,
    key: null,
    header: (name) => new Map(Object.entries(given.headers ?? {})).get(name) ?? null,
  };
}

/** The sample's messages: a line each of NDJSON, else the file. */
function messagesOf(name: string): readonly Uint8Array[] {
  const text = Deno.readTextFileSync(new URL(name, FIXTURES));
  const messages = name.endsWith(".ndjson") ? text.split("\n").filter((line) => line !== "") : [text];
  return messages.map((message) => encoder.encode(message));
}

/** One sample: a line of expectation for each of its messages, of which each may be several. */
interface Sample {
  readonly preset: string;
  readonly file: string;
  readonly context?: Parameters<typeof context>[0];
  readonly expected: readonly (readonly string[])[];
}

const SKIPPED = ["skipped"];
const RADAR = "A0000000-0000-4000-8000-000000000001 66a1f00000000000000000f1";
const AZUGA = "e4c97790-0000-11ed-9449-000000000001 Exampletown";
const CROWD = "e8734a97-0000-4000-8000-000000000001 84521fc3-0000-4000-8000-000000000001";
const AZURE = "device_1 1a13b444-0000-32ab-ce4e-000000000001";
const PHONE = { headers: { "x-device-id": "phone-1" } };

const SAMPLES: readonly Sample[] = [
  {
    preset: "tile38",
    file: "tile38-hook.ndjson",
    expected: [
      ["ENTER truck-01 warehouse-7 2026-05-04T08:00:10.250731Z"],
      SKIPPED,
      SKIPPED,
      // The server's zone was seven hours behind.
      ["EXIT truck-01 warehouse-7 2026-05-04T08:12:00.000112Z"],
      SKIPPED,
      SKIPPED,
      SKIPPED,
      SKIPPED,
      ["STALE truck-01 warehouse-7 2026-05-04T08:40:00.000000Z"],
      SKIPPED,
    ],
  },
  {
    preset: "tile38",
    file: "tile38-real.ndjson",
    expected: [
      ["ENTER truck-01 depot-http 2026-11-30T22:53:00.141134Z"],
      SKIPPED,
      SKIPPED,
      ["EXIT truck-01 depot-http 2026-11-30T22:53:00.401274Z"],
      SKIPPED,
      SKIPPED,
      SKIPPED,
      SKIPPED,
      ["ENTER truck-02 depot-http 2026-11-30T22:53:00.805703Z"],
      SKIPPED,
      ["STALE truck-02 depot-http 2026-11-30T22:53:01.123210Z"],
      ['ENTER truck "4" é depot-http 2026-11-30T22:53:01.386448Z'],
      ["STALE truck-03 depot-http 2026-11-30T22:53:02.386459Z"],
      ["ENTER p-7 zone-kiosk 2026-11-30T22:53:03.017204Z"],
      ["EXIT p-7 zone-kiosk 2026-11-30T22:53:03.150336Z"],
      ["ENTER truck-05 depot-http 2026-11-30T22:53:03.309245Z"],
      ["ENTER truck-05 depot-http 2026-11-30T22:53:03.309245Z"],
      ["EXIT truck-05 depot-http 2026-11-30T22:53:04.955268Z"],
      SKIPPED,
      ["EXIT truck-05 depot-kafka 2026-11-30T22:53:04.955268Z"],
    ],
  },
  {
    preset: "traccar",
    file: "traccar-event-forward.json",
    expected: [["ENTER 868600000000003 12 2026-05-04T08:00:10.000000Z seen 2026-05-04T08:00:12.431000Z"]],
  },
  {
    preset: "owntracks",
    file: "owntracks-transition.ndjson",
    context: { topic: "owntracks/jane/phone/event" },
    expected: [
      ["ENTER jane/phone f7676c 2026-05-04T08:00:10.000000Z"],
      ["EXIT jane/phone f7676c 2026-05-04T08:03:15.000000Z"],
      ["ENTER jane/phone -Beacon A 2026-05-04T08:03:21.000000Z"],
      SKIPPED,
      SKIPPED,
    ],
  },
  {
    preset: "owntracks",
    file: "owntracks-transition.ndjson",
    context: { headers: { "x-limit-u": "jane", "x-limit-d": "phone" } },
    expected: [
      ["ENTER jane/phone f7676c 2026-05-04T08:00:10.000000Z"],
      ["EXIT jane/phone f7676c 2026-05-04T08:03:15.000000Z"],
      ["ENTER jane/phone -Beacon A 2026-05-04T08:03:21.000000Z"],
      SKIPPED,
      SKIPPED,
    ],
  },
  {
    // Nothing says which phone it is: tid is initials only.
    preset: "owntracks",
    file: "owntracks-transition.ndjson",
    expected: [["MISSING_FIELD"], ["MISSING_FIELD"], ["MISSING_FIELD"], SKIPPED, SKIPPED],
  },
  {
    preset: "home-assistant",
    file: "home-assistant.ndjson",
    expected: [
      ["ENTER device_tracker.phone_1 Cafe 1 2026-05-04T08:00:10.631582Z"],
      ["ENTER phone_1 zone.cafe_1 2026-05-04T08:00:11.002911Z"],
      // The entity is new, as after a restart: it counts as an enter.
      ["ENTER device_tracker.phone_1 Cafe 1 2026-05-04T09:30:00.000100Z"],
    ],
  },
  {
    preset: "aws-location",
    file: "aws-location-eventbridge.ndjson",
    expected: [
      ["ENTER van-3 yard-1 2026-05-04T08:00:10.531000Z seen 2026-05-04T08:00:11.000000Z"],
      ["EXIT van-3 yard-1 2026-05-04T08:12:00.826000Z seen 2026-05-04T08:12:01.000000Z"],
      SKIPPED,
    ],
  },
  {
    preset: "azure-maps",
    file: "azure-maps-geofence.json",
    expected: [[
      `ENTER ${AZURE}/2 2026-05-04T08:00:10.640860Z`,
      `ENTER ${AZURE}/5 2026-05-04T08:00:10.640860Z`,
    ]],
  },
  {
    preset: "radar",
    file: "radar-webhook.json",
    expected: [[
      `ENTER ${RADAR} 2026-05-04T08:00:10.535000Z seen 2026-05-04T09:02:44.101000Z`,
      `DWELL ${RADAR} 2026-05-04T08:05:10.535000Z seen 2026-05-04T09:02:44.130000Z`,
      `EXIT ${RADAR} 2026-05-04T08:12:00.000000Z seen 2026-05-04T09:02:44.160000Z`,
    ]],
  },
  {
    preset: "transistorsoft",
    file: "transistorsoft-location.json",
    context: PHONE,
    expected: [["ENTER phone-1 cafe-1 2026-05-04T08:00:10.123000Z"]],
  },
  {
    preset: "transistorsoft",
    file: "transistorsoft-location-batch.json",
    context: PHONE,
    expected: [[
      "ENTER phone-1 cafe-1 2026-05-04T08:00:10.123000Z",
      "skipped",
      "DWELL phone-1 cafe-1 2026-05-04T08:01:10.500000Z",
    ]],
  },
  // It names neither vehicle nor geofence, but in a sentence.
  { preset: "samsara", file: "samsara-alert-v1.json", expected: [SKIPPED] },
  {
    preset: "samsara",
    file: "samsara-alertincident-v2.json",
    expected: [["ENTER 281474000000001 494001 2026-05-04T08:00:10.000000Z seen 2026-05-04T08:00:14.005000Z"]],
  },
  {
    preset: "samsara",
    file: "samsara-geofenceexit.json",
    expected: [["EXIT 281474000000001 494001 2026-05-04T08:12:00.683000Z seen 2026-05-04T08:12:00.683000Z"]],
  },
  {
    preset: "azuga",
    file: "azuga-geofence.ndjson",
    expected: [[`ENTER ${AZUGA} 2026-05-04T08:00:10.000000Z`], [`EXIT ${AZUGA} 2026-05-04T08:12:00.000000Z`]],
  },
  {
    preset: "crowdconnected",
    file: "crowdconnected-region-actions.json",
    expected: [[`ENTER ${CROWD} 2026-05-04T08:00:10.412000Z`, `EXIT ${CROWD} 2026-05-04T08:00:12.630000Z`]],
  },
  {
    preset: "teltonika",
    file: "teltonika-avl-decoded.json",
    expected: [[
      "ENTER 350000000000001 zone-01 2026-05-04T08:00:10.000000Z",
      // 3 is the start of over-speeding: "more than 0" would be a second ENTER.
      "skipped",
      "EXIT 350000000000001 zone-01 2026-05-04T08:12:00.000000Z",
    ]],
  },
  {
    preset: "cloudevents",
    file: "cloudevents.ndjson",
    expected: [
      ["ENTER truck-7 depot-3 2026-05-04T08:00:10.123000Z seq 7"],
      // Both times agree at the second, and the finer one is taken.
      ["EXIT truck-7 depot-3 2026-05-04T08:12:00.500000Z"],
      ["MISSING_FIELD"],
    ],
  },
];

function told(decoding: Decoding): string {
  const { outcome, kind, device, fence, eventTime, ingestTime, seq } = decoding;
  if (outcome !== "transition") return outcome;
  const seen = ingestTime === null ? "" : ` seen ${ingestTime}`;
  return `${kind} ${device} ${fence} ${eventTime}${seen}${seq === "" ? "" : ` seq ${seq}`}`;
}

for (const { preset, file, context: given, expected } of SAMPLES) {
  Deno.test(`preset ${preset}: ${file}${given === undefined ? "" : ` with ${JSON.stringify(given)}`}`, () => {
    const mapping = readMapping(findPreset(preset)?.mapping, "source.format");
    const messages = messagesOf(file);
    deepEqual(
      messages.map((message) => decodedWith(mapping, message, context(given ?? {})).map(told)),
      expected,
    );
  });
}

Deno.test("presets: each has a sample, a name of its own, and a page without gaps", () => {
  const names = PRESETS.map(({ name }) => name);
  equal(new Set(names).size, names.length);
  for (const { name, about, mapping, clock, skipped, redelivery, limits } of PRESETS) {
    ok(mapping === null || SAMPLES.some(({ preset }) => preset === name), `${name} has no sample`);
    for (const text of [about, clock, skipped, redelivery, ...limits]) ok(text.length > 5, name);
    ok(limits.length > 0, name);
  }
});

Deno.test("mapping: one by hand, for Android's geofencing events as an app may post them", () => {
  const json: MappingJson = {
    records: "/triggeringGeofences",
    device_id: { header: "x-device" },
    fence_id: "/requestId",
    kind: { message: "/geofenceTransition" },
    kinds: { "1": "ENTER", "2": "EXIT", "4": "DWELL" },
    event_time: { at: { message: "/triggeringLocation/time" }, unit: "ms" },
  };
  const [message] = messagesOf("android-geofencing-event.json") as [Uint8Array];
  const decoded = decodedWith(readMapping(json, "f"), message, context({ headers: { "x-device": "phone" } }));
  deepEqual(decoded.map(told), [
    "ENTER phone cafe-1 2026-05-04T08:00:10.123000Z",
    "ENTER phone district-2 2026-05-04T08:00:10.123000Z",
  ]);
});

Deno.test("mapping: one by hand, for MDS events, whose message is an array", () => {
  const json: MappingJson = {
    records: "",
    when: [{ at: "/event_types/0", is: ["trip_enter_jurisdiction", "trip_leave_jurisdiction"] }],
    device_id: "/device_id",
    fence_id: { const: "jurisdiction" },
    kind: "/event_types/0",
    kinds: { trip_enter_jurisdiction: "ENTER", trip_leave_jurisdiction: "EXIT" },
    event_time: { at: "/timestamp", unit: "ms" },
    ingest_time: { at: "/publication_time", unit: "ms" },
  };
  const [message] = messagesOf("mds-events.json") as [Uint8Array];
  const device = "70dd4a10-0000-4000-8000-000000000001 jurisdiction";
  deepEqual(decodedWith(readMapping(json, "f"), message, context({})).map(told), [
    `ENTER ${device} 2026-05-04T08:00:10.123000Z seen 2026-05-04T08:00:13.000000Z`,
    `EXIT ${device} 2026-05-04T08:12:00.000000Z seen 2026-05-04T08:12:01.000000Z`,
    "skipped",
  ]);
});

/** A change of a tracker's state from one to the other, null for none. */
function stateChanged(from: string | null, to: string | null, entity = "person.jane"): Uint8Array {
  const state = (name: string | null): unknown => name === null ? null : { entity_id: entity, state: name };
  const data = { entity_id: entity, old_state: state(from), new_state: state(to) };
  const time = "2026-05-04T08:00:10.631582+00:00";
  const event = { event_type: "state_changed", data, origin: "LOCAL", time_fired: time };
  return encoder.encode(JSON.stringify({ id: 1, type: "event", event }));
}

const CHANGES: readonly [from: string | null, to: string | null, expected: readonly string[]][] = [
  ["home", "Cafe 1", ["EXIT home", "ENTER Cafe 1"]],
  ["home", "not_home", ["EXIT home"]],
  ["not_home", "home", ["ENTER home"]],
  ["home", "home", []],
  ["not_home", "unavailable", []],
  ["home", "unavailable", []],
  ["unavailable", "home", ["ENTER home"]],
  ["unknown", "not_home", []],
  [null, "not_home", []],
  ["home", null, ["STALE home"]],
  ["not_home", null, []],
];
for (const [from, to, expected] of CHANGES) {
  Deno.test(`preset home-assistant: from ${from} to ${to}`, () => {
    const mapping = readMapping(findPreset("home-assistant")?.mapping, "f");
    const decoded = decodedWith(mapping, stateChanged(from, to), null);
    const words = decoded.map(({ outcome, kind, fence }) =>
      outcome === "transition" ? `${kind} ${fence}` : outcome
    );
    deepEqual(words, expected.length === 0 ? ["skipped"] : expected);
  });
}

Deno.test("preset home-assistant: a light that is switched on is no crossing", () => {
  const mapping = readMapping(findPreset("home-assistant")?.mapping, "f");
  const decoded = decodedWith(mapping, stateChanged("off", "on", "light.kitchen"), null);
  deepEqual(decoded.map(({ outcome }) => outcome), ["skipped"]);
});

/** What a producer sends beside its crossings, and words that are nearly one. */
const OTHERS: readonly [preset: string, message: unknown, expected: string][] = [
  ["traccar", { event: { type: "geofenceCrossed", geofenceId: 4 }, device: { uniqueId: "1" } }, "skipped"],
  ["traccar", { event: { type: "deviceOnline", geofenceId: 0 }, device: { uniqueId: "1" } }, "skipped"],
  [
    "tile38",
    { command: "set", detect: "entered", id: "a", hook: "b", time: "2026-05-04T08:00:00Z" },
    "INVALID_KIND",
  ],
  ["tile38", { command: "set", detect: "enter", hook: "b", time: "2026-05-04T08:00:00Z" }, "MISSING_FIELD"],
  ["azuga", { messageType: "IGNITION_ON", deviceId: "a" }, "skipped"],
  ["azuga", { messageType: "ENTERED_GEOFENCE_2", deviceId: "a" }, "skipped"],
  ["samsara", { eventType: "Ping" }, "skipped"],
  ["samsara", { eventType: "AlertIncident", data: { isResolved: true, conditions: [{}] } }, "skipped"],
  ["crowdconnected", { regionActions: [] }, "skipped"],
  ["crowdconnected", { appKey: "K" }, "MISSING_FIELD"],
  ["radar", { event: { type: "user.entered_place", live: true } }, "skipped"],
  ["radar", { event: { type: "user.entered_geofence", live: false } }, "skipped"],
  [
    "samsara",
    {
      eventType: "GeofenceEntry",
      eventTime: "1970-01-20T06:39:05.683Z",
      data: { vehicle: { id: "494123" }, address: { id: "494123" } },
    },
    // Seconds taken for milliseconds: decoded, and too old for whoever knows the time.
    "transition",
  ],
];
for (const [preset, message, expected] of OTHERS) {
  Deno.test(`preset ${preset}: ${JSON.stringify(message)} is ${expected}`, () => {
    const mapping = readMapping(findPreset(preset)?.mapping, "f");
    const decoded = decodedWith(mapping, encoder.encode(JSON.stringify(message)), null);
    deepEqual(decoded.map(({ outcome }) => outcome), [expected]);
  });
}
