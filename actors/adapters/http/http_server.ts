/**
 * The HTTP server: `Deno.serve` on loopback, behind the gate.
 *
 * @module
 */
import type { HttpConfig } from "../../../lib/http_config.ts";
import { parseListen } from "../../../lib/http_config.ts";
import { problem } from "./answer.ts";
import { Gate } from "./gate.ts";

/** How long requests may take to end when it stops, ms. */
const STOP_MS = 5000;
/** A client that has taken nothing for this long is not waited for, ms. */
const STUCK_MS = 500;
/** How long the gate may take to pass the last of their answers on, ms. */
const PASS_ON_MS = 500;

/** How long after it has ended it is served again, ms. */
const SERVE_AGAIN_MS = 20;

/** Answers a request of a peer, which is an address. */
export type Handler = (request: Request, peer: string) => Promise<Response> | Response;

/** See the module's header. */
export class HttpServer {
  readonly gate: Gate;
  readonly #serve: () => Deno.HttpServer<Deno.NetAddr>;
  readonly #failed: (error: unknown) => void;
  readonly #isTls: boolean;
  #server: Deno.HttpServer<Deno.NetAddr>;
  #isStopping = false;

  private constructor(parts: {
    gate: Gate;
    server: Deno.HttpServer<Deno.NetAddr>;
    serve: () => Deno.HttpServer<Deno.NetAddr>;
    failed: (error: unknown) => void;
    isTls: boolean;
  }) {
    this.gate = parts.gate;
    this.#serve = parts.serve;
    this.#failed = parts.failed;
    this.#isTls = parts.isTls;
    this.#server = parts.server;
    this.#watch();
  }

  /**
   * Listens.
   *
   * @param options.refused is told of each connection that there was no room for
   * @param options.failed is told of a handler's error, which its client sees as a 500 without a word
   * @throws {Error} where the address or the certificate can't be used; the message says which
   */
  static async start(
    listen: string,
    options: {
      readonly http: HttpConfig;
      readonly handler: Handler;
      readonly refused: () => void;
      readonly failed: (error: unknown) => void;
    },
  ): Promise<HttpServer> {
    const { http, handler, refused, failed } = options;
    const tls = http.tls === null ? {} : {
      cert: await readPem(http.tls.certFile, "http.tls.cert_file"),
      key: await readPem(http.tls.keyFile, "http.tls.key_file"),
    };
    const address = parseListen(listen) as NonNullable<ReturnType<typeof parseListen>>;
    let gate: Gate | null = null;
    const explain = (cause: unknown): Error => {
      const reason = cause instanceof Deno.errors.AddrInUse
        ? "another process listens there"
        : cause instanceof Deno.errors.PermissionDenied
        ? "permission denied"
        : cause instanceof Error
        ? cause.message
        : String(cause);
      return new Error(`Cannot listen on ${listen}: ${reason}`, { cause });
    };
    const serve = (): Deno.HttpServer<Deno.NetAddr> =>
      Deno.serve({
        ...tls,
        hostname: "127.0.0.1",
        port: 0,
        onListen: () => {},
        onError: (error) => {
          failed(error);
          return problem(500, "It was said in the log");
        },
      }, (request, { remoteAddr }) => {
        const peer = gate?.peerOf((remoteAddr as Deno.NetAddr).port) ?? null;
        if (peer === null) return problem(403, "Come through the door", { connection: "close" });
        return handler(request, peer);
      }) as Deno.HttpServer<Deno.NetAddr>;
    let server: Deno.HttpServer<Deno.NetAddr>;
    try {
      server = serve();
    } catch (cause) {
      throw explain(cause);
    }
    try {
      gate = new Gate({
        ...address,
        isTls: http.tls !== null,
        serverPort: server.addr.port,
        connectionsMax: http.connectionsMax,
        requestTimeoutMs: http.requestTimeoutUs / 1000,
        idleTimeoutMs: http.idleTimeoutUs / 1000,
        refused,
      });
    } catch (cause) {
      await server.shutdown();
      throw explain(cause);
    }
    return new HttpServer({ gate, server, serve, failed, isTls: http.tls !== null });
  }

  /** Where it is to be found. */
  get url(): string {
    const { hostname, port } = this.gate.address;
    return `${this.#isTls ? "https" : "http"}://${
      hostname.includes(":") ? `[${hostname}]` : hostname
    }:${port}`;
  }

  /** Takes no more connections; ends when all requests are answered, or have had their time. Streams have to be ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.gate.stop();
    this.gate.endStuck(STUCK_MS);
    const late = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, STOP_MS);
      Deno.unrefTimer(timer);
    });
    await Promise.race([this.#server.shutdown().catch(() => {}), late]);
    await this.gate.settled(PASS_ON_MS);
    await this.gate.close();
  }

  /**
   * `Deno.serve` is over for good with the first connection that it has no file descriptor for, and ends the process, where
   * nobody looks. Another one takes its place.
   */
  #watch(): void {
    this.#server.finished.catch(async (error) => {
      if (this.#isStopping) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#failed(
        new Error(
          `all connections were ended, since no more could be taken (${reason}). If there are too few file descriptors ` +
            "(ulimit -n), allow more or fewer http.connections_max: each takes three",
        ),
      );
      // Gives back the descriptors that the next one needs.
      this.gate.endAll();
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, SERVE_AGAIN_MS));
        if (this.#isStopping) return;
        try {
          this.#server = this.#serve();
          break;
        } catch {
          this.gate.endAll();
        }
      }
      this.gate.leadTo(this.#server.addr.port);
      this.#watch();
    });
  }
}

async function readPem(path: string, key: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new Error(`Cannot read ${key} from ${path}`, { cause });
  }
}
