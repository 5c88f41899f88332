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
import { greetKvServer } from "../../actors/adapters/kv_greeting.ts";
import { freePorts } from "./free_ports.ts";
import { GivenServer, type TestServer } from "./given_server.ts";
import { succeeds } from "./succeeds.ts";

const READY_MS_MAX = 30_000;
const TOKEN_ENV = "DENO_KV_ACCESS_TOKEN";

/** A server that runs. */
export interface KvServer extends TestServer {
  /** As in `checkpoint.path`. */
  readonly url: string;
  /** Its access token, which is in this process's environment as well. */
  readonly token: string;
  /** SIGSTOP: it holds its connections and answers nothing. */
  pause(): void;
  /** SIGCONT, after {@link pause}. */
  resume(): void;
  /** The data is kept unless it is to be lost. */
  restart(data?: "kept" | "lost"): Promise<void>;
}

/** Starts a server, or uses the one of DENOKV_URL; null, said once on stderr, where there is none to be had. */
export async function startKvServer(): Promise<KvServer | null> {
  const given = Deno.env.get("DENOKV_URL");
  if (given !== undefined) return new GivenKvServer(given);
  const executable = Deno.env.get("DENOKV_BIN") ?? "denokv";
  if (await succeeds(executable, ["--help"])) return await OwnServer.start(executable);
  const text = "SKIPPED: no Deno KV server: neither DENOKV_URL nor denokv (DENOKV_BIN) is there\n";
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  return null;
}

/** Somebody else's server. */
class GivenKvServer extends GivenServer implements KvServer {
  readonly url: string;
  readonly token = Deno.env.get(TOKEN_ENV) ?? "";

  constructor(url: string) {
    super("DENOKV_URL");
    this.url = url;
  }

  pause(): void {
    throw new Error("the server of DENOKV_URL is not ours to stop");
  }

  resume(): void {
    throw new Error("the server of DENOKV_URL is not ours to start");
  }
}

/** One of our own. */
class OwnServer implements KvServer {
  readonly isOurs = true;
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
    this.#address = `127.0.0.1:${freePorts(1).join()}`;
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
    for (;;) {
      try {
        await greetKvServer(this.url, READY_MS_MAX);
        return;
      } catch (error) {
        if (Date.now() > giveUpAt) throw new Error("The Deno KV server does not come up", { cause: error });
        await delay(20);
      }
    }
  }

  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
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
}
