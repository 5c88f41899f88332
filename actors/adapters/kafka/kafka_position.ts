/**
 * Where a checkpoint says that a partition was read to: `{"partition","offset"}`, the offset of the next record, and beside
 * it `last`, which tells the last record that was read from any other. A topic that was deleted and made anew, and is longer
 * than the position by now, has another one there.
 *
 * @module
 */
import type { XXHashAPI } from "xxhash-wasm";
import type { Json } from "../../../lib/json.ts";

/** See the module's header. */
export interface KafkaPosition {
  readonly partition: number;
  /** Of the next record: everything below it has been read, or will never be seen. */
  readonly offset: number;
  /** The last record that was read; null where that is not known, as in a state of before it was kept. */
  readonly last: RecordMark | null;
}

/** What tells a record from another at its offset. */
export interface RecordMark {
  readonly offset: number;
  /** XXH64 of its key and value, 16 hex digits. */
  readonly hash: string;
}

/** A record, as far as it is marked. */
export interface MarkedRecord {
  readonly offset: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
}

const NOTHING = new Uint8Array(0);

/** The mark of a record. Not by its timestamp: compaction may write that anew. */
export function markOf(record: MarkedRecord, hash: Pick<XXHashAPI, "h64Raw">): RecordMark {
  const { offset, key, value } = record;
  const digits = hash.h64Raw(value ?? NOTHING, hash.h64Raw(key ?? NOTHING)).toString(16).padStart(16, "0");
  return { offset, hash: digits };
}

/**
 * Reads a position back.
 *
 * @throws {Error} where it is of something else than a Kafka partition
 */
export function parseKafkaPosition(json: Json): KafkaPosition {
  if (typeof json === "object" && json !== null && "partition" in json && "offset" in json) {
    const { partition, offset } = json;
    if (isCount(partition) && isCount(offset)) {
      return { partition, offset, last: parseMark("last" in json ? json.last : undefined) };
    }
  }
  throw new Error(
    `Cannot go on reading a Kafka partition: ${JSON.stringify(json)} is no position in one. ` +
      `The state was written with another source: begin afresh with another one`,
  );
}

function parseMark(json: Json | undefined): RecordMark | null {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return null;
  const { offset, hash } = json as { readonly [name: string]: Json };
  if (!isCount(offset) || typeof hash !== "string") return null;
  return { offset, hash };
}

function isCount(json: Json | undefined): json is number {
  return typeof json === "number" && Number.isSafeInteger(json) && json >= 0;
}
