/**
 * One binary heap for all, with lazy deletion: a cancelled entry is marked, and thrown away when it comes to the top. Eight
 * in nine entries are cancelled here, so most of the heap is dead, and each costs O(log n) once more when it is popped.
 *
 * @module
 */
import type { Timers, TimersOptions } from "./timers.ts";

interface Entry {
  readonly pair: number;
  readonly deadlineUs: number;
  cancelled: boolean;
}

/** See the module's header. */
export class LazyHeap implements Timers {
  readonly #told: (pair: number) => void;
  readonly #heap: Entry[] = [];
  readonly #byPair: (Entry | undefined)[];

  /** No timers yet. */
  constructor({ capacity, told }: TimersOptions) {
    this.#told = told;
    this.#byPair = new Array<Entry | undefined>(capacity);
  }

  schedule(pair: number, deadlineUs: number): void {
    const entry = { pair, deadlineUs, cancelled: false };
    this.#byPair[pair] = entry;
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = heap[(at - 1) >> 1] as Entry;
      if (parent.deadlineUs <= deadlineUs) break;
      heap[at] = parent;
      at = (at - 1) >> 1;
    }
    heap[at] = entry;
  }

  cancel(pair: number): void {
    (this.#byPair[pair] as Entry).cancelled = true;
    this.#byPair[pair] = undefined;
  }

  advanceTo(nowUs: number): void {
    for (let top = this.#heap[0]; top !== undefined && top.deadlineUs <= nowUs; top = this.#heap[0]) {
      this.#pop();
      if (top.cancelled) continue;
      this.#byPair[top.pair] = undefined;
      this.#told(top.pair);
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && right.deadlineUs < (heap[child] as Entry).deadlineUs) child++;
      const entry = heap[child] as Entry;
      if (entry.deadlineUs >= last.deadlineUs) break;
      heap[at] = entry;
      at = child;
    }
    heap[at] = last;
  }
}
