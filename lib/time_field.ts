/**
 * The eight fields that a record can give a time in, and how each is read (SPEC 1).
 *
 * A bare number in `event_time` is refused, since its unit would be a guess: 1777881600 is a day in 2026 in seconds and
 * one in January 1970 in milliseconds, and both are seen.
 *
 * @module
 */
import { writeAscii } from "./ascii.ts";
import {
  END_OF_TIME_US,
  FIRST_TIME_US,
  formatTimestamp,
  fractionDigits,
  nanosecondsBelowUs,
  parseRfc3339,
} from "./time.ts";
import { isLikely } from "./plausibility.ts";
import {
  MICROSECOND_DIGITS,
  MILLISECOND_DIGITS,
  NANOSECOND_DIGITS,
  type TimeReading,
} from "./time_agreement.ts";
import { isWholeNumber } from "./whole_number.ts";

/** A field that gives a time. */
export interface TimeField {
  /** The member's name. */
  readonly key: string;
  /** Digits of the second's fraction that its integers have; 0 for RFC 3339. */
  readonly digits: number;
  /** Whether null is as good as nothing. In an event time it is not: a producer that lost its clock has to be seen. */
  readonly nullIsAbsent: boolean;
  /** What it must be, for a person. */
  readonly expected: string;
}

/** More digits than any time has. */
const DIGITS_MAX = 20;

const encoder = new TextEncoder();
/** Takes a timestamp of usual length: a fraction may have any. */
const SHORT_TEXT = new Uint8Array(48);

/** What text must be to be a time. */
export const RFC3339_EXPECTED = "an RFC 3339 timestamp with offset or Z";
/** What a number of units since the epoch must be. */
export const EPOCH_EXPECTED: string =
  `an integer or a string of up to ${DIGITS_MAX} digits, before the year 10000`;

/** The fields of the event time. */
export const EVENT_TIME_FIELDS: readonly TimeField[] = timeFields("event_time", { nullIsAbsent: false });
/** The fields of the ingest time. */
export const INGEST_TIME_FIELDS: readonly TimeField[] = timeFields("ingest_time", { nullIsAbsent: true });

function timeFields(name: string, options: { nullIsAbsent: boolean }): readonly TimeField[] {
  const integer = EPOCH_EXPECTED;
  return [
    { key: name, digits: 0, expected: RFC3339_EXPECTED, ...options },
    { key: `${name}_ms`, digits: MILLISECOND_DIGITS, expected: integer, ...options },
    { key: `${name}_us`, digits: MICROSECOND_DIGITS, expected: integer, ...options },
    { key: `${name}_ns`, digits: NANOSECOND_DIGITS, expected: integer, ...options },
  ];
}

/**
 * Reads a field's value.
 *
 * @param value as `JSON.parse` gave it
 * @param source the value as it was written, needed only of a number
 * @returns null where it is no time of this field
 */
export function readTime(field: TimeField, value: unknown, source: string): TimeReading | null {
  if (field.digits > 0) return readEpoch(field.digits, value, source);
  if (typeof value !== "string") return null;
  const shortEnd = writeAscii(SHORT_TEXT, 0, value);
  const bytes = shortEnd < 0 ? encoder.encode(value) : SHORT_TEXT;
  const end = shortEnd < 0 ? bytes.length : shortEnd;
  const us = parseRfc3339(bytes, 0, end);
  if (Number.isNaN(us)) return null;
  return { us, nanoseconds: nanosecondsBelowUs(bytes, 0, end), digits: fractionDigits(bytes, 0, end) };
}

/** In what other field a refused value would be a time of today's: in words, empty where in none. */
export function hintOfUnit(fields: readonly TimeField[], value: unknown, source: string): string {
  for (const field of fields) {
    const us = readTime(field, value, source)?.us ?? NaN;
    if (isLikely(us)) return ` (as ${field.key} it would be ${formatTimestamp(us)})`;
  }
  return "";
}

/**
 * Reads a number of units since the epoch.
 *
 * @param digits of a second's fraction that the unit has: 0 for seconds, 9 for nanoseconds
 * @param value as `JSON.parse` gave it: a number, or digits
 * @param source the value as it was written, needed only of a number
 * @returns null where it is no time
 */
export function readEpoch(digits: number, value: unknown, source: string): TimeReading | null {
  const integer = integerOf(value, source);
  if (integer === null) return null;
  const allNanoseconds = integer * 10n ** BigInt(NANOSECOND_DIGITS - digits);
  // The remainder of a negative number is negative too: flooring makes it positive.
  const nanoseconds = ((allNanoseconds % 1000n) + 1000n) % 1000n;
  const us = Number((allNanoseconds - nanoseconds) / 1000n);
  if (us >= END_OF_TIME_US) return null;
  // Any time before the year 2000 is as good as another: it is refused for its age, not for its form.
  if (us < FIRST_TIME_US) return { us: FIRST_TIME_US, nanoseconds: 0, digits };
  return { us, nanoseconds: Number(nanoseconds), digits };
}

function integerOf(value: unknown, source: string): bigint | null {
  if (typeof value === "string") return /^[0-9]{1,20}$/.test(value) ? BigInt(value) : null;
  if (typeof value !== "number") return null;
  if (Number.isSafeInteger(value)) return isWholeNumber(source) ? BigInt(value) : null;
  // Past 2^53 it is read from its digits.
  if (!/^-?[0-9]+$/.test(source)) return null;
  if (source.length <= DIGITS_MAX + 1) return BigInt(source);
  return source.startsWith("-") ? -(10n ** BigInt(DIGITS_MAX + 1)) : 10n ** BigInt(DIGITS_MAX + 1);
}
