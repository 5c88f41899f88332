/**
 * The life of pairs with a ten-minute dwell, in its steady state: each pair's timer is scheduled once, and then cancelled
 * or told. A pair's number is not used a second time.
 *
 * ```
 *   a pair's life     8 in 9 leave after 0 to 562.5 s, evenly; 1 in 9 stays until its dwell is due at 600 s
 *   mean              316.7 s; 1.9 million live pairs are 6,000 that come a second and 6,000 that go: 12,000 operations
 *   before it starts  the live pairs are of such an age as they would be had this gone on for ever
 * ```
 *
 * Time goes in steps of 10 ms; what comes and goes in each is drawn from a seed beforehand, and costs nothing while it is
 * measured.
 *
 * @module
 */
import { randomFrom } from "../../tests/support/random.ts";

/** How long a step is, µs. */
export const STEP_US = 10_000;
/** Where the steps begin, µs since the epoch. */
export const CHURN_START_US: number = Date.UTC(2025, 4, 5, 4) * 1000;

const DWELL_US = 600_000_000;
const LEAVE_US_MAX = 562_500_000;
const STAY_RATIO = 1 / 9;
const LIFE_US_MEAN = STAY_RATIO * DWELL_US + (1 - STAY_RATIO) * LEAVE_US_MAX / 2;

/** See the module's header. */
export class Churn {
  /** Pairs that live when it starts: 0 up to this. */
  readonly pairs: number;
  /** How many pairs there are in all. */
  readonly total: number;
  readonly steps: number;
  /** When each pair's dwell is due. */
  readonly deadlinesUs: Float64Array;
  readonly #cancels: number[][];

  /** @param options `pairs` that live at once, through `steps` of 10 ms */
  constructor({ pairs, steps, seed }: { pairs: number; steps: number; seed: number }) {
    this.pairs = pairs;
    this.steps = steps;
    this.total = this.#firstOf(steps);
    this.deadlinesUs = new Float64Array(this.total);
    this.#cancels = Array.from({ length: steps }, () => []);
    const random = randomFrom(seed);
    for (let pair = 0; pair < pairs; pair++) this.#draw(pair, CHURN_START_US - drawAgeUs(random), random);
    for (let step = 0; step < steps; step++) {
      for (let pair = this.#firstOf(step); pair < this.#firstOf(step + 1); pair++) {
        this.#draw(pair, timeOfStep(step), random);
      }
    }
  }

  /** The pairs that come in a step: from the first up to the second. */
  arrivals(step: number): readonly [number, number] {
    return [this.#firstOf(step), this.#firstOf(step + 1)];
  }

  /** The pairs that leave in a step. */
  departures(step: number): readonly number[] {
    return this.#cancels[step] as number[];
  }

  #firstOf(step: number): number {
    return this.pairs + Math.floor(step * this.pairs * STEP_US / LIFE_US_MEAN);
  }

  /** A pair that came at a time, and is still there when the steps begin if that was before. */
  #draw(pair: number, enterUs: number, random: () => number): void {
    this.deadlinesUs[pair] = enterUs + DWELL_US;
    const ageUs = Math.max(0, CHURN_START_US - enterUs);
    if (random() < STAY_RATIO / survival(ageUs)) return;
    const leaveUs = enterUs + ageUs + random() * (LEAVE_US_MAX - ageUs);
    // In the step after it, so that none leaves in the step in which it comes, before it has come.
    const step = Math.floor((leaveUs - CHURN_START_US) / STEP_US) + 1;
    this.#cancels[step]?.push(pair);
  }
}

/** When a step is, µs. */
export function timeOfStep(step: number): number {
  return CHURN_START_US + step * STEP_US;
}

/** The share of pairs that are still there at an age. */
function survival(ageUs: number): number {
  return ageUs >= LEAVE_US_MAX ? STAY_RATIO : 1 - (1 - STAY_RATIO) * ageUs / LEAVE_US_MAX;
}

/** An age of a live pair: older ones are fewer. */
function drawAgeUs(random: () => number): number {
  for (;;) {
    const ageUs = random() * DWELL_US;
    if (random() < survival(ageUs)) return ageUs;
  }
}
