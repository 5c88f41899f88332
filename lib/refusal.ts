/**
 * What a refusal tells a person of a value, and of a record that is no JSON object at all.
 *
 * @module
 */

/** Characters of a value that are shown. */
const SHOWN_MAX = 80;

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** A value's text, cut to what a sentence can hold. */
export function clip(text: string): string {
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX).toWellFormed()}…`;
}

/** A value's JSON, clipped. What is nested deeper than the stack allows, as somebody else's JSON may be, is only named. */
export function clipJson(value: unknown): string {
  try {
    return clip(JSON.stringify(value) ?? String(value));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return "a value that is nested too deep";
  }
}

/** Where the bytes stop being UTF-8. They must not be wholly UTF-8. */
export function describeUtf8Error(bytes: Uint8Array): string {
  const text = lossyDecoder.decode(bytes);
  let at = 0;
  let from = 0;
  for (;;) {
    const replaced = text.indexOf("\ufffd", from);
    at += encoder.encode(text.slice(from, replaced)).length;
    // The replacement character can also be one that the record has itself.
    if (bytes[at] !== 0xef || bytes[at + 1] !== 0xbf || bytes[at + 2] !== 0xbd) break;
    at += 3;
    from = replaced + 1;
  }
  const byte = (bytes[at] as number).toString(16).padStart(2, "0");
  return `The record must be UTF-8, got 0x${byte} at byte ${at}`;
}

/** What `JSON.parse` says, and the record's beginning. */
export function describeJsonError(text: string, error: unknown): string {
  if (text === "") return "The record must be a JSON object, got nothing";
  const problem = error instanceof Error ? error.message : String(error);
  return `The record must be JSON, got ${clip(text)} (${clip(problem)})`;
}
