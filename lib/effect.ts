/**
 * What a partition wants done: triggers, as lines ready for a sink, and the records that came too late to leave in order.
 *
 * Lines are written once, into one growing buffer that is used again: a trigger is never an object.
 *
 * @module
 */

/** Longest trigger line: ids at six bytes a byte when escaped, attributes, and the rest. */
export const TRIGGER_BYTES_MAX: number = 2 * 6 * 256 + 16 * 1024 + 6 * 64 + 512;

/** A record that goes to the dead letters with the reason LATE. */
export interface LateRecord {
  /** The record's bytes. */
  readonly record: Uint8Array;
  /** Where it begins in the source: a byte offset in a file or pipe, a Kafka offset. */
  readonly offset: number;
  /** 1-based number of its line; 0 where the source has no lines. */
  readonly line: number;
  /** Which crossing of its message it is; 0 where the record is the transition. */
  readonly part: number;
  /** Its event time, µs. */
  readonly eventTimeUs: number;
  /** The watermark that it came behind, µs. */
  readonly watermarkUs: number;
}

/** See the module's header. */
export class EffectBuffer {
  /** Lines of triggers, each with its line end. */
  bytes: Uint8Array = new Uint8Array(1 << 16);
  /** How much of it is filled. */
  byteLength = 0;
  /** How many trigger lines there are. */
  count = 0;
  /** Each line's end and event time, kept only where triggers leave in event-time order. */
  readonly ends: number[] | null;
  /** Event time of each line, µs, −Infinity for one that leaves at once; null where all leave as they come. */
  readonly eventTimesUs: number[] | null;
  /** Event times of the DWELLs that the watermark has reached just now, µs: how late they leave is measured. */
  readonly firedUs: number[] = [];
  /** Records that came too late to leave in order. */
  readonly lateRecords: LateRecord[] = [];

  /**
   * An empty buffer.
   *
   * @param ordered whether lines will have to be put in event-time order: their ends and times are kept then
   */
  constructor(ordered: boolean) {
    this.ends = ordered ? [] : null;
    this.eventTimesUs = ordered ? [] : null;
  }

  /** Whether there is nothing to do. */
  get empty(): boolean {
    return this.count === 0 && this.lateRecords.length === 0;
  }

  /** Makes room for one more line. */
  reserve(byteLength: number): void {
    if (this.byteLength + byteLength <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.byteLength + byteLength));
    grown.set(this.bytes.subarray(0, this.byteLength));
    this.bytes = grown;
  }

  /** Takes the line that was written from {@link byteLength} up to `end`. */
  commitLine(end: number, eventTimeUs: number): void {
    this.byteLength = end;
    this.count++;
    this.ends?.push(end);
    this.eventTimesUs?.push(eventTimeUs);
  }

  /** Empties the buffer for the next round; the bytes will be written over. */
  reset(): void {
    this.byteLength = 0;
    this.count = 0;
    this.firedUs.length = 0;
    this.lateRecords.length = 0;
    if (this.ends !== null) this.ends.length = 0;
    if (this.eventTimesUs !== null) this.eventTimesUs.length = 0;
  }
}
