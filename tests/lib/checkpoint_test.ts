/**
 * Checkpoints: lives of partitions, kept in a map of chunks, restored, and continued as if nothing had been.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { CheckpointLog, type SplitState } from "../../lib/checkpoint.ts";
import { CHECKPOINT_FORMAT, DamagedCheckpointError } from "../../lib/chunk.ts";
import { Counters } from "../../lib/counters.ts";
import { SEEN } from "../../lib/pair_table.ts";
import { parseTrigger } from "../../lib/trigger.ts";
import { type DrivenRecord, inWords, type PartitionDriver } from "../support/partition_driver.ts";
import { randomFrom } from "../support/random.ts";
import {
  checksum,
  drawSteps,
  facts,
  Life,
  LIFE_CONFIGS,
  MapStore,
  richLife,
  sumBytes,
} from "../support/split_life.ts";

const encoder = new TextEncoder();

function sum(life: Life): Counters {
  const counters = new Counters();
  for (const partition of life.driver.partitions) counters.add(partition.counters);
  return counters;
}

function feed(driver: PartitionDriver, step: readonly DrivenRecord[]): string[] {
  for (const record of step) driver.record(record);
  // The order among pairs is nobody's promise.
  return driver.triggers().map((trigger) => `${inWords(trigger)} ${JSON.stringify(trigger)}`).sort();
}

Deno.test("checkpoint: a life with restarts is the life without them", () => {
  for (const [number, config] of LIFE_CONFIGS.entries()) {
    for (let seed = 1; seed <= 5; seed++) {
      const random = randomFrom(seed * 10 + number);
      const count = 1 + seed % 3;
      const steps = drawSteps(random, 250);
      const whole = new Life(config, count);
      let life = new Life(config, count);
      for (const [i, step] of steps.entries()) {
        const where = `config ${number}, seed ${seed}, step ${i}`;
        deepEqual(feed(life.driver, step), feed(whole.driver, step), where);
        if (random() < 0.4) {
          whole.checkpoint();
          life.checkpoint(i);
          if (random() < 0.4) {
            const before = facts(life);
            const restored = Life.restored(config, count, life.store.copy());
            life = restored.life;
            equal(restored.split.position, i, where);
            deepEqual(sum(life).toJson(), sum(whole).toJson(), where);
            deepEqual(facts(life), before, where);
          }
        }
      }
      life.driver.flush();
      whole.driver.flush();
      deepEqual(feed(life.driver, []), feed(whole.driver, []), `config ${number}, seed ${seed}, at the end`);
      deepEqual(sum(life).toJson(), sum(whole).toJson(), `config ${number}, seed ${seed}, at the end`);
    }
  }
});

Deno.test("checkpoint: after a crash the same triggers come again, those that were told are skipped", () => {
  for (const [number, config] of LIFE_CONFIGS.slice(0, 2).entries()) {
    for (let seed = 1; seed <= 8; seed++) {
      const random = randomFrom(seed + 100 * number);
      const steps = drawSteps(random, 150);
      const whole = new Life(config, 2);
      const expected = steps.map((step) => feed(whole.driver, step));
      const life = new Life(config, 2);
      if (random() < 0.5) life.rowsMax = 1 + Math.floor(random() * 5);
      const checkpointAt = 40 + Math.floor(random() * 60);
      const crashAt = checkpointAt + 1 + Math.floor(random() * 40);
      const told: string[] = [];
      for (let i = 0; i <= crashAt; i++) {
        const words = feed(life.driver, steps[i] as DrivenRecord[]);
        if (i > checkpointAt) told.push(...words);
        if (i % 7 === 0 || i === checkpointAt) { if (i <= checkpointAt) life.checkpoint(i); }
      }
      const { life: again, split } = Life.restored(config, 2, life.store);
      equal(split.position, checkpointAt);
      // What was written behind the checkpoint is read back.
      for (const line of told) {
        const trigger = parseTrigger(encoder.encode(line.slice(line.indexOf("{"))));
        ok(trigger !== null);
        const owner = again.driver.partitionOf(trigger.device);
        owner.noteTold(trigger);
      }
      for (let i = checkpointAt + 1; i < steps.length; i++) {
        const words = feed(again.driver, steps[i] as DrivenRecord[]);
        deepEqual(words, i <= crashAt ? [] : expected[i], `config ${number}, seed ${seed}, step ${i}`);
      }
      for (const partition of again.driver.partitions) equal(partition.ledger.size, 0);
      deepEqual(sum(again).toJson(), sum(whole).toJson(), `config ${number}, seed ${seed}`);
    }
  }
});

Deno.test("checkpoint: before the first record there is a state too", () => {
  const config = LIFE_CONFIGS[0] as Record<string, unknown>;
  const life = new Life(config, 3);
  life.checkpoint("start");
  const { life: again, split } = Life.restored(config, 3, life.store);
  deepEqual([split.position, split.watermarkUs, split.dedupClockUs], ["start", null, null]);
  equal(again.log.number, 1);
  again.driver.enter(0);
  deepEqual(again.driver.told(), ["ENTER 0"]);
});

Deno.test("checkpoint: the split's part comes back as it was", () => {
  const config = LIFE_CONFIGS[0] as Record<string, unknown>;
  const life = new Life(config, 1);
  life.driver.enter(0);
  const split: SplitState = {
    clock: life.driver.clock.state(),
    watermarkUs: life.driver.clock.watermarkUs,
    dedupClockUs: life.driver.clock.dedupClockUs,
    position: { offset: 12, hash: "ü" },
    sink: { byteLength: 2 ** 40 },
    deadLetters: [1, null],
    counts: { deadLettered: 3 },
    knownDeadLetters: [[5, "LATE"], [7, "MISSING_FIELD"]],
  };
  life.log.addPartition(0, life.driver.partition, life.driver.clock.dedupClockUs);
  life.store.commit(life.log.finish(split));
  deepEqual(Life.restored(config, 1, life.store).split, split);
});

Deno.test("checkpoint: over hundreds of them, small ones too, what is stored stays bounded", () => {
  const config = LIFE_CONFIGS[0] as Record<string, unknown>;
  const random = randomFrom(8);
  const life = new Life(config, 2, new MapStore(), 32 << 10);
  let chunksMost = 0;
  let checkpoints = 0;
  for (const step of drawSteps(random, 900)) {
    feed(life.driver, step);
    life.checkpoint();
    checkpoints++;
    chunksMost = Math.max(chunksMost, life.store.streams.get("pairs")?.size ?? 0);
    // Ids and what waits, while they are not enough for their streams, and the rest.
    ok((life.store.streams.get("rest")?.size ?? 0) <= 3);
  }
  equal(life.log.number, checkpoints);
  // A round begins at 256 chunks and is over with the next checkpoint.
  ok(chunksMost > 256 && chunksMost <= 262, `${chunksMost} chunks`);
  ok((life.store.streams.get("pairs")?.size ?? 0) < 256);
  const { life: again } = Life.restored(config, 2, life.store);
  deepEqual(facts(again), facts(life));
});

Deno.test("checkpoint: ids are written once there are many, and dropped when they have left all windows", () => {
  const config = { identity: { ttl: "100s" }, dwell: { rules: [] }, time: { max_age: "200s" } };
  let life = new Life(config, 2);
  // A partition that falls silent must not keep what the other one has long let go of.
  const names = Array.from({ length: 4000 }, (_, i) => `device ${i}`);
  const isBusy = (device: string): boolean => life.driver.partitionOf(device) === life.driver.partitions[1];
  const busy = names.filter(isBusy);
  const silent = names.find((device) => !isBusy(device)) as string;
  let most = 0;
  let withTheRest = 0;
  for (let round = 0; round < 60; round++) {
    if (round < 3) life.driver.exit(round * 10, { device: silent });
    for (const [i, device] of busy.entries()) {
      if (i % 40 < (round % 4) * 13 + 1) life.driver.exit(round * 10 + i / 1000, { device });
    }
    life.driver.triggers();
    life.checkpoint();
    const stored = life.store.streams.get("window")?.size ?? 0;
    most = Math.max(most, stored);
    if ((life.store.streams.get("rest")?.size ?? 0) > 1) withTheRest++;
    if (round % 7 !== 6) continue;
    const { life: again } = Life.restored(config, 2, life.store);
    deepEqual(facts(again), facts(life), `round ${round}`);
    life = again;
  }
  // 100 s are ten rounds of 50 to 2,000 ids, 20 bytes each.
  ok(most >= 4 && most <= 14, `${most} chunks`);
  ok(withTheRest >= 10, `${withTheRest} checkpoints had few ids`);
  equal(life.driver.partitions[0]?.window.size, 0);
});

Deno.test("checkpoint: rounds of slices are completed, and the journal before them dropped", () => {
  const config = { ...LIFE_CONFIGS[0], time: { max_age: "30d" } };
  const random = randomFrom(9);
  const life = new Life(config, 2);
  life.rowsMax = 700;
  const pairCount = 6000;
  for (let i = 0; i < pairCount; i++) life.driver.enter(i / 1000, { device: `device ${i}` });
  life.driver.pass(100);
  life.driver.triggers();
  const times = new Map<string, number>();
  let largest = 0;
  let rounds = 0;
  let firstChunk = 0;
  for (let checkpoint = 0; checkpoint < 200; checkpoint++) {
    for (const [number, { pairs }] of life.driver.partitions.entries()) {
      for (let i = 0; i < 3000; i++) {
        const row = Math.floor(random() * pairs.rowCount);
        pairs.touch(row);
        pairs.setTime(row, SEEN, 1 + Math.floor(random() * 2 ** 50));
        times.set(`${number} ${row}`, pairs.time(row, SEEN));
      }
    }
    life.checkpoint();
    largest = Math.max(largest, life.store.byteLength);
    const first = Math.min(...(life.store.streams.get("pairs") as Map<number, Uint8Array>).keys());
    if (first > firstChunk) rounds++;
    firstChunk = first;
  }
  ok(rounds >= 2, `${rounds} rounds`);
  // The rows take some 80 bytes each: the journal of 16 MiB that begins a round, and what comes while it lasts.
  ok(largest < 22 << 20, `${largest} bytes`);
  const { life: again } = Life.restored(config, 2, life.store);
  deepEqual(facts(again), facts(life));
  for (const [key, timeUs] of times) {
    const [number, row] = key.split(" ").map(Number) as [number, number];
    equal(again.driver.partitions[number]?.pairs.time(row, SEEN), timeUs, key);
  }
});

Deno.test("checkpoint: no damaged chunk or manifest is read", () => {
  const config = { ...LIFE_CONFIGS[0], time: { max_age: "30d" }, identity: { ttl: "1h" } };
  const { store } = richLife(config);
  ok(store.chunks().length >= 5, `${store.chunks().length} chunks`);
  const random = randomFrom(1);
  for (const { stream, id } of store.chunks()) {
    for (let turn = 0; turn < 5; turn++) {
      const damaged = store.copy();
      const bytes = damaged.streams.get(stream)?.get(id) as Uint8Array;
      const at = turn === 0 ? 8 : Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
      throws(() => Life.restored(config, 2, damaged), DamagedCheckpointError, `${stream} ${id}, byte ${at}`);
    }
  }
  for (let at = 0; at < store.manifest.length; at++) {
    const damaged = store.copy();
    damaged.manifest[at] = (damaged.manifest[at] as number) ^ 4;
    throws(() => Life.restored(config, 2, damaged), DamagedCheckpointError, `manifest, byte ${at}`);
  }
});

Deno.test("checkpoint: another format is refused, by its checksum or by its number", () => {
  const config = LIFE_CONFIGS[0] as Record<string, unknown>;
  const { store } = richLife(config);
  store.manifest[8] = CHECKPOINT_FORMAT + 1;
  throws(() => Life.restored(config, 2, store), DamagedCheckpointError);
  new DataView(store.manifest.buffer).setBigUint64(0, checksum(store.manifest.subarray(8)), true);
  throws(() => Life.restored(config, 2, store), { name: "DamagedCheckpointError", message: /format 5/ });
});

/** What comes of a life whose triggers another process has told before, as a pipe's. */
function lifeAfterPipe(
  config: Record<string, unknown>,
  count: number,
): { life: Life; records: DrivenRecord[] } {
  const records = Array.from({ length: 4000 }, (_, i): DrivenRecord => ({
    kind: "ENTER",
    at: i / 100,
    device: `device ${i}`,
  }));
  const before = new Life(config, count);
  for (const record of records) before.driver.record(record);
  const life = new Life(config, count);
  for (const trigger of before.driver.triggers()) {
    const told = parseTrigger(encoder.encode(JSON.stringify(trigger)));
    ok(told !== null);
    life.driver.partitionOf(told.device).noteTold(told);
  }
  return { life, records };
}

Deno.test("checkpoint: what a crashed process told is stored once, and then what changes of it", () => {
  const config = { time: { max_age: "100s" } };
  const { life, records } = lifeAfterPipe(config, 3);
  const checkpoint = (): number => {
    life.checkpoint();
    return life.toldBytes;
  };
  const whole = checkpoint();
  ok(whole > 300_000, `${whole} bytes`);
  for (let i = 0; i < 5; i++) equal(checkpoint(), 0);
  // Clients that send again what they had sent: each is known, and taken out.
  let at = 0;
  let wholes = 0;
  for (; at < 1000; at++) {
    life.driver.record(records[at] as DrivenRecord);
    deepEqual(life.driver.told(), []);
    const bytes = checkpoint();
    if (bytes > whole / 2) wholes++;
    else ok(bytes > 0 && bytes < 300, `${bytes} bytes`);
    ok(sumBytes(life.store.chunks(), "told") < whole + 64 * 300, "what has changed does not pile up");
  }
  ok(wholes > 5 && wholes < 20, `${wholes} times`);
  // Another process knows all that is left of it, and no more.
  const again = Life.restored(config, 3, life.store).life;
  const sizes = (of: Life): number[] => of.driver.partitions.map(({ ledger }) => ledger.size);
  deepEqual(sizes(again), sizes(life));
  equal(sizes(again).reduce((sum, size) => sum + size), 3000);
  for (; at < 3999; at++) again.driver.record(records[at] as DrivenRecord);
  deepEqual(again.driver.told(), []);
  again.checkpoint();
  equal(again.store.streams.get("told")?.size, 1);
  // The last one is forgotten at its age, and nothing is left in the store.
  again.driver.record({ kind: "STALE", at: 200, device: "clock" });
  // Each partition hears of the time at a barrier, and forgets at the next.
  again.checkpoint();
  again.checkpoint();
  equal(again.store.streams.get("told")?.size, 0);
  deepEqual(sizes(Life.restored(config, 3, again.store).life), [0, 0, 0]);
});

Deno.test("checkpoint: chunks that are missing are noticed", () => {
  const config = { ...LIFE_CONFIGS[0], time: { max_age: "30d" }, identity: { ttl: "1h" } };
  const life = richLife(config);
  life.driver.exit(5010, { device: "w1" });
  life.checkpoint();
  const manifest = life.log.readManifest(life.store.manifest);
  const ranges = CheckpointLog.ranges(manifest);
  const missing = [
    `pairs ${manifest.pairs.start}`,
    `window ${manifest.window.start}`,
    `window ${manifest.window.end - 1}`,
  ];
  for (const left of missing) {
    const other = new Life(config, 2, life.store);
    const restore = other.log.restore(manifest, other.driver.partitions);
    throws(() => {
      for (const { stream, start, end } of ranges) {
        for (let id = start; id < end; id++) {
          if (`${stream} ${id}` !== left) {
            restore.chunk(life.store.streams.get(stream)?.get(id) as Uint8Array);
          }
        }
      }
      restore.finish();
    }, left);
  }
});

Deno.test("checkpoint: a pair that comes into a row of one that was forgotten begins with nothing", () => {
  const config = { dwell: { rules: [{ fence: "*", after: ["10s"] }] }, time: { max_age: "100s" } };
  const life = new Life(config, 1);
  life.driver.enter(0, { device: "first", seq: "1" });
  life.driver.exit(3, { device: "first", seq: "2" });
  life.checkpoint();
  life.driver.record({ kind: "DWELL", at: 200, device: "clock" });
  life.checkpoint();
  equal(life.driver.partition.pairs.size, 0);
  const { driver } = Life.restored(config, 1, life.store).life;
  // Devices count their crossings, each from one on.
  driver.enter(201, { device: "second", seq: "1" });
  driver.exit(204, { device: "second", seq: "2" });
  driver.pass(300);
  deepEqual(driver.told(), ["ENTER second 201", "EXIT second 204"]);
});

// ——— Changed rules (SPEC 5) ———

/** The rules of a fence, or of two. */
function rules(f: string[], g: string[] = []): Record<string, unknown> {
  return {
    dwell: { rules: [{ fence: "f", after: f }, { fence: "g", after: g }], on_contradiction: "retract" },
  };
}

/** One pair inside since 0, checkpointed when the watermark is at 25, then under other rules. */
function underOtherRules(before: Record<string, unknown>, after: Record<string, unknown>): PartitionDriver {
  const life = new Life(before, 1);
  life.driver.enter(0);
  life.driver.pass(25);
  life.driver.triggers();
  life.checkpoint();
  return Life.restored(after, 1, life.store).life.driver;
}

Deno.test("checkpoint: changed rules hold from the restart on", () => {
  const table: readonly (readonly [name: string, before: string[], after: string[], told: string[]])[] = [
    ["the same", ["10s", "30s"], ["10s", "30s"], ["DWELL 30"]],
    ["a new one that is past", ["10s", "30s"], ["10s", "20s", "30s"], ["DWELL 30"]],
    ["a new one exactly at the watermark", ["10s"], ["10s", "25s"], []],
    ["a new one ahead", ["10s"], ["10s", "26s", "50s"], ["DWELL 26", "DWELL 50"]],
    ["one that is gone", ["10s", "30s", "50s"], ["10s", "50s"], ["DWELL 50"]],
    ["all of them gone", ["10s", "30s"], [], []],
    ["the first rules at all", [], ["10s", "30s"], ["DWELL 30"]],
    ["all of them others", ["10s", "30s"], ["12s", "40s"], ["DWELL 40"]],
    ["longer ones first", ["60s"], ["6s", "30s", "60s"], ["DWELL 30", "DWELL 60"]],
  ];
  for (const [name, before, after, told] of table) {
    const driver = underOtherRules(rules(before), rules(after));
    driver.pass(1000);
    deepEqual(driver.told(), told, name);
    equal(driver.partition.pendingDwells, 0, name);
  }
});

Deno.test("checkpoint: what the end of an input told past the watermark is not told again by changed rules", () => {
  const withRules = (after: string[]): Record<string, unknown> => ({
    dwell: { rules: [{ fence: "*", after }], on_reenter: "continue" },
  });
  const life = new Life(withRules(["10s", "20s"]), 1);
  life.driver.enter(0);
  // From a clock that is ahead: it does not move the watermark, and is applied all the same.
  life.driver.enter(11, { ingest: 4 });
  life.driver.flush();
  deepEqual(life.driver.told(), ["ENTER 0", "ENTER 11", "DWELL 10"]);
  life.checkpoint();
  const { driver } = Life.restored(withRules(["6s", "10s", "20s"]), 1, life.store).life;
  driver.pass(100);
  // 6 is new, and not past by the watermark.
  deepEqual(driver.told(), ["DWELL 6", "DWELL 20"]);
  equal(driver.partition.pendingDwells, 0);
});

Deno.test("checkpoint: what was told under other rules is contradicted by its threshold, once", () => {
  const table: readonly (readonly [name: string, after: string[], retracts: string[]])[] = [
    ["the same", ["10s", "20s"], ["RETRACT 10", "RETRACT 20"]],
    ["in other places of the list", ["6s", "10s", "16s", "20s"], ["RETRACT 10", "RETRACT 20"]],
    ["one is gone, and nothing is known of it", ["20s"], ["RETRACT 20"]],
    ["never told", ["6s", "15s"], []],
  ];
  for (const [name, after, retracts] of table) {
    const driver = underOtherRules(rules(["10s", "20s"]), rules(after));
    driver.exit(5);
    driver.exit(4);
    driver.pass(100);
    deepEqual(driver.told().filter((words) => words.startsWith("RETRACT")), retracts, name);
  }
});

Deno.test("checkpoint: a contradiction that was told stays told under other rules", () => {
  const life = new Life(rules(["10s", "20s"]), 1);
  life.driver.enter(0);
  life.driver.pass(25);
  life.driver.exit(15);
  life.driver.pass(31);
  ok(life.driver.told().includes("RETRACT 20"));
  life.checkpoint();
  const { driver } = Life.restored(rules(["6s", "10s", "20s"]), 1, life.store).life;
  driver.exit(14);
  driver.exit(5);
  driver.pass(100);
  deepEqual(driver.told().filter((words) => words.startsWith("RETRACT")), ["RETRACT 10"]);
});

Deno.test("checkpoint: each fence has its own changed rules, and both visits are carried over", () => {
  const life = new Life(rules(["10s"], ["20s"]), 1);
  for (const fence of ["f", "g"]) {
    life.driver.enter(0, { fence });
    life.driver.exit(30, { fence });
    life.driver.enter(40, { fence });
  }
  life.driver.pass(55);
  life.driver.triggers();
  life.checkpoint();
  // The rules have changed places.
  const { driver } = Life.restored(rules(["10s", "20s"], ["14s", "20s", "30s"]), 1, life.store).life;
  driver.pass(75);
  // f: 50 was told; g: 54 is past and new.
  deepEqual(driver.told().sort(), ["DWELL 60", "DWELL g 60", "DWELL g 70"]);
  driver.exit(8, { fence: "f" });
  driver.exit(18, { fence: "g" });
  driver.pass(100);
  deepEqual(
    driver.told().filter((words) => words.startsWith("RETRACT")).sort(),
    ["RETRACT 10", "RETRACT g 20"],
  );
});

Deno.test("checkpoint: a record that waits is applied by the changed rules", () => {
  const life = new Life(rules(["10s"]), 1);
  life.driver.enter(0);
  life.checkpoint();
  const { driver } = Life.restored(rules(["20s"]), 1, life.store).life;
  driver.pass(100);
  deepEqual(driver.told(), ["DWELL 20"]);
});

Deno.test("checkpoint: what waits is stored once, and dropped when the watermark has passed it", () => {
  const store = new MapStore();
  const life = new Life({ dwell: { lateness: "10s" } }, 1, store, 32 << 10);
  const send = (from: number, count: number, at: number): void => {
    for (let i = from; i < from + count; i++) {
      life.driver.record({ kind: "ENTER", at: at + i / 1000, device: `d${i}`, fence: "f" });
    }
  };
  const bytesOf = (stream: string): number =>
    [...store.streams.get(stream)?.values() ?? []].reduce((sum, chunk) => sum + chunk.length, 0);
  send(0, 3000, 100);
  life.checkpoint();
  const stored = bytesOf("waiting");
  ok(stored >= 3000 * 29 && stored < 3000 * 31, `${stored} bytes`);
  ok(bytesOf("rest") < 4096, `${bytesOf("rest")} bytes`);
  // A few more are not enough for a chunk; those before them are not stored again.
  send(3000, 10, 100);
  life.checkpoint();
  equal(bytesOf("waiting"), stored);
  ok(bytesOf("rest") < 4096, `${bytesOf("rest")} bytes`);
  const { life: again } = Life.restored({ dwell: { lateness: "10s" } }, 1, store);
  equal(again.driver.partition.waiting.size, 3010);
  // What was restored from the stream is not stored again either.
  again.checkpoint();
  equal(again.driver.partition.waiting.unsaved().length, 0);
  ok(bytesOf("waiting") < stored + 1024, `${bytesOf("waiting")} bytes`);
  again.driver.record({ kind: "HEARTBEAT", at: 200, device: "", fence: "" });
  again.driver.triggers();
  again.checkpoint();
  equal(again.driver.partition.waiting.size, 0);
  equal(bytesOf("waiting"), 0);
});

Deno.test("checkpoint: what lies far ahead of the watermark does not keep what is near it", () => {
  const store = new MapStore();
  const config = { dwell: { lateness: "5s" } };
  const life = new Life(config, 1, store);
  // A device whose clock is two minutes ahead, by the ingest time that goes with it.
  const ahead = (at: number): DrivenRecord => ({
    kind: "ENTER",
    at: at + 120,
    ingest: at,
    device: "ahead",
    fence: "f",
  });
  for (let at = 100; at < 130; at++) {
    life.driver.record({ kind: "ENTER", at, ingest: at, device: `d${at}`, fence: "f" });
    life.driver.record(ahead(at));
    life.driver.triggers();
    life.checkpoint();
    ok((store.streams.get("waiting")?.size ?? 0) <= 12, "chunks that are passed are dropped");
  }
  const { life: again } = Life.restored(config, 1, store);
  deepEqual(facts(again), facts(life));
});

Deno.test("checkpoint: what the end of the input applied ahead of the watermark does not come again", () => {
  const store = new MapStore();
  const config = { dwell: { lateness: "5s" } };
  const life = new Life(config, 1, store);
  life.driver.record({ kind: "ENTER", at: 100, ingest: 100, device: "a", fence: "f" });
  life.driver.record({ kind: "ENTER", at: 104, ingest: 100, device: "b", fence: "f" });
  life.checkpoint();
  ok((store.streams.get("waiting")?.size ?? 0) > 0);
  life.driver.flush();
  equal(life.driver.partition.waiting.size, 0);
  life.checkpoint();
  const { life: again } = Life.restored(config, 1, store);
  equal(again.driver.partition.waiting.size, 0);
  again.driver.record({ kind: "EXIT", at: 108, ingest: 101, device: "b", fence: "f" });
  again.checkpoint();
  const { life: third } = Life.restored(config, 1, store);
  equal(third.driver.partition.waiting.size, 1);
});
