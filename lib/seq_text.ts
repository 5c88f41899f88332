/**
 * The canonical text of a `seq`: `7` for 7 and for `"7"`.
 *
 * @module
 */
import { isWholeNumber } from "./whole_number.ts";

/**
 * Reads a seq.
 *
 * @param value as `JSON.parse` gave it
 * @param source the value as it was written, needed only of a number
 * @returns empty where it is neither text nor an integer from 0 to 2^53 − 1
 */
export function seqText(value: unknown, source: string): string {
  if (typeof value === "string") return value;
  const isInteger = typeof value === "number" && Number.isSafeInteger(value) && value >= 0 &&
    isWholeNumber(source);
  return isInteger ? String(value) : "";
}
