/**
 * The outbox of all webhooks: an append-only log of lines in segments, one a process.
 *
 * ```
 *   outbox/lock                     held by the process
 *   outbox/id                       made with the log: a position in another log is none in this one
 *   outbox/0000000000000000.log     named after the offset of its first byte; whole lines only
 *   outbox/0000000016777984.log     the last one is written to
 *   outbox/NAME.json                where each webhook is: see outbox_states.ts
 * ```
 *
 * Files of lines and not Deno KV: a trigger is written once and read once by each webhook, in order, which a file does
 * with one write and one `fdatasync` for thousands; a row each in KV takes 74,000 a second at best (DESIGN), needs packing
 * to do better and a delete later, and its file never gets smaller. Here space is given back by deleting a segment, and a
 * person can read what waits.
 *
 * Only what `sync` has made durable is read: a power cut must not take back what a webhook was told, since its place in the
 * log would go to other triggers. A write or sync that failed is final, as for a file (ndjson_sink.ts): the end is unknown.
 *
 * @module
 */
import { join } from "node:path";
import { assert } from "../../../lib/assert.ts";
import { endOfLastLine, readLines } from "../file_lines.ts";
import { StateLock } from "../state_lock.ts";
import { writeDurably } from "./durable_file.ts";

/** A segment that has as many bytes is not written to any more. */
export const SEGMENT_BYTES = 16 << 20;
const OFFSET_DIGITS = 16;
const SEGMENT_NAME = /^[0-9]{16}\.log$/;
const LINE_END = 0x0a;

interface Segment {
  readonly start: number;
  end: number;
}

/** Where it is. */
export interface OutboxLogOptions {
  readonly directory: string;
  readonly segmentBytes?: number;
}

/** See the module's header. */
export class OutboxLog {
  /** Told each time when more is durable, with its number of lines. */
  onGrown: (lines: number) => void = () => {};

  readonly id: string;
  readonly directory: string;
  readonly #lock: StateLock;
  readonly #segments: Segment[];
  readonly #segmentBytes: number;
  #file: Deno.FsFile;
  #durableEnd: number;
  #linesToCome = 0;
  #work: Promise<unknown> = Promise.resolve();
  #failure: Error | null = null;

  private constructor(opened: {
    id: string;
    lock: StateLock;
    segments: Segment[];
    file: Deno.FsFile;
    options: OutboxLogOptions;
  }) {
    this.id = opened.id;
    this.directory = opened.options.directory;
    this.#lock = opened.lock;
    this.#segments = opened.segments;
    this.#segmentBytes = opened.options.segmentBytes ?? SEGMENT_BYTES;
    this.#file = opened.file;
    this.#durableEnd = this.#last.end;
  }

  /**
   * Opens the log, or makes one; a torn last line is cut off.
   *
   * @throws {StateInUseError} where another process has it
   */
  static async open(options: OutboxLogOptions): Promise<OutboxLog> {
    const { directory } = options;
    await Deno.mkdir(directory, { recursive: true });
    const lock = await StateLock.take(directory);
    let file: Deno.FsFile | null = null;
    try {
      const segments = await segmentsOf(directory);
      // Without a segment offsets begin anew, and positions in the old log must not be taken for places in this one.
      const kept = segments.length === 0 ? null : await readId(directory);
      const id = kept ?? crypto.randomUUID();
      if (kept === null) await writeDurably(join(directory, "id"), new TextEncoder().encode(`${id}\n`));
      if (segments.length === 0) segments.push({ start: 0, end: 0 });
      const last = segments.at(-1) as Segment;
      file = await openSegment(directory, last);
      const whole = await endOfLastLine(file, { start: 0, end: last.end - last.start });
      if (whole < last.end - last.start) await file.truncate(whole);
      last.end = last.start + whole;
      // What a killed process wrote may be in memory only, and is taken to be durable from here on.
      await file.syncData();
      return new OutboxLog({ id, lock, segments, file, options });
    } catch (error) {
      file?.close();
      lock.close();
      throw error;
    }
  }

  /** The offset of the first line that is kept. */
  get start(): number {
    return (this.#segments[0] as Segment).start;
  }

  /** The offset behind the last line that is durable. */
  get end(): number {
    return this.#durableEnd;
  }

  get #last(): Segment {
    return this.#segments.at(-1) as Segment;
  }

  /** Adds whole lines. They are durable behind the next {@link sync}. */
  append(bytes: Uint8Array, count: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#last.end - this.#last.start >= this.#segmentBytes) await this.#roll();
      for (let written = 0; written < bytes.length;) {
        written += await this.#file.write(bytes.subarray(written));
      }
      this.#last.end += bytes.length;
      this.#linesToCome += count;
    });
  }

  /** Makes durable what was added; resolves with the offset behind it. */
  sync(): Promise<number> {
    return this.#inTurn(async () => {
      await this.#makeDurable();
      return this.#durableEnd;
    });
  }

  /** Bytes from an offset on, at most as many; none where the durable end is. They don't cross a segment's end. */
  async read(offset: number, byteLengthMax: number): Promise<Uint8Array> {
    const segment = this.#segmentAt(offset);
    const end = Math.min(segment?.end ?? 0, this.#durableEnd);
    if (segment === null || offset >= end) return new Uint8Array(0);
    using file = await Deno.open(this.#path(segment), { read: true });
    await file.seek(offset - segment.start, Deno.SeekMode.Start);
    const bytes = new Uint8Array(Math.min(byteLengthMax, end - offset));
    for (let filled = 0; filled < bytes.length;) {
      const byteLength = await file.read(bytes.subarray(filled));
      if (byteLength === null) {
        throw new Error(`Cannot read the outbox in ${this.directory}: a segment became shorter`);
      }
      filled += byteLength;
    }
    return bytes;
  }

  /** The first offset at or behind this one that is kept: segments in between may be gone. */
  keptFrom(offset: number): number {
    for (const { start, end } of this.#segments) if (offset < end) return Math.max(start, offset);
    return this.#durableEnd;
  }

  /** The durable lines from an offset on, without their `\n`. */
  async *lines(from: number): AsyncGenerator<Uint8Array> {
    const end = this.#durableEnd;
    for (const segment of [...this.#segments]) {
      const start = Math.max(from, segment.start) - segment.start;
      const part = { start, end: Math.min(segment.end, end) - segment.start };
      if (part.start < part.end) yield* readLines({ path: this.#path(segment), ...part });
    }
  }

  /** How many lines there are from an offset on. */
  async countLines(from: number): Promise<number> {
    let count = 0;
    for (let offset = this.keptFrom(from); offset < this.#durableEnd;) {
      const bytes = await this.read(offset, 1 << 20);
      for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) count++;
      offset = this.keptFrom(offset + bytes.length);
    }
    return count;
  }

  /** Deletes the segments that nobody needs; never the one that is written to. */
  async drop(
    isNeeded: (segment: { readonly start: number; readonly end: number }) => boolean,
  ): Promise<void> {
    for (const segment of this.#segments.slice(0, -1)) {
      if (isNeeded(segment)) continue;
      this.#segments.splice(this.#segments.indexOf(segment), 1);
      await Deno.remove(this.#path(segment));
    }
  }

  async close(): Promise<void> {
    this.#failure ??= new Error(`The outbox in ${this.directory} is closed`);
    await this.#work.catch(() => {});
    this.#file.close();
    this.#lock.close();
  }

  async #makeDurable(): Promise<void> {
    if (this.#durableEnd === this.#last.end) return;
    await this.#file.syncData();
    this.#durableEnd = this.#last.end;
    const lines = this.#linesToCome;
    this.#linesToCome = 0;
    this.onGrown(lines);
  }

  async #roll(): Promise<void> {
    await this.#makeDurable();
    const segment = { start: this.#last.end, end: this.#last.end };
    const file = await openSegment(this.directory, segment);
    this.#file.close();
    this.#file = file;
    this.#segments.push(segment);
  }

  /** One after the other; nothing more after a failure. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#work.then(async () => {
      if (this.#failure !== null) throw this.#failure;
      try {
        return await work();
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        this.#failure = new Error(`Cannot write to the outbox in ${this.directory}: ${reason}`, { cause });
        throw this.#failure;
      }
    });
    this.#work = turn.catch(() => {});
    return turn;
  }

  #segmentAt(offset: number): Segment | null {
    const segment = this.#segments.findLast(({ start }) => start <= offset);
    assert(segment === undefined || segment.start <= offset, "a segment begins before what it holds");
    return segment ?? null;
  }

  #path(segment: Segment): string {
    return pathOf(this.directory, segment);
  }
}

function pathOf(directory: string, { start }: Segment): string {
  return join(directory, `${String(start).padStart(OFFSET_DIGITS, "0")}.log`);
}

async function segmentsOf(directory: string): Promise<Segment[]> {
  const segments: Segment[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (!isFile || !SEGMENT_NAME.test(name)) continue;
    const start = Number(name.slice(0, OFFSET_DIGITS));
    segments.push({ start, end: start + (await Deno.stat(join(directory, name))).size });
  }
  return segments.sort((a, b) => a.start - b.start);
}

/** Opens a segment to be written to; a new one has its name on the disk when this resolves. */
async function openSegment(directory: string, segment: Segment): Promise<Deno.FsFile> {
  const file = await Deno.open(pathOf(directory, segment), { read: true, append: true, create: true });
  if (segment.start === segment.end && Deno.build.os !== "windows") {
    using opened = await Deno.open(directory, { read: true });
    await opened.sync();
  }
  return file;
}

async function readId(directory: string): Promise<string | null> {
  try {
    return (await Deno.readTextFile(join(directory, "id"))).trim() || null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
