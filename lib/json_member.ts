/**
 * Finds a member in the text of an object that `JSON.parse` has accepted, for what a parsed value no longer tells: the
 * digits of a number past 2^53, and attributes that are carried through as they came.
 *
 * The text is known to be valid, so brackets only have to be counted; there is no recursion, and no depth that could
 * overflow a stack. A reviver with source text access tells the digits too, but at six times the cost of parsing.
 *
 * @module
 */
import { isSpace, skipSpace } from "./plain_json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const decoder = new TextDecoder();

/** A range of bytes: `start` up to, but not with, `end`. */
export interface ByteRange {
  /** The first byte. */
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

/**
 * Where the value of a member lies; of several with this name the last, as `JSON.parse` has it.
 *
 * @param record bytes `start` to `end` of which are an object in valid JSON
 * @returns null where there is no such member
 */
export function findMember(bytes: Uint8Array, record: ByteRange, name: string): ByteRange | null {
  let found: ByteRange | null = null;
  let at = skipSpace(bytes, skipSpace(bytes, record.start) + 1);
  while (bytes[at] === QUOTE) {
    const keyEnd = stringEnd(bytes, at);
    const isNamed = textIs(bytes, at, keyEnd, name);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = valueEnd(bytes, start, record.end);
    if (isNamed) found = { start, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return found;
}

/** Whether a JSON string, quotes included, says this text, which is ASCII. */
function textIs(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  let isSame = end - start === text.length + 2;
  for (let at = start + 1; at < end - 1; at++) {
    if (bytes[at] === BACKSLASH) return JSON.parse(decoder.decode(bytes.subarray(start, end))) === text;
    if (bytes[at] !== text.charCodeAt(at - start - 1)) isSame = false;
  }
  return isSame;
}

/** What is behind a string that begins with the quote at `at`. */
function stringEnd(bytes: Uint8Array, at: number): number {
  for (at++; bytes[at] !== QUOTE; at++) {
    if (bytes[at] === BACKSLASH) at++;
  }
  return at + 1;
}

/** What is behind a value. */
function valueEnd(bytes: Uint8Array, at: number, end: number): number {
  let depth = 0;
  do {
    switch (bytes[at]) {
      case QUOTE:
        at = stringEnd(bytes, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        at++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        at++;
        break;
      default:
        at = depth > 0 ? at + 1 : scalarEnd(bytes, at);
    }
  } while (depth > 0 && at < end);
  return at;
}

function scalarEnd(bytes: Uint8Array, at: number): number {
  while (!isSpace(bytes[at] as number) && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) at++;
  return at;
}

/**
 * Copies a value without the whitespace between its tokens. Numbers and strings stay as they were written.
 *
 * @param value where it is in `bytes`, in valid JSON
 * @param at where in `target` it goes
 * @returns where the copy ends, −1 where `target` is too short
 */
export function copyCompact(bytes: Uint8Array, value: ByteRange, target: Uint8Array, at: number): number {
  let isInString = false;
  for (let from = value.start; from < value.end; from++) {
    const byte = bytes[from] as number;
    if (byte === QUOTE) isInString = !isInString;
    else if (!isInString && isSpace(byte)) continue;
    if (at === target.length) return -1;
    target[at++] = byte;
    if (byte !== BACKSLASH) continue;
    if (at === target.length) return -1;
    target[at++] = bytes[++from] as number;
  }
  return at;
}
