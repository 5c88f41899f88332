/**
 * Chance that a seed determines, with the words that generators need.
 *
 * @module
 */
import { randomFrom } from "../support/random.ts";

/** Draws from one seeded stream of numbers: the same calls give the same answers. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomFrom(seed);
  }

  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** Whether something of this probability happens. */
  happens(probability: number): boolean {
    return this.#next() < probability;
  }

  /** One of them; there must be one. */
  pick<const T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError("Cannot pick one of none");
    return choices[this.below(choices.length)] as T;
  }

  /** One of them, each as likely as its weight; at least one must weigh something. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T {
    let at = this.#next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    let chosen: T | undefined;
    for (const [choice, weight] of choices) {
      if (weight > 0 && at >= 0) chosen = choice;
      at -= weight;
    }
    return chosen as T;
  }

  /** Them in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    const keyed = items.map((item) => ({ item, key: this.#next() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
  }
}
