/**
 * One `setTimeout` a pair: what one would write first.
 *
 * @module
 */
import type { Timers, TimersOptions } from "./timers.ts";

/** See the module's header. It goes by the machine's clock, whatever the workload's says. */
export class SetTimeout implements Timers {
  readonly #options: TimersOptions;
  /** Numbers or objects: Deno has had both. */
  readonly #handles: ReturnType<typeof setTimeout>[];

  /** No timers yet. */
  constructor(options: TimersOptions) {
    this.#options = options;
    this.#handles = new Array<ReturnType<typeof setTimeout>>(options.capacity);
  }

  schedule(pair: number, deadlineUs: number): void {
    const { told, nowUs } = this.#options;
    this.#handles[pair] = setTimeout(told, (deadlineUs - nowUs()) / 1000, pair);
  }

  cancel(pair: number): void {
    clearTimeout(this.#handles[pair]);
  }

  advanceTo(): void {}
}
