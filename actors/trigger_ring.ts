/**
 * The last triggers that are durable, in memory: what is sent to those who listen, and to those who come back.
 *
 * ```
 *   split ─▶ written ─▶ pending ─┐ durable          position: bytes ever put in
 *   split ─▶ written ─▶ pending ─┴────────▶ segment │ segment │ segment ◀─ append
 *                                           ▲ start     ▲ a reader's place
 * ```
 *
 * Bytes, not objects: what nobody listens to costs one copy, some 0.1 ms a megabyte. A line lies in one segment, whole. A
 * reader keeps its place by itself; one whose place is before the start has lost what was there, and is told so.
 *
 * @module
 */
import type { LineObserver } from "./line_observer.ts";
import type { LineBatch } from "./ports.ts";

const SEGMENT_BYTES = 256 << 10;
/** Bytes kept, and of those that are not durable yet: some 65,000 triggers each. */
export const RING_BYTES: number = 16 << 20;

const LINE_END = 0x0a;
const encoder = new TextEncoder();
/** How each trigger's line begins. */
const OPEN = encoder.encode('{"id":"');
const ID = /^[0-9a-f]{32}$/;

interface Segment {
  /** The position of its first byte. */
  readonly at: number;
  readonly bytes: Uint8Array;
  length: number;
}

/** See the module's header. */
export class TriggerRing {
  /** Called when there is more. */
  onMore: () => void = () => {};
  readonly #bytesMax: number;
  #segments: Segment[] = [];
  #end = 0;
  #pendingBytes = 0;

  /** @param bytesMax bytes kept at most, and a segment more */
  constructor(bytesMax = RING_BYTES) {
    this.#bytesMax = bytesMax;
  }

  /** The place of the first that is there. */
  get start(): number {
    return this.#segments[0]?.at ?? this.#end;
  }

  /** The place behind the last one. */
  get end(): number {
    return this.#end;
  }

  /** Watches the triggers of one split. */
  observer(): LineObserver {
    let pending: Uint8Array[] = [];
    let lost = false;
    const forget = (): void => {
      for (const bytes of pending) this.#pendingBytes -= bytes.length;
      pending = [];
    };
    return {
      written: ({ bytes, byteLength }: LineBatch) => {
        pending.push(bytes.slice(0, byteLength));
        this.#pendingBytes += byteLength;
        if (this.#pendingBytes <= this.#bytesMax) return;
        forget();
        lost = true;
      },
      durable: () => {
        if (lost) this.#skip();
        lost = false;
        const lines = pending;
        forget();
        for (const bytes of lines) this.append(bytes);
        if (lines.length > 0) this.onMore();
      },
      halted: () => {
        if (pending.length > 0) this.#skip();
        forget();
      },
    };
  }

  /** Puts whole lines in. */
  append(lines: Uint8Array): void {
    for (let from = 0; from < lines.length;) {
      let segment = this.#segments.at(-1);
      let to = segment === undefined ? from : wholeLines(lines, from, segment.bytes.length - segment.length);
      if (segment === undefined || to === from) {
        const firstEnd = lines.indexOf(LINE_END, from) + 1;
        segment = {
          at: this.#end,
          bytes: new Uint8Array(Math.max(SEGMENT_BYTES, firstEnd - from)),
          length: 0,
        };
        this.#segments.push(segment);
        to = wholeLines(lines, from, segment.bytes.length);
      }
      segment.bytes.set(lines.subarray(from, to), segment.length);
      segment.length += to - from;
      this.#end += to - from;
      from = to;
    }
    while (this.#end - this.start > this.#bytesMax && this.#segments.length > 1) this.#segments.shift();
  }

  /**
   * Whole lines from a place on, as many as are at hand; they stay as they are.
   *
   * @returns null where there is nothing yet, `"lost"` where what was there is gone
   */
  read(position: number): Uint8Array | "lost" | null {
    if (position < this.start) return "lost";
    if (position >= this.#end) return null;
    const { at, bytes, length } = this.#segments[this.#segmentOf(position)] as Segment;
    return bytes.subarray(position - at, length);
  }

  /** The place behind the trigger with this id; null where it is not there. Some 4 ms where all has to be looked at. */
  find(id: string): number | null {
    if (!ID.test(id)) return null;
    const sought = new Uint8Array([...OPEN, ...encoder.encode(id)]);
    for (const { at, bytes, length } of this.#segments.toReversed()) {
      for (let from = 0; from < length;) {
        const end = bytes.indexOf(LINE_END, from) + 1;
        // The last digit first: it differs most often.
        let i = sought.length - 1;
        while (i >= 0 && bytes[from + i] === sought[i]) i--;
        if (i < 0) return at + end;
        from = end;
      }
    }
    return null;
  }

  /** The last lines, without their ends, the newest first. */
  newestFirst(count: number): Uint8Array[] {
    const lines: Uint8Array[] = [];
    for (const { bytes, length } of this.#segments.toReversed()) {
      for (let end = length; end > 1 && lines.length < count;) {
        const start = bytes.lastIndexOf(LINE_END, end - 2) + 1;
        lines.push(bytes.subarray(start, end - 1));
        end = start;
      }
    }
    return lines;
  }

  /** Something is missing here: whoever has read up to here has lost it. */
  #skip(): void {
    this.#segments = [];
    this.#end++;
    this.onMore();
  }

  #segmentOf(position: number): number {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#segments[middle] as Segment).at <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Where the last whole line of `bytes[from ..]` ends that has room. */
function wholeLines(bytes: Uint8Array, from: number, room: number): number {
  if (bytes.length - from <= room) return bytes.length;
  // Below zero `lastIndexOf` would begin at the end.
  if (room === 0) return from;
  return Math.max(from, bytes.lastIndexOf(LINE_END, from + room - 1) + 1);
}
