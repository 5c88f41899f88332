import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { WebhookEndpoint, type WebhookReport } from "../../actors/webhook_endpoint.ts";
import type { EndpointState, OutboxEntry, OutboxReader, WebhookSender } from "../../actors/webhook_ports.ts";
import { DOWN_FAILURES, RETRIES_MAX } from "../../lib/endpoint_backlog.ts";
import type { WebhookConfig } from "../../lib/webhook_config.ts";
import { WebhookFilter } from "../../lib/webhook_filter.ts";
import type { Attempt } from "../../lib/webhook_retry.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { randomFrom } from "../support/random.ts";

const NOON_US = Date.UTC(2026, 2, 1, 12) * 1000;
const SECOND_US = 1_000_000;
const HOUR_US = 3600 * SECOND_US;
const EVERYTHING: WebhookConfig["filter"] = { fences: [], kinds: [] };
const BEGINNING: EndpointState = { cursor: 0, retries: [], rejected: [], disabled: null };

function answered(status: number, retryAfter: string | null = null): Attempt {
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
class Bench {
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
      timeoutUs: 10 * SECOND_US,
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

Deno.test("webhook endpoint: all are sent, those of its filter, and what was done is saved", async () => {
  const bench = new Bench({ filter: { fences: ["depot-1"], kinds: ["DWELL"] } });
  bench.start();
  bench.tell(10);
  bench.tell(10, "DWELL");
  await bench.pass(SECOND_US);
  deepEqual(bench.sent.map(({ n }) => n), [10, 13, 16, 19]);
  deepEqual(bench.state, { ...BEGINNING, cursor: 2000 });
  const { attempts, pending, oldestPendingUs } = bench.report();
  deepEqual({ delivered: attempts.delivered, pending, oldestPendingUs }, {
    delivered: 4,
    pending: 0,
    oldestPendingUs: null,
  });
  await bench.stop();
});

Deno.test("webhook endpoint: a failed one is tried again with growing pauses, and holds up none of the others", async () => {
  const bench = new Bench();
  let left = 4;
  bench.answer = (n) => n === 0 && left-- > 0 ? answered(500) : answered(200);
  bench.start();
  bench.tell(50);
  await bench.settle();
  equal(bench.report().attempts.delivered, 49);
  deepEqual([bench.report().pending, bench.report().retrying], [1, 1]);
  await bench.pass(200 * SECOND_US);
  const times = bench.sent.filter(({ n }) => n === 0).map(({ atUs }) => atUs - NOON_US);
  equal(times.length, 5);
  for (const [i, fullUs] of [5, 10, 20, 40].map((s) => s * SECOND_US).entries()) {
    const pauseUs = (times[i + 1] as number) - (times[i] as number);
    ok(pauseUs >= fullUs / 2 && pauseUs <= fullUs, `pause ${i}: ${pauseUs}`);
  }
  const { attempts, pending } = bench.report();
  deepEqual({ pending, delivered: attempts.delivered, refused: attempts.refused }, {
    pending: 0,
    delivered: 50,
    refused: 4,
  });
  await bench.stop();
});

Deno.test("webhook endpoint: Retry-After holds for the whole endpoint, and a year is an hour", async () => {
  const bench = new Bench({ concurrency: 1 });
  bench.answer = (n) => n === 2 && bench.sent.length === 3 ? answered(429, "31536000") : answered(200);
  bench.start();
  bench.tell(10);
  await bench.pass(HOUR_US - SECOND_US);
  equal(bench.sent.length, 3, "nothing is sent meanwhile");
  await bench.pass(2 * SECOND_US);
  equal(bench.report().pending, 0);
  equal(bench.sent.length, 11);
  await bench.stop();
});

Deno.test("webhook endpoint: no more at once than its concurrency, and one that never answers is timed out", async () => {
  const bench = new Bench({ concurrency: 3 });
  let active = 0;
  let most = 0;
  bench.answer = async (_n, signal) => {
    most = Math.max(most, ++active);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    active--;
    return { outcome: "timed_out", reason: "no answer in time" };
  };
  bench.start();
  bench.tell(9);
  await bench.settle();
  equal(active, 3);
  await bench.pass(10 * SECOND_US);
  equal(bench.report().attempts.timed_out, 3);
  equal(most, 3);
  await bench.stop();
});

Deno.test("webhook endpoint: a receiver that is down for a day: bounded state, and all of it when it is back", async () => {
  const bench = new Bench();
  bench.answer = () => ({ outcome: "unreachable", reason: "connection refused" });
  bench.start();
  const count = RETRIES_MAX + 3000;
  bench.tell(count);
  await bench.pass(24 * HOUR_US, 60 * SECOND_US);
  const { down, pending, retrying, oldestPendingUs } = bench.report();
  deepEqual({ down, pending, retrying, oldestPendingUs }, {
    ...{ down: true, pending: count, retrying: RETRIES_MAX },
    oldestPendingUs: 24 * HOUR_US,
  });
  equal(bench.state.retries.length, RETRIES_MAX);
  equal(bench.notices.length, 1, bench.notices.join());
  ok(bench.sent.length < 60 * RETRIES_MAX, `${bench.sent.length} attempts`);
  bench.answer = () => answered(200);
  await bench.pass(2 * HOUR_US, SECOND_US);
  equal(bench.report().pending, 0);
  equal(bench.report().attempts.delivered, count);
  deepEqual(bench.state, { ...BEGINNING, cursor: count * 100 });
  equal(bench.notices[1], "Webhook erp takes triggers again");
  await bench.stop();
});

Deno.test("webhook endpoint: given up after retry_for, with a last attempt then; without one where there is no hope", async () => {
  const bench = new Bench({ retryForUs: HOUR_US });
  bench.answer = (n) => n === 1 ? answered(400) : answered(200);
  bench.start();
  bench.tell(3);
  await bench.pass(HOUR_US - 1);
  equal(bench.report().rejected, 0);
  await bench.pass(1);
  equal(bench.sent.at(-1)?.atUs, NOON_US + HOUR_US, "a last attempt");
  const [rejected, ...more] = await bench.endpoint.rejectedTriggers();
  deepEqual(more, []);
  deepEqual([rejected?.offset, rejected?.detail, rejected?.split], [100, "status 400", "ndjson"]);
  await bench.pass(SECOND_US);
  // Until its dead letter is written it stays, over a restart, too.
  await bench.killAndStart();
  equal((await bench.endpoint.rejectedTriggers()).length, 1);
  await bench.endpoint.written([100]);
  deepEqual(bench.state.rejected, []);
  // Down, with more than it can try: what waits in the outbox is given up as it gets too old.
  bench.answer = () => answered(503);
  const count = RETRIES_MAX + DOWN_FAILURES + 500;
  bench.tell(count);
  let written = 0;
  for (let minutes = 0; minutes < 62; minutes++) {
    await bench.pass(60 * SECOND_US, 10 * SECOND_US);
    const triggers = await bench.endpoint.rejectedTriggers();
    written += triggers.length;
    await bench.endpoint.written(triggers.map(({ offset }) => offset));
    await bench.settle();
  }
  for (let rounds = 0; rounds < 5; rounds++) {
    const triggers = await bench.endpoint.rejectedTriggers();
    written += triggers.length;
    await bench.endpoint.written(triggers.map(({ offset }) => offset));
    await bench.pass(60 * SECOND_US, 10 * SECOND_US);
  }
  equal(written, count);
  equal(bench.report().pending, 0);
  await bench.stop();
});

Deno.test("webhook endpoint: killed at any time, each trigger is delivered, and none that had failed is tried anew from the first", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomFrom(seed);
    const bench = new Bench({ concurrency: 1 + Math.floor(random() * 8) });
    const delivered = new Set<number>();
    bench.answer = (n) => {
      if (random() < 0.3) return answered(500);
      delivered.add(n);
      return answered(204);
    };
    bench.start();
    for (let round = 0; round < 12; round++) {
      bench.tell(Math.floor(random() * 40));
      await bench.pass(random() * 20 * SECOND_US);
      if (random() < 0.5) await bench.killAndStart();
    }
    await bench.pass(3 * HOUR_US, SECOND_US);
    equal(delivered.size, bench.outbox.entries.length, `seed ${seed}`);
    equal(bench.report().pending, 0, `seed ${seed}`);
    deepEqual(bench.state, { ...BEGINNING, cursor: bench.outbox.entries.length * 100 }, `seed ${seed}`);
    await bench.stop();
  }
});

Deno.test("webhook endpoint: 410 is kept at once; where it can't be, its work ends with why", async () => {
  const bench = new Bench();
  bench.answer = () => answered(410);
  bench.start();
  bench.tell(1);
  await bench.settle();
  equal(bench.state.disabled, "one");
  await bench.stop();

  const other = new Bench();
  other.answer = () => answered(410);
  other.saveFailure = new Error("Cannot write: the disk is full");
  other.start();
  other.tell(1);
  const ended = rejects(other.run, /the disk is full/);
  await other.settle();
  await ended;
});
