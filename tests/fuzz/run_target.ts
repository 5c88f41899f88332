/**
 * Draws inputs of a target and judges them. Each has a seed of its own, so that one step can be looked at again by itself.
 *
 * @module
 */
import { Chance } from "../sim/chance.ts";
import type { FuzzFault, FuzzResult, FuzzTarget } from "./fuzz_target.ts";

/** More faults than these say nothing new. */
const FAULTS_MAX = 5;

/** Which inputs. */
export interface FuzzSteps {
  readonly seed: number;
  readonly from: number;
  readonly until: number;
  /** Told of each step before it is done. */
  readonly onStep?: (step: number) => void;
}

/** Tries some inputs. */
export function runTarget<Input>(target: FuzzTarget<Input>, steps: FuzzSteps): FuzzResult {
  const outcomes = new Map<string, number>();
  const faults: FuzzFault[] = [];
  let step = steps.from;
  for (; step < steps.until && faults.length < FAULTS_MAX; step++) {
    steps.onStep?.(step);
    const input = target.draw(new Chance(seedOf(steps.seed, step)));
    try {
      const outcome = target.judge(input);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    } catch (error) {
      const text = error instanceof Error ? error.stack ?? error.message : String(error);
      faults.push({ target: target.name, seed: steps.seed, step, input: target.show(input), error: text });
    }
  }
  return { inputs: step - steps.from, outcomes, faults };
}

/** Neighbours get streams that have nothing to do with each other. */
function seedOf(seed: number, step: number): number {
  return (Math.imul(seed, 0x9e37_79b1) ^ Math.imul(step, 0x85eb_ca6b)) >>> 0;
}
