/**
 * Configurations for generated streams: short everything, so that a few hundred records meet every bound.
 *
 * All durations are multiples of a *grid*, a part of the bucket, and streams put most of their times on the same grid:
 * deadlines, edges and watermarks then meet each other exactly, or miss by a microsecond.
 *
 * @module
 */
import { type Config, parseConfig } from "../../lib/config.ts";
import type { Chance } from "./chance.ts";

/** A configuration, and the grid that its durations lie on, in µs. */
export interface StreamConfig {
  readonly config: Config;
  readonly gridUs: number;
}

/** Draws a configuration; fences are told apart by their first letter, so that patterns can match some. */
export function drawConfig(chance: Chance): StreamConfig {
  const bucketUs = chance.pick([2_000_000, 2_000_000, 1_000_000, 400_000]);
  const gridUs = bucketUs / chance.pick([20, 20, 10, 4]);
  const guardUs = chance.pick([bucketUs / 10, bucketUs / 10, bucketUs / 4, bucketUs / 2 - 1, 0]);
  const maxSkewUs = chance.pick([null, null, null, 0, 1, bucketUs / 2, bucketUs - 1]);
  const rules = drawRules(chance, bucketUs, gridUs);
  const smallestUs = Math.min(...rules.flatMap(({ afterUs }) => afterUs), 100 * bucketUs);
  const latenesses = [0, gridUs, bucketUs / 2, bucketUs, 2 * bucketUs, smallestUs - 1]
    .filter((latenessUs) => latenessUs < smallestUs);
  const config = parseConfig({
    identity: {
      bucket: us(bucketUs),
      guard: us(guardUs),
      max_skew: maxSkewUs === null ? null : us(maxSkewUs),
      ttl: us(chance.pick([300_000_000, 20 * bucketUs, 5 * bucketUs, bucketUs, 1_000])),
    },
    dwell: {
      rules: rules.map(({ fence, afterUs }) => ({ fence, after: afterUs.map(us) })),
      lateness: us(chance.pick(latenesses)),
      on_reenter: chance.pick(["restart", "continue"]),
      on_contradiction: chance.pick(["count", "retract"]),
    },
    emit: chance.pick(["arrival", "ordered"]),
    time: {
      max_future_skew: us(chance.pick([300_000_000, 3 * bucketUs, gridUs, 0])),
      max_age: us(chance.pick([30 * 86_400_000_000, 30 * 86_400_000_000, 100 * bucketUs, 20 * bucketUs])),
    },
  });
  return { config, gridUs };
}

function drawRules(chance: Chance, bucketUs: number, gridUs: number): { fence: string; afterUs: number[] }[] {
  const fences = chance.pick([["*"], ["*"], ["f*", "*"], ["*1", "f*"], ["f0"]]);
  return fences.map((fence) => {
    const afterUs: number[] = [];
    let thresholdUs = 0;
    for (let count = chance.pick([1, 2, 3, 3, 5, 16, 0]); count > 0; count--) {
      thresholdUs += 2 * bucketUs + chance.pick([0, 0, gridUs, 3 * gridUs, bucketUs, 8 * bucketUs, 1]);
      afterUs.push(thresholdUs);
    }
    return { fence, afterUs };
  });
}

function us(durationUs: number): string {
  return `${durationUs}us`;
}
