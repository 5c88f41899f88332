/**
 * What compressed topics are read with. kafkajs brings gzip; the other three are registered with it.
 *
 * Java's producers wrap Snappy in xerial's framing: `82 SNAPPY 00`, two versions, then blocks with their length before
 * them; librdkafka's write plain Snappy.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { decompress as unzstd } from "fzstd";
import lz4 from "lz4js";
import snappy from "snappyjs";

const XERIAL = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00);
const XERIAL_HEADER_BYTES = XERIAL.length + 8;

/** Snappy, in xerial's framing or plain. */
export function decompressSnappy(bytes: Uint8Array): Uint8Array {
  if (!XERIAL.every((byte, i) => bytes[i] === byte)) return buffer(snappy.uncompress(bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks: Uint8Array[] = [];
  for (let at = XERIAL_HEADER_BYTES; at < bytes.length;) {
    const length = view.getUint32(at);
    at += 4;
    blocks.push(snappy.uncompress(bytes.subarray(at, at + length)));
    at += length;
  }
  return Buffer.concat(blocks);
}

/** An LZ4 frame. */
export function decompressLz4(bytes: Uint8Array): Uint8Array {
  return buffer(lz4.decompress(bytes));
}

/** A Zstandard frame. */
export function decompressZstd(bytes: Uint8Array): Uint8Array {
  return buffer(unzstd(bytes));
}

/** kafkajs' decoder wants a Buffer. */
function buffer(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
