/**
 * Changed rules (SPEC 5): the checkpoint keeps enter times and fired thresholds, not deadlines. From a restart on the new
 * rules hold; a threshold that both have is told once, and one that is new and already past is not told.
 *
 * @module
 */
import { equal, fail, ok } from "node:assert/strict";
import { type Config, type DwellRule, parseConfig } from "../../lib/config.ts";
import { EMIT_ORDERS, type EmitOrder } from "../support/cases.ts";
import { sameEntries } from "./comparison.ts";
import { outputOf, runProcess, type Trigger } from "./engine.ts";
import { deliver, drawCrossings } from "./punctual.ts";
import { type Unflushed, World } from "./simulated_ports.ts";

const SECOND_US = 1_000_000;
const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;
const OPTIONS = { wallUs: BEGIN_US + 86_400 * SECOND_US, batchRecords: 5 };

/** Seconds: 30 and 120 are in both, one is taken away, and two are new. */
const OLD_S = [10, 30, 120];
const NEW_S = [20, 30, 60, 120];
const BOTH_S = OLD_S.filter((second) => NEW_S.includes(second));

function configOf(emit: EmitOrder, atEof: "flush" | "hold"): Config {
  return parseConfig({
    emit,
    partitions: 3,
    checkpoint: { interval: "0s" },
    source: { at_eof: atEof },
    dwell: { rules: [{ fence: "*", after: OLD_S.map((second) => `${second}s`) }] },
  });
}

function withThresholds(config: Config, seconds: readonly number[]): Config {
  const rules: DwellRule[] = [{ fence: "*", afterUs: seconds.map((second) => second * SECOND_US) }];
  return { ...config, dwell: { ...config.dwell, rules } };
}

function linesOf(seed: number): string[] {
  const crossings = drawCrossings({ seed, count: 80, beginUs: BEGIN_US, spanUs: 1500 * SECOND_US });
  return deliver(crossings.map((crossing) => ({ crossing, arrivesUs: crossing.eventUs })));
}

function timeUs({ event_time }: Trigger): number {
  return Date.parse(event_time as string) * 1000 + Number((event_time as string).slice(23, 26));
}

/** The lines of an output: DWELLs of some thresholds, or all else. */
function linesIn(
  output: { readonly triggers: readonly Trigger[]; readonly raw: readonly string[] },
  wanted: (trigger: Trigger) => boolean,
): string[] {
  return output.raw.filter((_line, i) => wanted(output.triggers[i] as Trigger));
}

const isNoDwell = ({ kind }: Trigger): boolean => kind !== "DWELL";
const isOf = (seconds: readonly number[]) => ({ kind, dwell_s }: Trigger): boolean =>
  kind === "DWELL" && seconds.includes(dwell_s as number);

for (const emit of EMIT_ORDERS) {
  Deno.test(`rules: changed between two runs over an input that grew, at every record, emit ${emit}`, async () => {
    for (const seed of [1, 2]) {
      const lines = linesOf(seed);
      const config = configOf(emit, "flush");
      const before = await runProcess(config, lines, OPTIONS);
      const after = await runProcess(withThresholds(config, NEW_S), lines, OPTIONS);
      let taken = 0;
      let added = 0;
      for (let cut = 1; cut < lines.length; cut++) {
        const world = new World();
        const first = await runProcess(configOf(emit, "hold"), lines.slice(0, cut), { ...OPTIONS, world });
        world.restart("lost");
        const result = await runProcess(withThresholds(config, NEW_S), lines, { ...OPTIONS, world });
        const { watermarkUs } = first.report;
        const where = `seed ${seed}, after ${cut} records`;
        const past = (trigger: Trigger): boolean => timeUs(trigger) <= watermarkUs;
        const told = linesIn(before, (trigger) => isOf([10])(trigger) && past(trigger));
        const new_ = linesIn(after, (trigger) => isOf([20, 60])(trigger) && !past(trigger));
        sameEntries(
          result.raw,
          [...linesIn(before, isNoDwell), ...linesIn(before, isOf(BOTH_S)), ...told, ...new_],
          where,
        );
        taken += linesIn(before, isOf([10])).length - told.length;
        added += new_.length;
      }
      ok(taken > 50 && added > 50, `${taken} ${added}`);
    }
  });

  Deno.test(`rules: changed after a kill at every step, emit ${emit}`, async () => {
    const lines = linesOf(3);
    const config = configOf(emit, "flush");
    const whole = new World();
    const before = await runProcess(config, lines, { ...OPTIONS, world: whole });
    const after = await runProcess(withThresholds(config, NEW_S), lines, OPTIONS);
    const fates: readonly Unflushed[] = ["kept", "lost", "torn"];
    for (let step = 1; step <= whole.steps; step++) {
      const world = new World();
      world.crashAt = step;
      world.crashAfterEffect = step % 2 === 0;
      try {
        await runProcess(config, lines, { ...OPTIONS, world });
        fail(`step ${step} was not reached`);
      } catch (error) {
        equal((error as Error).name, "Crash", `step ${step}: ${error}`);
      }
      world.restart(fates[step % 3] ?? "lost");
      const kept = outputOf(world);
      const result = await runProcess(withThresholds(config, NEW_S), lines, { ...OPTIONS, world });
      const where = `step ${step}`;
      // What both have is told once, what is gone only as far as it had been, and nothing is made up.
      sameEntries(linesIn(result, isNoDwell), linesIn(before, isNoDwell), where);
      sameEntries(linesIn(result, isOf(BOTH_S)), linesIn(before, isOf(BOTH_S)), where);
      sameEntries(linesIn(result, isOf([10])), linesIn(kept, isOf([10])), where);
      const added = linesIn(result, isOf([20, 60]));
      equal(new Set(added).size, added.length, where);
      const known = new Set(after.raw);
      equal(added.filter((line) => !known.has(line)).length, 0, where);
      // Nothing new is lost that came behind all that the first process can have applied.
      const lastUs = Math.max(-Infinity, ...kept.triggers.map(timeUs));
      const ahead = linesIn(after, (trigger) => isOf([20, 60])(trigger) && timeUs(trigger) > lastUs + 120e6);
      equal(ahead.filter((line) => !added.includes(line)).length, 0, where);
    }
  });
}
