/**
 * The engine against the oracle and against itself: the real `lib/` and `actors/` on simulated ports, over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Config } from "../../lib/config.ts";
import { CASES_WALL_US, EMIT_ORDERS, loadCases } from "../support/cases.ts";
import { type EngineResult, runProcess, runWithCrashes, type Trigger } from "./engine.ts";
import { makeOracle } from "./oracle.ts";
import { generateStream } from "./streams.ts";
import { type Unflushed, World } from "./simulated_ports.ts";

const SEEDS_A_BLOCK = 25;
const BLOCKS = 20;
const PARTITIONS = [1, 3, 16] as const;

/** Triggers as text that does not depend on the order of members, sorted. */
function asSet(triggers: readonly object[]): string[] {
  return triggers.map((trigger) => {
    const members = Object.entries(trigger).filter(([, value]) => value !== undefined);
    return JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => a < b ? -1 : 1)));
  }).sort();
}

function byLine(letters: EngineResult["deadLetters"]): string[] {
  return letters.map(({ line, reason }) => `${line} ${reason}`).sort();
}

function withPartitions(config: Config, partitions: number): Config {
  return { ...config, partitions };
}

Deno.test("engine: every case comes out as it should, in both orders", async (test) => {
  for (const { name, lines, expected } of await loadCases()) {
    for (const emit of EMIT_ORDERS) {
      await test.step(`${name}, ${emit}`, async () => {
        const { config, triggers, deadLetters, suppressed } = expected[emit];
        for (const partitions of PARTITIONS) {
          const options = { wallUs: CASES_WALL_US, batchRecords: partitions };
          const result = await runProcess(withPartitions(config, partitions), lines, options);
          deepEqual(asSet(result.triggers), asSet(triggers));
          deepEqual(byLine(result.deadLetters), byLine(deadLetters));
          if (suppressed !== null) equal(result.report.counters.suppressed, suppressed);
        }
      });
    }
  }
});

for (let block = 0; block < BLOCKS; block++) {
  const from = block * SEEDS_A_BLOCK;
  Deno.test(`engine: equals the oracle, seeds ${from} to ${from + SEEDS_A_BLOCK - 1}`, async () => {
    const oracle = await makeOracle();
    for (let seed = from; seed < from + SEEDS_A_BLOCK; seed++) {
      const { config, lines, wallUs } = generateStream(seed);
      const expected = oracle(config, lines, { atEof: config.source.atEof, wallUs });
      for (const partitions of PARTITIONS) {
        const where = `seed ${seed}, ${partitions} partitions`;
        const options = { wallUs, batchRecords: 1 + seed % 97 };
        const result = await runProcess(withPartitions(config, partitions), lines, options);
        deepEqual(asSet(result.triggers), asSet(expected.triggers), where);
        deepEqual(byLine(result.deadLetters), byLine(expected.deadLetters), where);
        const { counters, pendingDwells } = result.report;
        deepEqual(
          {
            suppressed: counters.suppressed,
            late: counters.late,
            skipped: counters.lateSkipped,
            contradicted: counters.dwellContradicted,
            flaps: counters.flapsInBucket,
            pending: pendingDwells,
          },
          {
            suppressed: expected.suppressed,
            late: expected.late,
            skipped: expected.late_skipped,
            contradicted: expected.dwell_contradicted,
            flaps: expected.flaps_in_bucket,
            pending: expected.pending,
          },
          where,
        );
      }
    }
  });
}

Deno.test("engine: a kill at every step leaves each trigger and each dead letter exactly once", async () => {
  // The first seed of each order whose stream has about 300 records.
  for (const emit of EMIT_ORDERS) {
    let seed = 0;
    let stream = generateStream(seed);
    while (stream.config.emit !== emit || stream.lines.length < 280) stream = generateStream(++seed);
    const config = { ...withPartitions(stream.config, 3), checkpoint: { path: "", intervalUs: 1 } };
    const options = { wallUs: stream.wallUs, batchRecords: 16 };
    const world = new World();
    const undisturbed = await runProcess(config, stream.lines, { ...options, world });
    const unflushed: readonly Unflushed[] = ["kept", "lost", "torn"];
    for (let step = 1; step <= world.steps; step++) {
      const afterEffect = step % 2 === 0;
      const fate = unflushed[step % 3] as Unflushed;
      const crashes = [
        { step, afterEffect, unflushed: fate },
        { step: 1 + step * 7 % 50, afterEffect: !afterEffect, unflushed: "torn" as const },
      ];
      const result = await runWithCrashes(config, stream.lines, crashes, options);
      const where = `seed ${seed}, ${emit}, step ${step}, ${fate}`;
      deepEqual([...result.raw].sort(), [...undisturbed.raw].sort(), where);
      deepEqual(byLine(result.deadLetters), byLine(undisturbed.deadLetters), where);
    }
  }
});

Deno.test("engine: kills over seeds", async () => {
  for (let seed = 0; seed < 40; seed++) {
    const { config: drawn, lines, wallUs } = generateStream(seed);
    const config = {
      ...withPartitions(drawn, 3),
      checkpoint: { path: "", intervalUs: 1 + seed % 3 * 50 },
    };
    const options = { wallUs, batchRecords: 1 + seed % 13 };
    const world = new World();
    const undisturbed = await runProcess(config, lines, { ...options, world });
    for (let step = 1 + seed % 5; step <= world.steps; step += Math.ceil(world.steps / 6)) {
      const crashes = [
        { step, afterEffect: seed % 2 === 0, unflushed: "lost" as const },
        { step: 1 + step * 7 % 50, afterEffect: seed % 2 === 1, unflushed: "torn" as const },
      ];
      const result = await runWithCrashes(config, lines, crashes, options);
      deepEqual([...result.raw].sort(), [...undisturbed.raw].sort(), `seed ${seed}, step ${step}`);
      deepEqual(byLine(result.deadLetters), byLine(undisturbed.deadLetters), `seed ${seed}, step ${step}`);
    }
  }
});

/** A configuration of the defaults' kind, for scripts. */
async function plainConfig(): Promise<Config> {
  const [first] = await loadCases();
  ok(first !== undefined);
  return first.expected.arrival.config;
}

function line(deviceId: string, kind: string, eventMs: number, ingestMs: number): string {
  return JSON.stringify({
    device_id: deviceId,
    fence_id: "depot",
    kind,
    event_time_ms: eventMs,
    ingest_time_ms: ingestMs,
  });
}

function told(result: EngineResult, kind: string, deviceId: string): Trigger[] {
  return result.triggers.filter((trigger) => trigger["kind"] === kind && trigger["device_id"] === deviceId);
}

Deno.test("engine: each crossing presented twice fires once, and a re-entry 45 s later fires again", async () => {
  const config = await plainConfig();
  const base = CASES_WALL_US / 1000 - 86_400_000;
  const lines: string[] = [];
  const devices: string[] = [];
  // Every phase of the 2 s bucket in steps of 10 ms; copies up to the guard away, on either side.
  for (let phase = 0; phase < 2000; phase += 10) {
    for (const apart of [0, 1, 90, 199, 200, -1, -150, -200]) {
      const deviceId = `d${phase}/${apart}`;
      devices.push(deviceId);
      for (
        const [kind, at] of [["ENTER", phase], ["EXIT", phase + 20_000], ["ENTER", phase + 45_000]] as const
      ) {
        lines.push(line(deviceId, kind, base + at, base + at + 300));
        lines.push(line(deviceId, kind, base + at + apart, base + at + 900));
      }
    }
  }
  const byIngest = (a: string, b: string): number =>
    (JSON.parse(a) as { ingest_time_ms: number }).ingest_time_ms -
    (JSON.parse(b) as { ingest_time_ms: number }).ingest_time_ms;
  lines.sort(byIngest);
  const result = await runProcess(config, lines, { wallUs: CASES_WALL_US, batchRecords: 500 });
  const counts = new Map<string, number>();
  for (const { kind, device_id } of result.triggers) {
    counts.set(`${kind} ${device_id}`, (counts.get(`${kind} ${device_id}`) ?? 0) + 1);
  }
  for (const deviceId of devices) {
    equal(counts.get(`ENTER ${deviceId}`), 2, deviceId);
    equal(counts.get(`EXIT ${deviceId}`), 1, deviceId);
  }
});

Deno.test("engine: the same DWELLs for any order within the lateness", async () => {
  const config = await plainConfig();
  const base = CASES_WALL_US / 1000 - 86_400_000;
  const script: { at: number; text: string }[] = [];
  for (let i = 0; i < 40; i++) {
    const at = base + i * 97_000;
    script.push({ at, text: line(`d${i % 4}`, i % 3 === 2 ? "EXIT" : "ENTER", at, at) });
  }
  let reference: string[] | null = null;
  for (let seed = 1; seed <= 40; seed++) {
    // Each record arrives up to 4.9 s late, by a rule that differs from seed to seed; ingest time is when it arrives.
    const arrivals = script.map(({ at, text }, i) => {
      const delay = (i * 7919 + seed * 104_729) % 4900;
      return {
        arrival: at + delay,
        text: JSON.stringify({ ...JSON.parse(text) as object, ingest_time_ms: at + delay }),
      };
    }).sort((a, b) => a.arrival - b.arrival);
    const lines = arrivals.map(({ text }) => text);
    lines.push(
      JSON.stringify({
        kind: "HEARTBEAT",
        event_time_ms: base + 9_000_000,
        ingest_time_ms: base + 9_000_000,
      }),
    );
    const result = await runProcess(config, lines, { wallUs: CASES_WALL_US, batchRecords: 1 + seed % 9 });
    const dwells = asSet(["d0", "d1", "d2", "d3"].flatMap((deviceId) => told(result, "DWELL", deviceId)));
    ok(dwells.length > 5);
    reference ??= dwells;
    deepEqual(dwells, reference, `seed ${seed}`);
  }
});
