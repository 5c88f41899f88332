/**
 * A member of a consumer group that reads one topic: how Fencepost shares the work with other processes, and comes back
 * when the broker does.
 *
 * ```
 *   start ─▶ consumer: join ─▶ assigned … revoked ─▶ join ─▶ assigned … revoked ─▶ leave ─▶ stopped
 *               ▲                              │ crash, or nothing comes back any more
 *               └── later, and later still ◀───┘ all let go of; a new consumer, everything anew
 * ```
 *
 * Every consumer is used until its first failure. kafkajs could restart a crashed one by itself, but not all: so none
 * does, and there is one way back. What can't be cured by trying again (a right, a missing topic) ends the group with
 * {@link KafkaRefusedError}; all else is tried again for ever ({@link GroupRetries}).
 *
 * `eachBatch` only puts what was fetched into its source's queue, so one slow partition holds up neither the others nor
 * the group: a batch at work would, since kafkajs joins again only when all have ended. (And so
 * `partitionsConsumedConcurrently` would run nothing concurrently.)
 *
 * | setting | | why |
 * |---|---|---|
 * | `maxWaitTimeInMs` | 100 | a resumed partition waits for it, and so does a stop |
 * | `maxBytes` | 4 MiB | kafkajs decodes an answer in one go, and deadlines wait meanwhile |
 * | `heartbeatInterval` | 500 ms | the whole group stands until the last member has noticed a rebalance |
 * | `sessionTimeout` | 10 s | a killed member's partitions wait for it; 6 s is the least that brokers allow unasked |
 * | `rebalanceTimeout` | 60 s | as long may a drain take |
 *
 * @module
 */
import type { Consumer, Kafka } from "kafkajs";
import { assert, AssertionFailed } from "../../../lib/assert.ts";
import type { Clock } from "../../ports.ts";
import { SystemClock } from "../system_clock.ts";
import type { FetchedBatch } from "./fetched_batch.ts";
import { GroupAssignment, type GroupMemory } from "./group_assignment.ts";
import { hookGroup } from "./group_hooks.ts";
import { GroupRetries } from "./group_retries.ts";
import { explainKafkaFailure, partitionCount } from "./kafka_client.ts";
import type { KafkaPartitionSource, QueueMarks } from "./kafka_partition_source.ts";
import { KeylessWatch } from "./keyless_watch.ts";
import { createStickyAssigner } from "./sticky_assigner.ts";
import { TopicLog } from "./topic_log.ts";

const US_PER_MS = 1000;
/** A consumer that does not stop is left to itself. */
const DISCONNECT_US = 5_000_000;
const COMMIT_US = 1_000_000;
/** Moments that the watchdog divides its patience into. */
const WATCH_MOMENTS = 4;
/** Of the rebalance timeout, which a drain must stay below. */
const DRAIN_SHARE = 0.8;
const MIB = 1 << 20;
const MAX_BYTES = 4 * MIB;

/** How the group is read. Times in ms, as Kafka has them. */
export interface KafkaGroupLimits {
  /** A member that is not heard from for as long is out. */
  readonly sessionTimeoutMs: number;
  /** The longest that the group waits for a member's drain. */
  readonly rebalanceTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /** The longest that a broker holds back an empty answer. */
  readonly maxWaitMs: number;
  /** A fetch that has not come back for as long never will. */
  readonly watchdogMs: number;
  /** For as long what may be an outage in disguise is tried again. */
  readonly refusalPatienceMs: number;
  readonly marks: QueueMarks;
}

/**
 * What is in force where nothing else is given. The low mark is what a partition needs to go on while it is resumed:
 * 16,384 records are 0.2 s of the most that one can take.
 */
export const KAFKA_GROUP_LIMITS: KafkaGroupLimits = {
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatIntervalMs: 500,
  maxWaitMs: 100,
  watchdogMs: 45_000,
  refusalPatienceMs: 60_000,
  marks: { highRecords: 32_768, highBytes: 4 * MIB, lowRecords: 16_384, lowBytes: 2 * MIB },
};

/** See the module's header. */
export interface KafkaGroupOptions {
  /** Whether the records' format asks for their keys and headers. */
  readonly withContexts?: boolean;
  readonly kafka: Kafka;
  readonly topic: string;
  readonly group: string;
  readonly notice: (message: string) => void;
  /** A partition is this member's: the source is not open yet. Not called again for it before `revoked` has ended. */
  readonly assigned: (source: KafkaPartitionSource) => void;
  /**
   * The partition is to be let go of: stop reading, drain, checkpoint, acknowledge. Resolves when nothing of it runs any
   * more; until then the source still works, for as long as the group waits.
   */
  readonly revoked: (partition: number, source: KafkaPartitionSource) => Promise<void>;
  /** The group has ended for good after it had joined; nothing of it runs any more. */
  readonly failed: (error: Error) => void;
  readonly limits?: Partial<KafkaGroupLimits>;
  readonly clock?: Clock;
}

/** See the module's header. */
export class KafkaGroup {
  readonly #options: KafkaGroupOptions;
  readonly #limits: KafkaGroupLimits;
  readonly #clock: Clock;
  readonly #memory: GroupMemory;
  readonly #retries: GroupRetries;
  readonly #stopping = new AbortController();
  #keyless: KeylessWatch | null = null;
  #running: Promise<void> | null = null;

  constructor(options: KafkaGroupOptions) {
    this.#options = options;
    this.#limits = { ...KAFKA_GROUP_LIMITS, ...options.limits };
    this.#clock = options.clock ?? new SystemClock();
    this.#memory = {
      held: { generation: -1, topic: options.topic, partitions: [] },
      draining: new Map(),
    };
    this.#retries = new GroupRetries({
      clock: this.#clock,
      patienceUs: this.#limits.refusalPatienceMs * US_PER_MS,
      described: `Reads ${options.topic} as group ${options.group}`,
      notice: options.notice,
    });
  }

  /**
   * Joins the group, however long that takes.
   *
   * @throws {KafkaRefusedError} where trying again can't help
   */
  start(): Promise<void> {
    assert(this.#running === null, "a group is started once");
    return new Promise((resolve, reject) => {
      this.#running = this.#run(resolve).then(resolve, (error: Error) => {
        if (this.#retries.hasJoined) this.#options.failed(error);
        else reject(error);
      });
    });
  }

  /** Lets go of all partitions, each drained, and leaves the group. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(joined: () => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#consume(joined);
      } catch (error) {
        const fault = faultBehind(error);
        if (fault !== null) throw fault;
        if (signal.aborted) return;
        const { topic, group } = this.#options;
        const failure = explainKafkaFailure(error, `read ${topic} as group ${group}`);
        const pauseUs = this.#retries.failed(failure);
        if (pauseUs === null) throw failure;
        await this.#clock.delay(pauseUs, signal).catch(() => {});
      }
    }
  }

  /** One consumer's life. Resolves when the group is stopped, rejects with what the consumer failed of. */
  async #consume(joined: () => void): Promise<void> {
    const { kafka, topic } = this.#options;
    const { signal } = this.#stopping;
    const log = new TopicLog(kafka, topic);
    let end: (error: Error | null) => void = () => {};
    const ended = new Promise<void>((resolve, reject) => {
      end = (error) => error === null ? resolve() : reject(error);
    });
    // It may end before anybody waits for it.
    ended.catch(() => {});
    const onStop = (): void => end(null);
    signal.addEventListener("abort", onStop, { once: true });
    let stopWatching = (): void => {};
    let consumer: Consumer | null = null;
    let assignment: GroupAssignment | null = null;
    try {
      const partitions = await Promise.race([ended, partitionCount(kafka, topic)]) ?? 0;
      this.#keyless ??= new KeylessWatch(topic, partitions, this.#options.notice);
      // Of one that doesn't say so, holes are nothing to speak of.
      const compacted = await Promise.race([ended.then(() => true), log.isCompacted()]) ?? true;
      if (signal.aborted) return;
      assignment = this.#createAssignment({ log, compacted, joined });
      consumer = this.#createConsumer(assignment);
      consumer.on("consumer.crash", ({ payload }) => end(payload.error));
      stopWatching = this.#watch(assignment, end);
      await Promise.race([ended, this.#runConsumer(consumer, assignment)]);
      await ended;
    } finally {
      signal.removeEventListener("abort", onStop);
      stopWatching();
      await assignment?.close();
      if (consumer !== null) await this.#disconnect(consumer);
      log.close();
    }
  }

  #createAssignment(
    { log, compacted, joined }: { log: TopicLog; compacted: boolean; joined: () => void },
  ): GroupAssignment {
    const { topic, group, withContexts = false, notice, assigned, revoked } = this.#options;
    const { heartbeatIntervalMs, rebalanceTimeoutMs, marks } = this.#limits;
    return new GroupAssignment({
      topic,
      group,
      log,
      clock: this.#clock,
      times: {
        beatUs: heartbeatIntervalMs * US_PER_MS,
        drainUs: rebalanceTimeoutMs * US_PER_MS * DRAIN_SHARE,
        commitUs: COMMIT_US,
      },
      marks,
      compacted,
      withContexts,
      memory: this.#memory,
      notice,
      assigned,
      revoked,
      joined: () => {
        this.#retries.joined();
        joined();
      },
    });
  }

  #createConsumer(assignment: GroupAssignment): Consumer {
    const { kafka, group } = this.#options;
    const { sessionTimeoutMs, rebalanceTimeoutMs, heartbeatIntervalMs, maxWaitMs } = this.#limits;
    return kafka.consumer({
      groupId: group,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      maxWaitTimeInMs: maxWaitMs,
      maxBytesPerPartition: MIB,
      maxBytes: MAX_BYTES,
      retry: {
        initialRetryTime: 100,
        maxRetryTime: 2_000,
        retries: 5,
        restartOnFailure: () => Promise.resolve(false),
      },
      partitionAssigners: [({ cluster }) => {
        const assigner = createStickyAssigner(cluster, () => this.#memory.held);
        hookGroup(assigner, assignment);
        return assigner;
      }],
    });
  }

  async #runConsumer(consumer: Consumer, assignment: GroupAssignment): Promise<void> {
    await consumer.connect();
    // From the beginning: where the log has overtaken the position, kafkajs would else go on at its end.
    await consumer.subscribe({ topics: [this.#options.topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: ({ batch, resolveOffset, isStale }) => {
        // Kafkajs' own type leaves out what it has inside.
        const fetched = batch as unknown as FetchedBatch;
        if (!isStale() && assignment.accept(fetched)) {
          this.#keyless?.see(fetched);
          resolveOffset(batch.lastOffset());
        }
        return Promise.resolve();
      },
    });
  }

  /** Notices a consumer that does nothing any more, whatever it is that it waits for. */
  #watch(assignment: GroupAssignment, end: (error: Error) => void): () => void {
    const { watchdogMs, rebalanceTimeoutMs } = this.#limits;
    const momentMs = watchdogMs / WATCH_MOMENTS;
    // Joining waits for the slowest member's drain, and the broker may be asked a few times.
    const joinMoments = WATCH_MOMENTS + Math.ceil(2 * rebalanceTimeoutMs / momentMs);
    return this.#clock.every(momentMs * US_PER_MS, () => {
      const silence = assignment.countSilence();
      if (silence.fetch > WATCH_MOMENTS) end(new Error(`no fetch has come back for ${watchdogMs / 1000} s`));
      if (silence.join > joinMoments) {
        end(new Error(`joining did not end in ${joinMoments * momentMs / 1000} s`));
      }
    });
  }

  async #disconnect(consumer: Consumer): Promise<void> {
    const disconnected = new AbortController();
    const tooLong = this.#clock.delay(DISCONNECT_US, disconnected.signal).catch(() => {});
    await Promise.race([consumer.disconnect().catch(() => {}), tooLong]);
    disconnected.abort();
  }
}

/** The fault of ours that is behind a failure, which kafkajs wraps; null where it is the world's. */
function faultBehind(failure: unknown): AssertionFailed | null {
  for (let error = failure; error instanceof Error; error = error.cause) {
    if (error instanceof AssertionFailed) return error;
  }
  return null;
}
