/**
 * Ours: `lib/timing_wheel.ts` over columns that hold nothing but a deadline and two links a pair, 16 bytes.
 *
 * @module
 */
import { LINK_SEGMENT_BITS, NO_ROW, TimingWheel, WheelLinks } from "../../lib/timing_wheel.ts";
import type { Timers, TimersOptions } from "./timers.ts";

const SEGMENT_ROWS = 1 << LINK_SEGMENT_BITS;

/** See the module's header. */
export class OurWheel implements Timers {
  readonly #told: (pair: number) => void;
  readonly #deadlinesUs: Float64Array[] = [];
  readonly #wheel: TimingWheel;

  /** No timers yet. */
  constructor({ capacity, told }: TimersOptions) {
    this.#told = told;
    const links: Int32Array[] = [];
    for (let rows = 0; rows < capacity; rows += SEGMENT_ROWS) {
      links.push(new Int32Array(SEGMENT_ROWS * 2));
      this.#deadlinesUs.push(new Float64Array(SEGMENT_ROWS));
    }
    const deadlines = { segments: this.#deadlinesUs, stride: 1, offset: 0 };
    this.#wheel = new TimingWheel(new WheelLinks(links, { stride: 2, offset: 0 }), deadlines);
  }

  schedule(pair: number, deadlineUs: number): void {
    const segment = this.#deadlinesUs[pair >>> LINK_SEGMENT_BITS] as Float64Array;
    segment[pair & (SEGMENT_ROWS - 1)] = deadlineUs;
    this.#wheel.schedule(pair);
  }

  cancel(pair: number): void {
    this.#wheel.cancel(pair);
  }

  advanceTo(nowUs: number): void {
    for (let pair = this.#wheel.popDue(nowUs); pair !== NO_ROW; pair = this.#wheel.popDue(nowUs)) {
      this.#told(pair);
    }
  }
}
