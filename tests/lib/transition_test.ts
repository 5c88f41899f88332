import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { ATTRIBUTES_BYTES_MAX, RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import { KIND_NAMES } from "../../lib/kind.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { TransitionDecoder } from "../../lib/transition.ts";

const encoder = new TextEncoder();
const textDecoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const TIME = '"2026-05-04T08:00:00.250Z"';
const TIME_US = 1_777_881_600_250_000;
const INGEST_US = 1_777_881_600_500_000;
const decoder = new TransitionDecoder();

/** What a record decodes to, as plain values. */
function decode(line: string | Uint8Array): Record<string, unknown> {
  const bytes = typeof line === "string" ? encoder.encode(line) : line;
  // Surrounded by bytes that would be seen at once if they were read.
  const framed = new Uint8Array(bytes.length + 6).fill(0x7d);
  framed.set(bytes, 3);
  const outcome = decoder.decode(framed, 3, 3 + bytes.length);
  if (outcome === "transition") return { outcome, ...decoded() };
  ok(decoder.detail.length > 10 && decoder.detail.length < 400, decoder.detail);
  return { outcome };
}

function decoded(): Record<string, unknown> {
  const textOf = (start: number, end: number) => strictDecoder.decode(decoder.bytes.subarray(start, end));
  return {
    kind: KIND_NAMES[decoder.kind],
    device: textOf(decoder.deviceStart, decoder.deviceEnd),
    fence: textOf(decoder.fenceStart, decoder.fenceEnd),
    eventTimeUs: decoder.eventTimeUs,
    ingestTimeUs: decoder.ingestTimeUs,
    seq: textOf(decoder.seqStart, decoder.seqEnd),
    attributes: textOf(decoder.attributesStart, decoder.attributesEnd),
  };
}

/** A record's text: members of it replaced or added, as JSON source; undefined leaves one out. */
function line(members: Record<string, string | undefined> = {}): string {
  const all: Record<string, string | undefined> = {
    device_id: '"truck-1"',
    fence_id: '"depot"',
    kind: '"ENTER"',
    event_time: TIME,
    ...members,
  };
  const written = Object.entries(all).filter(([, value]) => value !== undefined);
  return `{${written.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
}

const PLAIN = {
  outcome: "transition",
  kind: "ENTER",
  device: "truck-1",
  fence: "depot",
  eventTimeUs: TIME_US,
  ingestTimeUs: NaN,
  seq: "",
  attributes: "",
};

Deno.test("TransitionDecoder: an ordinary record points into the buffer it came in", () => {
  const bytes = encoder.encode(
    line({ ingest_time: '"2026-05-04T08:00:00.500Z"', seq: "7", attributes: '{"a":1.50}' }),
  );
  strictEqual(decoder.decode(bytes, 0, bytes.length), "transition");
  strictEqual(decoder.bytes, bytes);
  deepStrictEqual(decoded(), {
    kind: "ENTER",
    device: "truck-1",
    fence: "depot",
    eventTimeUs: TIME_US,
    ingestTimeUs: INGEST_US,
    seq: "7",
    attributes: '{"a":1.50}',
  });
});

Deno.test("TransitionDecoder: what the slow path decoded outlives the next record", () => {
  const first = encoder.encode(line({ device_id: '"Caf\\u00e9"' }));
  strictEqual(decoder.decode(first, 0, first.length), "transition");
  const { bytes, deviceStart, deviceEnd } = decoder;
  const second = encoder.encode(line({ device_id: '"\\u8f66-07"' }));
  strictEqual(decoder.decode(second, 0, second.length), "transition");
  strictEqual(textDecoder.decode(bytes.subarray(deviceStart, deviceEnd)), "Café");
});

Deno.test("TransitionDecoder: members in any order, spacing and company", () => {
  const same = [
    line(),
    `{ "event_time" : ${TIME} , "kind":"ENTER",\t"fence_id":"depot",\r\n"device_id":"truck-1" }`,
    `  ${line()} \t`,
    line({ x: "null", y: "true", z: "false", list: "[ 1, -2.5e+7, [ ], { } ]", deep: '{"a":{"b":"c"}}' }),
    line({ note: '"\\"kind\\":\\"EXIT\\""' }),
    line({ "": '""', device: '"other"', device_ids: '"other"', event_time_s: "5", Kind: '"EXIT"' }),
    line({ ingest_time: "null", seq: "null", attributes: "null" }),
    `{"kind":"EXIT","device_id":7,"seq":-1,"event_time":null,"kind":"ENTER","seq":null,${line().slice(1)}`,
    '{"\\u006bind":"ENTER","device_id":"truck-1","fence_id":"\\u0064epot","event_time":' + TIME + "}",
    line({ toString: "1", hasOwnProperty: "2" }),
    `{"__proto__":{"seq":5,"ingest_time_ms":5,"attributes":{}},${line().slice(1)}`,
  ];
  for (const text of same) deepStrictEqual(decode(text), PLAIN, text);
});

Deno.test("TransitionDecoder: kinds in any ASCII case, and letters", () => {
  const cases: [string, string][] = [
    ["ENTER", "ENTER"],
    ["enter", "ENTER"],
    ["eNtEr", "ENTER"],
    ["E", "ENTER"],
    ["e", "ENTER"],
    ["EXIT", "EXIT"],
    ["exit", "EXIT"],
    ["X", "EXIT"],
    ["x", "EXIT"],
    ["Dwell", "DWELL"],
    ["D", "DWELL"],
    ["d", "DWELL"],
    ["STALE", "STALE"],
    ["stale", "STALE"],
  ];
  for (const [written, kind] of cases) {
    deepStrictEqual(decode(line({ kind: JSON.stringify(written) })), { ...PLAIN, kind }, written);
    const escaped = `"\\u${written.charCodeAt(0).toString(16).padStart(4, "0")}${written.slice(1)}"`;
    deepStrictEqual(decode(line({ kind: escaped })), { ...PLAIN, kind }, escaped);
  }
  const wrong = [
    '""',
    '"S"',
    '"H"',
    '"INSIDE"',
    '"ENTER "',
    '"ENTERS"',
    '"ſtale"',
    '"%NTER"',
    '"\\u0045NTE"',
    "1",
    "[]",
  ];
  for (const kind of wrong) deepStrictEqual(decode(line({ kind })), { outcome: "INVALID_KIND" }, kind);
});

Deno.test("TransitionDecoder: a heartbeat needs no ids and has none", () => {
  const ids = [
    { device_id: undefined, fence_id: undefined },
    {},
    { device_id: "null", fence_id: '""' },
    { device_id: "7", fence_id: '{"a":[]}' },
    { device_id: '"\\ud800"' },
  ];
  for (const members of ids) {
    const result = decode(line({ ...members, kind: '"heartbeat"', ingest_time_ms: "1777881600500" }));
    const expected = { ...PLAIN, kind: "HEARTBEAT", device: "", fence: "", ingestTimeUs: INGEST_US };
    deepStrictEqual(result, expected, JSON.stringify(members));
  }
  deepStrictEqual(decode(line({ kind: '"HEARTBEAT"', event_time: undefined })), { outcome: "MISSING_FIELD" });
});

Deno.test("TransitionDecoder: ids are any text of 1 to 256 bytes", () => {
  const ids = [
    "a",
    "a|b",
    "b:c",
    " a",
    "c ",
    "__proto__",
    "constructor",
    "Café",
    "Cafe\u0301",
    "车-07",
    "ворота/№3 🚧",
    "a\u0000b",
    "a\nb",
    'a"b\\c',
    "\x7f",
    "\ufffd",
    "\ufeff",
    "738529527931269425",
    "x".repeat(256),
    "é".repeat(128),
    "🚧".repeat(64),
  ];
  for (const id of ids) {
    const escaped = JSON.stringify(id).replace(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    for (const written of [JSON.stringify(id), escaped]) {
      deepStrictEqual(decode(line({ device_id: written })), { ...PLAIN, device: id }, written);
      deepStrictEqual(decode(line({ fence_id: written })), { ...PLAIN, fence: id }, written);
    }
  }
  const wrong = [
    '""',
    "7",
    "738529527931269425",
    "true",
    '["a"]',
    '{"id":"p-2"}',
    '"\\ud800"',
    '"a\\udc00b"',
    JSON.stringify("x".repeat(257)),
    JSON.stringify("é".repeat(127) + "xxx"),
    JSON.stringify("x".repeat(3000)),
  ];
  for (const id of wrong) {
    deepStrictEqual(decode(line({ device_id: id })), { outcome: "INVALID_ID" }, id);
    deepStrictEqual(decode(line({ fence_id: id })), { outcome: "INVALID_ID" }, id);
  }
});

Deno.test("TransitionDecoder: event times in every unit, as tables", () => {
  const cases: [Record<string, string>, string | number][] = [
    [{ event_time: '"2026-05-04T10:00:00.2509999+02:00"' }, TIME_US + 999],
    [{ event_time: '"2026-05-04t08:00:00.25z"' }, TIME_US],
    [{ event_time: '"2026-05-04 08:00:00.25Z"' }, TIME_US],
    [{ event_time: '"2026-05-04\\u005408:00:00.25Z"' }, TIME_US],
    [{ event_time: `"2026-05-04T08:00:00.25${"0".repeat(2000)}1Z"` }, TIME_US],
    [{ event_time: '"1970-01-01T00:00:00Z"' }, 0],
    [{ event_time: "1777881600" }, "INVALID_TIME"],
    [{ event_time: "1777881600.25" }, "INVALID_TIME"],
    [{ event_time: "0" }, "INVALID_TIME"],
    [{ event_time: "null" }, "INVALID_TIME"],
    [{ event_time: "true" }, "INVALID_TIME"],
    [{ event_time: "{}" }, "INVALID_TIME"],
    [{ event_time: '""' }, "INVALID_TIME"],
    [{ event_time: '"1777881600"' }, "INVALID_TIME"],
    [{ event_time: '"not-a-time"' }, "INVALID_TIME"],
    [{ event_time: '"2026-05-04T08:00:00.250"' }, "INVALID_TIME"],
    [{ event_time: '"2026-05-04T08:00:60Z"' }, "INVALID_TIME"],
    [{ event_time_ms: "1777881600250" }, TIME_US],
    [{ event_time_ms: '"1777881600250"' }, TIME_US],
    [{ event_time_ms: '"00000001777881600250"' }, TIME_US],
    [{ event_time_ms: '"000000001777881600250"' }, "INVALID_TIME"],
    [{ event_time_ms: "1777881600250.0" }, TIME_US],
    [{ event_time_ms: "1.77788160025e12" }, TIME_US],
    [{ event_time_ms: "17778816002500E-1" }, TIME_US],
    [{ event_time_ms: "1777881600250.5" }, "INVALID_TIME"],
    [{ event_time_ms: '"1777881600250.0"' }, "INVALID_TIME"],
    [{ event_time_ms: '"1.7e12"' }, "INVALID_TIME"],
    [{ event_time_ms: '"+1777881600250"' }, "INVALID_TIME"],
    [{ event_time_ms: '"-1"' }, "INVALID_TIME"],
    [{ event_time_ms: '" 1"' }, "INVALID_TIME"],
    [{ event_time_ms: '"1 "' }, "INVALID_TIME"],
    [{ event_time_ms: '""' }, "INVALID_TIME"],
    [{ event_time_ms: '"0x10"' }, "INVALID_TIME"],
    [{ event_time_ms: '"１７"' }, "INVALID_TIME"],
    [{ event_time_ms: TIME }, "INVALID_TIME"],
    [{ event_time_ms: "null" }, "INVALID_TIME"],
    [{ event_time_ms: "false" }, "INVALID_TIME"],
    [{ event_time_ms: "[1777881600250]" }, "INVALID_TIME"],
    [{ event_time_ms: "0" }, 0],
    [{ event_time_ms: "-0" }, 0],
    [{ event_time_ms: "-1" }, -1000],
    [{ event_time_ms: '"0"' }, 0],
    [{ event_time_ms: "-999999999999999999999999999999" }, -62_167_219_200_000_000],
    [{ event_time_ms: "-1e30" }, "INVALID_TIME"],
    [{ event_time_ms: "253402300799999" }, 253_402_300_799_999_000],
    [{ event_time_ms: "253402300800000" }, "INVALID_TIME"],
    [{ event_time_ms: "1777881600250000" }, "INVALID_TIME"],
    [{ event_time_ms: "1777881600250000000" }, "INVALID_TIME"],
    [{ event_time_ms: "9".repeat(400) }, "INVALID_TIME"],
    [{ event_time_ms: "1e400" }, "INVALID_TIME"],
    [{ event_time_us: "1777881600250000" }, TIME_US],
    [{ event_time_us: "9007199254740991" }, Number.MAX_SAFE_INTEGER],
    [{ event_time_us: '"9007199254740991"' }, Number.MAX_SAFE_INTEGER],
    [{ event_time_us: "9007199254740994.0" }, "INVALID_TIME"],
    [{ event_time_us: "9007199254740993.0" }, "INVALID_TIME"],
    [{ event_time_us: "9007199254740990.6" }, "INVALID_TIME"],
    // No integers, though the nearest doubles are.
    [{ event_time_us: "1777881600250000.0000001" }, "INVALID_TIME"],
    [{ event_time_ms: "1777881600250.00000000000000001" }, "INVALID_TIME"],
    [{ event_time_ms: "17778816002500000000000000000001e-19" }, "INVALID_TIME"],
    [{ event_time_ms: "17778816002500000000000000000000e-19" }, TIME_US],
    [{ event_time_us: "1777881600250000000" }, "INVALID_TIME"],
    [{ event_time_ns: "1777881600250000000" }, TIME_US],
    [{ event_time_ns: "1777881600250000999" }, TIME_US],
    [{ event_time_ns: "1777881600250001000" }, TIME_US + 1],
    [{ event_time_ns: '"1777881600250000999"' }, TIME_US],
    [{ event_time_ns: "1777881600250000" }, 1_777_881_600_250],
    [{ event_time_ns: "999" }, 0],
    [{ event_time_ns: "1000" }, 1],
    [{ event_time_ns: "-1" }, -1],
    [{ event_time_ns: "-1000" }, -1],
    [{ event_time_ns: "-1001" }, -2],
    [{ event_time_ns: "-1777881600250000001" }, -1_777_881_600_250_001],
    [{ event_time_ns: "1.77788160025e18" }, "INVALID_TIME"],
    [{ event_time_ns: "1777881600250000000.0" }, "INVALID_TIME"],
    [{ event_time_ns: "9007199254740991999" }, Number.MAX_SAFE_INTEGER],
    [{ event_time_ns: "253402300800000000000" }, "INVALID_TIME"],
  ];
  for (const [time, expected] of cases) {
    const message = JSON.stringify(time);
    const result = decode(line({ event_time: undefined, ...time }));
    if (typeof expected === "string") deepStrictEqual(result, { outcome: expected }, message);
    else deepStrictEqual(result, { ...PLAIN, eventTimeUs: expected }, message);
    // An ingest time is read by the same rules, but that null is none.
    const [key = "", value] = Object.entries(time)[0] ?? [];
    const ingest = decode(line({ [key.replace("event", "ingest")]: value }));
    if (value === "null") deepStrictEqual(ingest, PLAIN, message);
    else if (typeof expected === "string") deepStrictEqual(ingest, { outcome: expected }, message);
    else deepStrictEqual(ingest, { ...PLAIN, ingestTimeUs: expected }, message);
  }
});

Deno.test("TransitionDecoder: several event times agree at the coarser unit, and the finest is taken", () => {
  const cases: [Record<string, string>, string | number][] = [
    [{ event_time: TIME, event_time_ms: "1777881600250" }, TIME_US],
    [{ event_time: TIME, event_time_ms: "1777881600251" }, "INVALID_TIME"],
    [{ event_time: TIME, event_time_us: "1777881600250999" }, TIME_US + 999],
    [{ event_time: TIME, event_time_us: "1777881600251000" }, "INVALID_TIME"],
    [{ event_time: '"2026-05-04T08:00:00Z"', event_time_ms: "1777881600999" }, TIME_US + 749_000],
    [{ event_time: '"2026-05-04T08:00:00Z"', event_time_ms: "1777881601000" }, "INVALID_TIME"],
    [{ event_time: '"2026-05-04T08:00:00.2Z"', event_time_ms: "1777881600299" }, TIME_US + 49_000],
    [{ event_time: '"2026-05-04T08:00:00.2Z"', event_time_ms: "1777881600199" }, "INVALID_TIME"],
    [{ event_time: '"2026-05-04T08:00:00.250000Z"', event_time_ms: "1777881600250" }, TIME_US],
    [{ event_time: '"2026-05-04T08:00:00.250123Z"', event_time_ms: "1777881600250" }, TIME_US + 123],
    [{ event_time: '"2026-05-04T08:00:00.250123456Z"', event_time_ns: "1777881600250123456" }, TIME_US + 123],
    [
      { event_time: '"2026-05-04T08:00:00.250123456Z"', event_time_ns: "1777881600250123457" },
      "INVALID_TIME",
    ],
    [{ event_time: '"2026-05-04T08:00:00.25012345Z"', event_time_ns: "1777881600250123457" }, TIME_US + 123],
    [
      { event_time: '"2026-05-04T08:00:00.2501234567Z"', event_time_ns: "1777881600250123456" },
      TIME_US + 123,
    ],
    [{ event_time: '"2026-05-04T08:00:00.250123456Z"', event_time_us: "1777881600250123" }, TIME_US + 123],
    [{ event_time_ms: "1777881600250", event_time_us: "1777881600250001" }, TIME_US + 1],
    [{ event_time_us: "1777881600250001", event_time_ms: "1777881600250" }, TIME_US + 1],
    [{ event_time_ms: "1777881600250", event_time_ns: "1777881600250001002" }, TIME_US + 1],
    [{ event_time_us: "1777881600250001", event_time_ns: "1777881600250001999" }, TIME_US + 1],
    [{ event_time_us: "1777881600250001", event_time_ns: "1777881600250002000" }, "INVALID_TIME"],
    [{ event_time_ms: "-1", event_time_us: "-1" }, -1],
    [{ event_time_ms: "0", event_time_us: "-1" }, "INVALID_TIME"],
    [{ event_time: TIME, event_time_ms: "null" }, "INVALID_TIME"],
    [{
      event_time: '"2026-05-04T08:00:00Z"',
      event_time_ms: "1777881600250",
      event_time_us: "1777881600250001",
      event_time_ns: "1777881600250001002",
    }, TIME_US + 1],
    [{
      event_time: '"2026-05-04T08:00:01Z"',
      event_time_ms: "1777881600250",
      event_time_us: "1777881600250001",
      event_time_ns: "1777881600250001002",
    }, "INVALID_TIME"],
  ];
  for (const [times, expected] of cases) {
    const message = JSON.stringify(times);
    const result = decode(line({ event_time: undefined, ...times }));
    if (typeof expected === "string") deepStrictEqual(result, { outcome: expected }, message);
    else deepStrictEqual(result, { ...PLAIN, eventTimeUs: expected }, message);
  }
  const both = line({ ingest_time: TIME, ingest_time_us: "1777881600250007" });
  deepStrictEqual(decode(both), { ...PLAIN, ingestTimeUs: TIME_US + 7 });
  deepStrictEqual(decode(line({ ingest_time: TIME, ingest_time_ms: "5" })), { outcome: "INVALID_TIME" });
});

Deno.test("TransitionDecoder: seq as a table", () => {
  const cases: [string, string | null][] = [
    ["0", "0"],
    ["-0", "0"],
    ["7", "7"],
    ['"7"', "7"],
    ["7.0", "7"],
    ["7.00000000000000000001", null],
    ["7e0", "7"],
    ["70E-1", "7"],
    ['"07"', "07"],
    ['"7.0"', "7.0"],
    ['"#é\\n"', "#é\n"],
    ["999999999999999", "999999999999999"],
    ["9007199254740991", "9007199254740991"],
    [JSON.stringify("x".repeat(64)), "x".repeat(64)],
    [JSON.stringify("é".repeat(32)), "é".repeat(32)],
    ["null", ""],
    ["9007199254740992", null],
    ["-1", null],
    ["1.5", null],
    ["true", null],
    ["[7]", null],
    ["{}", null],
    ['""', null],
    ['"\\ud800"', null],
    [JSON.stringify("x".repeat(65)), null],
    [JSON.stringify("é".repeat(33)), null],
  ];
  for (const [seq, expected] of cases) {
    const result = decode(line({ seq }));
    deepStrictEqual(
      result,
      expected === null ? { outcome: "INVALID_FIELD" } : { ...PLAIN, seq: expected },
      seq,
    );
  }
});

Deno.test("TransitionDecoder: attributes are carried through compact, digits and all", () => {
  const cases: [string, string][] = [
    ["{}", "{}"],
    ["[]", "[]"],
    ['""', '""'],
    ["0", "0"],
    ["false", "false"],
    ["12345678901234567890.10", "12345678901234567890.10"],
    ["1E400", "1E400"],
    ['{ "a" : [ 1.0 , 2 ],\n"b c" : " d\\" e " }', '{"a":[1.0,2],"b c":" d\\" e "}'],
    ['{"a":"\\\\" , "b":1}', '{"a":"\\\\","b":1}'],
    ['{"__proto__":{"x":1},"a":1,"a":2}', '{"__proto__":{"x":1},"a":1,"a":2}'],
    ['{"city":"Köln","lone":"\\ud800"}', '{"city":"Köln","lone":"\\ud800"}'],
    [`${"[".repeat(40)}1${"]".repeat(40)}`, `${"[".repeat(40)}1${"]".repeat(40)}`],
    [`${"[".repeat(8192)}${"]".repeat(8192)}`, `${"[".repeat(8192)}${"]".repeat(8192)}`],
  ];
  for (const [attributes, expected] of cases) {
    const shown = attributes.slice(0, 60);
    deepStrictEqual(decode(line({ attributes })), { ...PLAIN, attributes: expected }, shown);
    deepStrictEqual(decode(line({ note: '"é"', attributes })), { ...PLAIN, attributes: expected }, shown);
  }
  const twice = `{"attributes":{"a":1},"\\u0061ttributes":[2, 3],${line().slice(1)}`;
  deepStrictEqual(decode(twice), { ...PLAIN, attributes: "[2,3]" });
});

Deno.test("TransitionDecoder: attributes at their bound, compact", () => {
  for (const over of [0, 1]) {
    const compact = `["${"x".repeat(ATTRIBUTES_BYTES_MAX - 4 + over)}"]`;
    for (const written of [compact, `[  ${compact.slice(1, -1)}   ]`, compact.replace("xx", "\\n")]) {
      const result = decode(line({ attributes: written }));
      const outcome = over === 0 ? "transition" : "INVALID_FIELD";
      strictEqual(result["outcome"], outcome, `${written.length} bytes as written`);
    }
  }
  // The bound is the same behind the longest ids and seq.
  const longest = { device_id: JSON.stringify("é".repeat(128)), fence_id: JSON.stringify("y".repeat(256)) };
  const attributes = `["${"x".repeat(ATTRIBUTES_BYTES_MAX - 4)}"]`;
  const result = decode(line({ ...longest, seq: JSON.stringify("z".repeat(64)), attributes }));
  strictEqual(result["attributes"], attributes);
});

Deno.test("TransitionDecoder: records that are no object", () => {
  const cases: [string | Uint8Array, string][] = [
    ["", "MALFORMED_JSON"],
    ["   ", "MALFORMED_JSON"],
    ["{", "MALFORMED_JSON"],
    ["}", "MALFORMED_JSON"],
    ['{"device_id":"p-2","fence_id":"z1","kind":"ENTER"', "MALFORMED_JSON"],
    [line() + "}", "MALFORMED_JSON"],
    [line() + line(), "MALFORMED_JSON"],
    [line().replace(",", ",,"), "MALFORMED_JSON"],
    [line().replace("}", ",}"), "MALFORMED_JSON"],
    ["\ufeff" + line(), "MALFORMED_JSON"],
    ["\u00a0" + line(), "MALFORMED_JSON"],
    [line({ x: "01" }), "MALFORMED_JSON"],
    [line({ x: "1." }), "MALFORMED_JSON"],
    [line({ x: ".5" }), "MALFORMED_JSON"],
    [line({ x: "+5" }), "MALFORMED_JSON"],
    [line({ x: "-" }), "MALFORMED_JSON"],
    [line({ x: "1e" }), "MALFORMED_JSON"],
    [line({ x: "NaN" }), "MALFORMED_JSON"],
    [line({ x: "nul" }), "MALFORMED_JSON"],
    [line({ x: "truetrue" }), "MALFORMED_JSON"],
    [line({ x: "[1,]" }), "MALFORMED_JSON"],
    [line({ x: "[1 2]" }), "MALFORMED_JSON"],
    [line({ x: '{"a"}' }), "MALFORMED_JSON"],
    [line({ x: "{1:2}" }), "MALFORMED_JSON"],
    [line({ x: "[}" }), "MALFORMED_JSON"],
    [line({ x: '"\t"' }), "MALFORMED_JSON"],
    [line({ x: '"\\x41"' }), "MALFORMED_JSON"],
    [line({ x: "'a'" }), "MALFORMED_JSON"],
    ["{'kind':'ENTER'}", "MALFORMED_JSON"],
    ["// " + line(), "MALFORMED_JSON"],
    ["[".repeat(RECORD_BYTES_MAX), "MALFORMED_JSON"],
    ['{"a":'.repeat(13_000), "MALFORMED_JSON"],
    ["[".repeat(32_768) + "]".repeat(32_768), "NOT_AN_OBJECT"],
    ["null", "NOT_AN_OBJECT"],
    [" [] ", "NOT_AN_OBJECT"],
    ["7", "NOT_AN_OBJECT"],
    ['"ENTER"', "NOT_AN_OBJECT"],
    ["[" + line() + "]", "NOT_AN_OBJECT"],
    ["{}", "MISSING_FIELD"],
    [" { } ", "MISSING_FIELD"],
    [Uint8Array.of(0xff), "INVALID_UTF8"],
    [withByte(line(), "truck", 0xff), "INVALID_UTF8"],
    [withByte(line({ note: '"\ufffd x"' }), "x", 0x80), "INVALID_UTF8"],
    [encoder.encode(line({ note: '"🚧"' })).slice(0, -4), "INVALID_UTF8"],
    [" ".repeat(RECORD_BYTES_MAX - line().length) + line(), "transition"],
    [" ".repeat(RECORD_BYTES_MAX - line().length + 1) + line(), "TOO_LARGE"],
    [line() + " ".repeat(RECORD_BYTES_MAX - line().length + 1), "TOO_LARGE"],
    [new Uint8Array(RECORD_BYTES_MAX + 1).fill(0xff), "TOO_LARGE"],
    ["[".repeat(RECORD_BYTES_MAX + 1), "TOO_LARGE"],
  ];
  for (const [record, outcome] of cases) {
    const shown = typeof record === "string" ? record.slice(0, 200) : String(record.slice(0, 20));
    strictEqual(decode(record)["outcome"], outcome, shown);
  }
});

/** A record in which a byte stands in place of the first one of a text. */
function withByte(text: string, at: string, byte: number): Uint8Array {
  const bytes = encoder.encode(text);
  bytes[encoder.encode(text.slice(0, text.indexOf(at))).length] = byte;
  return bytes;
}

Deno.test("TransitionDecoder: the checks go in their order", () => {
  // Each record breaks a rule and all that come after it.
  const all: Record<string, string | undefined> = {
    seq: "-1",
    attributes: JSON.stringify("x".repeat(ATTRIBUTES_BYTES_MAX)),
    ingest_time: '"x"',
    event_time: undefined,
    fence_id: '""',
    device_id: "7",
    kind: '"INSIDE"',
  };
  const steps: [string, string, string | undefined][] = [
    ["INVALID_KIND", "kind", '"ENTER"'],
    ["INVALID_ID", "device_id", '"truck-1"'],
    ["INVALID_ID", "fence_id", '"depot"'],
    ["MISSING_FIELD", "event_time", TIME],
    ["INVALID_TIME", "ingest_time", TIME],
    ["INVALID_FIELD", "seq", "7"],
    ["INVALID_FIELD", "attributes", "{}"],
  ];
  for (const [outcome, key, right] of steps) {
    deepStrictEqual(decode(line(all)), { outcome }, key);
    match(decoder.detail, new RegExp(key));
    all[key] = right;
  }
  strictEqual(decode(line(all))["outcome"], "transition");
  for (const key of ["kind", "device_id", "fence_id", "event_time"]) {
    deepStrictEqual(decode(line({ seq: "-1", [key]: undefined })), { outcome: "MISSING_FIELD" }, key);
    const outcome = key === "event_time" ? "INVALID_TIME" : "MISSING_FIELD";
    deepStrictEqual(decode(line({ seq: "-1", [key]: "null" })), { outcome }, key);
    match(decoder.detail, new RegExp(key));
  }
  deepStrictEqual(decode(line({ device_id: "null", fence_id: "7" })), { outcome: "MISSING_FIELD" });
  deepStrictEqual(decode(line({ device_id: "7", fence_id: "null" })), { outcome: "INVALID_ID" });
});

Deno.test("TransitionDecoder: with INVALID_FIELD all but seq and attributes is there", () => {
  const tooLong = JSON.stringify("x".repeat(ATTRIBUTES_BYTES_MAX));
  for (const members of [{ seq: "-1", attributes: "{}" }, { seq: "7", attributes: tooLong }]) {
    deepStrictEqual(decode(line({ ...members, ingest_time_ms: "1777881600500" })), {
      outcome: "INVALID_FIELD",
    });
    const { outcome: _, ...expected } = { ...PLAIN, ingestTimeUs: INGEST_US };
    deepStrictEqual(decoded(), expected);
  }
});

Deno.test("TransitionDecoder: details name the field, the rule and the value", () => {
  const cases: [string | Uint8Array, string][] = [
    [
      line({ device_id: "738529527931269425" }),
      "device_id must be a string of 1 to 256 bytes without lone surrogates, got 738529527931269425",
    ],
    [line({ fence_id: "null" }), "fence_id must be given, got null"],
    [line({ kind: undefined }), "kind must be given, but is missing"],
    [
      line({ kind: '"INSIDE"' }),
      'kind must be ENTER, EXIT, DWELL, STALE or HEARTBEAT, or E, X or D, got "INSIDE"',
    ],
    [
      line({ kind: '"Entered"' }),
      'kind must be ENTER, EXIT, DWELL, STALE or HEARTBEAT, or E, X or D, got "Entered" (did you mean ENTER?)',
    ],
    [
      line({ event_time: "1777881600250" }),
      "event_time must be an RFC 3339 timestamp with offset or Z, got 1777881600250 " +
      "(as event_time_ms it would be 2026-05-04T08:00:00.250000Z)",
    ],
    [
      line({ event_time: undefined, event_time_ms: "1777881600250000" }),
      "event_time_ms must be an integer or a string of up to 20 digits, before the year 10000, got 1777881600250000 " +
      "(as event_time_us it would be 2026-05-04T08:00:00.250000Z)",
    ],
    [line({ event_time: "0" }), "event_time must be an RFC 3339 timestamp with offset or Z, got 0"],
    [
      line({ event_time: undefined }),
      "One of event_time, event_time_ms, event_time_us, event_time_ns must be given",
    ],
    [
      line({ event_time_ms: "1777881600251" }),
      "event_time_ms must be the same time as the fields before it, got 1777881600251",
    ],
    [line({ seq: "1.5" }), "seq must be an integer from 0 to 2^53 − 1 or a string of 1 to 64 bytes, got 1.5"],
    [
      line({ device_id: JSON.stringify("x".repeat(3000)) }),
      `device_id must be a string of 1 to 256 bytes without lone surrogates, got "${"x".repeat(79)}…`,
    ],
    ["[]", "The record must be a JSON object, got []"],
    ["", "The record must be a JSON object, got nothing"],
    ["x".repeat(70_000), "The record must have at most 65536 bytes, got 70000"],
    [withByte('{"a":"é\ufffd€"}', "€", 0xc1), "The record must be UTF-8, got 0xc1 at byte 11"],
  ];
  for (const [record, detail] of cases) {
    decode(record);
    strictEqual(decoder.detail, detail);
  }
  decode('{"device_id":"p-2","fence_id":"z1","kind":"ENTER"');
  match(
    decoder.detail,
    /^The record must be JSON, got \{"device_id":"p-2","fence_id":"z1","kind":"ENTER" \(.+\)$/,
  );
});

Deno.test("TransitionDecoder: field cases", () => {
  const at = (seconds: string) =>
    `"event_time":"2026-05-04T08:00:${seconds}Z","ingest_time":"2026-05-04T08:00:11Z"`;
  const cases: [string, string][] = [
    [
      '{"device_id":"g-4","fence_id":"z1","kind":"ENTER","event_time":0,"ingest_time":"2026-05-04T08:11:00.000Z"}',
      "INVALID_TIME",
    ],
    ['{"device_id":"u-s","fence_id":"z1","kind":"ENTER","event_time":1777881600}', "INVALID_TIME"],
    [
      '{"device_id":"u-us","fence_id":"z1","kind":"ENTER","event_time_ns":1777881600000000}',
      "1970-01-21T13:51:21.600000Z",
    ],
    [
      '{"device_id":"u-ns","fence_id":"z1","kind":"ENTER","event_time_ns":1777881600000000000}',
      "2026-05-04T08:00:00.000000Z",
    ],
    [
      '{"device_id":"g-3","fence_id":"z1","kind":"ENTER","event_time":"1970-01-21T13:51:21.600Z"}',
      "1970-01-21T13:51:21.600000Z",
    ],
    [`{"device_id":738529527931269426,"fence_id":"z1","kind":"ENTER",${at("10.000")}}`, "INVALID_ID"],
    [`{"device_id":null,"fence_id":"z1","kind":"ENTER",${at("10.000")}}`, "MISSING_FIELD"],
    [`{"device_id":"p-2","fence_id":"","kind":"ENTER",${at("10.000")}}`, "INVALID_ID"],
    [
      '{"device_id":"p-2","fence_id":"z1","kind":"ENTER","event_time":null,"ingest_time":"2026-05-04T08:00:10.000Z"}',
      "INVALID_TIME",
    ],
    [
      '{"device_id":"p-2","fence_id":"z1","kind":"ENTER","ingest_time":"2026-05-04T08:00:10.000Z"}',
      "MISSING_FIELD",
    ],
    [`{"device_id":{"id":"p-2"},"fence_id":"z1","kind":"ENTER",${at("10.000")}}`, "INVALID_ID"],
    [`{"device_id": "clock", "kind": "HEARTBEAT", ${at("10.000")}}`, "2026-05-04T08:00:10.000000Z"],
  ];
  for (const [record, expected] of cases) {
    const { outcome, eventTimeUs } = decode(record);
    strictEqual(
      outcome === "transition" ? formatTimestamp(eventTimeUs as number) : outcome,
      expected,
      record,
    );
  }
});
