/**
 * A split's checkpoints as rows of a Deno KV, be it a file or a server.
 *
 * ```
 *   ["fencepost", split, "owner"]               who may write: checked by every write
 *   ["fencepost", split, "manifest"]            the checkpoint
 *   ["fencepost", split, "chunk", stream, id]   what it consists of
 * ```
 *
 * All values are bytes. Anything else Deno KV writes in V8's format, which an older Deno can't read.
 *
 * A checkpoint is larger than what one atomic takes, so its chunks come first, under ids that no manifest names yet, and
 * the manifest goes with the last of them. What the new manifest no longer needs is deleted in the same atomic, where
 * there is room: one `fsync` less than a deletion of its own, and just as safe. A crash before the last atomic leaves
 * chunks that nobody names; `sweep` deletes them.
 *
 * **The fence.** `takeOver` writes the owner row, and every write checks that it is still that very one. So a process that
 * was stopped and comes back after another has taken over writes nothing more, chunks and deletions included.
 *
 * **Twice.** A client that loses the answer of a server asks again by itself, and its first try may have been done, or
 * may be done later. Chunks and deletions don't mind. A manifest would: an old one must not come back over a newer one, so
 * its atomic checks that the former one is still there. And then a second try fails its check because of the first; so
 * does a takeover's. So what is there now is looked at: if it is one's own, it was done.
 *
 * 40 MB are written in about 170 ms and read back in 40 (a local file, 2 cores, an `fsync` of 0.2 ms): lists of 50 values
 * are three times as fast as `getMany` with its 10. A server answers a large atomic after some 45 ms,
 * most of which it waits for the network; so there several are under way at once (eight in 68 ms, not in 351), where the link
 * carries them (kv_lane.ts).
 *
 * @module
 */
import { assert } from "../../lib/assert.ts";
import { equalBytes } from "../../lib/bytes.ts";
import { type CheckpointChunk, type CheckpointCommit, type ChunkRange, FencedError } from "../ports.ts";
import { cutIntoAtomics, type KvAtomic, type KvMutation, kvMutation } from "./kv_atomics.ts";
import type { KvLanes } from "./kv_lane.ts";

/** Bytes of a value at most. */
const VALUE_BYTES_MAX = 65_536;
/** How often it tries to take over: it may meet others who do, or a try of a store before it that comes late. */
const TAKE_OVERS_MAX = 5;
/** Values that are read at a time at most. */
const LIST_BATCH = 50;

const encoder = new TextEncoder();

/** Where the rows are, and how one gets there. */
export interface KvRowsOptions {
  readonly kv: Deno.Kv;
  /** The source split's name: splits share a database and don't see each other. */
  readonly split: string;
  /** Of the database, for messages. */
  readonly name: string;
  /** What to do about a database that is damaged, for messages: a sentence. */
  readonly damaged: string;
  /** How much may be under way at once. */
  readonly lanes: KvLanes;
  /** Makes a call of the database, says of its failure what it means, and may set it a limit. */
  readonly call: <T>(run: () => Promise<T>) => Promise<T>;
}

/** See the module's header. */
export class KvRows {
  readonly #options: KvRowsOptions;
  readonly #prefix: Deno.KvKey;
  readonly #ownerKey: Deno.KvKey;
  readonly #manifestKey: Deno.KvKey;
  /** Versionstamp of our owner row. */
  #owner = "";
  /** Versionstamp of the manifest as we know it; null where there is none. */
  #manifest: string | null = null;

  constructor(options: KvRowsOptions) {
    this.#options = options;
    this.#prefix = ["fencepost", options.split, "chunk"];
    this.#ownerKey = ["fencepost", options.split, "owner"];
    this.#manifestKey = ["fencepost", options.split, "manifest"];
  }

  /**
   * Writes a new owner row over the one that is there.
   *
   * @returns the manifest, null where there is none
   * @throws {FencedError} where other processes do the same right now, again and again
   */
  async takeOver(): Promise<Uint8Array | null> {
    const { kv, call } = this.#options;
    // Its name is a chance of its own, so that the row tells whose it is.
    const owner = encoder.encode(
      JSON.stringify({ pid: Deno.pid, since: new Date().toISOString(), name: crypto.randomUUID() }),
    );
    let former = await call(() => kv.get(this.#ownerKey));
    for (let tries = 1; !(former.value instanceof Uint8Array && equalBytes(former.value, owner)); tries++) {
      if (tries > TAKE_OVERS_MAX) throw this.#fenced();
      const check = former;
      await call(() => kv.atomic().check(check).set(this.#ownerKey, owner).commit());
      // Whatever that said: a second try of it, by the client, fails because of the first.
      former = await call(() => kv.get(this.#ownerKey));
    }
    this.#owner = former.versionstamp ?? "";
    const { value, versionstamp } = await call(() => kv.get<Uint8Array>(this.#manifestKey));
    this.#manifest = versionstamp;
    return value;
  }

  /** The chunks of a range, ascending. A missing one is an error. */
  async *read(range: ChunkRange): AsyncIterable<Uint8Array> {
    if (range.end <= range.start) return;
    const selector = {
      start: this.#chunkKey(range.stream, range.start),
      end: this.#chunkKey(range.stream, range.end),
    };
    let expected = range.start;
    for await (const { key, value } of this.#list(selector)) {
      if (key[4] !== expected) break;
      expected++;
      yield value;
    }
    if (expected === range.end) return;
    const { name, damaged } = this.#options;
    throw new Error(
      `Cannot restore the state in ${name}: chunk ${expected} of ${range.stream} is missing, so ${damaged}`,
    );
  }

  /**
   * Writes a checkpoint.
   *
   * @param durable is called when it is there, before the rest is tidied up
   * @throws {FencedError} where another process has taken over
   */
  async commit({ put, drop, manifest }: CheckpointCommit, durable: () => Promise<void>): Promise<void> {
    assert(
      manifest.length <= VALUE_BYTES_MAX,
      `a manifest takes at most 64 KiB, got ${manifest.length} bytes`,
    );
    const mutations: KvMutation[] = put.map((chunk) => this.#set(chunk));
    const manifestAt = mutations.length;
    mutations.push(kvMutation({ type: "set", key: this.#manifestKey, value: manifest }));
    for (const range of drop) {
      for (let id = range.start; id < range.end; id++) mutations.push(this.#delete(range.stream, id));
    }
    const atomics = cutIntoAtomics(mutations);
    const decisive = atomics.findIndex(({ end }) => end > manifestAt);
    await this.#commitAll(mutations, atomics.slice(0, decisive));
    await this.#commitManifest(mutations, atomics[decisive] as KvAtomic, manifest);
    await durable();
    await this.#commitAll(mutations, atomics.slice(decisive + 1));
  }

  /** Deletes all chunks outside these ranges. */
  async sweep(live: readonly ChunkRange[]): Promise<void> {
    const dead: KvMutation[] = [];
    // Only the gaps are listed, since a list reads the values too.
    let from: Deno.KvKey | null = null;
    for (const range of [...merge(live), null]) {
      const end = range === null ? null : this.#chunkKey(range.stream, range.start);
      for await (const { key } of this.#list(this.#gap(from, end))) {
        dead.push(kvMutation({ type: "delete", key }));
      }
      if (range !== null) from = this.#chunkKey(range.stream, range.end);
    }
    await this.#commitAll(dead, cutIntoAtomics(dead));
  }

  /** Commits atomics that need no order among themselves; all have ended when it returns or throws. */
  async #commitAll(mutations: readonly KvMutation[], atomics: readonly KvAtomic[]): Promise<void> {
    const { kv, call, lanes } = this.#options;
    let failure: { readonly error: unknown } | null = null;
    const commits = atomics.map((slice) =>
      lanes.up.run(slice.byteLength, async () => {
        // Those that were waiting are not begun any more.
        if (failure !== null) throw failure.error;
        try {
          const atomic = this.#atomic(mutations, slice);
          const { ok } = await call(() => atomic.commit());
          if (ok) return;
          throw this.#disowned((await call(() => kv.get(this.#ownerKey))).versionstamp);
        } catch (error) {
          failure ??= { error };
          throw error;
        }
      })
    );
    for (const ended of await Promise.allSettled(commits)) {
      if (ended.status === "rejected") throw ended.reason;
    }
  }

  async #commitManifest(
    mutations: readonly KvMutation[],
    slice: KvAtomic,
    manifest: Uint8Array,
  ): Promise<void> {
    const { kv, call, name, lanes } = this.#options;
    const atomic = this.#atomic(mutations, slice).check({
      key: this.#manifestKey,
      versionstamp: this.#manifest,
    });
    const result = await lanes.up.run(slice.byteLength, () => call(() => atomic.commit()));
    if (result.ok) {
      this.#manifest = result.versionstamp;
      return;
    }
    const keys = [this.#ownerKey, this.#manifestKey] as const;
    const [owner, there] = await call(() => kv.getMany<[unknown, Uint8Array]>(keys));
    if (owner.versionstamp !== this.#owner) throw this.#disowned(owner.versionstamp);
    if (there.value === null || !equalBytes(there.value, manifest)) {
      throw new Error(`Cannot write the state in ${name}: something that is not Fencepost has changed it`);
    }
    // A first try of this very commit, whose answer was lost.
    this.#manifest = there.versionstamp;
  }

  #atomic(mutations: readonly KvMutation[], { start, end }: KvAtomic): Deno.AtomicOperation {
    assert(this.#owner !== "", "a split is taken over before it is written");
    const atomic = this.#options.kv.atomic().check({ key: this.#ownerKey, versionstamp: this.#owner });
    for (let i = start; i < end; i++) {
      const mutation = mutations[i] as KvMutation;
      if (mutation.type === "set") atomic.set(mutation.key, mutation.value);
      else atomic.delete(mutation.key);
    }
    return atomic;
  }

  async *#list(selector: Deno.KvListSelector): AsyncIterable<Deno.KvEntry<Uint8Array>> {
    const { kv, call, lanes: { down } } = this.#options;
    let cursor: string | null = null;
    for (;;) {
      const limit: number = Math.max(1, Math.min(LIST_BATCH, Math.floor(down.bytes / VALUE_BYTES_MAX)));
      const read = async (): Promise<Deno.KvEntry<Uint8Array>[]> => {
        const entries = kv.list<Uint8Array>(selector, {
          batchSize: limit,
          limit,
          ...cursor === null ? {} : { cursor },
        });
        const page: Deno.KvEntry<Uint8Array>[] = [];
        for (
          let next = await call(() => entries.next());
          next.done !== true;
          next = await call(() => entries.next())
        ) {
          page.push(next.value);
        }
        if (page.length > 0) cursor = entries.cursor;
        return page;
      };
      const page = await down.run(limit * VALUE_BYTES_MAX, read, bytesOf);
      yield* page;
      if (page.length < limit) return;
    }
  }

  #set({ stream, id, bytes }: CheckpointChunk): KvMutation {
    assert(bytes.length <= VALUE_BYTES_MAX, `a chunk takes at most 64 KiB, got ${bytes.length} bytes`);
    return kvMutation({ type: "set", key: this.#chunkKey(stream, id), value: bytes });
  }

  #delete(stream: string, id: number): KvMutation {
    return kvMutation({ type: "delete", key: this.#chunkKey(stream, id) });
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

  /** Why the owner row is not ours any more, by its versionstamp: null where there is none. */
  #disowned(versionstamp: string | null): Error {
    if (versionstamp !== null) return this.#fenced();
    const { name, split, damaged } = this.#options;
    return new Error(`Cannot write the state in ${name}: that of ${split} is gone, so ${damaged}`);
  }

  #fenced(): FencedError {
    const { name, split } = this.#options;
    return new FencedError(
      `Cannot write the state in ${name}: another process has taken ${split} over. It goes on from the last ` +
        `checkpoint; this one must stop`,
    );
  }
}

/** How many bytes of values were read. */
function bytesOf(entries: readonly Deno.KvEntry<Uint8Array>[]): number {
  return entries.reduce((sum, { value }) => sum + value.length, 0);
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
