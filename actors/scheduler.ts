/**
 * Whose turn it is: runs the actors that have messages, one message each, in a circle, and gives the event loop back
 * every few milliseconds.
 *
 * A partition never starves another, since each gets one message a round; and I/O, timers and signals are never held up
 * for longer than a turn and one message. An actor that has to wait (a slow sink) says so and is left alone until it is
 * made ready again: that is how a slow sink becomes a full mailbox, and that a paused source.
 *
 * @module
 */
import type { Clock } from "./ports.ts";

/** How long actors run before the event loop has its chance, µs. */
const TURN_US = 1000;

/** What an actor says after a step. */
export type Step =
  /** It has more to do. */
  | "again"
  /** It waits, for a message or for room; {@link Scheduler.ready} wakes it. */
  | "idle";

/** Something with a mailbox that does its work in small synchronous steps. */
export interface Actor {
  /** Handles one message, or a part of one. What it throws stops the scheduler. */
  step(): Step;
}

/** See the module's header. */
export class Scheduler {
  readonly #clock: Clock;
  readonly #fail: (error: unknown) => void;
  readonly #queued = new Set<Actor>();
  #queue: Actor[] = [];
  #running = false;
  #stopped = false;
  #waiting: (() => void)[] = [];

  /** @param fail is told what an actor threw; nothing runs after that */
  constructor(clock: Clock, fail: (error: unknown) => void) {
    this.#clock = clock;
    this.#fail = fail;
  }

  /** Whether no actor has anything to do. */
  get idle(): boolean {
    return this.#queued.size === 0 && !this.#running;
  }

  /** Whether {@link stop} was called: what has not been done by then never will be. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Resolves when no actor wants a turn, since each has done what it can; at once where that is so now. */
  whenIdle(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives an actor its turn, in its order. */
  ready(actor: Actor): void {
    if (this.#queued.has(actor)) return;
    this.#queued.add(actor);
    this.#queue.push(actor);
    if (!this.#running && !this.#stopped) {
      this.#running = true;
      this.#run().catch(this.#fail);
    }
  }

  /** Lets no actor run any more. */
  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#clock.nextTurn();
      const startedUs = this.#clock.monotonicUs();
      do {
        const round = this.#queue;
        this.#queue = [];
        for (let i = 0; i < round.length; i++) {
          if (this.#stopped) return;
          if (i > 0 && this.#clock.monotonicUs() - startedUs > TURN_US) {
            this.#queue = round.slice(i).concat(this.#queue);
            break;
          }
          const actor = round[i] as Actor;
          this.#queued.delete(actor);
          if (actor.step() === "again") this.ready(actor);
        }
      } while (this.#queue.length > 0 && this.#clock.monotonicUs() - startedUs <= TURN_US);
    }
    this.#running = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
