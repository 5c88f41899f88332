/**
 * What kafkajs' consumer keeps to itself: the moment before a member joins the group again, and each fetch that came
 * back, those too that brought nothing.
 *
 * ```
 *   a heartbeat is refused ─▶ all eachBatch have ended ─▶ beforeJoin ─▶ JoinGroup, SyncGroup ─▶ afterJoin ─▶ fetch …
 *                                                         partitions still ours                  nothing fetched yet
 * ```
 *
 * kafkajs has no hook there: its REBALANCING event is not waited for, and none tells of partitions that are lost. So two
 * methods of its `ConsumerGroup` are wrapped, once for the process, and do for every consumer what they did, except for
 * those that {@link hookGroup} was told of. The assigner is how one is known: the instance is made inside of `run`, and
 * the assigners are all that reaches it from outside. Held weakly, so a consumer that is thrown away takes its hooks along.
 *
 * Tied to kafkajs 2.2.4, which is pinned; the tests against the broker find out if a later one is made differently.
 * Rejected: a loop of our own over `ConsumerGroup` (its recovery from stale metadata, lost brokers and offsets out of range
 * would be ours to write again), and the assigner's `protocol()` as the hook (it can't wait).
 *
 * @module
 */
import type { Assigner } from "kafkajs";
import ConsumerGroup from "kafkajs/src/consumer/consumerGroup.js";
import type { FetchedBatch } from "./fetched_batch.ts";
import { mendKafkajs } from "./mend_kafkajs.ts";

interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** An offset to commit. */
export interface OffsetToCommit {
  readonly partition: number;
  /** In decimal. */
  readonly offset: string;
}

/** kafkajs' `ConsumerGroup`: a member, from its first join until the consumer stops or crashes. */
export interface GroupMembership {
  readonly assigners: readonly object[];
  /** Null before it has joined, and once the coordinator does not know it any more. */
  readonly memberId: string | null;
  readonly generationId: number | null;
  assigned(): readonly TopicPartitions[];
  pause(of: readonly TopicPartitions[]): void;
  resume(of: readonly TopicPartitions[]): void;
  seek(to: { readonly topic: string; readonly partition: number; readonly offset: string }): void;
  /** @param options.interval ms since the last one below which none is sent */
  heartbeat(options: { readonly interval: number }): Promise<void>;
  commitOffsets(
    offsets: { readonly topics: readonly { topic: string; partitions: readonly OffsetToCommit[] }[] },
  ): Promise<void>;
}

/** What a consumer is told. */
export interface GroupHooks {
  /** Before each join. The member still has its partitions; it stays in the group only if it goes on beating. */
  beforeJoin(membership: GroupMembership): Promise<void>;
  /** It has joined; nothing is fetched before this returns. */
  afterJoin(membership: GroupMembership): void;
  /** A fetch is sent. Returns what is to be called with its answer, before that is handed on. */
  fetching(): (batches: readonly FetchedBatch[]) => void;
}

interface GroupMethods {
  joinAndSync(this: GroupMembership): Promise<void>;
  fetch(this: GroupMembership, nodeId: unknown): Promise<readonly FetchedBatch[]>;
}

const hooksByAssigner = new WeakMap<object, GroupHooks>();
/** A member's joins, one after the other: two brokers' fetches may find out at once that one is due. */
const joins = new WeakMap<GroupMembership, Promise<void>>();
let wrapped = false;

/** Tells the hooks of the consumer that was made with this assigner. */
export function hookGroup(assigner: Assigner, hooks: GroupHooks): void {
  hooksByAssigner.set(assigner, hooks);
  if (wrapped) return;
  wrapped = true;
  mendKafkajs();
  wrapMethods(ConsumerGroup.prototype as unknown as GroupMethods);
}

function wrapMethods(methods: GroupMethods): void {
  const { joinAndSync, fetch } = methods;
  methods.joinAndSync = function (this: GroupMembership): Promise<void> {
    const hooks = hooksOf(this);
    if (hooks === undefined) return joinAndSync.call(this);
    const join = async (): Promise<void> => {
      await hooks.beforeJoin(this);
      await joinAndSync.call(this);
      hooks.afterJoin(this);
    };
    const before = joins.get(this) ?? Promise.resolve();
    const joined = before.then(join, join);
    joins.set(this, joined);
    return joined;
  };
  methods.fetch = async function (this: GroupMembership, nodeId: unknown): Promise<readonly FetchedBatch[]> {
    const fetched = hooksOf(this)?.fetching();
    const batches = await fetch.call(this, nodeId);
    fetched?.(batches);
    return batches;
  };
}

function hooksOf(membership: GroupMembership): GroupHooks | undefined {
  for (const assigner of membership.assigners) {
    const hooks = hooksByAssigner.get(assigner);
    if (hooks !== undefined) return hooks;
  }
  return undefined;
}
