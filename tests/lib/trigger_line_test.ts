import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { parseTrigger } from "../../lib/trigger.ts";
import { TriggerLine } from "../../lib/trigger_line.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const ID = "0123456789abcdef0123456789abcdef";
const TIME = "2026-11-30T20:40:00.123000Z";

function lineOf(fields: Record<string, unknown>): string {
  return JSON.stringify({
    id: ID,
    kind: "ENTER",
    device_id: "truck-7",
    fence_id: "depot-3",
    event_time: TIME,
    ...fields,
  });
}

/** Reads a line that stands between others. */
function read(text: string): { id: string; kind: string; device: string; eventTime: string } | null {
  const before = `${lineOf({ id: "f".repeat(32), device_id: "other" })}\n`;
  const bytes = encoder.encode(before + text + "\n" + before);
  const start = encoder.encode(before).length;
  const line = new TriggerLine();
  if (!line.read(bytes, start, start + encoder.encode(text).length)) return null;
  const { id, device, eventTime } = line;
  return {
    kind: line.kind,
    id: decoder.decode(id),
    device: decoder.decode(device),
    eventTime: decoder.decode(eventTime),
  };
}

Deno.test("TriggerLine: says what stands in a line of each kind", () => {
  for (
    const fields of [
      { kind: "ENTER" },
      { kind: "EXIT", visit_s: 3, attributes: { device_id: "no" } },
      { kind: "DWELL", entered_at: "2026-11-30T20:30:00.123000Z", dwell_s: 600 },
      { kind: "RETRACT", revises: ID },
      { seq: "7", late: true },
    ]
  ) {
    const expected = { kind: "ENTER", ...fields }.kind;
    deepStrictEqual(read(lineOf(fields)), { id: ID, kind: expected, device: "truck-7", eventTime: TIME });
  }
});

Deno.test("TriggerLine: the device's id is its text, whatever is in it", () => {
  for (
    const device of [
      "a",
      "ü€😀",
      "\u0000\u0000\u0000\u0000",
      '"',
      "\\",
      '\\"',
      '","fence_id":"',
      "x\\\\",
      "\n\t\u001f",
      "é".repeat(128),
    ]
  ) {
    strictEqual(read(lineOf({ device_id: device }))?.device, device, JSON.stringify(device));
    // And the fence's is passed over.
    strictEqual(read(lineOf({ fence_id: device }))?.eventTime, TIME, JSON.stringify(device));
  }
});

Deno.test("TriggerLine: what is laid out otherwise is none of ours", () => {
  const whole = lineOf({});
  for (
    const text of [
      "",
      "{}",
      whole.replace("{", "{ "),
      whole.replace(ID, ID.slice(1)),
      whole.replace("ENTER", "ENTERS"),
      whole.replace("ENTER", "enter"),
      whole.replace('"device_id"', '"device"'),
      whole.replace(TIME, TIME.replace(".123000", "")),
      lineOf({ event_time: 7 }),
    ]
  ) strictEqual(read(text), null, text);
  // Cut anywhere before the event time's end, it is refused and not read into the next line.
  const needed = whole.indexOf(TIME) + TIME.length;
  for (let length = 0; length <= needed; length++) {
    strictEqual(read(whole.slice(0, length)), null, `${length} bytes`);
  }
});

Deno.test("TriggerLine: agrees with parseTrigger over random ids", () => {
  const alphabet = ['"', "\\", ",", ":", "{", "a", "Z", "\n", "\u0001", "ß", "漢", "😀", "/", "u0022"];
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomFrom(seed);
    const text = (): string =>
      Array.from(
        { length: 1 + Math.floor(random() * 12) },
        () => alphabet[Math.floor(random() * alphabet.length)] as string,
      ).join("");
    const line = lineOf({ device_id: text(), fence_id: text(), attributes: { x: text() } });
    const told = parseTrigger(encoder.encode(line));
    deepStrictEqual(read(line)?.device, told?.device, `seed ${seed}`);
    deepStrictEqual(read(line)?.id, told?.id, `seed ${seed}`);
  }
});

Deno.test("TriggerLine: the fence's id without its escapes", () => {
  const line = new TriggerLine();
  for (const fence of ["depot", 'a"b\\c\n', "\0", "é😀"]) {
    const text = JSON.stringify({
      id: "0".repeat(32),
      kind: "ENTER",
      device_id: "d",
      fence_id: fence,
      event_time: "2026-03-01T00:00:00.000000Z",
    });
    const bytes = new TextEncoder().encode(`${text}\n`);
    strictEqual(line.read(bytes, 0, bytes.length), true);
    strictEqual(new TextDecoder().decode(line.fence), fence);
  }
});
