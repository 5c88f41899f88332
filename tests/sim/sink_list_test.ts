/**
 * Several outputs, killed and restarted: wherever a process ends, and whatever became in each output of what it had not yet
 * synced, each has in the end what one alone has after a run that nobody disturbed.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { SinkList } from "../../actors/sink_list.ts";
import type { Config } from "../../lib/config.ts";
import { EMIT_ORDERS } from "../support/cases.ts";
import { Chance } from "./chance.ts";
import { sameEntries } from "./comparison.ts";
import { type EngineOptions, outputOf, runProcess } from "./engine.ts";
import { Output, SimulatedSink, type Unflushed, World } from "./simulated_ports.ts";
import { generateStream } from "./streams.ts";

const FATES: readonly Unflushed[] = ["kept", "lost", "torn"];

/** What survives, with a second output. */
class ListWorld extends World {
  readonly second = new Output();
}

/** Where a process ends, and how what it had not flushed fares in each output. */
interface Crash {
  readonly step: number;
  readonly afterEffect: boolean;
  readonly first: Unflushed;
  readonly second: Unflushed;
}

interface Script {
  readonly seed: number;
  readonly config: Config;
  readonly lines: readonly string[];
  readonly options: EngineOptions;
  /** What one output alone has, undisturbed. */
  readonly raw: readonly string[];
  readonly steps: number;
}

/** Two outputs, of which the checkpoint knows the names. */
function twoSinks(world: World): SinkList {
  const { triggers, second } = world as ListWorld;
  return new SinkList({
    members: [
      { key: "simulated:first", sink: new SimulatedSink(world, triggers) },
      { key: "simulated:second", sink: new SimulatedSink(world, second) },
    ],
    keyOf: () => null,
    notice: () => {},
  });
}

async function scriptOf(seed: number, batchRecords: number): Promise<Script> {
  const { config: drawn, lines, wallUs } = generateStream(seed);
  const config = { ...drawn, partitions: 3, checkpoint: { ...drawn.checkpoint, intervalUs: 0 } };
  const { raw } = await runProcess(config, lines, { wallUs, batchRecords });
  const world = new ListWorld();
  const options = { wallUs, batchRecords, sink: twoSinks };
  await runProcess(config, lines, { ...options, world });
  return { seed, config, lines, options, raw, steps: world.steps };
}

/** Runs with crashes, and to the end after the last. */
async function runWith(
  script: Script,
  crashes: readonly Crash[],
  options: EngineOptions,
): Promise<ListWorld> {
  const world = new ListWorld();
  for (const { step, afterEffect, first, second } of crashes) {
    world.crashAt = world.steps + step;
    world.crashAfterEffect = afterEffect;
    try {
      await runProcess(script.config, script.lines, { ...options, world });
      return world;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "Crash") throw error;
    }
    world.restart(first);
    world.second.crash(second);
  }
  await runProcess(script.config, script.lines, { ...options, world });
  return world;
}

async function check(script: Script, crashes: readonly Crash[]): Promise<void> {
  const world = await runWith(script, crashes, script.options);
  const where = `seed ${script.seed}, emit ${script.config.emit}, crashes ${JSON.stringify(crashes)}`;
  sameEntries(world.triggers.lines(), script.raw, `first, ${where}`);
  sameEntries(world.second.lines(), script.raw, `second, ${where}`);
}

/** The first script of some 120 records that tells of enough. */
async function shortScript(emit: Config["emit"]): Promise<Script> {
  for (let seed = 0;; seed++) {
    const { config, lines } = generateStream(seed);
    if (config.emit !== emit || lines.length < 100 || lines.length > 150) continue;
    const script = await scriptOf(seed, 16);
    if (script.raw.length >= 40) return script;
  }
}

for (const emit of EMIT_ORDERS) {
  Deno.test(`sink list: crash at every step, each output with a fate of its own, emit ${emit}`, async (test) => {
    const script = await shortScript(emit);
    ok(script.steps > 40, `only ${script.steps} steps`);
    for (const first of FATES) {
      for (const second of FATES) {
        await test.step(`first ${first}, second ${second}`, async () => {
          for (let step = 1; step <= script.steps; step++) {
            for (const afterEffect of [false, true]) {
              await check(script, [{ step, afterEffect, first, second }]);
            }
          }
        });
      }
    }
  });

  Deno.test(`sink list: up to four crashes in a run, also while outputs are made equal, emit ${emit}`, async () => {
    const script = await shortScript(emit);
    const chance = new Chance(script.seed);
    for (let round = 0; round < 400; round++) {
      const crashes = Array.from({ length: chance.between(2, 4) }, () => ({
        step: chance.between(1, chance.pick([6, script.steps])),
        afterEffect: chance.happens(0.5),
        first: chance.pick(FATES),
        second: chance.pick(FATES),
      }));
      await check(script, crashes);
    }
  });
}

Deno.test("sink list: what one output refuses is a dead letter once, and in the other, wherever the process ends", async () => {
  const script = await shortScript("arrival");
  const refuses = (line: string): boolean => line.charCodeAt(10) % 4 === 0;
  const kept = script.raw.filter((line) => !refuses(line));
  const refused = script.raw.filter(refuses).map((line) => (JSON.parse(line) as { id: string }).id)
    .toSorted();
  ok(refused.length > 3 && kept.length > 10, `${refused.length} of ${script.raw.length} refused`);
  const options = { ...script.options, refuses };
  for (let step = 1; step <= script.steps; step++) {
    for (const afterEffect of [false, true]) {
      const crash = { step, afterEffect, first: "kept", second: "kept" } as const;
      const world = await runWith(script, [crash], options);
      const where = JSON.stringify(crash);
      sameEntries(world.triggers.lines(), kept, where);
      sameEntries(world.second.lines(), script.raw, where);
      deepEqual(
        outputOf(world).rejected.map(({ id }) => id).toSorted(),
        refused,
        where,
      );
    }
  }
});

Deno.test("sink list: one that is added begins with what is told from there on, one that is removed has no more", async () => {
  const script = await shortScript("arrival");
  const world = new ListWorld();
  const notices: string[] = [];
  const listOf = (...names: ("first" | "second")[]) => (of: World): SinkList =>
    new SinkList({
      members: names.map((name) => ({
        key: `simulated:${name}`,
        sink: new SimulatedSink(of, name === "first" ? world.triggers : world.second),
      })),
      keyOf: () => "simulated:first",
      notice: (message) => notices.push(message),
    });
  const half = script.lines.slice(0, script.lines.length >> 1);
  const { config, lines } = script;
  const { wallUs } = script.options;
  // Held open, so that what waits at the end of the first half is as if nothing had ended.
  const hold = { ...config, source: { ...config.source, atEof: "hold" as const } };
  await runProcess(hold, half, { wallUs, world, sink: listOf("first") });
  world.restart("kept");
  const before = world.triggers.lines();
  equal(notices.length, 0);
  await runProcess(config, lines, { wallUs, world, sink: listOf("first", "second") });
  deepEqual(notices, ["The output simulated:second is new: it has the triggers that are told from here on"]);
  sameEntries(world.triggers.lines(), script.raw, "the first has all");
  deepEqual(world.second.lines(), world.triggers.lines().slice(before.length));
  ok(before.length > 5 && world.second.lines().length > 5, "both halves tell of something");
  world.restart("kept");
  notices.length = 0;
  const atEnd = world.triggers.lines();
  await runProcess(config, lines, { wallUs, world, sink: listOf("second") });
  deepEqual(notices, ["The output simulated:first is no longer one: nothing more is written to it"]);
  deepEqual(world.triggers.lines(), atEnd);
});
