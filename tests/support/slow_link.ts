/**
 * A link of so many bits a second in front of a server: what goes through it, on whatever connections, shares them.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";

/** What is passed on at a time, in bytes: small, so that connections take turns. */
const PIECE_BYTES = 4096;

/** One way of the link. */
class Lane {
  readonly #bytesPerMs: number;
  #freeAtMs = 0;

  constructor(bitsPerSecond: number) {
    this.#bytesPerMs = bitsPerSecond / 8 / 1000;
  }

  /** Resolves when so many bytes have gone through, behind all that came before them. */
  async pass(bytes: number): Promise<void> {
    const nowMs = performance.now();
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + bytes / this.#bytesPerMs;
    if (this.#freeAtMs > nowMs) await delay(this.#freeAtMs - nowMs);
  }
}

/** See the module's header. */
export class SlowLink {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #to: { readonly hostname: string; readonly port: number };
  readonly #up: Lane;
  readonly #down: Lane;
  readonly #open = new Set<Deno.Conn>();
  readonly #running: Promise<void>;

  /** @param upstream the server's address, `http://HOST:PORT` */
  constructor(upstream: string, bitsPerSecond: number) {
    const { hostname, port } = new URL(upstream);
    this.#to = { hostname, port: Number(port) };
    this.#up = new Lane(bitsPerSecond);
    this.#down = new Lane(bitsPerSecond);
    this.#running = this.#accept();
  }

  /** The server's address, behind the link. */
  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) hangUp(connection);
    await this.#running;
  }

  async #accept(): Promise<void> {
    const ended: Promise<void>[] = [];
    try {
      for await (const client of this.#listener) ended.push(this.#connect(client));
    } finally {
      await Promise.all(ended);
    }
  }

  async #connect(client: Deno.Conn): Promise<void> {
    const server = await Deno.connect(this.#to);
    this.#open.add(client).add(server);
    await Promise.all([carry(client, server, this.#up), carry(server, client, this.#down)]);
  }
}

async function carry(from: Deno.Conn, to: Deno.Conn, lane: Lane): Promise<void> {
  const piece = new Uint8Array(PIECE_BYTES);
  try {
    for (let count = await from.read(piece); count !== null; count = await from.read(piece)) {
      await lane.pass(count);
      for (let at = 0; at < count;) at += await to.write(piece.subarray(at, count));
    }
  } catch {
    // One of the two has hung up, and the other hears of it.
  }
  hangUp(from);
  hangUp(to);
}

function hangUp(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed before.
  }
}
