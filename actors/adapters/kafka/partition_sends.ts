/**
 * Cuts records into sends: a send is one batch of a partition, and a broker takes about 1 MB at once.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** Bytes of records in one send, as {@link sizeOf} counts them: a broker takes 1,048,588 by default. */
export const SEND_BYTES_MAX = 900_000;
/** Records in one send: more are no faster, and hold up the event loop for longer (10 µs each). */
const SEND_RECORDS_MAX = 500;
/** What a record needs besides its key, value and headers, in bytes: lengths, and its share of the batch's head. */
const RECORD_OVERHEAD_BYTES = 40;
/** What a header needs besides its name and value, in bytes. */
const HEADER_OVERHEAD_BYTES = 10;

/** A record to write. Its bytes may not change until the write has ended. */
export interface WriteMessage {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | string | null;
  /** Null for a tombstone. */
  readonly value: Uint8Array | null;
  readonly headers?: Record<string, string | Uint8Array>;
  /** Milliseconds since the epoch; the time of sending where it is not given. */
  readonly timestampMs?: number;
}

/** A record as kafkajs takes it. */
export interface Message {
  readonly key: Buffer | string | null;
  readonly value: Buffer | null;
  readonly partition: number;
  readonly headers?: Record<string, Buffer | string>;
  readonly timestamp?: string;
}

/** What goes to one partition. */
export interface PartitionSends {
  readonly topic: string;
  readonly partition: number;
  /** The records of each send, in order. */
  readonly pieces: Message[][];
}

/** The records by topic and partition, and each partition's in pieces that fit into a send. */
export function cutIntoSends(messages: readonly WriteMessage[], bytesMax: number): Iterable<PartitionSends> {
  const places = new Map<string, PartitionSends & { bytes: number }>();
  for (const message of messages) {
    const { topic, partition } = message;
    const name = `${topic}/${partition}`;
    let place = places.get(name);
    if (place === undefined) {
      place = { topic, partition, pieces: [[]], bytes: 0 };
      places.set(name, place);
    }
    let piece = place.pieces.at(-1) as Message[];
    const bytes = sizeOf(message);
    if (piece.length === SEND_RECORDS_MAX || (piece.length > 0 && place.bytes + bytes > bytesMax)) {
      piece = [];
      place.pieces.push(piece);
      place.bytes = 0;
    }
    piece.push(toMessage(message));
    place.bytes += bytes;
  }
  return places.values();
}

/** How many bytes of a send a record takes, at most. */
export function sizeOf(
  { key, value, headers = {} }: Pick<WriteMessage, "key" | "value" | "headers">,
): number {
  let bytes = RECORD_OVERHEAD_BYTES + lengthOf(key) + lengthOf(value);
  for (const name in headers) {
    bytes += HEADER_OVERHEAD_BYTES + lengthOf(name) + lengthOf(headers[name] ?? null);
  }
  return bytes;
}

/** Of text, the most bytes that it can have: counting them exactly would cost as much as encoding it. */
function lengthOf(content: Uint8Array | string | null): number {
  if (content === null) return 0;
  return typeof content === "string" ? 3 * content.length : content.length;
}

function toMessage({ key, value, partition, headers, timestampMs }: WriteMessage): Message {
  return {
    key: key === null || typeof key === "string" ? key : toBuffer(key),
    value: value === null ? null : toBuffer(value),
    partition,
    ...(headers === undefined ? {} : { headers: toBuffers(headers) }),
    ...(timestampMs === undefined ? {} : { timestamp: String(timestampMs) }),
  };
}

function toBuffers(headers: Record<string, string | Uint8Array>): Record<string, Buffer | string> {
  const converted: Record<string, Buffer | string> = {};
  for (const name in headers) {
    const content = headers[name] as string | Uint8Array;
    converted[name] = typeof content === "string" ? content : toBuffer(content);
  }
  return converted;
}

/** The same bytes, for kafkajs, which takes any other array for text. */
function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
