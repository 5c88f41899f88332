/**
 * Looks up places in a message: its bytes as they lie where that can be, text where it must be.
 *
 * @module
 */
import type { ByteRange } from "../json_member.ts";
import type { Condition, Word } from "./condition.ts";
import type { Trees } from "./place.ts";
import type { Place } from "./place.ts";
import { Slots } from "./pointer_tree.ts";

/** What comes along with a message, beside its bytes. */
export interface MessageContext {
  /** MQTT's or Kafka's topic; null where there is none. */
  readonly topic: string | null;
  /** Of a Kafka record; null where there is none. */
  readonly key: Uint8Array | null;
  /** A header's value; null where there is none. */
  header(name: string): string | null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const NINE = 0x39;
const LOWER_N = 0x6e;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What {@link MessageValues.find} has found. */
export type Found = "text" | "number" | "literal" | "container";

/** See the module's header. */
export class MessageValues {
  /** Where the message's values are. */
  readonly message: Slots;
  /** Where the crossing's are; the same where the message is the crossing. */
  readonly crossing: Slots;
  /** The message. */
  bytes: Uint8Array = new Uint8Array(0);
  /** What came along with it. */
  context: MessageContext | null = null;
  /** What was found last lies here, of text without its quotes, unless {@link given} has it. */
  start = 0;
  /** Where it ends. */
  end = 0;
  /** What was found last, where it is no range of the bytes, or has escapes in them. */
  given: string | null = null;

  /** For messages of one format. */
  constructor(trees: Trees) {
    this.message = new Slots(trees.message.slotCount);
    this.crossing = trees.crossing === trees.message ? this.message : new Slots(trees.crossing.slotCount);
  }

  /** Finds a place's value; null where there is nothing, or null. */
  find(place: Place): Found | null {
    switch (place.type) {
      case "crossing":
        return this.#findSlot(this.crossing, place.slot);
      case "message":
        return this.#findSlot(this.message, place.slot);
      default: {
        const text = this.#textElsewhere(place);
        this.given = text;
        return text === null ? null : "text";
      }
    }
  }

  /** A place's value as text: a number's digits, `true`; null where there is nothing, or an object or array. */
  text(place: Place): string | null {
    const found = this.find(place);
    return found === null || found === "container" ? null : this.foundText();
  }

  /** What was found last, as text. */
  foundText(): string {
    return this.given ?? decoder.decode(this.bytes.subarray(this.start, this.end));
  }

  /** Whether what was found last is this word. */
  isWord(word: Word): boolean {
    if (this.given !== null) return this.given === word.text;
    const { bytes } = word;
    if (this.end - this.start !== bytes.length) return false;
    return this.#startsWith(bytes);
  }

  /** Where a place's value lies as JSON, quotes included; null where it lies nowhere. */
  range(place: Place): ByteRange | null {
    if (place.type !== "crossing" && place.type !== "message") return null;
    const { starts, ends } = place.type === "crossing" ? this.crossing : this.message;
    const end = ends[place.slot] as number;
    return end === 0 ? null : { start: starts[place.slot] as number, end };
  }

  /** Whether all of them hold. */
  meets(conditions: readonly Condition[]): boolean {
    for (const condition of conditions) if (!this.#meetsOne(condition)) return false;
    return true;
  }

  #meetsOne({ at, is, isNot, startsWith, differsFrom }: Condition): boolean {
    const found = this.find(at);
    if (is !== null && !this.#isAmong(is, found)) return false;
    if (isNot.length > 0 && this.#isAmong(isNot, found)) return false;
    if (startsWith !== null && !(found === "text" && startsWith.some((word) => this.#beginsWith(word)))) {
      return false;
    }
    if (differsFrom === null) return true;
    return this.text(at) !== this.text(differsFrom);
  }

  #isAmong(words: readonly (Word | null)[], found: Found | null): boolean {
    if (found === "container") return false;
    for (const word of words) {
      if (word === null ? found === null : found !== null && this.isWord(word)) return true;
    }
    return false;
  }

  #beginsWith({ text, bytes }: Word): boolean {
    if (this.given !== null) return this.given.startsWith(text);
    return this.end - this.start >= bytes.length && this.#startsWith(bytes);
  }

  #startsWith(word: Uint8Array): boolean {
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[this.start + i] !== word[i]) return false;
    }
    return true;
  }

  #findSlot({ starts, ends }: Slots, slot: number): Found | null {
    const end = ends[slot] as number;
    if (end === 0) return null;
    const start = starts[slot] as number;
    this.given = null;
    this.start = start;
    this.end = end;
    const first = this.bytes[start] as number;
    if (first === QUOTE) {
      this.start = start + 1;
      this.end = end - 1;
      for (let at = start + 1; at < end; at++) {
        if (this.bytes[at] !== BACKSLASH) continue;
        this.given = JSON.parse(decoder.decode(this.bytes.subarray(start, end))) as string;
        break;
      }
      return "text";
    }
    if (first === LOWER_N) return null;
    if (first === MINUS || first <= NINE) return "number";
    return first === OPEN_BRACE || first === OPEN_BRACKET ? "container" : "literal";
  }

  #textElsewhere(place: Place): string | null {
    switch (place.type) {
      case "header":
        return this.context?.header(place.name) ?? null;
      case "topic":
        return this.context?.topic ?? null;
      case "key": {
        const key = this.context?.key ?? null;
        return key === null ? null : utf8Of(key);
      }
      case "segment":
        return this.text(place.of)?.split("/")[place.number] ?? null;
      case "join": {
        const parts = place.parts.map((part) => this.text(part));
        return parts.includes(null) ? null : parts.join(place.separator);
      }
      case "const":
        return place.text;
      default:
        return this.text(place);
    }
  }
}

/** Of a key that is no text nothing can be made: two of them could become one. */
function utf8Of(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}
