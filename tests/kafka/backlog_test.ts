/**
 * What a process finds that was down for half a day: none of the deadlines that it had, or that the backlog sets, fires
 * unless it was earned, however far the wall clock is ahead.
 *
 * @module
 */
import { deepStrictEqual, match } from "node:assert/strict";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, valuesOf } from "../support/kafka_messages.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const ignore = broker === null;

afterAll(async () => await broker?.stop());

const MINUTE_MS = 60_000;
/** Of the backlog: twelve hours. */
const BACKLOG_MS = 12 * 60 * MINUTE_MS;
const DEVICES = 300;
/** From one visit of a device to its next. */
const EVERY_MS = 15 * MINUTE_MS;
/** Its visits last for 9 minutes, where a dwell takes 10; one in ten of them for 11. */
const SHORT_MS = 9 * MINUTE_MS;
const LONG_MS = 11 * MINUTE_MS;
const LONG_ONE_IN = 10;
const SEND_RECORDS = 2_000;

interface Record {
  readonly atMs: number;
  readonly device: number;
  readonly kind: "ENTER" | "EXIT" | "HEARTBEAT";
}

/** Moves time on, so that what came before is applied. */
function heartbeat(atMs: number): Record {
  return { atMs, device: 0, kind: "HEARTBEAT" };
}

/** All visits that begin in the time given, in the order of their times. */
function visits(startMs: number, endMs: number): { readonly records: Record[]; readonly dwells: number } {
  const records: Record[] = [];
  let number = 0;
  let dwells = 0;
  for (let atMs = startMs; atMs + EVERY_MS <= endMs; atMs += EVERY_MS) {
    for (let device = 0; device < DEVICES; device++) {
      const enterMs = atMs + 10 * device;
      const isLong = ++number % LONG_ONE_IN === 0;
      if (isLong) dwells++;
      records.push({ atMs: enterMs, device, kind: "ENTER" });
      records.push({ atMs: enterMs + (isLong ? LONG_MS : SHORT_MS), device, kind: "EXIT" });
    }
  }
  records.sort((a, b) => a.atMs - b.atMs);
  return { records, dwells };
}

Deno.test({
  name: "run: twelve hours of backlog, behind visits that were open before, and no DWELL that nobody earned",
  ignore,
  async fn() {
    if (broker === null) return;
    const kafka = clientOf(broker.brokers);
    // Retention goes by the records' timestamps.
    const [source, triggers, deadLetters] = await Promise.all(
      Array.from({ length: 3 }, () => broker.topic(1, { "retention.ms": "-1" })),
    ) as [string, string, string];
    const send = (records: readonly Record[]): Promise<void> =>
      otherProducer(kafka, null, async (producer) => {
        for (let at = 0; at < records.length; at += SEND_RECORDS) {
          const messages = records.slice(at, at + SEND_RECORDS).map(({ atMs, device, kind }) => ({
            key: `d-${device}`,
            value: JSON.stringify({ device_id: `d-${device}`, fence_id: "yard", kind, event_time_ms: atMs }),
            timestamp: String(atMs),
          }));
          await producer.send({ topic: source, messages });
        }
      });
    const config = {
      deployment: source,
      kafka: { brokers: broker.brokers },
      source: { type: "kafka", topic: source, group: source },
      sink: { type: "kafka", topic: triggers },
      dead_letters: { type: "kafka", topic: deadLetters },
      checkpoint: { path: `kafka:state-${source}` },
    };
    const nowMs = Date.now();
    const { records, dwells } = visits(nowMs - BACKLOG_MS, nowMs);
    await inDirectory(async (directory) => {
      const before = await KafkaRun.start(directory, config);
      await send([...records.slice(0, DEVICES), heartbeat(nowMs - BACKLOG_MS + MINUTE_MS)]);
      await before.until(kafka, triggers, DEVICES);
      match(await before.end(), /^0: [^]*pending dwells +300\n/);
      await send([...records.slice(DEVICES), heartbeat(Date.now())]);
      const after = await KafkaRun.start(directory, config);
      await after.until(kafka, triggers, records.length + dwells);
      match(await after.end(), /^0: [^]*pending dwells +0\n/);
    });
    const kinds = new Map<string, number>();
    for (const value of await valuesOf(kafka, triggers)) {
      const { kind } = JSON.parse(value) as { kind: string };
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    const half = records.length / 2;
    deepStrictEqual(Object.fromEntries(kinds), { ENTER: half, EXIT: half, DWELL: dwells });
    deepStrictEqual(await valuesOf(kafka, deadLetters), []);
  },
});
