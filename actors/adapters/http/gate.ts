/**
 * The gate in front of the HTTP server: takes connections, counts them, and cuts off those that waste its time.
 *
 * ```
 *   client ══ TCP ══▶ gate ══ loopback ══▶ (TLS) Deno.serve
 *                             │
 *                             ╰─ a byte of a request ─▶ request_timeout ─▶ a byte of its answer ─▶ idle_timeout ─▶ …
 * ```
 *
 * `Deno.serve` has no limit for connections, none for how long a request's head may take, and none for a client that
 * reads no answer; a few thousand sockets that send a byte a minute would use it up. The gate knows nothing of HTTP: a
 * request is open from its first byte until the server says something, and that is all it has to know to bound heads and
 * bodies alike. It passes bytes on as they are, at the price of one more copy: some 60 µs a request. TLS is none of its
 * business, either: a socket that Deno has begun a handshake on stays open after it is closed, until the client goes.
 *
 * Rejected: `node:http`, which has these limits since Deno 2.9 only, and no error where it has not.
 *
 * The server behind it listens on loopback, where other processes of this host can find it: it answers only connections
 * that {@link Gate.peerOf} knows.
 *
 * @module
 */
const BUFFER_BYTES = 64 << 10;
/** How often deadlines are looked at, ms. */
const LOOK_MS = 250;
const SETTLED_LOOK_MS = 5;

const TOO_MANY = new TextEncoder().encode(
  "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
);
const TOO_SLOW = new TextEncoder().encode(
  "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
);

/** See the module's header. */
export interface GateOptions {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Whether the bytes are TLS, so that nothing can be said between them. */
  readonly isTls: boolean;
  /** The server's, on loopback. */
  readonly serverPort: number;
  readonly connectionsMax: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Told of each connection that is refused. */
  readonly refused: () => void;
}

/** Why connections ended that did not end by themselves. */
export interface GateCounts {
  /** There were too many. */
  refused: number;
  /** A request was too slow to come, or its answer to be taken. */
  cut: number;
}

interface Connection {
  readonly client: Deno.Conn;
  server: Deno.TcpConn | null;
  /** Whether a request has begun to come and nothing was answered yet. */
  isAsking: boolean;
  deadlineMs: number;
  /** Since when the client has not taken what it was given; Infinity where it has. */
  untakenSinceMs: number;
  isClosed: boolean;
}

/** See the module's header. */
export class Gate {
  readonly counts: GateCounts = { refused: 0, cut: 0 };
  readonly #options: GateOptions;
  #serverPort: number;
  #isStopped = false;
  readonly #listener: Deno.Listener;
  readonly #connections = new Set<Connection>();
  /** By the port that the server sees. */
  readonly #peers = new Map<number, string>();
  readonly #running: Promise<void>;
  readonly #looking: ReturnType<typeof setInterval>;

  /**
   * Listens.
   *
   * @throws {Error} where the address is taken or not ours
   */
  constructor(options: GateOptions) {
    this.#options = options;
    this.#serverPort = options.serverPort;
    const { hostname, port } = options;
    this.#listener = Deno.listen({ hostname, port });
    this.#running = this.#accept();
    this.#looking = setInterval(() => this.#cutSlow(), LOOK_MS);
  }

  /** Where it listens. */
  get address(): Deno.NetAddr {
    return this.#listener.addr as Deno.NetAddr;
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#connections.size;
  }

  /** The address of the client whose bytes come to the server from this port; null where it is none of the gate's. */
  peerOf(serverSidePort: number): string | null {
    return this.#peers.get(serverSidePort) ?? null;
  }

  /** Leads to another server from here on; who was with the one before has to come again. */
  leadTo(serverPort: number): void {
    this.endAll();
    this.#serverPort = serverPort;
  }

  /** Takes no more connections. */
  stop(): void {
    this.#isStopped = true;
    try {
      this.#listener.close();
    } catch {
      // It is closed already.
    }
  }

  /** Resolves when all connections have ended, which they do when the server has ended its side; or when time is up. */
  async settled(ms: number): Promise<void> {
    const untilMs = performance.now() + ms;
    while (this.#connections.size > 0 && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, SETTLED_LOOK_MS));
    }
  }

  /** Ends the connections whose clients have taken nothing for so long, though there is something. */
  endStuck(ms: number): void {
    const sinceMs = performance.now() - ms;
    for (const connection of this.#connections) {
      if (connection.untakenSinceMs <= sinceMs) this.#end(connection);
    }
  }

  /** Ends all connections, whatever they are at. */
  endAll(): void {
    for (const connection of this.#connections) this.#end(connection);
  }

  /** Ends, with all connections. */
  async close(): Promise<void> {
    this.stop();
    this.endAll();
    clearInterval(this.#looking);
    await this.#running;
  }

  async #accept(): Promise<void> {
    for (;;) {
      let client: Deno.Conn;
      try {
        client = await this.#listener.accept();
      } catch (error) {
        if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return;
        // One that was gone before it was taken, or no file descriptors left: others may do better, a little later.
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      if (this.#connections.size >= this.#options.connectionsMax) {
        this.counts.refused++;
        this.#options.refused();
        const said = this.#options.isTls ? Promise.resolve(0) : client.write(TOO_MANY);
        said.catch(() => {}).finally(() => closeQuietly(client));
        continue;
      }
      this.#serve(client);
    }
  }

  #serve(client: Deno.Conn): void {
    const connection: Connection = {
      client,
      server: null,
      isAsking: true,
      // A connection without a word has the time of a request.
      deadlineMs: performance.now() + this.#options.requestTimeoutMs,
      untakenSinceMs: Infinity,
      isClosed: false,
    };
    this.#connections.add(connection);
    this.#connect(connection).catch((error) => {
      // The server has ended by itself, which Deno 2.4 says when its last connection has ended.
      if (error instanceof Deno.errors.ConnectionRefused && !this.#isStopped) this.endAll();
      this.#end(connection);
    });
  }

  async #connect(connection: Connection): Promise<void> {
    const { client } = connection;
    const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#serverPort });
    connection.server = server;
    if (connection.isClosed) return closeQuietly(server);
    server.setNoDelay();
    if ("setNoDelay" in client) (client as Deno.TcpConn).setNoDelay();
    const { port } = server.localAddr as Deno.NetAddr;
    this.#peers.set(port, (client.remoteAddr as Deno.NetAddr).hostname);
    try {
      await Promise.all([this.#passRequests(connection, server), this.#passAnswers(connection, server)]);
    } finally {
      this.#peers.delete(port);
      this.#end(connection);
    }
  }

  async #passRequests(connection: Connection, server: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(BUFFER_BYTES);
    for (;;) {
      const count = await connection.client.read(buffer);
      if (count === null) break;
      if (!connection.isAsking) {
        connection.isAsking = true;
        connection.deadlineMs = performance.now() + this.#options.requestTimeoutMs;
      }
      await writeAll(server, buffer.subarray(0, count));
    }
    await server.closeWrite();
  }

  async #passAnswers(connection: Connection, server: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(BUFFER_BYTES);
    for (;;) {
      const count = await server.read(buffer);
      if (count === null) break;
      connection.isAsking = false;
      connection.deadlineMs = performance.now() + this.#options.idleTimeoutMs;
      connection.untakenSinceMs = performance.now();
      await writeAll(connection.client, buffer.subarray(0, count));
      connection.untakenSinceMs = Infinity;
    }
    // What the client still has to say nobody reads.
    this.#end(connection);
  }

  #cutSlow(): void {
    const nowMs = performance.now();
    for (const connection of this.#connections) {
      if (nowMs < connection.deadlineMs) continue;
      this.counts.cut++;
      if (!connection.isAsking || this.#options.isTls) {
        this.#end(connection);
        continue;
      }
      connection.deadlineMs = Infinity;
      // Nothing was answered, so this is the answer; it must not wait for one who reads nothing.
      const tooLong = setTimeout(() => this.#end(connection), LOOK_MS);
      connection.client.write(TOO_SLOW).catch(() => {}).finally(() => {
        clearTimeout(tooLong);
        this.#end(connection);
      });
    }
  }

  #end(connection: Connection): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    this.#connections.delete(connection);
    closeQuietly(connection.client);
    if (connection.server !== null) closeQuietly(connection.server);
  }
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
}
