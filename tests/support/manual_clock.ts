/**
 * A clock whose delays end when the test moves it, and not before.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../actors/ports.ts";

interface Waiting {
  readonly atUs: number;
  readonly resolve: () => void;
}

/** See the module's header. */
export class ManualClock implements Clock {
  #nowUs: number;
  readonly #waiting = new Set<Waiting>();

  constructor(wallUs: number) {
    this.#nowUs = wallUs;
  }

  wallUs(): number {
    return this.#nowUs;
  }

  monotonicUs(): number {
    return this.#nowUs;
  }

  delay(us: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const waiting = { atUs: this.#nowUs + us, resolve };
      this.#waiting.add(waiting);
      signal?.addEventListener("abort", () => {
        if (this.#waiting.delete(waiting)) reject(signal.reason);
      }, { once: true });
    });
  }

  nextTurn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  every(): () => void {
    throw new Error("Nobody asks this clock for repetition");
  }

  /** When the first delay ends; Infinity where nobody waits. */
  get nextUs(): number {
    return Math.min(Infinity, ...[...this.#waiting].map(({ atUs }) => atUs));
  }

  /** Moves to a time; what waits for less goes on. */
  moveTo(us: number): void {
    this.#nowUs = Math.max(this.#nowUs, us);
    for (const waiting of [...this.#waiting]) {
      if (waiting.atUs > this.#nowUs) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
  }
}
