/**
 * What one webhook has still to be told, and what to do next about it. Pure: time and chance are arguments.
 *
 * ```
 *   the outbox   … settled … │ under way │ head │ not looked at yet …
 *                            ^ cursor                          what a crash goes back to
 *   retries      failed, with attempts and the next time       RETRIES_MAX of them
 *   rejected     given up, until their dead letters are written
 * ```
 *
 * The backlog of a receiver that is down for days stays in the outbox: once `RETRIES_MAX` triggers wait to be tried again,
 * no further one is looked at, so memory is the same after a minute and after a week. While a receiver works, a trigger
 * that it can't take is an entry among the retries and holds up none of the others: when they are full, one that is still
 * refused after `REFUSALS_MAX` attempts, while others are taken, is given up for the next. Those alone that it will never
 * take can't tell whether it works: where nothing else is tried, a new one is sent now and then.
 *
 * A trigger is given up `retryForUs` after it was told, with a last attempt at that time. Where there is no hope (the last
 * attempts have all failed, or the endpoint is disabled) those that have been waiting in the outbox for so long are given
 * up without one: a backlog of days would take days.
 *
 * @module
 */
import { assert } from "./assert.ts";
import type { BacklogEntry, BacklogState, Rejected, Retry } from "./backlog_state.ts";
import { pauseUs, type Verdict } from "./webhook_retry.ts";

/** Triggers that wait to be tried again; beyond them the outbox is where they wait. */
export const RETRIES_MAX = 1000;
/** Triggers whose dead letters are not written yet. */
export const REJECTED_MAX = 1000;
/** One that was refused after so many attempts, in 5 to 10 minutes, is at fault itself if the receiver works. */
export const REFUSALS_MAX = 8;
/** New triggers that are sent to see whether it works, and have failed, beside the retries. */
export const PROBES_MAX = 100;
/** So many failures in a row, and the receiver is taken to be down. */
export const DOWN_FAILURES = 10;
/** When a receiver is back, what waits is tried within this time. */
const BACK_US = 10_000_000;

/** What to do next. */
export type Step =
  | { readonly do: "retry"; readonly offset: number }
  | { readonly do: "reject_retry"; readonly offset: number }
  | { readonly do: "send_head" | "reject_head" }
  /** Look whether the outbox has another one; if not, wait. */
  | { readonly do: "read"; readonly untilUs: number }
  | { readonly do: "wait"; readonly untilUs: number };

/** See the module's header. */
export class EndpointBacklog {
  /** Whether the receiver has said that it is gone. */
  disabled: boolean;

  readonly #limits: { readonly concurrency: number; readonly retryForUs: number };
  readonly #retries: Map<number, Retry>;
  readonly #rejected: Map<number, Rejected>;
  /** Under way: first attempts, and those of retries. */
  readonly #first = new Map<number, BacklogEntry>();
  readonly #again = new Set<number>();
  #readTo: number;
  #failures = 0;
  #pausedUntilUs = -Infinity;
  /** Whether it has taken one, and was not down since. */
  #works = false;
  /** First attempts that have failed in a row, and when the next may be made though the retries are full. */
  #probes = 0;
  #probeUs = -Infinity;

  /** Goes on from what was kept. */
  constructor(
    state: BacklogState,
    limits: { readonly concurrency: number; readonly retryForUs: number; readonly disabled: boolean },
  ) {
    this.#limits = limits;
    this.disabled = limits.disabled;
    this.#readTo = state.cursor;
    this.#retries = new Map(state.retries.map((retry) => [retry.offset, retry]));
    this.#rejected = new Map(state.rejected.map((rejected) => [rejected.offset, rejected]));
  }

  /** Whether the last attempts have all failed. */
  get isDown(): boolean {
    return this.#failures >= DOWN_FAILURES;
  }

  /** Attempts under way. */
  get active(): number {
    return this.#first.size + this.#again.size;
  }

  /** Triggers that were looked at and are neither delivered nor given up. */
  get waiting(): number {
    return this.#first.size + this.#retries.size;
  }

  /** How many are to be tried again. */
  get retrying(): number {
    return this.#retries.size;
  }

  /** Those that are given up and not written yet. */
  get rejected(): readonly Rejected[] {
    return [...this.#rejected.values()];
  }

  /** When the oldest one that was looked at and is not settled was told; Infinity where there is none. */
  get oldestUs(): number {
    let oldestUs = Infinity;
    for (const { toldUs } of this.#first.values()) oldestUs = Math.min(oldestUs, toldUs);
    for (const { toldUs } of this.#retries.values()) oldestUs = Math.min(oldestUs, toldUs);
    return oldestUs;
  }

  /** What to do at a time; `head` is the next trigger of the outbox, null where none was read yet. */
  next(nowUs: number, head: BacklogEntry | null): Step {
    const canReject = this.#rejected.size < REJECTED_MAX;
    const canSend = !this.disabled && this.active < this.#limits.concurrency;
    let untilUs = Infinity;
    const retry = this.#earliest();
    if (retry !== null) {
      const expired = this.#isExpired(retry, nowUs);
      if (this.disabled && expired && canReject) return { do: "reject_retry", offset: retry.offset };
      const dueUs = this.disabled ? this.#expiryUs(retry) : Math.max(retry.dueUs, this.#pausedUntilUs);
      if (canSend && dueUs <= nowUs && (canReject || !expired)) return { do: "retry", offset: retry.offset };
      if (dueUs > nowUs) untilUs = dueUs;
    }
    if (head === null) return { do: "read", untilUs };
    const hopeless = this.disabled || this.isDown;
    const expired = this.#isExpired(head, nowUs);
    if (hopeless && expired && canReject) return { do: "reject_head" };
    if (canSend && (canReject || !expired)) {
      const sendUs = Math.max(this.#pausedUntilUs, this.#roomUs());
      if (sendUs <= nowUs) return { do: "send_head" };
      const refused = this.#works && canReject ? this.#mostRefused() : null;
      if (refused !== null) return { do: "reject_retry", offset: refused.offset };
      untilUs = Math.min(untilUs, sendUs);
    }
    if (hopeless && !expired) untilUs = Math.min(untilUs, this.#expiryUs(head));
    return { do: "wait", untilUs };
  }

  /** Whether a trigger that a crash has gone back to is among those that failed or were given up. */
  knows(offset: number): boolean {
    return this.#retries.has(offset) || this.#rejected.has(offset);
  }

  /** A trigger is not for this endpoint, or known. */
  passed({ next }: BacklogEntry): void {
    this.#readTo = next;
  }

  /** The head is being sent. */
  sending(head: BacklogEntry): void {
    this.#first.set(head.offset, head);
    this.#readTo = head.next;
  }

  /** A retry is being sent. */
  tryingAgain(offset: number): void {
    assert(this.#retries.has(offset) && !this.#again.has(offset), "a retry is sent once at a time");
    this.#again.add(offset);
  }

  /** A retry's line is gone. */
  forget(offset: number): void {
    this.#retries.delete(offset);
  }

  /** The head is given up without an attempt. */
  rejectHead(head: BacklogEntry): void {
    this.#readTo = head.next;
    this.#reject(head, this.disabled ? "the endpoint is disabled" : "the receiver is down");
  }

  /** A retry is given up without another attempt. */
  rejectRetry(offset: number): void {
    const retry = this.#retries.get(offset);
    assert(retry !== undefined, "what is given up was to be tried again");
    this.#again.delete(offset);
    this.#retries.delete(offset);
    const { reason, attempts } = retry;
    this.#reject(retry, this.disabled ? reason : `${reason}, ${attempts} times, while others were taken`);
  }

  /**
   * An attempt has ended.
   *
   * @param chance from 0 to below 1, for the jitter
   * @returns what became of the trigger
   */
  settle(
    offset: number,
    verdict: Verdict,
    { nowUs, chance }: { readonly nowUs: number; readonly chance: () => number },
  ): "delivered" | "retry" | "rejected" {
    const retry = this.#retries.get(offset);
    const entry = retry ?? this.#first.get(offset);
    assert(entry !== undefined, "what has ended was under way");
    this.#first.delete(offset);
    this.#again.delete(offset);
    if (verdict.is === "delivered") {
      this.#retries.delete(offset);
      if (this.isDown) this.#isBack(nowUs, chance);
      this.#failures = 0;
      this.#works = true;
      this.#probes = 0;
      this.#probeUs = -Infinity;
      return "delivered";
    }
    if (retry === undefined) this.#probeUs = nowUs + pauseUs(++this.#probes, chance());
    // What it has refused before says nothing of one that works.
    if (retry === undefined || !this.#works) this.#failures++;
    if (this.isDown) this.#works = false;
    if (verdict.is === "gone") this.disabled = true;
    if (verdict.retryAfterUs > 0) {
      this.#pausedUntilUs = Math.max(this.#pausedUntilUs, nowUs + verdict.retryAfterUs);
    }
    if (this.#isExpired(entry, nowUs)) {
      this.#retries.delete(offset);
      this.#reject(entry, verdict.reason);
      return "rejected";
    }
    const attempts = (retry?.attempts ?? 0) + 1;
    const dueUs = nowUs + Math.max(pauseUs(attempts, chance()), verdict.retryAfterUs);
    const { toldUs } = entry;
    // The last attempt is made when it is given up.
    const lastUs = Math.max(nowUs, this.#expiryUs(entry));
    this.#retries.set(offset, {
      offset,
      toldUs,
      attempts,
      dueUs: Math.min(dueUs, lastUs),
      reason: verdict.reason,
      refused: verdict.is === "refused",
    });
    return "retry";
  }

  /** A dead letter is written. False where it was none that waits. */
  written(offset: number): boolean {
    return this.#rejected.delete(offset);
  }

  /** As it is kept: what is under way counts as not begun. */
  state(head: BacklogEntry | null): BacklogState {
    let cursor = head?.offset ?? this.#readTo;
    for (const offset of this.#first.keys()) cursor = Math.min(cursor, offset);
    return { cursor, retries: [...this.#retries.values()], rejected: [...this.#rejected.values()] };
  }

  /** When there is room for another one. */
  #roomUs(): number {
    const size = this.#retries.size + this.#first.size;
    if (size < RETRIES_MAX) return -Infinity;
    const mayProbe = !this.#works && this.#first.size === 0 && size < RETRIES_MAX + PROBES_MAX;
    return mayProbe ? this.#probeUs : Infinity;
  }

  /** The one that was refused most often, and often enough; null where there is none, or there is room. */
  #mostRefused(): Retry | null {
    if (this.#retries.size + this.#first.size < RETRIES_MAX) return null;
    let most: Retry | null = null;
    for (const retry of this.#retries.values()) {
      const isMore = retry.attempts >= REFUSALS_MAX && retry.attempts > (most?.attempts ?? 0);
      if (isMore && retry.refused === true && !this.#again.has(retry.offset)) most = retry;
    }
    return most;
  }

  /** What is due first; where nothing is tried any more, what is given up first. */
  #earliest(): Retry | null {
    const by = this.disabled ? "toldUs" : "dueUs";
    let earliest: Retry | null = null;
    for (const retry of this.#retries.values()) {
      if (!this.#again.has(retry.offset) && (earliest === null || retry[by] < earliest[by])) earliest = retry;
    }
    return earliest;
  }

  #isBack(nowUs: number, chance: () => number): void {
    for (const [offset, retry] of this.#retries) {
      const dueUs = Math.min(retry.dueUs, nowUs + Math.round(chance() * BACK_US));
      this.#retries.set(offset, { ...retry, dueUs });
    }
  }

  #reject({ offset, toldUs }: Pick<BacklogEntry, "offset" | "toldUs">, reason: string): void {
    this.#rejected.set(offset, { offset, toldUs, detail: reason });
  }

  #expiryUs({ toldUs }: Pick<BacklogEntry, "toldUs">): number {
    return toldUs + this.#limits.retryForUs;
  }

  #isExpired(entry: Pick<BacklogEntry, "toldUs">, nowUs: number): boolean {
    return this.#expiryUs(entry) <= nowUs;
  }
}
