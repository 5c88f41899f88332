import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { SystemClock } from "../../actors/adapters/system_clock.ts";

const clock = new SystemClock();

Deno.test("SystemClock: the wall clock is the system's, in whole µs", () => {
  const beforeMs = Date.now();
  const us = clock.wallUs();
  ok(Number.isSafeInteger(us));
  ok(us >= beforeMs * 1000 && us <= Date.now() * 1000);
});

Deno.test("SystemClock: monotonic time is in whole µs and never goes back", () => {
  let last = clock.monotonicUs();
  for (let i = 0; i < 10_000; i++) {
    const us = clock.monotonicUs();
    ok(Number.isSafeInteger(us) && us >= last);
    last = us;
  }
});

Deno.test("SystemClock: delay does not end early, however short", async () => {
  for (const us of [0, 1, 999, 1000, 1001]) {
    const startUs = clock.monotonicUs();
    await clock.delay(us);
    ok(clock.monotonicUs() - startUs >= us, `${us}`);
  }
});

Deno.test("SystemClock: an aborted delay rejects with the reason and leaves no timer", async () => {
  const reason = new Error("stop");
  await rejects(clock.delay(1000, AbortSignal.abort(reason)), reason);
  const controller = new AbortController();
  const hour = clock.delay(3_600_000_000, controller.signal);
  // More than 31 bits of ms: the timer itself would fire at once.
  const year = clock.delay(365 * 86_400_000_000, controller.signal);
  const first = await Promise.race([year.then(() => "year"), clock.delay(1000).then(() => "delay")]);
  strictEqual(first, "delay");
  controller.abort(reason);
  await rejects(hour, reason);
  await rejects(year, reason);
});

Deno.test("SystemClock: nextTurn comes after all promises of this turn", async () => {
  const order: string[] = [];
  const turn = clock.nextTurn().then(() => order.push("turn"));
  let promise = Promise.resolve();
  for (let i = 0; i < 5; i++) {
    promise = promise.then(() => {
      order.push(`${i}`);
    });
  }
  await turn;
  deepStrictEqual(order, ["0", "1", "2", "3", "4", "turn"]);
});

Deno.test("SystemClock: every calls until it is stopped, from inside its call too", async () => {
  let calls = 0;
  await new Promise<void>((resolve) => {
    const stop = clock.every(1000, () => {
      calls++;
      if (calls < 3) return;
      stop();
      resolve();
    });
  });
  strictEqual(calls, 3);
});
