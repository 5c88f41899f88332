/**
 * How much goes to a Deno KV server at once, or comes from it: as much as the link carries within a call's time.
 *
 * ```
 *   one call's worth ── answered within WIDEN_MS ──▶ twice as much ──▶ … ──▶ bytesMax
 *          ▲  ▲                                          │
 *          │  └───── took longer than NARROW_MS: half ───┤
 *          └─────────────── failed ──────────────────────┘
 * ```
 *
 * What is under way shares the link, and each call has a limit of its own: eight atomics of 0.8 MB need 5 Mbit/s to get
 * through in 10 s, and one after the other 0.7. But one after the other is slow where the server is near: each waits some
 * 45 ms for the network. All partitions of a process have one lane each way, since they have one link; so it also outlives
 * the store that found it too narrow.
 *
 * Only calls that fill a good part of it count: a small one is fast on any link.
 *
 * @module
 */

/** A call that took less than this, in ms, may have as much beside it. */
const WIDEN_MS = 1_000;
/** One that took longer than this had too much beside it: more than twice, so that it does not go to and fro. */
const NARROW_MS = 2_500;

/** How narrow and how wide it may be. */
export interface KvLaneBounds {
  /** What it begins with: one call's worth. */
  readonly bytesMin: number;
  readonly bytesMax: number;
}

/** Where to and from: what a store needs. */
export interface KvLanes {
  readonly up: KvLane;
  readonly down: KvLane;
}

/** See the module's header. */
export class KvLane {
  /** How much may be under way, in bytes; one call may always. */
  bytes: number;
  readonly #bounds: KvLaneBounds;
  readonly #nowMs: () => number;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  #underWay = 0;

  /** @param nowMs a clock that never goes back */
  constructor(bounds: KvLaneBounds, nowMs: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#nowMs = nowMs;
    this.bytes = bounds.bytesMin;
  }

  /**
   * Makes a call when there is room for it, those that wait in their order.
   *
   * @param bytes how much it moves, at most
   * @param moved how much that was, where it may be less
   */
  async run<T>(
    bytes: number,
    call: () => Promise<T>,
    moved: (result: T) => number = () => bytes,
  ): Promise<T> {
    await this.#enter(bytes);
    const besides = this.#underWay - bytes;
    const startedMs = this.#nowMs();
    try {
      const result = await call();
      this.#learn(besides + moved(result), this.#nowMs() - startedMs);
      return result;
    } catch (error) {
      this.bytes = this.#bounds.bytesMin;
      throw error;
    } finally {
      this.#underWay -= bytes;
      this.#next();
    }
  }

  #learn(load: number, ms: number): void {
    const { bytesMin, bytesMax } = this.#bounds;
    if (ms > NARROW_MS) this.bytes = Math.max(bytesMin, this.bytes / 2);
    else if (ms < WIDEN_MS && load > this.bytes / 2) this.bytes = Math.min(bytesMax, this.bytes * 2);
  }

  async #enter(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#hasRoom(bytes)) this.#underWay += bytes;
    else await new Promise<void>((resolve) => this.#waiting.push({ bytes, enter: resolve }));
  }

  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (!this.#hasRoom(first.bytes)) return;
      this.#underWay += first.bytes;
      this.#waiting.shift();
      first.enter();
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#underWay === 0 || this.#underWay + bytes <= this.bytes;
  }
}
