/**
 * Rounds over a window that is full, paced and flat out: each admit timed by itself.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { Histogram, type HistogramJson } from "../engine/histogram.ts";
import { threadClock } from "../engine/thread_clock.ts";

/** What a window took to fill. */
export interface WindowFilled {
  /** What was added, V8's heap included; of a server what it says of itself. */
  readonly residentBytes: number;
  /** V8's heap of these. */
  readonly heapBytes: number;
  /** By the window's own count, where it has one. */
  readonly byteLength: number | null;
}

/** What a round of one pace took. */
export interface Pace {
  readonly admits: number;
  readonly seconds: number;
  /** In the admits alone, µs in all: by the clock on the wall, and the thread's CPU time. */
  readonly wallUs: number;
  readonly cpuUs: number;
  readonly latencies: HistogramJson;
}

/** What a round took, and what it got wrong. */
export interface WindowRound {
  readonly paced: Pace;
  readonly flatOut: Pace;
  /** New ones that were taken for copies. */
  readonly falseDrops: number;
  /** Copies that were taken for new ones. */
  readonly letThrough: number;
}

/** A block of ids: made beforehand, and then admitted. */
export interface Block {
  /** Makes so many ids. */
  prepare(count: number): void;
  /** Admits them, and notes how long each took. */
  admit(latencies: Histogram): void | Promise<void>;
}

/** Triggers a second of the paced half. */
export const TRIGGERS_PER_SECOND = 25_000;
/** Ids in a block: a batch of a partition. */
export const BLOCK_IDS = 128;

/** Admits ids, paced or as fast as it goes, for so many seconds. */
export async function runPace(block: Block, pace: "paced" | "flat out", seconds: number): Promise<Pace> {
  const latencies = new Histogram();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let admits = 0;
  let wallMs = 0;
  let cpuUs = 0;
  let nowMs = startedMs;
  for (; nowMs < endMs; nowMs = performance.now()) {
    const due = pace === "flat out"
      ? BLOCK_IDS
      : Math.min(BLOCK_IDS, Math.floor((nowMs - startedMs) / 1000 * TRIGGERS_PER_SECOND) - admits);
    if (due > 0) {
      block.prepare(due);
      const beginMs = performance.now();
      const beginUs = threadUs();
      const waiting = block.admit(latencies);
      if (waiting !== undefined) await waiting;
      cpuUs += threadUs() - beginUs;
      wallMs += performance.now() - beginMs;
      admits += due;
    }
    if (pace === "paced") await nextTurn();
  }
  const took = (nowMs - startedMs) / 1000;
  return { admits, seconds: took, wallUs: wallMs * 1000, cpuUs, latencies: latencies.toJson() };
}

const threadUs = threadClock();

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
