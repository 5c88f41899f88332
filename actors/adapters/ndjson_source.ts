/**
 * Records from a file or a pipe, one JSON object a line.
 *
 * | | regular file, by path or as stdin | pipe, FIFO, terminal |
 * |---|---|---|
 * | after a crash | is read again from the checkpoint's position | what was read is gone |
 * | position | `{"offset","line","identity"}` | `{"offset","line"}`, counted from the start of the process |
 * | `live` | means nothing: a file has an end | its watermark may follow the wall clock |
 * | caught up | at its end | while a read waits for the writer |
 * | last line without its line end | left unread under `hold`, else a record | a record: nobody can complete it |
 *
 * **A read outlives its abort.** The operating system can't take a read back, and bytes that it delivers after the abort
 * would be lost; so the read stays, and the next call goes on waiting for it. Deno 2.4 can't cancel it on `close` either,
 * and a pending read keeps the process alive until the writer closes the pipe: there, whoever stops while a pipe is idle
 * ends by `Deno.exit`. Nor does it open a FIFO beside other work: until somebody writes to that, the process stands still.
 *
 * `caughtUp` of a pipe does not ask whether the last read was short: a pipe holds 64 KiB, so every read is short, however
 * far ahead the writer is.
 *
 * @module
 */
import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { assert } from "../../lib/assert.ts";
import type { Json } from "../../lib/json.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import type { Source } from "../ports.ts";
import { FileHead } from "./file_identity.ts";
import { type FilePosition, parseFilePosition } from "./file_position.ts";
import { LineSplitter, type SplitLines } from "./line_splitter.ts";
import { isStdinFile, type SeekableFile, StdinFile } from "./stdin_file.ts";

/** Bytes of a read at most. A batch is what one read completes, and a checkpoint waits for the end of a batch. */
const READ_BYTES_MAX = 1 << 20;

/** How to read. */
export interface NdjsonSourceOptions {
  /** A file's path, or `-` for stdin. */
  readonly path: string;
  /** Whether the wall clock may move the watermark on, where the path turns out to be a pipe. */
  readonly live: boolean;
  /** Whether to read a file again from its beginning, whatever the checkpoint says. Holds for the first `open` only. */
  readonly fromStart: boolean;
  /** What becomes of a file's last line without its line end. */
  readonly atEof: "flush" | "hold";
  /** Bytes of a read at most: 1 MiB where not given. */
  readonly readBytes?: number;
  /** Told things that an operator should know. */
  readonly onNotice?: (message: string) => void;
}

/** What is open. */
interface Opened {
  readonly read: (room: Uint8Array<ArrayBuffer>) => Promise<number | null>;
  readonly splitter: LineSplitter;
  /** Null of a pipe. */
  readonly head: FileHead | null;
}

/** See the module's header. */
export class NdjsonSource implements Source {
  readonly kind = "ndjson";
  readonly name: string;
  readonly rereadable: boolean;
  readonly live: boolean;
  readonly keepsUnread = false;

  readonly #options: NdjsonSourceOptions;
  #fromStart: boolean;
  #file: SeekableFile | null = null;
  #opened: Opened | null = null;
  /** The operating system's read that nobody has taken the result of yet. */
  #pending: Promise<number | null> | null = null;
  /** Where the next read begins in the source; an overlong line's offset says less. */
  #readOffset = 0;
  #ended = false;

  /** Looks at once whether the path is a pipe. One that does not exist is taken for a file, and `open` refuses it. */
  constructor(options: NdjsonSourceOptions) {
    this.#options = options;
    this.#fromStart = options.fromStart;
    this.name = options.path;
    this.rereadable = options.path === "-" ? isStdinFile() : !isPipe(options.path);
    this.live = options.live && !this.rereadable;
  }

  /**
   * Opens the file or pipe. A FIFO waits here until somebody opens it for writing.
   *
   * @throws {Error} where it can't be read, is shorter than the position, or is the same file with another beginning
   */
  async open(position: Json | null): Promise<"resumed" | "started"> {
    this.close();
    const hash = await xxhash();
    if (!this.rereadable) {
      if (this.name !== "-") this.#file = await this.#openFile(this.name);
      const input = this.#file ?? Deno.stdin;
      this.#start({ read: (room) => input.read(room), head: null, at: { offset: 0, line: 0 }, hash });
      return "started";
    }
    const file = this.name === "-" ? new StdinFile() : await this.#openFile(this.name);
    this.#file = file;
    try {
      const stat = await file.stat();
      if (!stat.isFile) throw new Error(`Cannot read records from ${this.#described()}: it is not a file`);
      const head = new FileHead(stat, (bytes) => hash.h64Raw(bytes));
      await head.read(file);
      const at = this.#whereToBegin(position, { head, size: stat.size });
      await file.seek(at?.offset ?? 0, Deno.SeekMode.Start);
      this.#start({ read: (room) => file.read(room), head, at: at ?? { offset: 0, line: 0 }, hash });
      return at === null ? "started" : "resumed";
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async read(signal: AbortSignal): Promise<RecordBatch | null> {
    const opened = this.#opened;
    assert(opened !== null, "a source is opened before it is read");
    const { splitter, head } = opened;
    for (;;) {
      signal.throwIfAborted();
      if (this.#ended) return null;
      this.#pending ??= this.#readOn(opened);
      const byteLength = await untilAborted(this.#pending, signal);
      this.#pending = null;
      if (byteLength === null) {
        if (head !== null) await this.#refuseShorter();
        this.#ended = true;
        const held = head !== null && this.#options.atEof === "hold";
        const last = held ? null : splitter.finish();
        return last === null ? null : this.#toBatch(last, opened);
      }
      head?.learn(splitter.room().subarray(0, byteLength), this.#readOffset);
      this.#readOffset += byteLength;
      const lines = splitter.take(byteLength);
      if (lines !== null) return this.#toBatch(lines, opened);
    }
  }

  /** The end of a file that is cut short while it is read is not its end: it must not count as complete. */
  async #refuseShorter(): Promise<void> {
    if (this.#file === null) return;
    const { size } = await this.#file.stat();
    if (size >= this.#readOffset) return;
    throw this.#refusal(
      `it became shorter while it was read (${size} bytes, ${this.#readOffset} have been read)`,
    );
  }

  placeOf(offset: number, line: number): Json {
    return { offset, line };
  }

  release(): void {
    this.#opened?.splitter.release();
  }

  caughtUp(): boolean {
    return this.#ended || (!this.rereadable && this.#pending !== null);
  }

  /** A file remembers nothing of its readers. */
  acknowledge(_position: Json): Promise<void> {
    return Promise.resolve();
  }

  /** Closes what is open; stdin where a read of it is pending, so that the read ends if it can. A pipe opens only once. */
  close(): void {
    if (this.#file !== null) this.#file.close();
    else if (this.#pending !== null) Deno.stdin.close();
    this.#file = null;
    this.#opened = null;
    this.#pending = null;
    this.#ended = false;
  }

  async #openFile(path: string): Promise<Deno.FsFile> {
    try {
      return await Deno.open(path, { read: true });
    } catch (cause) {
      // The cause would say it again.
      if (cause instanceof Deno.errors.NotFound) {
        throw noSuchFile(path);
      }
      throw new Error(`Cannot read records from ${this.#described()}: ${reasonOf(cause)}`, { cause });
    }
  }

  #start(
    { at, hash, ...rest }: Omit<Opened, "splitter"> & {
      readonly at: { readonly offset: number; readonly line: number };
      readonly hash: XXHashAPI;
    },
  ): void {
    const readBytes = this.#options.readBytes ?? READ_BYTES_MAX;
    const createHash = (): ReturnType<XXHashAPI["create64"]> => hash.create64();
    const splitter = new LineSplitter({ offset: at.offset, line: at.line, readBytes, createHash });
    this.#readOffset = at.offset;
    this.#opened = { ...rest, splitter };
  }

  /** The checkpoint's position, or null for the beginning. */
  #whereToBegin(json: Json | null, file: { head: FileHead; size: number }): FilePosition | null {
    const fromStart = this.#fromStart;
    this.#fromStart = false;
    if (json === null || fromStart) return null;
    const position = parseFilePosition(json);
    const { identity } = position;
    if (identity === null) {
      this.#notice("was read from a pipe before: it is read from its beginning, over what is known");
      return null;
    }
    const comparison = file.head.compare(identity);
    if (comparison === "another") {
      this.#notice(
        "is another file than the one read before: it is read from its beginning, over what is known",
      );
      return null;
    }
    if (file.size < position.offset) {
      throw this.#refusal(
        `it is shorter than what was read of it (${file.size} bytes, the checkpoint is at ${position.offset})`,
      );
    }
    if (comparison === "changed") throw this.#refusal("its beginning is not what was read of it");
    return position;
  }

  async #readOn({ read, splitter }: Opened): Promise<number | null> {
    try {
      return await read(splitter.room());
    } catch (cause) {
      throw new Error(`Cannot read records from ${this.#described()}: ${reasonOf(cause)}`, { cause });
    }
  }

  #toBatch(lines: SplitLines, { splitter, head }: Opened): RecordBatch {
    const { offset, line } = splitter;
    const position = head === null ? { offset, line } : { offset, line, identity: head.identity(offset) };
    return { ...lines, ingestTimesUs: null, position };
  }

  #refusal(reason: string): Error {
    return new Error(
      `Cannot go on reading ${this.#described()}: ${reason}. ` +
        `Put the file back, or read this one from its beginning with --from-start`,
    );
  }

  #notice(message: string): void {
    this.#options.onNotice?.(`${this.#described()} ${message}`);
  }

  #described(): string {
    return this.name === "-" ? "stdin" : this.name;
  }
}

/**
 * Looks whether a file is there, before anything is made for it.
 *
 * @param path `-` for stdin, which is
 * @throws {Error} where it is not
 */
export async function refuseMissingFile(path: string): Promise<void> {
  if (path === "-") return;
  try {
    await Deno.stat(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) throw noSuchFile(path);
    // What else is wrong with it is said by whoever opens it.
  }
}

function noSuchFile(path: string): Error {
  return new Error(`Cannot read records from ${path}: there is no such file`);
}

function isPipe(path: string): boolean {
  try {
    const { isFile, isDirectory } = Deno.statSync(path);
    return !isFile && !isDirectory;
  } catch {
    return false;
  }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Deno.errors.PermissionDenied) return "permission denied";
  return cause instanceof Error ? cause.message : String(cause);
}

/** Resolves as the read does, or rejects as soon as the signal is aborted; the read goes on. */
function untilAborted<T>(read: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const settle = (): void => signal.removeEventListener("abort", onAbort);
    read.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
  });
}
