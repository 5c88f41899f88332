/**
 * A live source that keeps what it was sent, as a log does: it can be read again from a position, waits at its end, and
 * grows while nobody reads.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import { SimulatedSource, type World } from "./simulated_ports.ts";

/** The log itself, which outlives who reads it. */
export class LiveLog {
  readonly lines: string[] = [];
  #wake: (() => void)[] = [];

  /** Appends records; whoever waits for them gets them. */
  append(...lines: readonly string[]): void {
    this.lines.push(...lines);
    for (const resolve of this.#wake.splice(0)) resolve();
  }

  /** Resolves when there is more, or the signal is aborted. */
  async more(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** A process's view of the log. */
export class LiveLogSource extends SimulatedSource {
  readonly #log: LiveLog;
  readonly #world: World;
  #next = 0;
  #waits = false;

  constructor(world: World, log: LiveLog) {
    super(world, [], { batchRecords: 1, live: true });
    this.#world = world;
    this.#log = log;
  }

  override open(position: Json | null): Promise<"resumed" | "started"> {
    if (position !== null) this.#next = (position as { offset: number }).offset;
    return Promise.resolve(position === null ? "started" : "resumed");
  }

  override async read(signal: AbortSignal): Promise<RecordBatch | null> {
    while (this.#next >= this.#log.lines.length) {
      signal.throwIfAborted();
      this.#waits = true;
      await this.#log.more(signal);
      this.#waits = false;
    }
    const reader = new SimulatedSource(this.#world, this.#log.lines, { batchRecords: 1 });
    await reader.open({ offset: this.#next });
    this.#next++;
    return await reader.read(signal);
  }

  override caughtUp(): boolean {
    return this.#waits && this.#next >= this.#log.lines.length;
  }
}
