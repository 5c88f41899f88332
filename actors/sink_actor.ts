/**
 * The one that writes: gathers the lines of all partitions, hands them to a sink in large pieces, and knows, at each
 * barrier, how long the output is.
 *
 * ```
 *   before the barrier ──▶ current ──▶ sink.write … ──▶ flush ──▶ length for the checkpoint
 *   behind it          ──▶ next, until the flush is done ──▶ current
 * ```
 *
 * A partition that has met the barrier goes on while others have not: its lines wait in `next`, so that the output's
 * length in a checkpoint has all that came before the barrier in front of it and nothing that came after. A slow sink
 * fills the buffer; a full one makes the partitions wait.
 *
 * What the sink will never take is handed on with the epoch that it belongs to, before that is closed: its dead letter
 * then goes into the same checkpoint.
 *
 * Where triggers leave in event-time order, the lines of a split are sorted up to the watermark that all its partitions
 * have reached.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";
import type { EffectBuffer } from "../lib/effect.ts";
import type { Json } from "../lib/json.ts";
import type { LineObserver } from "./line_observer.ts";
import type { Sink } from "./ports.ts";

/** Bytes that wait before partitions have to: two large writes. */
const BUFFER_BYTES_MAX = 2 << 20;
/** Bytes in one write. */
const WRITE_BYTES_MAX = 1 << 20;

class LineBuffer {
  bytes: Uint8Array = new Uint8Array(1 << 16);
  byteLength = 0;
  count = 0;

  append(source: Uint8Array, start: number, end: number, count: number): void {
    const needed = this.byteLength + end - start;
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.bytes.length * 2, needed));
      grown.set(this.bytes.subarray(0, this.byteLength));
      this.bytes = grown;
    }
    this.bytes.set(
      start === 0 && end === source.length ? source : source.subarray(start, end),
      this.byteLength,
    );
    this.byteLength = needed;
    this.count += count;
  }

  clear(): void {
    this.byteLength = 0;
    this.count = 0;
    // A burst's buffer is not kept for ever.
    if (this.bytes.length > 2 * BUFFER_BYTES_MAX) this.bytes = new Uint8Array(1 << 16);
  }
}

interface SortedLines {
  readonly bytes: Uint8Array;
  readonly ends: number[];
  readonly timesUs: number[];
}

/** Whom a sink's owner tells what. */
export interface SinkEvents {
  /** Told once if the sink failed. */
  readonly fail: (error: unknown) => void;
  /** Told of a line that the sink will never take, and how many barriers came before it; it holds until this returns. */
  readonly refused: (line: Uint8Array, why: string, epoch: number) => void;
}

/** What is so at a barrier. */
export interface AtBarrier {
  /** The sink's. */
  readonly position: Json;
  /** Lines that the sink had refused. */
  readonly refused: number;
}

/** See the module's header. */
export class SinkActor {
  /** Lines written so far. */
  written = 0;
  /** Lines that the sink has refused so far. */
  refused = 0;
  /** Called when there is room again after {@link isFullFor} was true. */
  onRoom: () => void = () => {};
  /** Who looks on. */
  observer: LineObserver | null = null;

  readonly #sink: Sink;
  readonly #events: SinkEvents;
  #current = new LineBuffer();
  #next = new LineBuffer();
  #spare = new LineBuffer();
  #epoch = 0;
  #writing: Promise<void> | null = null;
  /** The last flush, which a file is not let go of before. */
  #flushing: Promise<void> = Promise.resolve();
  #wasFull = false;
  /** Why nothing more goes to the sink. */
  #halted: unknown = null;

  /** Lines that wait to be sorted, where they have to be; and each partition's watermark. */
  readonly #unsorted: SortedLines[][] = [[], []];
  readonly #watermarksUs: number[] | null;
  #releasedUs = -Infinity;

  /**
   * @param sink is open
   * @param orderedPartitions how many partitions' lines are to be put in event-time order; 0 for arrival order
   */
  constructor(sink: Sink, events: SinkEvents, orderedPartitions: number) {
    this.#sink = sink;
    this.#events = events;
    this.#watermarksUs = orderedPartitions > 0 ? new Array<number>(orderedPartitions).fill(-Infinity) : null;
  }

  /**
   * Whether a partition should wait. Lines behind the barrier count only for those that have met it: they are let go when
   * all have, so one that waited for them before it has met it would wait for ever.
   *
   * @param epoch how many barriers the partition has met
   */
  isFullFor(epoch: number): boolean {
    const behindBytes = epoch === this.#epoch ? 0 : this.#next.byteLength;
    const full = this.#current.byteLength + behindBytes >= BUFFER_BYTES_MAX;
    if (full) this.#wasFull = true;
    return full;
  }

  /**
   * Takes a partition's lines; the effects may be reused at once.
   *
   * @param epoch how many barriers the partition has met
   */
  accept(effects: EffectBuffer, from: { epoch: number; partition: number; watermarkUs: number }): void {
    const behind = from.epoch - this.#epoch;
    assert(behind === 0 || behind === 1, "a partition is at most one barrier ahead of the sink");
    if (this.#watermarksUs === null) {
      if (effects.count === 0) return;
      const buffer = behind === 0 ? this.#current : this.#next;
      buffer.append(effects.bytes, 0, effects.byteLength, effects.count);
    } else {
      this.#acceptOrdered(effects, this.#watermarksUs, from);
    }
    this.#write();
  }

  /** Takes one line that is in no order. */
  acceptLine(line: Uint8Array, epoch: number): void {
    const behind = epoch - this.#epoch;
    assert(behind === 0 || behind === 1, "nobody is more than one barrier ahead of the sink");
    (behind === 0 ? this.#current : this.#next).append(line, 0, line.length, 1);
    this.#write();
  }

  /**
   * After all partitions have met the barrier: writes what came before it, makes it durable, and goes on with what came
   * behind it.
   *
   * @throws what a write failed with, or where it was halted
   */
  async closeEpoch(): Promise<AtBarrier> {
    this.#release(Infinity);
    this.#write();
    await this.settled();
    // Lines before the barrier may not have arrived: no checkpoint may say that they have.
    if (this.#halted !== null) throw this.#halted;
    const flushing = this.#sink.flush();
    this.#flushing = flushing.then(() => {}, () => {});
    const atBarrier = { position: await flushing, refused: this.refused };
    this.observer?.durable();
    this.#epoch++;
    const current = this.#current;
    this.#current = this.#next;
    this.#next = current;
    const unsorted = this.#unsorted[0] as SortedLines[];
    this.#unsorted[0] = this.#unsorted[1] as SortedLines[];
    this.#unsorted[1] = unsorted;
    // What the watermark had passed already while it waited behind the barrier.
    if (this.#watermarksUs !== null) this.#release(this.#releasedUs);
    this.#write();
    this.#makeRoom();
    return atBarrier;
  }

  /** Lets nothing more go to the sink; resolves when what is on its way there has arrived, or failed. */
  async halt(): Promise<void> {
    this.#halted ??= new Error(`Nothing more is written to ${this.#sink.name}`);
    await this.settled();
    await this.#flushing;
    this.observer?.halted();
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  #write(): void {
    if (this.#writing !== null || this.#current.byteLength === 0 || this.#halted !== null) return;
    this.#writing = this.#drain().then(
      () => {
        this.#writing = null;
        // What came between the last look and now.
        this.#write();
      },
      (error) => {
        this.#writing = null;
        this.#halted ??= error;
        this.#events.fail(error);
      },
    );
  }

  async #drain(): Promise<void> {
    // Lines that come in the same turn go in the same write.
    await Promise.resolve();
    while (this.#current.byteLength > 0 && this.#halted === null) {
      const lines = this.#current;
      this.#current = this.#spare;
      this.#spare = lines;
      const refusedBefore = this.refused;
      const { bytes, byteLength, count } = lines;
      await this.#sink.write({ bytes, byteLength, count }, (line, why) => {
        this.refused++;
        this.#events.refused(line, why, this.#epoch);
      });
      this.written += count - (this.refused - refusedBefore);
      // One that the output refused is shown too: another output may have taken it.
      this.observer?.written(lines);
      lines.clear();
      this.#makeRoom();
    }
  }

  #makeRoom(): void {
    if (!this.#wasFull || this.#current.byteLength >= WRITE_BYTES_MAX) return;
    this.#wasFull = false;
    this.onRoom();
  }

  #acceptOrdered(
    effects: EffectBuffer,
    watermarksUs: number[],
    from: { epoch: number; partition: number; watermarkUs: number },
  ): void {
    if (effects.count > 0 && effects.ends !== null && effects.eventTimesUs !== null) {
      this.#unsorted[from.epoch - this.#epoch]?.push({
        bytes: effects.bytes.slice(0, effects.byteLength),
        ends: effects.ends.slice(),
        timesUs: effects.eventTimesUs.slice(),
      });
    }
    watermarksUs[from.partition] = from.watermarkUs;
    let lowest = Infinity;
    for (const watermarkUs of watermarksUs) lowest = Math.min(lowest, watermarkUs);
    if (lowest <= this.#releasedUs) return;
    this.#releasedUs = lowest;
    this.#release(lowest);
  }

  /** Puts the lines before the barrier, up to a time, in their order and hands them on. */
  #release(upToUs: number): void {
    const waiting = this.#unsorted[0] as SortedLines[];
    if (waiting.length === 0) return;
    const lines: { bytes: Uint8Array; start: number; end: number; timeUs: number }[] = [];
    const kept: typeof lines = [];
    for (const { bytes, ends, timesUs } of waiting) {
      let start = 0;
      for (let i = 0; i < ends.length; i++) {
        const end = ends[i] as number;
        const timeUs = timesUs[i] as number;
        (timeUs <= upToUs ? lines : kept).push({ bytes, start, end, timeUs });
        start = end;
      }
    }
    lines.sort((a, b) => a.timeUs - b.timeUs);
    for (const { bytes, start, end } of lines) this.#current.append(bytes, start, end, 1);
    this.#unsorted[0] = kept.map(({ bytes, start, end, timeUs }) => ({
      bytes: bytes.subarray(start, end),
      ends: [end - start],
      timesUs: [timeUs],
    }));
  }
}
