/**
 * A `redis-server` for the bench alone: on loopback, a free port, nothing on disk. Debian has it in the package of that
 * name.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";

const STARTED_TRIES = 200;
const TRY_MS = 50;

/** A running server; `await using` stops it. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts one; null where there is none. */
export async function startRedis(directory: string): Promise<RedisServer | null> {
  const port = freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  let child: Deno.ChildProcess;
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    child = new Deno.Command("redis-server", { args: [...args, "--dir", directory], ...quiet }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  const stop = async (): Promise<void> => {
    try {
      child.kill();
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
    }
    await child.status;
  };
  for (let tries = 0; tries < STARTED_TRIES; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return { port, [Symbol.asyncDispose]: stop };
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await delay(TRY_MS);
  }
  await stop();
  throw new Error(`Cannot measure Redis: redis-server does not listen on port ${port}`);
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
