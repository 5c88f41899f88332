/**
 * Checkpoints in a compacted Kafka topic, so that a partition's state is wherever the partition goes.
 *
 * ```
 *   partition p of the topic: the state of split p               key
 *     … chunk  chunk │ chunk  manifest  tombstone  tombstone │   SPLIT/STREAM/ID   a chunk, up to 60 KiB; null: dropped
 *       ──── a transaction ── ───── the last of a commit ─────   SPLIT/manifest    the checkpoint
 * ```
 *
 * **All or nothing.** A commit writes chunks, then the manifest, then tombstones of what that no longer needs: in one
 * transaction mostly, in several where it is large, since hundreds of megabytes would not fit into the time that a broker
 * gives one. The chunks have ids that no manifest names yet. So wherever it is cut off a checkpoint is whole, the former
 * or this one, and what is left over are chunks that nobody names; `sweep` deletes them.
 *
 * **The fence.** `open` takes the transactional id, so a process that was stopped and wakes up after another took over
 * can commit nothing more. The id must be the store's own: two writers with one id fence each other. `open` then waits
 * until all that was committed before is readable; else the last checkpoint might be missed, and the one before read,
 * whose chunks are gone.
 *
 * **Lost.** Compaction never moves a partition's start. Where it has moved and there is no manifest, there was a state, and
 * to begin afresh would tell every trigger again: refused. (A topic that was deleted and made anew looks like a new one.)
 *
 * **Reading.** There is no looking up by key in Kafka, so the partition is read from its start, and the last value of a
 * key wins: compaction lags behind, and never touches the segment that is written to. What is read is kept until it is
 * handed over, each chunk once: a restore needs its memory for the partitions. Who reads again, or after a commit, has
 * the log read again, which is right and slow; no one does that but tests.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { assert } from "../../../lib/assert.ts";
import type { CheckpointCommit, CheckpointStore, ChunkRange } from "../../ports.ts";
import { FencedWriter, type WriteMessage } from "./fenced_writer.ts";
import { KafkaRefusedError } from "./kafka_client.ts";
import { PartitionReader } from "./partition_reader.ts";
import { ensureStateTopic } from "./state_topic.ts";

/** Bytes of a value at most: what other stores take, too. */
const VALUE_BYTES_MAX = 65_536;
/** Bytes of one transaction, about: some tenths of a second of the 12 that one may take. */
const TRANSACTION_BYTES_MAX = 8 << 20;
/** Records of one transaction at most: tombstones have no bytes to speak of. */
const TRANSACTION_RECORDS_MAX = 20_000;

/** Where the state is, and of which split. */
export interface KafkaStoreOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  /** The source partition's number, and of the topic's partition that holds its state. */
  readonly partition: number;
  /** The source split's name. */
  readonly split: string;
  /** The store's alone, and the same in every process that may own the split. */
  readonly transactionalId: string;
  /** How many partitions the source has: a topic that is missing is made with as many. Else it is not made. */
  readonly partitions?: number;
  readonly notice: (message: string) => void;
}

/** A chunk that is there. */
interface Kept {
  readonly stream: string;
  readonly id: number;
  readonly bytes: Uint8Array;
}

/** What was read of the log: the manifest, and the chunks by their keys that were not handed over yet. */
interface Loaded {
  manifest: Uint8Array | null;
  readonly chunks: Map<string, Kept>;
  /** Whether all of them are still there. */
  whole: boolean;
}

/** See the module's header. */
export class KafkaStore implements CheckpointStore {
  readonly name: string;

  readonly #options: KafkaStoreOptions;
  readonly #prefix: string;
  readonly #manifestKey: string;
  #writer: FencedWriter | null = null;
  #loaded: Loaded | null = null;

  constructor(options: KafkaStoreOptions) {
    this.name = `topic ${options.topic}, partition ${options.partition}`;
    this.#options = options;
    this.#prefix = `${encodeURIComponent(options.split)}/`;
    this.#manifestKey = `${this.#prefix}manifest`;
  }

  /**
   * Makes the topic where there is none, takes the split over, and reads its state.
   *
   * @throws {KafkaRefusedError} where the topic can't hold a state, or may not be used
   * @throws {UnavailableError} where the broker can't be reached
   */
  async open(): Promise<Uint8Array | null> {
    assert(this.#writer === null, "a store is opened once");
    const { kafka, topic, partitions = null, notice, transactionalId } = this.#options;
    await ensureStateTopic(kafka, { topic, partitions, notice });
    this.#writer = new FencedWriter(kafka, transactionalId);
    await this.#writer.open();
    const { manifest } = await this.#load();
    if (manifest === null) await this.sweep([]);
    return manifest;
  }

  async sweep(live: readonly ChunkRange[]): Promise<void> {
    const loaded = await this.#whole();
    const dead: string[] = [];
    for (const [key, { stream, id }] of loaded.chunks) {
      if (!live.some((range) => range.stream === stream && range.start <= id && id < range.end)) {
        dead.push(key);
      }
    }
    await this.#write(dead.map((key) => this.#message(key, null)));
    for (const key of dead) loaded.chunks.delete(key);
  }

  async *read({ stream, start, end }: ChunkRange): AsyncIterable<Uint8Array> {
    for (let id = start; id < end; id++) {
      const key = this.#chunkKey(stream, id);
      let { chunks, whole } = this.#loaded ?? await this.#load();
      // It may have been handed over before.
      if (!chunks.has(key) && !whole) ({ chunks, whole } = await this.#load());
      const chunk = chunks.get(key);
      if (chunk === undefined) throw this.#missing(stream, id);
      if (this.#loaded !== null) this.#loaded.whole = false;
      chunks.delete(key);
      yield chunk.bytes;
    }
  }

  async commit({ put, drop, manifest }: CheckpointCommit): Promise<void> {
    assert(
      manifest.length <= VALUE_BYTES_MAX,
      `a manifest takes at most 64 KiB, got ${manifest.length} bytes`,
    );
    // From here on it would have to be kept up to date, and nobody asks for it any more.
    this.#loaded = null;
    const chunks = put.map(({ stream, id, bytes }) => {
      assert(bytes.length <= VALUE_BYTES_MAX, `a chunk takes at most 64 KiB, got ${bytes.length} bytes`);
      return this.#message(this.#chunkKey(stream, id), bytes);
    });
    const tombstones: WriteMessage[] = [];
    for (const { stream, start, end } of drop) {
      for (let id = start; id < end; id++) tombstones.push(this.#message(this.#chunkKey(stream, id), null));
    }
    // Any cut between these leaves a checkpoint whole, the former or this one.
    await this.#write([...chunks, this.#message(this.#manifestKey, manifest), ...tombstones]);
  }

  /** Ends the connection; resolves when that is done, and never rejects. */
  async close(): Promise<void> {
    this.#loaded = null;
    await this.#writer?.close();
  }

  /** Writes in as many transactions as it takes. */
  async #write(messages: readonly WriteMessage[]): Promise<void> {
    const writer = this.#writer;
    assert(writer !== null, "a store is opened before it is used");
    for (let at = 0; at < messages.length;) {
      const next = endOfTransaction(messages, at);
      await writer.write(messages.slice(at, next));
      at = next;
    }
  }

  async #whole(): Promise<Loaded> {
    return this.#loaded?.whole ? this.#loaded : await this.#load();
  }

  /** Reads the partition from its start to its end, as it is now. */
  async #load(): Promise<Loaded> {
    const { kafka, topic, partition, notice } = this.#options;
    assert(this.#writer !== null, "a store is opened before it is used");
    const loaded: Loaded = { manifest: null, chunks: new Map(), whole: true };
    const reader = await PartitionReader.connect(kafka, topic, partition);
    try {
      const end = await reader.settledEnd(notice);
      const { start } = await reader.bounds();
      for await (const messages of reader.read(start, end)) {
        for (const { key, value } of messages) this.#take(loaded, key, value);
      }
      if (start > 0 && loaded.manifest === null) throw this.#lost(start);
    } finally {
      await reader.close();
    }
    this.#loaded = loaded;
    return loaded;
  }

  /** What a record says, over what was there before. */
  #take(loaded: Loaded, keyBytes: Uint8Array | null, value: Uint8Array | null): void {
    if (keyBytes === null) return;
    const key = decoder.decode(keyBytes);
    if (!key.startsWith(this.#prefix)) return;
    // A value lies in the answer to a fetch, of which it would keep all four megabytes.
    const bytes = value === null ? null : value.slice();
    if (key === this.#manifestKey) {
      loaded.manifest = bytes;
      return;
    }
    loaded.chunks.delete(key);
    const [stream = "", id = ""] = key.slice(this.#prefix.length).split("/");
    if (bytes !== null) loaded.chunks.set(key, { stream: decodeURIComponent(stream), id: Number(id), bytes });
  }

  #message(key: string, value: Uint8Array | null): WriteMessage {
    const { topic, partition } = this.#options;
    return { topic, partition, key, value };
  }

  /** Names are escaped, so that no two of them give one key. */
  #chunkKey(stream: string, id: number): string {
    return `${this.#prefix}${encodeURIComponent(stream)}/${id}`;
  }

  #lost(start: number): Error {
    return new KafkaRefusedError(
      `Cannot restore the state in ${this.name}: records before offset ${start} were deleted, and no checkpoint is left. ` +
        `Name another topic in checkpoint.path to begin afresh`,
    );
  }

  #missing(stream: string, id: number): Error {
    return new KafkaRefusedError(
      `Cannot restore the state in ${this.name}: chunk ${id} of ${stream} is missing, so records of it were lost or ` +
        `deleted. Name another topic in checkpoint.path to begin afresh`,
    );
  }
}

const decoder = new TextDecoder();

/** Behind the last message that goes into one transaction with the first; at least one does. */
function endOfTransaction(messages: readonly WriteMessage[], start: number): number {
  let byteLength = 0;
  let at = start;
  while (at < messages.length && at - start < TRANSACTION_RECORDS_MAX) {
    byteLength += messages[at]?.value?.length ?? 0;
    if (at > start && byteLength > TRANSACTION_BYTES_MAX) break;
    at++;
  }
  return at;
}
