/**
 * `emit: ordered`: what stands in the output stands there in event-time order, and, with `on_reenter: continue`, ENTER
 * and EXIT of a pair take turns. Both hold for the output as a whole, over all partitions and over crashes.
 *
 * Out of order may leave a DWELL passed on, which does so at once, and the DWELL or RETRACT that a late record brings.
 *
 * @module
 */
import { equal, fail, ok } from "node:assert/strict";
import { arrivalsOf } from "./arrivals.ts";
import { Chance } from "./chance.ts";
import { type EngineResult, runWithCrashes, type Trigger } from "./engine.ts";
import { type GeneratedStream, generateStream } from "./streams.ts";

const SEEDS = 240;

/** A stream whose triggers leave in order, and what came of it. */
interface Run {
  readonly stream: GeneratedStream;
  readonly result: EngineResult;
  readonly where: string;
}

/** Each stream undisturbed, and with two crashes. */
async function allRuns(): Promise<Run[]> {
  const runs: Run[] = [];
  for (let seed = 0; seed < SEEDS; seed++) {
    const stream = generateStream(seed);
    if (stream.config.emit !== "ordered") continue;
    const chance = new Chance(seed);
    const crashes = [1, 2].map(() => ({
      step: chance.between(1, 60),
      afterEffect: chance.happens(0.5),
      unflushed: chance.pick(["kept", "lost", "torn"]),
    }));
    const config = {
      ...stream.config,
      partitions: chance.pick([1, 3, 16]),
      checkpoint: { ...stream.config.checkpoint, intervalUs: chance.pick([0, 100]) },
    };
    const options = { wallUs: stream.wallUs, batchRecords: 1 + seed % 60 };
    for (const some of [[], crashes]) {
      const result = await runWithCrashes(config, stream.lines, some, options);
      runs.push({ stream, result, where: `seed ${seed}, ${some.length} crashes` });
    }
  }
  return runs;
}

Deno.test("ordered: over seeds, undisturbed and with crashes", async (test) => {
  const runs = await allRuns();
  await test.step("the output is in event-time order, but for what late records bring", () =>
    checkOrder(runs));
  await test.step("with continue, ENTER and EXIT of a pair take turns", () => checkTurns(runs));
  await test.step("an EXIT tells of the visit that it ends", () => checkVisits(runs));
});

function checkOrder(runs: readonly Run[]): void {
  let inOrder = 0;
  let outOfOrder = 0;
  for (const { stream: { config, lines }, result, where } of runs) {
    const withLate = new Set(
      arrivalsOf(config, lines, result.deadLetters).filter(({ late }) => late)
        .map(({ deviceId, fenceId }) => JSON.stringify([deviceId, fenceId])),
    );
    let lastTime = "";
    for (const [i, trigger] of result.triggers.entries()) {
      const kind = trigger["kind"] as string;
      const isPassedOn = kind === "DWELL" && !("entered_at" in trigger);
      const mayBeLate = (kind === "DWELL" || kind === "RETRACT") && withLate.has(pairOf(trigger));
      if (isPassedOn || mayBeLate) {
        outOfOrder++;
        continue;
      }
      const time = trigger["event_time"] as string;
      if (time < lastTime) fail(`${where}: line ${i + 1} is of ${time}, behind one of ${lastTime}`);
      lastTime = time;
      inOrder++;
    }
  }
  ok(inOrder > 5000 && outOfOrder > 100, `${inOrder} in order, ${outOfOrder} not`);
}

function checkTurns(runs: readonly Run[]): void {
  let turns = 0;
  for (const { stream: { config }, result: { triggers }, where } of runs) {
    // A pair that was forgotten has no last one.
    if (config.dwell.onReenter !== "continue" || config.time.maxAgeUs < 86_400_000_000) continue;
    const last = new Map<string, unknown>();
    for (const trigger of triggers) {
      const kind = trigger["kind"];
      if (kind !== "ENTER" && kind !== "EXIT") continue;
      const pair = pairOf(trigger);
      if (last.get(pair) === kind) {
        fail(`${where}: ${pair} was told two of ${kind}, ${trigger["event_time"]}`);
      }
      last.set(pair, kind);
      turns++;
    }
  }
  ok(turns > 500, `${turns} turns`);
}

function checkVisits(runs: readonly Run[]): void {
  let visits = 0;
  for (const { result: { triggers }, where } of runs) {
    for (const trigger of triggers) {
      const { kind, event_time, entered_at, visit_s } = trigger;
      if (kind !== "EXIT" || entered_at === undefined) continue;
      const lastedUs = microseconds(event_time as string) - microseconds(entered_at as string);
      equal(Math.round((visit_s as number) * 1e6), lastedUs, `${where}: ${JSON.stringify(trigger)}`);
      visits++;
    }
  }
  ok(visits > 500, `${visits} visits`);
}

function pairOf({ device_id, fence_id }: Trigger): string {
  return JSON.stringify([device_id, fence_id]);
}

function microseconds(time: string): number {
  return Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20, 26));
}
