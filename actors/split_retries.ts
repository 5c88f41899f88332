/**
 * What a split's supervisor does about a failure: how long it waits before it opens the split anew, or that it gives up.
 *
 * | failure | |
 * |---|---|
 * | something is away | tried for ever, with growing pauses |
 * | something is refused, and may be an outage in disguise | the same, for {@link REFUSED_US_MAX} |
 * | a fault of ours | the same, {@link RESTARTS_MAX} times in a row |
 * | fenced | once more after {@link FENCED_US}: see below |
 * | anything else | given up |
 *
 * **Fenced**, mostly another process has the partition by now, and the group is about to say so: to try at once would
 * fence *that* one. Where the group does not say so, the partition is ours all the same: this process stood still for
 * longer than a transaction may last (a machine that slept), or one that did, and has lost it, woke up within its opening.
 * Then it goes on. Fenced again soon after, two groups have one name.
 *
 * @module
 */
import { AssertionFailed } from "../lib/assert.ts";
import { type Clock, FencedError, UnavailableError } from "./ports.ts";
import { RESTARTS_MAX } from "./system.ts";

const FIRST_PAUSE_US = 250_000;
const PAUSE_US_MAX = 15_000_000;
/** For as long a refusal that may pass is not believed, as the group's: brokers that come up don't know their topics. */
export const REFUSED_US_MAX = 60_000_000;
/**
 * How long the group may take to notice that another process has a partition. Our session is over by then, or the other
 * would not have got it; so the next heartbeat says so, half a second later. Where none is answered, the group's watchdog
 * takes up to 56 s.
 */
export const FENCED_US = 60_000_000;
/** Two fences that are farther apart have nothing to do with each other. Two groups fence each other every 2 `FENCED_US`. */
const FENCED_AGAIN_US = 5 * FENCED_US;
/** Each opening makes a checkpoint: more of them show that it worked. */
const CHECKPOINTS_OF_OPENING = 2;

/** See the module's header. */
export interface SplitRetriesOptions {
  /** The split's, for messages. */
  readonly name: string;
  readonly clock: Pick<Clock, "monotonicUs">;
  /** Whether a refusal may be an outage in disguise. */
  readonly mayPass: (error: unknown) => boolean;
}

/** See the module's header. Of one split, for as long as it is this process's. */
export class SplitRetries {
  readonly #options: SplitRetriesOptions;
  /** In a row. */
  #failures = 0;
  #faults = 0;
  /** The most that a failed split had made. */
  #checkpoints = -1;
  #refusedSinceUs = Infinity;
  #fencedAtUs = -Infinity;

  constructor(options: SplitRetriesOptions) {
    this.#options = options;
  }

  /**
   * A split has failed.
   *
   * @param checkpoints how many there were of it, in all
   * @returns after how many µs it is to be opened anew
   * @throws what it is given up with
   */
  failed(error: unknown, checkpoints: number): number {
    const nowUs = this.#options.clock.monotonicUs();
    if (error instanceof FencedError) return this.#fenced(error, nowUs);
    if (checkpoints > this.#checkpoints + CHECKPOINTS_OF_OPENING) this.#failures = this.#faults = 0;
    // One that failed before it knew its state says 0.
    this.#checkpoints = Math.max(this.#checkpoints, checkpoints);
    if (error instanceof AssertionFailed) {
      if (++this.#faults > RESTARTS_MAX) {
        throw new Error(`Gave up after ${RESTARTS_MAX} restarts from the checkpoint`, { cause: error });
      }
    } else if (!(error instanceof UnavailableError)) {
      if (!this.#options.mayPass(error)) throw error;
      this.#refusedSinceUs = Math.min(this.#refusedSinceUs, nowUs);
      if (nowUs - this.#refusedSinceUs >= REFUSED_US_MAX) throw error;
      return this.#pauseUs();
    }
    this.#refusedSinceUs = Infinity;
    return this.#pauseUs();
  }

  #pauseUs(): number {
    return Math.min(PAUSE_US_MAX, FIRST_PAUSE_US * 2 ** this.#failures++);
  }

  #fenced(error: FencedError, nowUs: number): number {
    if (nowUs - this.#fencedAtUs >= FENCED_AGAIN_US) {
      this.#fencedAtUs = nowUs;
      return FENCED_US;
    }
    throw new Error(
      `${this.#options.name} is written by another process, and yet is this one's: do two groups share the name of a ` +
        "deployment, or two processes that are in none?",
      { cause: error },
    );
  }
}
