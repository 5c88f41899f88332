/**
 * Triggers as SPEC 4 has them: written as NDJSON lines straight from the ids' bytes, and read back from a sink's tail.
 *
 * A line is about 250 bytes. Written byte by byte it costs some 0.25 µs; objects and `JSON.stringify` cost four times
 * that, and the garbage.
 *
 * @module
 */
import { type EffectBuffer, TRIGGER_BYTES_MAX } from "./effect.ts";
import { writeLanesHex } from "./identity.ts";
import { parseJsonObject } from "./json_object.ts";
import { parseOwnTime } from "./own_time.ts";
import { TIMESTAMP_BYTES, writeTimestamp } from "./time.ts";

const encoder = new TextEncoder();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

const OPEN = encoder.encode('{"id":"');
const KINDS = {
  ENTER: encoder.encode('","kind":"ENTER","device_id":"'),
  EXIT: encoder.encode('","kind":"EXIT","device_id":"'),
  DWELL: encoder.encode('","kind":"DWELL","device_id":"'),
  RETRACT: encoder.encode('","kind":"RETRACT","device_id":"'),
} as const;
const FENCE = encoder.encode('","fence_id":"');
const EVENT_TIME = encoder.encode('","event_time":"');
const ENTERED_AT = encoder.encode('","entered_at":"');
const DWELL_S = encoder.encode('","dwell_s":');
const VISIT_S = encoder.encode('","visit_s":');
const ATTRIBUTES = encoder.encode(',"attributes":');
const SEQ = encoder.encode(',"seq":"');
const LATE = encoder.encode(',"late":true');
const BEYOND_WINDOW = encoder.encode(',"beyond_window":true');
const REVISES = encoder.encode('","revises":"');

/** Escapes of JSON for the bytes below 0x20, the quote and the backslash. */
const ESCAPES: readonly (Uint8Array | undefined)[] = Array.from({ length: 0x5d }, (_, byte) => {
  if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) return undefined;
  return encoder.encode(JSON.stringify(String.fromCharCode(byte)).slice(1, -1));
});

/** What one trigger says. One object is used for all of them. */
export class TriggerFields {
  /** What it tells of. */
  kind: "ENTER" | "EXIT" | "DWELL" | "RETRACT" = "ENTER";
  /** What the ranges below point into. */
  bytes: Uint8Array = new Uint8Array(0);
  /** Where the device's id begins. */
  deviceStart = 0;
  /** Where it ends. */
  deviceEnd = 0;
  /** Where the fence's id begins. */
  fenceStart = 0;
  /** Where it ends. */
  fenceEnd = 0;
  /** Event time, µs. */
  eventTimeUs = 0;
  /** When the visit began; NaN for a trigger that does not say. */
  enteredAtUs: number = NaN;
  /** The threshold in µs, of a DWELL of our own; NaN otherwise. */
  dwellUs: number = NaN;
  /** How long the visit lasted in µs; NaN for a trigger that does not say. */
  visitUs: number = NaN;
  /** The buffer of seq and attributes; it may be another one than that of the ids. */
  extraBytes: Uint8Array = this.bytes;
  /** Where the attributes begin; at their end where there are none. */
  attributesStart = 0;
  /** Where they end. */
  attributesEnd = 0;
  /** Where the seq begins; at its end where there is none. */
  seqStart = 0;
  /** Where it ends. */
  seqEnd = 0;
  /** Whether it came at or behind the watermark. */
  late = false;
  /** Whether the window could no longer vouch that it is new. */
  beyondWindow = false;
  /** It is not put in event-time order, even where others are. */
  leavesAtOnce = false;

  /** Back to a trigger that has only ids, kind and event time. */
  clearOptional(): void {
    this.enteredAtUs = NaN;
    this.dwellUs = NaN;
    this.visitUs = NaN;
    this.attributesStart = this.attributesEnd = 0;
    this.seqStart = this.seqEnd = 0;
    this.late = false;
    this.beyondWindow = false;
    this.leavesAtOnce = false;
  }
}

/** Appends a trigger's line; `lanes` holds its id, and behind that, for a RETRACT, the id that it revises. */
export function writeTrigger(effects: EffectBuffer, lanes: Int32Array, fields: TriggerFields): void {
  effects.reserve(TRIGGER_BYTES_MAX);
  const target = effects.bytes;
  let at = copy(target, effects.byteLength, OPEN);
  at = writeLanesHex(target, at, lanes, 0);
  at = copy(target, at, KINDS[fields.kind]);
  at = writeText(target, at, fields.bytes, fields.deviceStart, fields.deviceEnd);
  at = copy(target, at, FENCE);
  at = writeText(target, at, fields.bytes, fields.fenceStart, fields.fenceEnd);
  at = copy(target, at, EVENT_TIME);
  at = writeTimestamp(target, at, fields.eventTimeUs);
  if (fields.kind === "RETRACT") {
    at = copy(target, at, REVISES);
    at = writeLanesHex(target, at, lanes, 4);
    target[at++] = QUOTE;
  } else {
    at = writeOptional(target, at, fields);
  }
  target[at++] = 0x7d;
  target[at++] = 0x0a;
  effects.commitLine(at, fields.leavesAtOnce ? -Infinity : fields.eventTimeUs);
}

function writeOptional(target: Uint8Array, at: number, fields: TriggerFields): number {
  if (fields.enteredAtUs === fields.enteredAtUs) {
    at = copy(target, at, ENTERED_AT);
    at = writeTimestamp(target, at, fields.enteredAtUs);
    if (fields.dwellUs === fields.dwellUs) {
      at = writeSeconds(target, copy(target, at, DWELL_S), fields.dwellUs);
    } else if (fields.visitUs === fields.visitUs) {
      at = writeSeconds(target, copy(target, at, VISIT_S), fields.visitUs);
    } else target[at++] = QUOTE;
  } else {
    target[at++] = QUOTE;
  }
  if (fields.attributesEnd > fields.attributesStart) {
    at = copy(target, at, ATTRIBUTES);
    for (let i = fields.attributesStart; i < fields.attributesEnd; i++) {
      target[at++] = fields.extraBytes[i] as number;
    }
  }
  if (fields.seqEnd > fields.seqStart) {
    at = copy(target, at, SEQ);
    at = writeText(target, at, fields.extraBytes, fields.seqStart, fields.seqEnd);
    target[at++] = QUOTE;
  }
  if (fields.late) at = copy(target, at, LATE);
  if (fields.beyondWindow) at = copy(target, at, BEYOND_WINDOW);
  return at;
}

/** Writes UTF-8 text as the inside of a JSON string. */
function writeText(target: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte > BACKSLASH || (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH)) target[at++] = byte;
    else at = copy(target, at, ESCAPES[byte] as Uint8Array);
  }
  return at;
}

/** Writes µs as a JSON number of seconds; the nearest double prints all six decimals exactly. */
function writeSeconds(target: Uint8Array, at: number, us: number): number {
  const text = String(us / 1e6);
  for (let i = 0; i < text.length; i++) target[at++] = text.charCodeAt(i);
  return at;
}

function copy(target: Uint8Array, at: number, source: Uint8Array): number {
  for (let i = 0; i < source.length; i++) target[at++] = source[i] as number;
  return at;
}

/** A trigger that was read back from a sink. */
export interface ToldTrigger {
  /** The id, 32 hex digits. */
  readonly id: string;
  /** One of the `CODE_…` constants of identity.ts, as a character. */
  readonly code: "E" | "X" | "D" | "P" | "R";
  /** The device's id. */
  readonly device: string;
  /** The fence's id. */
  readonly fence: string;
  /** Event time, µs. */
  readonly eventTimeUs: number;
  /** The seq as text; null where there is none. */
  readonly seq: string | null;
  /** When the visit began, of a DWELL of our own; else null. */
  readonly enteredAtUs: number | null;
  /** Whether it says that it was late. */
  readonly late: boolean;
}

/** Reads a line of an NDJSON sink back; null where it is no trigger of ours. */
export function parseTrigger(line: Uint8Array): ToldTrigger | null {
  const trigger = parseJsonObject(line);
  if (trigger === null) return null;
  const { id, kind, device_id, fence_id, event_time, entered_at, dwell_s, seq, late } = trigger;
  if (typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id)) return null;
  if (typeof device_id !== "string" || typeof fence_id !== "string") return null;
  const eventTimeUs = timeOf(event_time);
  const code = codeOf(kind, dwell_s);
  if (code === null || Number.isNaN(eventTimeUs)) return null;
  return {
    id,
    code,
    device: device_id,
    fence: fence_id,
    eventTimeUs,
    seq: typeof seq === "string" ? seq : null,
    enteredAtUs: code === "D" ? timeOf(entered_at) : null,
    late: late === true,
  };
}

/** A time as we write it, in µs; NaN where it is none. */
function timeOf(value: unknown): number {
  if (typeof value !== "string" || value.length !== TIMESTAMP_BYTES) return NaN;
  const us = parseOwnTime(value);
  // No transition is older; and of those that are not, no two are further apart than a duration is long.
  return us >= 0 ? us : NaN;
}

function codeOf(kind: unknown, dwellSeconds: unknown): ToldTrigger["code"] | null {
  switch (kind) {
    case "ENTER":
      return "E";
    case "EXIT":
      return "X";
    case "DWELL":
      return dwellSeconds === undefined ? "P" : "D";
    case "RETRACT":
      return "R";
    default:
      return null;
  }
}
