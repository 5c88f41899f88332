/**
 * Where the records lie in a body that came whole: lines of NDJSON, the elements of an array, or one object.
 *
 * The elements of an array are found without parsing them, since each is decoded by its own text: numbers past 2^53 keep
 * their digits, and one that is broken is one dead letter. What can't be cut is left whole, as one record that the
 * decoder will refuse with a reason.
 *
 * @module
 */
import { RECORD_BYTES_MAX } from "./decoded_transition.ts";
import type { OversizeRecord } from "./record_batch.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Records of a body at most: its answer has a word for each, and is larger than the body where they are small. */
export const RECORDS_MAX = 100_000;

/** Records in one buffer. */
export interface RecordSpans {
  /** Record `i` is `bytes[starts[i] .. ends[i])`. */
  readonly bytes: Uint8Array;
  /** Where each begins. */
  readonly starts: Uint32Array;
  /** Where each ends; of one over the size limit, where its first 64 KiB end. */
  readonly ends: Uint32Array;
  /** How many there are; the columns may be longer. Above {@link RECORDS_MAX} it says no more than that. */
  readonly count: number;
  /** Records over the size limit, by their index. */
  readonly oversize: ReadonlyMap<number, OversizeRecord>;
}

/** XXH64 with seed 0, as 16 hex digits. */
export type RecordHash = (bytes: Uint8Array) => string;

/** Cuts NDJSON: a byte order mark at the start, CRLF and blank lines are no part of any record. */
export function spansOfLines(bytes: Uint8Array, hash: RecordHash): RecordSpans {
  const spans = new Spans(bytes, hash);
  let start = afterMark(bytes);
  while (start < bytes.length) {
    let end = bytes.indexOf(LINE_FEED, start);
    if (end < 0) end = bytes.length;
    const content = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    if (afterSpace(bytes, start, content) < content) spans.add(start, content);
    start = end + 1;
  }
  return spans.finish();
}

/** Cuts JSON: an array into its elements; one value is one record; several behind each other are NDJSON. */
export function spansOfJson(bytes: Uint8Array, hash: RecordHash): RecordSpans {
  const spans = new Spans(bytes, hash);
  const start = afterSpace(bytes, afterMark(bytes), bytes.length);
  if (start === bytes.length) return spans.finish();
  if (bytes[start] === OPEN_BRACKET && addElements(spans, bytes, start)) return spans.finish();
  const whole = new Spans(bytes, hash);
  const end = beforeSpace(bytes, start, bytes.length);
  const isSeveral = bytes[start] === OPEN_BRACE && valueEnd(bytes, start) < end;
  if (isSeveral) return spansOfLines(bytes, hash);
  whole.add(start, end);
  return whole.finish();
}

/** Adds an array's elements; false where its brackets and commas are not in order. */
function addElements(spans: Spans, bytes: Uint8Array, open: number): boolean {
  let at = afterSpace(bytes, open + 1, bytes.length);
  if (bytes[at] === CLOSE_BRACKET) return afterSpace(bytes, at + 1, bytes.length) === bytes.length;
  for (;;) {
    const end = valueEnd(bytes, at);
    const content = beforeSpace(bytes, at, end);
    if (content === at) return false;
    spans.add(at, content);
    if (bytes[end] === CLOSE_BRACKET) return afterSpace(bytes, end + 1, bytes.length) === bytes.length;
    if (bytes[end] !== COMMA) return false;
    at = afterSpace(bytes, end + 1, bytes.length);
  }
}

/** The comma or bracket behind a value, or the end of the bytes. Of an object at the outermost level, what is behind it. */
function valueEnd(bytes: Uint8Array, at: number): number {
  let depth = 0;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = stringEnd(bytes, at);
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return afterSpace(bytes, at + 1, bytes.length);
    } else if (byte === COMMA && depth === 0) {
      return at;
    }
    at++;
  }
  return at;
}

function stringEnd(bytes: Uint8Array, at: number): number {
  for (at++; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at + 1;
  }
  return bytes.length;
}

function afterMark(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function afterSpace(bytes: Uint8Array, at: number, end: number): number {
  while (at < end && isSpace(bytes[at])) at++;
  return at;
}

function beforeSpace(bytes: Uint8Array, start: number, end: number): number {
  while (end > start && isSpace(bytes[end - 1])) end--;
  return end;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === LINE_FEED || byte === CARRIAGE_RETURN;
}

/** The columns while they are filled. */
class Spans {
  readonly #bytes: Uint8Array;
  readonly #hash: RecordHash;
  readonly #oversize = new Map<number, OversizeRecord>();
  #starts = new Uint32Array(16);
  #ends = new Uint32Array(16);
  #count = 0;

  constructor(bytes: Uint8Array, hash: RecordHash) {
    this.#bytes = bytes;
    this.#hash = hash;
  }

  add(start: number, end: number): void {
    if (this.#count > RECORDS_MAX) return;
    if (this.#count === this.#starts.length) {
      const starts = new Uint32Array(this.#count * 2);
      const ends = new Uint32Array(this.#count * 2);
      starts.set(this.#starts);
      ends.set(this.#ends);
      this.#starts = starts;
      this.#ends = ends;
    }
    let kept = end;
    if (end - start > RECORD_BYTES_MAX) {
      kept = start + RECORD_BYTES_MAX;
      this.#oversize.set(this.#count, {
        byteLength: end - start,
        hash: this.#hash(this.#bytes.subarray(start, end)),
      });
    }
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = kept;
    this.#count++;
  }

  finish(): RecordSpans {
    return {
      bytes: this.#bytes,
      starts: this.#starts,
      ends: this.#ends,
      count: this.#count,
      oversize: this.#oversize,
    };
  }
}
