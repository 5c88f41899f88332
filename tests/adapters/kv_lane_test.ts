import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { KvLane } from "../../actors/adapters/kv_lane.ts";

/** A lane of 100 to 800 bytes, whose calls end when they are told to, after a time that they are told. */
class Bench {
  readonly lane = new KvLane({ bytesMin: 100, bytesMax: 800 }, () => this.#nowMs);
  readonly begun: number[] = [];
  readonly #ends = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  #nowMs = 0;

  call(number: number, bytes: number, moved?: number): Promise<void> {
    const run = (): Promise<void> => {
      this.begun.push(number);
      return new Promise((resolve, reject) => this.#ends.set(number, { resolve, reject }));
    };
    return this.lane.run(bytes, run, moved === undefined ? undefined : () => moved);
  }

  async end(number: number, ms: number, error?: Error): Promise<void> {
    this.#nowMs += ms;
    const end = this.#ends.get(number);
    if (error === undefined) end?.resolve();
    else end?.reject(error);
    for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  }

  /** One call alone, for so long. */
  async alone(bytes: number, ms: number, moved?: number): Promise<number> {
    const done = this.call(-1, bytes, moved);
    await Promise.resolve();
    await this.end(-1, ms);
    await done;
    return this.lane.bytes;
  }
}

Deno.test("KvLane: one call at first, and as many as there is room for, in their order", async () => {
  const bench = new Bench();
  const calls = [1, 2, 3, 4, 5].map((number) => bench.call(number, 100));
  await Promise.resolve();
  deepStrictEqual(bench.begun, [1]);
  await bench.end(1, 999);
  deepStrictEqual(bench.begun, [1, 2, 3]);
  // The first of two tells of both: twice as many again.
  await bench.end(3, 500);
  deepStrictEqual(bench.begun, [1, 2, 3, 4, 5]);
  for (const number of [2, 4, 5]) await bench.end(number, 0);
  await Promise.all(calls);
});

Deno.test("KvLane: fast calls that fill it widen it, slow ones narrow it, between its bounds", async () => {
  const steps: [bytes: number, ms: number, moved: number | undefined, width: number][] = [
    [100, 999, undefined, 200],
    [100, 10, undefined, 200],
    [101, 1000, undefined, 200],
    [101, 999, undefined, 400],
    [400, 10, 200, 400],
    [400, 10, 201, 800],
    [800, 10, undefined, 800],
    [800, 2500, undefined, 800],
    [800, 2501, undefined, 400],
    [1, 2501, undefined, 200],
    [1, 9999, undefined, 100],
    [1, 9999, undefined, 100],
    // More than it takes: alone, all the same.
    [5000, 10, undefined, 200],
  ];
  const bench = new Bench();
  for (const [i, [bytes, ms, moved, width]] of steps.entries()) {
    strictEqual(await bench.alone(bytes, ms, moved), width, `step ${i}`);
  }
});

Deno.test("KvLane: a call that fails makes it as narrow as at first, and lets the next one in", async () => {
  const bench = new Bench();
  for (let i = 0; i < 3; i++) await bench.alone(bench.lane.bytes, 10);
  strictEqual(bench.lane.bytes, 800);
  const failing = bench.call(1, 800);
  const next = bench.call(2, 800);
  await Promise.resolve();
  deepStrictEqual(bench.begun.slice(3), [1]);
  const failed = rejects(failing, /away/);
  await bench.end(1, 10, new Error("away"));
  await failed;
  strictEqual(bench.lane.bytes, 100);
  deepStrictEqual(bench.begun.slice(3), [1, 2]);
  await bench.end(2, 10);
  await next;
});
