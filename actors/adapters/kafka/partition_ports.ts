/**
 * What a partition of the source's topic writes to: its triggers, its dead letters and its state.
 *
 * | | |
 * |---|---|
 * | triggers, dead letters | topics, or files with `{partition}` in their names |
 * | state, `checkpoint.path` | `kafka:TOPIC`, the same partition of a compacted topic; the address of a Deno KV server; or a directory, with one in it for each partition, on this host alone |
 *
 * Each writer to Kafka has a transactional id of its own, the same in every process of the deployment: that is what fences
 * a process off which was stopped and wakes up after its partition went to another.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { join } from "node:path";
import { assert } from "../../../lib/assert.ts";
import type { Config, SinkConfig } from "../../../lib/config.ts";
import { type StatePlace, statePlaceOf } from "../../../lib/state_place.ts";
import type { CheckpointStore, Sink } from "../../ports.ts";
import { kvServerLanes, KvServerStore } from "../kv_server_store.ts";
import { KvStore } from "../kv_store.ts";
import { NdjsonSink } from "../ndjson_sink.ts";
import { makeOutputs } from "../output_list.ts";
import type { Webhooks } from "../webhook/webhooks.ts";
import { KafkaRefusedError, partitionCount } from "./kafka_client.ts";
import { KafkaDeadLetters } from "./kafka_dead_letters.ts";
import { KafkaSink } from "./kafka_sink.ts";
import { KafkaStore } from "./kafka_store.ts";
import { warnOfCompaction } from "./warn_of_compaction.ts";

/** See the module's header. */
export class PartitionPorts {
  readonly #kafka: Kafka;
  readonly #config: Config;
  readonly #state: StatePlace;
  /** To a server that has the states of all partitions, and from it. */
  readonly #lanes = kvServerLanes();
  readonly #webhooks: Webhooks | null;
  /** How many the source has. */
  #partitions = 0;

  constructor(kafka: Kafka, config: Config, webhooks: Webhooks | null = null) {
    this.#kafka = kafka;
    this.#config = config;
    this.#state = statePlaceOf(config.checkpoint.path);
    this.#webhooks = webhooks;
  }

  /** Whether other hosts see the same state. */
  get isShared(): boolean {
    return this.#state.type !== "directory";
  }

  /**
   * Looks whether the topics are there and go together, and whether the server is there that has the state, if one has.
   *
   * @throws {KafkaRefusedError} where they don't
   * @throws {UnavailableError} where no broker answers, or not that server
   * @throws {Error} where that server won't have us
   */
  async check(): Promise<void> {
    const { source, sinks, deadLetters } = this.#config;
    const state = this.#state;
    // Before a group is joined: who can't get at the state would take partitions from those who can.
    if (state.type === "server") await new KvServerStore({ url: state.url, split: "" }).check();
    this.#partitions = await partitionCount(this.#kafka, source.topic);
    if (deadLetters.type === "kafka") await partitionCount(this.#kafka, deadLetters.topic);
    for (const { type, topic } of sinks) {
      if (type !== "kafka") continue;
      const outputs = await partitionCount(this.#kafka, topic);
      if (outputs >= this.#partitions) continue;
      throw new KafkaRefusedError(
        `Cannot write to ${topic}: it has ${outputs} partitions and ${source.topic} has ${this.#partitions}, and the ` +
          `triggers of each go to the one of the same number`,
      );
    }
  }

  /** Says what of the topics may surprise, if they tell: that needs a right of its own. */
  async warn(notice: (message: string) => void): Promise<void> {
    for (const { type, topic } of this.#config.sinks) {
      if (type === "kafka") await warnOfCompaction(this.#kafka, { topic, notice });
    }
  }

  /** Where triggers go. */
  sink(partition: number, notice: (message: string) => void): Sink {
    const { sinks } = this.#config;
    const topics = sinks.filter(({ type }) => type === "kafka");
    return makeOutputs(sinks, {
      file: (path) => file(path, partition, notice),
      topic: (config) => this.#topic(config, { partition, notice, isFirst: config === topics[0] }),
      outbox: () => {
        assert(this.#webhooks !== null, "webhooks are opened before a split");
        return this.#webhooks.sink(this.#place(partition), notice);
      },
    }, notice);
  }

  /** Where dead letters go. */
  deadLetters(partition: number, notice: (message: string) => void): Sink {
    const letters = this.#ownDeadLetters(partition, notice);
    return this.#webhooks === null ? letters : this.#webhooks.deadLetters(letters, this.#place(partition));
  }

  #ownDeadLetters(partition: number, notice: (message: string) => void): Sink {
    const { deadLetters, source } = this.#config;
    if (deadLetters.type === "ndjson") return file(deadLetters.path, partition, notice);
    return new KafkaDeadLetters({
      kafka: this.#kafka,
      topic: deadLetters.topic,
      sourceTopic: source.topic,
      sourcePartition: partition,
      transactionalId: this.#transactionalId(partition, "dead-letters"),
      notice,
    });
  }

  /** Where its checkpoints are. */
  store(partition: number, notice: (message: string) => void): CheckpointStore {
    const { deployment } = this.#config;
    const state = this.#state;
    const place = this.#place(partition);
    // Another deployment may read the same topic, and keep its state in the same place, and no fence is between them and us.
    const split = `${deployment}/${place}`;
    if (state.type === "topic") {
      return new KafkaStore({
        kafka: this.#kafka,
        topic: state.topic,
        partition,
        // The source may have got more since they were counted.
        partitions: Math.max(this.#partitions, partition + 1),
        split,
        transactionalId: this.#transactionalId(partition, "state"),
        notice,
      });
    }
    if (state.type === "server") return new KvServerStore({ url: state.url, split, lanes: this.#lanes });
    // A directory each, since a process locks its own: others on this host may have the other partitions.
    return new KvStore({ directory: join(state.path, place), split });
  }

  #topic(
    { topic, cloudevents }: SinkConfig,
    { partition, notice, isFirst }: {
      readonly partition: number;
      readonly notice: (message: string) => void;
      readonly isFirst: boolean;
    },
  ): Sink {
    return new KafkaSink({
      kafka: this.#kafka,
      topic,
      partition,
      // An id each, since one would fence the other; that of one alone is what it was before there were lists.
      transactionalId: this.#transactionalId(partition, isFirst ? "triggers" : `triggers-${topic}`),
      cloudevents: cloudevents ? { source: `/fencepost/${this.#config.deployment}` } : false,
      notice,
    });
  }

  /** The name of a partition's files, states and lines in the outbox. */
  #place(partition: number): string {
    return `${this.#config.source.topic}-${partition}`;
  }

  #transactionalId(
    partition: number,
    of: "triggers" | `triggers-${string}` | "dead-letters" | "state",
  ): string {
    const { deployment, source: { topic } } = this.#config;
    // Neither of them may have a slash, so that no two deployments have one id between them: `a-b` + `c`, `a` + `b-c`.
    return `${deployment}/${topic}-${partition}-${of}`;
  }
}

function file(path: string, partition: number, onNotice: (message: string) => void): Sink {
  return new NdjsonSink({ path: path.replaceAll("{partition}", String(partition)), onNotice });
}
