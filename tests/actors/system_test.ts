/**
 * The supervisor: which failures it restarts from the checkpoint, how often, and which it passes on.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { FencedError, type LineBatch, type RefusedLine } from "../../actors/ports.ts";
import { RESTARTS_MAX, type SplitPorts, System } from "../../actors/system.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import { parseConfig } from "../../lib/config.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import {
  SimulatedClock,
  SimulatedSink,
  SimulatedSource,
  SimulatedStore,
  World,
} from "../sim/simulated_ports.ts";
import {
  comeAndGo,
  LiveSource,
  makeParts,
  NOON_US,
  quiesce,
  recordAt,
  refusalsIn,
  runThrough,
} from "../support/split_world.ts";

const CONFIG = { partitions: 2, checkpoint: { interval: "0s" } };
const LINES = ["{", ...comeAndGo(40)];

/** A clock that notes how long it was waited for. */
class PausingClock extends SimulatedClock {
  readonly pausesUs: number[] = [];

  override delay(us: number): Promise<void> {
    this.pausesUs.push(us);
    return super.delay(us);
  }
}

/** A file whose reads meet a fault, the n-th of all attempts together. */
class FaultySource extends SimulatedSource {
  static reads = 0;
  readonly #faults: ReadonlyMap<number, Error>;

  constructor(world: World, faults: ReadonlyMap<number, Error>, batchRecords = 6) {
    super(world, LINES, { batchRecords });
    this.#faults = faults;
  }

  override read(signal: AbortSignal): Promise<RecordBatch | null> {
    const fault = this.#faults.get(++FaultySource.reads);
    return fault === undefined ? super.read(signal) : Promise.reject(fault);
  }
}

/** A system over a world, and what it did. */
interface SystemBench {
  readonly system: System;
  readonly clock: PausingClock;
  readonly notices: readonly string[];
  readonly openings: readonly boolean[];
  readonly closed: () => number;
}

async function makeSystem(world: World, portsOf: (plain: SplitPorts) => SplitPorts): Promise<SystemBench> {
  const clock = new PausingClock(NOON_US);
  const notices: string[] = [];
  const openings: boolean[] = [];
  let closed = 0;
  const parts = await makeParts(parseConfig(CONFIG), { clock }, notices);
  const system = new System({
    clock,
    notice: (message) => notices.push(message),
    opened: ({ resumed }) => openings.push(resumed),
    ports: () => {
      const ports = portsOf({
        source: new SimulatedSource(world, LINES, { batchRecords: 6 }),
        sink: new SimulatedSink(world, world.triggers),
        deadLetters: new SimulatedSink(world, world.deadLetters),
        store: new SimulatedStore(world),
      });
      for (const port of Object.values(ports) as { close(): void }[]) {
        const close = port.close.bind(port);
        port.close = (): void => {
          closed++;
          close();
        };
      }
      return ports;
    },
    split: (ports) => ({ ...parts, ...ports }),
  });
  return { system, clock, notices, openings, closed: () => closed };
}

async function undisturbed(): Promise<{ triggers: string[]; refusals: string[] }> {
  const world = new World();
  await runThrough(CONFIG, { world, lines: LINES, batchRecords: 6 });
  return outcomeOf(world);
}

function outcomeOf(world: World): { triggers: string[]; refusals: string[] } {
  return { triggers: world.triggers.lines().toSorted(), refusals: refusalsIn(world.deadLetters) };
}

function broken(): AssertionFailed {
  return new AssertionFailed("Assertion failed: the watermark never goes back");
}

/** Faults at the reads from one number on, one after another. */
function faultsAt(first: number, count: number): Map<number, Error> {
  return new Map(Array.from({ length: count }, (_, i) => [first + i, broken()]));
}

Deno.test("system: an input to its end", async () => {
  const world = new World();
  const { system, closed, openings } = await makeSystem(world, (plain) => plain);
  equal(system.report(), null);
  equal(await system.run(), true);
  deepEqual(outcomeOf(world), await undisturbed());
  deepEqual([openings, closed()], [[false], 4]);
  equal(system.report()?.read, LINES.length);
});

Deno.test("system: a broken invariant restarts the split from its checkpoint, and the output is exact", async () => {
  const expected = await undisturbed();
  for (let at = 1; at <= 15; at++) {
    FaultySource.reads = 0;
    const world = new World();
    const faults = faultsAt(at, 1);
    const bench = await makeSystem(world, (plain) => ({ ...plain, source: new FaultySource(world, faults) }));
    equal(await bench.system.run(), true);
    deepEqual(outcomeOf(world), expected, `read ${at}`);
    deepEqual(bench.openings, [false, true]);
    deepEqual(bench.notices, [
      "Assertion failed: the watermark never goes back: restarting from the last checkpoint (1 of 5)",
    ]);
    deepEqual(bench.clock.pausesUs, [100_000]);
    equal(bench.closed(), 8, "the ports of both");
  }
});

Deno.test("system: pauses grow, and after five restarts in a row it gives up loudly", async () => {
  FaultySource.reads = 0;
  const world = new World();
  const faults = faultsAt(3, 100);
  const bench = await makeSystem(world, (plain) => ({ ...plain, source: new FaultySource(world, faults) }));
  await rejects(bench.system.run(), (error: Error) => {
    match(error.message, new RegExp(`Gave up after ${RESTARTS_MAX} restarts`));
    equal((error.cause as Error).name, "AssertionFailed");
    return true;
  });
  deepEqual(bench.clock.pausesUs, [100_000, 200_000, 400_000, 800_000, 1_600_000]);
  equal(bench.notices.length, RESTARTS_MAX);
  equal(bench.closed(), 4 * (RESTARTS_MAX + 1));
  // What it had written stays good for a start later.
  await runThrough(CONFIG, { world, lines: LINES, batchRecords: 6 });
  deepEqual(outcomeOf(world), await undisturbed());
});

Deno.test("system: the count begins anew where checkpoints were made in between", async () => {
  FaultySource.reads = 0;
  const world = new World();
  // Every tenth read: those between bring checkpoints, and bring it further.
  const faults = new Map(Array.from({ length: 20 }, (_, i) => [10 * (i + 1), broken()]));
  const bench = await makeSystem(
    world,
    (plain) => ({ ...plain, source: new FaultySource(world, faults, 1) }),
  );
  equal(await bench.system.run(), true);
  deepEqual(outcomeOf(world), await undisturbed());
  ok(bench.openings.length > RESTARTS_MAX + 1, `it opened ${bench.openings.length} times`);
  deepEqual(new Set(bench.clock.pausesUs), new Set([100_000]));
});

Deno.test("system: a failure of the world is passed on at once", async () => {
  for (const fault of [new Error("the disk is full"), new FencedError("Another process has taken over")]) {
    FaultySource.reads = 0;
    const world = new World();
    const faults = new Map([[2, fault]]);
    const bench = await makeSystem(world, (plain) => ({ ...plain, source: new FaultySource(world, faults) }));
    await rejects(bench.system.run(), fault);
    deepEqual([bench.clock.pausesUs, bench.notices, bench.closed()], [[], [], 4]);
  }
});

Deno.test("system: another process takes the split over: it stops, and writes nothing more", async () => {
  const world = new World();
  const source = new LiveSource();
  const { system, clock, notices } = await makeSystem(world, (plain) => ({ ...plain, source }));
  const running = system.run();
  await quiesce();
  await new SimulatedStore(world).open();
  source.give(recordAt(0));
  source.end();
  await rejects(running, { name: "FencedError" });
  deepEqual([clock.pausesUs, notices], [[], []]);
});

Deno.test("system: a pipe is not restarted, since what it gave would be lost", async () => {
  const world = new World();
  class BrokenPipe extends LiveSource {
    override read(): Promise<never> {
      return Promise.reject(broken());
    }
  }
  const { system, notices, clock } = await makeSystem(
    world,
    (plain) => ({ ...plain, source: new BrokenPipe() }),
  );
  await rejects(system.run(), { name: "AssertionFailed" });
  deepEqual([notices, clock.pausesUs], [[], []]);
});

Deno.test("system: before it reads back, what the broken split had on its way has arrived", async () => {
  FaultySource.reads = 0;
  const world = new World();
  /** Takes a while: a write that began before it was closed is done after that. */
  class SlowSink extends SimulatedSink {
    #closed = false;

    override async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
      if (this.#closed) throw new Error("it was closed");
      const bytes = lines.bytes.slice(0, lines.byteLength);
      await quiesce();
      await super.write({ ...lines, bytes }, refused);
    }

    override close(): void {
      this.#closed = true;
    }
  }
  const faults = faultsAt(4, 1);
  const bench = await makeSystem(world, (plain) => ({
    ...plain,
    source: new FaultySource(world, faults),
    sink: new SlowSink(world, world.triggers),
    deadLetters: new SlowSink(world, world.deadLetters),
  }));
  equal(await bench.system.run(), true);
  deepEqual(outcomeOf(world), await undisturbed());
});

Deno.test("system: stopped before it has opened, it opens, makes its checkpoint and ends", async () => {
  const world = new World();
  const { system, openings } = await makeSystem(world, (plain) => plain);
  system.stop();
  equal(await system.run(), false);
  deepEqual(openings, [false]);
  equal(world.triggers.lines().length, 0);
  equal(await (await makeSystem(world, (plain) => plain)).system.run(), true);
  deepEqual(outcomeOf(world), await undisturbed());
});

Deno.test("system: stopped at work, it finishes what was taken; the next start goes on", async () => {
  for (let at = 1; at <= 14; at++) {
    const world = new World();
    let reads = 0;
    const first = await makeSystem(world, (plain) => {
      class Stopping extends SimulatedSource {
        override read(signal: AbortSignal): Promise<RecordBatch | null> {
          if (++reads === at) first.system.stop();
          return super.read(signal);
        }
      }
      return { ...plain, source: new Stopping(world, LINES, { batchRecords: 6 }) };
    });
    equal(await first.system.run(), false);
    equal(first.system.report()?.readNow, 6 * (at - 1));
    const second = await makeSystem(world, (plain) => plain);
    equal(await second.system.run(), true);
    deepEqual(second.openings, [true]);
    deepEqual(outcomeOf(world), await undisturbed(), `stopped at read ${at}`);
  }
});
