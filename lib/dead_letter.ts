/**
 * Records that could not be taken: SPEC 1's closed list of reasons, and their line in the dead letters.
 *
 * @module
 */
import type { Json } from "./json.ts";

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
  readonly reason: DeadLetterReason;
  /** One sentence for a person: which field, what was wrong, the value. */
  readonly detail: string;
  /** The source's name: a file's path, `-`, a topic. */
  readonly source: string;
  /** `{"offset","line"}` of a file, `{"partition","offset"}` of Kafka. */
  readonly position: Json;
  /** The record's bytes as they came; of one that is too large the first 64 KiB. */
  readonly record: Uint8Array;
  /** Of a record that is too large, the length and XXH64 of the whole. */
  readonly oversize?: { readonly byteLength: number; readonly hash: string };
}
