/**
 * How long a partition with many pending dwells is nobody's when its owner is told to end: from SIGTERM to the moment
 * the other process of the group goes on with them.
 *
 * The other has joined before, and has nothing: there is one partition. After the rounds a heartbeat makes all dwells
 * due, and each must be in the output, once, or the measurement is refused.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Admin, Kafka, Message } from "kafkajs";
import type { KafkaRun } from "../../tests/kafka/kafka_run.ts";
import { clientOf, otherProducer, valuesOf } from "../../tests/support/kafka_messages.ts";

const SEND_RECORDS = 2_000;
const LOOK_MS = 100;
const WAIT_MS_MAX = 120_000;
/** How old the visits are: more than the ten minutes that they must last, but no record has said so yet. */
const INSIDE_MS = 660_000;
const GOING_ON = /\]: going on \(/;

/** What it works on. */
export interface HandOverOptions {
  readonly brokers: readonly string[];
  readonly admin: Admin;
  /** The source's topic, with one partition; the group has its name. */
  readonly input: string;
  /** The output's, with one partition. */
  readonly output: string;
  /** Starts a process of the group. */
  start(): Promise<KafkaRun>;
  readonly dwells: number;
  readonly rounds: number;
}

/**
 * Measures some hand-overs, one after the other.
 *
 * @returns seconds, one a round
 * @throws {Error} where a process ends otherwise than it should, or a DWELL is missing or there twice
 */
export async function measureHandOvers(options: HandOverOptions): Promise<number[]> {
  const { brokers, admin, input, output, dwells, rounds } = options;
  const kafka = clientOf(brokers);
  await send(kafka, input, enters(dwells));
  let owner = await options.start();
  const seconds: number[] = [];
  try {
    await until("the records are read", async () => await endOf(admin, output) >= dwells);
    for (let round = 0; round < rounds; round++) {
      const next = await options.start();
      await until("the other has joined", async () => {
        const { groups } = await admin.describeGroups([input]);
        return groups[0]?.state === "Stable" && groups[0].members.length === 2;
      });
      const previous = owner;
      owner = next;
      const startedMs = performance.now();
      const ended = endWell(previous);
      await next.says(GOING_ON);
      seconds.push((performance.now() - startedMs) / 1000);
      await ended;
    }
    const now = new Date().toISOString();
    await send(kafka, input, [{ key: null, value: JSON.stringify({ kind: "HEARTBEAT", event_time: now }) }]);
    // The end counts the transactions' markers, too: what is read then may still lack a few.
    await until(
      "all dwells are told",
      async () => await endOf(admin, output) >= 2 * dwells && (await dwellsIn(kafka, output)).size === dwells,
    );
  } finally {
    await endWell(owner);
  }
  return seconds;
}

/** Tells a process to end, which it must do with status 0. */
async function endWell(run: KafkaRun): Promise<void> {
  const said = await run.end();
  if (!said.startsWith("0: ")) throw new Error(`Cannot measure: a process has ended with ${said}`);
}

function enters(count: number): Message[] {
  const startMs = Date.now() - INSIDE_MS;
  return Array.from({ length: count }, (_, number) => {
    const device_id = `truck-${number}`;
    const visit = { device_id, fence_id: `depot-${number % 500}`, kind: "ENTER" };
    return { key: device_id, value: JSON.stringify({ ...visit, event_time_ms: startMs + number % 9_000 }) };
  });
}

async function send(kafka: Kafka, topic: string, messages: readonly Message[]): Promise<void> {
  await otherProducer(kafka, null, async (producer) => {
    for (let from = 0; from < messages.length; from += SEND_RECORDS) {
      await producer.send({ topic, messages: messages.slice(from, from + SEND_RECORDS), acks: -1 });
    }
  });
}

async function endOf(admin: Admin, topic: string): Promise<number> {
  const [end] = await admin.fetchTopicOffsets(topic);
  return Number(end?.high ?? 0);
}

/** The ids of the DWELLs in a topic. */
async function dwellsIn(kafka: Kafka, topic: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const value of await valuesOf(kafka, topic)) {
    const { kind, id } = JSON.parse(value) as { readonly kind: string; readonly id: string };
    if (kind !== "DWELL") continue;
    if (ids.has(id)) throw new Error(`Cannot measure: the DWELL ${id} is there twice`);
    ids.add(id);
  }
  return ids;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + WAIT_MS_MAX;
  while (!await holds()) {
    if (performance.now() > giveUpAtMs) {
      throw new Error(`Cannot measure: not true after two minutes: ${what}`);
    }
    await delay(LOOK_MS);
  }
}
