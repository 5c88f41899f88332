/**
 * What compressed topics are read with. kafkajs brings gzip; the other three are registered with it.
 *
 * Java's producers wrap Snappy in xerial's framing: `82 SNAPPY 00`, two versions, then blocks with their length before
 * them; librdkafka's write plain Snappy.
 *
 * Zstandard is Deno's own where it has it. Java's producers don't say how long a batch is, and fzstd makes a window of 2 MiB
 * for each, 128 at the highest level: 2 to 500 ms a batch, were it of one record, and not 0.1.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";
import { decompress as unzstd } from "fzstd";
import lz4 from "lz4js";
import snappy from "snappyjs";

const XERIAL = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00);
const XERIAL_HEADER_BYTES = XERIAL.length + 8;
/** Missing of Deno 2.4. */
const nativeUnzstd = (zlib as Partial<typeof zlib>).zstdDecompressSync;

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
  return nativeUnzstd === undefined ? decompressZstdAnywhere(bytes) : nativeUnzstd(bytes);
}

/** The same on a Deno that has none of its own. */
export function decompressZstdAnywhere(bytes: Uint8Array): Uint8Array {
  return buffer(unzstd(bytes));
}

/** kafkajs' decoder wants a Buffer. */
function buffer(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
