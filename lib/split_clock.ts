/**
 * The clocks of a source split: the watermark, by which the dwell logic lives, and the dedup clock, by which ids expire.
 *
 * ```
 *   observed time  = min(event time, ingest time)        one device's fast clock can't fire everyone's timers
 *   watermark      = highest observed − lateness         event time; never goes back
 *   dedup clock    = highest ingest time                 never goes back
 *
 *   following (live sources only), each never going back:
 *   watermark      = highest observed − lateness + time since it arrived
 *   dedup clock    = highest ingest time         + time since it arrived
 * ```
 *
 * A quiet fleet must still fire, but a replay of last year's log must not jump to today, and a stalled pipe of old data
 * must make nothing up. So the wall clock moves time on only while the source is live, has caught up, its highest
 * observed time was fresh when it arrived, and it has been open long enough for clients to send what they kept. What is
 * added is monotonic time: a wall clock that is set moves nothing. After a gap between two ticks (suspend, SIGSTOP)
 * nobody knows what has piled up meanwhile, so the source has to prove anew that it has caught up, by a later tick that
 * finds nothing unread, and clients get their time again. What a suspend lasted is not counted, where the monotonic
 * clock leaves it out: the next record brings it.
 *
 * Rejected: the wall clock itself as the dedup clock while following. One set wrongly by an hour would forget every id.
 * The two are close, since following needs a highest observed time that was fresh.
 *
 * About 10 ns a record, nothing allocated.
 *
 * Time is an argument; nothing here asks for it.
 *
 * @module
 */
import { assert } from "./assert.ts";
import type { Json } from "./json.ts";

/** A gap between two ticks is one of at least this many ticks, and this long. */
const GAP_TICKS = 5;
const GAP_US = 5_000_000;

/** What the operating system says of now. */
export interface Now {
  /** µs since the epoch; may jump. */
  readonly wallUs: number;
  /** µs since some start; never goes back while the process runs. */
  readonly monotonicUs: number;
}

/** Configuration of a split's clocks. Durations in µs. */
export interface SplitClockOptions {
  /** How far the watermark stays behind, µs. */
  readonly latenessUs: number;
  /** How near to the wall clock a record must arrive to be followed on from, µs. */
  readonly liveWithinUs: number;
  /** How long a source that keeps nothing must have been open before it is followed, µs. */
  readonly settleUs: number;
  /** Time between two ticks, µs. */
  readonly tickUs: number;
  /** How far in the future a time may be, µs. */
  readonly maxFutureSkewUs: number;
  /** Whether the wall clock may move the watermark on at all. */
  readonly live: boolean;
  /** Whether the source keeps what is sent while nobody reads (Kafka), so that there is nothing to settle. */
  readonly keepsUnread: boolean;
}

/** See the module's header. All times are µs since the epoch, −Infinity before the first record. */
export class SplitClock {
  /** The watermark. */
  watermarkUs: number = -Infinity;
  /** The watermark before the record that was observed last. */
  watermarkBeforeUs: number = -Infinity;
  /** The dedup clock, the last record counted. */
  dedupClockUs: number = -Infinity;
  /** Whether a record without an ingest time has moved time far on: it does so for all devices. */
  warnedFutureRecord = false;

  readonly #options: SplitClockOptions;
  #highestObservedUs = -Infinity;
  #highestEventUs = -Infinity;
  #highestIngestUs = -Infinity;
  /** When the highest observed time arrived: −Infinity for never, monotonic NaN for in an earlier process. */
  #observedAtWallUs = -Infinity;
  #observedAtMonotonicUs = NaN;
  /** The same of the highest ingest time. */
  #ingestedAtWallUs = -Infinity;
  #ingestedAtMonotonicUs = NaN;
  #fresh = false;
  /** Since when clients have been able to send, and what they sent has been read; null before the first tick. */
  #openSinceUs: number | null = null;
  #lastTick: Now | null = null;
  #following = false;

  /** Before the first record all clocks are −Infinity. */
  constructor(options: SplitClockOptions) {
    this.#options = options;
  }

  /** The highest observed time. */
  get highestObservedUs(): number {
    return this.#highestObservedUs;
  }

  /** Whether the last tick moved on with the wall clock. */
  get following(): boolean {
    return this.#following;
  }

  /**
   * Takes a record's times into account. Afterwards {@link watermarkBeforeUs} tells whether it is late, and
   * {@link dedupClockUs} all else.
   *
   * @param ingestTimeUs NaN where it carries none: then the arrival clock of a live source, else the highest event time
   * read so far, its own included
   * @param arrival when it was read; the object is not kept
   */
  observe(eventTimeUs: number, ingestTimeUs: number, arrival: Now): void {
    this.watermarkBeforeUs = this.watermarkUs;
    if (ingestTimeUs !== ingestTimeUs) ingestTimeUs = this.#assumedIngest(eventTimeUs, arrival);
    if (eventTimeUs > this.#highestEventUs) this.#highestEventUs = eventTimeUs;
    if (ingestTimeUs > this.#highestIngestUs) {
      this.#highestIngestUs = ingestTimeUs;
      if (this.#options.live) {
        this.#ingestedAtWallUs = arrival.wallUs;
        this.#ingestedAtMonotonicUs = arrival.monotonicUs;
      }
      if (ingestTimeUs > this.dedupClockUs) this.dedupClockUs = ingestTimeUs;
    }
    const observedUs = eventTimeUs < ingestTimeUs ? eventTimeUs : ingestTimeUs;
    if (observedUs <= this.#highestObservedUs) return;
    this.#highestObservedUs = observedUs;
    if (this.#options.live) {
      this.#observedAtWallUs = arrival.wallUs;
      this.#observedAtMonotonicUs = arrival.monotonicUs;
      this.#fresh = Math.abs(arrival.wallUs - observedUs) <= this.#options.liveWithinUs;
    }
    this.#raise(observedUs - this.#options.latenessUs);
  }

  /**
   * Lets the wall clock move time on, where that is allowed.
   *
   * @param caughtUp nothing is unread, in a mailbox, paused or shed
   */
  tick(now: Now, caughtUp: boolean): void {
    const { live, keepsUnread, settleUs, latenessUs } = this.#options;
    const last = this.#lastTick;
    this.#lastTick = { wallUs: now.wallUs, monotonicUs: now.monotonicUs };
    this.#following = false;
    if (!live) return;
    if (this.#openSinceUs === null || (last !== null && this.#isGap(last, now))) {
      // What has piled up is read by the next tick at the earliest.
      this.#openSinceUs = now.monotonicUs;
      return;
    }
    if (!caughtUp || !this.#fresh) return;
    if (!keepsUnread && now.monotonicUs - this.#openSinceUs < settleUs) return;
    this.#following = true;
    this.#anchor(now);
    this.#raise(this.#highestObservedUs - latenessUs + (now.monotonicUs - this.#observedAtMonotonicUs));
    const dedupClockUs = this.#highestIngestUs + (now.monotonicUs - this.#ingestedAtMonotonicUs);
    if (dedupClockUs > this.dedupClockUs) this.dedupClockUs = dedupClockUs;
  }

  /** Moves the watermark to where it has to be, since too much waits for it. */
  force(watermarkUs: number): void {
    this.#raise(watermarkUs);
  }

  /** The input is complete: nothing more can be late. */
  flush(): void {
    this.#raise(this.#highestObservedUs);
  }

  /** As a checkpoint keeps it. */
  state(): Json {
    return {
      watermarkUs: finiteOrNull(this.watermarkUs),
      dedupClockUs: finiteOrNull(this.dedupClockUs),
      highestObservedUs: finiteOrNull(this.#highestObservedUs),
      highestEventUs: finiteOrNull(this.#highestEventUs),
      highestIngestUs: finiteOrNull(this.#highestIngestUs),
      observedAtWallUs: finiteOrNull(this.#observedAtWallUs),
      ingestedAtWallUs: finiteOrNull(this.#ingestedAtWallUs),
      fresh: this.#fresh,
    };
  }

  /** Takes over what {@link state} gave, in a new process: its monotonic clock has another start. */
  restore(state: Json): void {
    assert(
      typeof state === "object" && state !== null && !Array.isArray(state),
      "a clock's state is an object",
    );
    const { fresh, ...times } = state as Record<string, Json>;
    const time = (name: string): number => typeof times[name] === "number" ? times[name] : -Infinity;
    this.watermarkUs = this.watermarkBeforeUs = time("watermarkUs");
    this.dedupClockUs = time("dedupClockUs");
    this.#highestObservedUs = time("highestObservedUs");
    this.#highestEventUs = time("highestEventUs");
    this.#highestIngestUs = time("highestIngestUs");
    this.#observedAtWallUs = time("observedAtWallUs");
    this.#ingestedAtWallUs = time("ingestedAtWallUs");
    this.#observedAtMonotonicUs = this.#ingestedAtMonotonicUs = NaN;
    this.#fresh = fresh === true;
  }

  #assumedIngest(eventTimeUs: number, arrival: Now): number {
    if (this.#options.live) return arrival.wallUs;
    const highestUs = this.#highestEventUs;
    if (eventTimeUs - highestUs > this.#options.maxFutureSkewUs && highestUs !== -Infinity) {
      this.warnedFutureRecord = true;
    }
    return eventTimeUs > highestUs ? eventTimeUs : highestUs;
  }

  /** Puts arrivals of an earlier process on this one's monotonic clock: once, by the wall clock, which alone knows. */
  #anchor(now: Now): void {
    if (Number.isNaN(this.#observedAtMonotonicUs)) {
      this.#observedAtMonotonicUs = now.monotonicUs - downtime(this.#observedAtWallUs, now);
    }
    if (Number.isNaN(this.#ingestedAtMonotonicUs)) {
      this.#ingestedAtMonotonicUs = now.monotonicUs - downtime(this.#ingestedAtWallUs, now);
    }
  }

  #isGap(last: Now, now: Now): boolean {
    const gapUs = Math.max(now.monotonicUs - last.monotonicUs, now.wallUs - last.wallUs);
    return gapUs > Math.max(GAP_US, GAP_TICKS * this.#options.tickUs);
  }

  #raise(watermarkUs: number): void {
    if (watermarkUs > this.watermarkUs) this.watermarkUs = watermarkUs;
  }
}

/** Time since an arrival in an earlier process; 0 where it wasn't live, so that nobody noted it, or the clock was set back. */
function downtime(arrivedWallUs: number, now: Now): number {
  return arrivedWallUs === -Infinity ? 0 : Math.max(0, now.wallUs - arrivedWallUs);
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
