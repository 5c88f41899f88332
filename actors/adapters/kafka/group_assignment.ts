/**
 * The partitions that this member of a group has: hands them out, takes them back before each join, and keeps the member
 * in the group meanwhile.
 *
 * ```
 *   afterJoin   all paused ─▶ a source each ─▶ assigned(source) … its open seeks and resumes
 *   beforeJoin  all paused ─▶ revoked(partition), all at once, while it goes on beating ─▶ commit ─▶ sources revoked
 * ```
 *
 * Rebalances are eager: whoever joins gives up all and is given most of it back. A partition that stays is handed out
 * again as one that is new, since between the two the group may have gone on without this member, if it was stopped: only
 * who fences, restores and reads back knows where it stands.
 *
 * **While the splits drain, heartbeats go on**: without them a member is thrown out after the session timeout, whatever
 * the rebalance timeout says. Their errors mean nothing here: each says again that a rebalance is due. A drain that takes
 * longer than {@link GroupTimes.drainUs} is not waited for, since at the rebalance timeout the partitions are another's
 * anyway; what it writes later is fenced off. If such a partition comes back, it is handed out when its drain has ended.
 *
 * Offsets are committed in the background, all partitions in one request, and failures to are forgotten: they tell those
 * who watch the lag, and the next commit tells them again.
 *
 * @module
 */
import type { Clock } from "../../ports.ts";
import type { FetchedBatch } from "./fetched_batch.ts";
import type { GroupHooks, GroupMembership } from "./group_hooks.ts";
import { KafkaPartitionSource, type PartitionFeed, type QueueMarks } from "./kafka_partition_source.ts";
import type { Held } from "./sticky_assigner.ts";
import type { TopicLog } from "./topic_log.ts";

/** A commit that hangs is not waited for any longer. */
const LAST_COMMIT_US = 1_000_000;

/** All µs. */
export interface GroupTimes {
  /** Between two heartbeats while partitions are drained. */
  readonly beatUs: number;
  /** The longest drain that a join waits for: below the rebalance timeout. */
  readonly drainUs: number;
  /** Between two commits. */
  readonly commitUs: number;
}

/** What outlives a consumer that crashed. */
export interface GroupMemory {
  /** For the next join's user data. */
  held: Held;
  /** Drains that have not ended, by partition. */
  readonly draining: Map<number, Promise<void>>;
}

/** See the module's header. */
export interface GroupAssignmentOptions {
  readonly topic: string;
  readonly group: string;
  readonly log: Pick<TopicLog, "bounds" | "committed" | "recordAt">;
  readonly clock: Clock;
  readonly times: GroupTimes;
  readonly marks: QueueMarks;
  readonly compacted: boolean;
  /** Whether the records' format asks for their keys and headers. */
  readonly withContexts: boolean;
  readonly memory: GroupMemory;
  readonly notice: (message: string) => void;
  readonly assigned: (source: KafkaPartitionSource) => void;
  readonly revoked: (partition: number, source: KafkaPartitionSource) => Promise<void>;
  readonly joined: () => void;
}

/** See the module's header. One consumer's. */
export class GroupAssignment implements GroupHooks {
  readonly #options: GroupAssignmentOptions;
  readonly #sources = new Map<number, KafkaPartitionSource>();
  /** Those of them that were handed out. */
  readonly #handedOut = new Set<KafkaPartitionSource>();
  readonly #acknowledged = new Map<number, number>();
  readonly #stopCommitting: () => void;
  #membership: GroupMembership | null = null;
  #committing: Promise<void> | null = null;
  #lettingGo: Promise<void> | null = null;
  #isClosed = false;
  /** Whether a join is under way; nothing is fetched then. */
  #isJoining = true;
  #silence = 0;

  constructor(options: GroupAssignmentOptions) {
    this.#options = options;
    this.#stopCommitting = options.clock.every(options.times.commitUs, () => void this.#commit());
  }

  async beforeJoin(membership: GroupMembership): Promise<void> {
    this.#isJoining = true;
    this.#membership = membership;
    await this.letGo();
  }

  afterJoin(membership: GroupMembership): void {
    const { topic, memory, joined } = this.#options;
    this.#isJoining = false;
    this.#silence = 0;
    const partitions = membership.assigned().filter((of) => of.topic === topic).flatMap((of) =>
      of.partitions
    );
    membership.pause([{ topic, partitions }]);
    if (this.#isClosed) return;
    this.#membership = membership;
    memory.held = { generation: membership.generationId ?? -1, topic, partitions };
    for (const partition of partitions) this.#sources.set(partition, this.#createSource(partition));
    joined();
    for (const source of [...this.#sources.values()]) this.#handOut(source);
  }

  fetching(): (batches: readonly FetchedBatch[]) => void {
    const { clock, topic } = this.#options;
    const askedAt = { wallUs: clock.wallUs(), monotonicUs: clock.monotonicUs() };
    return (batches) => {
      this.#silence = 0;
      for (const batch of batches) {
        if (batch.topic === topic) this.#sources.get(batch.partition)?.observe(batch, askedAt);
      }
    };
  }

  /** Whether a fetch's records were taken; if not, they are to be fetched again. */
  accept(batch: FetchedBatch): boolean {
    if (batch.topic !== this.#options.topic || this.#lettingGo !== null) return false;
    return this.#sources.get(batch.partition)?.accept(batch) ?? false;
  }

  /** Lets go of all partitions; the member stays in the group meanwhile. Never rejects. */
  letGo(): Promise<void> {
    this.#lettingGo ??= this.#letGoOfAll().finally(() => {
      this.#lettingGo = null;
    });
    return this.#lettingGo;
  }

  /** Lets go of all, and takes nothing any more, whatever the consumer still does. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.letGo();
    this.#stopCommitting();
  }

  /**
   * Another moment has passed. Counted in moments and not by a clock: a process that was stopped has not waited.
   *
   * @returns for how many a fetch that should have come back has not, or a join has not ended
   */
  countSilence(): { readonly fetch: number; readonly join: number } {
    if (this.#lettingGo !== null) return { fetch: 0, join: 0 };
    this.#silence++;
    if (this.#isJoining) return { fetch: 0, join: this.#silence };
    let fetch = this.#silence;
    for (const source of this.#sources.values()) fetch = Math.max(fetch, source.countSilence());
    return { fetch, join: 0 };
  }

  async #letGoOfAll(): Promise<void> {
    const { topic, times, clock } = this.#options;
    const sources = [...this.#sources.values()];
    if (sources.length > 0) {
      this.#membership?.pause([{ topic, partitions: sources.map(({ partition }) => partition) }]);
      const drained = Promise.all(sources.map((source) => this.#drain(source)));
      const stopBeating = clock.every(times.beatUs, () => void this.#confirm().catch(() => {}));
      const inTime = await within(drained, times.drainUs, clock);
      stopBeating();
      if (!inTime) {
        this.#options.notice(`Partitions of ${topic} could not be drained in time: they are let go as is`);
      }
      await within(this.#commitLast(), LAST_COMMIT_US, clock);
    }
    for (const source of sources) source.revoke();
    this.#sources.clear();
    this.#handedOut.clear();
    this.#acknowledged.clear();
    this.#silence = 0;
  }

  /** Waits until the owner has let go of a source that was handed out. */
  #drain(source: KafkaPartitionSource): Promise<void> {
    if (!this.#handedOut.has(source)) return Promise.resolve();
    const { memory: { draining }, revoked, notice, topic } = this.#options;
    const { partition } = source;
    const drained = revoked(partition, source).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      notice(`Partition ${partition} of ${topic} was let go of without its last checkpoint: ${reason}`);
    }).then(() => {
      draining.delete(partition);
    });
    draining.set(partition, drained);
    return drained;
  }

  #handOut(source: KafkaPartitionSource): void {
    const { memory: { draining }, assigned } = this.#options;
    const before = draining.get(source.partition);
    if (before !== undefined) {
      before.then(() => this.#handOut(source));
    } else if (this.#sources.get(source.partition) === source && this.#lettingGo === null) {
      this.#handedOut.add(source);
      assigned(source);
    }
  }

  #createSource(partition: number): KafkaPartitionSource {
    const { topic, clock, marks, compacted, withContexts, notice } = this.#options;
    const feed = this.#feedOf(partition);
    return new KafkaPartitionSource({
      topic,
      partition,
      feed,
      clock,
      marks,
      compacted,
      withContexts,
      notice,
    });
  }

  #feedOf(partition: number): PartitionFeed {
    const { topic, group, log } = this.#options;
    const ofPartition = [{ topic, partitions: [partition] }];
    return {
      bounds: () => log.bounds(partition),
      recordAt: (offset) => log.recordAt(partition, offset),
      committed: () => log.committed(group, partition),
      confirm: () => this.#confirm(),
      seek: (offset) => this.#membership?.seek({ topic, partition, offset: String(offset) }),
      pause: () => this.#membership?.pause(ofPartition),
      // While all are being let go of, one that opens late must not bring new records.
      resume: () => {
        if (this.#lettingGo === null) this.#membership?.resume(ofPartition);
      },
      acknowledge: (offset) => {
        this.#acknowledged.set(partition, offset);
      },
    };
  }

  /** Null where this consumer is no member: not yet, or not any more. */
  get #joined(): GroupMembership | null {
    const membership = this.#membership;
    return membership === null || membership.memberId === null ? null : membership;
  }

  /** A heartbeat of a generation that is over is refused. */
  async #confirm(): Promise<void> {
    const membership = this.#joined;
    if (membership === null) throw new Error("this member has left the group");
    await membership.heartbeat({ interval: 0 });
  }

  async #commitLast(): Promise<void> {
    await this.#committing;
    await this.#commit();
  }

  #commit(): Promise<void> {
    const membership = this.#joined;
    if (this.#committing !== null) return this.#committing;
    if (membership === null || this.#acknowledged.size === 0) return Promise.resolve();
    const partitions = [...this.#acknowledged].map(([partition, offset]) => ({
      partition,
      offset: String(offset),
    }));
    this.#acknowledged.clear();
    this.#committing = membership.commitOffsets({ topics: [{ topic: this.#options.topic, partitions }] })
      .catch(() => {})
      .then(() => {
        this.#committing = null;
      });
    return this.#committing;
  }
}

/** Whether the work ended in time. */
async function within(work: Promise<unknown>, us: number, clock: Clock): Promise<boolean> {
  const ended = new AbortController();
  const inTime = work.then(() => true);
  const tooLong = clock.delay(us, ended.signal).then(() => false, () => false);
  const outcome = await Promise.race([inTime, tooLong]);
  ended.abort();
  return outcome;
}
