/**
 * Tells whether a file is the one that a position was written for.
 *
 * ```
 *                       begins as it did                 begins otherwise
 *   same device, inode  the same file                    changed: refused
 *   another inode       the same: copied or restored     another file: read from its beginning
 * ```
 *
 * The inode alone would not do: a copied file has another, and a truncated and refilled one the same. The beginning is
 * the first 4,096 bytes that had been handed over, fewer where the file was shorter; a file that grew since still
 * begins with them. Bytes not yet handed over don't count: a torn last line may still be completed otherwise.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import type { SeekableFile } from "./stdin_file.ts";

/** Bytes of a file's beginning that are compared. */
const HEAD_BYTES_MAX = 4096;

/** A file, as it stands in a position. */
export type FileIdentity = {
  /** Device and inode; null where the system has none. */
  readonly dev: number | null;
  readonly ino: number | null;
  /** XXH64 (seed 0) of the first `headBytes` bytes, 16 hex digits. */
  readonly head: string;
  readonly headBytes: number;
};

/** Whether the file is the one that was read, that one but rewritten, or another. */
export type FileComparison = "same" | "changed" | "another";

/** XXH64 with seed 0 as a number. */
export type Hash = (bytes: Uint8Array) => bigint;

/** The beginning of an open file, learned while it is read. */
export class FileHead {
  readonly #dev: number | null;
  readonly #ino: number | null;
  readonly #hash: Hash;
  readonly #bytes = new Uint8Array(HEAD_BYTES_MAX);
  #filled = 0;
  #identity: FileIdentity | null = null;

  constructor(file: { dev: number | null; ino: number | null }, hash: Hash) {
    this.#dev = file.dev;
    this.#ino = file.ino;
    this.#hash = hash;
  }

  /** Reads the beginning of a file that was just opened; the place in the file moves. */
  async read(file: Pick<SeekableFile, "read">): Promise<void> {
    const bytes = new Uint8Array(HEAD_BYTES_MAX);
    let filled = 0;
    while (filled < HEAD_BYTES_MAX) {
      const byteLength = await file.read(bytes.subarray(filled));
      if (byteLength === null) break;
      filled += byteLength;
    }
    this.learn(bytes.subarray(0, filled), 0);
  }

  /** Takes note of bytes read at an offset. */
  learn(bytes: Uint8Array, offset: number): void {
    if (this.#filled === HEAD_BYTES_MAX || offset > this.#filled || offset + bytes.length <= this.#filled) {
      return;
    }
    const news = bytes.subarray(this.#filled - offset, HEAD_BYTES_MAX - offset);
    this.#bytes.set(news, this.#filled);
    this.#filled += news.length;
  }

  /** The identity of the file where everything before `offset` has been handed over. */
  identity(offset: number): FileIdentity {
    const headBytes = Math.min(this.#filled, offset);
    if (this.#identity === null || this.#identity.headBytes !== headBytes) {
      this.#identity = { dev: this.#dev, ino: this.#ino, head: this.#hashOf(headBytes), headBytes };
    }
    return this.#identity;
  }

  /** Compares with the file that a position was written for. */
  compare(known: FileIdentity): FileComparison {
    const begins = this.#filled >= known.headBytes && this.#hashOf(known.headBytes) === known.head;
    if (begins) return "same";
    return this.#ino !== null && this.#dev === known.dev && this.#ino === known.ino ? "changed" : "another";
  }

  #hashOf(headBytes: number): string {
    return this.#hash(this.#bytes.subarray(0, headBytes)).toString(16).padStart(16, "0");
  }
}

/** Reads an identity back from a position; null where it is none. */
export function parseFileIdentity(value: Json | undefined): FileIdentity | null {
  if (typeof value !== "object" || value === null || !("headBytes" in value)) return null;
  const { dev, ino, head, headBytes } = value;
  if (!isNumberOrNull(dev) || !isNumberOrNull(ino) || typeof head !== "string") return null;
  if (typeof headBytes !== "number" || !(headBytes >= 0 && headBytes <= HEAD_BYTES_MAX)) return null;
  return { dev, ino, head, headBytes };
}

function isNumberOrNull(value: Json | undefined): value is number | null {
  return value === null || typeof value === "number";
}
