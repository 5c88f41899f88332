/**
 * Sorts lines of triggers by the partition that Kafka's default partitioner gives their device: as every producer that
 * sends the device as the key would. Those of a partition stay in their order.
 *
 * @module
 */
import { assert } from "./assert.ts";
import { murmur2, toPartition } from "./murmur2.ts";
import { TriggerLine } from "./trigger_line.ts";

const LINE_END = 0x0a;

/** Some lines, each ended by `\n`. */
export interface PartitionLines {
  /** They are at its beginning. */
  readonly bytes: Uint8Array;
  /** How long they are together. */
  readonly byteLength: number;
  /** How many they are. */
  readonly count: number;
}

/** The lines `bytes[0 .. byteLength)` for each partition that has any; copies, unless one has them all. */
export function linesByPartition(lines: PartitionLines, partitions: number): Map<number, PartitionLines> {
  if (partitions === 1) return new Map(lines.count === 0 ? [] : [[0, lines]]);
  const { bytes, byteLength } = lines;
  const line = new TriggerLine();
  const pieces = new Map<number, { found: Uint8Array[]; byteLength: number }>();
  for (let start = 0; start < byteLength;) {
    const end = bytes.indexOf(LINE_END, start) + 1;
    assert(end > start && end <= byteLength, "each line has its end");
    assert(line.read(bytes, start, end), "what goes to the triggers' topic is a trigger");
    const partition = toPartition(murmur2(line.device, 0, line.device.length), partitions);
    const piece = pieces.get(partition) ?? { found: [], byteLength: 0 };
    piece.found.push(bytes.subarray(start, end));
    piece.byteLength += end - start;
    pieces.set(partition, piece);
    start = end;
  }
  return new Map(
    [...pieces].map(([partition, { found, byteLength }]) => {
      const joined = new Uint8Array(byteLength);
      let at = 0;
      for (const piece of found) {
        joined.set(piece, at);
        at += piece.length;
      }
      return [partition, { bytes: joined, byteLength, count: found.length }];
    }),
  );
}
