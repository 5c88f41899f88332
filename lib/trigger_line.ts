/**
 * Finds in a trigger's line what a transport puts beside it: the id, the device, the fence, the kind and the event time.
 *
 * ```
 *   {"id":"<32 hex>","kind":"DWELL","device_id":"<text>","fence_id":"<text>","event_time":"<27 bytes>"…
 * ```
 *
 * trigger.ts writes the members in this order and nothing between them, so looking at the bytes is enough: some 0.15 µs
 * a line, where `JSON.parse` costs ten times that. Only an id with an escape in it is read as JSON. A line that is not
 * laid out so is not read in another way: it is none of ours. Nothing throws, since what is read back may be anybody's;
 * and what is behind the event time is not looked at, which is for whole_trigger.ts.
 *
 * @module
 */
import { TIMESTAMP_BYTES } from "./time.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const ID_DIGITS = 32;
const OPEN = encoder.encode('{"id":"');
const KIND = encoder.encode('","kind":"');
const DEVICE = encoder.encode('","device_id":"');
const FENCE = encoder.encode('","fence_id":"');
const EVENT_TIME = encoder.encode('","event_time":"');

const KINDS = (["ENTER", "EXIT", "DWELL", "RETRACT"] as const).map((name) => ({
  name,
  bytes: encoder.encode(name),
}));

/** One line, looked at. One object is used for all of them: what it says holds until the next {@link read}. */
export class TriggerLine {
  /** What it tells of. */
  kind: "ENTER" | "EXIT" | "DWELL" | "RETRACT" = "ENTER";
  /** The id's 32 hex digits, as bytes of the line. */
  id: Uint8Array = new Uint8Array(0);
  /** The device's id in UTF-8, without escapes; bytes of the line where it has none. */
  device: Uint8Array = new Uint8Array(0);
  /** The event time as RFC 3339, as bytes of the line. */
  eventTime: Uint8Array = new Uint8Array(0);
  /** The fence's id, as {@link device}. */
  fence: Uint8Array = new Uint8Array(0);

  /** Looks at the line `bytes[start .. end)`, with or without its `\n`; false where it is no trigger of ours. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    const idStart = after(bytes, start, OPEN);
    if (idStart < 0) return false;
    const idEnd = idStart + ID_DIGITS;
    const kindStart = after(bytes, idEnd, KIND);
    if (kindStart < 0) return false;
    const kind = KINDS.find((known) => after(bytes, kindStart, known.bytes) > 0);
    if (kind === undefined) return false;
    const deviceStart = after(bytes, kindStart + kind.bytes.length, DEVICE);
    if (deviceStart < 0) return false;
    const deviceEnd = endOfText(bytes, deviceStart, end);
    const fenceStart = after(bytes, deviceEnd, FENCE);
    if (fenceStart < 0) return false;
    const fenceEnd = endOfText(bytes, fenceStart, end);
    const timeStart = after(bytes, fenceEnd, EVENT_TIME);
    const timeEnd = timeStart + TIMESTAMP_BYTES;
    if (timeStart < 0 || timeEnd >= end || bytes[timeEnd] !== QUOTE) return false;
    const device = plainText(bytes.subarray(deviceStart, deviceEnd));
    const fence = plainText(bytes.subarray(fenceStart, fenceEnd));
    if (device === null || fence === null) return false;
    this.kind = kind.name;
    this.id = bytes.subarray(idStart, idEnd);
    this.device = device;
    this.fence = fence;
    this.eventTime = bytes.subarray(timeStart, timeEnd);
    return true;
  }
}

/** Where what is expected at a place ends; −1 where something else is there. */
function after(bytes: Uint8Array, at: number, expected: Uint8Array): number {
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return -1;
  return at + expected.length;
}

/** Where the inside of a JSON string that begins at a place ends. */
function endOfText(bytes: Uint8Array, at: number, end: number): number {
  while (at < end && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The text of a JSON string's inside; null where it can't be one. */
function plainText(inside: Uint8Array): Uint8Array | null {
  if (inside.indexOf(BACKSLASH) < 0) return inside;
  try {
    return encoder.encode(JSON.parse(`"${decoder.decode(inside)}"`) as string);
  } catch {
    return null;
  }
}
