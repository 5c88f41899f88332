/**
 * How many deadlines lie how far ahead: what a picture of the timing wheel shows.
 *
 * ```
 *   seconds  | 0 | 1 | … | 59 |     each scale is whole in itself: a deadline in 30 s is in the
 *   minutes  | 0 | 1 | … | 59 |     30th second, the first minute and the first hour
 *   hours    | 0 | 1 | … | 23 |     and behind that `beyond`
 * ```
 *
 * Counting all of millions of deadlines once a second would stop the work for tens of milliseconds, and counting them as
 * they come and go would be paid for by every record. So it is a **sample**: up to so many rows are looked at, evenly
 * spaced, and each stands for those between. Where there are fewer rows than that, it is exact.
 *
 * @module
 */

const SECOND_US = 1_000_000;
const MINUTE_US = 60 * SECOND_US;
const HOUR_US = 60 * MINUTE_US;

/** See the module's header. */
export class PendingCounts {
  /** Due by the watermark, and not fired yet. */
  overdue = 0;
  /** By whole seconds ahead, the first minute. */
  readonly seconds: number[] = new Array<number>(60).fill(0);
  /** By whole minutes ahead, the first hour. */
  readonly minutes: number[] = new Array<number>(60).fill(0);
  /** By whole hours ahead, the first day. */
  readonly hours: number[] = new Array<number>(24).fill(0);
  /** A day ahead, or more. */
  beyond = 0;
  /** The first deadline, a lower bound in µs; Infinity for none. */
  firstUs: number = Infinity;
  /** Whether some stand for others. */
  isSample = false;

  /**
   * Counts a deadline.
   *
   * @param aheadUs of the watermark; 0 or less is overdue
   * @param weight how many it stands for
   */
  add(aheadUs: number, weight: number): void {
    if (aheadUs <= 0) {
      this.overdue += weight;
      return;
    }
    if (aheadUs < MINUTE_US) increase(this.seconds, Math.floor(aheadUs / SECOND_US), weight);
    if (aheadUs < HOUR_US) increase(this.minutes, Math.floor(aheadUs / MINUTE_US), weight);
    const hour = Math.floor(aheadUs / HOUR_US);
    if (hour < this.hours.length) increase(this.hours, hour, weight);
    else this.beyond += weight;
  }

  /** Adds those of another split. */
  merge(other: PendingCounts): void {
    this.overdue += other.overdue;
    for (const [i, count] of other.seconds.entries()) increase(this.seconds, i, count);
    for (const [i, count] of other.minutes.entries()) increase(this.minutes, i, count);
    for (const [i, count] of other.hours.entries()) increase(this.hours, i, count);
    this.beyond += other.beyond;
    this.firstUs = Math.min(this.firstUs, other.firstUs);
    this.isSample ||= other.isSample;
  }
}

function increase(counts: number[], at: number, by: number): void {
  counts[at] = (counts[at] as number) + by;
}
