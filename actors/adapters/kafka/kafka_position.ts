/**
 * Where a checkpoint says that a partition was read to: `{"partition","offset"}`, the offset of the next record.
 *
 * @module
 */
import type { Json } from "../../../lib/json.ts";

/** See the module's header. */
export interface KafkaPosition {
  readonly partition: number;
  /** Of the next record: everything below it has been read, or will never be seen. */
  readonly offset: number;
}

/**
 * Reads a position back.
 *
 * @throws {Error} where it is of something else than a Kafka partition
 */
export function parseKafkaPosition(json: Json): KafkaPosition {
  if (typeof json === "object" && json !== null && "partition" in json && "offset" in json) {
    const { partition, offset } = json;
    if (isCount(partition) && isCount(offset)) return { partition, offset };
  }
  throw new Error(
    `Cannot go on reading a Kafka partition: ${JSON.stringify(json)} is no position in one. ` +
      `The state was written with another source: begin afresh with another one`,
  );
}

function isCount(json: Json | undefined): json is number {
  return typeof json === "number" && Number.isSafeInteger(json) && json >= 0;
}
