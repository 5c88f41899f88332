/**
 * `fencepost run` as a member of a Kafka consumer group: each partition that the group gives to this process is a split
 * with one partition, opened, run and let go of by a {@link SplitGroup}.
 *
 * Nothing is shared between splits but the bound of pairs, the ticker and the connection's settings: each has its own
 * transactional ids, `<deployment>-<topic>-<partition>` with what they write behind it, and these are the fence. A host
 * that comes back after another took over can write neither triggers nor state.
 *
 * @module
 */
import { join } from "node:path";
import type { Kafka } from "kafkajs";
import type { Config } from "../../lib/config.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import { SharedCount } from "../../lib/partition.ts";
import { createKafka } from "../adapters/kafka/kafka_client.ts";
import { KafkaDeadLetters } from "../adapters/kafka/kafka_dead_letters.ts";
import { KafkaGroup } from "../adapters/kafka/kafka_group.ts";
import type { KafkaPartitionSource } from "../adapters/kafka/kafka_partition_source.ts";
import { KafkaSink } from "../adapters/kafka/kafka_sink.ts";
import { KafkaStore } from "../adapters/kafka/kafka_store.ts";
import { KvStore } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { StateInUseError } from "../adapters/state_lock.ts";
import type { CheckpointStore, Sink } from "../ports.ts";
import { UnavailableError } from "../ports.ts";
import type { SplitParts } from "../split_actor.ts";
import { SplitGroup } from "../split_group.ts";
import { Ticker } from "../ticker.ts";
import { DRAIN_US, PROGRESS_US, type RunEnvironment, type RunOptions } from "./run.ts";
import { Progress, summaryJson, summaryText, sumReports } from "./summary.ts";

/** Stands for the partition's number in the paths of files: each partition writes files of its own. */
const PARTITION = "{partition}";
const KAFKA_STATE = "kafka:";

/** Runs until a signal comes; returns the exit status. */
export async function runKafka(
  options: RunOptions,
  environment: RunEnvironment,
): Promise<number> {
  const { clock, say } = environment;
  // A Kafka partition is one split with one partition.
  const config: Config = { ...options.config, partitions: 1 };
  const { source } = config;
  const progress = new Progress(say);
  const notice = (message: string): void => progress.say(`fencepost: ${message}`);
  if (config.kafka === null) {
    throw new Error("Cannot read from Kafka: the configuration has no kafka.brokers");
  }
  const kafka = await createKafka(config.kafka, { notice });
  sayStateIsLocal(config, notice);
  const identity = await Identity.create(config.identity);
  const rules = new FenceRules(config.dwell.rules);
  const ticker = new Ticker(clock, config.dwell.tickUs);
  const pairBound = new SharedCount(config.pairs.capacity);
  const startedUs = clock.monotonicUs();
  const group = new SplitGroup({
    clock,
    notice,
    opened: (name, { resumed, readBack }) => {
      const more = readBack > 0 ? `, ${readBack} lines read back from the outputs` : "";
      notice(`${name}: ${resumed ? "going on from its state" : "begun"}${more}`);
    },
    parts: (from): SplitParts => {
      const { partition } = from as KafkaPartitionSource;
      const outputs = outputsOf({ config, source, kafka, partition, notice });
      return { source: from, ...outputs, config, clock, ticker, identity, rules, pairBound, notice };
    },
  });
  const sources = new Map<number, KafkaPartitionSource>();
  let failed: (error: Error) => void = () => {};
  const groupFailed = new Promise<never>((_resolve, reject) => failed = reject);
  groupFailed.catch(() => {});
  const member = new KafkaGroup({
    kafka,
    topic: source.topic,
    group: source.group,
    notice,
    clock,
    assigned: (from) => {
      sources.set(from.partition, from);
      group.assigned(from, `${source.topic}/${from.partition}`);
    },
    revoked: async (partition) => {
      const from = sources.get(partition);
      if (from !== undefined) await group.revoked(from);
    },
    failed,
  });
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => stop = resolve);
  let stopping = false;
  const unsubscribe = environment.onSignal(() => {
    if (stopping) return;
    stopping = true;
    stop();
    clock.delay(DRAIN_US).then(() => {
      say(
        "fencepost: Could not finish within 10 s; nothing is lost, the next owner goes on from the last checkpoints\n",
      );
      environment.exit(1);
    });
  });
  const elapsedUs = (): number => clock.monotonicUs() - startedUs;
  const stopProgress = environment.terminal
    ? clock.every(PROGRESS_US, () => progress.show(sumReports(group.reports()), elapsedUs()))
    : (): void => {};
  try {
    await Promise.race([
      stopped,
      member.start().then(() => Promise.race([stopped, groupFailed, group.failed])),
      group.failed,
    ]);
  } finally {
    await member.stop();
    unsubscribe();
    stopProgress();
    progress.clear();
    ticker.stop();
  }
  const report = sumReports(group.reports());
  if (report !== null) {
    say(options.summary === "json" ? summaryJson(report, elapsedUs()) : summaryText(report, elapsedUs()));
  }
  return 0;
}

/** Where one partition's triggers, dead letters and state go. */
function outputsOf(
  { config, source, kafka, partition, notice }: {
    config: Config;
    source: Config["source"];
    kafka: Kafka;
    partition: number;
    notice: (message: string) => void;
  },
): { sink: Sink; deadLetters: Sink; store: CheckpointStore } {
  const { sink, deadLetters, checkpoint, deployment } = config;
  const transactionalId = `${deployment}-${source.topic}-${partition}`;
  const split = `${source.topic}/${partition}`;
  const file = (path: string): Sink =>
    new NdjsonSink({ path: path.replaceAll(PARTITION, String(partition)), onNotice: notice });
  return {
    sink: sink.type === "ndjson" ? file(sink.path) : new KafkaSink({
      kafka,
      topic: sink.topic,
      partition,
      transactionalId: `${transactionalId}-triggers`,
      cloudevents: sink.cloudevents ? { source: deployment } : false,
      notice,
    }),
    deadLetters: deadLetters.type === "ndjson" ? file(deadLetters.path) : new KafkaDeadLetters({
      kafka,
      topic: deadLetters.topic,
      sourceTopic: source.topic,
      sourcePartition: partition,
      transactionalId: `${transactionalId}-dead-letters`,
      notice,
    }),
    store: storeOf(checkpoint.path, { kafka, source, partition, split, transactionalId, notice }),
  };
}

function storeOf(
  path: string,
  { kafka, source, partition, split, transactionalId, notice }: {
    kafka: Kafka;
    source: Config["source"];
    partition: number;
    split: string;
    transactionalId: string;
    notice: (message: string) => void;
  },
): CheckpointStore {
  if (path.startsWith(KAFKA_STATE)) {
    return new KafkaStore({
      kafka,
      topic: path.slice(KAFKA_STATE.length),
      partition,
      split,
      transactionalId: `${transactionalId}-state`,
      notice,
    });
  }
  if (/^https?:/.test(path)) return new KvStore({ directory: path, split });
  return new LocalStore({ directory: join(path, `${source.topic}-${partition}`), split });
}

/** A directory of one host's: another process of that host may still be letting it go. */
class LocalStore extends KvStore {
  override async open(): Promise<Uint8Array | null> {
    try {
      return await super.open();
    } catch (error) {
      if (error instanceof StateInUseError) throw new UnavailableError(error.message, { cause: error });
      throw error;
    }
  }
}

function sayStateIsLocal({ checkpoint: { path } }: Config, notice: (message: string) => void): void {
  if (path.startsWith(KAFKA_STATE) || /^https?:/.test(path)) return;
  notice(
    `The state is in ${path}, on this host. If another host joins the group, the partitions that move there begin with ` +
      `nothing: triggers come twice and dwells are lost. For a group of several hosts set checkpoint.path to ` +
      `"kafka:TOPIC" or to a Deno KV server`,
  );
}
