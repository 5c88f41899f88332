/**
 * Answers that were given, for requests that come again with the same Idempotency-Key.
 *
 * ```
 *   ["answer", client, key]  →  number, fingerprint, answer        ["number", n]  →  client, key
 * ```
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

interface Row {
  readonly number: number;
  /** Of the request's body: another one under the same key is a mistake. */
  readonly fingerprint: string;
  readonly status: number;
  /** Deflated: outcomes repeat. */
  readonly packed: Uint8Array;
}

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
    let next = 0;
    for await (const { key } of kv.list({ prefix: ["number"] }, { reverse: true, limit: 1 })) {
      next = (key[1] as number) + 1;
    }
    return new IdempotencyStore(kv, keepMs, answersMax, next);
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
      const { value } = await this.#kv.get<Row>(["answer", client, key]);
      if (value !== null) {
        if (value.fingerprint !== fingerprint) return "other";
        return result = { status: value.status, body: await unpacked(value.packed) };
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
    const packed = await deflated(body);
    if (packed.length > ANSWER_BYTES_MAX) return;
    const number = this.#next++;
    const expireIn = this.#keepMs;
    const row: Row = { number, fingerprint, status, packed };
    const oldest = await this.#kv.get<[string, string]>(["number", number - this.#answersMax]);
    const atomic = this.#kv.atomic()
      .set(["answer", client, key], row, { expireIn })
      .set(["number", number], [client, key], { expireIn });
    if (oldest.value !== null) atomic.delete(oldest.key).delete(["answer", ...oldest.value]);
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
