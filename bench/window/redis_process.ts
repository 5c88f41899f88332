/**
 * A dedup window in Redis, `SET id "" PX ttl NX`, by `ioredis`: a batch of 128 in one pipeline, or one after the other. A
 * process of its own, and the server another.
 *
 * Its clock is the machine's and can't be moved: the ttl is an hour, and nothing expires while it is looked at. That
 * spares it work, and the window grows by what comes.
 *
 * @module
 */
import { Redis } from "ioredis";
import { answerQuestions } from "../engine/asked_process.ts";
import type { Histogram } from "../engine/histogram.ts";
import { hexOf } from "./hex_of.ts";
import { fillCount, IdTraffic } from "./id_traffic.ts";
import { type Block, runPace } from "./window_bout.ts";
import type { WindowFilled, WindowRound } from "./window_bout.ts";

const TTL_MS = 3_600_000;
const FILL_BLOCK_IDS = 10_000;
const STORED = "+OK\r\n";

/** The window with the ids that it gets. */
class Bout implements Block {
  falseDrops = 0;
  letThrough = 0;
  pipelined = true;
  readonly #redis: Redis;
  readonly #port: number;
  readonly #ids: number;
  readonly #traffic: IdTraffic;
  readonly #lanes = new Int32Array(4);
  readonly #block: string[] = [];
  readonly #novel: boolean[] = [];

  constructor(port: number, ids: number) {
    this.#port = port;
    this.#redis = new Redis(port, "127.0.0.1");
    this.#ids = ids;
    this.#traffic = new IdTraffic(ids, { returns: false, seed: 1 });
  }

  /** By the protocol itself: the client would take longer than the server. */
  async fill(): Promise<WindowFilled> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    const before = await this.#usedBytes();
    const buffer = new Uint8Array(65_536);
    for (let left = fillCount(this.#ids); left > 0;) {
      const count = Math.min(FILL_BLOCK_IDS, left);
      left -= count;
      let commands = "";
      for (let i = 0; i < count; i++) {
        this.#traffic.drawNew(this.#lanes);
        commands += `SET ${hexOf(this.#lanes)} "" PX ${TTL_MS} NX\r\n`;
      }
      const bytes = encoder.encode(commands);
      // Both at once: it does not read on while its answers are not read.
      const written = (async () => {
        for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      })();
      for (let read = 0; read < count * STORED.length;) {
        const length = await connection.read(buffer) ?? 0;
        if (length === 0) throw new Error("Cannot fill Redis: it has closed the connection");
        read += length;
      }
      await written;
    }
    const stored = await this.#redis.dbsize();
    const asked = fillCount(this.#ids);
    if (stored !== asked) throw new Error(`Cannot fill Redis: it has ${stored} ids of ${asked}`);
    return { residentBytes: await this.#usedBytes() - before, heapBytes: 0, byteLength: null };
  }

  prepare(count: number): void {
    this.#block.length = this.#novel.length = count;
    for (let i = 0; i < count; i++) {
      this.#traffic.draw(this.#lanes);
      this.#novel[i] = this.#traffic.novel;
      this.#block[i] = hexOf(this.#lanes);
    }
  }

  async admit(latencies: Histogram): Promise<void> {
    if (this.pipelined) await this.#admitPipelined(latencies);
    else await this.#admitOneByOne(latencies);
  }

  async round(seconds: number): Promise<WindowRound> {
    this.falseDrops = this.letThrough = 0;
    const paced = await runPace(this, "paced", seconds / 2);
    const flatOut = await runPace(this, "flat out", seconds / 2);
    return { paced, flatOut, falseDrops: this.falseDrops, letThrough: this.letThrough };
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #admitPipelined(latencies: Histogram): Promise<void> {
    const startedMs = performance.now();
    const pipeline = this.#redis.pipeline();
    for (const id of this.#block) pipeline.set(id, "", "PX", TTL_MS, "NX");
    const answers = await pipeline.exec() ?? [];
    const us = (performance.now() - startedMs) * 1000;
    for (const [i, [error, answer]] of answers.entries()) {
      if (error !== null) throw error;
      // Each has waited for all.
      latencies.record(us);
      this.#judge(i, answer === "OK");
    }
  }

  async #admitOneByOne(latencies: Histogram): Promise<void> {
    for (const [i, id] of this.#block.entries()) {
      const startedMs = performance.now();
      const answer = await this.#redis.set(id, "", "PX", TTL_MS, "NX");
      latencies.record((performance.now() - startedMs) * 1000);
      this.#judge(i, answer === "OK");
    }
  }

  #judge(i: number, novel: boolean): void {
    if (novel && !this.#novel[i]) this.letThrough++;
    if (!novel && this.#novel[i]) this.falseDrops++;
  }

  async #usedBytes(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await this.#redis.info("memory"))?.[1] ?? NaN);
  }
}

const encoder = new TextEncoder();

const [port, words] = Deno.args;
const bout = new Bout(Number(port), Number(words));
await answerQuestions(([question, seconds]) => {
  if (question === "fill") return bout.fill();
  bout.pipelined = question === "pipelined";
  return bout.round(Number(seconds));
});
bout.close();
