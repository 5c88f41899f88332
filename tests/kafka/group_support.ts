/** What the tests of the consumer group share: what kafkajs would have fetched, and a clock that the test moves. */
import type { Clock } from "../../actors/ports.ts";
import type { FetchedBatch, FetchedMessage } from "../../actors/adapters/kafka/fetched_batch.ts";

/** A part of a fetch, of topic `t`, partition 0. */
export interface Fetch {
  /** The offset that was asked for. */
  readonly at: number;
  /** Offsets of the records that may be seen. */
  readonly seen?: readonly number[];
  /** How many more were in the answer: control records, and those of aborted transactions. */
  readonly hidden?: number;
  /** The last offset of the answer; of `seen` where not given. */
  readonly last?: number;
  /** The log's end; right behind the answer where not given. */
  readonly end?: number;
  readonly value?: (offset: number) => Uint8Array | null;
}

/** Makes what kafkajs hands over. */
export function fetched(
  { at, seen = [], hidden = 0, last = seen.at(-1) ?? at - 1, end = last + 1, value }: Fetch,
): FetchedBatch {
  const messages: FetchedMessage[] = seen.map((offset) => ({
    offset: String(offset),
    timestamp: String(1_700_000_000_000 + offset),
    value: value === undefined ? new TextEncoder().encode(`record ${offset}`) : value(offset),
  }));
  const all = [...messages, ...new Array<null>(hidden).fill(null)];
  return {
    topic: "t",
    partition: 0,
    fetchedOffset: String(at),
    highWatermark: String(end),
    messages,
    messagesWithinOffset: all,
    rawMessages: all,
    lastOffset: () => String(last),
  };
}

/** Time that stands still until it is moved. Nothing here waits for it. */
export class StillClock implements Clock {
  wall = 1_700_000_000_000_000;
  monotonic = 0;

  wallUs(): number {
    return this.wall;
  }

  monotonicUs(): number {
    return this.monotonic;
  }

  delay(): Promise<void> {
    return Promise.reject(new Error("nothing here waits for the clock"));
  }

  nextTurn(): Promise<void> {
    return Promise.resolve();
  }

  every(): () => void {
    return () => {};
  }
}
