/**
 * The codecs of compressed topics, as kafkajs finds them: registered over its own, which throw.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { deepStrictEqual } from "node:assert/strict";
import { CompressionCodecs, CompressionTypes } from "kafkajs";
import lz4 from "lz4js";
import snappy from "snappyjs";
import { decompressZstdAnywhere } from "../../actors/adapters/kafka/compression.ts";
import { createKafka } from "../../actors/adapters/kafka/kafka_client.ts";

const encoder = new TextEncoder();
const TEXT = encoder.encode('{"device_id":"truck-7","fence_id":"depot-3"}\n'.repeat(500));

/** It, as a stream of Zstandard: without its length, as Java's producers write it. */
const ZSTD = Buffer.from(
  "KLUv/QBYjQEAVAJ7ImRldmljZV9pZCI6InRydWNrLTciLCJmZW5kZXBvdC0zIn0KAgC0F1Qbje8cAw==",
  "base64",
);

/** Snappy as Java's producers write it: xerial's header, and blocks with their length before them. */
function xerial(bytes: Uint8Array, blockBytes: number): Uint8Array {
  const parts: Uint8Array[] = [
    Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1),
  ];
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = snappy.compress(bytes.subarray(at, at + blockBytes));
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

const CASES: readonly (readonly [string, CompressionTypes, () => Uint8Array])[] = [
  ["Snappy, plain", CompressionTypes.Snappy, () => snappy.compress(TEXT)],
  ["Snappy, as Java writes it", CompressionTypes.Snappy, () => xerial(TEXT, 1000)],
  ["LZ4", CompressionTypes.LZ4, () => lz4.compress(TEXT)],
  ["Zstandard", CompressionTypes.ZSTD, () => ZSTD],
];

for (const [name, type, compress] of CASES) {
  Deno.test(`compression: ${name} is read through kafkajs' own table`, async () => {
    const config = { brokers: ["127.0.0.1:1"], clientId: "test", ssl: null, sasl: null };
    await createKafka(config, { notice: () => {} });
    const codec = CompressionCodecs[type as keyof typeof CompressionCodecs]();
    const bytes = await codec.decompress(Buffer.from(compress()));
    deepStrictEqual(new Uint8Array(bytes), TEXT);
  });
}

Deno.test("compression: Zstandard is read where Deno has none of its own", () => {
  deepStrictEqual(new Uint8Array(decompressZstdAnywhere(ZSTD)), TEXT);
});
