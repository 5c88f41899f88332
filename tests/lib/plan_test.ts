/**
 * The plan: its bounds, what crosses them, and that what it counts is what the structures allocate.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { HashIndex, indexBytes } from "../../lib/hash_index.ts";
import { pairBytes, PairTable } from "../../lib/pair_table.ts";
import { plan, type Workload } from "../../lib/plan.ts";
import { planCheckpoint } from "../../lib/plan_checkpoint.ts";
import { planMemory } from "../../lib/plan_memory.ts";
import { planWidths, roundDown, roundUp } from "../../lib/plan_widths.ts";
import { parseDuration } from "../../lib/time.ts";
import { randomFrom } from "../support/random.ts";

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400 * SECOND;

const WORKLOAD: Workload = {
  ratePerSecond: 25_000,
  retryUs: 30 * SECOND,
  replayUs: 4 * MINUTE,
  retentionUs: null,
  skewUs: 200_000,
  revisitUs: 5 * SECOND,
  pairs: 1_900_000,
  idBytes: 25,
  thresholds: [[10 * MINUTE]],
  latenessUs: 5 * SECOND,
  intervalUs: 500_000,
  maxAgeUs: 30 * DAY,
  source: "ndjson",
  partitions: null,
  listens: false,
  stateInDirectory: true,
  memoryBytes: 2 * 2 ** 30,
};

function keysOf(workload: Partial<Workload>): string[] {
  return plan({ ...WORKLOAD, ...workload }).warnings.map(({ key }) => key);
}

Deno.test("plan: of the workload that SPEC's defaults are for, it makes them", () => {
  const planned = plan(WORKLOAD);
  deepEqual(planned.widths, {
    bucketUs: 2 * SECOND,
    guardUs: 200_000,
    maxSkewUs: null,
    minRevisitUs: 5 * SECOND,
  });
  equal(planned.ttlUs, 300 * SECOND);
  equal(planned.partitions, 16);
  equal(planned.mailboxCapacity, 8192);
  deepEqual(planned.warnings, []);
});

Deno.test("plan: nothing that it sizes shrinks with the rate, with pairs, or with delays", () => {
  const sizes = (workload: Workload): number[] => {
    const { capacity, partitions, pairsCapacity, waitingCapacity, memory, checkpoint, windowIds } = plan(
      workload,
    );
    return [
      capacity * partitions,
      pairsCapacity,
      waitingCapacity,
      windowIds,
      memory.windowBytes,
      memory.pairsBytes,
      memory.totalBytes,
      checkpoint.bytesPerSecond,
    ];
  };
  const steps: Partial<Workload>[][] = [
    [1, 100, 999, 25_000, 60_000, 100_000].map((ratePerSecond) => ({ ratePerSecond })),
    [1, 1000, 100_000, 1_900_000, 30_000_000].map((pairs) => ({ pairs })),
    [0, 30 * SECOND, 10 * MINUTE, DAY].map((replayUs) => ({ replayUs })),
    [25, 30, 31, 200, 512].map((idBytes) => ({ idBytes })),
  ];
  for (const variants of steps) {
    let before: number[] | null = null;
    for (const variant of variants) {
      // All the partitions that any of them would get: it is what is in them that is compared.
      const after = sizes({ ...WORKLOAD, partitions: 1024, memoryBytes: 2 ** 50, ...variant });
      after.forEach((size, i) => ok(size >= (before?.[i] ?? 0), `${JSON.stringify(variant)}, size ${i}`));
      before = after;
    }
  }
});

Deno.test("plan: ttl outlasts retry and replay together, and a retention that there is memory for", () => {
  for (const replayUs of [0, SECOND, 59 * SECOND, 10 * MINUTE, 3 * DAY]) {
    ok(plan({ ...WORKLOAD, replayUs }).ttlUs >= replayUs + WORKLOAD.retryUs + 30 * SECOND);
  }
  const small = { ...WORKLOAD, ratePerSecond: 10, retentionUs: 7 * DAY };
  const covered = plan(small);
  ok(covered.ttlUs >= 7 * DAY && covered.ttlUs <= 1.1 * 7 * DAY);
  equal(covered.allowShortTtl, false);
  deepEqual(covered.warnings, []);
});

Deno.test("plan: warns where bounds cross", () => {
  const cases: [string, Partial<Workload>, string[]][] = [
    ["ttl < retention", { retentionUs: 7 * DAY }, ["identity.ttl"]],
    ["skew = bucket / 2, room left", { skewUs: SECOND }, []],
    ["skew near revisit / 2", { skewUs: 2.4 * SECOND }, []],
    ["skew = revisit / 2", { skewUs: 2.5 * SECOND }, ["identity.guard", "identity.min_revisit"]],
    ["skew >= bucket", { skewUs: 5 * SECOND }, ["identity.bucket", "identity.min_revisit"]],
    ["skew against thresholds", { skewUs: 2 * SECOND, thresholds: [[8 * SECOND]] }, [
      "identity.guard",
      "dwell.rules",
    ]],
    ["thresholds that leave room", { skewUs: 2 * SECOND, thresholds: [[9 * SECOND]] }, []],
    ["bucket >= revisit", { revisitUs: 900, skewUs: 0 }, ["identity.min_revisit"]],
    ["thresholds < 2 buckets", { thresholds: [[10 * MINUTE, 10 * MINUTE + 1000]], skewUs: 0 }, [
      "dwell.rules",
    ]],
    ["lateness >= threshold", { thresholds: [[5 * SECOND]] }, ["dwell.lateness"]],
    ["more than a process", { ratePerSecond: 100_001 }, ["partitions"]],
    ["more ids than there can be", { replayUs: DAY, partitions: 1, memoryBytes: 2 ** 40 }, [
      "identity.capacity",
    ]],
    ["more pairs than there can be", { pairs: 30_000_001, memoryBytes: 2 ** 40 }, ["pairs.capacity"]],
    ["ttl > max_age", { maxAgeUs: MINUTE }, ["time.max_age"]],
    ["more than the memory", { memoryBytes: 2 ** 29 }, ["memory"]],
    ["the mailboxes on top", { memoryBytes: plan(WORKLOAD).memory.totalBytes + 1 }, ["mailbox.capacity"]],
  ];
  for (const [name, workload, keys] of cases) deepEqual(keysOf(workload), keys, name);
});

Deno.test("plan: where retention would take more memory than there is, ttl keeps to retry and replay", () => {
  const short = plan({ ...WORKLOAD, retentionUs: 7 * DAY });
  equal(short.ttlUs, plan(WORKLOAD).ttlUs);
  equal(short.allowShortTtl, true);
});

Deno.test("planWidths: whatever is asked, the configuration would take it; where it fits, copies share an id", () => {
  const random = randomFrom(6);
  for (let step = 0; step < 2000; step++) {
    const skewUs = Math.floor(10 ** (random() * 8));
    const revisitUs = Math.floor(10 ** (3.1 + random() * 6));
    const thresholdUs = Math.floor(10 ** (4 + random() * 6));
    const asked = { skewUs, revisitUs, thresholds: [[thresholdUs]] };
    const { bucketUs, guardUs, maxSkewUs, minRevisitUs, warnings } = planWidths(asked);
    const at = JSON.stringify({ step, ...asked });
    ok(Number.isSafeInteger(bucketUs) && Number.isSafeInteger(guardUs), at);
    ok(2 * guardUs < bucketUs && (maxSkewUs ?? guardUs) < bucketUs, at);
    ok(thresholdUs >= 2 * bucketUs, at);
    ok(minRevisitUs === revisitUs && minRevisitUs > bucketUs, at);
    equal(guardUs >= skewUs, warnings.length === 0, at);
    // A width that fits is found where there is one.
    if (2 * skewUs < Math.min(revisitUs - 1, Math.floor(thresholdUs / 2))) equal(guardUs, skewUs, at);
  }
});

Deno.test("roundDown, roundUp: two digits, and nothing lost below that", () => {
  for (const [value, down, up] of [[0, 0, 0], [9, 9, 9], [99, 99, 99], [101, 100, 110], [1999, 1900, 2000]]) {
    equal(roundDown(value ?? NaN), down);
    equal(roundUp(value ?? NaN), up);
  }
});

Deno.test("indexBytes: within 4 % of what an index has allocated, as it grows", () => {
  const random = randomFrom(3);
  const hashes: number[] = [];
  const index = new HashIndex((value) => hashes[value] ?? 0);
  let sum = 0;
  for (let value = 0; value < 300_000; value++) {
    const hash = Math.floor(random() * 2 ** 32);
    hashes.push(hash);
    index.insert(hash, value);
    if (value % 10_000 !== 9_999) continue;
    sum += indexBytes(index.size) / index.byteLength - 1;
    // Tables grow one by one around where they would all grow at once.
    ok(Math.abs(indexBytes(index.size) / index.byteLength - 1) < 0.35, `at ${value + 1}`);
  }
  ok(Math.abs(sum / 30) < 0.04, `${sum / 30}`);
});

Deno.test("planMemory: pairs take what a table of them has allocated", () => {
  for (const idBytes of [25, 30, 31, 60]) {
    const table = new PairTable();
    const device = new Uint8Array(idBytes);
    const random = randomFrom(idBytes);
    const pairs = 40_960;
    for (let pair = 0; pair < pairs; pair++) {
      new DataView(device.buffer).setUint32(0, pair);
      table.insert(Math.floor(random() * 2 ** 32), device, 0, idBytes - 4, idBytes - 4, idBytes);
    }
    table.takeDirty();
    const { pairsBytes } = planMemory({
      pairs,
      idBytes,
      windowIds: 0,
      waitingRecords: 0,
      ratePerSecond: 0,
      partitions: 1,
      mailboxCapacity: 1024,
      listens: false,
    });
    // The list of changed rows is the table's own, and as long as a checkpoint lets it become.
    const dirtyBytes = 65_536 * 4;
    const measured = table.byteLength - dirtyBytes;
    ok(Math.abs(pairsBytes / measured - 1) < 0.04, `${idBytes}: ${pairsBytes} ${measured}`);
  }
  equal(pairBytes(30), 128);
  equal(pairBytes(31), 168);
});

Deno.test("planCheckpoint: slices come with pairs, and never as much again as the changes", () => {
  const demands = {
    ratePerSecond: 10_000,
    idsPerRecord: 1.2,
    windowIds: 0,
    waitingRecords: 0,
    partitions: 16,
    intervalUs: parseDuration("500ms"),
    isDirectory: true,
  };
  const few = planCheckpoint({ ...demands, pairs: 10 });
  const many = planCheckpoint({ ...demands, pairs: 5_000_000 });
  ok(few.bytesPerRecord < many.bytesPerRecord && many.bytesPerRecord < few.bytesPerRecord + 66);
  equal(few.diskBytesPerSecond, 2 * few.bytesPerSecond);
  equal(planCheckpoint({ ...demands, pairs: 10, isDirectory: false }).diskBytesPerSecond, few.bytesPerSecond);
});
