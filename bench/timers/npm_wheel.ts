/**
 * npm's `timer-wheel`, a hierarchical wheel of objects. It asks `Date.now()` for the time, and so `Date.now()` is the
 * workload's clock in this process.
 *
 * It loses timers: `advance` goes through the slots from the last one to the current one, both modulo a layer's span, and
 * where that wraps the first is the greater one and none is gone through. They stay in their slot until it is passed
 * another time, an hour or a day later.
 *
 * @module
 */
import { type TimerHandle, TimerWheel } from "timer-wheel";
import type { Timers, TimersOptions } from "./timers.ts";

/** See the module's header. */
export class NpmWheel implements Timers {
  readonly #options: TimersOptions;
  readonly #wheel: TimerWheel<number>;
  readonly #handles: (TimerHandle | undefined)[];

  /** No timers yet. */
  constructor(options: TimersOptions) {
    this.#options = options;
    Date.now = () => Math.floor(options.nowUs() / 1000);
    this.#wheel = new TimerWheel();
    this.#handles = new Array<TimerHandle | undefined>(options.capacity);
  }

  schedule(pair: number, deadlineUs: number): void {
    const delayMs = Math.ceil((deadlineUs - this.#options.nowUs()) / 1000);
    this.#handles[pair] = this.#wheel.schedule(pair, delayMs);
  }

  cancel(pair: number): void {
    this.#handles[pair]?.remove();
    this.#handles[pair] = undefined;
  }

  advanceTo(): void {
    for (const pair of this.#wheel.advance()) {
      this.#handles[pair] = undefined;
      this.#options.told(pair);
    }
  }
}
