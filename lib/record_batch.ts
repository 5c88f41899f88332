/**
 * What a source hands over: a run of undecoded records, in the source's order, in one buffer.
 *
 * One buffer and three columns instead of an object a record: at a million records a second the objects would cost
 * more than the decoding. The buffer is not written again before it was given back, since what waits in a mailbox points
 * into it.
 *
 * @module
 */
import type { MessageContext } from "./format/message_values.ts";
import type { Json } from "./json.ts";

/** A record over the size limit. Its first 64 KiB are in the batch; this is what was not kept. */
export interface OversizeRecord {
  /** Bytes of the whole record, without its line end. */
  readonly byteLength: number;
  /** XXH64 (seed 0) of the whole record, 16 hex digits. */
  readonly hash: string;
}

/** A run of records of one source split. */
export interface RecordBatch {
  /** Holds the records' bytes; record `i` is `bytes[starts[i] .. ends[i])`, without line end or byte order mark. */
  readonly bytes: Uint8Array;
  /** Where each record begins in `bytes`. */
  readonly starts: Uint32Array;
  /** Where each ends, without its line end. */
  readonly ends: Uint32Array;
  /** Where each record begins in its source: a byte offset in a file or pipe, a Kafka offset. */
  readonly offsets: Float64Array;
  /** 1-based number of each record in the source, blank lines counted; all 0 where the source has no lines. */
  readonly lines: Float64Array;
  /** Ingest time of each record in µs where the transport gives one (Kafka's timestamp), else null. */
  readonly ingestTimesUs: Float64Array | null;
  /** What came along with each record, where the source's format asks for that; null for nothing. */
  readonly contexts?: readonly (MessageContext | null)[] | null;
  /** How many records there are; the columns may be longer. */
  readonly count: number;
  /** Records over the size limit, by their index. */
  readonly oversize: ReadonlyMap<number, OversizeRecord>;
  /** The source's position behind the last record of this batch: reading on from here misses and repeats nothing. */
  readonly position: Json;
}
