/**
 * Chunks: what was written comes back, and what was changed does not pass.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import {
  CHECKPOINT_FORMAT,
  type Checksum,
  CHUNK_BYTES_MAX,
  ChunkWriter,
  DamagedCheckpointError,
  readChunk,
  sealJson,
  SECTION_META,
  SECTION_PAIRS,
  SECTION_WAITING,
  SECTION_WINDOW,
  unsealJson,
} from "../../lib/chunk.ts";
import { Identity } from "../../lib/identity.ts";
import { randomFrom } from "../support/random.ts";

const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
const checksum: Checksum = (bytes) => identity.checksum(bytes);
const TYPES = [SECTION_PAIRS, SECTION_WAITING, SECTION_META, SECTION_WINDOW] as const;
const FORMAT_AT = 8;

interface Piece {
  readonly partition: number;
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** Sections of all chunks, those that follow each other with one partition and type put together. */
function read(chunks: readonly Uint8Array[]): { partition: number; type: number; bytes: number[] }[] {
  const joined: { partition: number; type: number; bytes: number[] }[] = [];
  for (const chunk of chunks) {
    ok(chunk.length <= CHUNK_BYTES_MAX, `${chunk.length} bytes`);
    // As a store may give it back: at some place in a larger buffer.
    const moved = new Uint8Array(chunk.length + 11);
    moved.set(chunk, 7);
    for (
      const { partition, type, view, start, end } of readChunk(moved.subarray(7, 7 + chunk.length), checksum)
    ) {
      ok(end > start, "a section has something in it");
      const bytes = [...new Uint8Array(view.buffer, view.byteOffset + start, end - start)];
      const last = joined.at(-1);
      if (last?.partition === partition && last.type === type) last.bytes.push(...bytes);
      else joined.push({ partition, type, bytes });
    }
  }
  return joined;
}

Deno.test("chunks: nothing written makes no chunk", () => {
  const writer = new ChunkWriter(checksum);
  writer.begin(3, SECTION_PAIRS);
  writer.end();
  writer.begin(4, SECTION_WAITING);
  deepEqual(writer.finish(), []);
  equal(writer.byteLength, 0);
});

Deno.test("chunks: sections come back in their order, over seeds", () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = randomFrom(seed);
    const writer = new ChunkWriter(checksum);
    const pieces: Piece[] = [];
    for (let step = 0; step < 60; step++) {
      const partition = Math.floor(random() * 1024);
      const type = TYPES[Math.floor(random() * 4)] as number;
      writer.begin(partition, type);
      for (let count = Math.floor(random() * 5); count > 0; count--) {
        const length = 1 + Math.floor(random() ** 3 * 9000);
        const bytes = Uint8Array.from({ length }, () => Math.floor(random() * 256));
        writer.reserve(length);
        const { at } = writer;
        new Uint8Array(writer.view.buffer).set(bytes, at);
        writer.at += length;
        pieces.push({ partition, type, bytes });
      }
    }
    const chunks = writer.finish();
    const joined: { partition: number; type: number; bytes: number[] }[] = [];
    for (const { partition, type, bytes } of pieces) {
      const last = joined.at(-1);
      if (last?.partition === partition && last.type === type) last.bytes.push(...bytes);
      else joined.push({ partition, type, bytes: [...bytes] });
    }
    deepEqual(read(chunks), joined, `seed ${seed}`);
    equal(writer.byteLength, chunks.reduce((sum, chunk) => sum + chunk.length, 0), `seed ${seed}`);
  }
});

Deno.test("chunks: a piece that fits exactly, and one byte more", () => {
  const header = 9 + 7;
  for (
    const [first, second, chunkCount] of [
      [CHUNK_BYTES_MAX - header - 10, 10, 1],
      [CHUNK_BYTES_MAX - header - 10, 11, 2],
      [CHUNK_BYTES_MAX - header, 1, 2],
      [CHUNK_BYTES_MAX - header, CHUNK_BYTES_MAX - header, 2],
    ] as const
  ) {
    const writer = new ChunkWriter(checksum);
    writer.begin(1, SECTION_PAIRS);
    for (const length of [first, second]) {
      writer.reserve(length);
      new Uint8Array(writer.view.buffer).fill(length & 255, writer.at, writer.at + length);
      writer.at += length;
    }
    const chunks = writer.finish();
    equal(chunks.length, chunkCount, `${first} and ${second}`);
    const [section] = read(chunks);
    equal(section?.bytes.length, first + second);
    equal(section?.bytes.at(-1), second & 255);
  }
});

Deno.test("chunks: many bytes are cut over several", () => {
  const pieceMax = CHUNK_BYTES_MAX - 9 - 7;
  for (
    const [length, chunkCount] of [
      [1, 1],
      [pieceMax, 1],
      [pieceMax + 1, 2],
      [2 * pieceMax, 2],
      [3 * pieceMax + 7, 4],
    ] as const
  ) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) & 255);
    const writer = new ChunkWriter(checksum);
    writer.begin(0, SECTION_META);
    writer.writeBytes(bytes);
    const chunks = writer.finish();
    equal(chunks.length, chunkCount, `${length} bytes`);
    deepEqual(read(chunks), [{ partition: 0, type: SECTION_META, bytes: [...bytes] }]);
  }
});

/** A chunk of a few sections. */
function smallChunk(): Uint8Array {
  const writer = new ChunkWriter(checksum);
  writer.begin(1, SECTION_PAIRS);
  writer.writeBytes(Uint8Array.of(1, 2, 3));
  writer.begin(2, SECTION_WAITING);
  writer.writeBytes(Uint8Array.of(4));
  return writer.finish()[0] as Uint8Array;
}

Deno.test("chunks: no flipped bit and no missing end passes", () => {
  const chunk = smallChunk();
  equal(read([chunk]).length, 2);
  for (let bit = 0; bit < chunk.length * 8; bit++) {
    const damaged = chunk.slice();
    damaged[bit >>> 3] = (damaged[bit >>> 3] as number) ^ (1 << (bit & 7));
    throws(() => readChunk(damaged, checksum), DamagedCheckpointError, `bit ${bit}`);
  }
  for (let length = 0; length < chunk.length; length++) {
    throws(() => readChunk(chunk.slice(0, length), checksum), DamagedCheckpointError, `cut at ${length}`);
  }
  throws(() => readChunk(Uint8Array.of(...chunk, 0), checksum), DamagedCheckpointError, "a byte too many");
});

/** A chunk whose checksum is right, whatever was done to it. */
function sealed(chunk: Uint8Array): Uint8Array {
  new DataView(chunk.buffer).setBigUint64(0, checksum(chunk.subarray(FORMAT_AT)), true);
  return chunk;
}

Deno.test("chunks: another format is refused by name", () => {
  const chunk = smallChunk();
  chunk[FORMAT_AT] = CHECKPOINT_FORMAT + 1;
  throws(
    () => readChunk(sealed(chunk), checksum),
    { name: "DamagedCheckpointError", message: /format 5, this version reads 4/ },
  );
});

Deno.test("chunks: a section that claims to be longer than its chunk is refused, whatever the checksum says", () => {
  const chunk = smallChunk();
  new DataView(chunk.buffer).setUint32(9 + 3, chunk.length, true);
  throws(() => readChunk(sealed(chunk), checksum), DamagedCheckpointError);
});

Deno.test("sealed JSON: comes back, and not if it was changed", () => {
  for (const value of [null, {}, { a: [1, "ü", null], b: { c: 0.5 } }, "x".repeat(100_000)]) {
    deepEqual(unsealJson(sealJson(value, checksum), checksum), value);
  }
  const bytes = sealJson({ position: { offset: 12 } }, checksum);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] as number) ^ 1;
    throws(() => unsealJson(damaged, checksum), DamagedCheckpointError, `byte ${at}`);
  }
  throws(() => unsealJson(new Uint8Array(0), checksum), DamagedCheckpointError);
});
