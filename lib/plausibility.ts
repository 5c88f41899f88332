/**
 * Times that can't be: SPEC 1's `TIME_TOO_OLD` and `TIME_IN_FUTURE`, which need a clock to be judged by.
 *
 * A clock that was reset would otherwise move nothing but its own device; one that runs ahead would move everyone's
 * watermark. So they are refused before they move anything.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { formatDuration, formatTimestamp } from "./time.ts";

/** No transition was before GPS devices reported them: 2000-01-01, in µs. */
export const OLDEST_EVENT_TIME_US = 946_684_800_000_000;

/** Nor was one that was meant after 2100-01-01, in µs. */
const NEWEST_LIKELY_US = 4_102_444_800_000_000;

/** What a record says of time, and what it is judged by. */
export interface Times {
  /** Event time, µs. */
  readonly eventTimeUs: number;
  /** NaN where the record carries none. */
  readonly ingestTimeUs: number;
  /** Before this record. */
  readonly dedupClockUs: number;
  /** The wall clock, µs. */
  readonly wallUs: number;
}

/** Why a record's times can't be. */
export interface Implausible {
  /** Reason of the dead letter. */
  readonly reason: "TIME_TOO_OLD" | "TIME_IN_FUTURE";
  /** What it tells a person. */
  readonly detail: string;
}

/** Whether a time may be meant, for guesses at what was meant by another. */
export function isLikely(us: number): boolean {
  return us >= OLDEST_EVENT_TIME_US && us < NEWEST_LIKELY_US;
}

/** Judges a record's times; null where they can be. */
export function judgeTimes(times: Times, limits: Config["time"]): Implausible | null {
  const { eventTimeUs, ingestTimeUs, dedupClockUs, wallUs } = times;
  const { maxFutureSkewUs, maxAgeUs } = limits;
  if (eventTimeUs < OLDEST_EVENT_TIME_US) {
    return tooOld(
      `Event time ${formatTimestamp(eventTimeUs)} is before 2000-01-01${hintOfUnit(eventTimeUs)}`,
    );
  }
  const carries = !Number.isNaN(ingestTimeUs);
  if (carries && ingestTimeUs - wallUs > maxFutureSkewUs) {
    return inFuture(ahead("Ingest time", ingestTimeUs, "the wall clock", wallUs, maxFutureSkewUs));
  }
  const againstUs = carries ? ingestTimeUs : wallUs;
  if (eventTimeUs - againstUs > maxFutureSkewUs) {
    const against = carries ? "its ingest time" : "the wall clock";
    return inFuture(ahead("Event time", eventTimeUs, against, againstUs, maxFutureSkewUs));
  }
  const clockUs = carries && ingestTimeUs > dedupClockUs ? ingestTimeUs : dedupClockUs;
  if (clockUs - eventTimeUs > maxAgeUs) {
    return tooOld(
      `Event time ${formatTimestamp(eventTimeUs)} is more than ${formatDuration(maxAgeUs)} before ` +
        `${formatTimestamp(clockUs)}, the highest ingest time`,
    );
  }
  return null;
}

/** Seconds in a field of milliseconds, and the like. */
function hintOfUnit(us: number): string {
  const scale = [1e3, 1e6, 1e9].find((scale) => isLikely(us * scale));
  if (scale === undefined) return "";
  return `: times ${scale} it would be ${formatTimestamp(us * scale)}, so its unit may not be its field's`;
}

function tooOld(detail: string): Implausible {
  return { reason: "TIME_TOO_OLD", detail };
}

function inFuture(detail: string): Implausible {
  return { reason: "TIME_IN_FUTURE", detail };
}

function ahead(what: string, timeUs: number, against: string, againstUs: number, limitUs: number): string {
  return `${what} ${formatTimestamp(timeUs)} is more than ${formatDuration(limitUs)} past ${against}, ` +
    formatTimestamp(againstUs);
}
