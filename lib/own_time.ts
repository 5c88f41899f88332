/**
 * A time that a trigger or a dead letter was written with, read back.
 *
 * @module
 */
import { parseRfc3339 } from "./time.ts";

const encoder = new TextEncoder();

/**
 * Reads it.
 *
 * @returns µs since the epoch; NaN where it is none, or one that we have never written: before 1970, or past 2255, from
 * where µs are not exact, two times can be further apart than a duration is long, and the last can't be written again
 */
export function parseOwnTime(text: string): number {
  const bytes = encoder.encode(text);
  const us = parseRfc3339(bytes, 0, bytes.length);
  return us >= 0 && us <= Number.MAX_SAFE_INTEGER ? us : NaN;
}
