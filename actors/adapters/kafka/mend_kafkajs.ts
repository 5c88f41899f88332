/**
 * What kafkajs 2.2.4 does wrong and can't be told not to, mended once for the process. Each mends its prototypes in place,
 * and so is tied to that version, which is pinned.
 *
 * | fault | what it costs | mended |
 * |---|---|---|
 * | its filter of aborted transactions lets some through (see committed_messages.ts) | a trigger for a record that its producer took back | a fetch's answer is filtered before kafkajs sees it |
 * | each connection wakes each ms for a queue that is empty | 3 % of a core at rest with one connection, 9 % with 64 | it wakes where something is queued |
 * | its encoder makes a buffer for each number | a third of the time of writing a record | see quicken_encoder.ts |
 * | it hides why no broker says who coordinates a group or transactions (`KafkaJSGroupCoordinatorNotFound`) | a right that is missing looks like a broker that went away, and is waited for | the refusal is passed on |
 * | a batch that compaction has emptied it reads as nothing, and goes on at its start | a partition that is never read on | see show_emptied_batches.ts |
 * | its codecs for Snappy, LZ4 and Zstandard throw | a compressed topic can't be read | ours, which decompress |
 *
 * @module
 */
import { CompressionCodecs, CompressionTypes } from "kafkajs";
import Broker from "kafkajs/src/broker/index.js";
import BrokerPool from "kafkajs/src/cluster/brokerPool.js";
import Decoder from "kafkajs/src/protocol/decoder.js";
import Encoder from "kafkajs/src/protocol/encoder.js";
import RequestQueue from "kafkajs/src/network/requestQueue/index.js";
import { committedMessages } from "./committed_messages.ts";
import { decompressLz4, decompressSnappy, decompressZstd } from "./compression.ts";
import { type EncoderClass, quickenEncoder } from "./quicken_encoder.ts";
import { type DecoderMethods, showEmptiedBatches } from "./show_emptied_batches.ts";
import { type FetchedPartition, type RawMessage, READ_COMMITTED } from "./kafka_cluster.ts";

type Fetch = (
  this: unknown,
  request: { readonly isolationLevel?: number },
) => Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;

type WithBroker = <T>(this: unknown, ask: (broker: unknown) => Promise<T>) => Promise<T | null>;

/** What one broker refuses, all do. */
const RIGHTS: readonly unknown[] = ["GROUP_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"];

interface Queue {
  readonly pending: readonly unknown[];
}

let isMended = false;

/** See the module's header. Does nothing the second time. */
export function mendKafkajs(): void {
  if (isMended) return;
  isMended = true;
  filterFetches(Broker.prototype as unknown as { fetch: Fetch });
  restQueues(
    RequestQueue.prototype as unknown as { scheduleCheckPendingRequests: (this: Queue) => void },
  );
  quickenEncoder(Encoder as unknown as EncoderClass);
  showEmptiedBatches(Decoder.prototype as unknown as DecoderMethods);
  passRefusalsOn(BrokerPool.prototype as unknown as { withBroker: WithBroker });
  registerCodecs();
}

/**
 * Aborted records look like control records from here on, which kafkajs leaves out and counts as read; they can't be taken
 * out, since what it reads next is behind the last that it sees.
 */
export function hideAborted(partition: FetchedPartition): void {
  const { messages, abortedTransactions } = partition;
  if (abortedTransactions === null || abortedTransactions.length === 0) return;
  const committed = new Set(committedMessages(messages, abortedTransactions));
  for (const message of messages) {
    if (!committed.has(message)) {
      (message as { -readonly [K in keyof RawMessage]: RawMessage[K] }).isControlRecord = true;
    }
  }
  (partition as { abortedTransactions: readonly unknown[] }).abortedTransactions = [];
}

function filterFetches(methods: { fetch: Fetch }): void {
  const { fetch } = methods;
  methods.fetch = async function (request) {
    const answer = await fetch.call(this, request);
    if (request.isolationLevel === READ_COMMITTED) {
      for (const { partitions } of answer.responses) {
        for (const partition of partitions) hideAborted(partition);
      }
    }
    return answer;
  };
}

/** It asks one broker after another, and says null where all have failed. */
function passRefusalsOn(methods: { withBroker: WithBroker }): void {
  const { withBroker } = methods;
  methods.withBroker = async function <T>(this: unknown, ask: (broker: unknown) => Promise<T>) {
    let refusal: unknown = null;
    const answer = await withBroker.call(this, async (broker) => {
      try {
        return await ask(broker);
      } catch (error) {
        if (RIGHTS.includes((error as { type?: unknown } | null)?.type)) refusal = error;
        throw error;
      }
    });
    if (answer === null && refusal !== null) throw refusal;
    return answer as T | null;
  };
}

function restQueues(methods: { scheduleCheckPendingRequests: (this: Queue) => void }): void {
  const { scheduleCheckPendingRequests } = methods;
  methods.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/** Topics may be compressed by their producers. */
function registerCodecs(): void {
  const readOnly = (decompress: (bytes: Uint8Array) => Uint8Array) => () => ({
    compress: (): Promise<never> => Promise.reject(new Error("Fencepost does not compress with this codec")),
    decompress: (bytes: Uint8Array): Promise<Uint8Array> => Promise.resolve(decompress(bytes)),
  });
  CompressionCodecs[CompressionTypes.Snappy] = readOnly(decompressSnappy);
  CompressionCodecs[CompressionTypes.LZ4] = readOnly(decompressLz4);
  CompressionCodecs[CompressionTypes.ZSTD] = readOnly(decompressZstd);
}
