/**
 * Lines out: triggers to one file, dead letters to another, or to a pipe.
 *
 * ```
 *   file   | known to the checkpoint | whole lines since | torn line
 *                                    ^ position.bytes    ^ cut here when it is opened with a position
 * ```
 *
 * Bytes behind the checkpoint's position were written by a process that died before its next checkpoint. The whole
 * lines of them have been seen by consumers and stay: `readBack` tells them, so that they are not written twice. A torn
 * last line is cut, since its trigger will come again. Without a position nothing is known of the file, and nothing cut.
 *
 * A file has taken a line when `fdatasync` returned, so `flush` is what a checkpoint waits for. The directory is synced
 * too where the file is new: a checkpoint that outlived its output's name would refuse to go on.
 *
 * An output that somebody deletes or cuts short while it is written would go on taking lines that nobody will see. So a
 * `flush` looks whether it is all there before a checkpoint counts on it.
 *
 * Two runs with states of their own on one file would each take the other's lines for its own, and cut them off. So the
 * second is refused by a lock on the file, which nobody who reads it meets. (On Windows a lock would keep readers out.)
 * Whoever has it may be about to let go: a member of the group that stands still, or our own last sync. So a partition's
 * file is tried again.
 *
 * A write or sync that failed is final for this sink: how much of it arrived is unknown, and a later `fdatasync` that
 * succeeds says nothing of pages that an earlier one dropped. Opened again, the torn end is cut.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { assert } from "../../lib/assert.ts";
import type { Json } from "../../lib/json.ts";
import { type LineBatch, type Sink, UnavailableError } from "../ports.ts";
import { endOfLastLine, readLines } from "./file_lines.ts";
import { tryLock } from "./file_lock.ts";

const LINE_END = Uint8Array.of(0x0a);

/** Bytes in one call: of larger ones some kernels make larger pages, at a price. */
const WRITE_BYTES_MAX = 1 << 19;

/** Nobody reads the output any more: the end of a run, but no reason for a stack trace. */
export class ClosedPipeError extends Error {
  override readonly name = "ClosedPipeError";
}

/** Where to write. */
export interface NdjsonSinkOptions {
  /** A file's path, or `-` for stdout. */
  readonly path: string;
  /** Told things that an operator should know. */
  readonly onNotice?: (message: string) => void;
}

/** A position, checked. */
type Position = { readonly path: string; readonly bytes: number };

/** A run of bytes of a file. */
interface Tail {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** See the module's header. */
export class NdjsonSink implements Sink {
  readonly name: string;
  /** True of a file; a pipe, terminal or other device can't be read back. */
  readonly readable: boolean;

  readonly #options: NdjsonSinkOptions;
  #file: Deno.FsFile | null = null;
  #isOpen = false;
  #bytes = 0;
  /** Whether anything may be in the file that no `fdatasync` has covered. */
  #unsynced = false;
  #tail: Tail | null = null;
  #failure: Error | null = null;

  /** Looks at once whether the path is a file. One that does not exist is going to be one. */
  constructor(options: NdjsonSinkOptions) {
    this.#options = options;
    this.name = options.path;
    this.readable = options.path !== "-" && !isDevice(options.path);
  }

  async open(position: Json | null): Promise<void> {
    this.close();
    const known = position === null ? null : parsePosition(position);
    this.#failure = null;
    this.#bytes = 0;
    this.#tail = null;
    try {
      if (!this.readable) await this.#openDevice(known);
      else await this.#openFile(known);
      this.#isOpen = true;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    const tail = this.#tail;
    if (tail === null || tail.start === tail.end) return;
    try {
      yield* readLines(tail);
    } catch (cause) {
      throw new Error(`Cannot read ${tail.path} back: ${reasonOf(cause)}`, { cause });
    }
  }

  async write(lines: LineBatch): Promise<void> {
    await this.#writeAll(lines.bytes.subarray(0, lines.byteLength));
  }

  async flush(): Promise<Json> {
    this.#assertUsable();
    if (this.#file !== null && this.readable && this.#unsynced) {
      this.#unsynced = false;
      try {
        await this.#file.syncData();
        await this.#assertThere(this.#file);
      } catch (cause) {
        throw this.#fail(cause);
      }
    }
    return { path: this.name, bytes: this.#bytes };
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
    this.#isOpen = false;
  }

  async #openDevice(known: Position | null): Promise<void> {
    if (known !== null && !this.#isSamePath(known.path)) this.#noticeMove(known.path);
    if (this.name === "-") return;
    try {
      this.#file = await Deno.open(this.name, { write: true });
    } catch (cause) {
      throw this.#cannotWrite(cause);
    }
  }

  async #openFile(known: Position | null): Promise<void> {
    const same = known !== null && this.#isSamePath(known.path);
    // Looked at first: a file that is missing must not come into being, empty, before it is refused.
    const size = await sizeOf(this.name);
    if (same && (size ?? 0) < known.bytes) throw this.#tooShort(size, known.bytes);
    if (known !== null && !same) {
      this.#noticeMove(known.path);
      this.#tail = await oldTail(known);
    }
    try {
      this.#file = await this.#openOrCreate(size === null);
      if (await isLockedByAnother(this.#file)) {
        throw new UnavailableError("another run is writing to it: stop that one first, or give another file");
      }
      await this.#tidy(this.#file, same ? known.bytes : null);
    } catch (cause) {
      throw this.#cannotWrite(cause);
    }
  }

  async #openOrCreate(isNew: boolean): Promise<Deno.FsFile> {
    const directory = dirname(resolve(this.name));
    if (isNew) await Deno.mkdir(directory, { recursive: true });
    const file = await Deno.open(this.name, { read: true, append: true, create: true });
    if (isNew) await syncDirectory(directory);
    return file;
  }

  /** Makes the file end with a whole line, and learns how long it is. */
  async #tidy(file: Deno.FsFile, knownBytes: number | null): Promise<void> {
    const { size } = await file.stat();
    // Where nothing may be cut, only the last byte is of interest.
    const whole = await endOfLastLine(file, { start: knownBytes ?? Math.max(0, size - 1), end: size });
    this.#bytes = size;
    // What a killed process wrote may be in memory only, and the next position counts it.
    this.#unsynced = size > 0;
    if (knownBytes !== null) {
      if (whole < size) await file.truncate(whole);
      this.#bytes = whole;
      this.#tail = { path: this.name, start: knownBytes, end: whole };
    } else if (whole < size) {
      await this.#writeAll(LINE_END, file);
    }
  }

  async #writeAll(bytes: Uint8Array, file: Deno.FsFile | null = this.#usable()): Promise<void> {
    const output = file ?? Deno.stdout;
    for (let written = 0; written < bytes.length;) {
      this.#unsynced = true;
      try {
        const byteLength = await output.write(bytes.subarray(written, written + WRITE_BYTES_MAX));
        if (byteLength === 0) throw new Error("nothing more was taken");
        written += byteLength;
        this.#bytes += byteLength;
      } catch (cause) {
        throw this.#fail(cause);
      }
    }
  }

  async #assertThere(file: Deno.FsFile): Promise<void> {
    const { size, nlink } = await file.stat();
    if (nlink === 0) throw new Error("it was deleted while it was written");
    if (size >= this.#bytes) return;
    throw new Error(`it became shorter while it was written (${size} bytes of ${this.#bytes} are left)`);
  }

  #usable(): Deno.FsFile | null {
    this.#assertUsable();
    return this.#file;
  }

  #assertUsable(): void {
    if (this.#failure !== null) throw this.#failure;
    assert(this.#isOpen, "a sink is opened before it is written to");
  }

  #fail(cause: unknown): Error {
    const closed = cause instanceof Deno.errors.BrokenPipe;
    this.#failure = closed
      ? new ClosedPipeError(`Cannot write to ${this.#described()}: nobody reads it any more`, { cause })
      : this.#cannotWrite(cause);
    return this.#failure;
  }

  #cannotWrite(cause: unknown): Error {
    if (cause === this.#failure && cause instanceof Error) return cause;
    const Kind = cause instanceof UnavailableError ? UnavailableError : Error;
    return new Kind(`Cannot write to ${this.#described()}: ${reasonOf(cause)}`, { cause });
  }

  #tooShort(size: number | null, knownBytes: number): Error {
    const found = size === null ? "it is missing" : `it has ${size} bytes`;
    return new Error(
      `Cannot go on writing to ${this.name}: it is shorter than the checkpoint knows (${found}, the checkpoint knows ` +
        `${knownBytes}). Put the file back, give another output, or move the state away to begin afresh`,
    );
  }

  #noticeMove(from: string): void {
    const old = from === "-" ? "stdout" : from;
    this.#options.onNotice?.(`The output was ${old} before; from here on it is ${this.#described()}`);
  }

  #isSamePath(path: string): boolean {
    return path === this.name || (path !== "-" && this.name !== "-" && resolve(path) === resolve(this.name));
  }

  #described(): string {
    return this.name === "-" ? "stdout" : this.name;
  }
}

/** The whole lines that the former output holds behind a position; null where it can't be read back. */
async function oldTail({ path, bytes }: Position): Promise<Tail | null> {
  if (path === "-" || isDevice(path)) return null;
  try {
    using file = await Deno.open(path, { read: true });
    const { size } = await file.stat();
    if (size < bytes) return null;
    return { path, start: bytes, end: await endOfLastLine(file, { start: bytes, end: size }) };
  } catch {
    // It is gone, or not ours to read: then what is behind the checkpoint is written again, with the same ids.
    return null;
  }
}

/** Bytes of a file; null where there is none. */
async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new Error(`Cannot write to ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

async function isLockedByAnother(file: Deno.FsFile): Promise<boolean> {
  if (Deno.build.os === "windows") return false;
  try {
    return !await tryLock(file);
  } catch {
    // Some network file systems have no locks; then nobody can tell.
    return false;
  }
}

function isDevice(path: string): boolean {
  try {
    const { isFile, isDirectory } = Deno.statSync(path);
    return !isFile && !isDirectory;
  } catch {
    return false;
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows can't open a directory, and needs no sync of one.
  if (Deno.build.os === "windows") return;
  using directory = await Deno.open(path, { read: true });
  await directory.sync();
}

/** @throws {Error} where it is no position of an output */
function parsePosition(json: Json): Position {
  if (typeof json === "object" && json !== null && "path" in json && "bytes" in json) {
    const { path, bytes } = json;
    if (typeof path === "string" && typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0) {
      return { path, bytes };
    }
  }
  throw new Error(
    `Cannot go on writing: the checkpoint's position is none of an output, got ${JSON.stringify(json)}`,
  );
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (cause instanceof Error && cause.message.startsWith("No space left")) return "the disk is full";
  return cause instanceof Error ? cause.message : String(cause);
}
