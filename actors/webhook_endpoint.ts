/**
 * One webhook: takes triggers out of the outbox, posts them, tries again what failed, keeps where it is.
 *
 * ```
 *   outbox ─▶ filter ─▶ head ─▶ post ─┬─ 2xx ─▶ settled
 *                        ▲            ├─ failed ─▶ retries ─▶ (due) post …
 *   what to do next:     │            ╰─ given up ─▶ rejected ─▶ a dead letter of the split
 *   lib/endpoint_backlog.ts
 * ```
 *
 * Each has its own actor, reader and connections, so a slow receiver holds up nobody else; the split that told the trigger
 * went on when the outbox had it. What is delivered is kept every `SAVE_US`: a process that is killed tells again what it
 * delivered since, with the same ids. Order is not promised: attempts overlap, and what failed comes later.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";
import { EndpointBacklog } from "../lib/endpoint_backlog.ts";
import { type BodyForm, webhookBody } from "../lib/webhook_message.ts";
import { judgeAttempt } from "../lib/webhook_retry.ts";
import type { WebhookFilter } from "../lib/webhook_filter.ts";
import type { Clock } from "./ports.ts";
import type {
  EndpointState,
  OutboxEntry,
  OutboxReader,
  SaveEndpoint,
  WebhookSender,
} from "./webhook_ports.ts";

/** The least time between two savings. */
export const SAVE_US = 500_000;

/** Attempts by outcome; the names are those of the metrics. */
export interface WebhookAttempts {
  readonly delivered: number;
  /** Answered, but not with 2xx or 410. */
  readonly refused: number;
  readonly gone: number;
  readonly timed_out: number;
  readonly unreachable: number;
  /** Its address is not public. */
  readonly refused_address: number;
}

/** How an endpoint is doing. */
export interface WebhookReport {
  readonly name: string;
  readonly attempts: WebhookAttempts;
  /** Triggers that are neither delivered nor given up; of those not looked at yet some may not be for this one. */
  readonly pending: number;
  /** Of those, how many have failed. */
  readonly retrying: number;
  /** How long ago the oldest of them was told, µs; null where none is pending, or none was looked at yet. */
  readonly oldestPendingUs: number | null;
  /** Given up by this process. */
  readonly rejected: number;
  readonly disabled: boolean;
  /** Whether its last attempts have all failed. */
  readonly down: boolean;
}

/** See the module's header. */
export interface WebhookEndpointOptions {
  readonly name: string;
  readonly state: EndpointState;
  /** What a disabled endpoint is disabled under. */
  readonly fingerprint: string;
  readonly concurrency: number;
  readonly timeoutUs: number;
  readonly retryForUs: number;
  readonly filter: WebhookFilter;
  readonly body: BodyForm;
  readonly reader: OutboxReader;
  /** Lines of the outbox that it has not looked at. */
  readonly unread: number;
  readonly sender: WebhookSender;
  readonly save: SaveEndpoint;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly chance: () => number;
  readonly notice: (message: string) => void;
  /** How to enable it again, as a sentence. */
  readonly howToEnable: string;
}

/** A trigger that was given up, on its way to the dead letters. */
export interface RejectedTrigger {
  readonly endpoint: WebhookEndpoint;
  readonly offset: number;
  readonly split: string;
  readonly detail: string;
  readonly trigger: Uint8Array;
}

/** See the module's header. */
export class WebhookEndpoint {
  readonly name: string;
  /** What of the outbox it needs, as it was saved: from the cursor on, and these places. */
  saved: EndpointState;

  readonly #options: WebhookEndpointOptions;
  readonly #backlog: EndpointBacklog;
  readonly #attempts = {
    delivered: 0,
    refused: 0,
    gone: 0,
    timed_out: 0,
    unreachable: 0,
    refused_address: 0,
  };
  readonly #stop = new AbortController();
  readonly #under = new Set<Promise<void>>();
  readonly #claimed = new Set<number>();
  readonly #abandon = new AbortController();
  #saving: Promise<void> = Promise.resolve();
  #head: OutboxEntry | null = null;
  #unread: number;
  #rejected = 0;
  #dirty = false;
  #savedAtUs = -Infinity;
  #wake = Promise.withResolvers<void>();
  #saysDown = false;
  #idle = false;

  constructor(options: WebhookEndpointOptions) {
    const { state, concurrency, retryForUs, fingerprint } = options;
    this.#options = options;
    this.name = options.name;
    this.saved = state;
    this.#unread = options.unread;
    const disabled = state.disabled === fingerprint;
    this.#backlog = new EndpointBacklog(state, { concurrency, retryForUs, disabled });
    if (disabled) {
      options.notice(
        `Webhook ${this.name} is disabled: its receiver has said 410 (gone). ${options.howToEnable}`,
      );
    } else if (state.disabled !== null) {
      this.#dirty = true;
      options.notice(`Webhook ${this.name} is enabled again: its configuration has changed`);
    }
  }

  /** More lines are in the outbox. */
  grown(lines: number): void {
    this.#unread += lines;
    this.#wakeUp();
  }

  /** A line of the outbox is none: nobody waits for it. */
  passedOver(): void {
    this.#unread--;
  }

  /** How it is doing. */
  report(): WebhookReport {
    const { waiting, oldestUs, disabled, isDown, retrying } = this.#backlog;
    const firstUs = Math.min(oldestUs, this.#head?.toldUs ?? Infinity);
    return {
      name: this.name,
      attempts: { ...this.#attempts },
      pending: this.#unread + (this.#head === null ? 0 : 1) + waiting,
      retrying,
      oldestPendingUs: firstUs === Infinity ? null : Math.max(0, this.#options.clock.wallUs() - firstUs),
      rejected: this.#rejected,
      disabled,
      down: isDown,
    };
  }

  /** Whether all that is in the outbox was tried: what is left waits for its time. */
  get isIdle(): boolean {
    return this.#idle && this.#under.size === 0;
  }

  /** Works until {@link stop}. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const nowUs = this.#options.clock.wallUs();
      const step = this.#backlog.next(nowUs, this.#head);
      this.#idle = false;
      switch (step.do) {
        case "retry":
          await this.#retry(step.offset);
          break;
        case "reject_retry":
          this.#backlog.rejectRetry(step.offset);
          this.#countRejected();
          break;
        case "send_head":
          this.#send(this.#takeHead(), "first");
          break;
        case "reject_head":
          this.#backlog.rejectHead(this.#takeHead());
          this.#countRejected();
          break;
        case "read":
          if (!await this.#readHead()) await this.#wait(step.untilUs, nowUs);
          break;
        case "wait":
          await this.#wait(step.untilUs, nowUs);
          break;
      }
      await this.#saveIfDue();
    }
  }

  /** Begins nothing more, waits for what is under way as long as `patience` does, and saves. */
  async stop(patience: Promise<void>): Promise<void> {
    this.#stop.abort(STOPPED);
    this.#wakeUp();
    await Promise.race([Promise.all(this.#under), patience]);
    this.#abandon.abort(STOPPED);
    await Promise.all(this.#under);
    await this.#save();
    this.#options.sender.close();
  }

  /** What was given up and is in no dead letter yet. One whose line is gone is forgotten. */
  async rejectedTriggers(): Promise<RejectedTrigger[]> {
    const found: RejectedTrigger[] = [];
    for (const { offset, detail } of this.#backlog.rejected) {
      const entry = await this.#options.reader.at(offset);
      if (entry === null) this.#backlog.written(offset);
      else found.push({ endpoint: this, offset, detail, split: entry.split, trigger: entry.trigger });
    }
    return found;
  }

  /** Whether anything was given up that is in no dead letter yet. */
  get hasRejected(): boolean {
    return this.#backlog.rejected.length > 0;
  }

  /** Whether a given up trigger's dead letter is the caller's to write, which {@link written} ends: once a process. */
  claim(offset: number): boolean {
    if (this.#claimed.has(offset)) return false;
    this.#claimed.add(offset);
    return true;
  }

  /** A split that failed did not write these: they may be claimed again. */
  unclaim(offsets: readonly number[]): void {
    for (const offset of offsets) this.#claimed.delete(offset);
  }

  /** These dead letters are durable. */
  async written(offsets: readonly number[]): Promise<void> {
    for (const offset of offsets) this.#claimed.delete(offset);
    const known = offsets.filter((offset) => this.#backlog.written(offset));
    if (known.length === 0) return;
    this.#dirty = true;
    await this.#save();
    this.#wakeUp();
  }

  async #readHead(): Promise<boolean> {
    const { reader, filter } = this.#options;
    // What is not for this one is passed over in turns: there may be millions.
    for (let looks = 0; looks < 1000; looks++) {
      const entry = await reader.next();
      if (entry === null) return looks > 0;
      this.#unread--;
      if (!this.#backlog.knows(entry.offset) && filter.passes(entry.trigger)) {
        this.#head = entry;
        return true;
      }
      this.#backlog.passed(entry);
      this.#dirty = true;
    }
    return true;
  }

  #takeHead(): OutboxEntry {
    const head = this.#head;
    assert(head !== null, "there is a head to be taken");
    this.#head = null;
    this.#dirty = true;
    return head;
  }

  async #retry(offset: number): Promise<void> {
    const entry = await this.#options.reader.at(offset);
    if (entry === null) {
      this.#options.notice(
        `Webhook ${this.name}: a trigger that was to be tried again is no longer in the outbox`,
      );
      this.#backlog.forget(offset);
      return;
    }
    this.#send(entry, "again");
  }

  #send(entry: OutboxEntry, attempt: "first" | "again"): void {
    if (attempt === "first") this.#backlog.sending(entry);
    else this.#backlog.tryingAgain(entry.offset);
    const work = this.#post(entry).finally(() => {
      this.#under.delete(work);
      this.#wakeUp();
    });
    this.#under.add(work);
  }

  async #post({ offset, id, trigger }: OutboxEntry): Promise<void> {
    const { sender, body, clock, timeoutUs, chance, notice, howToEnable } = this.#options;
    const limit = new AbortController();
    const late = clock.delay(timeoutUs, limit.signal).then(() => limit.abort(TIMED_OUT), () => {});
    const signal = AbortSignal.any([limit.signal, this.#abandon.signal]);
    const timestampS = Math.floor(clock.wallUs() / 1e6);
    const attempt = await sender.post(id, timestampS, webhookBody(trigger, body), signal);
    limit.abort();
    await late;
    // Not judged: it is tried again by the next process.
    if (this.#abandon.signal.aborted) return;
    const nowUs = clock.wallUs();
    const verdict = judgeAttempt(attempt, nowUs);
    const wasDisabled = this.#backlog.disabled;
    const became = this.#backlog.settle(offset, verdict, { nowUs, chance });
    this.#dirty = true;
    if (became === "rejected") this.#countRejected();
    if (attempt.outcome !== "answered") this.#attempts[attempt.outcome]++;
    else this.#attempts[verdict.is === "failed" ? "refused" : verdict.is]++;
    if (verdict.is === "gone" && !wasDisabled) {
      notice(`Webhook ${this.name} is disabled from here on: its receiver says 410 (gone). ${howToEnable}`);
      // To be kept at once.
      this.#savedAtUs = -Infinity;
    }
    this.#sayState(verdict.reason);
  }

  #sayState(reason: string): void {
    const { isDown, disabled } = this.#backlog;
    if (isDown === this.#saysDown || disabled) return;
    this.#saysDown = isDown;
    const { notice } = this.#options;
    if (isDown) {
      notice(`Webhook ${this.name} does not take triggers (${reason}): they wait, and are tried again`);
    } else notice(`Webhook ${this.name} takes triggers again`);
  }

  #countRejected(): void {
    this.#rejected++;
    this.#dirty = true;
  }

  #wakeUp(): void {
    this.#idle = false;
    this.#wake.resolve();
  }

  /** Waits until a time, or until something has changed. */
  async #wait(untilUs: number, nowUs: number): Promise<void> {
    const { clock } = this.#options;
    const saveUs = this.#dirty ? Math.max(0, this.#savedAtUs + SAVE_US - clock.monotonicUs()) : Infinity;
    const waitUs = Math.min(untilUs - nowUs, saveUs, LONGEST_WAIT_US);
    this.#idle = this.#under.size === 0;
    if (waitUs > 0) {
      const over = new AbortController();
      const time = clock.delay(waitUs, over.signal).catch(() => {});
      await Promise.race([time, this.#wake.promise]);
      over.abort();
      await time;
    }
    this.#wake = Promise.withResolvers<void>();
  }

  async #saveIfDue(): Promise<void> {
    if (!this.#dirty || this.#options.clock.monotonicUs() - this.#savedAtUs < SAVE_US) return;
    await this.#save();
  }

  /** One after the other: each has all that was so when it began. */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow(): Promise<void> {
    const { save, clock, fingerprint } = this.#options;
    this.#dirty = false;
    this.#savedAtUs = clock.monotonicUs();
    const disabled = this.#backlog.disabled ? fingerprint : null;
    const state = { ...this.#backlog.state(this.#head), disabled };
    await save(state);
    this.saved = state;
  }
}

/** The wall clock may jump, so it is looked at now and then. */
const LONGEST_WAIT_US = 60_000_000;
const STOPPED = new DOMException("The webhook was stopped", "AbortError");
/** What an attempt that takes too long is ended with. */
export const TIMED_OUT = new DOMException("No answer in time", "TimeoutError");
