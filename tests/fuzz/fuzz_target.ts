/**
 * Something that is read back, as the fuzzer sees it.
 *
 * @module
 */
import type { Chance } from "../sim/chance.ts";

/** One format: how damaged inputs of it are made, and what must hold of each. */
export interface FuzzTarget<Input = Uint8Array> {
  readonly name: string;
  /** Inputs of a million. */
  readonly share: number;
  /** What must have become of some: a fuzzer whose inputs are all refused at the first byte finds nothing. */
  readonly outcomes: readonly string[];
  /** Makes an input. */
  draw(chance: Chance): Input;
  /**
   * Reads an input back.
   *
   * @returns what became of it
   * @throws whatever it should not
   */
  judge(input: Input): string;
  /** The input, for people, in one line. */
  show(input: Input): string;
}

/** Where a target went wrong. */
export interface FuzzFault {
  readonly target: string;
  readonly seed: number;
  readonly step: number;
  readonly input: string;
  readonly error: string;
}

/** What came of some inputs. */
export interface FuzzResult {
  readonly inputs: number;
  /** How often each outcome was met. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly faults: readonly FuzzFault[];
}
