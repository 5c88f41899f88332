/**
 * The webhooks' outbox as an output of one source split: a trigger is acknowledged when the outbox has it, and delivered
 * whenever its receivers take it.
 *
 * A position is `{"outbox": id, "offset": n}`. Read back are the lines of this split behind it. Where it is none of this
 * outbox (the state came from another host, or the outbox was deleted) nothing is known of what was told: other outputs'
 * tails, and what the source brings again, come in once more, with the same ids. So that a crash in the middle of that
 * brings nothing twice, the place where the strange position was met is kept until the checkpoint knows a better one.
 *
 * @module
 */
import { join } from "node:path";
import { assert } from "../../../lib/assert.ts";
import type { Json } from "../../../lib/json.ts";
import { parseJsonObject } from "../../../lib/json_object.ts";
import { encodeOutboxLines, parseOutboxLine } from "../../../lib/outbox_line.ts";
import type { Clock, LineBatch, Sink } from "../../ports.ts";
import { writeDurably } from "./durable_file.ts";
import type { OutboxLog } from "./outbox_log.ts";

/** See the module's header. */
export interface OutboxSinkOptions {
  readonly log: OutboxLog;
  /** The split's name: no spaces. */
  readonly split: string;
  readonly clock: Pick<Clock, "wallUs" | "monotonicUs">;
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class OutboxSink implements Sink {
  readonly name = "webhooks";
  readonly readable = true;

  readonly #options: OutboxSinkOptions;
  /** From here on it may be read back: what a checkpoint was made with, the one before the last flush. */
  heldFrom = Infinity;
  /** When it was closed, by the monotonic clock; Infinity while it is open. */
  closedUs = Infinity;
  isOpen = false;

  #from: number | null = null;
  #flushedTo = 0;

  constructor(options: OutboxSinkOptions) {
    assert(/^[^\s/]+$/.test(options.split), "a split's name has no spaces in the outbox");
    this.#options = options;
  }

  async open(position: Json | null): Promise<void> {
    this.#from = await this.#place(position);
    this.heldFrom = this.#flushedTo = this.#from;
    this.closedUs = Infinity;
    this.isOpen = true;
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    const { log, split } = this.#options;
    assert(this.#from !== null, "a sink is opened before it is read back");
    for await (const bytes of log.lines(this.#from)) {
      const line = parseOutboxLine(bytes);
      if (line?.split === split) yield line.trigger;
    }
  }

  async write(lines: LineBatch): Promise<void> {
    const { log, split, clock } = this.#options;
    const toldMs = Math.floor(clock.wallUs() / 1000);
    await log.append(encodeOutboxLines(lines, { split, toldMs }), lines.count);
  }

  async flush(): Promise<Json> {
    const { log } = this.#options;
    const offset = await log.sync();
    // One checkpoint at a time: that of the flush before is committed by now.
    this.heldFrom = this.#flushedTo;
    this.#flushedTo = offset;
    return { outbox: log.id, offset };
  }

  close(): void {
    this.isOpen = false;
    this.closedUs = this.#options.clock.monotonicUs();
  }

  async #place(position: Json | null): Promise<number> {
    const { log } = this.#options;
    // What a split that failed has written may not be durable yet.
    await log.sync();
    if (position === null) return log.end;
    const { outbox, offset } = position as { readonly outbox?: unknown; readonly offset?: unknown };
    const isOurs = outbox === log.id && typeof offset === "number" && offset <= log.end;
    return isOurs ? offset : await this.#begin(position);
  }

  /** Where this position was met first. */
  async #begin(position: Json): Promise<number> {
    const { log, split, notice } = this.#options;
    const path = join(log.directory, `${split}.begun`);
    const known = await readJson(path);
    const text = JSON.stringify(position);
    const offset = known?.["offset"];
    const isKnown = known?.["position"] === text && known["outbox"] === log.id;
    if (isKnown && typeof offset === "number" && offset <= log.end) return offset;
    await writeDurably(
      path,
      new TextEncoder().encode(JSON.stringify({ position: text, outbox: log.id, offset: log.end })),
    );
    notice(
      `The checkpoint knows another outbox than the one in ${log.directory}, which is begun anew for this: what that one ` +
        "holds is delivered where it is, and what was told since the checkpoint may be delivered again, with the same ids",
    );
    return log.end;
  }
}

/** Null where there is none, or it is damaged: then the place is where it is met now. */
async function readJson(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    return parseJsonObject(await Deno.readFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
