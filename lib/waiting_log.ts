/**
 * The records that wait for the watermark, in the checkpoints: each stored once, and gone by itself.
 *
 * ```
 *   stream "waiting"   … 12:00:03..08  12:00:03..09  12:00:04..09 …     a chunk or more a checkpoint, with the records that
 *                      ◀─ dropped when the watermark has passed all      have come since the one before
 *   in the rest        what is held, what lies far ahead, and what is not enough for a chunk: all of it, each time
 * ```
 *
 * A record waits for `lateness`, some ten checkpoints long: stored with each of them, 100,000 records a second would be
 * 15 MB each time. Nothing says that one has been applied, since that follows from the watermark: a record that waits is
 * applied as the watermark passes it, so those of a chunk that are still to come are those behind the checkpoint's
 * watermark. The end of the input applies what is ahead of the watermark, too: then nothing waits, and the floor, an arrival
 * number, says that what came before it is gone.
 *
 * What is **held** goes when its group is taken, which no clock tells; it is little. What lies **far ahead**, of devices
 * whose clocks are, would keep its chunk for as long: it stays out of them.
 *
 * @module
 */
import {
  type CheckpointChunk,
  type Checksum,
  type ChunkRange,
  ChunkWriter,
  SECTION_WAITING,
  SECTION_WAITING_LOG,
} from "./chunk.ts";
import { ENTRY_BYTES, ReorderBuffer, type SavedEntry } from "./reorder.ts";

/** Name of the stream. */
export const WAITING_STREAM = "waiting";
/** Records with fewer bytes than these go with the rest, again each time, unless told otherwise. */
const BYTES_MIN = 32 << 10;
/** What lies ahead of the watermark by more than so many times `lateness` is far ahead: nothing does, with right clocks. */
const FAR_LATENESSES = 2;

/** Some chunks of the stream. */
interface WaitingChunks {
  /** Number of the chunk behind the last. */
  readonly end: number;
  /** When the watermark has passed this, all of them are applied, µs. */
  readonly lastUs: number;
}

/** A partition's part of the checkpoint that is being made. */
interface Part {
  readonly waiting: ReorderBuffer;
  /** What came from here on is behind the barrier. */
  readonly arrivals: number;
}

/** See the module's header. */
export class WaitingLog {
  readonly #checksum: Checksum;
  readonly #latenessUs: number;
  readonly #bytesMin: number;
  /** Of each partition: what came before this arrival number and waited is gone. */
  readonly #floors: number[];
  readonly #chunks: WaitingChunks[] = [];
  #start = 0;
  #end = 0;
  #writer: ChunkWriter | null = null;
  #parts: Part[] = [];
  #watermarkUs = -Infinity;
  #lastUs = -Infinity;

  /** Begins with nothing stored. */
  constructor(
    checksum: Checksum,
    options: { readonly partitions: number; readonly latenessUs: number; readonly bytesMin?: number },
  ) {
    this.#checksum = checksum;
    this.#bytesMin = options.bytesMin ?? BYTES_MIN;
    this.#latenessUs = options.latenessUs;
    this.#floors = new Array<number>(options.partitions).fill(0);
  }

  /** The chunks that the last checkpoint needs. */
  get range(): ChunkRange {
    return { stream: WAITING_STREAM, start: this.#start, end: this.#end };
  }

  /** Of each partition, for {@link restore}. */
  get floors(): readonly number[] {
    return [...this.#floors];
  }

  /** Goes on behind the chunks of a checkpoint that is restored. */
  restore({ start, end }: { readonly start: number; readonly end: number }, floors: readonly number[]): void {
    this.#start = start;
    this.#end = end;
    floors.forEach((floor, number) => this.#floors[number] = floor);
  }

  /** Takes note of a chunk that is restored, and of the last event time in it, µs. */
  restoreChunk(id: number, lastUs: number): void {
    this.#chunks.push({ end: id + 1, lastUs });
  }

  /**
   * Adds a partition that has met the barrier.
   *
   * @param rest takes what is stored each time
   */
  add(number: number, waiting: ReorderBuffer, watermarkUs: number, rest: ChunkWriter): void {
    this.#watermarkUs = watermarkUs;
    this.#parts[number] = { waiting, arrivals: waiting.arrivals };
    if (waiting.size === 0) this.#floors[number] = waiting.arrivals;
    const farUs = this.#farUs();
    const writer = this.#writer ??= new ChunkWriter(this.#checksum);
    let isBegun = false;
    let isRestBegun = false;
    for (const entry of waiting.unsaved()) {
      const timeUs = waiting.timeUs(entry);
      const isJournaled = !waiting.isHeld(entry) && timeUs <= farUs;
      if (isJournaled) {
        if (!isBegun) writer.begin(number, SECTION_WAITING_LOG);
        isBegun = true;
        this.#lastUs = Math.max(this.#lastUs, timeUs);
      } else {
        if (!isRestBegun) rest.begin(number, SECTION_WAITING);
        isRestBegun = true;
      }
      writeEntry(isJournaled ? writer : rest, waiting, entry);
    }
    if (isBegun) writer.end();
    if (isRestBegun) rest.end();
  }

  /** Ends the checkpoint that is being made; returns what is to go with the rest, as chunks. */
  finish(put: CheckpointChunk[], drop: ChunkRange[]): readonly Uint8Array[] {
    const writer = this.#writer ?? new ChunkWriter(this.#checksum);
    let unstored = writer.finish();
    if (writer.byteLength >= this.#bytesMin) {
      for (const bytes of unstored) put.push({ stream: WAITING_STREAM, id: this.#end++, bytes });
      unstored = [];
      this.#chunks.push({ end: this.#end, lastUs: this.#lastUs });
      const farUs = this.#farUs();
      for (const { waiting, arrivals } of this.#parts) waiting.saved(arrivals, farUs);
    }
    const kept = this.#chunks.findIndex(({ lastUs }) => lastUs > this.#watermarkUs);
    const passed = this.#chunks.splice(0, kept < 0 ? this.#chunks.length : kept).at(-1);
    if (passed !== undefined) {
      drop.push({ stream: WAITING_STREAM, start: this.#start, end: passed.end });
      this.#start = passed.end;
    }
    this.#writer = null;
    this.#parts = [];
    this.#lastUs = -Infinity;
    return unstored;
  }

  #farUs(): number {
    return this.#watermarkUs + FAR_LATENESSES * this.#latenessUs;
  }
}

/** Those of a journal's section that are still to be applied; and the last event time in it, µs. */
export function readWaitingLog(
  section: { readonly view: DataView; readonly start: number; readonly end: number },
  isWaiting: { readonly watermarkUs: number; readonly floor: number },
): { readonly entries: SavedEntry[]; readonly lastUs: number } {
  const entries: SavedEntry[] = [];
  let lastUs = -Infinity;
  for (const entry of ReorderBuffer.readImages(section.view, section.start, section.end)) {
    lastUs = Math.max(lastUs, entry.timeUs);
    if (entry.timeUs > isWaiting.watermarkUs && entry.arrival >= isWaiting.floor) entries.push(entry);
  }
  return { entries, lastUs };
}

function writeEntry(writer: ChunkWriter, waiting: ReorderBuffer, entry: number): void {
  const extras = waiting.extras(entry);
  writer.reserve(ENTRY_BYTES + (extras === undefined ? 0 : extras.seq.length + extras.attributes.length));
  writer.at = waiting.writeImage(writer.view, writer.at, entry);
}
