/**
 * One dedup window in memory, in a process of its own: filled once, and then asked for rounds.
 *
 * Its clock goes on by 40 µs with each id, so that a full window lets one go for each that comes, at whatever pace.
 *
 * @module
 */
import { answerQuestions } from "../engine/asked_process.ts";
import type { Histogram } from "../engine/histogram.ts";
import { fillCount, IdTraffic } from "./id_traffic.ts";
import { type Block, BLOCK_IDS, runPace, TRIGGERS_PER_SECOND } from "./window_bout.ts";
import type { WindowFilled, WindowRound } from "./window_bout.ts";
import { lruCache, mapOfBigints, mapOfStrings, ourWindow } from "./windows.ts";
import type { Window, WindowClock, WindowOptions } from "./windows.ts";

const STEP_US = 1e6 / TRIGGERS_PER_SECOND;
const LANES = 4;
const WARM_UP_IDS = 20_000;
const WARM_UP_SECONDS = 0.2;
/** What the filters of `bloomOverMap` know for certain. */
const BLOOM_COPIED_SPAN = 200_000;

/** A window with the ids that it gets. */
class Bout<Id> implements Block {
  falseDrops = 0;
  letThrough = 0;
  readonly #window: Window<Id>;
  readonly #clock: WindowClock;
  readonly #traffic: IdTraffic;
  readonly #ids: number;
  readonly #lanes = Array.from({ length: BLOCK_IDS }, () => new Int32Array(LANES));
  readonly #block: Id[] = [];
  readonly #novel: boolean[] = [];

  constructor(make: (options: WindowOptions) => Window<Id>, ids: number, copiedSpan?: number) {
    this.#ids = ids;
    this.#clock = { nowUs: Date.UTC(2025, 4, 5, 4) * 1000 };
    this.#window = make({ ids, ttlUs: ids * STEP_US, clock: this.#clock });
    this.#traffic = new IdTraffic(ids, {
      returns: true,
      seed: 1,
      ...(copiedSpan === undefined ? {} : { copiedSpan }),
    });
  }

  fill(): WindowFilled {
    const before = Deno.memoryUsage();
    const lanes = new Int32Array(LANES);
    for (let left = fillCount(this.#ids) - 1; left >= 0; left--) {
      this.#traffic.drawNew(lanes);
      this.#clock.nowUs += STEP_US;
      const id = this.#window.idOf(lanes);
      if (this.#window.fill !== undefined) this.#window.fill(id, left);
      else if (!this.#window.admit(id)) throw new Error("Cannot go on: a new id was taken for a copy");
    }
    const after = Deno.memoryUsage();
    return {
      residentBytes: after.rss - before.rss,
      heapBytes: after.heapTotal - before.heapTotal,
      byteLength: this.#window.byteLength ?? null,
    };
  }

  prepare(count: number): void {
    this.#block.length = this.#novel.length = count;
    for (let i = 0; i < count; i++) {
      const lanes = this.#lanes[i] as Int32Array;
      this.#traffic.draw(lanes);
      this.#novel[i] = this.#traffic.novel;
      this.#block[i] = this.#window.idOf(lanes);
    }
  }

  admit(latencies: Histogram): void {
    for (let i = 0; i < this.#block.length; i++) {
      this.#clock.nowUs += STEP_US;
      const startedMs = performance.now();
      const novel = this.#window.admit(this.#block[i] as Id);
      latencies.record((performance.now() - startedMs) * 1000);
      if (novel && !this.#novel[i]) this.letThrough++;
      if (!novel && this.#novel[i]) this.falseDrops++;
    }
  }

  async round(seconds: number): Promise<WindowRound> {
    this.falseDrops = this.letThrough = 0;
    const paced = await runPace(this, "paced", seconds / 2);
    const flatOut = await runPace(this, "flat out", seconds / 2);
    return { paced, flatOut, falseDrops: this.falseDrops, letThrough: this.letThrough };
  }
}

async function measure<Id>(
  make: (options: WindowOptions) => Window<Id>,
  ids: number,
  copiedSpan?: number,
): Promise<void> {
  // Compiled code, and a heap that has seen some work, before anything counts.
  const warmUp = new Bout(make, WARM_UP_IDS);
  warmUp.fill();
  await warmUp.round(WARM_UP_SECONDS);
  const bout = new Bout(make, ids, copiedSpan);
  await answerQuestions(([question, seconds]) =>
    question === "fill" ? bout.fill() : bout.round(Number(seconds))
  );
}

const [contender, words] = Deno.args;
const ids = Number(words);
if (contender === "strings") await measure(mapOfStrings, ids);
else if (contender === "bigints") await measure(mapOfBigints, ids);
else if (contender === "lru") await measure(lruCache, ids);
else if (contender === "bloom") {
  const { bloomOverMap } = await import("./bloom_over_map.ts");
  await measure(bloomOverMap, ids, Math.min(BLOOM_COPIED_SPAN, ids / 2));
} else if (contender === "ours") await measure(ourWindow, ids);
else throw new Error(`Cannot measure ${contender}: it is none of the windows`);
