/**
 * What a format may be in a configuration, and how it is refused.
 *
 * @module
 */
import { deepEqual, equal, throws } from "node:assert/strict";
import { configToJson, parseConfig } from "../../../lib/config.ts";
import type { Json } from "../../../lib/json.ts";

const GOOD = { device_id: "/d", fence_id: "/f", kind: "/k", event_time: "/t" };

function read(format: unknown): Json {
  const config = configToJson(parseConfig({ source: { type: "ndjson", format } })) as {
    source: { format: Json };
  };
  return config.source.format;
}

for (
  const format of [
    "native",
    "tile38",
    GOOD,
    { preset: "tile38", device_id: { join: ["/key", "/id"], with: "/" } },
    { ...GOOD, device_id: [{ header: "x" }, { key: true }, { topic_segment: 1 }, { segment: 0, of: "/t" }] },
    { ...GOOD, records: ["/a", "/b", ""], message_when: [{ at: "/x", is: [1, "a", true, null] }] },
    { ...GOOD, kinds: { in: "ENTER", out: "EXIT", more: "SKIP", gone: "STALE" }, other_kinds: "skip" },
    { native: "/data" },
    { ...GOOD, event_time: [{ at: "/a", unit: "ns" }, "/b"], attributes: { a: "/x", b: { message: "/y" } } },
    { event_time: "/t", device_id: "/d", crossings: [{ fence_id: "/a", kind: { const: "ENTER" } }] },
    { ...GOOD, kinds: { "__proto__x": "ENTER" }, device_id: "/__proto__/constructor" },
  ]
) {
  Deno.test(`source.format: ${JSON.stringify(format)} is read and written back`, () => {
    deepEqual(read(format), format);
  });
}

Deno.test("source.format: it is native where nothing is said, and each kind of source has one", () => {
  equal((configToJson(parseConfig({})) as { source: { format: Json } }).source.format, "native");
  const http = parseConfig({ source: { type: "http", format: "radar" } });
  equal(http.source.format.mapping?.crossings.length, 1);
});

const REFUSED: readonly [format: unknown, message: string][] = [
  ["tile39", 'source.format must be the name of a preset or an object (did you mean tile38?), got "tile39"'],
  [7, "source.format must be the name of a preset or an object, got 7"],
  [null, "source.format must be the name of a preset or an object, got null"],
  [{}, "source.format.kind must say where it is found, got nothing"],
  [{ ...GOOD, fence_id: null }, "source.format.fence_id must say where it is found, got nothing"],
  [
    { ...GOOD, device_id: "d" },
    'source.format.device_id must be a JSON Pointer ("/a/b", with ~1 for a slash in a name), got "d"',
  ],
  [
    { ...GOOD, device_id: "/a~2" },
    'device_id must be a JSON Pointer ("/a/b", with ~1 for a slash in a name)',
  ],
  [{ ...GOOD, device_id: "/a".repeat(17) }, "source.format.device_id must be a JSON Pointer"],
  [{ ...GOOD, device_id: ["/a", "b"] }, "source.format.device_id[1] must be a JSON Pointer"],
  [{ ...GOOD, device_id: [] }, "source.format.device_id must be a list of 1 to 8 entries, got []"],
  [{ ...GOOD, device_id: { path: "/a" } }, "source.format.device_id must have one of message, header, key"],
  [{ ...GOOD, device_id: { message: 7 } }, "source.format.device_id.message must be a JSON Pointer, got 7"],
  [{ ...GOOD, device_id: { header: "" } }, "source.format.device_id.header must be text of 1 to 256"],
  [{ ...GOOD, device_id: { key: 1 } }, "source.format.device_id.key must be true, got 1"],
  [
    { ...GOOD, device_id: { topic_segment: -1 } },
    "device_id.topic_segment must be a whole number from 0 to 99",
  ],
  [{ ...GOOD, device_id: { join: ["/a"] } }, "source.format.device_id.with must be text"],
  [{ ...GOOD, device_id: { const: "a", of: "/b" } }, "source.format.device_id.of is not a key"],
  [{ ...GOOD, device: "/d" }, "source.format.device is not a key of the configuration"],
  [{ ...GOOD, code: "return 1" }, "source.format.code is not a key of the configuration"],
  [{ ...GOOD, kinds: {} }, "source.format.kinds must have 1 to 200 words, got 0"],
  [{ ...GOOD, kinds: { in: "enter" } }, "source.format.kinds.in must be ENTER, EXIT, DWELL, STALE or SKIP"],
  [
    { ...GOOD, kinds: { in: "HEARTBEAT" } },
    "source.format.kinds.in must be ENTER, EXIT, DWELL, STALE or SKIP",
  ],
  [
    { ...GOOD, kind: { const: "in" } },
    'source.format.kind must be one of ENTER, EXIT, DWELL, STALE, got "in"',
  ],
  [{ ...GOOD, other_kinds: "drop" }, 'source.format.other_kinds must be "refuse" or "skip", got "drop"'],
  [
    { ...GOOD, event_time: { at: "/t", unit: "min" } },
    "event_time.unit must be one of rfc3339, s, ms, us, ns",
  ],
  [{ ...GOOD, event_time: { at: "/t", units: "s" } }, "source.format.event_time.units is not a key"],
  [{ ...GOOD, event_time: 7 }, "source.format.event_time must be a JSON Pointer or an object"],
  [{ ...GOOD, number_ids: ["seq"] }, 'number_ids must be a list of device_id and fence_id, got "seq"'],
  [{ ...GOOD, number_ids: true }, "source.format.number_ids must be a list of 1 to 2 entries, got true"],
  [{ ...GOOD, records: 7 }, "source.format.records must be a JSON Pointer, got 7"],
  [{ ...GOOD, records: "events" }, "source.format.records must be a JSON Pointer"],
  [{ ...GOOD, when: [{ at: "/a" }] }, "source.format.when[0] must have one of is, is_not, starts_with"],
  [{ ...GOOD, when: [{ at: "/a", is: [{}] }] }, "source.format.when[0].is[0] must be text, a number, true"],
  [{ ...GOOD, when: { at: "/a", is: [1] } }, "source.format.when must be a list of 1 to 16 entries"],
  [
    { ...GOOD, message_when: [{ at: "a", is: [1] }] },
    "source.format.message_when[0].at must be a JSON Pointer",
  ],
  [{ ...GOOD, attributes: { a: 7 } }, "source.format.attributes.a must be a JSON Pointer or an object"],
  [{ ...GOOD, precision: "rfc3339" }, "source.format.precision must be one of s, ms, us, ns"],
  [{ ...GOOD, crossings: [] }, "source.format.crossings must be a list of 1 to 16 entries, got []"],
  [
    { crossings: [GOOD, { ...GOOD, kind: null }] },
    "source.format.crossings[1].kind must say where it is found",
  ],
  [{ crossings: [{ ...GOOD, records: "/a" }] }, "source.format.crossings[0].records is not a key"],
  [{ native: "/data", kind: "/k" }, 'source.format.kind does not go with native, got "/k"'],
  [{ native: { header: "x" } }, "source.format.native must be a JSON Pointer, since it is a whole record"],
  [
    { preset: "tyle38" },
    "source.format.preset must be the name of a preset or an object (did you mean tile38?)",
  ],
  [{ preset: "native" }, 'source.format.preset must be one with a mapping, got "native"'],
  [{ preset: "tile38", device: "/d" }, "source.format.device is not a key of the configuration"],
  [JSON.parse(`{"__proto__": {"kind": "/k"}}`), "source.format.__proto__ is not a key"],
];
for (const [format, message] of REFUSED) {
  Deno.test(`source.format: ${JSON.stringify(format)} is refused`, () => {
    throws(() => read(format), (error: Error) => {
      equal(error.name, "ConfigError");
      equal(error.message.includes(message), true, error.message);
      return true;
    });
  });
}
