/**
 * The key is two-sided: a crossing that is presented twice fires once, and a genuine re-entry fires again. Over every
 * phase of the bucket, since a key that is right in its middle can be wrong at its edges.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { type Config, parseConfig } from "../../lib/config.ts";
import { EMIT_ORDERS } from "../support/cases.ts";
import { Chance } from "./chance.ts";
import { type EngineResult, runProcess } from "./engine.ts";

const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;
const SECOND_US = 1_000_000;
const BUCKET_US = 2 * SECOND_US;
const GUARD_US = 200_000;
const WALL_US = BEGIN_US + 86_400 * SECOND_US;

interface Presented {
  readonly deviceId: string;
  readonly kind: string;
  readonly eventUs: number;
  readonly ingestUs: number;
}

function configOf(emit: Config["emit"], maxSkew: string | null): Config {
  return parseConfig({ emit, identity: { max_skew: maxSkew }, partitions: 3 });
}

/** Presents records in the order of their ingest times. */
async function present(config: Config, records: readonly Presented[]): Promise<EngineResult> {
  const lines = records.toSorted((a, b) => a.ingestUs - b.ingestUs).map(
    ({ deviceId, kind, eventUs, ingestUs }) =>
      JSON.stringify({
        device_id: deviceId,
        fence_id: "depot",
        kind,
        event_time_us: eventUs,
        ingest_time_us: ingestUs,
      }),
  );
  return await runProcess(config, lines, { wallUs: WALL_US, batchRecords: 500 });
}

/** How often each device was told each kind. */
function timesTold({ triggers }: EngineResult): (deviceId: string, kind: string) => number {
  const counts = new Map<string, number>();
  for (const { device_id, kind } of triggers) {
    counts.set(`${device_id} ${kind}`, (counts.get(`${device_id} ${kind}`) ?? 0) + 1);
  }
  return (deviceId, kind) => counts.get(`${deviceId} ${kind}`) ?? 0;
}

/** Phases of the bucket: a grid, and all that is special at its edges. */
const PHASES_US = new Set([
  ...Array.from({ length: 80 }, (_, i) => i * 25_000 + i),
  ...[0, GUARD_US, BUCKET_US - GUARD_US, BUCKET_US].flatMap((edgeUs) => [edgeUs - 1, edgeUs, edgeUs + 1]),
]);
/** How far a copy's event time lies from the first one's. */
const JITTERS_US = [0, ...[1, GUARD_US / 2, GUARD_US - 1, GUARD_US].flatMap((us) => [us, -us])];
/** How much later a copy is presented: at once, a retry, one that has seen the re-entry, one just before the ttl. */
const RETRIES_US = [0, 700_000, 8 * SECOND_US, 50 * SECOND_US, 290 * SECOND_US];

for (const emit of EMIT_ORDERS) {
  for (const maxSkew of [null, "0s"]) {
    const name = `emit ${emit}, ${maxSkew === null ? "with" : "without"} the pair's memory`;
    Deno.test(`key: presented twice fires once, a re-entry 45 s later again, ${name}`, async () => {
      const records: Presented[] = [];
      for (const phaseUs of PHASES_US) {
        for (const jitterUs of JITTERS_US) {
          for (const retryUs of RETRIES_US) {
            const deviceId = `${phaseUs} ${jitterUs} ${retryUs}`;
            const beginUs = BEGIN_US + phaseUs;
            for (
              const [kind, eventUs] of [
                ["ENTER", beginUs],
                ["EXIT", beginUs + 20 * SECOND_US],
                ["ENTER", beginUs + 45 * SECOND_US],
              ] as const
            ) {
              records.push({ deviceId, kind, eventUs, ingestUs: eventUs + GUARD_US });
              const copyUs = eventUs + jitterUs;
              records.push({ deviceId, kind, eventUs: copyUs, ingestUs: eventUs + GUARD_US + retryUs });
            }
          }
        }
      }
      const result = await present(configOf(emit, maxSkew), records);
      const told = timesTold(result);
      for (const { deviceId } of records) {
        equal(told(deviceId, "ENTER"), 2, deviceId);
        equal(told(deviceId, "EXIT"), 1, deviceId);
      }
      equal(result.report.counters.suppressed + result.report.counters.absorbed, records.length / 2);
      equal(result.deadLetters.length, 0);
    });
  }
}

Deno.test("key: a chain of copies, each within the guard of the one before, does not creep", async () => {
  const records: Presented[] = [];
  for (const phaseUs of PHASES_US) {
    for (const stepUs of [GUARD_US, 130_000, 61_000]) {
      for (let i = 0; i * stepUs <= 2 * BUCKET_US; i++) {
        const eventUs = BEGIN_US + phaseUs + i * stepUs;
        records.push({ deviceId: `${phaseUs} ${stepUs}`, kind: "ENTER", eventUs, ingestUs: eventUs });
      }
    }
  }
  const told = timesTold(await present(configOf("arrival", null), records));
  for (const { deviceId } of records) {
    // A chain of two buckets' length is no single crossing.
    equal(told(deviceId, "ENTER") >= 2, true, deviceId);
  }
});

Deno.test("key: what is a bucket or more apart is never one", async () => {
  const records: Presented[] = [];
  for (const phaseUs of PHASES_US) {
    for (const apartUs of [BUCKET_US, BUCKET_US + 1, BUCKET_US + GUARD_US, 2 * BUCKET_US - 1]) {
      for (const eventUs of [BEGIN_US + phaseUs, BEGIN_US + phaseUs + apartUs]) {
        records.push({ deviceId: `${phaseUs} ${apartUs}`, kind: "ENTER", eventUs, ingestUs: eventUs });
      }
    }
  }
  for (const emit of EMIT_ORDERS) {
    const told = timesTold(await present(configOf(emit, null), records));
    for (const { deviceId } of records) equal(told(deviceId, "ENTER"), 2, `${emit}: ${deviceId}`);
  }
});

for (let from = 0; from < 40; from += 20) {
  Deno.test(`key: any widths, phases, jitters and retries, seeds ${from} to ${from + 19}`, async () => {
    for (let seed = from; seed < from + 20; seed++) {
      const chance = new Chance(seed);
      const bucketUs = chance.pick([BUCKET_US, SECOND_US, 5 * SECOND_US]);
      const guardUs = chance.between(1, bucketUs / 2 - 1);
      const maxSkewUs = chance.pick([0, guardUs, bucketUs - 1]);
      const emit = chance.pick(EMIT_ORDERS);
      const config = parseConfig({
        emit,
        identity: { bucket: `${bucketUs}us`, guard: `${guardUs}us`, max_skew: `${maxSkewUs}us` },
        dwell: { lateness: "8s" },
      });
      const records: Presented[] = [];
      for (let i = 0; i < 150; i++) {
        const deviceId = `d${i}`;
        const beginUs = BEGIN_US + chance.below(600 * SECOND_US);
        for (
          const [kind, offsetUs] of [["ENTER", 0], ["EXIT", 20 * SECOND_US], [
            "ENTER",
            45 * SECOND_US,
          ]] as const
        ) {
          const eventUs = beginUs + offsetUs;
          const ingestUs = eventUs + guardUs;
          records.push({ deviceId, kind, eventUs, ingestUs });
          // All within the guard of the one that is told: the first to arrive, or, in order, whichever is the earliest.
          const earliestUs = emit === "ordered" ? -chance.below(guardUs + 1) : -guardUs;
          for (let copies = chance.between(1, 3); copies > 0; copies--) {
            const jitterUs = chance.between(
              earliestUs,
              earliestUs + (emit === "ordered" ? guardUs : 2 * guardUs),
            );
            const retryUs = chance.pick([0, chance.below(2 * SECOND_US), 15 * SECOND_US, 280 * SECOND_US]);
            records.push({ deviceId, kind, eventUs: eventUs + jitterUs, ingestUs: ingestUs + retryUs });
          }
        }
      }
      const told = timesTold(await present(config, records));
      for (const { deviceId } of records) {
        equal(told(deviceId, "ENTER"), 2, `seed ${seed}, emit ${emit}: ${deviceId}`);
        equal(told(deviceId, "EXIT"), 1, `seed ${seed}, emit ${emit}: ${deviceId}`);
      }
    }
  });
}
