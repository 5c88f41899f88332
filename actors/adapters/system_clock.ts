/**
 * Time as the operating system tells it.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../ports.ts";

const US_PER_MS = 1000;
/** A longer timeout does not fit 31 bits and would fire at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** See {@link Clock}. Timers are exact to the millisecond and no better. */
export class SystemClock implements Clock {
  wallUs(): number {
    return Date.now() * US_PER_MS;
  }

  monotonicUs(): number {
    return Math.floor(performance.now() * US_PER_MS);
  }

  async delay(us: number, signal?: AbortSignal): Promise<void> {
    let leftMs = toMs(us);
    do {
      const stepMs = Math.min(leftMs, TIMEOUT_MS_MAX);
      await timeout(stepMs, signal);
      leftMs -= stepMs;
    } while (leftMs > 0);
  }

  /** `setImmediate` rather than a promise, whose turn comes before any I/O, or `setTimeout`, which takes 1 ms at least. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  every(us: number, callback: () => void): () => void {
    const timer = setInterval(callback, Math.min(toMs(us), TIMEOUT_MS_MAX));
    return () => clearInterval(timer);
  }
}

/** Rounded up: whoever waits until a time must not wake before it. */
function toMs(us: number): number {
  return Math.max(1, Math.ceil(us / US_PER_MS));
}

function timeout(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
