/**
 * The split over simulated ports: when it takes a checkpoint and of what, what it does at each of its bounds, and what it
 * refuses to go on with.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { CheckpointCommit, LineBatch, RefusedLine } from "../../actors/ports.ts";
import type { Json } from "../../lib/json.ts";
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
  HeldSink,
  HeldStore,
  kindsIn,
  LiveSource,
  makeSplit,
  NOON_US,
  quiesce,
  recordAt,
  runThrough,
} from "../support/split_world.ts";

/** A checkpoint after each batch. */
const OFTEN = { checkpoint: { interval: "0s" } };

Deno.test("split: the first checkpoint is durable before anything is emitted", async () => {
  const log: string[] = [];
  const world = new World();
  class LoggedSink extends SimulatedSink {
    override write(lines: LineBatch, refused: RefusedLine): Promise<void> {
      log.push("write");
      return super.write(lines, refused);
    }
  }
  class LoggedStore extends SimulatedStore {
    override async commit(commit: CheckpointCommit): Promise<void> {
      await super.commit(commit);
      log.push("commit");
    }
  }
  const sink = new LoggedSink(world, world.triggers);
  const deadLetters = new LoggedSink(world, world.deadLetters);
  const store = new LoggedStore(world);
  await runThrough({}, { world, lines: ["{", ...comeAndGo(3)], sink, deadLetters, store });
  deepEqual([log[0], log.includes("write")], ["commit", true]);
});

Deno.test("split: a position is acknowledged after its checkpoint, and lies between two batches", async () => {
  const log: string[] = [];
  const world = new World();
  class LoggedSource extends SimulatedSource {
    override acknowledge(position?: Json): Promise<void> {
      log.push(`acknowledge ${(position as { offset: number }).offset}`);
      return super.acknowledge();
    }
  }
  class LoggedStore extends SimulatedStore {
    override async commit(commit: CheckpointCommit): Promise<void> {
      await super.commit(commit);
      log.push("commit");
    }
  }
  const lines = comeAndGo(10);
  const source = new LoggedSource(world, lines, { batchRecords: 6 });
  await runThrough(OFTEN, { world, source, store: new LoggedStore(world) });
  equal(log[0], "commit", "the first has no position yet");
  const pairs = log.slice(1).join(", ").match(/commit, acknowledge \d+/g) ?? [];
  equal(pairs.length * 2, log.length - 1, log.join(", "));
  const offsets = pairs.map((pair) => Number(pair.split(" ").at(-1)));
  ok(
    offsets.length >= 2 && offsets.every((offset) => offset % 6 === 0 || offset === lines.length),
    `${offsets}`,
  );
  deepEqual(offsets, offsets.toSorted((a, b) => a - b));
  equal(offsets.at(-1), lines.length);
});

Deno.test("split: the checkpoint interval is a minimum", async () => {
  // Only the first one and the last: by this clock, all of it takes less than half a second.
  const { split } = await runThrough({}, { lines: comeAndGo(500) });
  equal(split.report().checkpoints, 2);
  // With none it takes one after another.
  const often = await runThrough(OFTEN, { lines: comeAndGo(500) });
  ok(often.split.report().checkpoints > 5, `${often.split.report().checkpoints}`);
});

Deno.test("split: the next checkpoint waits until the last is durable and something has changed", async () => {
  const world = new World();
  const source = new LiveSource();
  const store = new HeldStore(world);
  const { split, clock } = await makeSplit({}, { world, source, store });
  await split.open();
  equal(store.commits, 1);
  const running = split.run();
  for (let second = 0; second < 5; second++) clock.advance(1_000_000);
  await quiesce();
  equal(store.commits, 1, "nothing has changed");
  store.held = true;
  source.give(recordAt(0));
  await quiesce();
  for (let second = 0; second < 5; second++) {
    source.give(recordAt(second, { device: "truck-2" }));
    clock.advance(1_000_000);
    await quiesce();
  }
  equal(store.commits, 1, "the one that began is not durable");
  store.release();
  await quiesce();
  clock.advance(1_000_000);
  await quiesce();
  equal(store.commits, 3, "one for all that came meanwhile");
  split.stop();
  await running;
  equal(kindsIn(world.triggers).filter((kind) => kind === "ENTER").length, 4);
});

Deno.test("split: at waiting_capacity the watermark is moved to the oldest, counted, and nothing is lost", async () => {
  const capacity = 10;
  const lines = Array.from(
    { length: 200 },
    (_, i) => recordAt(i / 100, { device: `truck-${i % 50}`, kind: i < 100 ? "ENTER" : "EXIT" }),
  );
  for (const emit of ["arrival", "ordered"]) {
    const world = new World();
    let most = 0;
    class Watched extends SimulatedSource {
      override async read(signal: AbortSignal): Promise<RecordBatch | null> {
        const batch = await super.read(signal);
        most = Math.max(most, split.report().waiting);
        return batch;
      }
    }
    const source = new Watched(world, lines, { batchRecords: 7 });
    const config = { emit, partitions: 3, dwell: { waiting_capacity: capacity } };
    const { split } = await makeSplit(config, { world, source });
    await split.open();
    await split.run();
    const { counters, deadLetters, waiting } = split.report();
    ok(counters.watermarkForced > 0, emit);
    ok(most <= capacity && most > 0, `${most} waited at most`);
    equal(waiting, 0);
    equal(
      counters.enter + counters.exit + counters.suppressed + counters.absorbed + deadLetters.LATE,
      200,
      emit,
    );
    equal(kindsIn(world.triggers).length, counters.enter + counters.exit);
  }
});

Deno.test("split: however much is held at waiting_capacity, time does not run ahead of what was observed", async () => {
  const devices = Array.from({ length: 2000 }, (_, i) => `offline-${i}`);
  const lines = [
    recordAt(0),
    recordAt(10, { device: "truck-2" }),
    ...devices.map((device) => recordAt(1, { device })),
    ...devices.map((device) => recordAt(2, { device, kind: "EXIT" })),
    recordAt(60, { kind: "EXIT" }),
    recordAt(70, { device: "truck-2", kind: "EXIT" }),
  ];
  for (const partitions of [1, 3]) {
    const world = new World();
    // Each ten that are held would move the watermark on by 5 s, and so to a DWELL that nobody has earned.
    const { split } = await runThrough({ partitions, dwell: { waiting_capacity: 10 } }, { world, lines });
    const { counters, waiting } = split.report();
    deepEqual([counters.enter, counters.exit, counters.dwell, waiting], [2002, 2002, 0, 0]);
    equal(counters.late, 4000);
    ok(counters.heldGroupsFull > 0);
  }
});

Deno.test("split: the smallest mailboxes change nothing that comes out", async () => {
  const lines = comeAndGo(100);
  const outputOf = async (capacity: number): Promise<string[]> => {
    const world = new World();
    await runThrough({ partitions: 3, mailbox: { capacity } }, { world, lines });
    return world.triggers.lines().toSorted();
  };
  const expected = await outputOf(8192);
  equal(expected.length, 300);
  for (const capacity of [1, 2, 3, 4, 5, 127]) deepEqual(await outputOf(capacity), expected, `${capacity}`);
});

for (const held of ["triggers", "dead letters"] as const) {
  Deno.test(`split: while ${held} can't be written, reading stops; afterwards all of it comes out`, async () => {
    const world = new World();
    const sink = new HeldSink(world, held === "triggers" ? world.triggers : world.deadLetters);
    const total = 2500;
    const load = `"${"x".repeat(8000)}"`;
    const lines = Array.from({ length: total }, (_, i) => {
      const record = recordAt(i / 100, { device: `truck-${i}` });
      return held === "triggers" ? `${record.slice(0, -1)},"attributes":${load}}` : load;
    });
    const config = { partitions: 2, mailbox: { capacity: 64 }, dwell: { rules: [] } };
    const where = held === "triggers" ? { sink } : { deadLetters: sink };
    const { split } = await makeSplit(config, { world, lines, batchRecords: 100, ...where });
    await split.open();
    sink.held = "writes";
    const running = split.run();
    await quiesce();
    const stoppedAt = split.report().readNow;
    // 2 MiB in the buffer, the piece that is being written, and what lies in the mailboxes.
    ok(stoppedAt > 250 && stoppedAt < 700, `${stoppedAt} were read`);
    await quiesce();
    equal(split.report().readNow, stoppedAt);
    sink.release();
    await running;
    equal(split.report().readNow, total);
    equal((held === "triggers" ? world.triggers : world.deadLetters).lines().length, total);
  });
}

const FAILING:
  readonly (readonly [string, (world: World, fault: Error) => Parameters<typeof makeSplit>[1]])[] = [
    ["sink", (world, fault) => ({ sink: failing(new SimulatedSink(world, world.triggers), "write", fault) })],
    ["sync", (world, fault) => ({ sink: failing(new SimulatedSink(world, world.triggers), "flush", fault) })],
    [
      "dead letters",
      (world, fault) => ({
        deadLetters: failing(new SimulatedSink(world, world.deadLetters), "write", fault),
      }),
    ],
    ["store", (world, fault) => ({ store: failing(new SimulatedStore(world), "commit", fault) })],
  ];
for (const [name, portsOf] of FAILING) {
  Deno.test(`split: a failing ${name} ends the run with what it said`, async () => {
    const world = new World();
    const fault = new Error("the disk is full");
    const lines = ["{", ...comeAndGo(300)];
    const { split } = await makeSplit(OFTEN, {
      world,
      lines,
      ...portsOf(world, fault),
    });
    await rejects(split.open().then(() => split.run()), fault);
  });
}

/** A port one of whose methods fails after the first checkpoint, if it is called before that. */
function failing<T extends object>(port: T, method: "write" | "flush" | "commit", fault: Error): T {
  let calls = 0;
  const before = method === "write" ? 0 : 1;
  return new Proxy(port, {
    get(target, name): unknown {
      if (name === method && calls++ >= before) return () => Promise.reject(fault);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

Deno.test("split: whoever lost the split to another can't commit any more, and stops", async () => {
  const world = new World();
  const source = new LiveSource();
  const first = await makeSplit({}, { world, source });
  await first.split.open();
  const running = first.split.run();
  const second = await makeSplit({}, { world, lines: [] });
  await second.split.open();
  source.give(recordAt(0));
  source.end();
  await rejects(running, { name: "FencedError" });
});

Deno.test("split: a record without an ingest time, far ahead of all others, brings one warning", async () => {
  const lines = [0, 1, 400, 2, 900].map((second) =>
    recordAt(second, { device: `truck-${second}`, ingestSecond: null })
  );
  const { notices } = await runThrough({}, {
    lines,
    batchRecords: 1,
    clock: new SimulatedClock(NOON_US + 3600e6),
  });
  equal(notices.length, 1);
  match(notices[0] ?? "", /without an ingest time.*Give ingest_time/);
});

Deno.test("split: after a failure nothing of it goes on, neither reading nor waiting for room", async () => {
  class CountingClock extends SimulatedClock {
    turns = 0;
    override nextTurn(): Promise<void> {
      this.turns++;
      return new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  class CountingSource extends SimulatedSource {
    reads = 0;
    override read(signal: AbortSignal): Promise<RecordBatch | null> {
      this.reads++;
      return super.read(signal);
    }
  }
  for (const batchRecords of [1, 64, 500]) {
    const world = new World();
    const clock = new CountingClock(NOON_US);
    const source = new CountingSource(world, comeAndGo(2000), { batchRecords });
    const fault = new Error("the disk is full");
    const sink = failing(new SimulatedSink(world, world.triggers), "write", fault);
    // So few may wait that each piece waits until those before it have been taken.
    const { split } = await makeSplit({ dwell: { waiting_capacity: 100 } }, { world, clock, source, sink });
    await split.open();
    await rejects(split.run(), fault);
    await split.halt();
    await quiesce();
    const before = [clock.turns, source.reads];
    await quiesce();
    deepEqual([clock.turns, source.reads], before, `batches of ${batchRecords}`);
  }
});
