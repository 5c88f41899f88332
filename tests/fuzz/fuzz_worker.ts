/// <reference lib="deno.worker" />
/**
 * Runs steps of a target beside others, and says in shared memory which one it is at, so that one that never ends is
 * known by its number.
 *
 * @module
 */
import type { FuzzResult } from "./fuzz_target.ts";
import { runTarget } from "./run_target.ts";
import { fuzzTargets } from "./targets.ts";

/** Some steps of a target. */
export interface FuzzSlice {
  readonly target: string;
  readonly seed: number;
  readonly from: number;
  readonly until: number;
}

/** What a worker is sent first: one number, the step that it is at. */
export interface FuzzBeginning {
  readonly at: Int32Array;
}

/** What a worker answers to each slice. */
export interface FuzzAnswer {
  readonly slice: FuzzSlice;
  readonly result: FuzzResult;
}

const targets = new Map(fuzzTargets().map((target) => [target.name, target]));
let at = new Int32Array(1);

self.onmessage = ({ data }: MessageEvent<FuzzBeginning | FuzzSlice>): void => {
  if ("at" in data) {
    at = data.at as Int32Array<ArrayBuffer>;
    return;
  }
  const target = targets.get(data.target);
  if (target === undefined) throw new RangeError(`There is no target ${data.target}`);
  const { seed, from, until } = data;
  const result = runTarget(target, { seed, from, until, onStep: (step) => Atomics.store(at, 0, step) });
  self.postMessage({ slice: data, result } satisfies FuzzAnswer);
};
