/**
 * Server-sent events, for tests: read one by one, as the standard says that they are to be read.
 *
 * @module
 */

/** One event; `comment` for a line that is none. */
export interface StreamEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** See the module's header. */
export class EventStream {
  readonly response: Response;
  /** Comments so far. */
  comments = 0;
  readonly #lines: AsyncIterator<string>;
  readonly #abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#lines = linesOf(response.body as ReadableStream<Uint8Array<ArrayBuffer>>);
  }

  /** Opens one. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const abort = new AbortController();
    return new EventStream(await fetch(url, { headers, signal: abort.signal }), abort);
  }

  /** The next event; null at the end. */
  async next(): Promise<StreamEvent | null> {
    let id: string | null = null;
    let event = "message";
    let data: string | null = null;
    for (;;) {
      const { done, value: line } = await this.#lines.next();
      if (done === true) return null;
      if (line === "") {
        if (data !== null) return { id, event, data };
        continue;
      }
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) as unknown as [string, string, string];
      if (field === "") this.comments++;
      else if (field === "id") id = value;
      else if (field === "event") event = value;
      else if (field === "data") data = data === null ? value : `${data}\n${value}`;
    }
  }

  /** As many events as asked for. */
  async take(count: number): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === null) throw new Error(`The stream ended after ${events.length} of ${count} events`);
      events.push(event);
    }
    return events;
  }

  /** Resolves at the first comment that is yet to come. */
  async comment(): Promise<void> {
    const before = this.comments;
    while (this.comments === before) {
      if ((await this.#lines.next()).value?.startsWith(":") === true) this.comments++;
    }
  }

  /** Hangs up. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#lines.return?.().catch(() => {});
  }
}

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() as string;
    yield* lines;
  }
}
