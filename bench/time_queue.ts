/**
 * What happens when: a binary heap by time, for the simulation of a fleet.
 *
 * Two parallel arrays instead of an object an entry, since millions pass through. Of entries at one time any may come
 * first, but always the same: nothing but the calls decides.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";

/** See the module's header. */
export class TimeQueue<Item> {
  readonly #times: number[] = [];
  readonly #items: Item[] = [];

  /** How many entries there are. */
  get size(): number {
    return this.#times.length;
  }

  /** The earliest time; Infinity where there is none. */
  get nextUs(): number {
    return this.#times[0] ?? Infinity;
  }

  /** Puts an item in at a time. */
  push(timeUs: number, item: Item): void {
    const times = this.#times;
    const items = this.#items;
    let at = times.length;
    times.push(timeUs);
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const parentUs = times[parent] as number;
      if (parentUs <= timeUs) break;
      times[at] = parentUs;
      items[at] = items[parent] as Item;
      at = parent;
    }
    times[at] = timeUs;
    items[at] = item;
  }

  /** Takes the item of the earliest time. There must be one. */
  pop(): Item {
    const times = this.#times;
    const items = this.#items;
    assert(times.length > 0, "a queue that is popped has something in it");
    const first = items[0] as Item;
    const timeUs = times.pop() as number;
    const item = items.pop() as Item;
    const length = times.length;
    if (length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      if (child + 1 < length && (times[child + 1] as number) < (times[child] as number)) child++;
      if ((times[child] as number) >= timeUs) break;
      times[at] = times[child] as number;
      items[at] = items[child] as Item;
      at = child;
    }
    times[at] = timeUs;
    items[at] = item;
    return first;
  }
}
