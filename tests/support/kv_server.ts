/**
 * A real Deno KV server for the tests, on loopback, its data in a temporary directory.
 *
 * ```
 *   DENOKV_URL is set        that server is used with the environment's DENO_KV_ACCESS_TOKEN, and never stopped
 *   DENOKV_BIN, or denokv    that is started
 *   neither                  null: the tests that need it report themselves ignored
 * ```
 *
 * There is no package of it but by `cargo install denokv`, which takes some twenty minutes. So nobody has to have it.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const READY_MS_MAX = 30_000;
const TOKEN_ENV = "DENO_KV_ACCESS_TOKEN";

/** A server that runs. */
export interface KvServer {
  /** As in `checkpoint.path`. */
  readonly url: string;
  /** Its access token, which is in this process's environment as well. */
  readonly token: string;
  /** Ends it for good, and removes its data. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill}, on the same port and, unless they are to be lost, the same data. */
  restart(data?: "kept" | "lost"): Promise<void>;
}

/** Starts a server, or uses the one of DENOKV_URL; null, said once on stderr, where there is none to be had. */
export async function startKvServer(): Promise<KvServer | null> {
  const given = Deno.env.get("DENOKV_URL");
  if (given !== undefined) return new GivenServer(given);
  const executable = Deno.env.get("DENOKV_BIN") ?? "denokv";
  if (await isThere(executable)) return await OwnServer.start(executable);
  const text = "SKIPPED: no Deno KV server: neither DENOKV_URL nor denokv (DENOKV_BIN) is there\n";
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  return null;
}

async function isThere(executable: string): Promise<boolean> {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(executable, { args: ["--help"], ...quiet }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Somebody else's server. */
class GivenServer implements KvServer {
  readonly url: string;
  readonly token = Deno.env.get(TOKEN_ENV) ?? "";

  constructor(url: string) {
    this.url = url;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  kill(): Promise<void> {
    return Promise.reject(new Error("the server of DENOKV_URL is not ours to kill"));
  }

  restart(): Promise<void> {
    return Promise.reject(new Error("the server of DENOKV_URL is not ours to start"));
  }
}

/** One of our own. */
class OwnServer implements KvServer {
  readonly url: string;
  readonly token: string;
  readonly #executable: string;
  readonly #directory: string;
  readonly #address: string;
  #data = 0;
  #process: Deno.ChildProcess | null = null;

  private constructor(executable: string, directory: string) {
    this.#executable = executable;
    this.#directory = directory;
    this.#address = `127.0.0.1:${freePort()}`;
    this.url = `http://${this.#address}`;
    this.token = crypto.randomUUID();
    Deno.env.set(TOKEN_ENV, this.token);
  }

  static async start(executable: string): Promise<OwnServer> {
    const server = new OwnServer(executable, await Deno.makeTempDir({ prefix: "fencepost-kv-" }));
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async restart(data: "kept" | "lost" = "kept"): Promise<void> {
    if (data === "lost") this.#data++;
    const path = join(this.#directory, `${this.#data}.sqlite`);
    this.#process = new Deno.Command(this.#executable, {
      args: ["--sqlite-path", path, "serve", "--addr", this.#address],
      env: { [TOKEN_ENV]: this.token },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const giveUpAt = Date.now() + READY_MS_MAX;
    while (!await this.#answers()) {
      if (Date.now() > giveUpAt) throw new Error("The Deno KV server does not come up");
      await delay(20);
    }
  }

  async kill(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    process.kill("SIGKILL");
    await process.status;
  }

  async stop(): Promise<void> {
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }

  async #answers(): Promise<boolean> {
    try {
      const response = await fetch(this.url, {
        method: "POST",
        headers: { authorization: `Bearer ${this.token}` },
        body: JSON.stringify({ supportedVersions: [2, 3] }),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }
}

/** A port that nobody listens on, right now. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
