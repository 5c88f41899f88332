/**
 * Trigger lines: what `JSON.stringify` would write, over seeds, and what is read back from a sink.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { EffectBuffer, TRIGGER_BYTES_MAX } from "../../lib/effect.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { parseTrigger, TriggerFields, writeTrigger } from "../../lib/trigger.ts";
import { randomFrom } from "../support/random.ts";

const SECOND = 1_000_000;
const T = Date.UTC(2026, 10, 30, 20, 40) * 1000 + 123_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const LANES = Int32Array.of(0x9f00_0001, 0, 0xffff_ffff, 0x0123_4567, 0xaabb_ccdd, 1, 2, 3);
const ID = "9f00000100000000ffffffff01234567";
const REVISED = "aabbccdd000000010000000200000003";

/** What a trigger is to say. */
interface Said {
  readonly kind: TriggerFields["kind"];
  readonly device?: string;
  readonly fence?: string;
  readonly eventTimeUs?: number;
  readonly enteredAtUs?: number;
  readonly dwellUs?: number;
  readonly visitUs?: number;
  readonly attributes?: string;
  readonly seq?: string;
  readonly late?: boolean;
  readonly beyondWindow?: boolean;
}

/** Fields whose texts lie somewhere in a larger buffer, seq and attributes in another one. */
function fieldsOf(said: Said): TriggerFields {
  const fields = new TriggerFields();
  const device = encoder.encode(said.device ?? "truck-7");
  const fence = encoder.encode(said.fence ?? "depot-3");
  const seq = encoder.encode(said.seq ?? "");
  const attributes = encoder.encode(said.attributes ?? "");
  fields.kind = said.kind;
  fields.bytes = Uint8Array.of(1, ...fence, 2, ...device, 3);
  fields.fenceStart = 1;
  fields.fenceEnd = fields.deviceStart = 1 + fence.length;
  fields.deviceStart++;
  fields.deviceEnd = fields.deviceStart + device.length;
  fields.extraBytes = Uint8Array.of(9, ...attributes, ...seq, 9);
  fields.attributesStart = 1;
  fields.attributesEnd = fields.seqStart = 1 + attributes.length;
  fields.seqEnd = fields.seqStart + seq.length;
  fields.eventTimeUs = said.eventTimeUs ?? T;
  fields.enteredAtUs = said.enteredAtUs ?? NaN;
  fields.dwellUs = said.dwellUs ?? NaN;
  fields.visitUs = said.visitUs ?? NaN;
  fields.late = said.late ?? false;
  fields.beyondWindow = said.beyondWindow ?? false;
  return fields;
}

/** The lines of triggers, written into one buffer. */
function linesOf(...all: readonly Said[]): string[] {
  const effects = new EffectBuffer(false);
  for (const said of all) writeTrigger(effects, LANES, fieldsOf(said));
  equal(effects.count, all.length);
  const text = decoder.decode(effects.bytes.subarray(0, effects.byteLength));
  equal(text.endsWith("\n"), true);
  return text.slice(0, -1).split("\n");
}

/** The line as `JSON.stringify` writes it. */
function expected(said: Said): string {
  return JSON.stringify({
    id: ID,
    kind: said.kind,
    device_id: said.device ?? "truck-7",
    fence_id: said.fence ?? "depot-3",
    event_time: formatTimestamp(said.eventTimeUs ?? T),
    ...(said.kind === "RETRACT" ? { revises: REVISED } : {
      ...(said.enteredAtUs === undefined ? {} : { entered_at: formatTimestamp(said.enteredAtUs) }),
      ...(said.dwellUs === undefined ? {} : { dwell_s: said.dwellUs / 1e6 }),
      ...(said.visitUs === undefined ? {} : { visit_s: said.visitUs / 1e6 }),
      ...(said.attributes === undefined ? {} : { attributes: JSON.parse(said.attributes) }),
      ...(said.seq === undefined ? {} : { seq: said.seq }),
      ...(said.late === true ? { late: true } : {}),
      ...(said.beyondWindow === true ? { beyond_window: true } : {}),
    }),
  });
}

Deno.test("trigger: the lines of SPEC 4", () => {
  deepEqual(
    linesOf({ kind: "DWELL", enteredAtUs: T - 600 * SECOND, dwellUs: 600 * SECOND }, { kind: "RETRACT" }),
    [
      `{"id":"${ID}","kind":"DWELL","device_id":"truck-7","fence_id":"depot-3",` +
      `"event_time":"2026-11-30T20:40:00.123000Z","entered_at":"2026-11-30T20:30:00.123000Z","dwell_s":600}`,
      `{"id":"${ID}","kind":"RETRACT","device_id":"truck-7","fence_id":"depot-3",` +
      `"event_time":"2026-11-30T20:40:00.123000Z","revises":"${REVISED}"}`,
    ],
  );
});

const TABLE: readonly Said[] = [
  { kind: "ENTER" },
  { kind: "EXIT" },
  { kind: "EXIT", enteredAtUs: T - 1, visitUs: 1 },
  { kind: "EXIT", enteredAtUs: T, visitUs: 0 },
  { kind: "EXIT", enteredAtUs: T - 90 * 86_400 * SECOND, visitUs: 90 * 86_400 * SECOND },
  { kind: "DWELL", enteredAtUs: T, dwellUs: 4_000_001, late: true, beyondWindow: true },
  { kind: "ENTER", attributes: "{}" },
  { kind: "ENTER", attributes: '{"a":[1,null,"ü"]}', seq: "7", late: true },
  { kind: "ENTER", attributes: "null", beyondWindow: true },
  { kind: "EXIT", seq: '"\\\n' },
  { kind: "DWELL", seq: "of an upstream", attributes: "0" },
  { kind: "ENTER", eventTimeUs: 946_684_800_000_000 },
  { kind: "ENTER", device: '"', fence: "\\" },
  { kind: "ENTER", device: "|:,\u007f\u0080\u2028", fence: "日本 🚚" },
  { kind: "ENTER", device: "\u0000\u0001\u0008\u0009\u000a\u000b\u000c\u000d\u001f", fence: "/" },
];

Deno.test("trigger: every field, as JSON.stringify has it", () => {
  deepEqual(linesOf(...TABLE), TABLE.map(expected));
});

Deno.test("trigger: attributes keep their digits", () => {
  const [line] = linesOf({ kind: "ENTER", attributes: '{"n":1.10,"big":12345678901234567890}' });
  equal(line?.endsWith('"attributes":{"n":1.10,"big":12345678901234567890}}'), true);
});

Deno.test("trigger: any ids and any times, over seeds", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomFrom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const text = (most: number): string =>
      Array.from({ length: 1 + below(most) }, () => {
        const limit = [0x20, 0x80, 0x800, 0xd800, 0x11_0000][below(5)] as number;
        const point = below(limit);
        return String.fromCodePoint(point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
      }).join("");
    const kind = (["ENTER", "EXIT", "DWELL", "RETRACT"] as const)[below(4)] as TriggerFields["kind"];
    const said: Said = {
      kind,
      device: text(40),
      fence: text(40),
      eventTimeUs: 946_684_800_000_000 + Math.floor(random() * 8e15),
      ...(random() < 0.3 ? { seq: text(12) } : {}),
      ...(random() < 0.3 ? { attributes: JSON.stringify({ [text(5)]: text(50) }) } : {}),
      ...(random() < 0.3 ? { late: true } : {}),
      ...(random() < 0.3 ? { beyondWindow: true } : {}),
      ...(random() < 0.5
        ? { enteredAtUs: T - below(1e15), [kind === "DWELL" ? "dwellUs" : "visitUs"]: below(1e15) }
        : {}),
    };
    const [line] = linesOf(said);
    equal(line, expected(said), `seed ${seed}`);
    deepEqual(parseTrigger(encoder.encode(line)), {
      id: ID,
      code: kind === "DWELL"
        ? (said.dwellUs === undefined ? "P" : "D")
        : { ENTER: "E", EXIT: "X", RETRACT: "R" }[kind],
      device: said.device,
      fence: said.fence,
      eventTimeUs: said.eventTimeUs,
      seq: kind === "RETRACT" ? null : said.seq ?? null,
      enteredAtUs: kind === "DWELL" && said.dwellUs !== undefined ? said.enteredAtUs : null,
      late: kind !== "RETRACT" && said.late === true,
    }, `seed ${seed}`);
  }
});

Deno.test("trigger: the longest one has room, wherever the buffer stands", () => {
  const said: Said = {
    kind: "EXIT",
    device: "\u0001".repeat(256),
    fence: "\u0002".repeat(256),
    enteredAtUs: T - 1,
    visitUs: 1,
    attributes: JSON.stringify("a".repeat(16_384 - 2)),
    seq: "\u0003".repeat(64),
    late: true,
    beyondWindow: true,
  };
  const lines = linesOf(...Array.from({ length: 12 }, () => said));
  for (const line of lines) equal(line, expected(said));
  equal((lines[0] as string).length < TRIGGER_BYTES_MAX, true);
});

Deno.test("trigger: fields that were cleared leave nothing behind", () => {
  const fields = fieldsOf({
    kind: "EXIT",
    enteredAtUs: T,
    visitUs: 1,
    attributes: "1",
    seq: "2",
    late: true,
    beyondWindow: true,
  });
  fields.leavesAtOnce = true;
  fields.clearOptional();
  const effects = new EffectBuffer(true);
  writeTrigger(effects, LANES, fields);
  equal(decoder.decode(effects.bytes.subarray(0, effects.byteLength)), expected({ kind: "EXIT" }) + "\n");
  deepEqual(effects.eventTimesUs, [T]);
});

Deno.test("effects: where triggers leave in order, each line's end and time are kept, and its leaving at once", () => {
  const effects = new EffectBuffer(true);
  equal(effects.empty, true);
  const fields = fieldsOf({ kind: "ENTER" });
  writeTrigger(effects, LANES, fields);
  const first = effects.byteLength;
  fields.leavesAtOnce = true;
  writeTrigger(effects, LANES, fields);
  deepEqual(effects.ends, [first, 2 * first]);
  deepEqual(effects.eventTimesUs, [T, -Infinity]);
  equal(effects.empty, false);
  effects.reset();
  deepEqual([effects.count, effects.byteLength, effects.ends, effects.eventTimesUs], [0, 0, [], []]);
  equal(effects.empty, true);
  equal(new EffectBuffer(false).ends, null);
});

Deno.test("trigger: what is no trigger of ours is not read back", () => {
  const good = JSON.parse(expected({ kind: "ENTER" }));
  const lines: readonly (string | Uint8Array)[] = [
    "",
    "{",
    "null",
    "7",
    "[]",
    "{}",
    JSON.stringify({ ...good, id: "9f" }),
    JSON.stringify({ ...good, id: good.id.toUpperCase() }),
    JSON.stringify({ ...good, id: 7 }),
    JSON.stringify({ ...good, kind: "STALE" }),
    JSON.stringify({ ...good, kind: undefined }),
    JSON.stringify({ ...good, device_id: 7 }),
    JSON.stringify({ ...good, fence_id: null }),
    JSON.stringify({ ...good, event_time: 1_780_000_000 }),
    JSON.stringify({ ...good, event_time: "2026-11-30T20:40:00Z" }),
    JSON.stringify({ ...good, event_time: "2026-13-30T20:40:00.123000Z" }),
    Uint8Array.of(0x7b, 0xff, 0x7d),
  ];
  for (const line of lines) {
    equal(parseTrigger(typeof line === "string" ? encoder.encode(line) : line), null, String(line));
  }
  equal(parseTrigger(encoder.encode(JSON.stringify({ ...good, more: 1 })))?.id, ID);
});
