/**
 * Time as the engine has it: whole microseconds since the Unix epoch in a JS number, and its two spellings, RFC 3339
 * timestamps and durations such as `10m`.
 *
 * ```
 *   2026-05-04T08:00:10.250999999+02:00        parse: 19 fixed bytes, a fraction of any length, a zone
 *   |--------|        |        |    |
 *   the day           second   |    offset
 *   (cached)                   the sixth digit: what follows is below the microsecond and floored away
 *
 *   2026-05-04T06:00:10.250999Z                write: always these 27 bytes, so that they compare as text
 * ```
 *
 * Both work on bytes: `Date.parse` needs a string, stops at the millisecond and accepts what RFC 3339 does not. The day
 * is remembered (log lines repeat it), so that the calendar is computed once a day and not twice a record; some 20 ns a
 * timestamp either way. Microseconds are exact to the year 2255; beyond that a number is off by up to 16 µs, which is
 * harmless, since such times are refused for being in the future.
 *
 * A duration always has its unit, since a bare number would be a guess; and what is no whole number of microseconds is
 * refused rather than rounded.
 *
 * @module
 */
import { assert } from "./assert.ts";

/** Bytes that {@link writeTimestamp} writes. */
export const TIMESTAMP_BYTES = 27;
/** The first microsecond of the year 0000. */
export const FIRST_TIME_US: number = -62_167_219_200_000_000;
/** The first microsecond behind the year 9999. */
export const END_OF_TIME_US = 253_402_300_800_000_000;

const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;

const ZERO = 0x30;
const SPACE = 0x20;
const DOT = 0x2e;
const COLON = 0x3a;
const HYPHEN = 0x2d;
const PLUS = 0x2b;
const LOWER_CASE = 0x20;
const LOWER_T = 0x74;
const LOWER_Z = 0x7a;

/** Where the fraction's dot is, and the shortest timestamp: the date, the time and a Z. */
const DOT_AT = 19;
const SHORTEST = 20;
/** What {@link pair} gives where there are not two digits: more than any field may be. */
const NO_PAIR = 100;

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The day that was parsed last, as its digits packed into two integers, and when it began. */
let parsedYear = 0;
let parsedMonthAndDay = 0;
let parsedDayUs = NaN;

/**
 * Reads an RFC 3339 timestamp: a real date, `T`, `t` or a space, a time without leap second, a fraction of any length,
 * and a zone, `Z`, `z` or `±hh:mm`.
 *
 * @param start where it begins in `bytes`
 * @param end behind its last byte
 * @returns µs since the epoch, floored; NaN where it is not one
 */
export function parseRfc3339(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < SHORTEST) return NaN;
  const separator = bytes[start + 10] as number;
  if ((separator | LOWER_CASE) !== LOWER_T && separator !== SPACE) return NaN;
  const hour = pair(bytes, start + 11);
  const minute = pair(bytes, start + 14);
  const second = pair(bytes, start + 17);
  if (hour > 23 || minute > 59 || second > 59) return NaN;
  if (bytes[start + 13] !== COLON || bytes[start + 16] !== COLON) return NaN;
  let fractionUs = 0;
  let at = start + DOT_AT;
  if (bytes[at] === DOT) {
    const first = ++at;
    let unitUs = 100_000;
    for (; at < end; at++) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit >>> 0 > 9) break;
      fractionUs += digit * unitUs;
      unitUs = (unitUs / 10) | 0;
    }
    if (at === first) return NaN;
  }
  return dayUs(bytes, start) +
    ((hour * 60 + minute) * 60 + second - zoneSeconds(bytes, at, end)) * SECOND_US +
    fractionUs;
}

/** How far the zone at the end of a timestamp is ahead of UTC, in seconds; NaN where it is none. */
function zoneSeconds(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] as number;
  if (end - at === 1) return (first | LOWER_CASE) === LOWER_Z ? 0 : NaN;
  if (end - at !== 6 || (first !== PLUS && first !== HYPHEN) || bytes[at + 3] !== COLON) return NaN;
  const hour = pair(bytes, at + 1);
  const minute = pair(bytes, at + 4);
  if (hour > 23 || minute > 59) return NaN;
  const seconds = (hour * 60 + minute) * 60;
  return first === PLUS ? seconds : -seconds;
}

/** The start of a date's day; NaN where there is no such day. */
function dayUs(bytes: Uint8Array, at: number): number {
  const year = pack(bytes, at, at + 2);
  const monthAndDay = pack(bytes, at + 5, at + 8);
  if (bytes[at + 4] !== HYPHEN || bytes[at + 7] !== HYPHEN) return NaN;
  if (year !== parsedYear || monthAndDay !== parsedMonthAndDay) {
    parsedYear = year;
    parsedMonthAndDay = monthAndDay;
    parsedDayUs = parseDayUs(bytes, at);
  }
  return parsedDayUs;
}

function parseDayUs(bytes: Uint8Array, at: number): number {
  const century = pair(bytes, at);
  const yearOfCentury = pair(bytes, at + 2);
  const month = pair(bytes, at + 5);
  const day = pair(bytes, at + 8);
  if (century >= NO_PAIR || yearOfCentury >= NO_PAIR || month < 1 || month > 12) return NaN;
  const year = century * 100 + yearOfCentury;
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  if (day < 1 || day > (DAYS_OF_MONTH[month - 1] as number) + leapDay) return NaN;
  return daysOf(year, month, day) * DAY_US;
}

/** Days from 1970-01-01 to a date. Years are counted from March, so that the leap day is a year's last. */
function daysOf(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** Two digits' value, or {@link NO_PAIR}. */
function pair(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - ZERO;
  const ones = (bytes[at + 1] as number) - ZERO;
  return tens >>> 0 > 9 || ones >>> 0 > 9 ? NO_PAIR : tens * 10 + ones;
}

function pack(bytes: Uint8Array, first: number, second: number): number {
  return (bytes[first] as number) << 24 | (bytes[first + 1] as number) << 16 |
    (bytes[second] as number) << 8 |
    (bytes[second + 1] as number);
}

/**
 * How many digits the fraction of a timestamp has: 3 says that it is precise to the millisecond, 0 to the second.
 *
 * @param bytes a timestamp that {@link parseRfc3339} has accepted, from `start` to `end`
 */
export function fractionDigits(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start + DOT_AT] !== DOT) return 0;
  let at = start + DOT_AT + 1;
  while (at < end && ((bytes[at] as number) - ZERO) >>> 0 <= 9) at++;
  return at - (start + DOT_AT + 1);
}

/**
 * The nanoseconds of a timestamp that its microseconds leave out, 0 to 999, floored.
 *
 * @param bytes a timestamp that {@link parseRfc3339} has accepted, from `start` to `end`
 */
export function nanosecondsBelowUs(bytes: Uint8Array, start: number, end: number): number {
  const digits = fractionDigits(bytes, start, end);
  let nanoseconds = 0;
  for (let digit = 6; digit < 9; digit++) {
    const value = digit < digits ? (bytes[start + DOT_AT + 1 + digit] as number) - ZERO : 0;
    nanoseconds = nanoseconds * 10 + value;
  }
  return nanoseconds;
}

/** The two digits of 0 to 99. */
const PAIRS = new Uint8Array(200);
for (let i = 0; i < 100; i++) {
  PAIRS[2 * i] = ZERO + Math.floor(i / 10);
  PAIRS[2 * i + 1] = ZERO + i % 10;
}

/** The day that was written last, and a timestamp of it: only its digits after the `T` are ever set anew. */
let writtenDay = NaN;
const written = new TextEncoder().encode("0000-00-00T00:00:00.000000Z");

/**
 * Writes a time as `2026-05-04T08:00:10.250000Z`.
 *
 * @param at where in `target`, which must have {@link TIMESTAMP_BYTES} more
 * @param us whole µs, in a year from 0000 to 9999
 * @returns where the timestamp ends
 */
export function writeTimestamp(target: Uint8Array, at: number, us: number): number {
  const day = Math.floor(us / DAY_US);
  if (day !== writtenDay) writeDay(day);
  const ofDayUs = us - day * DAY_US;
  const second = Math.floor(ofDayUs / SECOND_US);
  const fractionUs = ofDayUs - second * SECOND_US;
  const minute = (second / 60) | 0;
  const hour = (minute / 60) | 0;
  const hundreds = (fractionUs / 100) | 0;
  const tenThousands = (hundreds / 100) | 0;
  writePair(written, 11, hour);
  writePair(written, 14, minute - hour * 60);
  writePair(written, 17, second - minute * 60);
  writePair(written, 20, tenThousands);
  writePair(written, 22, hundreds - tenThousands * 100);
  writePair(written, 24, fractionUs - hundreds * 100);
  for (let i = 0; i < TIMESTAMP_BYTES; i++) target[at + i] = written[i] as number;
  return at + TIMESTAMP_BYTES;
}

function writeDay(day: number): void {
  const us = day * DAY_US;
  assert(us >= FIRST_TIME_US && us < END_OF_TIME_US, "a time that is written is in a year from 0000 to 9999");
  const dayOfEra = day + 719_468 - Math.floor((day + 719_468) / 146_097) * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + Math.floor((day + 719_468) / 146_097) * 400 + (month <= 2 ? 1 : 0);
  writePair(written, 0, Math.floor(year / 100));
  writePair(written, 2, year % 100);
  writePair(written, 5, month);
  writePair(written, 8, dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1);
  writtenDay = day;
}

function writePair(target: Uint8Array, at: number, value: number): void {
  target[at] = PAIRS[2 * value] as number;
  target[at + 1] = PAIRS[2 * value + 1] as number;
}

const decoder = new TextDecoder();

/** A time as `2026-05-04T08:00:10.250000Z`; see {@link writeTimestamp}. */
export function formatTimestamp(us: number): string {
  const bytes = new Uint8Array(TIMESTAMP_BYTES);
  writeTimestamp(bytes, 0, us);
  return decoder.decode(bytes);
}

/** The units in µs, the largest first. */
const UNITS_US = {
  d: 86_400_000_000,
  h: 3_600_000_000,
  m: 60_000_000,
  s: 1_000_000,
  ms: 1_000,
  us: 1,
} as const;

const DURATION = /^([0-9]{1,16})(?:\.([0-9]{1,16}))?(us|ms|s|m|h|d)$/;

/**
 * Reads a duration: a decimal number of one unit, `us`, `ms`, `s`, `m`, `h` or `d`.
 *
 * @returns whole µs; NaN where it is none, or not exact, or past 2^53 − 1 µs (285 years)
 */
export function parseDuration(text: string): number {
  const match = DURATION.exec(text);
  if (match === null) return NaN;
  const [, whole = "", fraction = "", unit] = match;
  const unitUs = BigInt(UNITS_US[unit as keyof typeof UNITS_US]);
  const scale = 10n ** BigInt(fraction.length);
  const scaledUs = BigInt(whole + fraction) * unitUs;
  if (scaledUs % scale !== 0n) return NaN;
  const us = Number(scaledUs / scale);
  return Number.isSafeInteger(us) ? us : NaN;
}

/**
 * Writes a duration as a whole number of the largest unit that allows it, which is the shortest without a decimal point:
 * `600s` is `10m`, `1500ms` stays.
 *
 * @param us whole µs, 0 or more
 */
export function formatDuration(us: number): string {
  assert(Number.isSafeInteger(us) && us >= 0, "a duration is a whole number of µs");
  if (us === 0) return "0s";
  for (const [unit, unitUs] of Object.entries(UNITS_US)) {
    if (us % unitUs === 0) return `${us / unitUs}${unit}`;
  }
  return `${us}us`;
}
