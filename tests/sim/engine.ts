/**
 * The engine on simulated ports: the real `lib/` and `actors/`, run over lines, with crashes where they are wanted.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import { SharedCount } from "../../lib/partition.ts";
import type { Sink, Source } from "../../actors/ports.ts";
import { SplitActor, type SplitReport } from "../../actors/split_actor.ts";
import { Ticker } from "../../actors/ticker.ts";
import {
  SimulatedClock,
  SimulatedSink,
  SimulatedSource,
  SimulatedStore,
  type Unflushed,
  World,
} from "./simulated_ports.ts";

/** A trigger as it came out. */
export type Trigger = Record<string, unknown>;

/** What a run was like. */
export interface EngineResult {
  readonly triggers: readonly Trigger[];
  /** The same, as they stand in the output. */
  readonly raw: readonly string[];
  readonly deadLetters: readonly { readonly line: number; readonly reason: string }[];
  /** Triggers that the output refused. */
  readonly rejected: readonly Trigger[];
  readonly report: SplitReport;
  readonly notices: readonly string[];
}

/** How to run. */
export interface EngineOptions {
  readonly wallUs: number;
  /** Records that the source gives at a time. */
  readonly batchRecords?: number;
  readonly world?: World;
  /** The source, where it does not give lines as fast as they are read. */
  readonly source?: (world: World) => Source;
  /** The output, where it is not the world's `triggers` alone. */
  readonly sink?: (world: World) => Sink;
  /** Which triggers the output never takes. */
  readonly refuses?: (trigger: string) => boolean;
}

const identities = new Map<string, Promise<Identity>>();

/** Runs one process over a world: to the end of the lines, or to its crash, which it throws. */
export async function runProcess(
  config: Config,
  lines: readonly (string | Uint8Array)[],
  options: EngineOptions,
): Promise<EngineResult> {
  const world = options.world ?? new World();
  world.refuses = options.refuses ?? null;
  const clock = new SimulatedClock(options.wallUs);
  const key = `${config.identity.bucketUs} ${config.identity.guardUs}`;
  if (!identities.has(key)) identities.set(key, Identity.create(config.identity));
  const notices: string[] = [];
  const split = new SplitActor({
    config,
    clock,
    ticker: new Ticker(clock, config.dwell.tickUs),
    identity: await (identities.get(key) as Promise<Identity>),
    rules: new FenceRules(config.dwell.rules),
    pairBound: new SharedCount(config.pairs.capacity),
    notice: (message) => notices.push(message),
    source: options.source?.(world) ??
      new SimulatedSource(world, lines, { batchRecords: options.batchRecords ?? 64 }),
    sink: options.sink?.(world) ?? new SimulatedSink(world, world.triggers),
    deadLetters: new SimulatedSink(world, world.deadLetters),
    store: new SimulatedStore(world),
  });
  await split.open();
  await split.run();
  return { ...outputOf(world), report: split.report(), notices };
}

/** Where a process is to end. */
export interface CrashPoint {
  readonly step: number;
  readonly afterEffect: boolean;
  readonly unflushed: Unflushed;
  /** What becomes of the dead letters, where that is not the same: the disk owes two files no common order. */
  readonly unflushedLetters?: Unflushed;
}

/** Runs with crashes, one process after the other, the last of which comes to the end. */
export async function runWithCrashes(
  config: Config,
  lines: readonly (string | Uint8Array)[],
  crashes: readonly CrashPoint[],
  options: EngineOptions,
): Promise<EngineResult> {
  const world = new World();
  for (const { step, afterEffect, unflushed, unflushedLetters } of crashes) {
    world.crashAt = world.steps + step;
    world.crashAfterEffect = afterEffect;
    try {
      return await runProcess(config, lines, { ...options, world });
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "Crash") throw error;
    }
    world.restart(unflushed, unflushedLetters);
  }
  return await runProcess(config, lines, { ...options, world });
}

/** What is looked at of a dead letter. */
interface Letter {
  readonly reason: string;
  /** Null of a trigger that was refused. */
  readonly position: { readonly line: number } | null;
  readonly record: string;
}

/** What a world's outputs hold. */
export function outputOf(world: World): Pick<EngineResult, "triggers" | "raw" | "deadLetters" | "rejected"> {
  const raw = world.triggers.lines();
  const letters = world.deadLetters.lines().map((line) => JSON.parse(line) as Letter);
  return {
    raw,
    triggers: raw.map((line) => JSON.parse(line) as Trigger),
    deadLetters: letters.flatMap(({ reason, position }) =>
      position === null ? [] : [{ line: position.line, reason }]
    ),
    rejected: letters.filter(({ reason }) => reason === "SINK_REJECTED").map(({ record }) =>
      JSON.parse(record) as Trigger
    ),
  };
}
