import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { DOWN_FAILURES, PROBES_MAX, RETRIES_MAX } from "../../lib/endpoint_backlog.ts";
import { randomFrom } from "../support/random.ts";
import { answered, BEGINNING, NOON_US, WebhookBench } from "../support/webhook_bench.ts";

const SECOND_US = 1_000_000;
const HOUR_US = 3600 * SECOND_US;

Deno.test("webhook endpoint: all are sent, those of its filter, and what was done is saved", async () => {
  const bench = new WebhookBench({ filter: { fences: ["depot-1"], kinds: ["DWELL"] } });
  bench.start();
  bench.tell(10);
  bench.tell(10, "DWELL");
  await bench.pass(SECOND_US);
  deepEqual(bench.sent.map(({ n }) => n), [10, 13, 16, 19]);
  deepEqual(bench.state, { ...BEGINNING, cursor: 2000 });
  const { attempts, pending, oldestPendingUs } = bench.report();
  deepEqual({ delivered: attempts.delivered, pending, oldestPendingUs }, {
    delivered: 4,
    pending: 0,
    oldestPendingUs: null,
  });
  await bench.stop();
});

Deno.test("webhook endpoint: a failed one is tried again with growing pauses, and holds up none of the others", async () => {
  const bench = new WebhookBench();
  let left = 4;
  bench.answer = (n) => n === 0 && left-- > 0 ? answered(500) : answered(200);
  bench.start();
  bench.tell(50);
  await bench.settle();
  equal(bench.report().attempts.delivered, 49);
  deepEqual([bench.report().pending, bench.report().retrying], [1, 1]);
  await bench.pass(200 * SECOND_US);
  const times = bench.sent.filter(({ n }) => n === 0).map(({ atUs }) => atUs - NOON_US);
  equal(times.length, 5);
  for (const [i, fullUs] of [5, 10, 20, 40].map((s) => s * SECOND_US).entries()) {
    const pauseUs = (times[i + 1] as number) - (times[i] as number);
    ok(pauseUs >= fullUs / 2 && pauseUs <= fullUs, `pause ${i}: ${pauseUs}`);
  }
  const { attempts, pending } = bench.report();
  deepEqual({ pending, delivered: attempts.delivered, refused: attempts.refused }, {
    pending: 0,
    delivered: 50,
    refused: 4,
  });
  await bench.stop();
});

Deno.test("webhook endpoint: Retry-After holds for the whole endpoint, and a year is an hour", async () => {
  const bench = new WebhookBench({ concurrency: 1 });
  bench.answer = (n) => n === 2 && bench.sent.length === 3 ? answered(429, "31536000") : answered(200);
  bench.start();
  bench.tell(10);
  await bench.pass(HOUR_US - SECOND_US);
  equal(bench.sent.length, 3, "nothing is sent meanwhile");
  await bench.pass(2 * SECOND_US);
  equal(bench.report().pending, 0);
  equal(bench.sent.length, 11);
  await bench.stop();
});

Deno.test("webhook endpoint: no more at once than its concurrency, and one that never answers is timed out", async () => {
  const bench = new WebhookBench({ concurrency: 3 });
  let active = 0;
  let most = 0;
  bench.answer = async (_n, signal) => {
    most = Math.max(most, ++active);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    active--;
    return { outcome: "timed_out", reason: "no answer in time" };
  };
  bench.start();
  bench.tell(9);
  await bench.settle();
  equal(active, 3);
  await bench.pass(10 * SECOND_US);
  equal(bench.report().attempts.timed_out, 3);
  equal(most, 3);
  await bench.stop();
});

Deno.test("webhook endpoint: a receiver that is down for a day: bounded state, and all of it when it is back", async () => {
  const bench = new WebhookBench();
  bench.answer = () => ({ outcome: "unreachable", reason: "connection refused" });
  bench.start();
  const count = RETRIES_MAX + 3000;
  bench.tell(count);
  await bench.pass(24 * HOUR_US, 60 * SECOND_US);
  const { down, pending, retrying, oldestPendingUs } = bench.report();
  deepEqual([down, pending, oldestPendingUs], [true, count, 24 * HOUR_US]);
  ok(retrying >= RETRIES_MAX && retrying <= RETRIES_MAX + PROBES_MAX, `${retrying} to be tried again`);
  equal(bench.state.retries.length, retrying);
  equal(bench.notices.length, 1, bench.notices.join());
  ok(bench.sent.length < 60 * RETRIES_MAX, `${bench.sent.length} attempts`);
  bench.answer = () => answered(200);
  await bench.pass(2 * HOUR_US, SECOND_US);
  equal(bench.report().pending, 0);
  equal(bench.report().attempts.delivered, count);
  deepEqual(bench.state, { ...BEGINNING, cursor: count * 100 });
  equal(bench.notices[1], "Webhook erp takes triggers again");
  await bench.stop();
});

Deno.test("webhook endpoint: a receiver that never takes some has all others, over a restart, too", async () => {
  const bench = new WebhookBench();
  const delivered = new Set<number>();
  bench.answer = (n) => {
    if (n % 10 === 0) return answered(400);
    delivered.add(n);
    return answered(204);
  };
  let rejected = 0;
  const anHour = async (): Promise<void> => {
    for (let minutes = 0; minutes < 60; minutes++) {
      await bench.pass(60 * SECOND_US, 10 * SECOND_US);
      const triggers = await bench.endpoint.rejectedTriggers();
      rejected += triggers.length;
      for (const { detail } of triggers) match(detail, /^status 400, \d+ times, while others were taken$/);
      await bench.endpoint.written(triggers.map(({ offset }) => offset));
    }
  };
  bench.start();
  bench.tell(15_000);
  await anHour();
  equal(delivered.size, 13_500);
  equal(bench.report().down, false);
  equal(bench.report().retrying + rejected, 1500);
  // All that is kept will never be taken: it doesn't tell the next process whether the receiver works.
  await bench.killAndStart();
  bench.tell(1000);
  await anHour();
  equal(delivered.size, 14_400);
  equal(bench.report().retrying + rejected, 1600);
  await bench.stop();
});

Deno.test("webhook endpoint: what a receiver has no time for is never given up for others", async () => {
  const bench = new WebhookBench();
  bench.answer = (n) => answered(n % 2 === 0 ? 429 : 204);
  bench.start();
  bench.tell(3 * RETRIES_MAX);
  await bench.pass(2 * HOUR_US, 60 * SECOND_US);
  deepEqual([bench.report().rejected, bench.report().retrying], [0, RETRIES_MAX]);
  bench.answer = () => answered(204);
  await bench.pass(2 * HOUR_US, 10 * SECOND_US);
  equal(bench.report().pending, 0);
  await bench.stop();
});

Deno.test("webhook endpoint: given up after retry_for, with a last attempt then; without one where there is no hope", async () => {
  const bench = new WebhookBench({ retryForUs: HOUR_US });
  bench.answer = (n) => n === 1 ? answered(400) : answered(200);
  bench.start();
  bench.tell(3);
  await bench.pass(HOUR_US - 1);
  equal(bench.report().rejected, 0);
  await bench.pass(1);
  equal(bench.sent.at(-1)?.atUs, NOON_US + HOUR_US, "a last attempt");
  const [rejected, ...more] = await bench.endpoint.rejectedTriggers();
  deepEqual(more, []);
  deepEqual([rejected?.offset, rejected?.detail, rejected?.split], [100, "status 400", "ndjson"]);
  await bench.pass(SECOND_US);
  // Until its dead letter is written it stays, over a restart, too.
  await bench.killAndStart();
  equal((await bench.endpoint.rejectedTriggers()).length, 1);
  await bench.endpoint.written([100]);
  deepEqual(bench.state.rejected, []);
  // Down, with more than it can try: what waits in the outbox is given up as it gets too old.
  bench.answer = () => answered(503);
  const count = RETRIES_MAX + DOWN_FAILURES + 500;
  bench.tell(count);
  let written = 0;
  for (let minutes = 0; minutes < 62; minutes++) {
    await bench.pass(60 * SECOND_US, 10 * SECOND_US);
    const triggers = await bench.endpoint.rejectedTriggers();
    written += triggers.length;
    await bench.endpoint.written(triggers.map(({ offset }) => offset));
    await bench.settle();
  }
  for (let rounds = 0; rounds < 5; rounds++) {
    const triggers = await bench.endpoint.rejectedTriggers();
    written += triggers.length;
    await bench.endpoint.written(triggers.map(({ offset }) => offset));
    await bench.pass(60 * SECOND_US, 10 * SECOND_US);
  }
  equal(written, count);
  equal(bench.report().pending, 0);
  await bench.stop();
});

Deno.test("webhook endpoint: killed at any time, each trigger is delivered, and none that had failed is tried anew from the first", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomFrom(seed);
    const bench = new WebhookBench({ concurrency: 1 + Math.floor(random() * 8) });
    const delivered = new Set<number>();
    bench.answer = (n) => {
      if (random() < 0.3) return answered(500);
      delivered.add(n);
      return answered(204);
    };
    bench.start();
    for (let round = 0; round < 12; round++) {
      bench.tell(Math.floor(random() * 40));
      await bench.pass(random() * 20 * SECOND_US);
      if (random() < 0.5) await bench.killAndStart();
    }
    await bench.pass(3 * HOUR_US, SECOND_US);
    equal(delivered.size, bench.outbox.entries.length, `seed ${seed}`);
    equal(bench.report().pending, 0, `seed ${seed}`);
    deepEqual(bench.state, { ...BEGINNING, cursor: bench.outbox.entries.length * 100 }, `seed ${seed}`);
    await bench.stop();
  }
});

Deno.test("webhook endpoint: 410 is kept at once; where it can't be, its work ends with why", async () => {
  const bench = new WebhookBench();
  bench.answer = () => answered(410);
  bench.start();
  bench.tell(1);
  await bench.settle();
  equal(bench.state.disabled, "one");
  await bench.stop();

  const other = new WebhookBench();
  other.answer = () => answered(410);
  other.saveFailure = new Error("Cannot write: the disk is full");
  other.start();
  other.tell(1);
  const ended = rejects(other.run, /the disk is full/);
  await other.settle();
  await ended;
});
