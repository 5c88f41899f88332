/**
 * A webhook's actor with an outbox in memory and a clock that is turned by hand, for tests.
 *
 * @module
 */
import { WebhookEndpoint, type WebhookReport } from "../../actors/webhook_endpoint.ts";
import type { EndpointState, OutboxEntry, OutboxReader, WebhookSender } from "../../actors/webhook_ports.ts";
import type { WebhookConfig } from "../../lib/webhook_config.ts";
import { WebhookFilter } from "../../lib/webhook_filter.ts";
import type { Attempt } from "../../lib/webhook_retry.ts";
import { ManualClock } from "./manual_clock.ts";
import { randomFrom } from "./random.ts";

/** When a bench begins. */
export const NOON_US: number = Date.UTC(2026, 2, 1, 12) * 1000;
/** An endpoint that was told of nothing. */
export const BEGINNING: EndpointState = { cursor: 0, retries: [], rejected: [], disabled: null };
const EVERYTHING: WebhookConfig["filter"] = { fences: [], kinds: [] };
const TIMEOUT_US = 10_000_000;
const HOUR_US = 3_600_000_000;

/** An attempt that was answered. */
export function answered(status: number, retryAfter: string | null = null): Attempt {
  return { outcome: "answered", status, retryAfter };
}

/** An outbox of triggers that are numbered; each takes 100 bytes of it. */
class Outbox {
  readonly entries: OutboxEntry[] = [];
  readonly clock: ManualClock;

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  tell(count: number, kind = "ENTER"): void {
    for (let n = 0; n < count; n++) {
      const i = this.entries.length;
      const id = String(i).padStart(32, "0");
      const trigger = new TextEncoder().encode(
        `{"id":"${id}","kind":"${kind}","device_id":"truck-${i}","fence_id":"depot-${i % 3}"}`,
      );
      const offset = i * 100;
      this.entries.push({
        offset,
        next: offset + 100,
        toldUs: this.clock.wallUs(),
        split: "ndjson",
        id,
        trigger,
      });
    }
  }

  readerFrom(cursor: number): OutboxReader {
    let next = cursor / 100;
    return {
      next: () =>
        Promise.resolve(this.entries[next] === undefined ? null : this.entries[next++] as OutboxEntry),
      at: (offset) => Promise.resolve(this.entries[offset / 100] ?? null),
    };
  }
}

/** An endpoint over an outbox; what its receiver does is up to the test. */
export class WebhookBench {
  readonly clock: ManualClock;
  readonly outbox: Outbox;
  readonly notices: string[] = [];
  /** Numbers of the triggers in the order in which they were sent, and when. */
  readonly sent: { readonly n: number; readonly atUs: number }[] = [];
  answer: (n: number, signal: AbortSignal) => Promise<Attempt> | Attempt = () => answered(204);
  state: EndpointState = BEGINNING;
  /** What its state can't be kept for. */
  saveFailure: Error | null = null;
  endpoint: WebhookEndpoint;
  readonly #options: { filter?: WebhookConfig["filter"]; concurrency?: number; retryForUs?: number };
  #run: Promise<void> = Promise.resolve();

  constructor(options: { filter?: WebhookConfig["filter"]; concurrency?: number; retryForUs?: number } = {}) {
    this.clock = new ManualClock(NOON_US);
    this.outbox = new Outbox(this.clock);
    this.#options = options;
    this.endpoint = this.#make();
  }

  start(): void {
    this.#run = this.endpoint.run();
  }

  /** Resolves or rejects as its work does. */
  get run(): Promise<void> {
    return this.#run;
  }

  /** The process ends without a word, and another begins with what was saved. */
  async killAndStart(): Promise<void> {
    const kept = structuredClone(this.state);
    await this.stop();
    this.state = kept;
    this.endpoint = this.#make();
    this.start();
  }

  async stop(): Promise<void> {
    await this.endpoint.stop(Promise.resolve());
    await this.#run;
  }

  tell(count: number, kind?: string): void {
    this.outbox.tell(count, kind);
    this.endpoint.grown(count);
  }

  report(): WebhookReport {
    return this.endpoint.report();
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.sent.length;) {
      before = this.sent.length;
      for (let turns = 0; turns < 8; turns++) await this.clock.nextTurn();
    }
  }

  /** Lets time pass, stopping wherever somebody waits for, or at least so far apart. */
  async pass(us: number, stepUs = 0): Promise<void> {
    const untilUs = this.clock.wallUs() + us;
    await this.settle();
    for (let nextUs = this.clock.nextUs; nextUs <= untilUs; nextUs = this.clock.nextUs) {
      this.clock.moveTo(Math.min(untilUs, Math.max(nextUs, this.clock.wallUs() + stepUs)));
      await this.settle();
    }
    this.clock.moveTo(untilUs);
    await this.settle();
  }

  #make(): WebhookEndpoint {
    const { filter = EVERYTHING, concurrency = 8, retryForUs = 72 * HOUR_US } = this.#options;
    const { clock, state } = this;
    const sender: WebhookSender = {
      post: async (id, _timestampS, _body, signal) => {
        const n = Number(id);
        this.sent.push({ n, atUs: clock.wallUs() });
        return await this.answer(n, signal);
      },
      close: () => {},
    };
    return new WebhookEndpoint({
      ...{ name: "erp", state, concurrency, retryForUs, sender, clock, fingerprint: "one" },
      timeoutUs: TIMEOUT_US,
      filter: new WebhookFilter(filter),
      body: { form: "native" },
      reader: this.outbox.readerFrom(state.cursor),
      unread: this.outbox.entries.length - state.cursor / 100,
      save: (saved) => {
        if (this.saveFailure !== null) return Promise.reject(this.saveFailure);
        this.state = structuredClone(saved);
        return Promise.resolve();
      },
      chance: randomFrom(7),
      notice: (message) => this.notices.push(message),
      howToEnable: "Change its url",
    });
  }
}
