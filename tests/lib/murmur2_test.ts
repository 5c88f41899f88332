/**
 * Murmur2 against the vectors of Kafka's own `UtilsTest`, and the partition against its `toPositive(hash) % count`.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { randomFrom } from "../support/random.ts";

const KAFKA_VECTORS: readonly (readonly [text: string, hash: number])[] = [
  ["21", -973932308],
  ["foobar", -790332482],
  ["a-little-bit-long-string", -985981536],
  ["a-little-bit-longer-string", -1486304829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ["abc", 479470107],
];

Deno.test("murmur2: Kafka's vectors", () => {
  for (const [text, hash] of KAFKA_VECTORS) {
    const bytes = new TextEncoder().encode(text);
    equal(murmur2(bytes, 0, bytes.length), hash, text);
  }
});

Deno.test("murmur2: hashes a range as if it stood alone, at every alignment and length", () => {
  const random = randomFrom(7);
  const bytes = Uint8Array.from({ length: 64 }, () => Math.floor(random() * 256));
  for (let start = 0; start < 8; start++) {
    for (let end = start; end <= start + 24; end++) {
      const alone = bytes.slice(start, end);
      equal(murmur2(bytes, start, end), model(alone), `[${start}, ${end})`);
      equal(murmur2(alone, 0, alone.length), model(alone), `[${start}, ${end}) alone`);
    }
  }
});

Deno.test("toPartition: negative hashes lose their sign bit, as in Kafka", () => {
  const table: readonly (readonly [hash: number, partitions: number, partition: number])[] = [
    [0, 16, 0],
    [17, 16, 1],
    [-1, 16, 15],
    [-1, 10, 0x7fff_ffff % 10],
    [-2147483648, 7, 0],
    [2147483647, 1, 0],
    [-973932308, 4, (-973932308 & 0x7fff_ffff) % 4],
  ];
  for (const [hash, partitions, partition] of table) {
    equal(toPartition(hash, partitions), partition, `${hash} of ${partitions}`);
  }
});

/** Murmur2 as its author wrote it, in big integers modulo 2^32. */
function model(bytes: Uint8Array): number {
  const word = (value: bigint): bigint => BigInt.asUintN(32, value);
  const m = 0x5bd1e995n;
  let hash = word(0x9747b28cn ^ BigInt(bytes.length));
  let at = 0;
  for (; bytes.length - at >= 4; at += 4) {
    let k = BigInt(new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true));
    k = word(k * m);
    k = word((k ^ (k >> 24n)) * m);
    hash = word(hash * m) ^ k;
  }
  const rest = [...bytes.subarray(at)];
  if (rest.length > 0) {
    const tail = rest.reduce((sum, byte, i) => sum | (BigInt(byte) << BigInt(8 * i)), 0n);
    hash = word((hash ^ tail) * m);
  }
  hash = word((hash ^ (hash >> 13n)) * m);
  return Number(BigInt.asIntN(32, hash ^ (hash >> 15n)));
}
