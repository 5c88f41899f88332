/**
 * Checkpoints in a Deno KV file.
 *
 * ```
 *   directory/lock       held by the process that uses the directory
 *   directory/format     there has been a checkpoint here
 *   directory/state.kv   the rows: see kv_rows.ts
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { assert } from "../../lib/assert.ts";
import type { CheckpointCommit, CheckpointStore, ChunkRange } from "../ports.ts";
import { explainKvFailure } from "./kv_failure.ts";
import { KvLane, type KvLanes } from "./kv_lane.ts";
import { KvRows } from "./kv_rows.ts";
import { StateInUseError, StateLock } from "./state_lock.ts";
import { emptyState, readMarker, refuseEmpty, type StateMarker, writeMarker } from "./state_marker.ts";

/** What to do about missing rows. */
const DAMAGED = "state.kv is damaged. Put a copy of it back, or move the directory away to begin afresh";

/** Where the state is, and of which split. */
export interface KvStoreOptions {
  readonly directory: string;
  /** The source split's name: splits share a file and don't see each other. */
  readonly split: string;
}

/** The files that a state directory has or may have, by their paths. */
export function stateFiles(directory: string): string[] {
  return ["lock", "format", "format.new", "state.kv", "state.kv-wal", "state.kv-shm"]
    .map((name) => join(directory, name));
}

/** What is open. */
interface Opened {
  readonly kv: Deno.Kv;
  readonly lock: StateLock;
  readonly rows: KvRows;
}

/** See the module's header. */
export class KvStore implements CheckpointStore {
  readonly name: string;

  readonly #split: string;
  #opened: Opened | null = null;
  #marker: StateMarker | null = null;

  constructor({ directory, split }: KvStoreOptions) {
    this.name = directory;
    this.#split = split;
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
      const rows = this.#rows(opening);
      const value = await rows.takeOver();
      if (value === null && this.#marker?.splits.includes(this.#split)) throw emptyState(this.name);
      this.#opened = { kv: opening, lock, rows };
      if (value === null) await rows.sweep([]);
      else await this.#mark();
      return value;
    } catch (error) {
      this.#opened = null;
      kv?.close();
      lock.close();
      throw error;
    }
  }

  read(range: ChunkRange): AsyncIterable<Uint8Array> {
    return this.#use().rows.read(range);
  }

  async commit(commit: CheckpointCommit): Promise<void> {
    await this.#use().rows.commit(commit, () => this.#mark());
  }

  async sweep(live: readonly ChunkRange[]): Promise<void> {
    await this.#use().rows.sweep(live);
  }

  close(): void {
    this.#opened?.kv.close();
    this.#opened?.lock.close();
    this.#opened = null;
  }

  #rows(kv: Deno.Kv): KvRows {
    return new KvRows({
      kv,
      split: this.#split,
      name: this.name,
      damaged: DAMAGED,
      // A file has one writer at a time.
      lanes: localLanes(),
      call: (run) => this.#explained(run),
    });
  }

  /** Says that this split has had a checkpoint, if that is not said yet. */
  async #mark(): Promise<void> {
    const splits = this.#marker?.splits ?? [];
    if (splits.includes(this.#split)) return;
    const marker = { splits: [...splits, this.#split] };
    await this.#explained(() => writeMarker(this.name, marker));
    this.#marker = marker;
  }

  #use(): Opened {
    assert(this.#opened !== null, "a store is opened before it is used");
    return this.#opened;
  }

  /** Runs something, and says of its failure what it means. */
  async #explained<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof StateInUseError) throw error;
      throw explainKvFailure(error, this.name);
    }
  }
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

/** One atomic after the other, and as much in a list as it takes: there is no link in between. */
function localLanes(): KvLanes {
  return {
    up: new KvLane({ bytesMin: 1, bytesMax: 1 }),
    down: new KvLane({ bytesMin: 64 << 16, bytesMax: 64 << 16 }),
  };
}
