/**
 * A binary heap of deadlines, the next one on top: of the afternoon, not of Fencepost.
 *
 * Nothing is ever taken out but the top. What was cancelled stays until it is due, and is looked at then.
 *
 * @module
 */

/** When somebody's stay is long enough. */
export interface Deadline {
  readonly dueMs: number;
  readonly pair: string;
}

/** See the module's header. */
export class DeadlineHeap {
  readonly #items: Deadline[] = [];

  /** The next one; not given where there is none. */
  peek(): Deadline | undefined {
    return this.#items[0];
  }

  /** Adds one. */
  push(deadline: Deadline): void {
    const items = this.#items;
    let at = items.length;
    items.push(deadline);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = items[above] as Deadline;
      if (parent.dueMs <= deadline.dueMs) break;
      items[at] = parent;
      at = above;
    }
    items[at] = deadline;
  }

  /** Takes the next one out. */
  pop(): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      const right = items[below + 1];
      if (right !== undefined && right.dueMs < (items[below] as Deadline).dueMs) below++;
      const child = items[below] as Deadline;
      if (child.dueMs >= last.dueMs) break;
      items[at] = child;
      at = below;
    }
    items[at] = last;
  }
}
