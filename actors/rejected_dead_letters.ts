/**
 * A split's dead letters, and among them those of triggers that a webhook has given up (`SINK_REJECTED`), each once.
 *
 * ```
 *   flush ─▶ write what was given up ─▶ flush ─▶ tell the outbox that it is written ─▶ (the checkpoint)
 *                                     ^ a crash here: it is read back at the next start, and the outbox told then
 * ```
 *
 * Such a trigger was told long before, in another checkpoint, and its webhook gives it up at a time of its own. So it goes in
 * with a flush, and the outbox forgets it between that and the checkpoint: what is behind the checkpoint is read back, what
 * is before it was forgotten. Read back, it is the outbox's alone: the split must not take it for a trigger told since.
 *
 * @module
 */
import { encodeDeadLetter } from "../lib/dead_letter.ts";
import { parseWebhookLetter, webhookLetter } from "../lib/webhook_letter.ts";
import type { Json } from "../lib/json.ts";
import type { Clock, LineBatch, RefusedLine, Sink } from "./ports.ts";
import type { RejectedTrigger, WebhookEndpoint } from "./webhook_endpoint.ts";

/** Bytes in one write, about. */
const WRITE_BYTES = 1 << 19;

/** Where given up triggers come from. */
export interface Rejections {
  /** The outbox's id, part of a letter's position. */
  readonly outbox: string;
  /** Those that this split is to write. */
  take(split: string): Promise<readonly RejectedTrigger[]>;
  /** The webhook of a name; null where there is none any more. */
  endpoint(name: string): WebhookEndpoint | null;
}

/** See the module's header. */
export class RejectedDeadLetters implements Sink {
  readonly name: string;
  readonly readable: boolean;

  readonly #inner: Sink;
  readonly #rejections: Rejections;
  readonly #split: string;
  readonly #clock: Pick<Clock, "wallUs">;

  constructor(
    inner: Sink,
    { rejections, split, clock }: {
      readonly rejections: Rejections;
      readonly split: string;
      readonly clock: Pick<Clock, "wallUs">;
    },
  ) {
    this.name = inner.name;
    this.readable = inner.readable;
    this.#inner = inner;
    this.#rejections = rejections;
    this.#split = split;
    this.#clock = clock;
  }

  async open(position: Json | null): Promise<void> {
    await this.#inner.open(position);
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    for await (const line of this.#inner.readBack()) {
      const letter = parseWebhookLetter(line);
      if (letter === null) yield line;
      else if (letter.outbox === this.#rejections.outbox) {
        await this.#rejections.endpoint(letter.name)?.written([letter.offset]);
      }
    }
  }

  async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    await this.#inner.write(lines, refused);
  }

  async flush(): Promise<Json> {
    const taken = await this.#rejections.take(this.#split);
    if (taken.length === 0) return await this.#inner.flush();
    const byEndpoint = Map.groupBy(taken, ({ endpoint }) => endpoint);
    const offsetsOf = (triggers: readonly RejectedTrigger[]): number[] =>
      triggers.map(({ offset }) => offset);
    try {
      await this.#write(taken);
      const position = await this.#inner.flush();
      for (const [endpoint, triggers] of byEndpoint) await endpoint.written(offsetsOf(triggers));
      return position;
    } finally {
      for (const [endpoint, triggers] of byEndpoint) endpoint.unclaim(offsetsOf(triggers));
    }
  }

  close(): void {
    this.#inner.close();
  }

  async #write(taken: readonly RejectedTrigger[]): Promise<void> {
    const { outbox } = this.#rejections;
    const wallUs = this.#clock.wallUs();
    let lines: Uint8Array[] = [];
    let byteLength = 0;
    // In large writes: over Kafka each is a transaction, and those are paced.
    for (const [i, { endpoint: { name }, offset, detail, trigger }] of taken.entries()) {
      const line = encodeDeadLetter(webhookLetter({ name, outbox, offset }, { detail, trigger }), wallUs);
      lines.push(line);
      byteLength += line.length;
      if (byteLength < WRITE_BYTES && i < taken.length - 1) continue;
      await this.#writeLines(lines, byteLength);
      lines = [];
      byteLength = 0;
    }
  }

  async #writeLines(lines: readonly Uint8Array[], byteLength: number): Promise<void> {
    const bytes = new Uint8Array(byteLength);
    let at = 0;
    for (const line of lines) {
      bytes.set(line, at);
      at += line.length;
    }
    await this.#inner.write({ bytes, byteLength, count: lines.length }, (_line, why) => {
      throw new Error(`Cannot write dead letters: ${why}`);
    });
  }
}
