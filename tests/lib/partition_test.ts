/**
 * The partition: the rules of SPEC 2 and 3 as named cases, and every bound reached.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { AssertionFailed } from "../../lib/assert.ts";
import { Identity } from "../../lib/identity.ts";
import { parseTrigger } from "../../lib/trigger.ts";
import { PartitionDriver, toUs } from "../support/partition_driver.ts";
import { randomFrom } from "../support/random.ts";

const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
/** One µs, in seconds. */
const US = 1e-6;

/** A partition with a threshold of 10 s, unless a test says otherwise. Buckets begin at −1, 1, 3 … */
function drive(sections: Record<string, Record<string, unknown> | string> = {}): PartitionDriver {
  const { dwell, ...rest } = sections;
  return new PartitionDriver(identity, {
    dwell: { rules: [{ fence: "*", after: ["10s"] }], ...(dwell as Record<string, unknown>) },
    ...rest,
  });
}

// ——— SPEC 2: identity, guard, memory, window ———

Deno.test("partition: copies that straddle a bucket's edge are one", () => {
  const table: readonly (readonly [first: number, second: number, count: number])[] = [
    [0.9, 1.1, 1],
    [0.8, 1.2 - US, 1],
    [0.8 - US, 1, 2],
    [0.8, 1.2, 2],
    [1, 0.8, 1],
    [1.1, 0.9, 1],
    [0, 1 - US, 1],
    [0, 1, 2],
    // The edge is a key of its own: an event in the middle of the next bucket is another crossing.
    [0.9, 2, 2],
  ];
  for (const [first, second, count] of table) {
    const driver = drive({ identity: { max_skew: "0s" } });
    driver.enter(first);
    driver.enter(second);
    equal(driver.told().length, count, `${first} and ${second}`);
    equal(driver.partition.counters.suppressed, 2 - count);
  }
});

Deno.test("partition: a chain of repeats does not creep", () => {
  const driver = drive({ identity: { max_skew: "0s" } });
  // The second shares the first one's edge and is suppressed; it puts nothing in, so the third is new.
  for (const at of [0.9, 1.1, 2.9]) driver.enter(at);
  deepEqual(driver.told(), ["ENTER 0.9", "ENTER 2.9"]);
});

Deno.test("partition: ENTER and EXIT of one moment, and other pairs, have ids of their own", () => {
  const driver = drive();
  driver.enter(0);
  driver.exit(0);
  driver.enter(0, { fence: "g" });
  driver.enter(0, { device: "e" });
  const triggers = driver.triggers();
  equal(new Set(triggers.map(({ id }) => id)).size, 4);
});

Deno.test("partition: an id is known until ttl has passed on the dedup clock, however often it was repeated", () => {
  for (const [ingest, told] of [[299, false], [300 - US, false], [300, true]] as const) {
    const driver = drive({ identity: { max_skew: "0s" } });
    driver.enter(0, { ingest: 0 });
    driver.enter(0.5, { ingest: 200 });
    driver.triggers();
    driver.enter(0.5, { ingest });
    deepEqual(driver.told(), told ? ["ENTER 0.5"] : [], `at ${ingest}`);
  }
});

Deno.test("partition: what the window can no longer vouch for says so", () => {
  for (const [ingest, words] of [[299.9, "EXIT 0"], [300 - US, "EXIT 0"], [300, "EXIT 0 beyond"]] as const) {
    const driver = drive();
    driver.exit(0, { ingest });
    deepEqual(driver.told(), [words]);
  }
});

Deno.test("partition: the pair's memory knows a copy that the window has forgotten, within max_skew", () => {
  for (
    const [at, told] of [[0, false], [0.2, false], [-0.2, false], [0.2 + US, true], [
      -0.2 - US,
      true,
    ]] as const
  ) {
    const driver = drive();
    driver.enter(0);
    driver.pass(1000);
    driver.triggers();
    driver.enter(at);
    deepEqual(driver.told().length, told ? 1 : 0, `${at}`);
  }
});

Deno.test("partition: the memory is of the latest of its kind, and a suppressed one does not move it", () => {
  const driver = drive();
  driver.enter(0);
  driver.enter(20);
  driver.enter(20.15);
  driver.enter(10);
  driver.pass(1000);
  driver.triggers();
  driver.enter(20.3);
  deepEqual(driver.told(), ["ENTER 20.3 late beyond"]);
  driver.enter(20.3);
  deepEqual(driver.told(), []);
  driver.pass(2000);
  driver.enter(0);
  // It is not the latest: its id comes again, and says that it may.
  deepEqual(driver.told(), ["ENTER 0 late beyond"]);
});

Deno.test("partition: with seqs, the seqs alone are compared", () => {
  const table: readonly (readonly [first: string, second: string, at: number, told: number])[] = [
    ["7", "7", 500, 0],
    ["7", "8", 0, 1],
    ["7", "", 0.1, 1],
    ["", "7", 0.1, 1],
    ["07", "7", 0, 1],
    ["a", "a", 100, 0],
    ["9007199254740993", "9007199254740992", 0, 1],
  ];
  for (const [first, second, at, told] of table) {
    const driver = drive({ identity: { ttl: "20s" } });
    driver.enter(0, { seq: first });
    driver.pass(at === 0 ? 0 : at - 20);
    driver.pass(1000);
    driver.triggers();
    driver.enter(at, { seq: second });
    equal(driver.told().length, told, `${first} and ${second}`);
  }
});

Deno.test("partition: the window's capacity evicts the oldest id, and the id comes again", () => {
  const driver = drive({ identity: { capacity: 3 } });
  for (let i = 0; i < 4; i++) driver.exit(0, { device: `e${i}` });
  equal(driver.partition.window.evictedLive, 1);
  driver.triggers();
  // No memory of an ENTER: it is a DWELL that an upstream made.
  for (let i = 0; i < 4; i++) driver.record({ kind: "DWELL", at: 0, device: `e${i}` });
  driver.record({ kind: "DWELL", at: 0, device: "e3" });
  driver.record({ kind: "DWELL", at: 0, device: "e0" });
  equal(driver.told().length, 5);
});

Deno.test("partition: a DWELL that an upstream made is deduplicated and passed on, and changes no visit", () => {
  const driver = drive();
  driver.record({ kind: "DWELL", at: 0, attributes: '{"by":"upstream"}', seq: "3" });
  driver.record({ kind: "DWELL", at: 0, seq: "3" });
  const [trigger, ...others] = driver.triggers();
  deepEqual(others, []);
  deepEqual([trigger?.kind, trigger?.attributes, trigger?.seq], ["DWELL", { by: "upstream" }, "3"]);
  equal(driver.partition.pairs.size, 0);
  equal(driver.partition.counters.passedOn, 1);
  equal(driver.partition.counters.dwell, 0);
});

// ——— SPEC 3: visits ———

Deno.test("partition: a DWELL is earned by a visit that lasts as long as the threshold, or longer", () => {
  for (const [exit, told] of [[10 - US, false], [10, true], [10 + US, true]] as const) {
    const driver = drive();
    driver.enter(0);
    driver.exit(exit);
    driver.flush();
    deepEqual(
      driver.told().filter((words) => words.startsWith("DWELL")),
      told ? ["DWELL 10"] : [],
      `EXIT ${exit}`,
    );
  }
});

Deno.test("partition: a DWELL fires when the watermark reaches it, with enter time plus threshold", () => {
  const driver = drive();
  driver.enter(0);
  driver.pass(10 - US);
  deepEqual(driver.told(), ["ENTER 0"]);
  driver.pass(10);
  const [dwell] = driver.triggers();
  deepEqual([dwell?.entered_at, dwell?.dwell_s], ["2026-06-01T00:00:01.000000Z", 10]);
  equal(driver.partition.pendingDwells, 0);
  driver.pass(1000);
  deepEqual(driver.told(), []);
});

Deno.test("partition: several thresholds of a fence, each once", () => {
  const driver = drive({
    dwell: { rules: [{ fence: "f", after: ["30s", "10s", "4000s"] }, { fence: "*", after: [] }] },
  });
  driver.enter(0);
  driver.enter(0, { fence: "g" });
  driver.pass(0);
  equal(driver.partition.pendingDwells, 3);
  driver.pass(25);
  equal(driver.partition.pendingDwells, 2);
  driver.pass(3999);
  equal(driver.partition.pendingDwells, 1);
  driver.exit(4000);
  driver.pass(4000);
  equal(driver.partition.pendingDwells, 0);
  deepEqual(driver.told(), ["ENTER 0", "ENTER g 0", "DWELL 10", "DWELL 30", "EXIT 4000", "DWELL 4000"]);
});

Deno.test("partition: a threshold of weeks, and a jump of a year", () => {
  const driver = drive({
    dwell: { rules: [{ fence: "*", after: ["1h", "21d"] }] },
    time: { max_age: "3650d" },
  });
  driver.enter(0);
  driver.pass(365 * 86_400);
  deepEqual(driver.told(), ["ENTER 0", "DWELL 3600", `DWELL ${21 * 86_400}`]);
});

Deno.test("partition: records are applied in event-time order, whatever order they came in", () => {
  const driver = drive();
  driver.exit(12);
  driver.enter(11);
  driver.enter(9);
  driver.flush();
  deepEqual(driver.told().filter((words) => words.startsWith("DWELL")), []);
  const other = drive();
  other.exit(4);
  other.enter(0);
  other.enter(5);
  other.pass(100);
  deepEqual(other.told().filter((words) => words.startsWith("DWELL")), ["DWELL 15"]);
});

Deno.test("partition: a re-entry restarts the visit, or with continue is nothing", () => {
  for (const [onReenter, dwells] of [["restart", ["DWELL 17"]], ["continue", ["DWELL 10"]]] as const) {
    const driver = drive({ dwell: { on_reenter: onReenter } });
    driver.enter(0);
    driver.enter(7);
    driver.pass(100);
    deepEqual(driver.told(), ["ENTER 0", "ENTER 7", ...dwells]);
  }
});

Deno.test("partition: a copy of the visit's own ENTER does not restart it", () => {
  for (const at of [0, 0.5, 0.999]) {
    const driver = drive();
    driver.enter(0);
    driver.enter(at);
    driver.pass(100);
    deepEqual(driver.told(), ["ENTER 0", "DWELL 10"], `${at}`);
  }
});

Deno.test("partition: a flap inside one bucket never loses its DWELL, and is counted", () => {
  const driver = drive();
  driver.enter(0);
  driver.exit(0.3);
  driver.enter(0.6);
  driver.pass(100);
  // The ENTER has the first one's id; the DWELL is that of the visit which lasted.
  deepEqual(driver.told(), ["ENTER 0", "EXIT 0.3", "DWELL 10.6"]);
  equal(driver.partition.counters.flapsInBucket, 1);
});

Deno.test("partition: outside, an ENTER within max_skew of the last visit's is a stray copy", () => {
  for (const [at, dwells] of [[0.2, []], [0.2 + US, ["DWELL 10.200001"]]] as const) {
    const driver = drive();
    driver.enter(0);
    driver.exit(0.1);
    driver.enter(at);
    driver.pass(100);
    deepEqual(driver.told().filter((words) => words.startsWith("DWELL")), dwells);
    equal(driver.partition.counters.flapsInBucket, dwells.length);
  }
});

Deno.test("partition: with seq, an ENTER of the last visit is a stray copy at any distance", () => {
  const driver = drive();
  driver.enter(0, { seq: "1" });
  driver.exit(3, { seq: "2" });
  driver.enter(5, { seq: "1" });
  driver.enter(30, { seq: "3" });
  // An EXIT of the visit before.
  driver.exit(33, { seq: "2" });
  driver.pass(100);
  deepEqual(driver.told(), ["ENTER 0", "EXIT 3", "ENTER 30", "DWELL 40"]);
});

Deno.test("partition: STALE ends a visit, and no trigger tells of it", () => {
  const driver = drive();
  driver.enter(0);
  driver.record({ kind: "STALE", at: 10 - US });
  driver.pass(100);
  deepEqual(driver.told(), ["ENTER 0"]);
  equal(driver.partition.counters.silent, 1);
  driver.enter(200);
  driver.record({ kind: "STALE", at: 210 });
  driver.flush();
  deepEqual(driver.told(), ["ENTER 200", "DWELL 210"]);
});

// ——— SPEC 3: late records ———

Deno.test("partition: a record at or before the watermark is late", () => {
  for (const [at, words] of [[5, "EXIT 5 late"], [5 + US, "EXIT 5.000001"], [4, "EXIT 4 late"]] as const) {
    const driver = drive();
    driver.pass(5);
    driver.exit(at);
    deepEqual(driver.told(), [words]);
  }
});

Deno.test("partition: an hour uploaded at once, newest first, earns what it lasted", () => {
  const driver = drive();
  driver.enter(0, { device: "other" });
  driver.pass(3600);
  driver.triggers();
  driver.exit(1500);
  driver.enter(1200);
  driver.exit(605);
  driver.enter(600);
  deepEqual(driver.told().length, 4);
  // Taken together when the watermark has moved on by lateness since the first of them came.
  driver.pass(3605 - US);
  deepEqual(driver.told(), []);
  driver.pass(3605);
  deepEqual(driver.told(), ["DWELL 1210"]);
});

Deno.test("partition: late records older than the last applied earn, and change nothing", () => {
  const driver = drive({ identity: { ttl: "2h" } });
  driver.enter(3600);
  driver.pass(3601);
  driver.triggers();
  driver.exit(1200);
  driver.enter(600);
  driver.enter(1300);
  driver.pass(3607);
  deepEqual(driver.told(), ["EXIT 1200 late", "ENTER 600 late", "ENTER 1300 late", "DWELL 610 late"]);
  equal(driver.partition.counters.lateSkipped, 1);
  driver.pass(3610);
  deepEqual(driver.told(), ["DWELL 3610"]);
});

Deno.test("partition: a group is taken as a record that is not late is applied, not as it arrives", () => {
  const driver = drive();
  driver.enter(90, { device: "other" });
  driver.pass(100);
  driver.triggers();
  driver.enter(50);
  driver.exit(103);
  driver.exit(101, { device: "other" });
  equal(driver.partition.waiting.heldCount, 1);
  driver.pass(103 - US);
  equal(driver.partition.waiting.heldCount, 1);
  driver.pass(103);
  equal(driver.partition.waiting.heldCount, 0);
  ok(driver.told().includes("DWELL 60"));
});

Deno.test("partition: a late EXIT before a deadline is heard before the deadline fires", () => {
  const driver = drive();
  driver.enter(0);
  driver.pass(8);
  driver.exit(7);
  driver.pass(100);
  deepEqual(driver.told(), ["ENTER 0", "EXIT 7 late"]);
});

Deno.test("partition: a late EXIT contradicts a DWELL that was told, and is retracted once", () => {
  for (const onContradiction of ["count", "retract"]) {
    const driver = drive({ dwell: { on_contradiction: onContradiction } });
    driver.enter(0);
    driver.pass(20);
    const dwell = driver.triggers()[1];
    driver.exit(8);
    driver.pass(30);
    driver.exit(6);
    driver.exit(4);
    driver.pass(40);
    const told = driver.triggers();
    const retracts = told.filter(({ kind }) => kind === "RETRACT");
    equal(driver.partition.counters.dwellContradicted, 1);
    equal(retracts.length, onContradiction === "retract" ? 1 : 0);
    if (retracts.length === 0) continue;
    deepEqual(Object.keys(retracts[0] ?? {}), [
      "id",
      "kind",
      "device_id",
      "fence_id",
      "event_time",
      "revises",
    ]);
    equal(retracts[0]?.revises, dwell?.id);
    equal(retracts[0]?.event_time, dwell?.event_time);
    ok(retracts[0]?.id !== dwell?.id);
  }
});

Deno.test("partition: what contradicts, and what does not", () => {
  const table:
    readonly (readonly [name: string, kind: "ENTER" | "EXIT" | "STALE", at: number, count: number])[] = [
      ["an EXIT before the DWELL", "EXIT", 10 - US, 1],
      ["an EXIT at the DWELL", "EXIT", 10, 0],
      ["an EXIT at the enter time", "EXIT", 0, 1],
      ["an EXIT before it", "EXIT", -US, 0],
      ["a STALE", "STALE", 5, 1],
      ["an ENTER", "ENTER", 5, 1],
      ["a copy of the ENTER", "ENTER", 0.5, 0],
      ["an ENTER before it", "ENTER", -5, 0],
      ["an ENTER at the DWELL", "ENTER", 10, 0],
    ];
  for (const [name, kind, at, count] of table) {
    const driver = drive();
    driver.enter(0);
    driver.pass(20);
    driver.record({ kind, at });
    driver.pass(30);
    equal(driver.partition.counters.dwellContradicted, count, name);
  }
});

Deno.test("partition: the visit before this one can be contradicted too", () => {
  const driver = drive();
  driver.enter(0);
  driver.exit(15);
  driver.enter(30);
  driver.pass(35);
  driver.exit(8);
  driver.pass(50);
  equal(driver.partition.counters.dwellContradicted, 1);
  // The EXIT was older than what was applied: the visit goes on.
  ok(driver.told().includes("DWELL 40"));
});

Deno.test("partition: with continue, a late ENTER contradicts nothing", () => {
  const driver = drive({ dwell: { on_reenter: "continue" } });
  driver.enter(0);
  driver.pass(20);
  driver.enter(5);
  driver.pass(30);
  equal(driver.partition.counters.dwellContradicted, 0);
});

Deno.test("partition: a suppressed late ENTER begins no visit", () => {
  const driver = drive({ identity: { ttl: "1h" } });
  driver.enter(0);
  driver.exit(5);
  driver.enter(500);
  driver.pass(501);
  driver.triggers();
  // Copies of the first visit, without its EXIT, and an EXIT of a later one that was lost.
  driver.enter(0, { ingest: 502 });
  driver.exit(300);
  driver.pass(508);
  deepEqual(driver.told(), ["EXIT 300 late"]);
  equal(driver.partition.counters.lateSkipped, 2);
});

Deno.test("partition: without lateness nothing is held", () => {
  const driver = drive({ dwell: { lateness: "0s" } });
  driver.enter(0);
  driver.enter(20, { device: "other" });
  driver.exit(5);
  equal(driver.partition.waiting.heldCount, 0);
  equal(driver.partition.counters.dwellContradicted, 1);
});

// ——— Bounds ———

Deno.test("partition: at most max_fires_per_turn in a turn, and all of them in the end", () => {
  for (const most of [1, 7, 1000]) {
    const driver = drive({ dwell: { max_fires_per_turn: most } });
    for (let i = 0; i < 50; i++) driver.enter(0, { device: `e${i}` });
    driver.pass(1);
    driver.triggers();
    driver.unfinishedTurns = 0;
    const { partition } = driver;
    partition.beginTurn();
    const done = partition.advanceTo(toUs(60));
    equal(done, most > 50);
    equal(driver.triggers().length, Math.min(50, most));
    equal(partition.watermarkUs === toUs(60), done);
    driver.advanceTo(toUs(60));
    equal(driver.triggers().length, 50 - Math.min(50, most));
  }
});

Deno.test("partition: a turn's bound holds at the end of the input too", () => {
  const driver = drive({ dwell: { max_fires_per_turn: 5 } });
  for (let i = 0; i < 20; i++) driver.enter(0, { device: `e${i}` });
  driver.exit(12, { device: "e0" });
  for (let i = 0; i < 20; i++) driver.exit(11.5, { device: `e${i}` });
  driver.flush();
  ok(driver.unfinishedTurns >= 3);
  equal(driver.told().filter((words) => words.startsWith("DWELL")).length, 20);
  equal(driver.bounds.waiting.value, 0);
});

Deno.test("partition: a held group is taken as its 1,000th record arrives", () => {
  const driver = drive();
  driver.enter(0, { device: "other" });
  driver.pass(10_000);
  for (let i = 0; i < 999; i++) driver.record({ kind: "STALE", at: i });
  equal(driver.partition.waiting.heldCount, 999);
  driver.record({ kind: "STALE", at: 999 });
  equal(driver.partition.waiting.heldCount, 0);
  equal(driver.partition.counters.heldGroupsFull, 1);
  equal(driver.bounds.waiting.value, 0);
});

Deno.test("partition: at pairs.capacity the pair that is longest outside goes", () => {
  const driver = drive({ pairs: { capacity: 3 } });
  for (const [device, at] of [["a", 0], ["b", 3], ["c", 1]] as const) driver.exit(at, { device });
  driver.enter(2, { device: "a" });
  driver.pass(20);
  driver.exit(30, { device: "new" });
  driver.pass(40);
  const { counters, pairs } = driver.partition;
  deepEqual([counters.pairsEvicted, counters.pairsOverCapacity, pairs.size, driver.bounds.pairs.value], [
    1,
    0,
    3,
    3,
  ]);
  // c was longest outside; a is inside, whatever its age. b goes next.
  driver.exit(41, { device: "newer" });
  deepEqual([counters.pairsEvicted, pairs.size], [2, 3]);
  driver.triggers();
  driver.exit(0.5, { device: "a" });
  driver.pass(50);
  equal(counters.pairsEvicted, 2);
});

Deno.test("partition: where all are inside, the table grows past its capacity", () => {
  const driver = drive({ pairs: { capacity: 2 } });
  for (let i = 0; i < 5; i++) driver.enter(i, { device: `e${i}` });
  driver.pass(10);
  const { counters, pairs } = driver.partition;
  deepEqual([counters.pairsEvicted, pairs.size, driver.bounds.pairs.value], [0, 5, 5]);
  equal(counters.pairsOverCapacity, 3);
  driver.exit(20, { device: "e0" });
  driver.pass(30);
  driver.enter(40, { device: "e5" });
  equal(counters.pairsEvicted, 1);
  equal(pairs.size, 5);
});

Deno.test("partition: a pair whose records wait is not evicted", () => {
  const driver = drive({ pairs: { capacity: 1 } });
  driver.exit(0, { device: "a" });
  driver.exit(0, { device: "b" });
  equal(driver.partition.counters.pairsEvicted, 0);
  equal(driver.partition.pairs.size, 2);
});

Deno.test("partition: a pair outside is forgotten when its last transition is more than max_age behind", () => {
  const day = 86_400;
  for (const [behind, forgotten] of [[30 * day, false], [30 * day + US, true]] as const) {
    const driver = drive();
    driver.exit(0);
    driver.enter(0, { device: "inside" });
    driver.pass(1);
    driver.record({ kind: "HEARTBEAT", at: behind, ingest: behind });
    driver.record({ kind: "DWELL", at: behind, ingest: behind, device: "clock" });
    driver.partition.sweep(10);
    equal(driver.partition.pairs.size, forgotten ? 1 : 2, `${behind}`);
    equal(driver.bounds.pairs.value, forgotten ? 1 : 2);
  }
});

Deno.test("partition: a pair that could be forgotten begins anew, though no sweep has met it", () => {
  const driver = drive();
  driver.enter(0);
  driver.exit(5);
  driver.pass(6);
  const later = 31 * 86_400;
  driver.enter(later);
  driver.pass(later + 20);
  deepEqual(driver.told(), ["ENTER 0", "EXIT 5", `ENTER ${later}`, `DWELL ${later + 10}`]);
  equal(driver.partition.pairs.size, 1);
});

Deno.test("partition: sweeps go round in slices", () => {
  const driver = drive();
  for (let i = 0; i < 100; i++) driver.exit(0, { device: `e${i}` });
  driver.pass(1);
  driver.record({ kind: "DWELL", at: 40 * 86_400, device: "clock" });
  for (let i = 0; i < 4; i++) driver.partition.sweep(30);
  equal(driver.partition.pairs.size, 0);
});

// ——— emit: ordered ———

Deno.test("partition: in order, ENTER and EXIT leave when they are applied", () => {
  const driver = drive({ emit: "ordered" });
  driver.exit(4);
  driver.enter(1, { attributes: '{"a":1}', seq: "9" });
  deepEqual(driver.told(), []);
  driver.pass(1);
  const [enter] = driver.triggers();
  deepEqual([enter?.kind, enter?.attributes, enter?.seq], ["ENTER", { a: 1 }, "9"]);
  driver.pass(4);
  const [exit] = driver.triggers();
  deepEqual([exit?.kind, exit?.entered_at, exit?.visit_s], ["EXIT", "2026-06-01T00:00:02.000000Z", 3]);
});

Deno.test("partition: in order, with continue, ENTER and EXIT strictly alternate", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomFrom(seed);
    const driver = drive({ emit: "ordered", dwell: { on_reenter: "continue" } });
    let at = 0;
    for (let i = 0; i < 60; i++) {
      at += Math.floor(random() * 40) / 10;
      const back = Math.floor(random() * 80) / 10;
      driver.record({ kind: random() < 0.1 ? "STALE" : random() < 0.5 ? "ENTER" : "EXIT", at: at - back });
    }
    driver.flush();
    const kinds = driver.told().map((words) => words.split(" ")[0]).filter((kind) => kind !== "DWELL");
    kinds.forEach((kind, i) => ok(i === 0 || kind !== kinds[i - 1], `seed ${seed}: ${kinds.join(" ")}`));
    const { received, enter, exit, suppressed, silent, absorbed, lateRefused } = driver.partition.counters;
    equal(
      received,
      enter + exit + suppressed + silent + absorbed + lateRefused,
      `seed ${seed}: conservation`,
    );
  }
});

Deno.test("partition: in order, a late record is suppressed if it is known, else refused", () => {
  const driver = drive({ emit: "ordered" });
  driver.enter(0);
  driver.pass(3);
  driver.triggers();
  driver.enter(0);
  deepEqual(driver.lateRecords(), []);
  driver.exit(2);
  deepEqual(driver.lateRecords(), [2]);
  const { suppressed, lateRefused, exit } = driver.partition.counters;
  deepEqual([suppressed, lateRefused, exit], [1, 1, 0]);
  // The dwell state hears of it.
  driver.pass(100);
  deepEqual(driver.told(), []);
});

Deno.test("partition: a late visit that is uploaded again tells its DWELL once, in order and not", () => {
  for (const emit of ["arrival", "ordered"]) {
    const driver = drive({ emit, identity: { ttl: "600s" } });
    const told: string[] = [];
    driver.enter(1000, { ingest: 1000 });
    driver.pass(1001);
    for (const ingest of [1100, 1200, 1900]) {
      driver.enter(100, { ingest });
      driver.exit(200, { ingest });
      driver.pass(ingest + 10);
      told.push(...driver.told().filter((words) => words.startsWith("DWELL 110")));
      // The first and the second upload; the window has forgotten them when the third comes.
      equal(told.length, ingest < 1900 ? 1 : 2, `${emit}: ${told.join(", ")} at ${ingest}`);
    }
  }
});

Deno.test("partition: in order, a record is judged by the clock that it came with", () => {
  const driver = drive({ emit: "ordered", identity: { ttl: "20s", max_skew: "0s" } });
  driver.enter(0, { seq: "1", ingest: 0 });
  driver.enter(4, { seq: "2", ingest: 4 });
  // Came within ttl of the first; the dedup clock is far past it when it is applied.
  driver.enter(8, { seq: "1", ingest: 19 });
  driver.enter(8.5, { seq: "3", ingest: 20 });
  driver.enter(9, { seq: "1", ingest: 21 });
  driver.record({ kind: "HEARTBEAT", at: 200, ingest: 200 });
  deepEqual(driver.told().filter((words) => words.startsWith("ENTER")), [
    "ENTER 0",
    "ENTER 4",
    "ENTER 8.5",
    "ENTER 9",
  ]);
});

// ——— Clocks and crashes ———

Deno.test("partition: at the end of the input each record fires its own pair's deadlines only", () => {
  const driver = drive();
  driver.enter(0);
  driver.enter(0, { device: "e" });
  driver.pass(3);
  // From a clock that is ahead: it does not move the watermark.
  driver.exit(15, { ingest: 4 });
  driver.flush();
  deepEqual(driver.told(), ["ENTER 0", "ENTER e 0", "EXIT 15", "DWELL 10"]);
  equal(driver.partition.pendingDwells, 1);
});

Deno.test("partition: a dedup clock that goes back is a defect", () => {
  const driver = drive();
  driver.enter(10);
  driver.clock.dedupClockUs = toUs(9);
  throws(() => driver.exit(9.5), AssertionFailed);
});

/** Notes triggers in a partition as those that a crashed process told. */
function noteAll(driver: PartitionDriver, triggers: readonly Record<string, unknown>[]): void {
  for (const trigger of triggers) {
    const told = parseTrigger(new TextEncoder().encode(JSON.stringify(trigger)));
    ok(told !== null);
    driver.partition.noteTold(told);
  }
}

Deno.test("partition: what a crashed process told is not told again, and the state is the same", () => {
  for (const emit of ["arrival", "ordered"]) {
    const feed = (driver: PartitionDriver): void => {
      driver.enter(0);
      driver.exit(0.9);
      driver.enter(20);
      driver.pass(40);
    };
    const first = drive({ emit });
    feed(first);
    const told = first.triggers();
    const second = drive({ emit });
    noteAll(second, told.slice(0, 3));
    feed(second);
    deepEqual(second.triggers(), told.slice(3));
    equal(second.partition.ledger.size, 0);
    deepEqual(second.partition.counters.toJson(), first.partition.counters.toJson());
    second.enter(20);
    deepEqual(second.told(), []);
  }
});

Deno.test("partition: what a crashed process told later says nothing of a late record before it that comes again", () => {
  const feed = (driver: PartitionDriver): { letters: number; suppressed: number } => {
    driver.enter(8.964);
    driver.pass(8.966);
    // Late, older than what was applied, and within the guard of a boundary; its exit proper is on the other side of that.
    driver.exit(8.9638);
    const { lateRefused: letters, suppressed } = driver.partition.counters;
    driver.exit(9.05);
    driver.pass(9.1);
    return { letters, suppressed };
  };
  const first = drive({ emit: "ordered" });
  deepEqual(feed(first), { letters: 1, suppressed: 0 });
  const told = first.triggers();
  equal(told.length, 2);
  const again = drive({ emit: "ordered" });
  again.partition.recordsComeAgain = true;
  noteAll(again, told);
  deepEqual(feed(again), { letters: 1, suppressed: 0 });
  deepEqual(again.triggers(), []);
  deepEqual(again.partition.counters.toJson(), first.partition.counters.toJson());
});

Deno.test("partition: what a client sends again, late, is known though only the output tells of it", () => {
  const first = drive({ emit: "ordered" });
  first.enter(8.964);
  first.pass(9);
  const second = drive({ emit: "ordered" });
  noteAll(second, first.triggers());
  second.pass(10);
  second.enter(8.964);
  second.enter(9.01);
  const { suppressed, lateRefused } = second.partition.counters;
  deepEqual({ suppressed, lateRefused }, { suppressed: 2, lateRefused: 0 });
});

Deno.test("partition: a near copy of what was told is known by its edge id", () => {
  const first = drive({ identity: { max_skew: "0s" } });
  first.enter(0.9);
  const second = drive({ identity: { max_skew: "0s" } });
  noteAll(second, first.triggers());
  // The client sends it again, with another time.
  second.enter(1.1);
  deepEqual(second.told(), []);
});

Deno.test("partition: a DWELL told by the wall clock, and an EXIT in the backlog, is contradicted", () => {
  const first = drive();
  first.enter(0);
  first.pass(30);
  const second = drive({ dwell: { on_contradiction: "retract" } });
  noteAll(second, first.triggers());
  second.enter(0);
  second.exit(7);
  second.pass(30);
  deepEqual(second.told(), ["EXIT 7", "RETRACT 10"]);
  equal(second.partition.counters.dwellContradicted, 1);
});

Deno.test("partition: any order within lateness and any copies give the same DWELLs", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomFrom(seed);
    let at = 0;
    const records = Array.from({ length: 40 }, () => {
      at += 0.1 + Math.floor(random() * 120) / 10;
      return { kind: random() < 0.45 ? "ENTER" : random() < 0.8 ? "EXIT" : "STALE", at } as const;
    });
    const dwells = (shuffle: boolean): string[] => {
      const driver = drive({ dwell: { rules: [{ fence: "*", after: ["6s", "20s"] }] } });
      const arrivals = records.flatMap((record) => {
        const copies = shuffle ? 1 + Math.floor(random() * 3) : 1;
        return Array.from(
          { length: copies },
          () => ({ record, arrival: record.at + (shuffle ? random() * 4.9 : 0) }),
        );
      });
      arrivals.sort((a, b) => a.arrival - b.arrival);
      for (const { record } of arrivals) driver.record(record);
      driver.pass(at + 100);
      return driver.triggers().filter(({ kind }) => kind === "DWELL").map(({ id, event_time }) =>
        `${id} ${event_time}`
      )
        .sort();
    };
    deepEqual(dwells(true), dwells(false), `seed ${seed}`);
  }
});
