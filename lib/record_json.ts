/**
 * The first of SPEC 1's checks, which are the same for a record and for a message: size, UTF-8, JSON.
 *
 * @module
 */
import type { DeadLetterReason } from "./dead_letter.ts";
import { RECORD_BYTES_MAX } from "./decoded_transition.ts";
import { describeJsonError, describeUtf8Error } from "./refusal.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a record's bytes are, or why they are nothing. */
export type RecordJson =
  | { readonly reason: null; readonly value: unknown; readonly text: string }
  | { readonly reason: DeadLetterReason; readonly detail: string };

/** Parses a record. Nothing throws, whatever the bytes. */
export function parseRecord(record: Uint8Array): RecordJson {
  if (record.length > RECORD_BYTES_MAX) {
    return {
      reason: "TOO_LARGE",
      detail: `The record must have at most ${RECORD_BYTES_MAX} bytes, got ${record.length}`,
    };
  }
  let text: string;
  try {
    text = decoder.decode(record);
  } catch {
    return { reason: "INVALID_UTF8", detail: describeUtf8Error(record) };
  }
  try {
    return { reason: null, value: JSON.parse(text), text };
  } catch (error) {
    return { reason: "MALFORMED_JSON", detail: describeJsonError(text, error) };
  }
}
