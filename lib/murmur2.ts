/**
 * Kafka's murmur2, by which its default partitioner routes keys: so a device goes to the same partition here and there.
 *
 * @module
 */

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** The hash of `bytes[start .. end)`, as a signed 32-bit integer. */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    let k = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    k = Math.imul(k, M);
    k ^= k >>> 24;
    hash = Math.imul(hash, M) ^ Math.imul(k, M);
  }
  const rest = end - at;
  if (rest >= 3) hash ^= (bytes[at + 2] as number) << 16;
  if (rest >= 2) hash ^= (bytes[at + 1] as number) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ (bytes[at] as number), M);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, M);
  return hash ^ (hash >>> 15);
}

/** The partition for a hash: Kafka's `toPositive(hash) % partitions`. */
export function toPartition(hash: number, partitions: number): number {
  return (hash & 0x7fff_ffff) % partitions;
}
