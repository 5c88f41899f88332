/**
 * How pending deadlines are counted: each edge of a scale, and the rows of a partition.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { Identity } from "../../lib/identity.ts";
import { PendingCounts } from "../../lib/pending_counts.ts";
import { PartitionDriver } from "../support/partition_driver.ts";

const S = 1_000_000;
const MINUTE = 60 * S;
const HOUR = 60 * MINUTE;

/** Where a deadline is counted: `second/minute/hour`, `-` for not on that scale. */
function placeOf(aheadUs: number): string {
  const counts = new PendingCounts();
  counts.add(aheadUs, 1);
  if (counts.overdue === 1) return "overdue";
  if (counts.beyond === 1) return "beyond";
  return [counts.seconds, counts.minutes, counts.hours].map((scale) => {
    const at = scale.indexOf(1);
    return at < 0 ? "-" : String(at);
  }).join("/");
}

const EDGES: readonly (readonly [aheadUs: number, place: string])[] = [
  [-HOUR, "overdue"],
  [0, "overdue"],
  [1, "0/0/0"],
  [S - 1, "0/0/0"],
  [S, "1/0/0"],
  [MINUTE - 1, "59/0/0"],
  [MINUTE, "-/1/0"],
  [HOUR - 1, "-/59/0"],
  [HOUR, "-/-/1"],
  [24 * HOUR - 1, "-/-/23"],
  [24 * HOUR, "beyond"],
  [Infinity, "beyond"],
];
for (const [aheadUs, place] of EDGES) {
  Deno.test(`PendingCounts: ${aheadUs} µs ahead is ${place}`, () => equal(placeOf(aheadUs), place));
}

Deno.test("PendingCounts: splits add up", () => {
  const [one, other] = [new PendingCounts(), new PendingCounts()];
  one.add(S, 2);
  one.firstUs = 7;
  other.add(S, 3);
  other.add(-1, 4);
  other.add(48 * HOUR, 5);
  other.firstUs = 3;
  other.isSample = true;
  one.merge(other);
  deepEqual([one.seconds[1], one.minutes[0], one.hours[0], one.overdue, one.beyond], [5, 5, 5, 4, 5]);
  deepEqual([one.firstUs, one.isSample], [3, true]);
});

const identity = await Identity.create({ bucketUs: 2 * S, guardUs: 0 });

/** A partition with so many visits, a second apart, of which those that are a multiple of three have ended. */
function visits(count: number): PartitionDriver {
  const driver = new PartitionDriver(identity, { dwell: { rules: [{ fence: "*", after: ["10m"] }] } });
  for (let i = 0; i < count; i++) {
    driver.enter(i / 10, { device: `d${i}` });
    if (i % 3 === 0) driver.exit(i / 10 + 0.05, { device: `d${i}` });
  }
  driver.pass(count / 10 + 1);
  return driver;
}

Deno.test("Partition.samplePending: each pending visit once where there are few", () => {
  const { partition } = visits(90);
  const counts = new PendingCounts();
  partition.samplePending(counts, 1000);
  equal(counts.isSample, false);
  equal(counts.hours[0], 60);
  equal(counts.hours[0], partition.pendingDwells);
  equal(counts.minutes.reduce((sum, count) => sum + count, 0), 60);
  deepEqual(counts.seconds.filter((count) => count > 0), []);
});

Deno.test("Partition.samplePending: each stands for others where there are many", () => {
  const { partition } = visits(1000);
  const counts = new PendingCounts();
  partition.samplePending(counts, 100);
  equal(counts.isSample, true);
  const estimate = counts.hours[0] as number;
  // A tenth of the rows, of which two in three are pending.
  equal(
    Math.abs(estimate - partition.pendingDwells) <= 20,
    true,
    `${estimate} of ${partition.pendingDwells}`,
  );
});
