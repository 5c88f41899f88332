/**
 * What each way to keep timers has to be able to do to be compared.
 *
 * @module
 */

/** Timers, one a pair; pairs are numbers below the capacity that they were made for. */
export interface Timers {
  /** For a pair that has none. */
  schedule(pair: number, deadlineUs: number): void;
  /** Takes away that of a pair that has one. */
  cancel(pair: number): void;
  /** Time has come so far: tells what is due. Of what has timers of its own nothing is asked. */
  advanceTo(nowUs: number): void;
}

/** What timers are made with. */
export interface TimersOptions {
  readonly capacity: number;
  /** When it is, µs: the clock of the workload. */
  readonly nowUs: () => number;
  /** Is told each pair that is due. */
  readonly told: (pair: number) => void;
}
