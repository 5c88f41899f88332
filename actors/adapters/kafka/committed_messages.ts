/**
 * Which records of a fetched piece were committed: neither markers nor records of aborted transactions.
 *
 * A broker gives a read-committed reader everything before the first open transaction, aborted records too, and a list
 * of the aborted transactions that touch the piece. From its first offset on, what that producer wrote in a transaction
 * is aborted, until its marker.
 *
 * kafkajs has this as well, and it is wrong in three ways, each of which lets aborted records through: it takes the list
 * to be in order of the first offsets (a broker keeps it in the order of the markers), it opens at most one transaction
 * a record (a piece may begin within several), and it takes any record with the key `00 00 00 00` for a marker.
 *
 * @module
 */
import type { AbortedTransaction, RawMessage } from "./kafka_cluster.ts";

/** The key of a marker that ends a transaction with an abort: version 0, type 0. A commit's type is 1. */
const ABORT_TYPE = 0;

/** The committed records, in their order. */
export function committedMessages(
  messages: readonly RawMessage[],
  aborted: readonly AbortedTransaction[] | null,
): RawMessage[] {
  const begins = (aborted ?? []).map(({ producerId, firstOffset }) => ({
    producerId,
    firstOffset: Number(firstOffset),
  }));
  begins.sort((a, b) => a.firstOffset - b.firstOffset);
  const open = new Set<string>();
  let next = 0;
  return messages.filter((message) => {
    const offset = Number(message.offset);
    for (
      let begin = begins[next];
      begin !== undefined && begin.firstOffset <= offset;
      begin = begins[++next]
    ) {
      open.add(begin.producerId);
    }
    const batch = message.batchContext;
    if (message.isControlRecord === true) {
      if (batch !== undefined && isAbort(message.key)) open.delete(batch.producerId);
      return false;
    }
    return batch === undefined || !batch.inTransaction || !open.has(batch.producerId);
  });
}

function isAbort(key: Uint8Array | null): boolean {
  return key !== null && key.length >= 4 && key[2] === 0 && key[3] === ABORT_TYPE;
}
