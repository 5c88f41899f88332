/**
 * What those see who look on: triggers and dead letters of all splits of a process, once they are durable.
 *
 * @module
 */
import type { SplitObservers } from "./line_observer.ts";
import { RecentDeadLetters } from "./recent_dead_letters.ts";
import { TriggerRing } from "./trigger_ring.ts";

/** See the module's header. */
export class Onlookers {
  readonly triggers: TriggerRing = new TriggerRing();
  readonly deadLetters: RecentDeadLetters = new RecentDeadLetters();

  /** Those of one split. */
  observers(): SplitObservers {
    return { triggers: this.triggers.observer(), deadLetters: this.deadLetters.observer() };
  }
}
