/**
 * The one that writes: what it writes when, around a barrier, in which order, and what a slow or failing sink does.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import type { LineBatch, RefusedLine, Sink } from "../../actors/ports.ts";
import { SinkActor, type SinkEvents } from "../../actors/sink_actor.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import { EffectBuffer } from "../../lib/effect.ts";
import type { Json } from "../../lib/json.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Lines of this size fill the buffer with four. */
const MEBIBYTE = 1 << 20;

/** A sink that writes and flushes when the test says so, or at once. */
class HeldSink implements Sink {
  readonly name = "held";
  readonly readable = true;
  readonly writes: string[] = [];
  bytes = 0;
  flushes = 0;
  /** Whether the next writes or flushes wait for {@link release}. */
  holdWrites = false;
  holdFlushes = false;
  failure: Error | null = null;
  #release: (() => void) | null = null;

  async write(lines: LineBatch, _refused: RefusedLine): Promise<void> {
    const text = decoder.decode(lines.bytes.subarray(0, lines.byteLength));
    if (this.holdWrites) await this.#held();
    if (this.failure !== null) throw this.failure;
    this.writes.push(text);
    this.bytes += lines.byteLength;
  }

  async flush(): Promise<Json> {
    if (this.holdFlushes) await this.#held();
    if (this.failure !== null) throw this.failure;
    this.flushes++;
    return { bytes: this.bytes };
  }

  /** Lets what is held go on. */
  async release(): Promise<void> {
    this.holdWrites = this.holdFlushes = false;
    this.#release?.();
    this.#release = null;
    await settle();
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  async *readBack(): AsyncIterable<Uint8Array> {}

  close(): void {}

  #held(): Promise<void> {
    return new Promise((resolve) => this.#release = resolve);
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

const NEVER_FAILS: SinkEvents = {
  fail: (error) => {
    throw error;
  },
  refused: (_line, why) => {
    throw new Error(why);
  },
};

/** Where lines come from. */
function from(
  epoch: number,
  partition = 0,
  watermarkUs = 0,
): { epoch: number; partition: number; watermarkUs: number } {
  return { epoch, partition, watermarkUs };
}

/** Lines with their event times. */
function effectsOf(
  lines: readonly (readonly [text: string, timeUs: number])[],
  ordered = false,
): EffectBuffer {
  const effects = new EffectBuffer(ordered);
  for (const [text, timeUs] of lines) {
    const bytes = encoder.encode(`${text}\n`);
    effects.reserve(bytes.length);
    effects.bytes.set(bytes, effects.byteLength);
    effects.commitLine(effects.byteLength + bytes.length, timeUs);
  }
  return effects;
}

function lines(...texts: readonly string[]): EffectBuffer {
  return effectsOf(texts.map((text) => [text, 0]));
}

Deno.test("sink actor: lines of one turn go in one write, in the order in which they were taken", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  const effects = lines("a", "b");
  actor.accept(effects, from(0));
  effects.reset();
  effects.bytes.fill(0);
  actor.acceptLine(encoder.encode("c\n"), 0);
  await actor.settled();
  deepEqual(sink.writes, ["a\nb\nc\n"]);
  equal(actor.written, 3);
});

Deno.test("sink actor: while a write is under way, what comes goes into the next", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  sink.holdWrites = true;
  actor.accept(lines("a"), from(0));
  await settle();
  actor.accept(lines("b"), from(0));
  actor.accept(lines("c"), from(0));
  await settle();
  deepEqual(sink.writes, []);
  await sink.release();
  await actor.settled();
  deepEqual(sink.writes, ["a\n", "b\nc\n"]);
});

Deno.test("sink actor: lines behind the barrier wait until what came before it is durable", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  sink.holdFlushes = true;
  actor.accept(lines("before, of one"), from(0, 0));
  actor.accept(lines("behind, of one"), from(1, 0));
  actor.accept(lines("before, of another"), from(0, 1));
  const closing = actor.closeEpoch();
  await settle();
  actor.accept(lines("behind, of another"), from(1, 1));
  await settle();
  deepEqual(sink.writes, ["before, of one\nbefore, of another\n"]);
  const bytesBefore = sink.bytes;
  await sink.release();
  deepEqual(
    await closing,
    { position: { bytes: bytesBefore }, refused: 0 },
    "the checkpoint's length has nothing of what came behind",
  );
  await actor.settled();
  deepEqual(sink.writes.slice(1), ["behind, of one\nbehind, of another\n"]);
  actor.accept(lines("of the new epoch"), from(1, 0));
  await actor.settled();
  deepEqual(sink.writes.slice(2), ["of the new epoch\n"]);
});

Deno.test("sink actor: a barrier waits for the write that is under way", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  sink.holdWrites = true;
  actor.accept(lines("a"), from(0));
  await settle();
  const closing = actor.closeEpoch();
  await settle();
  equal(sink.flushes, 0);
  await sink.release();
  deepEqual(await closing, { position: { bytes: 2 }, refused: 0 });
});

Deno.test("sink actor: nobody is two barriers ahead, or one behind", async () => {
  const actor = new SinkActor(new HeldSink(), NEVER_FAILS, 0);
  throws(() => actor.accept(lines("a"), from(2)), AssertionFailed);
  throws(() => actor.acceptLine(encoder.encode("a\n"), 2), AssertionFailed);
  await actor.closeEpoch();
  throws(() => actor.accept(lines("a"), from(0)), AssertionFailed);
  throws(() => actor.acceptLine(encoder.encode("a\n"), 0), AssertionFailed);
});

Deno.test("sink actor: what the sink refuses is told with its epoch, and counted before the barrier it is before", async () => {
  class PickySink extends HeldSink {
    override async write(batch: LineBatch, refused: RefusedLine): Promise<void> {
      await super.write(batch, refused);
      for (const line of decoder.decode(batch.bytes.subarray(0, batch.byteLength)).split("\n")) {
        if (line.startsWith("bad")) refused(encoder.encode(line), `no ${line}`);
      }
    }
  }
  const sink = new PickySink();
  const told: (string | number)[][] = [];
  const actor = new SinkActor(sink, {
    ...NEVER_FAILS,
    refused: (line, why, epoch) => told.push([decoder.decode(line), why, epoch]),
  }, 0);
  sink.holdWrites = true;
  actor.accept(lines("a", "bad b"), from(0, 0));
  actor.accept(lines("bad c", "d"), from(1, 0));
  const closing = actor.closeEpoch();
  await settle();
  deepEqual(told, []);
  await sink.release();
  deepEqual(await closing, { position: { bytes: 8 }, refused: 1 });
  await actor.settled();
  deepEqual(told, [["bad b", "no bad b", 0], ["bad c", "no bad c", 1]]);
  deepEqual([actor.written, actor.refused], [2, 2]);
});

Deno.test("sink actor: a slow sink makes partitions wait, and wakes them when there is room", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  let woken = 0;
  actor.onRoom = () => woken++;
  sink.holdWrites = true;
  const line = "x".repeat(MEBIBYTE - 1);
  actor.accept(lines(line), from(0));
  await settle();
  for (let mebibytes = 1; mebibytes <= 2; mebibytes++) {
    equal(actor.isFullFor(0), false, `with ${mebibytes - 1} MiB waiting`);
    actor.accept(lines(line), from(0));
  }
  equal(actor.isFullFor(0), true);
  equal(woken, 0);
  await sink.release();
  await actor.settled();
  equal(woken, 1);
  equal(actor.isFullFor(0), false);
  equal(sink.bytes, 3 * MEBIBYTE);
});

Deno.test("sink actor: lines behind a barrier never stop a partition that has yet to meet it", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  let woken = 0;
  actor.onRoom = () => woken++;
  // One partition has met the barrier and fired a great many deadlines since; the other has not come that far.
  for (let i = 0; i < 5; i++) actor.accept(lines("x".repeat(MEBIBYTE - 1)), from(1, 0));
  equal(actor.isFullFor(1), true);
  equal(actor.isFullFor(0), false, "or the barrier would never be met, and nothing behind it ever written");
  actor.accept(lines("before"), from(0, 1));
  await actor.closeEpoch();
  await actor.settled();
  equal(sink.writes[0], "before\n");
  equal(sink.bytes, 7 + 5 * MEBIBYTE);
  ok(woken > 0, "who waited is woken");
  equal(actor.isFullFor(1), false);
});

Deno.test("sink actor: ordered, lines leave by event time, up to the watermark that all partitions have reached", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 3);
  const accept = async (
    partition: number,
    watermarkUs: number,
    ...told: (readonly [string, number])[]
  ): Promise<void> => {
    actor.accept(effectsOf(told, true), from(0, partition, watermarkUs));
    await actor.settled();
  };
  await accept(0, 10, ["b", 5], ["d", 9], ["a", 1]);
  await accept(1, 20, ["c", 7], ["f", 15]);
  deepEqual(sink.writes, [], "the third partition may yet tell of something earlier");
  await accept(2, 8);
  deepEqual(sink.writes, ["a\nb\nc\n"]);
  await accept(2, 12, ["d too", 9]);
  deepEqual(
    sink.writes.slice(1),
    ["d\nd too\n"],
    "up to 10, where the first one is; at one time as they came",
  );
  await accept(0, 30);
  deepEqual(sink.writes.slice(2), []);
  await accept(2, 15);
  deepEqual(sink.writes.slice(2), ["f\n"]);
});

Deno.test("sink actor: ordered, a barrier lets all lines before it out in their order, and none behind it", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 2);
  actor.accept(effectsOf([["c", 3], ["a", 1]], true), from(0, 0, 5));
  actor.accept(effectsOf([["e", 6]], true), from(1, 0, 9));
  actor.accept(effectsOf([["b", 2]], true), from(0, 1, 5));
  await actor.settled();
  actor.accept(effectsOf([["late", 0]], true), from(0, 1, 5));
  await actor.closeEpoch();
  deepEqual(sink.writes, ["a\nb\nc\n", "late\n"]);
  actor.accept(effectsOf([["d", 4]], true), from(1, 1, 9));
  await actor.settled();
  deepEqual(sink.writes.slice(2), ["d\ne\n"]);
});

Deno.test("sink actor: ordered, what became due behind the barrier leaves when the barrier is closed", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 2);
  for (const partition of [0, 1]) {
    actor.accept(effectsOf([], true), from(0, partition, 5));
    actor.accept(effectsOf([[`b${partition}`, 8 - partition]], true), from(1, partition, 9));
  }
  await actor.closeEpoch();
  await actor.settled();
  deepEqual(sink.writes, ["b1\nb0\n"], "not only with the next move of the watermark");
});

Deno.test("sink actor: a sink that fails is told of, and no barrier closes over it", async () => {
  const failures: unknown[] = [];
  const sink = new HeldSink();
  const actor = new SinkActor(sink, { ...NEVER_FAILS, fail: (error) => failures.push(error) }, 0);
  sink.failure = new Error("the disk is full");
  actor.accept(lines("a"), from(0));
  await actor.settled();
  deepEqual(failures, [sink.failure]);
  await rejects(actor.closeEpoch(), sink.failure);
  equal(actor.written, 0);
});

Deno.test("sink actor: no barrier closes over lines that were lost, even if the sink has recovered", async () => {
  const failures: unknown[] = [];
  const sink = new HeldSink();
  const actor = new SinkActor(sink, { ...NEVER_FAILS, fail: (error) => failures.push(error) }, 0);
  const fault = sink.failure = new Error("the disk is full");
  actor.accept(lines("a"), from(0));
  await actor.settled();
  sink.failure = null;
  actor.accept(lines("b"), from(0));
  await rejects(actor.closeEpoch(), fault);
  deepEqual([sink.writes, failures.length], [[], 1]);
});

Deno.test("sink actor: halted, it waits for what is on its way, writes nothing more and closes no barrier", async () => {
  const sink = new HeldSink();
  const actor = new SinkActor(sink, NEVER_FAILS, 0);
  sink.holdWrites = true;
  actor.accept(lines("on its way"), from(0));
  await settle();
  actor.accept(lines("not yet"), from(0));
  const closing = rejects(actor.closeEpoch(), /Nothing more is written to held/);
  let halted = false;
  const halting = actor.halt().then(() => halted = true);
  await settle();
  equal(halted, false);
  await sink.release();
  await halting;
  await closing;
  deepEqual([sink.writes, sink.flushes], [["on its way\n"], 0]);
});
