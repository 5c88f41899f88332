/**
 * A split over simulated ports, where a test wants to hold one of them: a source that is live, a sink that waits.
 *
 * @module
 */
import type { CheckpointCommit, LineBatch, RefusedLine, Sink, Source } from "../../actors/ports.ts";
import { SplitActor, type SplitParts } from "../../actors/split_actor.ts";
import { Ticker } from "../../actors/ticker.ts";
import { type Config, parseConfig } from "../../lib/config.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import type { Json } from "../../lib/json.ts";
import { SharedCount } from "../../lib/partition.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import {
  type Output,
  SimulatedClock,
  SimulatedSink,
  SimulatedSource,
  SimulatedStore,
  World,
} from "../sim/simulated_ports.ts";

/** The wall clock of these tests where they don't say: 2026-03-01T12:00:00Z, µs. */
export const NOON_US = Date.UTC(2026, 2, 1, 12) * 1000;

/** A record, `second` seconds after {@link NOON_US}; seen at once where not told otherwise. */
export function recordAt(
  second: number,
  options: { kind?: string; device?: string; fence?: string; ingestSecond?: number | null } = {},
): string {
  const { kind = "ENTER", device = "truck-1", fence = "depot", ingestSecond = second } = options;
  const timeOf = (at: number): number => NOON_US + Math.round(at * 1e6);
  return JSON.stringify({
    device_id: device,
    fence_id: fence,
    kind,
    event_time_us: timeOf(second),
    ...(ingestSecond === null ? {} : { ingest_time_us: timeOf(ingestSecond) }),
  });
}

/** A pipe: gives what it was given, and waits for more. */
export class LiveSource implements Source {
  readonly kind = "ndjson";
  readonly name = "pipe";
  readonly rereadable = false;
  readonly live = true;
  readonly keepsUnread = false;
  readonly #world = new World();
  readonly #lines: string[] = [];
  #ended = false;
  #given: SimulatedSource | null = null;
  #wake: (() => void) | null = null;

  /** Writes lines into the pipe. */
  give(...lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.#wake?.();
  }

  /** Closes the pipe's other end. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  open(): Promise<"started"> {
    return Promise.resolve("started");
  }

  async read(signal: AbortSignal): Promise<RecordBatch | null> {
    while (this.#lines.length === 0) {
      signal.throwIfAborted();
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      this.#wake = null;
    }
    const lines = this.#lines.splice(0);
    this.#given = new SimulatedSource(this.#world, lines, { batchRecords: lines.length });
    return await this.#given.read(signal);
  }

  placeOf(offset: number, line: number): Json {
    return { offset, line };
  }

  release(): void {
    this.#given?.release();
  }

  caughtUp(): boolean {
    return this.#wake !== null && this.#lines.length === 0;
  }

  acknowledge(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}

/** A simulated sink whose writes or flushes wait while {@link held}. */
export class HeldSink extends SimulatedSink {
  /** Which of them wait from now on. */
  held: "nothing" | "writes" | "flushes" = "nothing";
  #waiting: (() => void)[] = [];

  constructor(world: World, output: Output) {
    super(world, output);
  }

  /** Lets all go on. */
  release(): void {
    this.held = "nothing";
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  override async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    await this.#hold("writes");
    await super.write(lines, refused);
  }

  override async flush(): Promise<Json> {
    await this.#hold("flushes");
    return await super.flush();
  }

  async #hold(what: "writes" | "flushes"): Promise<void> {
    if (this.held === what) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/** A simulated store whose commits wait while {@link held}. */
export class HeldStore extends SimulatedStore {
  held = false;
  commits = 0;
  #waiting: (() => void)[] = [];

  release(): void {
    this.held = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  override async commit(commit: CheckpointCommit): Promise<void> {
    if (this.held) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await super.commit(commit);
    this.commits++;
  }
}

/** A split, and what it works with. */
export interface Bench {
  readonly split: SplitActor;
  readonly clock: SimulatedClock;
  readonly notices: readonly string[];
}

/** What is not simulated in the plain way. */
export interface BenchOptions {
  readonly world?: World;
  readonly lines?: readonly (string | Uint8Array)[];
  readonly batchRecords?: number;
  readonly source?: Source;
  readonly sink?: Sink;
  readonly deadLetters?: Sink;
  readonly store?: SimulatedStore;
  readonly clock?: SimulatedClock;
}

/** Makes a split that is not yet open. */
export async function makeSplit(json: Json, options: BenchOptions = {}): Promise<Bench> {
  const clock = options.clock ?? new SimulatedClock(NOON_US);
  const notices: string[] = [];
  const parts = await makeParts(parseConfig(json), { ...options, clock }, notices);
  return { split: new SplitActor(parts), clock, notices };
}

/** Some devices that come and go, two records of each. */
export function comeAndGo(devices: number): string[] {
  return Array.from({ length: devices }, (_, i) => [
    recordAt(-3600 + i, { device: `truck-${i}` }),
    recordAt(-3000 + i, { device: `truck-${i}`, kind: "EXIT" }),
  ]).flat().toSorted((a, b) => timeOf(a) - timeOf(b));
}

function timeOf(line: string): number {
  return (JSON.parse(line) as { event_time_us: number }).event_time_us;
}

/** Runs to the end over a world. */
export async function runThrough(json: Json, options: BenchOptions): Promise<Bench> {
  const bench = await makeSplit(json, options);
  await bench.split.open();
  await bench.split.run();
  return bench;
}

/** What a split is made of. */
export async function makeParts(
  config: Config,
  options: BenchOptions & { clock: SimulatedClock },
  notices: string[],
): Promise<SplitParts> {
  const { clock, world = new World(), lines = [], batchRecords = 64 } = options;
  return {
    config,
    clock,
    ticker: new Ticker(clock, config.dwell.tickUs),
    identity: await Identity.create(config.identity),
    rules: new FenceRules(config.dwell.rules),
    pairBound: new SharedCount(config.pairs.capacity),
    notice: (message) => notices.push(message),
    source: options.source ?? new SimulatedSource(world, lines, { batchRecords }),
    sink: options.sink ?? new SimulatedSink(world, world.triggers),
    deadLetters: options.deadLetters ?? new SimulatedSink(world, world.deadLetters),
    store: options.store ?? new SimulatedStore(world),
  };
}

/** Lets everything happen that needs no time to pass: simulated ports answer within a turn of the event loop. */
export async function quiesce(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Kinds of the triggers that are in an output. */
export function kindsIn(output: Output): string[] {
  return output.lines().map((line) => (JSON.parse(line) as { kind: string }).kind);
}

/** Lines and reasons of the dead letters that are in an output. */
export function refusalsIn(output: Output): string[] {
  return output.lines().map((line) => {
    const { reason, position } = JSON.parse(line) as { reason: string; position: { line: number } };
    return `${position.line} ${reason}`;
  });
}
