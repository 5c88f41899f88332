/**
 * The metrics of the process: memory, processor, the event loop, what it is.
 *
 * The runtime has no count of garbage collections. What it tells is how large the heap is against its limit, and how much
 * was allocated where V8 counts that (Deno 2.9 does, 2.4 does not).
 *
 * @module
 */
import process from "node:process";
import v8 from "node:v8";
import { Histogram } from "../../../lib/histogram.ts";
import { VERSION } from "../../../lib/version.ts";
import type { MetricSet } from "./metric_set.ts";

/** How often the event loop is looked at, ms. */
const LOOK_MS = 100;
const LAG_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How late timers come: what a request waits for before anybody looks at it. */
export class EventLoopLag {
  readonly #lag = new Histogram(LAG_S);
  readonly #now: () => number;
  #dueMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param now ms, monotonic */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#dueMs = now() + LOOK_MS;
    this.#wait();
  }

  /** How late they came, s. */
  get histogram(): Histogram {
    return this.#lag;
  }

  /** Looks no more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** One timer after the other, and no interval: after a long turn that would come early, to catch up. */
  #wait(): void {
    this.#timer = setTimeout(() => {
      const nowMs = this.#now();
      this.#lag.observe(Math.max(0, nowMs - this.#dueMs) / 1000);
      this.#dueMs = nowMs + LOOK_MS;
      this.#wait();
    }, LOOK_MS);
    // A process that has nothing else to do may end.
    Deno.unrefTimer(this.#timer as unknown as number);
  }
}

/** Registers them; whoever does stops the returned one. */
export function registerProcessMetrics(set: MetricSet): EventLoopLag {
  const lag = new EventLoopLag();
  const startedS = performance.timeOrigin / 1000;
  set.gauge({
    name: "fencepost_build_info",
    help: "1; which version this is, and what it runs on",
    labels: ["version", "deno", "v8"],
  }, (tell) => tell(1, { version: VERSION, deno: Deno.version.deno, v8: Deno.version.v8 }));
  set.gauge(
    { name: "process_start_time_seconds", help: "When the process began, since the Unix epoch" },
    (tell) => tell(startedS),
  );
  set.gauge(
    { name: "process_resident_memory_bytes", help: "Memory of the process" },
    (tell) => tell(Deno.memoryUsage().rss),
  );
  set.counter({ name: "process_cpu_seconds_total", help: "Processor time of the process" }, (tell) => {
    const { user, system } = process.cpuUsage();
    tell((user + system) / 1e6);
  });
  set.histogram(
    { name: "fencepost_event_loop_lag_seconds", help: "How late a timer came, looked at ten times a second" },
    () => lag.histogram,
  );
  const heap = (
    name: string,
    help: string,
    of: (heap: ReturnType<typeof v8.getHeapStatistics>) => number,
  ): void => set.gauge({ name: `fencepost_heap_${name}`, help }, (tell) => tell(of(v8.getHeapStatistics())));
  heap(
    "used_bytes",
    "JavaScript heap in use, garbage that was not collected yet included",
    (h) => h.used_heap_size,
  );
  heap("size_bytes", "JavaScript heap that is reserved", (h) => h.total_heap_size);
  heap("limit_bytes", "What the JavaScript heap may grow to", (h) => h.heap_size_limit);
  heap("external_bytes", "Memory of buffers outside of the JavaScript heap", (h) => h.external_memory);
  if (allocatedBytes() !== undefined) {
    set.counter({
      name: "fencepost_heap_allocated_bytes_total",
      help: "Bytes that were ever allocated on the JavaScript heap",
    }, (tell) => tell(allocatedBytes() as number));
  }
  return lag;
}

function allocatedBytes(): number | undefined {
  return (v8.getHeapStatistics() as { total_allocated_bytes?: number }).total_allocated_bytes;
}
