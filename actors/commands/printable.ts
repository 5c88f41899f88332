/**
 * Text from outside, as it may be shown on a terminal.
 *
 * @module
 */

/** Controls, those of C1 too, line separators, and what turns the direction of writing. */
// deno-lint-ignore no-control-regex -- controls are what it is about
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** The text with its controls in escapes: a record must not colour a terminal, clear it or feign another line. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
