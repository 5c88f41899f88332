/**
 * A round: topics of its own, processes over them, disturbances while they work, and then the verdict.
 *
 * ```
 *   feed ─▶ in ─▶ process 1 ╮          ╭─▶ out ╮
 *                 process 2 ┴──────────┴─▶ dl  ┴─▶ verdict        (state: a topic too, a server, or a directory)
 *                    ▲ disturbance, over and over
 *
 *   … all is sent ─▶ the group has acknowledged all of it ─▶ SIGTERM to all, status 0 ─▶ verdict
 * ```
 *
 * The source's times are of last year, so the watermark never follows the wall clock, and what should come out depends on
 * the records alone.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { mendKafkajs } from "../../actors/adapters/kafka/mend_kafkajs.ts";
import { parseConfig } from "../../lib/config.ts";
import type { KafkaBroker } from "../support/kafka_broker.ts";
import type { KvServer } from "../support/kv_server.ts";
import { clientOf } from "../support/kafka_messages.ts";
import { randomFrom } from "../support/random.ts";
import { type Disturbance, SESSION_MS } from "./disturbances.ts";
import { InputFeed } from "./input_feed.ts";
import { ProcessFleet } from "./process_fleet.ts";
import { judge, keepTopics, type RoundTopics, type Verdict } from "./verdict.ts";

const PARTITIONS = 4;
/** Fewer, so that two source partitions share one. */
const DEAD_LETTER_PARTITIONS = 2;
const PROCESSES = 2;
/** Records of a pair, about. */
const RECORDS_PER_PAIR = 60;
/** Retention goes by timestamps, and ours are of last year. */
const FOREVER = { "retention.ms": "-1" };
const LOOK_MS = 100;
/** Without any progress for so long it is stuck. */
const STUCK_MS = 120_000;
const PROGRESS_EVERY_MS = 10_000;

/** What a round is. */
export interface RoundOptions {
  readonly name: string;
  readonly disturb: Disturbance;
  /** Disturbances in all. */
  readonly count: number;
  readonly emit: "arrival" | "ordered";
  readonly records: number;
  readonly seed: number;
  /** `kafka`, `kv`, or a directory. */
  readonly state: string;
  readonly broker: KafkaBroker;
  /** Where the state is, if it is on one. */
  readonly kv: KvServer | null;
  /** Where its logs are kept; it must be there. */
  readonly directory: string;
  readonly say: (text: string) => void;
}

/** What came of it. */
export interface RoundOutcome extends Verdict {
  readonly name: string;
  readonly disturbances: number;
  readonly seconds: number;
  /** How often a process began with a partition, or went on with one. */
  readonly takeovers: number;
  /** How often one found itself fenced. */
  readonly fenced: number;
  /** Processes that ended otherwise than they should. */
  readonly faults: readonly string[];
}

/** See the module's header. */
export async function runRound(options: RoundOptions): Promise<RoundOutcome> {
  const { broker, kv, directory, seed, say, name, records } = options;
  const startedMs = performance.now();
  mendKafkajs();
  const kafka = clientOf(broker.brokers);
  const topics: RoundTopics = {
    input: await broker.topic(PARTITIONS, FOREVER),
    output: await broker.topic(PARTITIONS, FOREVER),
    deadLetters: await broker.topic(DEAD_LETTER_PARTITIONS, FOREVER),
    partitions: PARTITIONS,
    deadLetterPartitions: DEAD_LETTER_PARTITIONS,
  };
  const json = configOf(options, topics);
  const configPath = join(directory, "config.json");
  await Deno.writeTextFile(configPath, JSON.stringify(json, null, 2));
  const feed = new InputFeed({
    kafka,
    topic: topics.input,
    partitions: PARTITIONS,
    load: {
      ...{ seed, records, pairs: Math.ceil(records / RECORDS_PER_PAIR) },
      ...{
        duplicateRatio: 0.05,
        lateRatio: 0.03,
        poisonRatio: 0.003,
        staleRatio: 0.03,
        heartbeatRatio: 0.01,
      },
    },
  });
  const fleet = new ProcessFleet(configPath, directory);
  const work = new GroupProgress(kafka, topics);
  let done = 0;
  const sayProgress = setInterval(() => {
    void work.look().then(({ acknowledged }) => {
      say(`  ${done} of ${options.count} ${name}, ${feed.sent} records sent, ${acknowledged} done`);
    }, () => {});
  }, PROGRESS_EVERY_MS);
  try {
    for (let i = 0; i < PROCESSES; i++) fleet.start();
    const random = randomFrom(seed);
    while (done < options.count) {
      feed.allow((done + 1) / (options.count + 1));
      done += await options.disturb({ fleet, broker, kv, random, progress: () => work.more() });
    }
    feed.allow(1);
    await feed.done;
    await work.all();
    await fleet.terminateAll();
  } finally {
    clearInterval(sayProgress);
    await feed.stop();
    await fleet.abandon();
  }
  const verdict = await judge(kafka, topics, parseConfig(json));
  if (verdict.differences > 0) await keepTopics(kafka, topics, directory);
  return {
    ...verdict,
    name,
    disturbances: done,
    seconds: (performance.now() - startedMs) / 1000,
    takeovers: await fleet.countInLogs("]: going on (") + await fleet.countInLogs("]: beginning"),
    fenced: await fleet.countInLogs("Another process has taken over"),
    faults: fleet.faults,
  };
}

function configOf(
  { broker, kv, name, emit, state }: RoundOptions,
  topics: RoundTopics,
): Record<string, unknown> {
  const { input, output, deadLetters } = topics;
  return {
    kafka: { brokers: broker.brokers },
    deployment: input,
    source: { type: "kafka", topic: input, group: input, session_timeout: `${SESSION_MS}ms` },
    sink: { type: "kafka", topic: output },
    dead_letters: { type: "kafka", topic: deadLetters },
    checkpoint: {
      path: kv?.url ?? (state === "kafka" ? `kafka:${input}-state` : join(state, name.replaceAll(" ", "-"))),
      interval: "200ms",
    },
    emit,
    dwell: {
      rules: [{ fence: "*", after: ["6s", "12s"] }],
      lateness: "2s",
      on_contradiction: "retract",
    },
  };
}

/** How much of the source the group has acknowledged, which it does when it is in a checkpoint. */
class GroupProgress {
  readonly #kafka: Kafka;
  readonly #topics: RoundTopics;

  constructor(kafka: Kafka, topics: RoundTopics) {
    this.#kafka = kafka;
    this.#topics = topics;
  }

  /** Waits until it has done anything from now on. */
  async more(): Promise<void> {
    const before = (await this.look()).acknowledged;
    await this.#until(({ acknowledged }) => acknowledged > before);
  }

  /** Waits until it has done all that is in the topic. */
  async all(): Promise<void> {
    await this.#until(({ acknowledged, end }) => acknowledged >= end);
  }

  async #until(holds: (look: { acknowledged: number; end: number }) => boolean): Promise<void> {
    let movedMs = performance.now();
    let acknowledged = 0;
    for (;;) {
      const look = await this.look();
      if (holds(look)) return;
      if (look.acknowledged > acknowledged) movedMs = performance.now();
      acknowledged = look.acknowledged;
      if (performance.now() - movedMs > STUCK_MS) {
        throw new Error(
          `Stuck: ${look.acknowledged} of ${look.end} records acknowledged, and none for ${
            STUCK_MS / 1000
          } s`,
        );
      }
      await delay(LOOK_MS);
    }
  }

  /** Asks the broker, until it answers. */
  async look(): Promise<{ acknowledged: number; end: number }> {
    const { input } = this.#topics;
    for (let tries = 0;; tries++) {
      const admin = this.#kafka.admin();
      try {
        await admin.connect();
        const [of] = await admin.fetchOffsets({ groupId: input, topics: [input] });
        const ends = await admin.fetchTopicOffsets(input);
        const sum = (offsets: readonly string[]): number =>
          offsets.reduce((sum, offset) => sum + Math.max(0, Number(offset)), 0);
        return {
          acknowledged: sum((of?.partitions ?? []).map(({ offset }) => offset)),
          end: sum(ends.map(({ high }) => high)),
        };
      } catch (error) {
        if (tries * LOOK_MS > STUCK_MS) throw error;
        await delay(LOOK_MS);
      } finally {
        await admin.disconnect().catch(() => {});
      }
    }
  }
}
