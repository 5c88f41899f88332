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
 * @returns µs since the epoch; NaN where it is none, or one that we have never written: before 1684 or past 2255, where µs
 * are not exact, and the last of them can't be written again
 */
export function parseOwnTime(text: string): number {
  const bytes = encoder.encode(text);
  const us = parseRfc3339(bytes, 0, bytes.length);
  return Number.isSafeInteger(us) ? us : NaN;
}
