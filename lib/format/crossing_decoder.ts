/**
 * Fills a transition from one crossing of a message, by the rules that our own records have: SPEC 1's order, bounds, times.
 *
 * @module
 */
import type { DeadLetterReason } from "../dead_letter.ts";
import { type DecodedTransition, ID_BYTES_MAX } from "../decoded_transition.ts";
import { ATTRIBUTES_EXPECTED, GatheredFields, ID_EXPECTED, SEQ_EXPECTED } from "../gathered_fields.ts";
import { copyCompact } from "../json_member.ts";
import { type Kind, KIND_NAMES, parseKind } from "../kind.ts";
import { clip } from "../refusal.ts";
import { seqText } from "../seq_text.ts";
import { formatTimestamp, parseRfc3339 } from "../time.ts";
import { isLikely } from "../plausibility.ts";
import { EPOCH_EXPECTED, readEpoch, RFC3339_EXPECTED } from "../time_field.ts";
import type { CrossingMapping, Meaning, TimePlace, TimeUnit } from "./mapping.ts";
import type { Found, MessageValues } from "./message_values.ts";
import type { Place } from "./place.ts";

/** What became of a crossing. */
export type CrossingOutcome = "transition" | "skipped" | DeadLetterReason;

const ZERO = 0x30;
const QUOTE = 0x22;
/** Digits of an integer that a double holds whatever they are. */
const SAFE_DIGITS = 15;
/** Digits of a second's fraction that a unit has. */
const DIGITS: Readonly<Record<Exclude<TimeUnit, "rfc3339">, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
/** Microseconds in a unit; nanoseconds are read from their digits. */
const MICROSECONDS: Readonly<Partial<Record<TimeUnit, number>>> = { s: 1_000_000, ms: 1000, us: 1 };

const KIND_NAMES_EXPECTED = KIND_NAMES.slice(0, 4).join(", ");

const encoder = new TextEncoder();

/** See the module's header. */
export class CrossingDecoder {
  /** Why the last crossing was refused: one sentence. */
  detail = "";
  readonly #result: DecodedTransition;
  readonly #values: MessageValues;
  readonly #gathered: GatheredFields;
  #missing: "null" | "nothing" = "nothing";
  /** Where the value is that was found last. */
  #place: Place | null = null;
  /** Whether the ids have a buffer of their own, since one of them does not lie in the message as it is. */
  #isGathered = false;

  /** Makes one that fills this result from these values. */
  constructor(result: DecodedTransition, values: MessageValues) {
    this.#result = result;
    this.#values = values;
    this.#gathered = new GatheredFields(result);
  }

  /** Reads the crossing that the values are of. */
  decode(mapping: CrossingMapping): CrossingOutcome {
    const result = this.#result;
    result.clear();
    this.#gathered.begin();
    const meaning = this.#readKind(mapping);
    if (typeof meaning === "string") return meaning === "skip" ? "skipped" : meaning;
    result.kind = meaning;
    return this.#readId("device_id", mapping.device, mapping.numberIds.device) ??
      this.#readId("fence_id", mapping.fence, mapping.numberIds.fence) ??
      this.#readTimes(mapping) ?? this.#readRest(mapping) ?? "transition";
  }

  #readKind({ kind, kinds, otherKinds }: CrossingMapping): Meaning | DeadLetterReason {
    const found = this.#first(kind);
    if (found === null) return this.#refuseMissing("kind", kind);
    const values = this.#values;
    if (found !== "container") {
      if (kinds === null) {
        const own = this.#ownKind();
        if (own !== null) return own;
      } else {
        for (const word of kinds) if (values.isWord(word)) return word.meaning;
      }
    }
    if (otherKinds === "skip") return "skip";
    const words = kinds === null ? KIND_NAMES_EXPECTED : kinds.map(({ text }) => text).join(", ");
    return this.#refuseValue("INVALID_KIND", "kind", `one of ${clip(words)}`);
  }

  /** A kind in our own words. HEARTBEAT is none of a crossing. */
  #ownKind(): Kind | null {
    const bytes = encoder.encode(this.#values.foundText());
    const kind = parseKind(bytes, 0, bytes.length);
    return kind === null || kind >= KIND_NAMES.length - 1 ? null : kind;
  }

  #readId(
    name: "device_id" | "fence_id",
    places: readonly Place[],
    mayBeNumber: boolean,
  ): DeadLetterReason | null {
    const found = this.#first(places);
    if (found === null) return this.#refuseMissing(name, places);
    const isId = found === "text" || found === "number" && mayBeNumber && this.#isWholeNumber();
    if (isId && (name === "device_id" ? this.#takeDevice() : this.#takeFence())) return null;
    const expected = mayBeNumber ? `${ID_EXPECTED}, or a whole number in plain digits` : ID_EXPECTED;
    return this.#refuseValue("INVALID_ID", name, expected);
  }

  /** Takes what was found as the device's id: as it lies in the message, where that can be. */
  #takeDevice(): boolean {
    const { given, start, end } = this.#values;
    this.#isGathered = given !== null;
    if (given !== null) return this.#gathered.device(given);
    this.#result.deviceStart = start;
    this.#result.deviceEnd = end;
    return isIdLength(end - start);
  }

  #takeFence(): boolean {
    const { given, bytes, start, end } = this.#values;
    const result = this.#result;
    if (!this.#isGathered && given === null) {
      result.fenceStart = start;
      result.fenceEnd = end;
      return isIdLength(end - start);
    }
    if (!this.#isGathered) this.#gatherDevice();
    return given !== null ? this.#gathered.fence(given) : this.#gathered.fenceBytes(bytes, start, end);
  }

  #gatherDevice(): void {
    const { deviceStart, deviceEnd } = this.#result;
    this.#isGathered = true;
    this.#result.deviceStart = 0;
    this.#gathered.deviceBytes(this.#values.bytes, deviceStart, deviceEnd);
  }

  #gatherIds(): void {
    const { fenceStart, fenceEnd } = this.#result;
    this.#gatherDevice();
    this.#gathered.fenceBytes(this.#values.bytes, fenceStart, fenceEnd);
  }

  /** A number is its digits, as they stand: past 2^53 another one would be made of it. */
  #isWholeNumber(): boolean {
    const { bytes, start, end } = this.#values;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if ((byte < ZERO || byte > ZERO + 9) && (at > start || end - start === 1)) return false;
    }
    return true;
  }

  #readTimes({ eventTime, ingestTime }: CrossingMapping): DeadLetterReason | null {
    const event = this.#readTime("event_time", eventTime);
    if (typeof event === "string") return event;
    if (event === null) {
      // A producer that lost its clock has to be seen.
      if (this.#missing === "null") {
        this.detail = `event_time (${shown(eventTime.map(({ at }) => at))}) must be a time, got null`;
        return "INVALID_TIME";
      }
      return this.#refuseMissing("event_time", eventTime.map(({ at }) => at));
    }
    this.#result.eventTimeUs = event;
    const ingest = this.#readTime("ingest_time", ingestTime);
    if (typeof ingest === "string") return ingest;
    if (ingest !== null) this.#result.ingestTimeUs = ingest;
    return null;
  }

  /** Reads a time, µs; null where there is none. */
  #readTime(name: string, places: readonly TimePlace[]): number | DeadLetterReason | null {
    this.#missing = "nothing";
    for (const { at, unit } of places) {
      const found = this.#values.find(at);
      this.#place = at;
      if (found === null) {
        if (this.#values.range(at) !== null) this.#missing = "null";
        continue;
      }
      const us = unit === "rfc3339" ? this.#rfc3339(found) : this.#epoch(found, unit);
      if (!Number.isNaN(us)) return us;
      const expected = unit === "rfc3339" ? RFC3339_EXPECTED : EPOCH_EXPECTED;
      const meant = unit === "rfc3339" ? expected : `${expected}, in ${unit}`;
      return this.#refuseValue("INVALID_TIME", name, meant, this.#hintOfUnit(found));
    }
    return null;
  }

  #rfc3339(found: Found): number {
    if (found !== "text") return NaN;
    const { given, bytes, start, end } = this.#values;
    if (given === null) return parseRfc3339(bytes, start, end);
    const text = encoder.encode(given);
    return parseRfc3339(text, 0, text.length);
  }

  #epoch(found: Found, unit: Exclude<TimeUnit, "rfc3339">): number {
    if (found !== "number" && found !== "text") return NaN;
    const { given, bytes, start, end } = this.#values;
    const scale = MICROSECONDS[unit];
    if (given === null && scale !== undefined && end - start <= SAFE_DIGITS && end > start) {
      let number = 0;
      for (let at = start; at < end && number >= 0; at++) {
        const digit = (bytes[at] as number) - ZERO;
        number = digit < 0 || digit > 9 ? -1 : number * 10 + digit;
      }
      // What a double does not hold exactly is read once more, by its digits.
      if (number >= 0 && number * scale <= Number.MAX_SAFE_INTEGER) return number * scale;
    }
    const text = this.#values.foundText();
    return readEpoch(DIGITS[unit], found === "text" ? text : Number(text), text)?.us ?? NaN;
  }

  /** In what other unit a refused value would be a time of today's. */
  #hintOfUnit(found: Found): string {
    const rfc3339 = this.#rfc3339(found);
    if (isLikely(rfc3339)) return " (as rfc3339 it would be one)";
    for (const unit of ["s", "ms", "us", "ns"] as const) {
      const us = this.#epoch(found, unit);
      if (isLikely(us)) return ` (in ${unit} it would be ${formatTimestamp(us)})`;
    }
    return "";
  }

  #readRest(mapping: CrossingMapping): DeadLetterReason | null {
    if (!this.#isGathered) {
      if (mapping.seq.length === 0 && mapping.attributes === null) {
        this.#result.bytes = this.#values.bytes;
        return null;
      }
      this.#gatherIds();
    }
    const refused = this.#readSeq(mapping.seq) ?? this.#readAttributes(mapping.attributes);
    if (refused !== null) this.#gathered.withoutRest();
    this.#gathered.finish();
    return refused;
  }

  #readSeq(places: readonly Place[]): DeadLetterReason | null {
    const found = this.#first(places);
    if (found === null) return null;
    if (found === "text" || found === "number") {
      const text = this.#values.foundText();
      if (this.#gathered.seq(found === "text" ? text : seqText(Number(text), text))) return null;
    }
    return this.#refuseValue("INVALID_FIELD", "seq", SEQ_EXPECTED);
  }

  #readAttributes(attributes: CrossingMapping["attributes"]): DeadLetterReason | null {
    if (attributes === null) return null;
    if ("type" in attributes) return this.#readWholeAttributes(attributes);
    const members = attributes.flatMap(([name, place]) => {
      const value = this.#jsonOf(place);
      return value === null ? [] : [encoder.encode(`${JSON.stringify(name)}:`), value];
    });
    if (members.length === 0) return null;
    const parts = members.flatMap((part, i) => i > 0 && i % 2 === 0 ? [COMMA, part] : [part]);
    if (this.#gathered.attributesOf([OPEN_BRACE, ...parts, CLOSE_BRACE])) return null;
    this.detail = `attributes must be ${ATTRIBUTES_EXPECTED}`;
    return "INVALID_FIELD";
  }

  #readWholeAttributes(place: Place): DeadLetterReason | null {
    if (this.#values.find(place) === null) return null;
    this.#place = place;
    const range = this.#values.range(place);
    const added = range === null
      ? this.#gathered.attributesOf([encoder.encode(JSON.stringify(this.#values.foundText()))])
      : this.#gathered.attributes(this.#values.bytes, range);
    return added ? null : this.#refuseValue("INVALID_FIELD", "attributes", ATTRIBUTES_EXPECTED);
  }

  /** A value as compact JSON; null where there is nothing, or null. */
  #jsonOf(place: Place): Uint8Array | null {
    const values = this.#values;
    const found = values.find(place);
    if (found === null) return null;
    const range = values.range(place);
    if (range === null) return encoder.encode(JSON.stringify(values.foundText()));
    if (found !== "container") return values.bytes.subarray(range.start, range.end);
    const compact = new Uint8Array(range.end - range.start);
    return compact.subarray(0, copyCompact(values.bytes, range, compact, 0));
  }

  /** Finds the first of the places that has something. */
  #first(places: readonly Place[]): Found | null {
    for (const place of places) {
      const found = this.#values.find(place);
      if (found === null) continue;
      this.#place = place;
      return found;
    }
    return null;
  }

  #refuseMissing(name: string, places: readonly Place[]): DeadLetterReason {
    this.detail = `${name} must be given, but there is nothing at ${shown(places)}`;
    return "MISSING_FIELD";
  }

  /** Refuses the value at {@link #place}. */
  #refuseValue(reason: DeadLetterReason, name: string, expected: string, hint = ""): DeadLetterReason {
    const values = this.#values;
    const place = this.#place as Place;
    values.find(place);
    const isQuoted = values.given !== null || values.bytes[values.start - 1] === QUOTE;
    const text = values.foundText();
    const got = clip(isQuoted ? JSON.stringify(text) : text);
    this.detail = `${name} (${place.shown}) must be ${expected}, got ${got}${hint}`;
    return reason;
  }
}

const OPEN_BRACE = encoder.encode("{");
const CLOSE_BRACE = encoder.encode("}");
const COMMA = encoder.encode(",");

function isIdLength(length: number): boolean {
  return length >= 1 && length <= ID_BYTES_MAX;
}

function shown(places: readonly Place[]): string {
  return places.map((place) => place.shown === "" ? '""' : place.shown).join(" or ");
}
