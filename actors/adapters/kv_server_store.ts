/**
 * Checkpoints in a Deno KV server (KV Connect: `denokv`, Deno Deploy), which every host can reach: the same rows as in a
 * file, and the same fence. There is no lock here, since taking over is what it is for; and no marker, so a server that
 * lost its data looks like a new one.
 *
 * The access token is in `DENO_KV_ACCESS_TOKEN`, where Deno itself looks for it.
 *
 * **Deno never gives up.** A call to a server that is away waits for ever, asks again and again (each try a line on
 * stderr), and goes on with that when the database is closed; there is no way to end it. So no call is made before the
 * server has answered a greeting, each has a limit of our own, and a store of which one has failed is done with. A write that nobody waits for any more may still reach the
 * server, minutes later: it then finds another owner row, the next store's, and does nothing.
 *
 * @module
 */
import { assert } from "../../lib/assert.ts";
import { type CheckpointCommit, type CheckpointStore, type ChunkRange, UnavailableError } from "../ports.ts";
import { greetKvServer, RefusedError } from "./kv_greeting.ts";
import { ATOMIC_BYTES_MAX } from "./kv_atomics.ts";
import { KvLane, type KvLanes } from "./kv_lane.ts";
import { KvRows } from "./kv_rows.ts";

/** How long a call may take, in ms. The largest has 0.8 MB up, or 3 MB down. */
const CALL_MS_MAX = 10_000;
/** Eight atomics under way at once: by then it is the network's or the server's throughput that counts. */
const UP_BYTES = { bytesMin: ATOMIC_BYTES_MAX, bytesMax: 8 * ATOMIC_BYTES_MAX };
/** From four full values in a list to as many as one has. */
const DOWN_BYTES = { bytesMin: 4 << 16, bytesMax: 64 << 16 };
const DAMAGED =
  "the database is damaged. Put a copy of it back, or name another in checkpoint.path to begin afresh";

/** Deno's words for what a server answers that is there and won't do it: one that is read-only, or speaks otherwise. */
const REFUSAL = /\(status=4(?!08|29)\d\d /;

/** Where the state is, and of which split. */
export interface KvServerStoreOptions {
  /** `https://…`, or `http://…` where the network can be trusted with the token. */
  readonly url: string;
  /** The source split's name: splits share a database and don't see each other. */
  readonly split: string;
  /** Those of all stores that share the link; its own where they are not given. */
  readonly lanes?: KvLanes;
  /** How long a call may take, in ms; 10 s where it is not given. */
  readonly callMsMax?: number;
}

/** Lanes to a server and from it, for all stores of a process that use it. */
export function kvServerLanes(): KvLanes {
  return { up: new KvLane(UP_BYTES), down: new KvLane(DOWN_BYTES) };
}

/** See the module's header. */
export class KvServerStore implements CheckpointStore {
  readonly name: string;

  readonly #options: KvServerStoreOptions;
  readonly #lanes: KvLanes;
  #kv: Deno.Kv | null = null;
  #rows: KvRows | null = null;
  /** Why nothing more is asked for. */
  #failure: Error | null = null;

  /** @throws {Error} where the address has a password in it */
  constructor(options: KvServerStoreOptions) {
    this.name = nameOf(options.url);
    this.#options = options;
    this.#lanes = options.lanes ?? kvServerLanes();
  }

  /**
   * Looks whether the server is there and lets us in; changes nothing.
   *
   * @throws {UnavailableError} where it is away, or doesn't answer in time
   * @throws {Error} where the token is missing or refused, or what is there is no Deno KV server
   */
  async check(): Promise<void> {
    const { url, callMsMax = CALL_MS_MAX } = this.#options;
    try {
      await greetKvServer(url, callMsMax);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /**
   * Takes the split over.
   *
   * @throws as {@link check} does
   * @throws {FencedError} where another process takes it over right now
   */
  async open(): Promise<Uint8Array | null> {
    assert(this.#kv === null && this.#failure === null, "a store is opened once");
    await this.check();
    const opening = Deno.openKv(this.#options.url);
    try {
      this.#kv = await this.#call(() => opening);
    } catch (error) {
      // It may be opened after all, when nobody waits for it any more.
      opening.then((kv) => kv.close(), () => {});
      throw error;
    }
    this.#rows = new KvRows({
      kv: this.#kv,
      split: this.#options.split,
      name: this.name,
      damaged: DAMAGED,
      lanes: this.#lanes,
      call: (run) => this.#call(run),
    });
    const manifest = await this.#rows.takeOver();
    if (manifest === null) await this.#rows.sweep([]);
    return manifest;
  }

  read(range: ChunkRange): AsyncIterable<Uint8Array> {
    return this.#use().read(range);
  }

  async commit(commit: CheckpointCommit): Promise<void> {
    await this.#use().commit(commit, () => Promise.resolve());
  }

  async sweep(live: readonly ChunkRange[]): Promise<void> {
    await this.#use().sweep(live);
  }

  close(): void {
    this.#kv?.close();
    this.#kv = null;
    this.#rows = null;
  }

  #use(): KvRows {
    assert(this.#rows !== null, "a store is opened before it is used");
    return this.#rows;
  }

  /** Makes a call, unless one has failed before; waits for its answer as long as it may take. */
  async #call<T>(run: () => Promise<T>): Promise<T> {
    if (this.#failure !== null) throw this.#failure;
    const { callMsMax = CALL_MS_MAX } = this.#options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const why = `the server has not answered for ${callMsMax / 1000} s`;
      timer = setTimeout(() => reject(new Error(why)), callMsMax);
    });
    try {
      return await Promise.race([run(), late]);
    } catch (cause) {
      this.#failure ??= this.#explain(cause);
      throw this.#failure;
    } finally {
      clearTimeout(timer);
    }
  }

  #explain(cause: unknown): Error {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot use the state in ${this.name}: ${reason}`;
    // A right that Deno was not given is one that it won't get.
    const isFinal = cause instanceof RefusedError || cause instanceof Deno.errors.NotCapable ||
      REFUSAL.test(reason);
    return isFinal ? new Error(message, { cause }) : new UnavailableError(message, { cause });
  }
}

/** The address as it is shown; one with a password in it is not, nor used: Deno would show it in its messages. */
function nameOf(address: string): string {
  const url = new URL(address);
  const secret = url.username !== "" || url.password !== "";
  url.username = "";
  url.password = "";
  if (!secret) return url.href;
  throw new Error(
    `Cannot use the state in ${url.href}: a user or password in the address is not used. Put the server's access token ` +
      "into the environment's DENO_KV_ACCESS_TOKEN",
  );
}
