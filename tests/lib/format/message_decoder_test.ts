/**
 * What messages become: by SPEC 1's rules, crossing by crossing, whatever the bytes.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { type MappingJson, readMapping } from "../../../lib/format/mapping.ts";
import { MessageDecoder } from "../../../lib/format/message_decoder.ts";
import { MessageParts } from "../../../lib/format/message_parts.ts";
import { Identity } from "../../../lib/identity.ts";
import { TransitionDecoder } from "../../../lib/transition.ts";
import { decodedWith } from "../../support/decode_messages.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const PLAIN: MappingJson = { device_id: "/d", fence_id: "/f", kind: "/k", event_time: "/t" };
const LIST: MappingJson = { ...PLAIN, records: "/list" };
const GOOD = { d: "truck", f: "depot", k: "ENTER", t: "2026-05-04T08:00:10.25Z" };

function decode(json: MappingJson, message: string | Uint8Array): ReturnType<typeof decodedWith> {
  return decodedWith(
    readMapping(json, "f"),
    typeof message === "string" ? encoder.encode(message) : message,
  );
}

function outcomes(json: MappingJson, message: string | Uint8Array): string[] {
  return decode(json, message).map(({ outcome }) => outcome);
}

Deno.test("MessageDecoder: what it decodes has the id of the same crossing in our own words", async () => {
  const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
  const messages = new MessageDecoder(readMapping(PLAIN, "f"));
  const message = encoder.encode(JSON.stringify(GOOD));
  messages.open(message, 0, message.length, null);
  equal(messages.next(), "transition");
  const own = new TransitionDecoder();
  const record = encoder.encode(
    JSON.stringify({ device_id: GOOD.d, fence_id: GOOD.f, kind: GOOD.k, event_time: GOOD.t }),
  );
  equal(own.decode(record, 0, record.length), "transition");
  const [one, other] = [messages, own].map((of) => {
    identity.compute(
      0x45,
      of.bytes,
      of.deviceStart,
      of.deviceEnd,
      of.fenceStart,
      of.fenceEnd,
      of.eventTimeUs,
      of.seqStart,
      of.seqEnd,
    );
    return identity.hex();
  });
  equal(one, other);
  equal(messages.next(), null);
});

const UNITS: readonly [unit: string, value: unknown, expected: string | null][] = [
  ["rfc3339", "2026-05-04T08:00:10.6408601Z", "2026-05-04T08:00:10.640860Z"],
  ["rfc3339", "2026-05-04T10:00:10+02:00", "2026-05-04T08:00:10.000000Z"],
  ["rfc3339", 1777881610, null],
  ["rfc3339", "2026-05-04 08:00:10", null],
  ["s", 1777881610, "2026-05-04T08:00:10.000000Z"],
  ["s", "1777881610", "2026-05-04T08:00:10.000000Z"],
  ["s", 1777881610.5, null],
  ["s", -1, "1999-12-31T23:59:59.999999Z"],
  ["ms", 1777881610123, "2026-05-04T08:00:10.123000Z"],
  ["ms", 1.777881610123e12, "2026-05-04T08:00:10.123000Z"],
  ["us", 1777881610123456, "2026-05-04T08:00:10.123456Z"],
  ["ns", "1777881610123456789", "2026-05-04T08:00:10.123456Z"],
  ["s", "", null],
  ["s", true, null],
  ["s", 99999999999999, null],
  ["ms", "17778816101234567890123", null],
];
for (const [unit, value, expected] of UNITS) {
  Deno.test(`MessageDecoder: ${JSON.stringify(value)} in ${unit} is ${expected ?? "no time"}`, () => {
    const mapping = { ...PLAIN, event_time: { at: "/t", unit } };
    const [{ outcome, eventTime } = { outcome: "", eventTime: "" }] = decode(
      mapping,
      JSON.stringify({ ...GOOD, t: value }),
    );
    if (expected === null) equal(outcome, "INVALID_TIME");
    else if (value !== -1) equal(eventTime, expected);
    else equal(outcome, "transition");
  });
}

Deno.test("MessageDecoder: nanoseconds past 2^53 keep their digits", () => {
  const message = `{"d":"a","f":"b","k":"X","t":1777881610999999999}`;
  const [decoded] = decode({ ...PLAIN, event_time: { at: "/t", unit: "ns" } }, message);
  deepEqual([decoded?.kind, decoded?.eventTime], ["EXIT", "2026-05-04T08:00:10.999999Z"]);
});

const IDS: readonly [written: string, expected: string | null][] = [
  ["9007199254740993", "9007199254740993"],
  ["123456789012345678901234567890", "123456789012345678901234567890"],
  ["0", "0"],
  ["-5", "-5"],
  ["1e3", null],
  ["1.0", null],
  ['"7"', "7"],
  ['""', null],
  ["true", null],
  ["{}", null],
  [String.raw`"\ud800"`, null],
  [String.raw`"\u00e9"`, "é"],
  [`"${"x".repeat(256)}"`, "x".repeat(256)],
  [`"${"x".repeat(257)}"`, null],
  [`"${"é".repeat(129)}"`, null],
];
for (const [written, expected] of IDS) {
  Deno.test(`MessageDecoder: number_ids, ${written.slice(0, 40)} is ${expected?.slice(0, 40) ?? "no id"}`, () => {
    const message = `{"d":${written},"f":"b","k":"ENTER","t":"2026-05-04T08:00:10Z"}`;
    const [decoded] = decode({ ...PLAIN, number_ids: ["device_id"] }, message);
    equal(decoded?.outcome, expected === null ? "INVALID_ID" : "transition");
    if (expected !== null) equal(decoded?.device, expected);
  });
}

const REFUSED: readonly [name: string, message: unknown, reason: string, detail: string][] = [
  ["a number as id", { ...GOOD, f: 12 }, "INVALID_ID", "fence_id (/f) must be a string of 1 to 256 bytes"],
  ["no kind", { ...GOOD, k: undefined }, "MISSING_FIELD", "kind must be given, but there is nothing at /k"],
  ["null is nothing", { ...GOOD, d: null }, "MISSING_FIELD", "device_id must be given"],
  [
    "another word",
    { ...GOOD, k: "ENTERED" },
    "INVALID_KIND",
    'kind (/k) must be one of ENTER, EXIT, DWELL, STALE, got "ENTERED"',
  ],
  ["a heartbeat", { ...GOOD, k: "HEARTBEAT" }, "INVALID_KIND", "kind (/k) must be one of"],
  ["a lost clock", { ...GOOD, t: null }, "INVALID_TIME", "event_time (/t) must be a time, got null"],
  ["no time", { ...GOOD, t: undefined }, "MISSING_FIELD", "event_time must be given"],
  [
    "another unit",
    { ...GOOD, t: 1777881610 },
    "INVALID_TIME",
    "event_time (/t) must be an RFC 3339 timestamp with offset or Z, got 1777881610 (in s it would be 2026-05-04T08:00:10.000000Z)",
  ],
  ["an array", [GOOD], "NOT_AN_OBJECT", "The record must be a JSON object, got ["],
  ["a number", 7, "NOT_AN_OBJECT", "The record must be a JSON object, got 7"],
];
for (const [name, message, reason, detail] of REFUSED) {
  Deno.test(`MessageDecoder: ${name} is ${reason}`, () => {
    const [decoded, ...more] = decode(PLAIN, JSON.stringify(message));
    deepEqual([decoded?.outcome, more.length], [reason, 0]);
    ok(decoded?.detail.includes(detail), decoded?.detail);
  });
}

Deno.test("MessageDecoder: seq and attributes by the rules of our own", () => {
  const mapping = {
    ...PLAIN,
    seq: "/n",
    attributes: { at: { message: "/pos" }, who: { const: 'a"b' }, no: "/x" },
  };
  const [good] = decode(mapping, JSON.stringify({ ...GOOD, n: 7, pos: [1.50, { a: 2 }] }, null, 2));
  deepEqual([good?.seq, good?.attributes], ["7", '{"at":[1.5,{"a":2}],"who":"a\\"b"}']);
  const digits = `{"d":"a","f":"b","k":"E","t":"2026-05-04T08:00:10Z","pos":12345678901234567890.10}`;
  equal(decode({ ...PLAIN, attributes: "/pos" }, digits)[0]?.attributes, "12345678901234567890.10");
  for (const n of [-1, 1.5, "", "x".repeat(65), true, 2 ** 53]) {
    const [decoded] = decode(mapping, JSON.stringify({ ...GOOD, n }));
    deepEqual([decoded?.outcome, decoded?.eventTime], ["INVALID_FIELD", "2026-05-04T08:00:10.250000Z"]);
  }
  const large = JSON.stringify({ ...GOOD, pos: "x".repeat(16_400) });
  deepEqual(outcomes(mapping, large), ["INVALID_FIELD"]);
});

Deno.test("MessageDecoder: of a message's crossings the bad one is refused, and the others are taken", () => {
  const list = [GOOD, { ...GOOD, d: 7 }, 7, { ...GOOD, k: "EXIT" }];
  const message = encoder.encode(JSON.stringify({ before: "[", list, behind: "]" }));
  const mapping = readMapping(LIST, "f");
  const decoded = decodedWith(mapping, message);
  deepEqual(decoded.map(({ outcome }) => outcome), [
    "transition",
    "INVALID_ID",
    "NOT_AN_OBJECT",
    "transition",
  ]);
  equal(new Set(decoded.map(({ part }) => part)).size, 4);
  // What a dead letter keeps is the message with this one alone, and decodes to the same.
  const parts = new MessageParts(mapping);
  const { message: alone, record, pointer } = parts.of(message, decoded[1]?.part ?? 0);
  equal(decoder.decode(alone), JSON.stringify({ before: "[", list: [list[1]], behind: "]" }));
  deepEqual([record, pointer], [2, "/list/1"]);
  const [again, ...more] = decodedWith(mapping, alone);
  deepEqual([again?.outcome, again?.detail, more.length], ["INVALID_ID", decoded[1]?.detail, 0]);
});

Deno.test("MessageDecoder: an object in place of the array is the only crossing, and null is no crossing", () => {
  deepEqual(outcomes(LIST, JSON.stringify({ list: GOOD })), ["transition"]);
  deepEqual(outcomes(LIST, JSON.stringify({ list: [] })), ["skipped"]);
  for (const list of [null, undefined, "x", 7]) {
    deepEqual(outcomes(LIST, JSON.stringify({ list })), ["MISSING_FIELD"]);
  }
});

Deno.test("MessageDecoder: a thousand crossings are taken, and one more is refused with all of them", () => {
  const list = Array.from({ length: 1001 }, () => 0);
  equal(outcomes(LIST, JSON.stringify({ list: list.slice(1) })).length, 1000);
  deepEqual(outcomes(LIST, JSON.stringify({ list })), ["INVALID_FIELD"]);
  const many = Array.from({ length: 300 }, (_, i) => ({ ...GOOD, d: `d${i}` }));
  equal(
    outcomes(LIST, JSON.stringify({ list: many })).filter((outcome) => outcome === "transition").length,
    300,
  );
});

Deno.test("MessageDecoder: what is around the crossings can't be kept a thousand times", () => {
  const around = "x".repeat(50_000);
  deepEqual(outcomes(LIST, JSON.stringify({ around, list: [7] })), ["NOT_AN_OBJECT"]);
  deepEqual(outcomes(LIST, JSON.stringify({ around, list: Array.from({ length: 1000 }, () => 0) })), [
    "INVALID_FIELD",
  ]);
});

const HOSTILE: readonly [name: string, text: string, reason: string][] = [
  ["nothing", "", "MALFORMED_JSON"],
  ["half an object", '{"list":[', "MALFORMED_JSON"],
  ["two objects", "{}{}", "MALFORMED_JSON"],
  ["a comma too many", '{"list":[1,]}', "MALFORMED_JSON"],
  ["an array that is not closed", `{"list":${"[".repeat(30_000)}`, "MALFORMED_JSON"],
  ["single quotes", "{'list':[]}", "MALFORMED_JSON"],
  ["a control in a string", '{"list":["\n"]}', "MALFORMED_JSON"],
  ["deep nesting where nobody looks", `{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "MISSING_FIELD"],
  ["deep nesting as the list", `{"list":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "NOT_AN_OBJECT"],
  ["deep objects", `${'{"list":'.repeat(5000)}1${"}".repeat(5000)}`, "MISSING_FIELD"],
  ["over the limit", `{"list":"${"x".repeat(70_000)}"}`, "TOO_LARGE"],
];
for (const [name, text, reason] of HOSTILE) {
  Deno.test(`MessageDecoder: hostile, ${name} is ${reason}`, () => deepEqual(outcomes(LIST, text), [reason]));
}

Deno.test("MessageDecoder: hostile, what is no UTF-8, wherever it is", () => {
  const message = encoder.encode(JSON.stringify({ list: [GOOD], x: "ab" }));
  message[message.length - 3] = 0xff;
  deepEqual(outcomes(LIST, message), ["INVALID_UTF8"]);
});

Deno.test("MessageDecoder: hostile, names that objects have by themselves", () => {
  const mapping = { ...PLAIN, device_id: "/__proto__/d", fence_id: "/constructor" };
  const tail = '"k":"ENTER","t":"2026-05-04T08:00:10Z"';
  deepEqual(outcomes(mapping, `{"__proto__":{"d":"a"},"constructor":"b",${tail}}`), ["transition"]);
  deepEqual(outcomes(mapping, `{${tail}}`), ["MISSING_FIELD"]);
  equal(({} as Record<string, unknown>)["d"], undefined);
});

Deno.test("MessageDecoder: in the middle of a larger buffer it looks at nothing around it", () => {
  const message = encoder.encode(` ${JSON.stringify(GOOD)}\n`);
  const around = encoder.encode(`"]}${decoder.decode(message)}{"[`);
  const messages = new MessageDecoder(readMapping(PLAIN, "f"));
  messages.open(around, 3, 3 + message.length, null);
  deepEqual([messages.next(), messages.next()], ["transition", null]);
});

Deno.test("MessageDecoder: a message cut anywhere is refused, and nothing is left of the one before", () => {
  const text = JSON.stringify({ list: [GOOD, { ...GOOD, k: "EXIT" }], x: { "é": [1, 'a\\"b'] } });
  const bytes = encoder.encode(text);
  const messages = new MessageDecoder(readMapping(LIST, "f"));
  for (let end = 0; end < bytes.length; end++) {
    messages.open(bytes, 0, bytes.length, null);
    equal(messages.next(), "transition");
    messages.open(bytes, 0, end, null);
    ok(["MALFORMED_JSON", "INVALID_UTF8"].includes(String(messages.next())), `cut at ${end}`);
    equal(messages.next(), null);
  }
});

const CONDITIONS: readonly [condition: MappingJson, value: unknown, holds: boolean][] = [
  [{ is: ["a", "b"] }, "b", true],
  [{ is: ["a", "b"] }, "ab", false],
  [{ is: [155] }, 155, true],
  [{ is: [155] }, "155", true],
  [{ is: [false] }, false, true],
  [{ is: [null] }, undefined, true],
  [{ is: [null] }, null, true],
  [{ is: ["a"] }, undefined, false],
  [{ is: ["a"] }, { a: 1 }, false],
  [{ is_not: ["a"] }, undefined, true],
  [{ is_not: ["a", null] }, undefined, false],
  [{ is_not: [0] }, 0, false],
  [{ is_not: [0] }, 10, true],
  [{ starts_with: ["per", "x"] }, "person", true],
  [{ starts_with: ["per"] }, "pe", false],
  [{ starts_with: ["1"] }, 12, false],
  [{ differs_from: "/d" }, GOOD.d, false],
  [{ differs_from: "/d" }, "other", true],
  [{ differs_from: "/d" }, undefined, true],
  [{ differs_from: "/none" }, undefined, false],
  [{ is: ["é\n"] }, "é\n", true],
];
for (const [condition, value, holds] of CONDITIONS) {
  Deno.test(`conditions: ${JSON.stringify(value)} ${holds ? "meets" : "does not meet"} ${JSON.stringify(condition)}`, () => {
    const expected = [holds ? "transition" : "skipped"];
    const when = [{ at: "/w", ...condition }];
    deepEqual(outcomes({ ...PLAIN, when }, JSON.stringify({ ...GOOD, w: value })), expected);
    deepEqual(outcomes({ ...PLAIN, message_when: when }, JSON.stringify({ ...GOOD, w: value })), expected);
  });
}
