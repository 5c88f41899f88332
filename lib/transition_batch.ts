/**
 * Decoded transitions on their way to a partition: a message in a mailbox. Columns instead of an object a transition.
 *
 * Each row brings the split's clocks at its place in the source, since a partition has none of its own: whether it is
 * late is judged by the watermark *before* it, all else by the dedup clock *with* it. So the number of partitions
 * changes nothing that comes out.
 *
 * @module
 */
import type { Kind } from "./kind.ts";

/** Where the ids, seq and attributes of a decoded transition lie, all in `bytes`. Equal start and end: not there. */
export interface TransitionFields {
  /** One of the `KIND_` constants. */
  readonly kind: Kind;
  /** What the ranges below point into. */
  readonly bytes: Uint8Array;
  /** Where the device's id begins. */
  readonly deviceStart: number;
  /** Where it ends. */
  readonly deviceEnd: number;
  /** Where the fence's id begins. */
  readonly fenceStart: number;
  /** Where it ends. */
  readonly fenceEnd: number;
  /** When it happened, µs. */
  readonly eventTimeUs: number;
  /** Where the seq begins; at its end where there is none. */
  readonly seqStart: number;
  /** Where it ends. */
  readonly seqEnd: number;
  /** Where the attributes begin; at their end where there are none. */
  readonly attributesStart: number;
  /** Where they end. */
  readonly attributesEnd: number;
}

/** Where the record itself is, for a dead letter, and the clocks at its place. */
export interface TransitionContext {
  /** The watermark before it, µs: whether it is late. */
  readonly watermarkBeforeUs: number;
  /** The dedup clock with it, µs. */
  readonly dedupClockUs: number;
  /** Hash of the device id, by which it was routed. */
  readonly deviceHash: number;
  /** The record's bytes, for a dead letter. */
  readonly recordBytes: Uint8Array;
  /** Where it begins in them. */
  readonly recordStart: number;
  /** Where it ends. */
  readonly recordEnd: number;
  /** Where it begins in the source: a byte offset in a file or pipe, a Kafka offset. */
  readonly offset: number;
  /** 1-based number of its line; 0 where the source has no lines. */
  readonly line: number;
  /** It was a dead letter with the reason LATE before a crash: so it is late again, and not written again. */
  readonly knownLate: boolean;
  /** Which crossing of its message it is; 0 where the record is the transition. */
  readonly part: number;
}

/** Integers a row; see the constants. */
const COLUMNS = 14;
const KIND = 0;
const DEVICE_START = 1;
const DEVICE_END = 2;
const FENCE_START = 3;
const FENCE_END = 4;
const SEQ_START = 5;
const SEQ_END = 6;
const ATTRIBUTES_START = 7;
const ATTRIBUTES_END = 8;
const DEVICE_HASH = 9;
const RECORD_START = 10;
const RECORD_END = 11;
const KNOWN_LATE = 12;
const PART = 13;

/** Doubles a row. */
const NUMBERS = 5;
const EVENT_TIME = 0;
const WATERMARK = 1;
const DEDUP_CLOCK = 2;
const OFFSET = 3;
const LINE = 4;

const NOTHING = new Uint8Array(0);

/** See the module's header. */
export class TransitionBatch {
  /** How many transitions it holds at most. */
  readonly capacity: number;
  /** How many it holds. */
  count = 0;
  /** Whether a partition has filled the three columns below, which it looks the rows up by. */
  prepared = false;
  /** Hash of each row's pair. */
  readonly pairHashes: Int32Array;
  /** Each row's ids, eight words as {@link Identity.lanes} has them. */
  readonly lanes: Int32Array;
  /** How many ids each row has: 0 to 2. */
  readonly idCounts: Uint8Array;
  /** 1 for each row that a partition took for a copy of one before it. */
  readonly suppressed: Uint8Array;
  readonly #integers: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bytes: Uint8Array[];
  readonly #recordBytes: Uint8Array[];

  /** An empty batch of so many rows. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.pairHashes = new Int32Array(capacity);
    this.lanes = new Int32Array(capacity * 8);
    this.idCounts = new Uint8Array(capacity);
    this.suppressed = new Uint8Array(capacity);
    this.#bytes = new Array<Uint8Array>(capacity).fill(NOTHING);
    this.#recordBytes = new Array<Uint8Array>(capacity).fill(NOTHING);
    this.#integers = new Int32Array(capacity * COLUMNS);
    this.#numbers = new Float64Array(capacity * NUMBERS);
  }

  /** Whether another row has room. */
  get full(): boolean {
    return this.count === this.capacity;
  }

  /** Forgets the rows, and the buffers that they pointed into, so that the batch can be filled again. */
  reset(): void {
    this.#bytes.fill(NOTHING, 0, this.count);
    this.#recordBytes.fill(NOTHING, 0, this.count);
    this.suppressed.fill(0, 0, this.count);
    this.count = 0;
    this.prepared = false;
  }

  /** Adds a row; the caller has looked at {@link full}. */
  push(fields: TransitionFields, context: TransitionContext): void {
    const row = this.count++;
    const integers = this.#integers;
    const at = row * COLUMNS;
    integers[at + KIND] = fields.kind;
    integers[at + DEVICE_START] = fields.deviceStart;
    integers[at + DEVICE_END] = fields.deviceEnd;
    integers[at + FENCE_START] = fields.fenceStart;
    integers[at + FENCE_END] = fields.fenceEnd;
    integers[at + SEQ_START] = fields.seqStart;
    integers[at + SEQ_END] = fields.seqEnd;
    integers[at + ATTRIBUTES_START] = fields.attributesStart;
    integers[at + ATTRIBUTES_END] = fields.attributesEnd;
    integers[at + DEVICE_HASH] = context.deviceHash;
    integers[at + RECORD_START] = context.recordStart;
    integers[at + RECORD_END] = context.recordEnd;
    integers[at + KNOWN_LATE] = context.knownLate ? 1 : 0;
    integers[at + PART] = context.part;
    const numbers = this.#numbers;
    const base = row * NUMBERS;
    numbers[base + EVENT_TIME] = fields.eventTimeUs;
    numbers[base + WATERMARK] = context.watermarkBeforeUs;
    numbers[base + DEDUP_CLOCK] = context.dedupClockUs;
    numbers[base + OFFSET] = context.offset;
    numbers[base + LINE] = context.line;
    this.#bytes[row] = fields.bytes;
    this.#recordBytes[row] = context.recordBytes;
  }

  /** What the ranges of a row point into. */
  bytes(row: number): Uint8Array {
    return this.#bytes[row] as Uint8Array;
  }

  /** One of the `KIND_` constants. */
  kind(row: number): Kind {
    return this.#integers[row * COLUMNS + KIND] as Kind;
  }

  /** Where the device's id begins. */
  deviceStart(row: number): number {
    return this.#integers[row * COLUMNS + DEVICE_START] as number;
  }

  /** Where it ends. */
  deviceEnd(row: number): number {
    return this.#integers[row * COLUMNS + DEVICE_END] as number;
  }

  /** Where the fence's id begins. */
  fenceStart(row: number): number {
    return this.#integers[row * COLUMNS + FENCE_START] as number;
  }

  /** Where it ends. */
  fenceEnd(row: number): number {
    return this.#integers[row * COLUMNS + FENCE_END] as number;
  }

  /** Where the seq begins. */
  seqStart(row: number): number {
    return this.#integers[row * COLUMNS + SEQ_START] as number;
  }

  /** Where it ends. */
  seqEnd(row: number): number {
    return this.#integers[row * COLUMNS + SEQ_END] as number;
  }

  /** Where the attributes begin. */
  attributesStart(row: number): number {
    return this.#integers[row * COLUMNS + ATTRIBUTES_START] as number;
  }

  /** Where they end. */
  attributesEnd(row: number): number {
    return this.#integers[row * COLUMNS + ATTRIBUTES_END] as number;
  }

  /** The device's hash, by which it was routed. */
  deviceHash(row: number): number {
    return this.#integers[row * COLUMNS + DEVICE_HASH] as number;
  }

  /** Whether its dead letter for being late is written already. */
  knownLate(row: number): boolean {
    return this.#integers[row * COLUMNS + KNOWN_LATE] === 1;
  }

  /** Which crossing of its message it is; 0 where the record is the transition. */
  part(row: number): number {
    return this.#integers[row * COLUMNS + PART] as number;
  }

  /** When it happened, µs. */
  eventTimeUs(row: number): number {
    return this.#numbers[row * NUMBERS + EVENT_TIME] as number;
  }

  /** The watermark before this record, µs. */
  watermarkUs(row: number): number {
    return this.#numbers[row * NUMBERS + WATERMARK] as number;
  }

  /** The dedup clock with this record, µs. */
  dedupClockUs(row: number): number {
    return this.#numbers[row * NUMBERS + DEDUP_CLOCK] as number;
  }

  /** Where it begins in the source: a byte offset in a file or pipe, a Kafka offset. */
  offset(row: number): number {
    return this.#numbers[row * NUMBERS + OFFSET] as number;
  }

  /** 1-based number of its line; 0 where the source has no lines. */
  line(row: number): number {
    return this.#numbers[row * NUMBERS + LINE] as number;
  }

  /** The record as it came: a view, made on demand. */
  record(row: number): Uint8Array {
    const at = row * COLUMNS;
    return (this.#recordBytes[row] as Uint8Array).subarray(
      this.#integers[at + RECORD_START] as number,
      this.#integers[at + RECORD_END] as number,
    );
  }
}
