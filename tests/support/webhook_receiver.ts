/**
 * Receivers of webhooks on loopback: one that checks what Standard Webhooks say and notes what came, and raw ones for
 * answers that no server would give.
 *
 * @module
 */
import { Webhook } from "standardwebhooks";

/** A secret, and its text. */
export const SECRET = `whsec_${btoa("a secret of the tests, 32 bytes!")}`;

/** A request that came, with a signature that holds. */
export interface Delivery {
  readonly id: string;
  readonly body: string;
  readonly headers: Headers;
}

/** An honest receiver. */
export class WebhookReceiver {
  readonly deliveries: Delivery[] = [];
  /** Requests whose signature did not hold, and why. */
  readonly forged: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** @param answer to the n-th request, from 0 on */
  constructor(
    answer: (delivery: Delivery, n: number) => Response | Promise<Response> = () =>
      new Response(null, { status: 204 }),
    options: { readonly secret?: string; readonly tls?: { readonly cert: string; readonly key: string } } =
      {},
  ) {
    const webhook = new Webhook(options.secret ?? SECRET);
    const handler = async (request: Request): Promise<Response> => {
      const body = await request.text();
      try {
        webhook.verify(body, Object.fromEntries(request.headers));
      } catch (error) {
        this.forged.push(String(error));
      }
      const delivery = { id: request.headers.get("webhook-id") ?? "", body, headers: request.headers };
      this.deliveries.push(delivery);
      return await answer(delivery, this.deliveries.length - 1);
    };
    const listen = { port: 0, hostname: "127.0.0.1", onListen: (): void => {} };
    this.#server = options.tls === undefined
      ? Deno.serve(listen, handler)
      : Deno.serve({ ...listen, ...options.tls }, handler);
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook?of=tests`;
  }

  /** The ids that came, each once. */
  get ids(): string[] {
    return [...new Set(this.deliveries.map(({ id }) => id))].sort();
  }

  async close(): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A receiver that does with each connection what it is told. */
export class RawReceiver {
  connections = 0;
  readonly #listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  readonly #open = new Set<Deno.Conn>();
  readonly #serving: Promise<void>;

  constructor(serve: (connection: Deno.Conn) => Promise<void>) {
    this.#serving = this.#serve(serve);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}/`;
  }

  async close(): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) {
      try {
        connection.close();
      } catch (error) {
        // It was closed by what served it.
        if (!(error instanceof Deno.errors.BadResource)) throw error;
      }
    }
    await this.#serving;
  }

  async #serve(serve: (connection: Deno.Conn) => Promise<void>): Promise<void> {
    const served: Promise<void>[] = [];
    try {
      for await (const connection of this.#listener) {
        this.connections++;
        this.#open.add(connection);
        // Whatever the other side does to the connection is its right.
        served.push(serve(connection).catch(() => {}));
      }
    } catch {
      // It was closed.
    }
    await Promise.all(served);
  }
}
