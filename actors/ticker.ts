/**
 * One physical timer for all logical ones: time arrives as a message, and nobody else asks the operating system for it.
 *
 * @module
 */
import type { Clock } from "./ports.ts";

/** A tick. */
export interface Tick {
  /** µs since the Unix epoch. */
  readonly wallUs: number;
  /** µs since some start; never goes back. */
  readonly monotonicUs: number;
}

/** One subscription: an object, so that a callback that subscribes twice is called twice. */
interface Subscriber {
  readonly callback: (tick: Tick) => void;
}

/** Ticks while somebody listens. */
export class Ticker {
  readonly #clock: Clock;
  readonly #tickUs: number;
  readonly #subscribers = new Set<Subscriber>();
  #cancel: (() => void) | null = null;

  /** @param tickUs time between two ticks, µs */
  constructor(clock: Clock, tickUs: number) {
    this.#clock = clock;
    this.#tickUs = tickUs;
  }

  /** Calls back at each tick until the returned function is called. */
  subscribe(callback: (tick: Tick) => void): () => void {
    const subscriber = { callback };
    this.#subscribers.add(subscriber);
    this.#cancel ??= this.#clock.every(this.#tickUs, () => this.#tick());
    return () => {
      this.#subscribers.delete(subscriber);
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
    for (const { callback } of this.#subscribers) callback(tick);
  }
}
