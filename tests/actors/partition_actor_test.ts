/**
 * A partition as an actor: one message a step, or as much of one as a turn allows; what it hands over before a barrier and
 * what behind it; and that it leaves its mailbox alone while the sink is full.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Mailbox } from "../../actors/mailbox.ts";
import { PartitionActor, type PartitionMessage } from "../../actors/partition_actor.ts";
import { SinkActor } from "../../actors/sink_actor.ts";
import { parseConfig } from "../../lib/config.ts";
import { EffectBuffer, type LateRecord } from "../../lib/effect.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import type { Json } from "../../lib/json.ts";
import { murmur2 } from "../../lib/murmur2.ts";
import { Partition, SharedCount } from "../../lib/partition.ts";
import { TransitionDecoder } from "../../lib/transition.ts";
import { TransitionBatch } from "../../lib/transition_batch.ts";
import { World } from "../sim/simulated_ports.ts";
import { HeldSink, kindsIn, NOON_US, quiesce, recordAt } from "../support/split_world.ts";

/** An actor over a simulated sink. */
interface PartitionBench {
  readonly actor: PartitionActor;
  readonly sink: SinkActor;
  readonly output: HeldSink;
  readonly world: World;
  readonly recycled: TransitionBatch[];
  readonly late: { line: number; epoch: number }[];
}

async function makePartition(json: Json = {}): Promise<PartitionBench> {
  const config = parseConfig(json);
  const world = new World();
  const output = new HeldSink(world, world.triggers);
  const sink = new SinkActor(output, {
    fail: (error) => {
      throw error;
    },
    refused: (_line, why) => {
      throw new Error(why);
    },
  }, config.emit === "ordered" ? 1 : 0);
  const effects = new EffectBuffer(config.emit === "ordered");
  const recycled: TransitionBatch[] = [];
  const late: { line: number; epoch: number }[] = [];
  const bounds = {
    pairs: new SharedCount(config.pairs.capacity),
    waiting: new SharedCount(config.dwell.waitingCapacity),
  };
  const identity = await Identity.create(config.identity);
  const rules = new FenceRules(config.dwell.rules);
  const actor = new PartitionActor({
    number: 0,
    partition: new Partition(config, { identity, rules, bounds, effects }),
    effects,
    mailbox: new Mailbox<PartitionMessage>(config.mailbox.capacity),
    sink,
    recycle: (batch) => recycled.push(batch),
    refuseLate: (records: readonly LateRecord[], epoch) =>
      late.push(...records.map(({ line }) => ({ line, epoch }))),
  });
  return { actor, sink, output, world, recycled, late };
}

/** A message of records, each with the watermark before it and the dedup clock with it, as seconds after noon. */
function advance(
  lines: readonly string[],
  { before, behind, clock = behind }: { before: number; behind: number; clock?: number },
): PartitionMessage {
  const decoder = new TransitionDecoder();
  const batch = lines.length === 0 ? null : new TransitionBatch(lines.length);
  lines.forEach((line, i) => {
    const bytes = new TextEncoder().encode(line);
    equal(decoder.decode(bytes, 0, bytes.length), "transition");
    batch?.push(decoder, {
      watermarkBeforeUs: NOON_US + before * 1e6,
      dedupClockUs: NOON_US + clock * 1e6,
      deviceHash: murmur2(decoder.bytes, decoder.deviceStart, decoder.deviceEnd),
      recordBytes: bytes,
      recordStart: 0,
      recordEnd: bytes.length,
      offset: i,
      line: i + 1,
      knownLate: false,
      part: 0,
    });
  });
  return { type: "advance", batch, watermarkUs: NOON_US + behind * 1e6 };
}

function fleet(count: number): string[] {
  return Array.from({ length: count }, (_, i) => recordAt(0, { device: `truck-${i}` }));
}

/** Steps until it is idle; returns how many that took. */
function stepUntilIdle(actor: PartitionActor): number {
  for (let steps = 1; steps < 10_000; steps++) {
    if (actor.step() === "idle") return steps;
  }
  throw new Error("It never comes to rest");
}

Deno.test("partition actor: one message a step, the batch given back when it is done with", async () => {
  const { actor, sink, world, recycled } = await makePartition();
  ok(actor.idle);
  equal(actor.step(), "idle");
  const first = advance(fleet(3), { before: -5, behind: -5 });
  actor.mailbox.offer(first, 3);
  actor.mailbox.offer(advance([], { before: 0, behind: 1 }), 0);
  equal(actor.step(), "again");
  deepEqual(recycled, [first.type === "advance" ? first.batch : null]);
  ok(!actor.idle);
  equal(actor.step(), "idle");
  ok(actor.idle);
  await sink.settled();
  deepEqual(kindsIn(world.triggers), ["ENTER", "ENTER", "ENTER"]);
});

Deno.test("partition actor: at most max_fires_per_turn a step, and then it goes on where it was", async () => {
  for (const [max, total] of [[1, 5], [10, 9], [10, 10], [10, 11], [10, 35]] as const) {
    const { actor, sink, world } = await makePartition({ dwell: { max_fires_per_turn: max } });
    actor.mailbox.offer(advance(fleet(total), { before: -5, behind: -5 }), total);
    actor.mailbox.offer(advance([], { before: 0, behind: 1 }), 0);
    stepUntilIdle(actor);
    await sink.settled();
    actor.mailbox.offer(advance([], { before: 0, behind: 600 }), 0);
    let told = 0;
    for (let goesOn = true; goesOn;) {
      goesOn = actor.step() === "again";
      await sink.settled();
      const now = kindsIn(world.triggers).filter((kind) => kind === "DWELL").length;
      ok(now - told <= max, `${max} of ${total} a turn: ${now - told} fired in one`);
      if (goesOn) ok(!actor.idle);
      told = now;
    }
    equal(told, total);
  }
});

Deno.test("partition actor: in one message, what became due before a record comes before it", async () => {
  const { actor, sink, world } = await makePartition({ dwell: { max_fires_per_turn: 1 } });
  actor.mailbox.offer(advance(fleet(3), { before: -5, behind: -5 }), 3);
  // The watermark passes their deadlines within the message: between these records and the next.
  const newcomer = recordAt(900, { device: "newcomer" });
  actor.mailbox.offer(advance([newcomer], { before: 700, behind: 895 }), 1);
  stepUntilIdle(actor);
  await sink.settled();
  deepEqual(kindsIn(world.triggers), ["ENTER", "ENTER", "ENTER", "DWELL", "DWELL", "DWELL", "ENTER"]);
});

Deno.test("partition actor: what comes before a barrier is handed over before it is met, what comes behind it waits", async () => {
  const { actor, sink, world } = await makePartition();
  let taken = 0;
  actor.mailbox.offer(advance(fleet(2), { before: -5, behind: -5 }), 2);
  actor.mailbox.offer({
    type: "barrier",
    sweeps: true,
    watermarkUs: NOON_US - 5e6,
    take: () => ++taken === 3,
  }, 0);
  actor.mailbox.offer(advance([recordAt(0, { kind: "EXIT" })], { before: -5, behind: -5 }), 1);
  actor.step();
  equal(taken, 0);
  // A checkpoint that has much to take does so in several steps, and nothing else goes on meanwhile.
  for (const steps of [1, 2, 3]) {
    equal(actor.step(), "again");
    equal(taken, steps);
    equal(actor.mailbox.length, 1);
  }
  stepUntilIdle(actor);
  await sink.settled();
  deepEqual(kindsIn(world.triggers), ["ENTER", "ENTER"]);
  await sink.closeEpoch();
  await sink.settled();
  deepEqual(kindsIn(world.triggers), ["ENTER", "ENTER", "EXIT"]);
});

Deno.test("partition actor: the end of the input is done when all that waited is applied", async () => {
  const { actor, sink, world } = await makePartition({ dwell: { max_fires_per_turn: 2 } });
  let done = 0;
  const exits = Array.from({ length: 5 }, (_, i) => recordAt(601, { device: `truck-${i}`, kind: "EXIT" }));
  actor.mailbox.offer(advance([...fleet(5), ...exits], { before: -5, behind: 0, clock: 601 }), 10);
  actor.mailbox.offer({ type: "finish", done: () => done++ }, 0);
  const steps = stepUntilIdle(actor);
  ok(steps > 3, `two at a time, so not in ${steps}`);
  equal(done, 1);
  await sink.settled();
  equal(kindsIn(world.triggers).filter((kind) => kind === "DWELL").length, 5);
});

Deno.test("partition actor: while the sink is full it takes nothing from its mailbox", async () => {
  const { actor, sink, output, world } = await makePartition();
  output.held = "writes";
  sink.acceptLine(new Uint8Array(1).fill(10), 0);
  await quiesce();
  sink.acceptLine(new Uint8Array(4 << 20).fill(10), 0);
  actor.mailbox.offer(advance(fleet(2), { before: -5, behind: -5 }), 2);
  equal(actor.step(), "idle");
  deepEqual([actor.mailbox.depth, actor.idle], [2, false]);
  let woken = 0;
  sink.onRoom = () => woken++;
  output.release();
  await sink.settled();
  equal(woken, 1);
  equal(actor.step(), "idle");
  await sink.settled();
  equal(world.triggers.lines().filter((line) => line.includes("ENTER")).length, 2);
});

Deno.test("partition actor: in event-time order, a late record is refused in the epoch in which it came", async () => {
  const { actor, late, sink } = await makePartition({ emit: "ordered" });
  actor.mailbox.offer(advance([recordAt(0)], { before: 10, behind: 10 }), 1);
  stepUntilIdle(actor);
  actor.mailbox.offer({ type: "barrier", sweeps: true, watermarkUs: NOON_US + 10e6, take: () => true }, 0);
  actor.mailbox.offer(advance([recordAt(1, { device: "truck-2" })], { before: 10, behind: 10 }), 1);
  stepUntilIdle(actor);
  deepEqual(late, [{ line: 1, epoch: 0 }, { line: 1, epoch: 1 }]);
  await sink.settled();
});
