/**
 * Makes kafkajs see a batch that compaction has emptied. A broker keeps the head of such a one, for its producer's sake;
 * kafkajs reads no record in it and forgets it. Where a whole segment is made of them, a fetch there brings nothing, is
 * sent again for the same offset, and so on for ever.
 *
 * ```
 *   first offset  length   epoch  magic  crc  attributes  last offset delta  times, producer  count   records
 *   8             4 = 49   4      1      4    2           4                  34 (from 23)      4 = 0   none
 *   before the decoder's ^ buffer, which begins here                                     45 ^      49 ^
 * ```
 *
 * So where the array of records is read and is none, one is put there: a control record at the batch's last offset, which
 * kafkajs leaves out and counts as read. Tied to kafkajs 2.2.4, which is pinned.
 *
 * @module
 */

/** Bytes of a batch behind its length, where it has no records. */
const EMPTY_LENGTH = 49;
/** Where in them the count of the records is, and what is before. */
const COUNT_AT = 45;
const MAGIC_AT = 4;
const MAGIC = 2;
const LAST_OFFSET_DELTA_AT = 11;
const MAX_TIMESTAMP_AT = 23;
const PRODUCER_ID_AT = 31;
/** The first offset and the length lie before the decoder's buffer. */
const HEAD_BYTES = 12;
const LENGTH_BYTES = 4;

interface Decoder {
  readonly buffer: Uint8Array;
  readonly offset: number;
}

/** Of kafkajs' `Decoder.prototype`. */
export interface DecoderMethods {
  readArray(this: Decoder, read: (decoder: Decoder) => unknown): unknown[];
}

/** See the module's header. */
export function showEmptiedBatches(methods: DecoderMethods): void {
  const { readArray } = methods;
  methods.readArray = function (read) {
    const isEmpty = this.offset === COUNT_AT && this.buffer.length === EMPTY_LENGTH;
    const records = readArray.call(this, read);
    if (!isEmpty || records.length > 0) return records;
    const { buffer, byteOffset } = this.buffer;
    if (byteOffset < HEAD_BYTES || this.buffer[MAGIC_AT] !== MAGIC) return records;
    const head = new DataView(buffer, byteOffset - HEAD_BYTES, HEAD_BYTES);
    if (head.getInt32(HEAD_BYTES - LENGTH_BYTES) !== EMPTY_LENGTH) return records;
    return [controlRecord(head.getBigInt64(0), new DataView(buffer, byteOffset, EMPTY_LENGTH))];
  };
}

function controlRecord(firstOffset: bigint, batch: DataView): unknown {
  const lastOffsetDelta = batch.getInt32(LAST_OFFSET_DELTA_AT);
  return {
    offset: String(firstOffset + BigInt(lastOffsetDelta)),
    timestamp: String(batch.getBigInt64(MAX_TIMESTAMP_AT)),
    key: null,
    value: null,
    headers: {},
    isControlRecord: true,
    batchContext: {
      firstOffset: String(firstOffset),
      lastOffsetDelta,
      inTransaction: false,
      producerId: String(batch.getBigInt64(PRODUCER_ID_AT)),
    },
  };
}
