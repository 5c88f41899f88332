/**
 * The ring of triggers: what is durable, in its order, bounded; where one goes on; and who has lost something.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { TriggerRing } from "../../actors/trigger_ring.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function idOf(number: number): string {
  return number.toString(16).padStart(32, "0");
}

function lines(from: number, to: number, padding = 0): Uint8Array {
  let text = "";
  for (let i = from; i < to; i++) text += `{"id":"${idOf(i)}","pad":"${"x".repeat(padding)}"}\n`;
  return encoder.encode(text);
}

function batch(bytes: Uint8Array): { bytes: Uint8Array; byteLength: number; count: number } {
  return { bytes, byteLength: bytes.length, count: 1 };
}

/** All ids from a place on. */
function idsFrom(ring: TriggerRing, position: number): number[] {
  const ids: number[] = [];
  for (;;) {
    const piece = ring.read(position);
    if (piece === null) return ids;
    ok(piece !== "lost");
    position += piece.length;
    for (const line of decoder.decode(piece).trimEnd().split("\n")) {
      ids.push(parseInt((JSON.parse(line) as { id: string }).id, 16));
    }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

Deno.test("TriggerRing: only what is durable is there, and the written batch may be used again", () => {
  const ring = new TriggerRing();
  let more = 0;
  ring.onMore = () => more++;
  const observer = ring.observer();
  const bytes = lines(0, 3);
  observer.written({ ...batch(bytes), byteLength: bytes.length });
  bytes.fill(0);
  equal(ring.read(0), null);
  observer.durable();
  deepEqual(idsFrom(ring, 0), [0, 1, 2]);
  observer.durable();
  equal(more, 1);
});

Deno.test("TriggerRing: a line lies in one piece, whatever the sizes, and any id is found", () => {
  const ring = new TriggerRing();
  for (let i = 0; i < 2000; i += 100) ring.append(lines(i, i + 100, 37 * (i % 7)));
  ring.append(lines(2000, 2001, 300_000));
  ring.append(lines(2001, 2010, 30_000));
  deepEqual(idsFrom(ring, 0), range(0, 2010));
  for (const id of [0, 99, 100, 1234, 2000, 2008]) {
    deepEqual(idsFrom(ring, ring.find(idOf(id)) as number), range(id + 1, 2010));
  }
  equal(ring.find(idOf(2009)), ring.end);
  equal(ring.find(idOf(2010)), null);
});

Deno.test("TriggerRing: an id that is none is not found, however it looks", () => {
  const ring = new TriggerRing();
  ring.append(lines(0, 10));
  for (const id of ["", "0", idOf(1).toUpperCase() + "A", `${idOf(1)}"`, '","pad":"', "é".repeat(32), "\0"]) {
    equal(ring.find(id), null);
  }
});

Deno.test("TriggerRing: bounded; whose place is before the start has lost what was there", () => {
  const ring = new TriggerRing(1 << 20);
  for (let i = 0; i < 40_000; i += 100) ring.append(lines(i, i + 100, 50));
  ok(ring.end - ring.start <= (1 << 20), "no more than was asked for");
  ok(ring.end - ring.start >= (1 << 20) - (256 << 10), "and not much less");
  equal(ring.read(0), "lost");
  equal(ring.read(ring.start - 1), "lost");
  equal(ring.read(ring.end), null);
  equal(ring.find(idOf(0)), null);
  const ids = idsFrom(ring, ring.start);
  deepEqual(ids, range(ids[0] as number, 40_000));
});

Deno.test("TriggerRing: what is not durable is bounded too, and leaves a gap", () => {
  const ring = new TriggerRing(1 << 20);
  ring.append(lines(0, 10));
  const before = ring.end;
  const [one, other] = [ring.observer(), ring.observer()];
  other.written(batch(lines(5000, 5001)));
  for (let i = 0; i < 40; i++) one.written(batch(lines(10 + i * 1000, 10 + i * 1000 + 1000, 10)));
  equal(ring.end, before);
  one.durable();
  equal(ring.read(before), "lost");
  const place = ring.end;
  other.durable();
  deepEqual(idsFrom(ring, place), [5000]);
});

Deno.test("TriggerRing: a split that failed leaves a gap where something was on its way, and none where not", () => {
  const ring = new TriggerRing();
  const observer = ring.observer();
  observer.written(batch(lines(0, 2)));
  observer.durable();
  observer.halted();
  deepEqual(idsFrom(ring, 0), [0, 1]);
  const before = ring.end;
  observer.written(batch(lines(2, 3)));
  observer.halted();
  equal(ring.read(before), "lost");
  equal(ring.start, ring.end);
});

Deno.test("TriggerRing: the newest first, over the edges of its segments", () => {
  const ring = new TriggerRing();
  deepEqual(ring.newestFirst(3), []);
  ring.append(lines(0, 2000, 1000));
  const newest = (count: number): number[] =>
    ring.newestFirst(count).map((line) =>
      parseInt((JSON.parse(decoder.decode(line)) as { id: string }).id, 16)
    );
  deepEqual(newest(3), [1999, 1998, 1997]);
  deepEqual(newest(5000), range(0, 2000).reverse());
});
