/**
 * One physical timer for all logical ones: time arrives as a message, and nobody else asks the operating system for it.
 *
 * @module
 */
import type { Clock } from "./ports.ts";

/** A tick. */
export interface Tick {
  readonly wallUs: number;
  readonly monotonicUs: number;
}

/** Ticks while somebody listens. */
export class Ticker {
  readonly #clock: Clock;
  readonly #tickUs: number;
  readonly #subscribers = new Set<(tick: Tick) => void>();
  #cancel: (() => void) | null = null;

  /** @param tickUs time between two ticks */
  constructor(clock: Clock, tickUs: number) {
    this.#clock = clock;
    this.#tickUs = tickUs;
  }

  /** Calls back at each tick until the returned function is called. */
  subscribe(callback: (tick: Tick) => void): () => void {
    this.#subscribers.add(callback);
    this.#cancel ??= this.#clock.every(this.#tickUs, () => this.#tick());
    return () => {
      this.#subscribers.delete(callback);
      if (this.#subscribers.size === 0) this.stop();
    };
  }

  /** Stops ticking; a later subscription starts it again. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #tick(): void {
    const tick = { wallUs: this.#clock.wallUs(), monotonicUs: this.#clock.monotonicUs() };
    for (const callback of this.#subscribers) callback(tick);
  }
}
