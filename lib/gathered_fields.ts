/**
 * Ids, seq and attributes of a transition, put one behind the other into a buffer of its own: for records whose text can't be
 * pointed into, since it has escapes, or says the fields elsewhere or in other words.
 *
 * What waits in a mailbox points into that buffer long after the next record was decoded. The bounds of SPEC 1 are kept
 * here; what a refusal is called is the caller's.
 *
 * @module
 */
import { writeAscii } from "./ascii.ts";
import {
  ATTRIBUTES_BYTES_MAX,
  type DecodedTransition,
  ID_BYTES_MAX,
  SEQ_BYTES_MAX,
} from "./decoded_transition.ts";
import { type ByteRange, copyCompact } from "./json_member.ts";

const encoder = new TextEncoder();

/** What an id must be, for a person. */
export const ID_EXPECTED: string = `a string of 1 to ${ID_BYTES_MAX} bytes without lone surrogates`;
/** What a seq must be. */
export const SEQ_EXPECTED: string =
  `an integer from 0 to 2^53 − 1 or a string of 1 to ${SEQ_BYTES_MAX} bytes`;
/** What attributes must be. */
export const ATTRIBUTES_EXPECTED: string = `at most ${ATTRIBUTES_BYTES_MAX} bytes without whitespace`;

/** See the module's header. */
export class GatheredFields {
  readonly #result: DecodedTransition;
  readonly #bytes = new Uint8Array(2 * ID_BYTES_MAX + SEQ_BYTES_MAX + ATTRIBUTES_BYTES_MAX);
  #length = 0;
  #idsLength = 0;

  /** Makes one that fills this result. */
  constructor(result: DecodedTransition) {
    this.#result = result;
  }

  /** Forgets what the last record had. */
  begin(): void {
    this.#length = this.#idsLength = 0;
  }

  /** Adds the device's id; false where it is none. */
  device(id: string): boolean {
    return this.#add(id, ID_BYTES_MAX) && this.#deviceAdded();
  }

  /** As {@link device}, of UTF-8. */
  deviceBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#addBytes(bytes, start, end) && this.#deviceAdded();
  }

  /** Adds the fence's id, behind the device's; false where it is none. */
  fence(id: string): boolean {
    return this.#add(id, ID_BYTES_MAX) && this.#fenceAdded();
  }

  /** As {@link fence}, of UTF-8. */
  fenceBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#addBytes(bytes, start, end) && this.#fenceAdded();
  }

  /** Adds the seq, behind the ids; false where it is none. */
  seq(text: string): boolean {
    const start = this.#length;
    if (!this.#add(text, SEQ_BYTES_MAX)) return false;
    this.#result.seqStart = start;
    this.#result.seqEnd = this.#length;
    return true;
  }

  /** Adds attributes, behind all else, without their whitespace; false where they are too long. */
  attributes(bytes: Uint8Array, value: ByteRange): boolean {
    const start = this.#length;
    const end = copyCompact(bytes, value, this.#bytes.subarray(0, start + ATTRIBUTES_BYTES_MAX), start);
    if (end < 0) return false;
    this.#result.attributesStart = start;
    this.#result.attributesEnd = this.#length = end;
    return true;
  }

  /** Adds attributes of several parts, each compact already. */
  attributesOf(parts: readonly Uint8Array[]): boolean {
    const start = this.#length;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (length > ATTRIBUTES_BYTES_MAX) return false;
    for (const part of parts) {
      this.#bytes.set(part, this.#length);
      this.#length += part.length;
    }
    this.#result.attributesStart = start;
    this.#result.attributesEnd = this.#length;
    return true;
  }

  /** Leaves seq and attributes out again, since one of them was refused. */
  withoutRest(): void {
    const result = this.#result;
    result.seqStart =
      result.seqEnd =
      result.attributesStart =
      result.attributesEnd =
        0;
    this.#length = this.#idsLength;
  }

  /** Gives what was gathered a buffer of its own. */
  finish(): void {
    this.#result.bytes = this.#bytes.slice(0, this.#length);
  }

  #deviceAdded(): true {
    this.#result.deviceEnd = this.#result.fenceStart = this.#result.fenceEnd = this.#length;
    return true;
  }

  #fenceAdded(): true {
    this.#result.fenceEnd = this.#idsLength = this.#length;
    return true;
  }

  #addBytes(bytes: Uint8Array, start: number, end: number): boolean {
    if (end === start || end - start > ID_BYTES_MAX) return false;
    for (let at = start; at < end; at++) this.#bytes[this.#length++] = bytes[at] as number;
    return true;
  }

  /** Adds a text's UTF-8; false where it is empty, too long or not well-formed. */
  #add(text: string, bytesMax: number): boolean {
    if (text.length === 0 || text.length > bytesMax) return false;
    const start = this.#length;
    const asciiEnd = writeAscii(this.#bytes, start, text);
    if (asciiEnd >= 0) {
      this.#length = asciiEnd;
      return true;
    }
    if (!text.isWellFormed()) return false;
    const { read, written } = encoder.encodeInto(text, this.#bytes.subarray(start, start + bytesMax));
    if (read < text.length) return false;
    this.#length = start + written;
    return true;
  }
}
