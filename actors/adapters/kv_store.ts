/**
 * Checkpoints in a Deno KV file.
 *
 * ```
 *   directory/lock       held by the process that uses the directory
 *   directory/format     there has been a checkpoint here
 *   directory/state.kv   ["fencepost", split, "owner"]               who may write: checked by every write
 *                        ["fencepost", split, "manifest"]            the checkpoint
 *                        ["fencepost", split, "chunk", stream, id]   what it consists of
 * ```
 *
 * A checkpoint is larger than what one atomic takes, so its chunks come first, under ids that no manifest names yet, and
 * the manifest goes with the last of them. What the new manifest no longer needs is deleted in the same atomic, where
 * there is room: one `fsync` less than a deletion of its own, and just as safe. A crash before the last atomic leaves
 * chunks that nobody names; `sweep` deletes them.
 *
 * **The fence.** `open` writes the owner row, and every write checks that it is still that very one. So a process that was
 * stopped and comes back after another has taken over writes nothing more, chunks and deletions included.
 *
 * 40 MB are written in about 170 ms and read back in 40 (2 cores, an `fsync` of 0.2 ms): lists of 50 values are three
 * times as fast as `getMany` with its 10.
 *
 * @module
 */
import { join } from "node:path";
import { assert } from "../../lib/assert.ts";
import {
  type CheckpointChunk,
  type CheckpointCommit,
  type CheckpointStore,
  type ChunkRange,
  FencedError,
} from "../ports.ts";
import { explainKvFailure } from "./kv_failure.ts";
import { StateInUseError, StateLock } from "./state_lock.ts";
import { emptyState, readMarker, refuseEmpty, type StateMarker, writeMarker } from "./state_marker.ts";

/** Bytes of a value at most. */
const VALUE_BYTES_MAX = 65_536;
/** Bytes of keys and values of an atomic at most: Deno KV takes 819,200. */
const ATOMIC_BYTES_MAX = 800_000;
/** Bytes of keys of an atomic at most: Deno KV takes 81,920. */
const ATOMIC_KEY_BYTES_MAX = 80_000;
/** Mutations of an atomic at most. */
const ATOMIC_MUTATIONS_MAX = 1_000;
/** Values of 60 KiB that are read at a time. */
const LIST_BATCH = 50;
/** What a key costs beyond its text: the parts' types and ends, and a number. */
const KEY_BYTES_EXTRA = 48;

/** Where the state is, and of which split. */
export interface KvStoreOptions {
  readonly directory: string;
  /** The source split's name: splits share a file and don't see each other. */
  readonly split: string;
}

/** One write of an atomic. */
type Mutation =
  | { readonly type: "set"; readonly key: Deno.KvKey; readonly value: Uint8Array; readonly keyBytes: number }
  | { readonly type: "delete"; readonly key: Deno.KvKey; readonly keyBytes: number };

/** What is open. */
interface Opened {
  readonly kv: Deno.Kv;
  readonly lock: StateLock;
  /** Versionstamp of our owner row. */
  owner: string;
}

/** See the module's header. */
export class KvStore implements CheckpointStore {
  readonly name: string;

  readonly #split: string;
  readonly #prefix: Deno.KvKey;
  readonly #ownerKey: Deno.KvKey;
  readonly #manifestKey: Deno.KvKey;
  #opened: Opened | null = null;
  #marker: StateMarker | null = null;

  constructor({ directory, split }: KvStoreOptions) {
    this.name = directory;
    this.#split = split;
    this.#prefix = ["fencepost", split, "chunk"];
    this.#ownerKey = ["fencepost", split, "owner"];
    this.#manifestKey = ["fencepost", split, "manifest"];
  }

  /**
   * Makes the directory where there is none, and locks it until {@link close}.
   *
   * @throws {Error} where it can't be written, another process uses it, or what it holds is damaged or of another version
   */
  async open(): Promise<Uint8Array | null> {
    this.close();
    await makeDirectory(this.name);
    const lock = await this.#explained(() => StateLock.take(this.name));
    let kv: Deno.Kv | null = null;
    try {
      this.#marker = await readMarker(this.name);
      const path = join(this.name, "state.kv");
      if (this.#marker !== null) await refuseEmpty(path, this.name);
      const opening = await this.#explained(() => Deno.openKv(path));
      kv = opening;
      const opened = { kv: opening, lock, owner: await this.#explained(() => this.#takeOver(opening)) };
      const { value } = await this.#explained(() => opening.get<Uint8Array>(this.#manifestKey));
      if (value === null && this.#marker?.splits.includes(this.#split)) throw emptyState(this.name);
      this.#opened = opened;
      if (value === null) await this.sweep([]);
      else await this.#mark();
      return value;
    } catch (error) {
      this.#opened = null;
      kv?.close();
      lock.close();
      throw error;
    }
  }

  async *read(range: ChunkRange): AsyncIterable<Uint8Array> {
    const { kv } = this.#use();
    if (range.end <= range.start) return;
    const entries = kv.list<Uint8Array>({
      start: this.#chunkKey(range.stream, range.start),
      end: this.#chunkKey(range.stream, range.end),
    }, { batchSize: LIST_BATCH });
    let expected = range.start;
    try {
      for await (const { key, value } of entries) {
        if (key[4] !== expected) break;
        expected++;
        yield value;
      }
    } catch (cause) {
      throw explainKvFailure(cause, this.name);
    }
    if (expected === range.end) return;
    throw new Error(
      `Cannot restore the state in ${this.name}: chunk ${expected} of ${range.stream} is missing, so state.kv is damaged. ` +
        `Put a copy of it back, or move the directory away to begin afresh`,
    );
  }

  async commit({ put, drop, manifest }: CheckpointCommit): Promise<void> {
    assert(
      manifest.length <= VALUE_BYTES_MAX,
      `a manifest takes at most 64 KiB, got ${manifest.length} bytes`,
    );
    const mutations: Mutation[] = put.map((chunk) => this.#set(chunk));
    const manifestAt = mutations.length;
    mutations.push(this.#mutation({ type: "set", key: this.#manifestKey, value: manifest }));
    for (const range of drop) {
      for (let id = range.start; id < range.end; id++) mutations.push(this.#delete(range.stream, id));
    }
    let done = 0;
    while (done < mutations.length) {
      done = await this.#commitSome(mutations, done);
      // From here on the checkpoint is there, and the rest only tidies up.
      if (done > manifestAt) await this.#mark();
    }
  }

  /** Deletes all chunks outside these ranges: what a checkpoint that was not completed has left behind. */
  async sweep(live: readonly ChunkRange[]): Promise<void> {
    const { kv } = this.#use();
    const dead: Mutation[] = [];
    // Only the gaps are listed, since a list reads the values too.
    let from: Deno.KvKey | null = null;
    for (const range of [...merge(live), null]) {
      const end = range === null ? null : this.#chunkKey(range.stream, range.start);
      const gap = this.#gap(from, end);
      await this.#explained(async () => {
        for await (const { key } of kv.list(gap, { batchSize: LIST_BATCH })) {
          dead.push(this.#mutation({ type: "delete", key }));
        }
      });
      if (range !== null) from = this.#chunkKey(range.stream, range.end);
    }
    for (let done = 0; done < dead.length;) done = await this.#commitSome(dead, done);
  }

  close(): void {
    this.#opened?.kv.close();
    this.#opened?.lock.close();
    this.#opened = null;
  }

  /** Writes a new owner row over the one that is there; fails where another process does the same right now. */
  async #takeOver(kv: Deno.Kv): Promise<string> {
    const former = await kv.get(this.#ownerKey);
    const owner = { pid: Deno.pid, since: new Date().toISOString() };
    const result = await kv.atomic().check(former).set(this.#ownerKey, owner).commit();
    if (!result.ok) throw this.#fenced();
    return result.versionstamp;
  }

  /**
   * Commits as many mutations as one atomic takes.
   *
   * @returns how many are done now
   */
  async #commitSome(mutations: readonly Mutation[], done: number): Promise<number> {
    const { kv, owner } = this.#use();
    const atomic = kv.atomic().check({ key: this.#ownerKey, versionstamp: owner });
    let byteLength = 0;
    let keyBytes = 0;
    let count = 0;
    for (let i = done; i < mutations.length && count < ATOMIC_MUTATIONS_MAX; i++) {
      const mutation = mutations[i] as Mutation;
      keyBytes += mutation.keyBytes;
      byteLength += mutation.keyBytes + (mutation.type === "set" ? mutation.value.length : 0);
      if (count > 0 && (byteLength > ATOMIC_BYTES_MAX || keyBytes > ATOMIC_KEY_BYTES_MAX)) break;
      if (mutation.type === "set") atomic.set(mutation.key, mutation.value);
      else atomic.delete(mutation.key);
      count++;
    }
    const result = await this.#explained(() => atomic.commit());
    if (!result.ok) throw this.#fenced();
    return done + count;
  }

  /** Says that this split has had a checkpoint, if that is not said yet. */
  async #mark(): Promise<void> {
    const splits = this.#marker?.splits ?? [];
    if (splits.includes(this.#split)) return;
    const marker = { splits: [...splits, this.#split] };
    await this.#explained(() => writeMarker(this.name, marker));
    this.#marker = marker;
  }

  #set({ stream, id, bytes }: CheckpointChunk): Mutation {
    assert(bytes.length <= VALUE_BYTES_MAX, `a chunk takes at most 64 KiB, got ${bytes.length} bytes`);
    return this.#mutation({ type: "set", key: this.#chunkKey(stream, id), value: bytes });
  }

  #delete(stream: string, id: number): Mutation {
    return this.#mutation({ type: "delete", key: this.#chunkKey(stream, id) });
  }

  #mutation<Of extends { readonly key: Deno.KvKey }>(of: Of): Of & { readonly keyBytes: number } {
    let keyBytes = KEY_BYTES_EXTRA;
    // UTF-8 takes up to three bytes a UTF-16 unit.
    for (const part of of.key) if (typeof part === "string") keyBytes += part.length * 3;
    return { ...of, keyBytes };
  }

  #chunkKey(stream: string, id: number): Deno.KvKey {
    return [...this.#prefix, stream, id];
  }

  /** Selects the chunks from one key to another, null for the first and behind the last. */
  #gap(start: Deno.KvKey | null, end: Deno.KvKey | null): Deno.KvListSelector {
    // A prefix goes with one bound, but not with both.
    if (start !== null && end !== null) return { start, end };
    if (start !== null) return { prefix: this.#prefix, start };
    return end === null ? { prefix: this.#prefix } : { prefix: this.#prefix, end };
  }

  #use(): Opened {
    assert(this.#opened !== null, "a store is opened before it is used");
    return this.#opened;
  }

  #fenced(): FencedError {
    return new FencedError(
      `Cannot write the state in ${this.name}: another process has taken ${this.#split} over. It goes on from the last ` +
        `checkpoint; this one must stop`,
    );
  }

  /** Runs something, and says of its failure what it means. */
  async #explained<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof FencedError || error instanceof StateInUseError) throw error;
      throw explainKvFailure(error, this.name);
    }
  }
}

/** The ranges in the order of their keys; those that touch or overlap become one. */
function merge(ranges: readonly ChunkRange[]): ChunkRange[] {
  const sorted = ranges.filter(({ start, end }) => end > start).sort((a, b) => {
    if (a.stream !== b.stream) return a.stream < b.stream ? -1 : 1;
    return a.start - b.start;
  });
  const merged: ChunkRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || last.stream !== range.stream || last.end < range.start) merged.push(range);
    else merged[merged.length - 1] = { ...last, end: Math.max(last.end, range.end) };
  }
  return merged;
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await Deno.mkdir(directory, { recursive: true });
    return;
  } catch (cause) {
    const taken = cause instanceof Deno.errors.AlreadyExists || cause instanceof Deno.errors.NotADirectory;
    const reason = taken
      ? "there is a file in its place"
      : cause instanceof Deno.errors.PermissionDenied
      ? "it can't be made: permission denied"
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new Error(`Cannot use the state in ${directory}: ${reason}. Give another directory with --state`, {
      cause,
    });
  }
}
