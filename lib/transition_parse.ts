/**
 * The whole of SPEC 1's rules for a record, in their order, on top of `JSON.parse`: the decoder's other path, for what
 * the fast one does not understand, and the one that says what is wrong.
 *
 * ```
 *   size → UTF-8 → JSON → an object → kind → device → fence → times → seq, attributes
 * ```
 *
 * About 2 µs a record. Ids, seq and attributes go into one buffer made for the record, since what waits in a mailbox
 * points into it long after this one has gone on.
 *
 * @module
 */
import { writeAscii } from "./ascii.ts";
import type { DeadLetterReason } from "./dead_letter.ts";
import {
  ATTRIBUTES_BYTES_MAX,
  type DecodedTransition,
  ID_BYTES_MAX,
  RECORD_BYTES_MAX,
  SEQ_BYTES_MAX,
} from "./decoded_transition.ts";
import { type ByteRange, copyCompact, findMember } from "./json_member.ts";
import { clip, describeJsonError, describeUtf8Error } from "./refusal.ts";
import { KIND_HEARTBEAT, KIND_NAMES, parseKind } from "./kind.ts";
import { nearest } from "./nearest.ts";
import { agreeOn, type TimeReading } from "./time_agreement.ts";
import { EVENT_TIME_FIELDS, hintOfUnit, INGEST_TIME_FIELDS, readTime, type TimeField } from "./time_field.ts";
import { isWholeNumber } from "./whole_number.ts";

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decoder = new TextDecoder();

const KINDS = "ENTER, EXIT, DWELL, STALE or HEARTBEAT, or E, X or D";

/** The members of a record. `JSON.parse` makes `__proto__` a member like any other. */
type Members = Readonly<Record<string, unknown>>;

/** See the module's header. Fills the transition that it was made with. */
export class TransitionParser {
  /** Why the last record was refused: one sentence. */
  detail = "";

  readonly #result: DecodedTransition;
  /** Where the record's bytes are gathered before they get a buffer of their own. */
  readonly #gathered = new Uint8Array(2 * ID_BYTES_MAX + SEQ_BYTES_MAX + ATTRIBUTES_BYTES_MAX);
  #gatheredBytes = 0;
  /** Holds the longest kind's name. */
  readonly #kind = new Uint8Array(16);
  #bytes: Uint8Array = this.#gathered;
  #record: ByteRange = { start: 0, end: 0 };

  /** Makes one that fills this result. */
  constructor(result: DecodedTransition) {
    this.#result = result;
  }

  /**
   * Reads one record, bytes `start` to `end`.
   *
   * @returns `"transition"`, or why it is none. With `"INVALID_FIELD"` all but seq and attributes is in the result, so
   * that the checks of time against the clocks, which come first, can be made.
   */
  parse(bytes: Uint8Array, start: number, end: number): "transition" | DeadLetterReason {
    this.#result.clear();
    this.#gatheredBytes = 0;
    this.#bytes = bytes;
    this.#record = { start, end };
    const byteLength = end - start;
    if (byteLength > RECORD_BYTES_MAX) {
      return this.#refuse(
        "TOO_LARGE",
        `The record must have at most ${RECORD_BYTES_MAX} bytes, got ${byteLength}`,
      );
    }
    const record = bytes.subarray(start, end);
    let text: string;
    try {
      text = strictDecoder.decode(record);
    } catch {
      return this.#refuse("INVALID_UTF8", describeUtf8Error(record));
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return this.#refuse("MALFORMED_JSON", describeJsonError(text, error));
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return this.#refuse("NOT_AN_OBJECT", `The record must be a JSON object, got ${clip(text.trim())}`);
    }
    const members = value as Members;
    return this.#readKind(members) ?? this.#readIds(members) ?? this.#readTimes(members) ??
      this.#readRest(members) ?? "transition";
  }

  #readKind(members: Members): DeadLetterReason | null {
    const kind = members["kind"];
    if (kind === undefined || kind === null) return this.#refuseMissing("kind", kind);
    if (typeof kind === "string") {
      const end = writeAscii(this.#kind, 0, kind);
      const parsed = end < 0 ? null : parseKind(this.#kind, 0, end);
      if (parsed !== null) {
        this.#result.kind = parsed;
        return null;
      }
    }
    const meant = typeof kind === "string" && kind.length <= this.#kind.length
      ? nearest(kind.toUpperCase(), KIND_NAMES)
      : null;
    const hint = meant === null ? "" : ` (did you mean ${meant}?)`;
    return this.#refuseValue("INVALID_KIND", "kind", KINDS, hint);
  }

  #readIds(members: Members): DeadLetterReason | null {
    const result = this.#result;
    if (result.kind === KIND_HEARTBEAT) return null;
    const refused = this.#gatherId(members, "device_id");
    if (refused !== null) return refused;
    result.deviceEnd = result.fenceStart = this.#gatheredBytes;
    const refusedToo = this.#gatherId(members, "fence_id");
    result.fenceEnd = this.#gatheredBytes;
    return refusedToo;
  }

  #gatherId(members: Members, key: string): DeadLetterReason | null {
    const id = members[key];
    if (id === undefined || id === null) return this.#refuseMissing(key, id);
    if (typeof id === "string" && this.#gather(id, ID_BYTES_MAX)) return null;
    const expected = `a string of 1 to ${ID_BYTES_MAX} bytes without lone surrogates`;
    return this.#refuseValue("INVALID_ID", key, expected);
  }

  #readTimes(members: Members): DeadLetterReason | null {
    const event = this.#readTime(members, EVENT_TIME_FIELDS);
    if (typeof event === "string") return event;
    if (event === null) {
      const keys = EVENT_TIME_FIELDS.map((field) => field.key);
      return this.#refuse("MISSING_FIELD", `One of ${keys.join(", ")} must be given`);
    }
    this.#result.eventTimeUs = event.us;
    const ingest = this.#readTime(members, INGEST_TIME_FIELDS);
    if (typeof ingest === "string") return ingest;
    if (ingest !== null) this.#result.ingestTimeUs = ingest.us;
    return null;
  }

  /** Reads the fields of one time; null where there is none of them. */
  #readTime(members: Members, fields: readonly TimeField[]): TimeReading | DeadLetterReason | null {
    let finest: TimeReading | null = null;
    for (const field of fields) {
      const value = members[field.key];
      if (value === undefined || (value === null && field.nullIsAbsent)) continue;
      const reading = readTime(field, value, typeof value === "number" ? this.#sourceOf(field.key) : "");
      if (reading === null) {
        const hint = hintOfUnit(fields, value, this.#sourceOf(field.key));
        return this.#refuseValue("INVALID_TIME", field.key, field.expected, hint);
      }
      const agreed: TimeReading | null = finest === null ? reading : agreeOn(finest, reading);
      if (agreed === null) {
        return this.#refuseValue("INVALID_TIME", field.key, "the same time as the fields before it");
      }
      finest = agreed;
    }
    return finest;
  }

  /** Reads seq and attributes, and gives what was gathered a buffer of its own. */
  #readRest(members: Members): DeadLetterReason | null {
    const result = this.#result;
    const before = this.#gatheredBytes;
    const refused = this.#readSeq(members["seq"]) ?? this.#readAttributes(members["attributes"]);
    if (refused !== null) {
      result.seqStart =
        result.seqEnd =
        result.attributesStart =
        result.attributesEnd =
          0;
      this.#gatheredBytes = before;
    }
    result.bytes = this.#gathered.slice(0, this.#gatheredBytes);
    return refused;
  }

  #readSeq(seq: unknown): DeadLetterReason | null {
    if (seq === undefined || seq === null) return null;
    const isInteger = typeof seq === "number" && Number.isSafeInteger(seq) && seq >= 0 &&
      isWholeNumber(this.#sourceOf("seq"));
    const text = isInteger ? String(seq) : typeof seq === "string" ? seq : "";
    this.#result.seqStart = this.#gatheredBytes;
    if (!this.#gather(text, SEQ_BYTES_MAX)) {
      const expected = `an integer from 0 to 2^53 − 1 or a string of 1 to ${SEQ_BYTES_MAX} bytes`;
      return this.#refuseValue("INVALID_FIELD", "seq", expected);
    }
    this.#result.seqEnd = this.#gatheredBytes;
    return null;
  }

  #readAttributes(attributes: unknown): DeadLetterReason | null {
    if (attributes === undefined || attributes === null) return null;
    const value = findMember(this.#bytes, this.#record, "attributes") as ByteRange;
    const start = this.#gatheredBytes;
    const room = this.#gathered.subarray(0, start + ATTRIBUTES_BYTES_MAX);
    const end = copyCompact(this.#bytes, value, room, start);
    if (end < 0) {
      const expected = `at most ${ATTRIBUTES_BYTES_MAX} bytes without whitespace`;
      return this.#refuseValue("INVALID_FIELD", "attributes", expected);
    }
    this.#result.attributesStart = start;
    this.#result.attributesEnd = this.#gatheredBytes = end;
    return null;
  }

  /** Adds a text's UTF-8 to what was gathered; false where it is empty, too long or not well-formed. */
  #gather(text: string, bytesMax: number): boolean {
    if (text.length === 0 || text.length > bytesMax) return false;
    const start = this.#gatheredBytes;
    const asciiEnd = writeAscii(this.#gathered, start, text);
    if (asciiEnd >= 0) {
      this.#gatheredBytes = asciiEnd;
      return true;
    }
    if (!text.isWellFormed()) return false;
    const { read, written } = encoder.encodeInto(text, this.#gathered.subarray(start, start + bytesMax));
    if (read < text.length) return false;
    this.#gatheredBytes = start + written;
    return true;
  }

  /** A member's value as the record has it; empty where there is none. */
  #sourceOf(key: string): string {
    const value = findMember(this.#bytes, this.#record, key);
    return value === null ? "" : decoder.decode(this.#bytes.subarray(value.start, value.end));
  }

  #refuseMissing(key: string, value: unknown): DeadLetterReason {
    return this.#refuse(
      "MISSING_FIELD",
      `${key} must be given, ${value === null ? "got null" : "but is missing"}`,
    );
  }

  #refuseValue(reason: DeadLetterReason, key: string, expected: string, hint = ""): DeadLetterReason {
    return this.#refuse(reason, `${key} must be ${expected}, got ${clip(this.#sourceOf(key))}${hint}`);
  }

  #refuse(reason: DeadLetterReason, detail: string): DeadLetterReason {
    this.detail = detail;
    return reason;
  }
}
