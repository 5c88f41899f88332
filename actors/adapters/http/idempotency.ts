/**
 * Answers that were given, for requests that come again with the same Idempotency-Key.
 *
 * ```
 *   ["given", client, key]  →  fingerprint, answer        ["order", n]  →  client, key
 * ```
 *
 * Both are JSON as bytes, the first deflated: what is not bytes Deno KV writes in V8's format, which an older Deno can't
 * read.
 *
 * A repeated record does no harm anyway: its id is known. What a key adds is the same *answer*, so that a client that was
 * cut off learns what became of its records the first time. It is written after the checkpoint that has them and before
 * the answer is given; a crash between the two leaves a repetition that is answered line by line as suppressed.
 *
 * Kept for a time and up to a number, whichever is first: the oldest go.
 *
 * @module
 */

/** Answers kept at most. */
const ANSWERS_MAX = 100_000;
/** An answer that is larger is not kept. A value in Deno KV has at most 65,536 bytes. */
const ANSWER_BYTES_MAX = 60_000;

/** An answer that was given. */
export interface KeptAnswer {
  readonly status: number;
  /** JSON. */
  readonly body: string;
}

interface Row extends KeptAnswer {
  /** Of the request's body: another one under the same key is a mistake. */
  readonly fingerprint: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** See the module's header. */
export class IdempotencyStore {
  readonly #kv: Deno.Kv;
  readonly #keepMs: number;
  readonly #answersMax: number;
  readonly #pending = new Map<
    string,
    { readonly fingerprint: string; readonly answer: Promise<KeptAnswer | null> }
  >();
  #next: number;

  private constructor(kv: Deno.Kv, keepMs: number, answersMax: number, next: number) {
    this.#kv = kv;
    this.#keepMs = keepMs;
    this.#answersMax = answersMax;
    this.#next = next;
  }

  /** Opens the file; one that is not there is made. */
  static async open(
    path: string,
    { keepMs, answersMax = ANSWERS_MAX }: { keepMs: number; answersMax?: number },
  ): Promise<IdempotencyStore> {
    const kv = await Deno.openKv(path);
    try {
      let next = 0;
      for await (const { key } of kv.list({ prefix: ["order"] }, { reverse: true, limit: 1 })) {
        next = (key[1] as number) + 1;
      }
      return new IdempotencyStore(kv, keepMs, answersMax, next);
    } catch (error) {
      kv.close();
      throw error;
    }
  }

  /**
   * Answers a request, by what was answered before where there is such.
   *
   * @param answer makes the answer; null or an error is not kept
   * @returns `"other"` where the key came with another body before
   */
  async once(
    request: { readonly client: string; readonly key: string; readonly fingerprint: string },
    answer: () => Promise<{ readonly given: Response; readonly kept: KeptAnswer | null }>,
  ): Promise<Response | KeptAnswer | "other"> {
    const { client, key, fingerprint } = request;
    const name = JSON.stringify([client, key]);
    const before = this.#pending.get(name);
    if (before !== undefined) {
      if (before.fingerprint !== fingerprint) return "other";
      const kept = await before.answer;
      if (kept !== null) return kept;
      return await this.once(request, answer);
    }
    const first = Promise.withResolvers<KeptAnswer | null>();
    this.#pending.set(name, { fingerprint, answer: first.promise });
    let result: KeptAnswer | null = null;
    try {
      const { value } = await this.#kv.get<Uint8Array>(["given", client, key]);
      if (value !== null) {
        const row: Row = JSON.parse(await unpacked(value));
        if (row.fingerprint !== fingerprint) return "other";
        return result = { status: row.status, body: row.body };
      }
      const { given, kept } = await answer();
      if (kept !== null) await this.#keep(request, kept);
      result = kept;
      return given;
    } finally {
      this.#pending.delete(name);
      first.resolve(result);
    }
  }

  /** Closes the file. */
  close(): void {
    this.#kv.close();
  }

  async #keep(
    { client, key, fingerprint }: { client: string; key: string; fingerprint: string },
    { status, body }: KeptAnswer,
  ): Promise<void> {
    const row: Row = { fingerprint, status, body };
    // Outcomes repeat.
    const packed = await deflated(JSON.stringify(row));
    if (packed.length > ANSWER_BYTES_MAX) return;
    const number = this.#next++;
    const expireIn = this.#keepMs;
    const oldest = await this.#kv.get<Uint8Array>(["order", number - this.#answersMax]);
    const atomic = this.#kv.atomic()
      .set(["given", client, key], packed, { expireIn })
      .set(["order", number], encoder.encode(JSON.stringify([client, key])), { expireIn });
    if (oldest.value !== null) {
      const [hadClient, hadKey]: [string, string] = JSON.parse(decoder.decode(oldest.value));
      atomic.delete(oldest.key).delete(["given", hadClient, hadKey]);
    }
    await atomic.commit();
  }
}

async function deflated(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpacked(bytes: Uint8Array): Promise<string> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(
    new DecompressionStream("deflate-raw"),
  );
  return await new Response(stream).text();
}
