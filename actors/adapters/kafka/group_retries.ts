/**
 * When a group that failed is tried again, when it is given up, and what is said of it.
 *
 * ```
 *   failed ─▶ pause 0.25 s ─▶ failed ─▶ 0.5 s ─▶ … 15 s ─▶ joined ─▶ works for 15 s: the next failure is the first again
 *     said                    not said again within a minute  "again"
 * ```
 *
 * **A refusal may be an outage in disguise.** A broker that comes up does not know its topics at first. So what once worked
 * is tried for a while before the refusal is believed; but for a right that is missing.
 *
 * @module
 */
import type { Clock } from "../../ports.ts";
import { KafkaRefusedError } from "./kafka_client.ts";
import { isDenied } from "./kafka_failure.ts";

/** Pauses between two tries, each twice the one before. */
export const FIRST_PAUSE_US = 250_000;
export const LONGEST_PAUSE_US = 15_000_000;
/** A failure that goes on is said again after as long. */
export const SAY_AGAIN_US = 60_000_000;

/** See the module's header. */
export interface GroupRetriesOptions {
  readonly clock: Pick<Clock, "monotonicUs">;
  /** For as long a refusal is tried again, µs, where it may be an outage. */
  readonly patienceUs: number;
  /** What is done, as in `Reads t as group g again`. */
  readonly described: string;
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class GroupRetries {
  readonly #options: GroupRetriesOptions;
  #hasJoined = false;
  /** Failures in a row, and when one was said last. */
  #failures = 0;
  #saidAtUs = -Infinity;
  /** Since when each try was refused. */
  #refusedSinceUs = Infinity;
  /** When the group was joined since the last failure. */
  #joinedAtUs = Infinity;

  constructor(options: GroupRetriesOptions) {
    this.#options = options;
  }

  /** Whether it ever worked. */
  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  /** The group was joined, for the first time or again. */
  joined(): void {
    const { clock, notice, described } = this.#options;
    this.#hasJoined = true;
    if (this.#joinedAtUs !== Infinity) return;
    this.#joinedAtUs = clock.monotonicUs();
    if (this.#failures > 0) notice(`${described} again`);
  }

  /** The group failed. Returns after how many µs it is to be tried again; null where that can't help. */
  failed(failure: Error): number | null {
    const nowUs = this.#options.clock.monotonicUs();
    // One that joins and fails at once has not shown that it works.
    if (nowUs - this.#joinedAtUs >= LONGEST_PAUSE_US) {
      this.#failures = 0;
      this.#saidAtUs = -Infinity;
      this.#refusedSinceUs = Infinity;
    }
    this.#joinedAtUs = Infinity;
    if (this.#isFinal(failure, nowUs)) return null;
    if (nowUs - this.#saidAtUs >= SAY_AGAIN_US) {
      this.#saidAtUs = nowUs;
      this.#options.notice(`${failure.message}; it is tried again until it works`);
    }
    return Math.min(FIRST_PAUSE_US * 2 ** this.#failures++, LONGEST_PAUSE_US);
  }

  #isFinal(failure: Error, nowUs: number): boolean {
    if (!(failure instanceof KafkaRefusedError)) {
      this.#refusedSinceUs = Infinity;
      return false;
    }
    if (!this.#hasJoined || isDenied(failure)) return true;
    this.#refusedSinceUs = Math.min(this.#refusedSinceUs, nowUs);
    return nowUs - this.#refusedSinceUs >= this.#options.patienceUs;
  }
}
