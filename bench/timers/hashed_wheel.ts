/**
 * A hashed wheel of slots of a second, each an array of pairs. Two ways to cancel:
 *
 * - `scan`: looks for the pair in its slot and takes it out. With 1.9 million pairs and ten minutes a slot has some 3,000.
 * - `tombstone`: says that the pair has no deadline, and leaves the entry where it is until its slot is due.
 *
 * A slot is gone through when its second is over, so a timer is told up to a second late, which costs least.
 *
 * The array of deadlines is part of it: without it nobody knows in which slot to look, or whether an entry is dead.
 *
 * @module
 */
import type { Timers, TimersOptions } from "./timers.ts";

const SLOT_US = 1_000_000;
const SLOTS = 1024;
const NO_DEADLINE = Infinity;

/** See the module's header. */
export class HashedWheel implements Timers {
  readonly #told: (pair: number) => void;
  readonly #cancel: "scan" | "tombstone";
  readonly #slots: number[][] = Array.from({ length: SLOTS }, () => []);
  readonly #deadlinesUs: Float64Array;
  /** The first one whose slot was not gone through. */
  #second: number;

  /** No timers yet. */
  constructor({ capacity, told, nowUs }: TimersOptions, cancel: "scan" | "tombstone") {
    this.#told = told;
    this.#cancel = cancel;
    this.#deadlinesUs = new Float64Array(capacity).fill(NO_DEADLINE);
    this.#second = Math.floor(nowUs() / SLOT_US);
  }

  schedule(pair: number, deadlineUs: number): void {
    this.#deadlinesUs[pair] = deadlineUs;
    this.#slotOf(deadlineUs).push(pair);
  }

  cancel(pair: number): void {
    const deadlineUs = this.#deadlinesUs[pair] as number;
    this.#deadlinesUs[pair] = NO_DEADLINE;
    if (this.#cancel === "tombstone") return;
    const slot = this.#slotOf(deadlineUs);
    const last = slot.pop() as number;
    if (last !== pair) slot[slot.indexOf(pair)] = last;
  }

  advanceTo(nowUs: number): void {
    const nowSecond = Math.floor(nowUs / SLOT_US);
    for (; this.#second < nowSecond; this.#second++) {
      const slot = this.#slots[this.#second % SLOTS] as number[];
      let kept = 0;
      for (const pair of slot) {
        const deadlineUs = this.#deadlinesUs[pair] as number;
        if (deadlineUs <= nowUs) {
          this.#deadlinesUs[pair] = NO_DEADLINE;
          this.#told(pair);
        } else if (deadlineUs !== NO_DEADLINE) slot[kept++] = pair;
      }
      slot.length = kept;
    }
  }

  #slotOf(deadlineUs: number): number[] {
    return this.#slots[Math.floor(deadlineUs / SLOT_US) % SLOTS] as number[];
  }
}
