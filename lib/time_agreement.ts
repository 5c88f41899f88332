/**
 * One time that a record gives in several units: they must agree, and the finest is taken.
 *
 * ```
 *   event_time     "…:10.25Z"        2 digits   …10.25
 *   event_time_ms  …10258            3 digits   …10.258        agrees at 2 digits
 *   event_time_ns  …10258123456      9 digits   …10.258123456  agrees at 3 digits with the finest so far
 * ```
 *
 * Two of them are compared at the coarser unit, floored. Units are powers of ten, so what agrees with the finest agrees
 * with all.
 *
 * @module
 */

/** The digits of a second's fraction that integers of this unit have. */
export const MILLISECOND_DIGITS = 3;
/** As {@link MILLISECOND_DIGITS}. */
export const MICROSECOND_DIGITS = 6;
/** As {@link MILLISECOND_DIGITS}. No two spellings are compared more finely, since there is one string at most. */
export const NANOSECOND_DIGITS = 9;

/** A time as one field gives it. */
export interface TimeReading {
  /** µs since the epoch, floored. */
  readonly us: number;
  /** Nanoseconds on top of them, 0 to 999, floored. */
  readonly nanoseconds: number;
  /** How many digits of the second's fraction are known. */
  readonly digits: number;
}

/**
 * The finer one of two readings of a time.
 *
 * @returns null where they disagree
 */
export function agreeOn(one: TimeReading, other: TimeReading): TimeReading | null {
  const digits = Math.min(one.digits, other.digits, NANOSECOND_DIGITS);
  if (digits <= MICROSECOND_DIGITS) {
    const unit = 10 ** (MICROSECOND_DIGITS - digits);
    if (Math.floor(one.us / unit) !== Math.floor(other.us / unit)) return null;
  } else {
    const unit = 10 ** (NANOSECOND_DIGITS - digits);
    if (one.us !== other.us) return null;
    if (Math.floor(one.nanoseconds / unit) !== Math.floor(other.nanoseconds / unit)) return null;
  }
  return one.digits >= other.digits ? one : other;
}
