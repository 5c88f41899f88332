/**
 * Reads the lines of a file or of stdin, with their numbers, where lines may be longer than records: a dead letter holds
 * a record as a JSON string, which takes six bytes for some single ones.
 *
 * Of a file it reads what was there when it was opened. `fencepost dead-letters replay d.ndjson | fencepost run
 * --dead-letters d.ndjson` would never end otherwise: what comes back is appended, and would be sent again.
 *
 * Not {@link NdjsonSource}, which cuts a line at the length of a record, and not file_lines.ts, which holds a line of any
 * length in memory.
 *
 * @module
 */
import { assert } from "../../lib/assert.ts";
import { isStdinFile, StdinFile } from "./stdin_file.ts";

/** A line is shorter than this: a record of 64 KiB that is written in escapes is 384 KiB. */
export const LINE_BYTES_MAX = 1 << 20;
const READ_BYTES = 1 << 16;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);

/** A line. */
export interface NumberedLine {
  /** 1-based, blank lines counted. */
  readonly number: number;
  /** Without its line end, valid until the next line is asked for; null where it is too long. */
  readonly bytes: Uint8Array | null;
}

/** What is read from. */
interface Input {
  readonly read: (room: Uint8Array<ArrayBuffer>) => Promise<number | null>;
  readonly close: () => void;
}

/** See the module's header. */
export class LineReader {
  /** The path, `-` for stdin. */
  readonly name: string;

  readonly #input: Input;
  /** Bytes of it that are still to be read. */
  #leftBytes: number;

  private constructor(name: string, input: Input, leftBytes: number) {
    this.name = name;
    this.#input = input;
    this.#leftBytes = leftBytes;
  }

  /**
   * Opens a file or pipe.
   *
   * @param path `-` for stdin
   * @throws {Error} where it can't be opened: the message says why, without the path
   */
  static async open(path: string): Promise<LineReader> {
    if (path === "-" && !isStdinFile()) {
      return new LineReader(path, { read: (room) => Deno.stdin.read(room), close: () => {} }, Infinity);
    }
    const file = path === "-" ? new StdinFile() : await openFile(path);
    try {
      const { isFile, size } = await file.stat();
      if (!isFile && await isDirectory(path)) throw new Error("it is a directory");
      const input = { read: (room: Uint8Array<ArrayBuffer>) => file.read(room), close: () => file.close() };
      return new LineReader(path, input, isFile ? size : Infinity);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The lines that are not blank. Can be had once. */
  async *lines(): AsyncGenerator<NumberedLine> {
    let buffer = new Uint8Array(READ_BYTES);
    let start = 0;
    let filled = 0;
    let number = 1;
    let tooLong = false;
    const take = (end: number): NumberedLine | null => {
      const bytes = tooLong ? null : trim(buffer.subarray(start, end), number);
      tooLong = false;
      const line = { number: number++, bytes };
      return bytes !== null && isBlank(bytes) ? null : line;
    };
    for (;;) {
      if (filled === buffer.length) {
        if (start > 0) {
          buffer.copyWithin(0, start, filled);
          filled -= start;
          start = 0;
        } else if (buffer.length < LINE_BYTES_MAX) {
          const larger = new Uint8Array(buffer.length * 2);
          larger.set(buffer);
          buffer = larger;
        } else {
          tooLong = true;
          filled = 0;
        }
      }
      const byteLength = await this.#read(buffer.subarray(filled));
      if (byteLength === null) break;
      let from = filled;
      filled += byteLength;
      const whole = buffer.subarray(0, filled);
      for (let end = whole.indexOf(LINE_FEED, from); end !== -1; end = whole.indexOf(LINE_FEED, from)) {
        const line = take(end);
        if (line !== null) yield line;
        start = from = end + 1;
      }
    }
    if (start === filled && !tooLong) return;
    const last = take(filled);
    if (last !== null) yield last;
  }

  close(): void {
    this.#input.close();
  }

  async #read(room: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#leftBytes === 0) return null;
    const byteLength = await this.#input.read(room.subarray(0, Math.min(room.length, this.#leftBytes)));
    assert(byteLength === null || byteLength <= this.#leftBytes, "no more is read than was asked for");
    if (byteLength !== null) this.#leftBytes -= byteLength;
    return byteLength;
  }
}

async function openFile(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { read: true });
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) throw new Error("there is no such file");
    if (cause instanceof Deno.errors.PermissionDenied) throw new Error("permission denied");
    throw cause;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return path !== "-" && (await Deno.stat(path)).isDirectory;
}

/** Without the carriage return of a CRLF, and the byte order mark of a file. */
function trim(line: Uint8Array, number: number): Uint8Array {
  const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
  const marked = number === 1 && BYTE_ORDER_MARK.every((byte, i) => line[i] === byte);
  return line.subarray(marked ? Math.min(BYTE_ORDER_MARK.length, end) : 0, end);
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09);
}
