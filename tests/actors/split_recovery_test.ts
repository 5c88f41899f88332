/**
 * What a split goes on from after a crash, and what it refuses to go on from.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { CheckpointCommit } from "../../actors/ports.ts";
import { parseConfig } from "../../lib/config.ts";
import type { Json } from "../../lib/json.ts";
import { runWithCrashes } from "../sim/engine.ts";
import { SimulatedSource, SimulatedStore, World } from "../sim/simulated_ports.ts";
import {
  comeAndGo,
  kindsIn,
  makeSplit,
  NOON_US,
  quiesce,
  recordAt,
  refusalsIn,
  runThrough,
} from "../support/split_world.ts";

/** A checkpoint after each batch. */
const OFTEN = { checkpoint: { interval: "0s" } };

const MISMATCHES: readonly (readonly [name: string, now: Json, message: RegExp])[] = [
  ["partitions", { partitions: 4 }, /partitions was 16 and is now 4/],
  ["bucket", { identity: { bucket: "3s" } }, /identity\.bucket was 2s and is now 3s/],
  ["guard", { identity: { guard: "100ms" } }, /identity\.guard was 200ms and is now 100ms/],
];
for (const [name, now, message] of MISMATCHES) {
  Deno.test(`split: a state of another ${name} is refused`, async () => {
    const world = new World();
    await runThrough({}, { world, lines: comeAndGo(3) });
    const { split } = await makeSplit(now, { world, lines: comeAndGo(3) });
    await rejects(split.open(), (error: Error) => {
      match(error.message, message);
      match(error.message, /Set it back, or name another checkpoint.path \(--state\) to begin afresh/);
      return true;
    });
  });
}

Deno.test("split: a state of another kind of source is refused", async () => {
  class OtherSource extends SimulatedSource {
    override readonly kind = "kafka" as "ndjson";
  }
  const world = new World();
  await runThrough({}, { world, lines: comeAndGo(3) });
  const { split } = await makeSplit({}, { world, source: new OtherSource(world, [], { batchRecords: 1 }) });
  await rejects(split.open(), /source\.type was ndjson and is now kafka/);
});

Deno.test("split: a state of before groups were kept is taken by the first, and refused to any other from then on", async () => {
  const ofGroup = (group: string): Json => ({
    ...{ deployment: "fleet", kafka: { brokers: ["localhost:9092"] }, partitions: 16 },
    source: { type: "kafka", topic: "t", group },
    sink: { path: "{partition}" },
    dead_letters: { path: "dead-{partition}" },
  });
  const world = new World();
  await runThrough({}, { world, lines: comeAndGo(3) });
  const { split } = await makeSplit(ofGroup("first"), { world, lines: comeAndGo(3) });
  equal((await split.open()).resumed, true);
  const other = await makeSplit(ofGroup("second"), { world, lines: comeAndGo(3) });
  await rejects(
    other.split.open(),
    /of group first, and source\.group is second.*another deployment than fleet/,
  );
  const again = await makeSplit(ofGroup("first"), { world, lines: comeAndGo(3) });
  equal((await again.split.open()).resumed, true);
});

/** One partition that remembers so many ids that they take a chunk of their own. */
const ONE = { partitions: 1, identity: { ttl: "2h" } };

Deno.test("split: a damaged state is refused with the way out, and nothing is written", async (test) => {
  const lines = comeAndGo(1200);
  const world = new World();
  await runThrough(ONE, { world, lines });
  const written = world.triggers.lines().length;
  const parts = [["the manifest", world.manifest], ...world.chunks] as [string, Uint8Array][];
  ok(["pairs", "window", "rest"].every((stream) => parts.some(([name]) => name.startsWith(stream))));
  for (const [name, bytes] of parts) {
    await test.step(name, async () => {
      for (const at of [0, 8, 9, bytes.length >> 1, bytes.length - 1]) {
        bytes[at] = (bytes[at] as number) ^ 0x10;
        const { split } = await makeSplit(ONE, { world, lines });
        await rejects(
          split.open(),
          /^Error: Cannot restore the state in simulated: .* Put a copy of it back, or name another checkpoint.path \(--state\) to begin afresh$/,
          `byte ${at}`,
        );
        bytes[at] = (bytes[at] as number) ^ 0x10;
      }
    });
  }
  equal(world.triggers.lines().length, written);
  await runThrough(ONE, { world, lines });
  equal(world.triggers.lines().length, written, "and mended, it is gone on with");
});

Deno.test("split: a chunk that is missing is refused", async () => {
  const lines = comeAndGo(1200);
  const world = new World();
  await runThrough(ONE, { world, lines });
  for (const [name, bytes] of [...world.chunks]) {
    world.chunks.delete(name);
    const { split } = await makeSplit(ONE, { world, lines });
    await rejects(split.open(), /is missing/, name);
    world.chunks.set(name, bytes);
  }
});

const POISON = ["{", '{"device_id":"a"}', recordAt(9e8), "[]"];
const CRASHES:
  readonly (readonly [name: string, config: Json, lines: readonly string[], refused: readonly string[]])[] = [
    ["dead letters", {}, POISON.flatMap((line, i) => [recordAt(i), line]), [
      "2 MALFORMED_JSON",
      "4 MISSING_FIELD",
      "6 TIME_IN_FUTURE",
      "8 NOT_AN_OBJECT",
    ]],
    ["LATE, in event-time order", { emit: "ordered" }, [
      recordAt(0),
      recordAt(60, { kind: "EXIT" }),
      ...[1, 2, 3, 4, 5].map((i) => recordAt(i * 10, { device: `truck-${i}`, ingestSecond: 60 })),
      recordAt(70, { device: "truck-9" }),
    ], ["3 LATE", "4 LATE", "5 LATE", "6 LATE", "7 LATE"]],
  ];
for (const [name, json, lines, refused] of CRASHES) {
  Deno.test(`split: ${name}: each once, wherever the process ends`, async () => {
    const config = parseConfig({ partitions: 2, checkpoint: { interval: "0s" }, ...json as object });
    const options = { wallUs: NOON_US + 3600e6, batchRecords: 2 };
    const undisturbed = await runWithCrashes(config, lines, [], options);
    const asText = (letters: typeof undisturbed.deadLetters): string[] =>
      letters.map(({ line, reason }) => `${line} ${reason}`).toSorted();
    deepEqual(asText(undisturbed.deadLetters), refused);
    const ids = undisturbed.triggers.map(({ id }) => id).toSorted();
    for (let step = 1; step <= 60; step++) {
      for (const afterEffect of [false, true]) {
        for (const unflushed of ["kept", "lost", "torn"] as const) {
          const crashes = [{ step, afterEffect, unflushed }, {
            step: 9,
            afterEffect: !afterEffect,
            unflushed,
          }];
          const result = await runWithCrashes(config, lines, crashes, options);
          const where = `step ${step}, ${
            afterEffect ? "after" : "before"
          } its effect, unflushed ${unflushed}`;
          deepEqual(asText(result.deadLetters), refused, where);
          deepEqual(result.triggers.map(({ id }) => id).toSorted(), ids, where);
        }
      }
    }
  });
}

for (const emit of ["arrival", "ordered"] as const) {
  Deno.test(`split: triggers that the output refuses, emit ${emit}: each a dead letter once, wherever the process ends`, async () => {
    const config = parseConfig({
      partitions: 2,
      checkpoint: { interval: "0s" },
      emit,
      dwell: { rules: [{ fence: "*", after: ["10m"] }], on_contradiction: "retract" },
    });
    const lines = [...comeAndGo(6), recordAt(-2000, { device: "truck-9" }), "{"];
    const all = await runWithCrashes(config, lines, [], { wallUs: NOON_US, batchRecords: 2 });
    const ids = (of: readonly Record<string, unknown>[]): unknown[] => of.map(({ id }) => id).toSorted();
    // Every third, of each kind some, by its id, which is the same in every run.
    const refuses = (line: string): boolean =>
      Number.parseInt((JSON.parse(line) as { id: string }).id.slice(0, 4), 16) % 3 === 0;
    const refused = all.raw.filter(refuses).map((line) => JSON.parse(line) as { id: string });
    ok(refused.length >= 3 && refused.length < all.raw.length - 3, `${refused.length} of ${all.raw.length}`);
    const options = { wallUs: NOON_US, batchRecords: 2, refuses };
    for (let step = 1; step <= 60; step++) {
      for (const afterEffect of [false, true]) {
        for (const unflushed of ["kept", "lost", "torn"] as const) {
          const crashes = [{ step, afterEffect, unflushed }, { step: 9, afterEffect, unflushed }];
          const { triggers, rejected, deadLetters, report } = await runWithCrashes(
            config,
            lines,
            crashes,
            options,
          );
          const where = `step ${step}, ${
            afterEffect ? "after" : "before"
          } its effect, unflushed ${unflushed}`;
          deepEqual(ids(rejected), ids(refused), where);
          deepEqual(ids([...triggers, ...rejected]), ids(all.triggers), where);
          equal(report.deadLetters.SINK_REJECTED, refused.length, where);
          deepEqual(deadLetters.map(({ reason }) => reason), ["MALFORMED_JSON"], where);
        }
      }
    }
  });
}

Deno.test("split: another input over the kept state has its own dead letters", async () => {
  class AnotherFile extends SimulatedSource {
    override open(): Promise<"started"> {
      return Promise.resolve("started");
    }
  }
  let commits = 0;
  class HangingStore extends SimulatedStore {
    override commit(commit: CheckpointCommit): Promise<void> {
      return ++commits > 2 ? new Promise(() => {}) : super.commit(commit);
    }
  }
  const world = new World();
  const today = [recordAt(0), "{", recordAt(1, { device: "truck-2" }), "{"];
  // The first process writes its dead letters and comes no further than the checkpoint before them.
  const store = new HangingStore(world);
  const { split } = await makeSplit(OFTEN, { world, lines: today, batchRecords: 1, store });
  await split.open();
  void split.run();
  await quiesce();
  deepEqual(refusalsIn(world.deadLetters), ["2 MALFORMED_JSON", "4 MALFORMED_JSON"]);
  world.restart("kept");
  const tomorrow = [recordAt(60, { device: "truck-3" }), "{", recordAt(61, { device: "truck-4" }), "[]"];
  await runThrough(OFTEN, { world, source: new AnotherFile(world, tomorrow, { batchRecords: 9 }) });
  deepEqual(refusalsIn(world.deadLetters).slice(2), ["2 MALFORMED_JSON", "4 NOT_AN_OBJECT"]);
});

Deno.test("split: what waited to leave in order leaves once, though the next start emits on arrival, and the other way", async () => {
  const lines = [
    recordAt(-3600),
    recordAt(-3598, { kind: "EXIT" }),
    recordAt(-3597, { device: "truck-2" }),
    recordAt(-3596.5, { device: "truck-2", kind: "STALE" }),
  ];
  for (const [before, after] of [["ordered", "arrival"], ["arrival", "ordered"]] as const) {
    const world = new World();
    await runThrough({ emit: before, source: { at_eof: "hold" } }, { world, lines });
    deepEqual(kindsIn(world.triggers), before === "ordered" ? [] : ["ENTER", "EXIT", "ENTER"]);
    // A copy meets the one that waits.
    const { split } = await runThrough({ emit: after }, {
      world,
      lines: [...lines, recordAt(-3597, { device: "truck-2" })],
    });
    deepEqual(kindsIn(world.triggers).toSorted(), ["ENTER", "ENTER", "EXIT"], `${before}, then ${after}`);
    const { counters: { received, suppressed, silent, absorbed } } = split.report();
    deepEqual([received, suppressed + absorbed, silent], [5, 1, 1]);
  }
});
