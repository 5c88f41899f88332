/**
 * When a webhook is tried again, and what an answer means.
 *
 * ```
 *   attempt   1     2      3      4   …   10 and more
 *   then      5 s   10 s   20 s   40 s    1 h           each times a random factor of 0.5 to 1
 * ```
 *
 * Only 2xx is delivered and only 410 is for ever: of all other answers, 4xx too, a receiver that is being set up, rolled
 * back or rate-limited gives every one, and a trigger that was given up for a 404 of ten minutes is lost. The price is a
 * few attempts more where it really means it.
 *
 * @module
 */

const FIRST_PAUSE_US = 5_000_000;
const PAUSE_US_MAX = 3_600_000_000;
/** A `Retry-After` beyond this is not believed: a year would be a lost receiver. */
export const RETRY_AFTER_US_MAX = 3_600_000_000;
const REDIRECTED = 300;
/** Of 4xx those that are not about what was sent: too slow, too early, too many. */
const NOT_NOW: readonly number[] = [408, 425, 429];

/** How an attempt ended. */
export type Attempt =
  | { readonly outcome: "answered"; readonly status: number; readonly retryAfter: string | null }
  | { readonly outcome: "timed_out" | "unreachable" | "refused_address"; readonly reason: string };

/** What it means. */
export interface Verdict {
  /**
   * `gone` ends the endpoint; `failed` and `refused` are tried again, where refused is what a receiver says of this trigger
   * that may well take others.
   */
  readonly is: "delivered" | "gone" | "failed" | "refused";
  /** For people and dead letters, without a full stop. */
  readonly reason: string;
  /** How long it is asked to wait, µs, bounded; 0 where it is not. */
  readonly retryAfterUs: number;
}

/** Judges an attempt. */
export function judgeAttempt(attempt: Attempt, wallUs: number): Verdict {
  if (attempt.outcome !== "answered") return { is: "failed", reason: attempt.reason, retryAfterUs: 0 };
  const { status, retryAfter } = attempt;
  if (status >= 200 && status < REDIRECTED) {
    return { is: "delivered", reason: `status ${status}`, retryAfterUs: 0 };
  }
  if (status === 410) return { is: "gone", reason: "status 410 (gone)", retryAfterUs: 0 };
  const isRedirect = status >= REDIRECTED && status < 400;
  // A receiver that stumbles over what is in a trigger says 500; one that has no time for any 502 to 504.
  const isRefusal = status >= 400 && status <= 500 && !NOT_NOW.includes(status);
  return {
    is: isRefusal ? "refused" : "failed",
    reason: isRedirect ? `status ${status}, and redirects are not followed` : `status ${status}`,
    retryAfterUs: retryAfter === null ? 0 : parseRetryAfter(retryAfter, wallUs),
  };
}

/**
 * `Retry-After` as seconds or as an HTTP date.
 *
 * @returns µs from now, at most {@link RETRY_AFTER_US_MAX}; 0 where it is neither, or past
 */
export function parseRetryAfter(text: string, wallUs: number): number {
  const trimmed = text.trim();
  const us = /^[0-9]+$/.test(trimmed) ? Number(trimmed) * 1e6 : parseHttpDate(trimmed) - wallUs;
  return Number.isNaN(us) ? 0 : Math.min(Math.max(us, 0), RETRY_AFTER_US_MAX);
}

/**
 * The pause behind a failed attempt, µs.
 *
 * @param attempts how many there have been, 1 or more
 * @param chance from 0 to below 1
 */
export function pauseUs(attempts: number, chance: number): number {
  const fullUs = Math.min(PAUSE_US_MAX, FIRST_PAUSE_US * 2 ** Math.min(attempts - 1, 30));
  return Math.round(fullUs * (0.5 + chance / 2));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const HTTP_DATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const DAY_MS = 86_400_000;

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that may be sent, in µs; NaN where it is none. */
function parseHttpDate(text: string): number {
  const match = HTTP_DATE.exec(text);
  if (match === null) return NaN;
  const [, day, name, year, hours, minutes, seconds] = match as unknown as string[];
  const month = MONTHS.indexOf(name as string);
  if (month < 0) return NaN;
  const days = daysSinceEpoch(Number(year), month + 1, Number(day));
  return (days * DAY_MS + (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000) * 1000;
}

/** Of the Gregorian calendar, as Howard Hinnant's `days_from_civil` has it. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
