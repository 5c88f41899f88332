/**
 * The last dead letters: durable ones, the newest first, bounded in number and in size.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { RecentDeadLetters } from "../../actors/recent_dead_letters.ts";
import { encodeDeadLetter } from "../../lib/dead_letter.ts";

const AT_US = Date.UTC(2026, 2, 1) * 1000;

function letter(record: Uint8Array | string, offset = 0): Uint8Array {
  const bytes = typeof record === "string" ? new TextEncoder().encode(record) : record;
  return encodeDeadLetter(
    { reason: "MALFORMED_JSON", detail: "why", source: "http", position: { offset }, record: bytes },
    AT_US,
  );
}

function batch(...all: readonly Uint8Array[]): { bytes: Uint8Array; byteLength: number; count: number } {
  const bytes = new Uint8Array(all.flatMap((line) => [...line]));
  return { bytes, byteLength: bytes.length, count: all.length };
}

Deno.test("RecentDeadLetters: shown when durable, the newest first, with what they say", () => {
  const recent = new RecentDeadLetters();
  const observer = recent.observer();
  observer.written(batch(letter("one", 1), letter("two", 2)));
  deepEqual(recent.newestFirst(), []);
  observer.durable();
  deepEqual(recent.newestFirst().map(({ record }) => record), ["two", "one"]);
  deepEqual(recent.newestFirst()[1], {
    at: "2026-03-01T00:00:00.000000Z",
    reason: "MALFORMED_JSON",
    detail: "why",
    source: "http",
    position: { offset: 1 },
    record: "one",
  });
  observer.written(batch(letter("three", 3)));
  observer.halted();
  observer.durable();
  equal(recent.newestFirst().length, 2);
});

Deno.test("RecentDeadLetters: the last hundred of all splits, however they come", () => {
  const recent = new RecentDeadLetters();
  const [one, other] = [recent.observer(), recent.observer()];
  one.written(batch(...Array.from({ length: 150 }, (_, i) => letter(`a${i}`, i))));
  other.written(batch(letter("b", 0)));
  one.durable();
  other.durable();
  const shown = recent.newestFirst().map(({ record }) => record);
  equal(shown.length, 100);
  deepEqual([shown[0], shown[1], shown[99]], ["b", "a149", "a51"]);
});

Deno.test("RecentDeadLetters: long records are clipped between characters, and those that are no text stay base64", () => {
  const recent = new RecentDeadLetters();
  const observer = recent.observer();
  observer.written(batch(
    letter("x".repeat(60_000)),
    letter("x".repeat(999) + "😀"),
    letter(new Uint8Array(2000).fill(0xff)),
    letter("x".repeat(1000)),
  ));
  observer.durable();
  const [fits, bytes, emoji, long] = recent.newestFirst();
  deepEqual([fits?.record?.length, fits?.clipped], [1000, undefined]);
  deepEqual([bytes?.record, bytes?.record_base64?.length, bytes?.clipped], [undefined, 1000, true]);
  equal(atob(bytes?.record_base64 as string).length, 750);
  deepEqual([emoji?.record, emoji?.clipped], ["x".repeat(999), true]);
  deepEqual([long?.record?.length, long?.clipped], [1000, true]);
  ok(JSON.stringify(recent.newestFirst()).length < 10_000);
});
