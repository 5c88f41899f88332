/**
 * The mailbox: its bounds as tables, and its order against an array over seeds.
 *
 * @module
 */
import { equal, ok } from "node:assert/strict";
import { Mailbox } from "../../actors/mailbox.ts";
import { randomFrom } from "../support/random.ts";

Deno.test("mailbox: offer takes what fits, to the last unit", () => {
  const table: readonly (readonly [filled: number, weight: number, taken: boolean])[] = [
    [0, 10, true],
    [9, 1, true],
    [9, 2, false],
    [10, 1, false],
    [10, 0, true],
    [0, 11, true],
    [1, 11, false],
    [1, 9, true],
  ];
  for (const [filled, weight, taken] of table) {
    const mailbox = new Mailbox<string>(10);
    if (filled > 0) mailbox.offer("before", filled);
    equal(mailbox.offer("now", weight), taken, `${weight} behind ${filled} of 10`);
    equal(mailbox.depth, filled + (taken ? weight : 0));
    equal(mailbox.length, (filled > 0 ? 1 : 0) + (taken ? 1 : 0));
  }
});

Deno.test("mailbox: a refused message is not in it, and the next that fits is", () => {
  const mailbox = new Mailbox<string>(2);
  mailbox.offer("a", 2);
  equal(mailbox.offer("b", 1), false);
  mailbox.offer("barrier", 0);
  equal(mailbox.poll(), "a");
  equal(mailbox.poll(), "barrier");
  equal(mailbox.poll(), null);
});

Deno.test("mailbox: a message over the capacity leaves nobody waiting for ever", async () => {
  const mailbox = new Mailbox<string>(4);
  mailbox.offer("huge", 100);
  ok(mailbox.isHigh);
  const low = mailbox.whenLow();
  equal(mailbox.offer("next", 1), false);
  equal(mailbox.poll(), "huge");
  await low;
  ok(mailbox.offer("next", 1));
});

Deno.test("mailbox: the marks are at a half and a quarter", () => {
  const table: readonly (readonly [depth: number, high: boolean, low: boolean])[] = [
    [0, false, true],
    [2, false, true],
    [3, false, false],
    [4, false, false],
    [5, true, false],
    [8, true, false],
  ];
  for (const [depth, high, low] of table) {
    const mailbox = new Mailbox<number>(8);
    for (let i = 0; i < depth; i++) mailbox.offer(i, 1);
    equal(mailbox.isHigh, high, `high at ${depth}`);
    equal(mailbox.isLow, low, `low at ${depth}`);
  }
});

Deno.test("mailbox: whenLow resolves for everyone at the low mark, and not before", async () => {
  const mailbox = new Mailbox<number>(8);
  for (let i = 0; i < 8; i++) mailbox.offer(i, 1);
  let resolved = 0;
  const waits = [mailbox.whenLow(), mailbox.whenLow()].map((wait) => wait.then(() => resolved++));
  while (mailbox.depth > 3) mailbox.poll();
  await Promise.resolve();
  await Promise.resolve();
  equal(resolved, 0);
  mailbox.poll();
  await Promise.all(waits);
  equal(resolved, 2);
  await mailbox.whenLow();
});

Deno.test("mailbox: the smallest capacity still pauses and resumes", async () => {
  const mailbox = new Mailbox<string>(1);
  ok(mailbox.offer("a", 1));
  ok(mailbox.isHigh);
  const low = mailbox.whenLow();
  equal(mailbox.poll(), "a");
  await low;
  ok(mailbox.isLow);
});

Deno.test("mailbox: first in, first out, like an array", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomFrom(seed);
    const capacity = 1 + Math.floor(random() * 60);
    const mailbox = new Mailbox<number>(capacity);
    const model: { message: number; weight: number }[] = [];
    const depthOf = (): number => model.reduce((sum, { weight }) => sum + weight, 0);
    const mostlyIn = random();
    for (let step = 0; step < 400; step++) {
      const place = `seed ${seed}, step ${step}`;
      if (random() < (step % 100 < 50 ? Math.max(mostlyIn, 0.5) : 0.3)) {
        const weight = random() < 0.3 ? 0 : Math.floor(random() * capacity * 1.2) + 1;
        const before = depthOf();
        const fits = weight === 0 || before === 0 || before + weight <= capacity;
        equal(mailbox.offer(step, weight), fits, place);
        if (fits) model.push({ message: step, weight });
      } else {
        equal(mailbox.poll(), model.shift()?.message ?? null, place);
      }
      equal(mailbox.length, model.length, place);
      equal(mailbox.depth, depthOf(), place);
    }
  }
});
