/**
 * Reading a split while it works: between two messages, whole, and nothing that came during the search is missed.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { UnavailableError } from "../../actors/ports.ts";
import { readAll, type SplitReads } from "../../actors/split_reads.ts";
import { World } from "../sim/simulated_ports.ts";
import { HeldSink, LiveSource, makeSplit, quiesce, recordAt } from "../support/split_world.ts";

const encoder = new TextEncoder();
const DEVICE = encoder.encode("truck-1");
const FENCE = encoder.encode("depot");

/** A split that reads from a pipe. */
async function makeBench(json: Record<string, unknown> = {}): Promise<{
  reads: SplitReads;
  source: LiveSource;
  sink: HeldSink;
  clock: Awaited<ReturnType<typeof makeSplit>>["clock"];
  end: () => Promise<void>;
}> {
  const world = new World();
  const source = new LiveSource();
  const sink = new HeldSink(world, world.triggers);
  const { split, clock } = await makeSplit({ partitions: 4, ...json }, { world, source, sink });
  await rejects(split.reads.pair(DEVICE, FENCE), UnavailableError);
  await split.open();
  const ran = split.run();
  const end = async (): Promise<void> => {
    source.end();
    await ran;
  };
  return { reads: split.reads, source, sink, clock, end };
}

Deno.test("SplitReads: a pair and all pairs of its device, from the partition that owns them", async () => {
  const { reads, source, end } = await makeBench();
  deepEqual(await reads.pair(DEVICE, FENCE), { watermark: null, pairs: [], count: 0 });
  for (let i = 0; i < 20; i++) {
    source.give(recordAt(i, { device: `truck-${i % 5}`, fence: i % 2 === 0 ? "depot" : `gate-${i}` }));
  }
  source.give(recordAt(60, { device: "other", kind: "EXIT" }));
  await quiesce();
  const { pairs: [pair], count, watermark } = await reads.pair(DEVICE, FENCE);
  equal(count, 1);
  equal(watermark, "2026-03-01T12:00:55.000000Z");
  deepEqual([pair?.device_id, pair?.fence_id, pair?.inside], ["truck-1", "depot", true]);
  const all = await reads.device(DEVICE);
  deepEqual(all.pairs.map(({ fence_id }) => fence_id), ["depot", "gate-11", "gate-1"]);
  equal((await reads.device(encoder.encode("truck-9"))).count, 0);
  equal((await reads.pair(DEVICE, encoder.encode("elsewhere"))).count, 0);
  await end();
});

Deno.test("SplitReads: pairs that come during a search are in its answer", async () => {
  const { reads, source, clock, end } = await makeBench({ partitions: 1 });
  for (let i = 0; i < 12_000; i++) source.give(recordAt(i / 1000, { device: `truck-${i}`, fence: "depot" }));
  await quiesce();
  // As the clock stands still nothing ends a slice: let each look at it take a millisecond.
  const { monotonicUs } = clock;
  let extraUs = 0;
  clock.monotonicUs = () => monotonicUs.call(clock) + (extraUs += 1000);
  const asked = reads.device(DEVICE);
  let turns = 0;
  clock.nextTurn = async () => {
    // The first is the search's own: the split works while it waits.
    if (turns++ > 0) return;
    source.give(recordAt(20, { fence: "late-comer" }));
    await quiesce();
  };
  const { pairs } = await asked;
  ok(turns > 0, "it was looked at in slices");
  deepEqual(pairs.map(({ fence_id }) => fence_id), ["depot", "late-comer"]);
  await end();
});

Deno.test("SplitReads: several splits are asked; what can't be told is not said to be unknown", async () => {
  const [one, other] = [await makeBench(), await makeBench()];
  one.source.give(recordAt(0, { fence: "a" }));
  other.source.give(recordAt(0, { fence: "b" }), recordAt(60, { device: "x" }));
  await quiesce();
  const ask = (splits: readonly (SplitReads | null)[], device = DEVICE): ReturnType<typeof readAll> =>
    readAll(splits, (split) => split.device(device));
  const both = await ask([one.reads, other.reads]);
  deepEqual([both.count, both.watermark], [2, "2026-03-01T11:59:55.000000Z"]);
  deepEqual(both.pairs.map(({ fence_id }) => fence_id), ["a", "b"]);
  equal((await ask([one.reads, other.reads], encoder.encode("nobody"))).count, 0);
  equal((await ask([one.reads, null])).count, 1);
  await rejects(ask([one.reads, null], encoder.encode("nobody")), UnavailableError);
  await rejects(ask([null]), UnavailableError);
  await rejects(ask([]), UnavailableError);
  await one.end();
  await other.end();
});
