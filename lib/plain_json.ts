/**
 * JSON checked where it lies: for each piece of its grammar, where that ends. Nothing is built.
 *
 * Only what is plain is understood: strings without escapes, nesting to {@link DEPTH_MAX}. All else gives
 * {@link GIVE_UP}, valid or not, and is left to `JSON.parse`. Nothing here reads behind a byte that no token can have at
 * its place (a closing brace is one), but for strings, which are therefore told where to stop. What is beyond ASCII in a
 * string is checked to be UTF-8, since nobody does it later.
 *
 * @module
 */

/** Not understood. */
export const GIVE_UP: number = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const DOT = 0x2e;
const MINUS = 0x2d;
const PLUS = 0x2b;
const ZERO = 0x30;
const NINE = 0x39;
const SPACE = 0x20;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How deep a value may be nested. */
const DEPTH_MAX = 16;

const encoder = new TextEncoder();
const TRUE = encoder.encode("true");
const FALSE = encoder.encode("false");
const NULL = encoder.encode("null");

/** 1 for the ASCII that may be in a string without an escape. */
const PLAIN = new Uint8Array(256);
for (let byte = SPACE; byte < 0x80; byte++) PLAIN[byte] = byte === QUOTE || byte === BACKSLASH ? 0 : 1;

/** Whether a value may have whitespace between its tokens. */
export type Spacing = "any" | "compact";

/** What is behind a value of any kind, or {@link GIVE_UP}. */
export function plainValueEnd(bytes: Uint8Array, at: number, end: number, spacing: Spacing): number {
  return valueEnd(bytes, at, end, spacing === "any" ? skipSpace : stay, 0);
}

function valueEnd(
  bytes: Uint8Array,
  at: number,
  end: number,
  space: typeof skipSpace,
  depth: number,
): number {
  switch (bytes[at]) {
    case QUOTE:
      return plainStringEnd(bytes, at + 1, end) + 1 || GIVE_UP;
    case OPEN_BRACE:
    case OPEN_BRACKET:
      return depth < DEPTH_MAX ? itemsEnd(bytes, at, end, space, depth + 1) : GIVE_UP;
    case LOWER_T:
      return startsWith(bytes, at, TRUE) ? at + TRUE.length : GIVE_UP;
    case LOWER_F:
      return startsWith(bytes, at, FALSE) ? at + FALSE.length : GIVE_UP;
    case LOWER_N:
      return startsWith(bytes, at, NULL) ? at + NULL.length : GIVE_UP;
    default:
      return numberEnd(bytes, at);
  }
}

/** What is behind an object or an array. */
function itemsEnd(
  bytes: Uint8Array,
  at: number,
  end: number,
  space: typeof skipSpace,
  depth: number,
): number {
  const isObject = bytes[at] === OPEN_BRACE;
  const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  at = space(bytes, at + 1);
  if (bytes[at] === close) return at + 1;
  for (;;) {
    if (isObject) {
      if (bytes[at] !== QUOTE) return GIVE_UP;
      at = plainStringEnd(bytes, at + 1, end);
      if (at < 0) return GIVE_UP;
      at = space(bytes, at + 1);
      if (bytes[at] !== COLON) return GIVE_UP;
      at = space(bytes, at + 1);
    }
    at = valueEnd(bytes, at, end, space, depth);
    if (at < 0) return GIVE_UP;
    at = space(bytes, at);
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== COMMA) return GIVE_UP;
    at = space(bytes, at + 1);
  }
}

/** The closing quote of a string that begins at `at`, behind its quote, or {@link GIVE_UP}. */
export function plainStringEnd(bytes: Uint8Array, at: number, end: number): number {
  for (;;) {
    while (at < end && PLAIN[bytes[at] as number] === 1) at++;
    if (at >= end) return GIVE_UP;
    if (bytes[at] === QUOTE) return at;
    at = characterEnd(bytes, at);
    if (at < 0) return GIVE_UP;
  }
}

/** What is behind a character of two to four bytes, or {@link GIVE_UP}: the table of well-formed UTF-8 in Unicode 3.9. */
function characterEnd(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (lead < 0xc2 || lead > 0xf4 || !isContinuation(second)) return GIVE_UP;
  if (lead < 0xe0) return at + 2;
  // Overlong forms, surrogates and what is past U+10FFFF.
  if (lead === 0xe0 && second < 0xa0 || lead === 0xed && second > 0x9f) return GIVE_UP;
  if (lead === 0xf0 && second < 0x90 || lead === 0xf4 && second > 0x8f) return GIVE_UP;
  if (!isContinuation(bytes[at + 2] as number)) return GIVE_UP;
  if (lead < 0xf0) return at + 3;
  return isContinuation(bytes[at + 3] as number) ? at + 4 : GIVE_UP;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** What is behind a number, or {@link GIVE_UP}. */
export function numberEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] === MINUS) at++;
  let close = bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at);
  if (close === at) return GIVE_UP;
  if (bytes[close] === DOT) {
    at = close + 1;
    close = digitsEnd(bytes, at);
    if (close === at) return GIVE_UP;
  }
  if (((bytes[close] as number) | SPACE) === LOWER_E) {
    at = close + 1;
    if (bytes[at] === PLUS || bytes[at] === MINUS) at++;
    close = digitsEnd(bytes, at);
    if (close === at) return GIVE_UP;
  }
  return close;
}

/** What is behind a run of digits, which may be empty. */
export function digitsEnd(bytes: Uint8Array, at: number): number {
  while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at;
}

/** What is behind JSON's whitespace, of which there may be none. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  while (isSpace(bytes[at] as number)) at++;
  return at;
}

function stay(_bytes: Uint8Array, at: number): number {
  return at;
}

/** Whether a byte is one of JSON's four characters of whitespace. */
export function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether these bytes are at this place. */
export function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text[i]) return false;
  }
  return true;
}
