/**
 * What a split measures of itself: the age of what is not durable, and sums over attempts and splits.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { addVitals, continueVitals, SplitMeter, type SplitVitals } from "../../actors/split_meter.ts";
import type { CheckpointCommit } from "../../lib/chunk.ts";

const COMMIT: CheckpointCommit = {
  put: [{ stream: "pairs", id: 0, bytes: new Uint8Array(100) }],
  drop: [],
  manifest: new Uint8Array(11),
};

Deno.test("SplitMeter: the age is that of the oldest change in no durable checkpoint", () => {
  const meter = new SplitMeter();
  const ageAt = (nowUs: number): number => meter.checkpoint(nowUs).ageUs;
  equal(ageAt(1_000), 0);
  meter.changed(1_000);
  meter.changed(2_000);
  equal(ageAt(3_000), 2_000);
  meter.barrier(3_000);
  equal(ageAt(4_000), 3_000);
  meter.changed(4_000);
  equal(ageAt(5_000), 4_000);
  meter.durable(COMMIT, 6_000);
  equal(ageAt(6_000), 2_000);
  meter.barrier(6_000);
  meter.durable(COMMIT, 7_000);
  equal(ageAt(1e9), 0);
  const { count, bytes, lastBytes, durations } = meter.checkpoint(1e9);
  deepEqual([count, bytes, lastBytes], [2, 222, 111]);
  equal(durations.counts.reduce((sum, value) => sum + value, 0), 2);
  equal(durations.sum, 0.004);
});

Deno.test("SplitMeter: how late DWELLs left; one ahead of its time is on time", () => {
  const meter = new SplitMeter();
  meter.fired([1e6, 5e6], 3e6);
  equal(meter.fireLag.sum, 2);
  equal(meter.fireLag.counts[0], 1);
});

function vitals(more: Partial<SplitVitals>): SplitVitals {
  const meter = new SplitMeter();
  meter.changed(0);
  meter.barrier(0);
  meter.durable(COMMIT, 10);
  meter.fired([0], 1e6);
  return {
    source: "topic",
    partition: 1,
    isOpen: true,
    isFollowing: true,
    overdueUs: 5,
    mailboxRecords: 7,
    mailboxFill: 0.5,
    pairsBytes: 10,
    windowBytes: 20,
    windowIdsAdded: 3,
    evictedLive: 2,
    heartbeats: 1,
    skipped: 0,
    checkpoint: meter.checkpoint(10),
    fireLag: meter.fireLag,
    ...more,
  };
}

Deno.test("continueVitals: what adds up goes on, the rest is that of now", () => {
  const now = vitals({ isOpen: false, mailboxRecords: 1 });
  const both = continueVitals(now, vitals({}));
  deepEqual([both.isOpen, both.mailboxRecords, both.pairsBytes], [false, 1, 10]);
  deepEqual([both.windowIdsAdded, both.evictedLive, both.heartbeats], [6, 4, 2]);
  deepEqual([both.checkpoint.count, both.checkpoint.bytes, both.checkpoint.lastBytes], [2, 222, 111]);
  equal(both.fireLag.sum, 2);
});

Deno.test("addVitals: several splits as one", () => {
  const sum = addVitals(
    vitals({}),
    vitals({ partition: 2, isFollowing: false, overdueUs: 9, mailboxFill: 0.25 }),
  );
  deepEqual([sum.isOpen, sum.isFollowing, sum.overdueUs, sum.mailboxFill], [true, false, 9, 0.5]);
  deepEqual([sum.mailboxRecords, sum.pairsBytes, sum.windowBytes], [14, 20, 40]);
  deepEqual([sum.checkpoint.count, sum.checkpoint.lastBytes], [2, 222]);
});
