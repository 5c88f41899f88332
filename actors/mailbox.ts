/**
 * A bounded mailbox: a ring of messages, bounded by what they weigh (records), with a high and a low mark.
 *
 * `offer` answers false instead of growing, and that is all that backpressure needs: a source that can wait is paused at
 * the high mark and resumed at the low one, one that can't is told so before anything is taken. Two marks, since with
 * one a source would be paused and resumed at every message.
 *
 * Control messages weigh nothing and always fit: a barrier must not wait for the records that it follows. A message
 * heavier than the whole capacity fits where nothing else weighs, or it could never be sent at all.
 *
 * A ring rather than `Array.shift`, which moves everything behind it. Nobody waits here for a message: the scheduler
 * gives an actor its turn when one was put in, so taking costs no promise.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";

/** See the module's header. */
export class Mailbox<Message> {
  readonly capacity: number;
  #messages: (Message | undefined)[] = new Array<Message | undefined>(16);
  #weights: number[] = new Array<number>(16).fill(0);
  #head = 0;
  #length = 0;
  #weight = 0;
  #waiting: (() => void)[] = [];

  /** @param capacity what all messages in it may weigh */
  constructor(capacity: number) {
    assert(capacity >= 1, "a mailbox holds something");
    this.capacity = capacity;
  }

  /** How many messages are in it. */
  get length(): number {
    return this.#length;
  }

  /** What they weigh: records. */
  get depth(): number {
    return this.#weight;
  }

  /** Whether a source should pause: half of it is full. */
  get isHigh(): boolean {
    return this.#weight > this.capacity / 2;
  }

  /** Whether it may go on: a quarter of it, at most, is full. */
  get isLow(): boolean {
    return this.#weight <= this.capacity / 4;
  }

  /**
   * Puts a message in.
   *
   * @param weight how much of the capacity it takes, an integer; 0 always fits
   * @returns false, and nothing is done, where it would not fit
   */
  offer(message: Message, weight: number): boolean {
    if (weight > 0 && this.#weight > 0 && this.#weight + weight > this.capacity) return false;
    if (this.#length === this.#messages.length) this.#grow();
    const tail = (this.#head + this.#length) % this.#messages.length;
    this.#messages[tail] = message;
    this.#weights[tail] = weight;
    this.#length++;
    this.#weight += weight;
    return true;
  }

  /** Takes the oldest message; null where there is none. */
  poll(): Message | null {
    if (this.#length === 0) return null;
    const message = this.#messages[this.#head] as Message;
    this.#messages[this.#head] = undefined;
    this.#weight -= this.#weights[this.#head] as number;
    this.#head = (this.#head + 1) % this.#messages.length;
    this.#length--;
    if (this.#waiting.length > 0 && this.isLow) {
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
    return message;
  }

  /** Resolves when it is at its low mark or below. */
  whenLow(): Promise<void> {
    if (this.isLow) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #grow(): void {
    const length = this.#messages.length;
    const order = Array.from({ length }, (_, i) => (this.#head + i) % length);
    this.#messages = [...order.map((i) => this.#messages[i]), ...new Array<undefined>(length)];
    this.#weights = [...order.map((i) => this.#weights[i] as number), ...new Array<number>(length).fill(0)];
    this.#head = 0;
  }
}
