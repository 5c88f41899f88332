/**
 * Something between a Deno KV server and its clients that loses what a test tells it to.
 *
 * @module
 */

/** What becomes of a request. A lost one is answered as balancers do whose server is away, and the client asks again. */
export type Fate = "pass" | "lose the request" | "lose the answer" | "never answer";

/** See the module's header. */
export class KvProxy {
  /** Asked for each request, by the last part of its path: `atomic_write`, `snapshot_read`. */
  fate: (what: string) => Fate = () => "pass";
  /** The requests that were passed on, so that a test can send them once more. */
  readonly passed: { readonly what: string; again(): Promise<void> }[] = [];

  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #upstream: string;
  readonly #held: (() => void)[] = [];

  constructor(upstream: string) {
    this.#upstream = upstream;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /** For `Deno.openKv`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Answers what it has held back, as one who is away does, so that nobody waits any more. */
  release(): void {
    this.fate = () => "pass";
    for (const answer of this.#held.splice(0)) answer();
  }

  async close(): Promise<void> {
    this.release();
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const what = pathname.split("/").at(-1) ?? "";
    const away = new Response("away", { status: 503 });
    const body = await request.arrayBuffer();
    const fate = this.fate(what);
    if (fate === "never answer") {
      await new Promise<void>((resolve) => this.#held.push(resolve));
      return away;
    }
    if (fate === "lose the request") return away;
    const headers = new Headers(request.headers);
    headers.delete("host");
    const pass = (): Promise<Response> =>
      fetch(new URL(pathname, this.#upstream), {
        method: request.method,
        headers,
        ...(body.byteLength === 0 ? {} : { body }),
      });
    this.passed.push({ what, again: async () => void await (await pass()).arrayBuffer() });
    const response = await pass();
    const answer = await response.arrayBuffer();
    return fate === "lose the answer" ? away : new Response(answer, response);
  }
}
