/**
 * Admission: its marks as tables, its limit by what it learns, its bounds over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Admission } from "../../lib/overload.ts";
import { randomFrom } from "../support/random.ts";

const OPTIONS = { targetUs: 100_000, floor: 1000, ceiling: 100_000 };

Deno.test("admission: with nothing in flight a request of any size up to the ceiling is taken", () => {
  deepEqual(new Admission(OPTIONS).room("a", 0), { any: 100_000, exits: 100_000 });
});

Deno.test("admission: ENTERs are refused at four fifths of the limit, EXITs at all of it", () => {
  const table: readonly (readonly [inFlight: number, any: number, exits: number])[] = [
    [1, 799, 999],
    [499, 301, 501],
    [500, 300, 500],
    [799, 1, 201],
    [800, 0, 200],
    [999, 0, 1],
    [1000, 0, 0],
    [5000, 0, 0],
  ];
  for (const [inFlight, any, exits] of table) {
    const admission = new Admission(OPTIONS);
    admission.take("a", inFlight, 0);
    deepEqual(admission.room("a", 0), { any, exits }, `${inFlight} in flight`);
  }
});

Deno.test("admission: from a half on clients have equal parts, below it who comes has room", () => {
  const admission = new Admission(OPTIONS);
  admission.take("greedy", 450, 0);
  deepEqual(admission.room("greedy", 0), { any: 350, exits: 550 });
  admission.take("greedy", 250, 0);
  equal(admission.room("modest", 0).any, 100);
  deepEqual(admission.room("greedy", 0), { any: 0, exits: 0 });
  // Two seconds after his last request the other one no longer counts.
  equal(admission.room("greedy", 2_000_000).any, 100);
});

Deno.test("admission: the limit grows where it was needed, and shrinks where something took too long", () => {
  const admission = new Admission(OPTIONS);
  admission.durable(1000, 0);
  equal(admission.limit, 1000, "nobody needed more");
  admission.take("a", 900, 0);
  admission.durable(1000, 1);
  equal(admission.limit, 1100);
  for (let i = 0; i < 100; i++) {
    admission.take("a", admission.limit - admission.inFlight, 0);
    admission.durable(1000, i);
  }
  equal(admission.limit, 100_000, "never over the ceiling");
  admission.durable(300_000, 1_000_000);
  equal(admission.limit, 80_000);
  admission.durable(300_000, 1_200_000);
  equal(admission.limit, 80_000, "what was let in before says nothing");
  for (let i = 1; i < 100; i++) admission.durable(300_000, 1_200_000 + i * 400_000);
  equal(admission.limit, 1000, "never below the floor");
});

/** Takes what there is room for, and all of it becomes durable after so long. */
function round(admission: Admission, nowUs: number, tookUs: number): void {
  const count = Math.max(0, admission.limit - admission.inFlight);
  admission.take("a", count, nowUs);
  admission.release("a", count);
  admission.durable(tookUs, nowUs + tookUs);
}

Deno.test("admission: a commit that takes longer than the target makes nobody wait outside", () => {
  const admission = new Admission(OPTIONS);
  // Each takes 150 ms, however little is in it.
  for (let i = 0; i < 50; i++) round(admission, i * 150_000, 150_000);
  ok(admission.limit > 50_000);
  const before = admission.limit;
  round(admission, 50 * 150_000, 301_000);
  equal(admission.limit, Math.floor(before * 0.8));
});

Deno.test("admission: an overload that lasts is never taken for what is usual", () => {
  const admission = new Admission(OPTIONS);
  for (let i = 0; i < 20; i++) round(admission, i * 10_000, 10_000);
  // From here on it takes 10 ms a thousand records: 100 ms are ten thousand of them.
  let nowUs = 1_000_000;
  for (let i = 0; i < 2000; i++) {
    const tookUs = admission.limit * 10;
    round(admission, nowUs, tookUs);
    nowUs += tookUs;
    if (i > 100) ok(admission.limit <= 12_000, `${admission.limit} in round ${i}`);
  }
  ok(admission.limit > 5_000);
});

Deno.test("admission: over seeds, what is taken within the room stays within the limit", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = randomFrom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const admission = new Admission(OPTIONS);
    const taken = new Map<string, number>();
    let inFlight = 0;
    for (let step = 0; step < 5000; step++) {
      const nowUs = step * 1000;
      const client = `c${below(5)}`;
      if (random() < 0.5) {
        const { any, exits } = admission.room(client, nowUs);
        ok(any >= 0 && any <= exits);
        const limit = inFlight === 0 ? OPTIONS.ceiling : admission.limit;
        const count = Math.min(below(600), random() < 0.5 ? any : exits);
        ok(count === 0 || inFlight + count <= limit, `seed ${seed}, step ${step}`);
        admission.take(client, count, nowUs);
        taken.set(client, (taken.get(client) ?? 0) + count);
        inFlight += count;
      } else {
        const count = below((taken.get(client) ?? 0) + 1);
        if (taken.has(client)) {
          admission.release(client, count);
          taken.set(client, (taken.get(client) ?? 0) - count);
          inFlight -= count;
        }
        admission.durable(below(200_000), nowUs);
      }
      equal(admission.inFlight, inFlight);
      ok(admission.limit >= OPTIONS.floor && admission.limit <= OPTIONS.ceiling);
    }
  }
});
