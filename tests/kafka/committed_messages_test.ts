import { deepStrictEqual } from "node:assert/strict";
import { committedMessages } from "../../actors/adapters/kafka/committed_messages.ts";
import type { AbortedTransaction, RawMessage } from "../../actors/adapters/kafka/kafka_cluster.ts";
import { randomFrom } from "../support/random.ts";

type Row = readonly [producer: number | null, what: "data" | "commit" | "abort", key?: readonly number[]];

/** A partition's log; a record without a producer is in no transaction. */
function logOf(rows: readonly Row[]): RawMessage[] {
  return rows.map(([producer, what, key], offset) => ({
    offset: String(offset),
    timestamp: "0",
    key: Uint8Array.from(what === "data" ? key ?? [] : [0, 0, 0, what === "commit" ? 1 : 0]),
    value: new Uint8Array(0),
    isControlRecord: what !== "data",
    batchContext: {
      firstOffset: String(offset),
      lastOffsetDelta: 0,
      producerId: String(producer ?? -1),
      inTransaction: producer !== null,
    },
  }));
}

function offsetsOf(messages: readonly RawMessage[]): number[] {
  return messages.map(({ offset }) => Number(offset));
}

function aborted(...transactions: [producer: number, firstOffset: number][]): AbortedTransaction[] {
  return transactions.map(([producer, firstOffset]) => ({
    producerId: String(producer),
    firstOffset: String(firstOffset),
  }));
}

Deno.test("committedMessages: neither markers nor what was aborted", () => {
  const log = logOf([[1, "data"], [null, "data"], [1, "abort"], [1, "data"], [1, "commit"]]);
  deepStrictEqual(offsetsOf(committedMessages(log, aborted([1, 0]))), [1, 3]);
  deepStrictEqual(offsetsOf(committedMessages(log.slice(3), null)), [3]);
  deepStrictEqual(committedMessages([], aborted([1, 0])), []);
});

Deno.test("committedMessages: the list comes in the order of the markers, not of the beginnings", () => {
  const log = logOf([[1, "data"], [2, "data"], [2, "abort"], [1, "data"], [1, "abort"], [null, "data"]]);
  deepStrictEqual(offsetsOf(committedMessages(log, aborted([2, 1], [1, 0]))), [5]);
});

Deno.test("committedMessages: a piece that begins within several aborted transactions", () => {
  const log = logOf([[1, "data"], [2, "data"], [2, "data"], [1, "data"], [1, "abort"], [2, "abort"]]);
  deepStrictEqual(offsetsOf(committedMessages(log.slice(2), aborted([1, 0], [2, 1]))), []);
});

Deno.test("committedMessages: a record is no marker, whatever its key is", () => {
  const log = logOf([[1, "data", [0, 0, 0, 0]], [1, "data"], [1, "abort"]]);
  deepStrictEqual(offsetsOf(committedMessages(log, aborted([1, 0]))), []);
});

Deno.test("committedMessages: agrees with a log that is replayed from its beginning, over seeds", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomFrom(seed);
    const rows: Row[] = [];
    const begun = new Map<number, number[]>();
    const committed = new Set<number>();
    const transactions: [number, number, end: number][] = [];
    const end = (producer: number, offsets: number[]): void => {
      const commits = random() < 0.5;
      if (commits) { for (const offset of offsets) committed.add(offset); }
      else transactions.push([producer, offsets[0] as number, rows.length]);
      rows.push([producer, commits ? "commit" : "abort"]);
      begun.delete(producer);
    };
    for (let step = 0; step < 40; step++) {
      const producer = Math.floor(random() * 4);
      const offsets = begun.get(producer);
      if (producer === 0) {
        committed.add(rows.length);
        rows.push([null, "data"]);
      } else if (offsets !== undefined && random() < 0.3) {
        end(producer, offsets);
      } else {
        begun.set(producer, [...offsets ?? [], rows.length]);
        rows.push([producer, "data", random() < 0.2 ? [0, 0, 0, 0] : []]);
      }
    }
    for (const [producer, offsets] of begun) end(producer, offsets);
    const from = Math.floor(random() * rows.length);
    const touching = transactions.filter((transaction) => transaction[2] >= from);
    const found = committedMessages(
      logOf(rows).slice(from),
      aborted(...touching.map(([producer, first]): [number, number] => [producer, first])),
    );
    const expected = [...committed].filter((offset) => offset >= from).sort((a, b) => a - b);
    deepStrictEqual(offsetsOf(found), expected, `seed ${seed}`);
  }
});
