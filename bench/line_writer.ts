/**
 * NDJSON lines of transitions, some 180 bytes each, as a tracking gateway writes them.
 *
 * ```
 *   {"device_id":"truck-004211","fence_id":"depot-0173","kind":"ENTER","event_time":"2025-05-05T06:12:09.113402Z",
 *    "ingest_time":"2025-05-05T06:12:09.518733Z","lat":52.3117,"lon":13.9920}
 * ```
 *
 * Bytes go straight into one block: a string a line and `TextEncoder` would take three times as long, and the workload
 * should be there before the coffee is.
 *
 * @module
 */
import { writeTimestamp } from "../lib/time.ts";

/** A block is handed over when it has this many bytes; it has room for the longest line behind that. */
const BLOCK_BYTES = 256 * 1024;
const LINE_BYTES_MAX = 128 * 1024;

const LINE_END = 0x0a;
const ZERO = 0x30;
const encoder = new TextEncoder();

const DEVICE = encoder.encode('{"device_id":"');
const FENCE = encoder.encode('","fence_id":"');
const KIND = encoder.encode('","kind":"');
const EVENT_TIME = encoder.encode('","event_time":"');
const INGEST_TIME = encoder.encode('","ingest_time":"');
const LATITUDE = encoder.encode('","lat":52.');
const LONGITUDE = encoder.encode(',"lon":13.');
const SEQ = encoder.encode(',"seq":');
const ATTRIBUTES = encoder.encode(',"attributes":{"driver":"d-');
const ATTRIBUTES_END = encoder.encode('","load_kg":1250.50}');
const END = encoder.encode("}\n");
const HEARTBEAT = encoder.encode('{"kind":"HEARTBEAT');

/** What a line says. */
export interface Line {
  readonly device: string;
  readonly fence: string;
  readonly kind: "ENTER" | "EXIT" | "STALE" | "HEARTBEAT";
  /** µs since the epoch. */
  readonly eventTimeUs: number;
  /** µs since the epoch. */
  readonly ingestTimeUs: number;
  /** 0 to 9999: where it was, and who drove. */
  readonly place: number;
  /** Null where the producer gives none. */
  readonly seq: number | null;
  readonly hasAttributes: boolean;
}

/** See the module's header. */
export class LineWriter {
  #block = new Uint8Array(BLOCK_BYTES + LINE_BYTES_MAX);
  #at = 0;

  /** Whether the block should be taken before the next line. */
  get full(): boolean {
    return this.#at >= BLOCK_BYTES;
  }

  /** Writes a transition. */
  write(line: Line): void {
    if (line.kind === "HEARTBEAT") {
      this.#bytes(HEARTBEAT);
    } else {
      this.#bytes(DEVICE);
      this.#text(line.device);
      this.#bytes(FENCE);
      this.#text(line.fence);
      this.#bytes(KIND);
      this.#text(line.kind);
    }
    this.#bytes(EVENT_TIME);
    this.#at = writeTimestamp(this.#block, this.#at, line.eventTimeUs);
    this.#bytes(INGEST_TIME);
    this.#at = writeTimestamp(this.#block, this.#at, line.ingestTimeUs);
    this.#bytes(LATITUDE);
    this.#digits(line.place);
    this.#bytes(LONGITUDE);
    this.#digits(9999 - line.place);
    if (line.seq !== null) {
      this.#bytes(SEQ);
      this.#text(String(line.seq));
    }
    if (line.hasAttributes) {
      this.#bytes(ATTRIBUTES);
      this.#digits(line.place);
      this.#bytes(ATTRIBUTES_END);
    }
    this.#bytes(END);
  }

  /** Writes any bytes as a line. */
  writeRaw(bytes: Uint8Array): void {
    this.#bytes(bytes);
    this.#block[this.#at++] = LINE_END;
  }

  /** Hands over what was written; the next line goes into a new block. */
  take(): Uint8Array {
    const taken = this.#block.subarray(0, this.#at);
    this.#block = new Uint8Array(BLOCK_BYTES + LINE_BYTES_MAX);
    this.#at = 0;
    return taken;
  }

  #bytes(bytes: Uint8Array): void {
    this.#block.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Writes ASCII. */
  #text(text: string): void {
    const block = this.#block;
    for (let i = 0; i < text.length; i++) block[this.#at++] = text.charCodeAt(i);
  }

  /** Writes four digits. */
  #digits(value: number): void {
    const block = this.#block;
    for (let unit = 1000; unit >= 1; unit /= 10) block[this.#at++] = ZERO + Math.floor(value / unit) % 10;
  }
}
