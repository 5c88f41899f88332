/**
 * One who listens to triggers: server-sent events, out of the ring, through a filter.
 *
 * ```
 *   id: 9f…32 hex…          what a client that comes back sends as Last-Event-ID
 *   event: DWELL            the kind; or `gap`: what came here is not there any more
 *   data: {"id":"9f…"…}     the trigger's line, as it went to the sink
 * ```
 *
 * @module
 */
import type { FenceRules } from "../../../lib/fence_rules.ts";
import { TriggerLine } from "../../../lib/trigger_line.ts";
import type { TriggerRing } from "../../trigger_ring.ts";

/** Bytes that wait for one who reads slowly. */
const QUEUE_BYTES = 256 << 10;
/** Bytes of the ring that are looked at for one, before the next one's turn. */
const PIECE_BYTES = 64 << 10;

const LINE_END = 0x0a;
const encoder = new TextEncoder();
const ID = encoder.encode("id: ");
const EVENT = encoder.encode("\nevent: ");
const DATA = encoder.encode("\ndata: ");
const END = encoder.encode("\n\n");
const KINDS = new Map(["ENTER", "EXIT", "DWELL", "RETRACT"].map((kind) => [kind, encoder.encode(kind)]));
const OVERHEAD = ID.length + EVENT.length + DATA.length + END.length + 32 + 16;
const HEARTBEAT = encoded(":\n\n");
const DROPPED = encoded(": too slow: come back with Last-Event-ID\n\n");

/** Which triggers are wanted; null for all. */
export interface TriggerFilter {
  readonly kinds: ReadonlySet<string> | null;
  readonly fences: FenceRules | null;
  readonly device: Uint8Array | null;
}

/** See the module's header. */
export class TriggerStream {
  /** Server-sent events. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #ring: TriggerRing;
  readonly #filter: TriggerFilter;
  readonly #line = new TriggerLine();
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #position: number;
  #isQuiet = false;

  /**
   * Begins at a position.
   *
   * @param events.room is called when the client has taken something
   * @param events.gone is called when it hung up
   */
  constructor(
    ring: TriggerRing,
    filter: TriggerFilter,
    options: {
      readonly position: number;
      /** Sent first. */
      readonly greeting: string;
      readonly room: () => void;
      readonly gone: () => void;
    },
  ) {
    this.#ring = ring;
    this.#filter = filter;
    this.#position = options.position;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#controller = controller;
        controller.enqueue(encoded(options.greeting));
      },
      pull: options.room,
      cancel: () => {
        this.#controller = null;
        options.gone();
      },
    }, new ByteLengthQueuingStrategy({ highWaterMark: QUEUE_BYTES }));
  }

  /** Whether it has come to an end. */
  get ended(): boolean {
    return this.#controller === null;
  }

  /** Whether all that was sent was taken. */
  get taken(): boolean {
    return this.#controller === null || this.#controller.desiredSize === QUEUE_BYTES;
  }

  /** Sends the next piece; whether there is more to be sent now. */
  deliver(): boolean {
    const controller = this.#controller;
    if (controller === null || (controller.desiredSize ?? 0) <= 0) return false;
    const lines = this.#ring.read(this.#position);
    if (lines === null) return false;
    if (lines === "lost") {
      controller.enqueue(DROPPED);
      this.close();
      return false;
    }
    const piece = lines.length <= PIECE_BYTES ? lines : firstLines(lines);
    this.#position += piece.length;
    const events = this.#eventsOf(piece);
    if (events.length > 0) this.#send(events);
    return true;
  }

  /** Says that it is still there, where nothing was sent since the last time. */
  beat(): void {
    if (this.#isQuiet && (this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(HEARTBEAT);
    this.#isQuiet = true;
  }

  /** Sends what is queued, and ends. */
  close(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    this.#isQuiet = false;
    this.#controller?.enqueue(bytes);
  }

  #eventsOf(lines: Uint8Array): Uint8Array<ArrayBuffer> {
    let target = new Uint8Array(Math.min(2 * PIECE_BYTES, lines.length + 4096));
    let length = 0;
    for (let from = 0; from < lines.length;) {
      const end = lines.indexOf(LINE_END, from);
      const line = this.#line;
      if (line.read(lines, from, end) && this.#isWanted(line)) {
        const needed = length + end - from + OVERHEAD;
        if (needed > target.length) {
          const grown = new Uint8Array(Math.max(2 * target.length, needed));
          grown.set(target.subarray(0, length));
          target = grown;
        }
        const parts = [
          ID,
          line.id,
          EVENT,
          KINDS.get(line.kind) as Uint8Array,
          DATA,
          lines.subarray(from, end),
          END,
        ];
        for (const part of parts) {
          target.set(part, length);
          length += part.length;
        }
      }
      from = end + 1;
    }
    return target.subarray(0, length);
  }

  #isWanted(line: TriggerLine): boolean {
    const { kinds, fences, device } = this.#filter;
    if (kinds !== null && !kinds.has(line.kind)) return false;
    if (device !== null && !isSame(device, line.device)) return false;
    if (fences === null) return true;
    const fence = line.fence;
    return fences.match(fence, 0, fence.length) > 0;
  }
}

function firstLines(lines: Uint8Array): Uint8Array {
  const end = lines.lastIndexOf(LINE_END, PIECE_BYTES - 1);
  return lines.subarray(0, (end < 0 ? lines.indexOf(LINE_END) : end) + 1);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Deno 2.4 does not say of its encoder that what it returns lies in memory that nobody shares. */
function encoded(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}
