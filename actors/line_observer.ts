/**
 * Told of the lines that go to a sink: for those who look on.
 *
 * @module
 */
import type { LineBatch } from "./ports.ts";

/** Of one sink of one split. */
export interface LineObserver {
  /** These were written; the batch is used again when this returns. */
  written(lines: LineBatch): void;
  /** All that were written are durable. */
  durable(): void;
  /** Those that are not durable yet will be learned of in another way, or never. */
  halted(): void;
}

/** What a split's outputs are watched by. */
export interface SplitObservers {
  readonly triggers: LineObserver;
  readonly deadLetters: LineObserver;
}
