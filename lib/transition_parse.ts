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
import type { DecodedTransition } from "./decoded_transition.ts";
import { ATTRIBUTES_EXPECTED, GatheredFields, ID_EXPECTED, SEQ_EXPECTED } from "./gathered_fields.ts";
import { type ByteRange, findMember } from "./json_member.ts";
import { parseRecord } from "./record_json.ts";
import { clip } from "./refusal.ts";
import { KIND_HEARTBEAT, KIND_NAMES, parseKind } from "./kind.ts";
import { nearest } from "./nearest.ts";
import { agreeOn, type TimeReading } from "./time_agreement.ts";
import { EVENT_TIME_FIELDS, hintOfUnit, INGEST_TIME_FIELDS, readTime, type TimeField } from "./time_field.ts";
import { seqText } from "./seq_text.ts";

const NO_BYTES = new Uint8Array(0);
const decoder = new TextDecoder();

const KINDS = "ENTER, EXIT, DWELL, STALE or HEARTBEAT, or E, X or D";

/** The members of a record. `JSON.parse` makes `__proto__` a member like any other. */
type Members = Readonly<Record<string, unknown>>;

/** See the module's header. Fills the transition that it was made with. */
export class TransitionParser {
  /** Why the last record was refused: one sentence. */
  detail = "";

  readonly #result: DecodedTransition;
  readonly #gathered: GatheredFields;
  /** Holds the longest kind's name. */
  readonly #kind = new Uint8Array(16);
  #bytes: Uint8Array = NO_BYTES;
  #record: ByteRange = { start: 0, end: 0 };

  /** Makes one that fills this result. */
  constructor(result: DecodedTransition) {
    this.#result = result;
    this.#gathered = new GatheredFields(result);
  }

  /**
   * Reads one record, bytes `start` to `end`.
   *
   * @returns `"transition"`, or why it is none. With `"INVALID_FIELD"` all but seq and attributes is in the result, so
   * that the checks of time against the clocks, which come first, can be made.
   */
  parse(bytes: Uint8Array, start: number, end: number): "transition" | DeadLetterReason {
    this.#result.clear();
    this.#gathered.begin();
    this.#bytes = bytes;
    this.#record = { start, end };
    const json = parseRecord(bytes.subarray(start, end));
    if (json.reason !== null) return this.#refuse(json.reason, json.detail);
    const { value, text } = json;
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
    if (this.#result.kind === KIND_HEARTBEAT) return null;
    return this.#readId(members, "device_id") ?? this.#readId(members, "fence_id");
  }

  #readId(members: Members, key: "device_id" | "fence_id"): DeadLetterReason | null {
    const id = members[key];
    if (id === undefined || id === null) return this.#refuseMissing(key, id);
    const gathered = this.#gathered;
    if (typeof id === "string" && (key === "device_id" ? gathered.device(id) : gathered.fence(id))) {
      return null;
    }
    return this.#refuseValue("INVALID_ID", key, ID_EXPECTED);
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
    const refused = this.#readSeq(members["seq"]) ?? this.#readAttributes(members["attributes"]);
    if (refused !== null) this.#gathered.withoutRest();
    this.#gathered.finish();
    return refused;
  }

  #readSeq(seq: unknown): DeadLetterReason | null {
    if (seq === undefined || seq === null) return null;
    const text = seqText(seq, typeof seq === "number" ? this.#sourceOf("seq") : "");
    return this.#gathered.seq(text) ? null : this.#refuseValue("INVALID_FIELD", "seq", SEQ_EXPECTED);
  }

  #readAttributes(attributes: unknown): DeadLetterReason | null {
    if (attributes === undefined || attributes === null) return null;
    const value = findMember(this.#bytes, this.#record, "attributes") as ByteRange;
    if (this.#gathered.attributes(this.#bytes, value)) return null;
    return this.#refuseValue("INVALID_FIELD", "attributes", ATTRIBUTES_EXPECTED);
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
