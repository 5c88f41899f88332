/**
 * Chunks: what a checkpoint is stored in. Up to 60 KiB each, since a store takes values of 64 KiB at most and small rows
 * cost a hundred times more a byte; each with a checksum, since a store gives a flipped byte back without a word.
 *
 * ```
 *   checksum u64 | format u8 | section | section | …
 *   section      partition u16 | type u8 | byte length u32 | body
 * ```
 *
 * @module
 */

/** Version of all that a checkpoint consists of. */
export const CHECKPOINT_FORMAT = 4;

/** Bytes of a chunk at most. */
export const CHUNK_BYTES_MAX = 60 * 1024;

const CHECKSUM_BYTES = 8;
const HEADER_BYTES = CHECKSUM_BYTES + 1;
const SECTION_HEADER_BYTES = 7;

/** Section of the pairs' rows. */
export const SECTION_PAIRS = 1;
/** Section of the records that wait or are held, and are stored with each checkpoint. */
export const SECTION_WAITING = 2;
/** Section of what is kept as JSON: the split's part, counters and rules. */
export const SECTION_META = 3;
/** Section of rows of the dedup window. */
export const SECTION_WINDOW = 4;
/** Section of the ledgers. */
export const SECTION_TOLD = 5;
/** Section of the records that wait and are stored once. */
export const SECTION_WAITING_LOG = 6;

/** A chunk under its name: an ascending number in one of a few streams. */
export interface CheckpointChunk {
  /** Name of the stream. */
  readonly stream: string;
  /** Its number there. */
  readonly id: number;
  /** Up to {@link CHUNK_BYTES_MAX}. */
  readonly bytes: Uint8Array;
}

/** A half-open range of chunks. */
export interface ChunkRange {
  /** Name of the stream. */
  readonly stream: string;
  /** Number of the first. */
  readonly start: number;
  /** Number behind the last. */
  readonly end: number;
}

/** One checkpoint: what is new, what is no longer needed, and the manifest that makes it so. */
export interface CheckpointCommit {
  /** Chunks to be written, before the manifest. */
  readonly put: readonly CheckpointChunk[];
  /** Chunks that are no longer needed once the manifest is durable. */
  readonly drop: readonly ChunkRange[];
  /** What makes the others a checkpoint, in one atomic step. */
  readonly manifest: Uint8Array;
}

/** XXH64 with seed 0 of some bytes. */
export type Checksum = (bytes: Uint8Array) => bigint;

/** What was stored is not what was written, or of another version. */
export class DamagedCheckpointError extends Error {
  /** Tells a damaged state from all else that can fail in reading one. */
  override readonly name = "DamagedCheckpointError";
}

/** Writes sections into chunks, opening a new one where the next piece has no room. */
export class ChunkWriter {
  /** The finished chunks. */
  readonly chunks: Uint8Array[] = [];
  /** Where to write, from {@link at}; valid until the next {@link reserve}. */
  view: DataView;
  /** Where the next byte goes. */
  at = 0;
  /** Bytes of all chunks, finished or not. */
  byteLength = 0;

  readonly #checksum: Checksum;
  #buffer: Uint8Array<ArrayBuffer>;
  #sectionAt = -1;
  #partition = 0;
  #type = 0;

  /** Begins an empty chunk. */
  constructor(checksum: Checksum) {
    this.#checksum = checksum;
    this.#buffer = new Uint8Array(CHUNK_BYTES_MAX);
    this.view = new DataView(this.#buffer.buffer);
    this.at = HEADER_BYTES;
  }

  /** Begins a section: what is written next is of this partition and type. */
  begin(partition: number, type: number): void {
    this.end();
    this.#partition = partition;
    this.#type = type;
  }

  /** Makes sure that a piece of up to `byteLength` has room in one chunk; pieces are never cut. */
  reserve(byteLength: number): void {
    if (this.#sectionAt >= 0 && this.at + byteLength <= this.#buffer.length) return;
    if (this.at + SECTION_HEADER_BYTES + byteLength > this.#buffer.length) {
      this.end();
      this.#finishChunk();
    }
    if (this.#sectionAt < 0) {
      this.#sectionAt = this.at;
      this.view.setUint16(this.at, this.#partition, true);
      this.view.setUint8(this.at + 2, this.#type);
      this.at += SECTION_HEADER_BYTES;
    }
  }

  /** Writes bytes as one section or, where they are many, several. */
  writeBytes(bytes: Uint8Array): void {
    const pieceMax = this.#buffer.length - HEADER_BYTES - SECTION_HEADER_BYTES;
    for (let from = 0; from < bytes.length; from += pieceMax) {
      const piece = bytes.subarray(from, from + pieceMax);
      this.reserve(piece.length);
      this.#buffer.set(piece, this.at);
      this.at += piece.length;
    }
  }

  /** Ends the section. */
  end(): void {
    if (this.#sectionAt < 0) return;
    this.view.setUint32(this.#sectionAt + 3, this.at - this.#sectionAt - SECTION_HEADER_BYTES, true);
    this.#sectionAt = -1;
  }

  /** Ends the last chunk, if there is anything in it; returns all of them. */
  finish(): readonly Uint8Array[] {
    this.end();
    if (this.at > HEADER_BYTES) this.#finishChunk();
    return this.chunks;
  }

  #finishChunk(): void {
    if (this.at === HEADER_BYTES) return;
    const chunk = this.#buffer.slice(0, this.at);
    seal(chunk, this.#checksum);
    this.chunks.push(chunk);
    this.byteLength += chunk.length;
    this.at = HEADER_BYTES;
  }
}

/** A section of a chunk that was read: its body is `view` from `start` to `end`. */
export interface Section {
  /** Number of the partition that it belongs to. */
  readonly partition: number;
  /** One of the `SECTION_` constants. */
  readonly type: number;
  /** The chunk's bytes. */
  readonly view: DataView;
  /** Where the section's content begins in the view. */
  readonly start: number;
  /** Where it ends. */
  readonly end: number;
}

/**
 * The sections of a chunk.
 *
 * @throws {DamagedCheckpointError} where its checksum or version is not as it should be
 */
export function readChunk(chunk: Uint8Array, checksum: Checksum): Section[] {
  const view = unseal(chunk, checksum);
  const sections: Section[] = [];
  let at = HEADER_BYTES;
  while (at < chunk.length) {
    const start = at + SECTION_HEADER_BYTES;
    if (start > chunk.length) throw new DamagedCheckpointError("A section is cut short");
    const end = start + view.getUint32(at + 3, true);
    if (end > chunk.length) throw new DamagedCheckpointError("A section is longer than its chunk");
    sections.push({ partition: view.getUint16(at, true), type: view.getUint8(at + 2), view, start, end });
    at = end;
  }
  return sections;
}

/** A value with a checksum and the format's version before it. */
export function sealJson(value: unknown, checksum: Checksum): Uint8Array {
  const body = new TextEncoder().encode(JSON.stringify(value));
  const bytes = new Uint8Array(HEADER_BYTES + body.length);
  bytes.set(body, HEADER_BYTES);
  seal(bytes, checksum);
  return bytes;
}

/**
 * What {@link sealJson} was given.
 *
 * @throws {DamagedCheckpointError} where its checksum or version is not as it should be
 */
export function unsealJson(bytes: Uint8Array, checksum: Checksum): unknown {
  unseal(bytes, checksum);
  try {
    return JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_BYTES)));
  } catch (cause) {
    throw new DamagedCheckpointError("A part of it is no JSON", { cause });
  }
}

function seal(bytes: Uint8Array, checksum: Checksum): void {
  bytes[CHECKSUM_BYTES] = CHECKPOINT_FORMAT;
  const sum = checksum(bytes.subarray(CHECKSUM_BYTES));
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, sum, true);
}

function unseal(bytes: Uint8Array, checksum: Checksum): DataView {
  if (bytes.length < HEADER_BYTES) throw new DamagedCheckpointError("A part of it is cut short");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getBigUint64(0, true) !== checksum(bytes.subarray(CHECKSUM_BYTES))) {
    throw new DamagedCheckpointError("A checksum does not match");
  }
  const format = view.getUint8(CHECKSUM_BYTES);
  if (format !== CHECKPOINT_FORMAT) {
    throw new DamagedCheckpointError(`It has format ${format}, this version reads ${CHECKPOINT_FORMAT}`);
  }
  return view;
}
