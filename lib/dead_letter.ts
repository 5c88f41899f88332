/**
 * Records that could not be taken: SPEC 1's closed list of reasons, and their line in the dead letters.
 *
 * @module
 */
import type { Json } from "./json.ts";
import { parseJsonObject } from "./json_object.ts";
import { formatTimestamp } from "./time.ts";

/** Every reason there is. The order is the one in which they are documented and summed up. */
export const DEAD_LETTER_REASONS = [
  "MALFORMED_JSON",
  "INVALID_UTF8",
  "NOT_AN_OBJECT",
  "TOO_LARGE",
  "MISSING_FIELD",
  "INVALID_ID",
  "INVALID_KIND",
  "INVALID_TIME",
  "TIME_TOO_OLD",
  "TIME_IN_FUTURE",
  "INVALID_FIELD",
  "LATE",
  "SINK_REJECTED",
] as const;

/** Why a record went to the dead letters. */
export type DeadLetterReason = typeof DEAD_LETTER_REASONS[number];

/** A record on its way to the dead letters. */
export interface DeadLetter {
  /** Why it is one. */
  readonly reason: DeadLetterReason;
  /** One sentence for a person: which field, what was wrong, the value. */
  readonly detail: string;
  /** The source's name: a file's path, `-`, a topic. */
  readonly source: string;
  /** `{"offset","line"}` of a file, `{"partition","offset"}` of Kafka; null of a trigger that the sink has refused. */
  readonly position: Json;
  /**
   * The record's bytes as they came; of one that is too large the first 64 KiB. With `SINK_REJECTED`, the trigger's: many
   * records may have had a part in it, and it is what was to be told.
   */
  readonly record: Uint8Array;
  /** Of a record that is too large, the length and XXH64 of the whole. */
  readonly oversize?: { readonly byteLength: number; readonly hash: string };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes that are made into text at once: more arguments than this overflow a call's stack. */
const CHUNK_BYTES = 8192;

/**
 * Writes a dead letter as an NDJSON line, its `\n` included.
 *
 * `record` is the record's text, so that a person can read it and a tool can send it again once it is mended; where it
 * is not UTF-8, `record_base64` has its bytes. The first 64 KiB of a record that is too large can end inside a character:
 * what is left of that is not written.
 *
 * @param atUs when it became a dead letter, µs since the epoch
 */
export function encodeDeadLetter(letter: DeadLetter, atUs: number): Uint8Array {
  const { reason, detail, source, position, oversize } = letter;
  const head = { reason, detail, source, position, at: formatTimestamp(atUs) };
  const rest = oversize === undefined ? {} : { byte_length: oversize.byteLength, xxh64: oversize.hash };
  const record = oversize === undefined ? letter.record : withoutTornCharacter(letter.record);
  return encoder.encode(`${JSON.stringify({ ...head, ...recordMember(record), ...rest })}\n`);
}

function recordMember(record: Uint8Array): { record: string } | { record_base64: string } {
  try {
    return { record: decoder.decode(record) };
  } catch {
    return { record_base64: toBase64(record) };
  }
}

/** Without the beginning of a character at the end, of which there are three bytes at most. */
function withoutTornCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return bytes;
    if (byte < 0xc0) continue;
    const characterBytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return characterBytes > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** `Uint8Array.prototype.toBase64` would do, but is too new for Deno 2.4. */
function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  }
  return btoa(text);
}

/** What a dead letter says of its record: enough to know it again. */
export type KnownDeadLetter =
  /** Where the record was: the source's name, and as {@link DeadLetter.position}. */
  | {
    readonly reason: Exclude<DeadLetterReason, "SINK_REJECTED">;
    readonly source: string;
    readonly position: Json;
  }
  /** The trigger's bytes. */
  | { readonly reason: "SINK_REJECTED"; readonly trigger: Uint8Array };

/**
 * Reads back what a dead letter is of.
 *
 * @param line as {@link encodeDeadLetter} wrote it, with or without its `\n`
 * @returns null where it is no dead letter of ours
 */
export function decodeKnownDeadLetter(line: Uint8Array): KnownDeadLetter | null {
  const letter = parseJsonObject(line);
  const known = DEAD_LETTER_REASONS.find((name) => name === letter?.["reason"]);
  if (letter === null || known === undefined) return null;
  const { source, position, record } = letter;
  if (known === "SINK_REJECTED") {
    return typeof record === "string" ? { reason: known, trigger: encoder.encode(record) } : null;
  }
  if (typeof source !== "string" || position === undefined) return null;
  return { reason: known, source, position: position as Json };
}
