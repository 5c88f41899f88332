/**
 * The queue of what happens when, against a sorted array over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { TimeQueue } from "../../bench/time_queue.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import { randomFrom } from "../support/random.ts";

Deno.test("time queue: empty, nothing is next and nothing can be taken", () => {
  const queue = new TimeQueue<string>();
  equal(queue.nextUs, Infinity);
  throws(() => queue.pop(), AssertionFailed);
  queue.push(5, "a");
  equal(queue.nextUs, 5);
  equal(queue.pop(), "a");
  equal(queue.nextUs, Infinity);
  equal(queue.size, 0);
});

Deno.test("time queue: gives everything once, earliest first, like a sorted array", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomFrom(seed);
    // Few times, so that many are equal.
    const times = seed % 2 === 0 ? 5 : 1000;
    const queue = new TimeQueue<{ timeUs: number }>();
    const model = new Set<{ timeUs: number }>();
    for (let step = 0; step < 300; step++) {
      const place = `seed ${seed}, step ${step}`;
      if (model.size === 0 || random() < 0.6) {
        const item = { timeUs: Math.floor(random() * times) };
        queue.push(item.timeUs, item);
        model.add(item);
      } else {
        const earliestUs = Math.min(...[...model].map((item) => item.timeUs));
        equal(queue.nextUs, earliestUs, place);
        const item = queue.pop();
        equal(item.timeUs, earliestUs, place);
        ok(model.delete(item), `${place}: it was in there, and only once`);
      }
      equal(queue.size, model.size, place);
    }
    const rest = Array.from({ length: queue.size }, () => queue.pop().timeUs);
    deepEqual(rest, [...model].map((item) => item.timeUs).toSorted((a, b) => a - b), `seed ${seed}`);
  }
});
