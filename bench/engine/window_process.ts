/**
 * Fills one dedup window, or a `Map`, with millions of ids, and tells as JSON what it took: its own process, since what
 * a process has resident never quite goes down again.
 *
 * Admits are timed one by one. Ids are drawn outside of the timing. The clock's own two readings are in
 * every duration; `clock` says what they take.
 *
 * @module
 */
import { DedupWindow } from "../../lib/dedup_window.ts";
import { randomFrom } from "../../tests/support/random.ts";
import { Histogram, type HistogramJson } from "./histogram.ts";

/** What it tells. */
export interface WindowOutcome {
  /** The timing by itself. */
  readonly clock: HistogramJson;
  readonly growing: HistogramJson;
  /** Full: each admit lets go of an id. */
  readonly full: HistogramJson;
  /** Bytes resident that came while it grew, V8's heap included. */
  readonly residentBytes: number;
  /** V8's heap of these. The durations' garbage alone makes its young generation grow. */
  readonly heapBytes: number;
  /** What the structure says of itself; 0 where it can't. */
  readonly byteLength: number;
}

/** A window for ids of four words. */
interface Window {
  readonly byteLength: number;
  /** Whether it was new. */
  admit(lanes: Int32Array, clockUs: number): boolean;
}

const LANES = 4;
/** Of the dedup clock: a window of `ttl` holds the ids asked for. */
const STEP_US = 60;
/** Records in a batch. */
const EXPIRE_ADMITS = 128;

/** The real one. */
function dedupWindow(ids: number): Window {
  const window = new DedupWindow({ ttlUs: ids * STEP_US, capacity: 2 * ids });
  let admits = 0;
  return {
    get byteLength(): number {
      return window.byteLength;
    },
    admit(lanes, clockUs): boolean {
      window.clockUs = clockUs;
      window.oldestClockUs = clockUs;
      // As a partition does it, once a batch: the admit that it falls to pays for all of them.
      if (++admits % EXPIRE_ADMITS === 0) window.expire();
      return window.admit(lanes, 0);
    },
  };
}

/**
 * The reference: what one would write first. Insertion order is expiry order here too. One iterator for ever: a new one
 * for each id steps over all that were deleted before, 0.5 ms of it at 5 million.
 */
function mapWindow(ids: number): Window {
  const window = new Map<string, number>();
  const oldest = window.keys();
  return {
    byteLength: 0,
    admit(lanes, clockUs): boolean {
      const id = `${hex(lanes[0])}${hex(lanes[1])}${hex(lanes[2])}${hex(lanes[3])}`;
      if (window.has(id)) return false;
      if (window.size >= ids) window.delete(oldest.next().value as string);
      window.set(id, clockUs);
      return true;
    },
  };
}

function hex(word: number | undefined): string {
  return (word ?? 0).toString(16).padStart(8, "0");
}

function fill(
  window: Window,
  counts: { readonly ids: number; readonly fromUs: number },
  random: () => number,
): Histogram {
  const histogram = new Histogram();
  const lanes = new Int32Array(LANES);
  let clockUs = counts.fromUs;
  for (let i = 0; i < counts.ids; i++) {
    for (let lane = 0; lane < LANES; lane++) lanes[lane] = random() * 2 ** 32;
    clockUs += STEP_US;
    const startedMs = performance.now();
    const novel = window.admit(lanes, clockUs);
    histogram.record((performance.now() - startedMs) * 1000);
    if (!novel) throw new Error("Cannot go on: two random ids of 128 bits were equal");
  }
  return histogram;
}

function measure(make: (ids: number) => Window, ids: number): WindowOutcome {
  const random = randomFrom(1);
  const clock = new Histogram();
  // Compiled code, and a heap that has seen some work, before anything counts.
  fill(make(20_000), { ids: 50_000, fromUs: 0 }, random);
  for (let i = 0; i < 100_000; i++) {
    const startedMs = performance.now();
    clock.record((performance.now() - startedMs) * 1000);
  }
  const window = make(ids);
  const before = Deno.memoryUsage();
  const growing = fill(window, { ids, fromUs: 0 }, random);
  const after = Deno.memoryUsage();
  const byteLength = window.byteLength;
  const full = fill(window, { ids: Math.ceil(ids / 5), fromUs: ids * STEP_US }, random);
  return {
    clock: clock.toJson(),
    growing: growing.toJson(),
    full: full.toJson(),
    residentBytes: after.rss - before.rss,
    heapBytes: after.heapTotal - before.heapTotal,
    byteLength,
  };
}

const [kind, ids] = Deno.args;
const outcome = measure(kind === "map" ? mapWindow : dedupWindow, Number(ids));
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(outcome) + "\n"));
