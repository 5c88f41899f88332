/**
 * Decodes messages of a format: one gives any number of transitions, or none.
 *
 * ```
 *   open(message) ─▶ next() ─▶ "transition"      in this object, as with our own records
 *                    next() ─▶ "INVALID_TIME"    this crossing is a dead letter; the others are taken
 *                    next() ─▶ "skipped"         no transition: counted, and nothing more
 *                    next() ─▶ null              that was all
 * ```
 *
 * Bytes are checked to be JSON and then walked over twice at most; nothing is built of them. A message is taken crossing by
 * crossing and can be left in between, so that one with a thousand of them needs no more room than one with one.
 *
 * Each crossing has a number, {@link MessageDecoder.part}, that is the same each time its message is read.
 *
 * @module
 */
import type { DeadLetterReason } from "../dead_letter.ts";
import { DecodedTransition, RECORD_BYTES_MAX } from "../decoded_transition.ts";
import { skipSpace } from "../plain_json.ts";
import { parseRecord } from "../record_json.ts";
import { clip } from "../refusal.ts";
import { TransitionParser } from "../transition_parse.ts";
import { TransitionScanner } from "../transition_scan.ts";
import { CrossingDecoder, type CrossingOutcome } from "./crossing_decoder.ts";
import type { CrossingMapping, Mapping } from "./mapping.ts";
import { type MessageContext, MessageValues } from "./message_values.ts";
import { partOf } from "./message_parts.ts";
import { MESSAGE_RECORDS_MAX, RecordFinder } from "./record_finder.ts";

/** Bytes around crossings, for all of them together: each has them in its dead letter. */
const AROUND_BYTES_MAX = 16 * RECORD_BYTES_MAX;

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

const decoder = new TextDecoder();

/** See the module's header. Holds the transition that came last; the bytes it points to stay. */
export class MessageDecoder extends DecodedTransition {
  /** Why the last refused crossing was refused: one sentence. */
  detail = "";
  /** The last crossing's number, from 1; 0 of a message as a whole, and of one that can only be one crossing. */
  part = 0;

  readonly #mapping: Mapping;
  readonly #values: MessageValues;
  readonly #crossings: CrossingDecoder;
  readonly #scanner = new TransitionScanner(this);
  readonly #parser = new TransitionParser(this);
  readonly #finder = new RecordFinder();
  #count = 0;
  #record = 0;
  #crossing = 0;
  #hasAny = false;
  /** The outcome of the message as a whole. */
  #whole: CrossingOutcome | null = null;

  /** For messages of one format. */
  constructor(mapping: Mapping) {
    super();
    this.#mapping = mapping;
    this.#values = new MessageValues(mapping.trees);
    this.#crossings = new CrossingDecoder(this, this.#values);
  }

  /**
   * Begins a message, bytes `start` to `end`, which are not written again as long as a transition points to them.
   *
   * @param context what came along with it
   */
  open(bytes: Uint8Array, start: number, end: number, context: MessageContext | null): void {
    this.clear();
    this.part =
      this.#count =
      this.#record =
      this.#crossing =
        0;
    this.#hasAny = false;
    this.#values.bytes = bytes;
    this.#values.context = context;
    this.#whole = this.#check(bytes, start, end) ?? this.#findRecords(bytes, start, end);
  }

  /** The next crossing's outcome; null where there is none any more. */
  next(): CrossingOutcome | null {
    if (this.#whole !== null) {
      const whole = this.#whole;
      this.#whole = null;
      return whole;
    }
    const { crossings } = this.#mapping;
    for (; this.#record < this.#count; this.#record++) {
      if (this.#crossing === 0) {
        this.#hasAny = false;
        if (!this.#beginRecord()) {
          this.#record++;
          return this.#refuse("NOT_AN_OBJECT", "A crossing must be a JSON object");
        }
      }
      while (this.#crossing < crossings.length) {
        const number = this.#crossing++;
        const mapping = crossings[number] as CrossingMapping;
        if (mapping.when.length > 0 && !this.#values.meets(mapping.when)) continue;
        const outcome = mapping.native.length > 0 ? this.#native(mapping) : this.#mapped(mapping);
        if (outcome === "skipped") continue;
        this.#hasAny = true;
        this.#setPart(number);
        return outcome;
      }
      this.#crossing = 0;
      if (!this.#hasAny) {
        this.#setPart(0);
        this.#record++;
        return "skipped";
      }
    }
    return null;
  }

  #setPart(crossing: number): void {
    const { records, crossings } = this.#mapping;
    const isOne = records === null && crossings.length === 1;
    this.part = isOne ? 0 : partOf(this.#record, crossing);
  }

  /** Looks at a message's bytes and finds its places; null where they are JSON that may have crossings. */
  #check(bytes: Uint8Array, start: number, end: number): DeadLetterReason | null {
    const { trees: { message }, records } = this.#mapping;
    const slots = this.#values.message;
    const isPlain = end - start <= RECORD_BYTES_MAX && message.scanUnchecked(bytes, start, end, slots);
    if (!isPlain) {
      const json = parseRecord(bytes.subarray(start, end));
      if (json.reason !== null) return this.#refuse(json.reason, json.detail);
      message.scan(bytes, start, slots);
    }
    const first = bytes[skipSpace(bytes, start)];
    if (first === OPEN_BRACE) return null;
    if (first === OPEN_BRACKET && records?.some(({ pointer }) => pointer === "")) return null;
    const text = clip(decoder.decode(bytes.subarray(start, end)).trim());
    return this.#refuse("NOT_AN_OBJECT", `The record must be a JSON object, got ${text}`);
  }

  #findRecords(bytes: Uint8Array, start: number, end: number): CrossingOutcome | null {
    const { when, records } = this.#mapping;
    if (when.length > 0 && !this.#values.meets(when)) return "skipped";
    if (records === null) {
      this.#count = 1;
      return null;
    }
    const finder = this.#finder;
    const found = finder.find(bytes, this.#values.message, records);
    const { pointer, count, arrayStart, arrayEnd } = finder;
    if (found === "nothing") {
      const pointers = records.map(({ pointer }) => pointer).join(" or ");
      return this.#refuse(
        "MISSING_FIELD",
        `The crossings must be given, but there is nothing at ${pointers}`,
      );
    }
    if (found === "too_many") {
      return this.#refuse("INVALID_FIELD", `${pointer} must have at most ${MESSAGE_RECORDS_MAX} crossings`);
    }
    const around = end - start - (arrayEnd - arrayStart);
    if (count > 1 && count * around > AROUND_BYTES_MAX) {
      const detail = `${pointer} has ${count} crossings, too many for the ${around} bytes around them`;
      return this.#refuse("INVALID_FIELD", detail);
    }
    this.#count = count;
    return count === 0 ? "skipped" : null;
  }

  /** Finds the places of the record that is next; false where it is no object. */
  #beginRecord(): boolean {
    const { trees, records } = this.#mapping;
    if (records === null) return true;
    const { bytes, crossing } = this.#values;
    const at = this.#finder.starts[this.#record] as number;
    this.#setPart(0);
    if (bytes[at] !== OPEN_BRACE) return false;
    trees.crossing.scan(bytes, at, crossing);
    return true;
  }

  #mapped(mapping: CrossingMapping): CrossingOutcome {
    const outcome = this.#crossings.decode(mapping);
    this.detail = this.#crossings.detail;
    return outcome;
  }

  /** Reads a record of our own that is part of the message. */
  #native({ native }: CrossingMapping): CrossingOutcome {
    const values = this.#values;
    for (const place of native) {
      if (values.find(place) === null) continue;
      const range = values.range(place);
      if (range === null) continue;
      if (this.#scanner.scan(values.bytes, range.start, range.end)) return "transition";
      const outcome = this.#parser.parse(values.bytes, range.start, range.end);
      this.detail = this.#parser.detail;
      return outcome;
    }
    const shown = native.map(({ shown }) => shown).join(" or ");
    return this.#refuse("MISSING_FIELD", `The record must be given, but there is nothing at ${shown}`);
  }

  /** Ends a message that is refused as a whole. */
  refuse(reason: DeadLetterReason, detail: string): DeadLetterReason {
    this.part = this.#count = this.#record = 0;
    this.#whole = null;
    return this.#refuse(reason, detail);
  }

  #refuse(reason: DeadLetterReason, detail: string): DeadLetterReason {
    this.clear();
    this.detail = detail;
    return reason;
  }
}
