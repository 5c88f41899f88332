/**
 * A live source: what the wall clock may fire and what it must not make up. No time passes here but what the test lets.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { SplitActor } from "../../actors/split_actor.ts";
import type { Json } from "../../lib/json.ts";
import { SimulatedClock, World } from "../sim/simulated_ports.ts";
import {
  HeldSink,
  kindsIn,
  LiveSource,
  makeSplit,
  NOON_US,
  quiesce,
  recordAt,
} from "../support/split_world.ts";

const SECOND_US = 1_000_000;

/** An open split that is running over a pipe. */
class Live {
  readonly #running: Promise<boolean>;

  private constructor(
    readonly split: SplitActor,
    readonly clock: SimulatedClock,
    readonly notices: readonly string[],
    readonly source: LiveSource,
    readonly world: World,
  ) {
    this.#running = split.run();
  }

  static async open(
    json: Json,
    options: { world?: World; sink?: HeldSink; wallUs?: number } = {},
  ): Promise<Live> {
    const { world = new World(), wallUs = NOON_US, ...rest } = options;
    const source = new LiveSource();
    const bench = await makeSplit(json, { ...rest, world, source, clock: new SimulatedClock(wallUs) });
    await bench.split.open();
    return new Live(bench.split, bench.clock, bench.notices, source, world);
  }

  /** Lets so many seconds pass, with a tick at each. */
  async wait(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) this.clock.advance(SECOND_US);
    await quiesce();
  }

  /** Records come in. */
  async give(...lines: readonly string[]): Promise<void> {
    this.source.give(...lines);
    await quiesce();
  }

  get kinds(): string[] {
    return kindsIn(this.world.triggers);
  }

  async stop(): Promise<void> {
    this.split.stop();
    equal(await this.#running, false, "it was stopped, and did not end");
  }
}

/** A threshold of 60 s, lateness 5 s, settle 30 s. */
const MINUTE = { dwell: { rules: [{ fence: "*", after: ["60s"] }] } };

Deno.test("live: a quiet fleet still fires, when lateness has passed", async () => {
  const live = await Live.open(MINUTE);
  await live.give(recordAt(0));
  await live.wait(64);
  deepEqual(live.kinds, ["ENTER"]);
  await live.wait(2);
  deepEqual(live.kinds, ["ENTER", "DWELL"]);
  await live.wait(600);
  deepEqual(live.kinds, ["ENTER", "DWELL"], "once");
  await live.stop();
});

Deno.test("live: an EXIT that is under way for less than lateness keeps the DWELL from firing", async () => {
  const live = await Live.open(MINUTE);
  await live.give(recordAt(0));
  await live.wait(64);
  await live.give(recordAt(59.9, { kind: "EXIT", ingestSecond: 64 }));
  await live.wait(600);
  deepEqual(live.kinds, ["ENTER", "EXIT"]);
  await live.stop();
});

Deno.test("live: nothing fires by the wall clock before the source has settled", async () => {
  const live = await Live.open({ ...MINUTE, time: { settle: "5m" } });
  await live.give(recordAt(0));
  await live.wait(299);
  deepEqual(live.kinds, ["ENTER"]);
  await live.wait(2);
  deepEqual(live.kinds, ["ENTER", "DWELL"]);
  await live.stop();
});

Deno.test("live: a stalled pipe of old data never makes a DWELL up", async () => {
  const live = await Live.open(MINUTE);
  // Yesterday's log, whose rest is late in coming.
  await live.give(recordAt(-86_400), recordAt(-86_390, { device: "truck-2" }));
  await live.wait(3600);
  deepEqual(live.kinds, ["ENTER", "ENTER"]);
  await live.give(
    recordAt(-86_360, { kind: "EXIT" }),
    recordAt(-86_300, { device: "truck-2", kind: "EXIT" }),
  );
  await live.wait(3600);
  deepEqual(live.kinds, ["ENTER", "ENTER", "EXIT", "EXIT", "DWELL"], "the second one did stay for a minute");
  await live.stop();
});

Deno.test("live: a steady delay of the pipeline is allowed for", async () => {
  const live = await Live.open(MINUTE);
  // Each record comes 20 s after it happened.
  await live.give(recordAt(-20));
  await live.wait(50);
  // The device was inside for 50 s; by the wall clock it would be 70.
  await live.give(recordAt(30, { kind: "EXIT", ingestSecond: 50 }));
  await live.wait(600);
  deepEqual(live.kinds, ["ENTER", "EXIT"]);
  await live.stop();
});

Deno.test("live: after a suspend the source has to prove anew that it has caught up", async (test) => {
  await test.step("an EXIT that had piled up comes first", async () => {
    const live = await Live.open(MINUTE);
    await live.give(recordAt(0));
    await live.wait(40);
    live.clock.advance(3600 * SECOND_US);
    await live.wait(20);
    deepEqual(live.kinds, ["ENTER"]);
    await live.give(recordAt(50, { kind: "EXIT", ingestSecond: 3660 }));
    await live.wait(600);
    deepEqual(live.kinds, ["ENTER", "EXIT"]);
    await live.stop();
  });
  await test.step("where nothing had, it fires once it has settled", async () => {
    const live = await Live.open(MINUTE);
    await live.give(recordAt(0));
    await live.wait(40);
    live.clock.advance(3600 * SECOND_US);
    await live.wait(29);
    deepEqual(live.kinds, ["ENTER"]);
    await live.wait(2);
    deepEqual(live.kinds, ["ENTER", "DWELL"]);
    await live.stop();
  });
});

Deno.test("live: while the sink holds everything up, the wall clock makes nothing up", async () => {
  const world = new World();
  const sink = new HeldSink(world, world.triggers);
  const live = await Live.open({ ...MINUTE, mailbox: { capacity: 64 } }, { world, sink });
  await live.give(recordAt(0, { device: "truck-0" }));
  await live.wait(31);
  sink.held = "writes";
  // So much that the partitions have to wait; an EXIT is stuck behind it.
  const load = `"${"x".repeat(16_000)}"`;
  const heavy = Array.from(
    { length: 600 },
    (_, i) => `${recordAt(31 + i / 1000, { device: `truck-${i + 1}` }).slice(0, -1)},"attributes":${load}}`,
  );
  await live.give(...heavy, recordAt(31.8, { device: "truck-0", kind: "EXIT" }));
  await live.wait(300);
  sink.release();
  await live.wait(1);
  const ofTruck0 = world.triggers.lines().map((line) =>
    JSON.parse(line) as { device_id: string; kind: string }
  )
    .filter(({ device_id }) => device_id === "truck-0");
  deepEqual(ofTruck0.map(({ kind }) => kind), ["ENTER", "EXIT"]);
  await live.wait(300);
  equal(live.kinds.filter((kind) => kind === "DWELL").length, 600, "the others are still inside");
  await live.stop();
});

Deno.test("live: a backlog of overdue deadlines that lasts longer than a tick is told of once", async () => {
  const world = new World();
  const sink = new HeldSink(world, world.triggers);
  const live = await Live.open(
    { ...MINUTE, partitions: 1, dwell: { ...MINUTE.dwell, max_fires_per_turn: 10 } },
    { world, sink },
  );
  // Ids that take 1.5 KB each in JSON, so that few DWELLs fill the sink's buffer.
  const longIds = Array.from(
    { length: 3000 },
    (_, i) => recordAt(i / 1000, { device: `${i}${"\u0001".repeat(250)}`, fence: "\u0001".repeat(256) }),
  );
  await live.give(...longIds);
  await live.wait(31);
  sink.held = "writes";
  await live.give(recordAt(120, { kind: "HEARTBEAT" }));
  await live.wait(1);
  equal(live.notices.length, 0, "not yet longer than a tick");
  await live.wait(3);
  equal(live.notices.length, 1);
  match(live.notices[0] ?? "", /Deadlines are overdue for longer than a tick/);
  ok(live.split.report().overdue);
  sink.release();
  await quiesce();
  await live.wait(1);
  ok(!live.split.report().overdue);
  equal(live.kinds.filter((kind) => kind === "DWELL").length, 3000);
  await live.stop();
});

Deno.test("live: deadlines that come due one after the other, and fire, are not overdue", async () => {
  const live = await Live.open(MINUTE);
  for (let second = 0; second < 120; second++) {
    if (second < 40) await live.give(recordAt(second, { device: `truck-${second}` }));
    await live.wait(1);
    ok(!live.split.report().overdue, `after ${second} s`);
  }
  deepEqual(live.notices, []);
  equal(live.kinds.filter((kind) => kind === "DWELL").length, 40);
  await live.stop();
});

Deno.test("live: a restart follows again once it has settled, and then counts the time it was down", async () => {
  for (const exits of [true, false]) {
    const world = new World();
    const first = await Live.open(MINUTE, { world });
    await first.give(recordAt(0));
    await first.wait(40);
    await first.stop();
    // Down for a minute.
    const second = await Live.open(MINUTE, { world, wallUs: NOON_US + 100 * SECOND_US });
    await second.wait(29);
    deepEqual(second.kinds, ["ENTER"]);
    // A client that kept what it could not send.
    if (exits) await second.give(recordAt(50, { kind: "EXIT", ingestSecond: 129 }));
    await second.wait(2);
    deepEqual(second.kinds, ["ENTER", exits ? "EXIT" : "DWELL"]);
    await second.stop();
  }
});

Deno.test("live: stopping keeps what is pending for the next start", async () => {
  const world = new World();
  const first = await Live.open(MINUTE, { world });
  await first.give(recordAt(0), recordAt(10, { device: "truck-2" }));
  await first.stop();
  deepEqual([first.split.report().pendingDwells, first.split.report().waiting], [1, 1]);
  const second = await Live.open(MINUTE, { world });
  await second.give(recordAt(200, { kind: "HEARTBEAT" }));
  deepEqual(second.kinds, ["ENTER", "ENTER", "DWELL", "DWELL"]);
  await second.stop();
});
