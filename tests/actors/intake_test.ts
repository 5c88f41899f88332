/**
 * The intake as a source: what is taken, in which order it is read, and when it is answered.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type Delivery, Intake, type Receipt } from "../../actors/intake.ts";
import { type Clock, UnavailableError } from "../../actors/ports.ts";
import { spansOfLines } from "../../lib/record_spans.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const never = new AbortController().signal;

/** A clock that stands where it is put. */
class StandingClock {
  nowUs = 0;
  monotonicUs(): number {
    return this.nowUs;
  }
}

function makeIntake(capacity = 10_000, bytesMax = 1 << 20): { intake: Intake; clock: StandingClock } {
  const clock = new StandingClock();
  const intake = new Intake({
    name: "http",
    clock: clock as unknown as Clock,
    targetUs: 100_000,
    capacity,
    bytesMax,
    settleUs: 30_000_000,
  });
  return { intake, clock };
}

function delivery(lines: readonly string[], client = "a", request = "r"): Delivery {
  return { records: spansOfLines(encoder.encode(lines.join("\n")), () => ""), request, client };
}

function record(kind: string, device: string): string {
  return JSON.stringify({ device_id: device, fence_id: "f", kind, event_time_ms: 1_760_000_000_000 });
}

async function readTexts(intake: Intake): Promise<{ texts: string[]; offsets: number[]; position: unknown }> {
  const batch = await intake.read(never);
  ok(batch !== null);
  const texts = Array.from(
    { length: batch.count },
    (_, i) => decoder.decode(batch.bytes.subarray(batch.starts[i], batch.ends[i])),
  );
  return { texts, offsets: [...batch.offsets], position: batch.position };
}

Deno.test("intake: many requests are one batch, in their order, and answered when that is durable", async () => {
  const { intake } = makeIntake();
  await intake.open(null);
  const answers: Receipt[] = [];
  const first = intake.offer(delivery(["1", "2"])).then((receipt) => answers.push(receipt));
  const second = intake.offer(delivery(["3"])).then((receipt) => answers.push(receipt));
  const { texts, offsets, position } = await readTexts(intake);
  deepEqual([texts, offsets, position], [["1", "2", "3"], [0, 1, 2], { offset: 3 }]);
  ok(intake.isAwaited());
  intake.decided(1, "suppressed");
  intake.decided(2, { reason: "MALFORMED_JSON", detail: "why" });
  await intake.acknowledge({ offset: 2 });
  await first;
  equal(answers.length, 1);
  deepEqual([...(answers[0] as Receipt).outcomes], [0, 1]);
  await intake.acknowledge({ offset: 3 });
  await second;
  deepEqual([...(answers[1] as Receipt).outcomes], [2]);
  deepEqual((answers[1] as Receipt).deadLetters, [{ index: 0, reason: "MALFORMED_JSON", detail: "why" }]);
  equal(intake.isAwaited(), false);
  equal(intake.admission.inFlight, 0);
});

Deno.test("intake: numbers go on behind a checkpoint's, and a place says which request it was", async () => {
  const { intake } = makeIntake();
  equal(await intake.open({ offset: 40 }), "resumed");
  const answer = intake.offer(delivery(["1", "2"], "a", "request-9"));
  deepEqual((await readTexts(intake)).offsets, [40, 41]);
  deepEqual(intake.placeOf(41, 2), { request: "request-9", record: 2 });
  await intake.acknowledge({ offset: 42 });
  await answer;
});

Deno.test("intake: before it is open and after it is closed nothing is taken, and who waits is told", async () => {
  const { intake } = makeIntake();
  await rejects(intake.offer(delivery(["1"])), UnavailableError);
  await intake.open(null);
  const read = intake.offer(delivery(["1"]));
  await readTexts(intake);
  const queued = intake.offer(delivery(["2"]));
  intake.close();
  await rejects(read, /It is not known whether this was taken/);
  await rejects(queued, UnavailableError);
  await rejects(intake.offer(delivery(["3"])), UnavailableError);
  equal(intake.admission.inFlight, 0);
  deepEqual(intake.shed, { full: 0, closed: 2, unread: 0 });
  // Numbers that were given are not given again.
  equal(await intake.open({ offset: 0 }), "resumed");
  const again = intake.offer(delivery(["4"]));
  deepEqual((await readTexts(intake)).offsets, [1]);
  await intake.acknowledge({ offset: 2 });
  equal((await again).taken, 1);
});

Deno.test("intake: an aborted read loses nothing", async () => {
  const { intake } = makeIntake();
  await intake.open(null);
  const stopping = new AbortController();
  const reading = intake.read(stopping.signal);
  stopping.abort(new DOMException("stop", "AbortError"));
  await rejects(reading, { name: "AbortError" });
  const answer = intake.offer(delivery(["1"]));
  deepEqual((await readTexts(intake)).texts, ["1"]);
  await intake.acknowledge({ offset: 1 });
  await answer;
});

Deno.test("intake: near its limit EXITs are taken and the others refused, each said and counted", async () => {
  const { intake } = makeIntake(1000);
  await intake.open(null);
  const before = intake.offer(delivery(Array.from({ length: 799 }, (_, i) => record("ENTER", `d${i}`))));
  const mixed = [
    record("ENTER", "x"),
    record("ENTER", "y"),
    record("EXIT", "z"),
    record("DWELL", "z"),
    record("STALE", "w"),
    "poison",
  ];
  const answer = intake.offer(delivery(mixed));
  equal(intake.caughtUp(), false);
  const { texts } = await readTexts(intake);
  deepEqual(texts.slice(799), [mixed[0], mixed[2], mixed[4]]);
  intake.decided(800, "suppressed");
  await intake.acknowledge({ offset: 802 });
  await before;
  const receipt = await answer;
  deepEqual([...receipt.outcomes], [0, 3, 1, 3, 0, 3]);
  equal(receipt.taken, 3);
  equal(intake.shed.full, 3);
});

Deno.test("intake: a full one refuses at once, and the clock waits for those who were refused", async () => {
  const { intake, clock } = makeIntake(1000);
  await intake.open(null);
  const before = intake.offer(delivery(Array.from({ length: 1000 }, (_, i) => record("EXIT", `d${i}`))));
  const receipt = await intake.offer(delivery([record("EXIT", "x")]));
  deepEqual([[...receipt.outcomes], receipt.taken], [[3], 0]);
  await readTexts(intake);
  await intake.acknowledge({ offset: 1000 });
  await before;
  equal(intake.caughtUp(), false);
  clock.nowUs += 29_999_999;
  equal(intake.caughtUp(), false);
  clock.nowUs += 1;
  ok(intake.caughtUp());
  intake.refuseUnread();
  equal(intake.caughtUp(), false);
  deepEqual(intake.shed, { full: 1, closed: 0, unread: 1 });
});

Deno.test("intake: large records are bounded by their bytes, and one that is larger than all of it can be taken alone", async () => {
  const { intake } = makeIntake(10_000, 1000);
  await intake.open(null);
  const first = intake.offer(delivery(["x".repeat(1500)]));
  deepEqual([...(await intake.offer(delivery(["y"]))).outcomes], [3]);
  await readTexts(intake);
  await intake.acknowledge({ offset: 1 });
  equal((await first).taken, 1);
  const second = intake.offer(delivery(["x".repeat(600)]));
  equal((await intake.offer(delivery(["y".repeat(500)]))).taken, 0);
  const third = intake.offer(delivery(["y".repeat(400)]));
  await readTexts(intake);
  await intake.acknowledge({ offset: 3 });
  deepEqual([(await second).taken, (await third).taken], [1, 1]);
});

Deno.test("intake: a large request is read in parts, and answered when all of it is durable", async () => {
  const { intake } = makeIntake(20_000);
  await intake.open(null);
  const large = intake.offer(delivery(Array.from({ length: 9000 }, (_, i) => `l${i}`)));
  const counts: number[] = [];
  const texts: string[] = [];
  const offsets: number[] = [];
  while (texts.length < 9000) {
    const batch = await readTexts(intake);
    counts.push(batch.texts.length);
    texts.push(...batch.texts);
    offsets.push(...batch.offsets);
  }
  deepEqual(counts, [4096, 4096, 808]);
  deepEqual(texts, Array.from({ length: 9000 }, (_, i) => `l${i}`));
  deepEqual(offsets, texts.map((_, i) => i));
  deepEqual(intake.placeOf(8999, 9000), { request: "r", record: 9000 });
  intake.decided(8500, "suppressed");
  let answered = false;
  large.then(() => answered = true);
  await intake.acknowledge({ offset: 8192 });
  await Promise.resolve();
  equal(answered, false);
  await intake.acknowledge({ offset: 9000 });
  equal((await large).outcomes[8500], 1);
  equal(intake.admission.inFlight, 0);
});

Deno.test("intake: a large request that was read in part when it is closed is refused once", async () => {
  const { intake } = makeIntake(20_000);
  await intake.open(null);
  const large = intake.offer(delivery(Array.from({ length: 5000 }, (_, i) => `l${i}`)));
  await readTexts(intake);
  intake.close();
  await rejects(large, UnavailableError);
  equal(intake.admission.inFlight, 0);
});
