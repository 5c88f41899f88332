/**
 * Reads a dead letter back from its line in the dead letters, record and all.
 *
 * Stricter than what a state needs after a crash ({@link decodeKnownDeadLetter}), since a record that is sent again
 * must be the one that came, to the byte: a line that leaves any doubt of that is damaged, and says why. People mend
 * records in copies of these files by hand, so the reasons are written for them.
 *
 * @module
 */
import { decodeBase64 } from "./base64.ts";
import { DEAD_LETTER_REASONS, type DeadLetter } from "./dead_letter.ts";
import type { Json } from "./json.ts";
import { parseJsonObject } from "./json_object.ts";
import { clipJson } from "./refusal.ts";
import { parseOwnTime } from "./own_time.ts";

/** A dead letter that was kept, and since when. */
export interface StoredDeadLetter extends DeadLetter {
  /** When it became one, µs since the epoch. */
  readonly atUs: number;
}

/** A line that is no dead letter. */
export interface DamagedDeadLetter {
  /** Why it is none, as it goes on behind "the line". */
  readonly damage: string;
}

const encoder = new TextEncoder();

/**
 * Reads a line that `encodeDeadLetter` has written.
 *
 * @param line with or without its `\n`
 */
export function decodeDeadLetter(line: Uint8Array): StoredDeadLetter | DamagedDeadLetter {
  const members = parseJsonObject(line);
  if (members === null || Array.isArray(members)) return damaged("is no JSON object");
  const { reason: name, detail, source, position, at } = members;
  const reason = DEAD_LETTER_REASONS.find((known) => known === name);
  if (reason === undefined) return damaged(`has no known reason, got ${show(name)}`);
  if (typeof detail !== "string") return damaged(`has no detail, got ${show(detail)}`);
  if (typeof source !== "string") return damaged(`has no source, got ${show(source)}`);
  if (position === undefined) return damaged("has no position");
  if (!isFlat(position)) return damaged(`has a position that is none, got ${show(position)}`);
  const atUs = timeOf(at);
  if (Number.isNaN(atUs)) return damaged(`must say at which time it was written, got ${show(at)}`);
  const record = recordOf(members);
  if (!(record instanceof Uint8Array)) return record;
  const letter = { reason, detail, source, position: position as Json, atUs, record };
  const { byte_length: byteLength, xxh64: hash } = members;
  if (byteLength === undefined) return letter;
  // JSON's 1e400 is Infinity here, and could not be written again.
  if (typeof byteLength !== "number" || !Number.isSafeInteger(byteLength) || byteLength < 0) {
    return damaged(`has a byte_length that is no number, got ${show(byteLength)}`);
  }
  return { ...letter, oversize: { byteLength, hash: typeof hash === "string" ? hash : "" } };
}

function recordOf(members: Readonly<Record<string, unknown>>): Uint8Array | DamagedDeadLetter {
  const { record, record_base64: base64 } = members;
  if (record !== undefined && base64 !== undefined) {
    return damaged("has both record and record_base64");
  }
  if (typeof record === "string") {
    // Half of a surrogate pair has no bytes: it would become another character on its way out.
    return record.isWellFormed() ? encoder.encode(record) : damaged("has a lone surrogate in its record");
  }
  if (typeof base64 !== "string") return damaged("has neither record nor record_base64 as a string");
  return decodeBase64(base64) ?? damaged("has a record_base64 that is no base64");
}

function timeOf(value: unknown): number {
  return typeof value === "string" ? parseOwnTime(value) : NaN;
}

/** Of all positions there are, none has an object inside; one that is nested deep enough could not be shown. */
function isFlat(position: unknown): boolean {
  if (typeof position !== "object" || position === null) return true;
  return Object.values(position).every((part) => typeof part !== "object" || part === null);
}

function damaged(damage: string): DamagedDeadLetter {
  return { damage };
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : clipJson(value);
}
