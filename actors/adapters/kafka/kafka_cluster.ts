/**
 * The door to what kafkajs has inside and does not export: its connection to a cluster, with fetch requests.
 *
 * Reading a partition from one offset to another, as a restore does, takes a consumer group in kafkajs' public interface:
 * a join (3 s on a broker with default settings) and a group that is left behind. The cluster below it needs neither.
 * It is made by the same client as everything else, so TLS, SASL and the socket factory are the configured ones; the
 * method that makes it hides behind a symbol, which is why kafkajs is pinned to the digit. All types of the inside that
 * we use are here, and nowhere else.
 *
 * @module
 */
import type { Kafka } from "kafkajs";

/** Markers and aborted transactions are told apart from the data, and nothing behind an open transaction is given. */
export const READ_COMMITTED = 1;
/** Everything up to the high watermark. */
export const READ_UNCOMMITTED = 0;

/** The timestamps that stand for a partition's ends in {@link Broker.listOffsets}. */
export const EARLIEST = "-2";
export const LATEST = "-1";

/** kafkajs' connection to all brokers. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** Loads the topic's metadata. */
  addTargetTopic(topic: string): Promise<void>;
  /** The broker's number, and the partitions of the asked ones that it leads. A partition that is not there is left out. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, number[]>>;
  findBroker(where: { readonly nodeId: string }): Promise<Broker>;
}

/** One broker. */
export interface Broker {
  fetch(request: {
    readonly isolationLevel: number;
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly fetchOffset: string;
        readonly maxBytes: number;
      }[];
    }[];
  }): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly timestamp: string }[];
    }[];
  }): Promise<
    { readonly responses: readonly { readonly partitions: readonly { readonly offset: string }[] }[] }
  >;
}

/** What a fetch tells of a partition. Offsets are decimal. */
export interface FetchedPartition {
  readonly lastStableOffset: string;
  /** Null of a broker that tells none. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  readonly messages: readonly RawMessage[];
}

/** A transaction whose records are to be left out, from its first record to its abort marker. */
export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** A record as it lies in the log: those of aborted transactions, and markers, among them. */
export interface RawMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers?: Readonly<Record<string, Uint8Array | readonly Uint8Array[] | null>>;
  readonly isControlRecord?: boolean;
  /** Of the batch that it lies in; missing of records in the format before Kafka 0.11. */
  readonly batchContext?: {
    readonly firstOffset: string;
    readonly lastOffsetDelta: number;
    readonly producerId: string;
    readonly inTransaction: boolean;
  };
}

/** A connection of one's own, not yet made. */
export function createCluster(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  const create = symbol === undefined ? undefined : Reflect.get(kafka, symbol) as unknown;
  if (typeof create !== "function") {
    throw new Error(
      "Cannot read Kafka partitions: this is not the version of kafkajs that was built against",
    );
  }
  return create.call(kafka, { allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED }) as Cluster;
}
