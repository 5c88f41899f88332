/**
 * Kill and restart: wherever a process ends, and whatever became of what it had not yet synced, output, dead letters and
 * counts are in the end those of a run that nobody disturbed.
 *
 * A step is whatever touches what survives: a write to an output, a flush, a chunk into the store, the manifest, the
 * removal of old chunks, an acknowledgement to the source.
 *
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";
import type { Config } from "../../lib/config.ts";
import { EMIT_ORDERS } from "../support/cases.ts";
import { letterTexts, sameEntries } from "./comparison.ts";
import {
  type CrashPoint,
  type EngineOptions,
  type EngineResult,
  runProcess,
  runWithCrashes,
} from "./engine.ts";
import { Chance } from "./chance.ts";
import { type Unflushed, World } from "./simulated_ports.ts";
import { generateStream } from "./streams.ts";

const FATES: readonly Unflushed[] = ["kept", "lost", "torn"];

/** A stream, its configuration and what comes of it undisturbed. */
interface Script {
  readonly seed: number;
  readonly config: Config;
  readonly lines: readonly string[];
  readonly options: EngineOptions;
  readonly undisturbed: EngineResult;
  readonly steps: number;
}

async function scriptOf(seed: number, batchRecords: number, intervalUs: number): Promise<Script> {
  const { config: drawn, lines, wallUs } = generateStream(seed);
  const config = { ...drawn, partitions: 3, checkpoint: { ...drawn.checkpoint, intervalUs } };
  const options = { wallUs, batchRecords };
  const world = new World();
  const undisturbed = await runProcess(config, lines, { ...options, world });
  return { seed, config, lines, options, undisturbed, steps: world.steps };
}

/** Crashes a script, and compares what it comes to. */
async function check(script: Script, crashes: readonly CrashPoint[]): Promise<EngineResult> {
  const { seed, config, lines, options, undisturbed } = script;
  const result = await runWithCrashes(config, lines, crashes, options);
  const where = `seed ${seed}, emit ${config.emit}, crashes ${JSON.stringify(crashes)}`;
  sameEntries(result.raw, undisturbed.raw, where);
  sameEntries(letterTexts(result.deadLetters), letterTexts(undisturbed.deadLetters), where);
  deepEqual(countsOf(result), countsOf(undisturbed), where);
  return result;
}

function countsOf({ report }: EngineResult): object {
  const { read, counters, deadLetters, pendingDwells, waiting } = report;
  return { read, counters: counters.toJson(), deadLetters, pendingDwells, waiting };
}

/** The first script of some 300 records that has something of everything. */
async function richScript(emit: Config["emit"]): Promise<Script> {
  for (let seed = 0;; seed++) {
    const { config, lines } = generateStream(seed);
    if (config.emit !== emit || config.dwell.onContradiction !== "retract") continue;
    if (lines.length < 280 || lines.length > 320) continue;
    const script = await scriptOf(seed, 16, 0);
    const { counters, deadLetters } = script.undisturbed.report;
    const { dwell, suppressed, late, dwellContradicted } = counters;
    const refused = deadLetters.MALFORMED_JSON + deadLetters.INVALID_FIELD + deadLetters.INVALID_KIND;
    if (Math.min(dwell, suppressed, late, dwellContradicted, refused) > 0) return script;
  }
}

for (const emit of EMIT_ORDERS) {
  Deno.test(`crash: at every step of 300 records, emit ${emit}`, async (test) => {
    const script = await richScript(emit);
    ok(script.steps > 60, `only ${script.steps} steps`);
    for (const unflushed of FATES) {
      for (const afterEffect of [false, true]) {
        const name = `${afterEffect ? "after" : "before"} its effect, unflushed ${unflushed}`;
        await test.step(name, async () => {
          for (let step = 1; step <= script.steps; step++) {
            await check(script, [{ step, afterEffect, unflushed }]);
          }
        });
      }
    }
  });
}

for (const emit of EMIT_ORDERS) {
  Deno.test(`crash: the process after it crashes as well, at every step, emit ${emit}`, async () => {
    const script = await richScript(emit);
    const chance = new Chance(script.seed);
    for (let step = 1; step <= script.steps; step++) {
      const second = { step, afterEffect: chance.happens(0.5), unflushed: chance.pick(FATES) };
      const first = {
        step: chance.between(1, script.steps),
        afterEffect: chance.happens(0.5),
        unflushed: chance.pick(FATES),
      };
      await check(script, [first, second]);
    }
  });
}

const SEEDS_A_BLOCK = 25;
for (let from = 0; from < 100; from += SEEDS_A_BLOCK) {
  Deno.test(`crash: up to four in a run, seeds ${from} to ${from + SEEDS_A_BLOCK - 1}`, async () => {
    for (let seed = from; seed < from + SEEDS_A_BLOCK; seed++) {
      const chance = new Chance(seed);
      // Often after several batches, so that there is much to read back.
      const script = await scriptOf(seed, chance.pick([1, 4, 13, 50]), chance.pick([0, 0, 40, 300]));
      for (let round = 0; round < 4; round++) {
        const crashes = Array.from({ length: chance.between(1, 4) }, () => ({
          step: chance.between(1, chance.pick([8, script.steps])),
          afterEffect: chance.happens(0.5),
          unflushed: chance.pick(FATES),
          unflushedLetters: chance.pick(FATES),
        }));
        await check(script, crashes);
      }
    }
  });
}
