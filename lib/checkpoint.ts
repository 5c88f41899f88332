/**
 * A split's checkpoints: which parts of the state go into which chunks, and how they become a state again.
 *
 * ```
 *   stream "pairs"    journal of changed rows, and between them slices of all rows:   … j j j s j s j s j …
 *                     a slice goes with each checkpoint, so that no moment pays for a whole snapshot; when the slices have
 *                     gone round once, everything before the round began is no longer needed
 *   stream "window"   the new ids of all partitions, once there are enough of them for a chunk; dropped when all of a
 *                     checkpoint's have left their windows
 *   stream "waiting"  what waits, each record once; dropped when the watermark has passed it
 *   stream "told"     what a crashed process told: whole, and then what has changed of it
 *   stream "rest"     what was not enough for a stream, what is held, counters, rules: all of it, each time
 *   manifest          ranges of the streams, clocks, position in the source, lengths of the outputs
 * ```
 *
 * A record costs some 35 bytes of pairs and 24 of ids. A round begins when the journal is longer than the rows themselves
 * and than 16 MiB, so no more than that is read back besides.
 *
 * @module
 */
import {
  type CheckpointChunk,
  type CheckpointCommit,
  type Checksum,
  CHUNK_BYTES_MAX,
  type ChunkRange,
  ChunkWriter,
  DamagedCheckpointError,
  readChunk,
  sealJson,
  type Section,
  SECTION_META,
  SECTION_PAIRS,
  SECTION_TOLD,
  SECTION_WAITING,
  SECTION_WAITING_LOG,
  SECTION_WINDOW,
  unsealJson,
} from "./chunk.ts";
import { ChunkSum } from "./chunk_sum.ts";
import type { DwellRule } from "./config.ts";
import { Counters } from "./counters.ts";
import { WINDOW_IMAGE_HEADER_BYTES, WINDOW_ROW_BYTES } from "./dedup_window.ts";
import { FenceRules } from "./fence_rules.ts";
import type { Json } from "./json.ts";
import { FLAGS, IMAGE_BYTES_MAX, LIVE, type PairTable } from "./pair_table.ts";
import { pairHash, type Partition } from "./partition.ts";
import { murmur2 } from "./murmur2.ts";
import { ReorderBuffer, type SavedEntry } from "./reorder.ts";
import { restoreTold, TOLD, ToldLog } from "./told_log.ts";
import { readWaitingLog, WAITING_STREAM, WaitingLog } from "./waiting_log.ts";

const PAIRS = "pairs";
const REST = "rest";
const WINDOW = "window";
/** New ids with fewer bytes than these go with the rest, again each time. */
const WINDOW_BYTES_MIN = 32 << 10;
/** Ids in one section. */
const WINDOW_SECTION_ROWS = 512;

/** A round of slices begins when the journal is longer than this, and than the rows. */
export const JOURNAL_BYTES_MIN: number = 16 << 20;
const JOURNAL_CHUNKS_MIN = 256;
/** A slice is at least this many bytes, and at least as much as the journal that goes with it. */
export const SLICE_BYTES_MIN: number = 64 << 10;
/** What a row is taken for in that. */
export const ROW_RECKONED_BYTES = 80;

/** What a state was written with; another configuration can't read it. */
export interface StateIdentity {
  /** Width of a bucket, µs. */
  readonly bucketUs: number;
  /** Width of the guard at a bucket's edges, µs. */
  readonly guardUs: number;
  /** How many partitions share the devices. */
  readonly partitions: number;
  /** Kind of the source: its positions mean nothing to another. */
  readonly sourceKind: string;
  /** The consumer group that reads the source; none where there is none, nor in a state of before it was kept. */
  readonly group?: string;
}

/** The part of a checkpoint that belongs to the split and not to a partition. */
export interface SplitState {
  /** As `SplitClock.state` gives it. */
  readonly clock: Json;
  /** The watermark at the checkpoint's barrier, µs; null before the first record. */
  readonly watermarkUs: number | null;
  /** The clock that ids expire by, µs; null before the first record. */
  readonly dedupClockUs: number | null;
  /** Position in the source. */
  readonly position: Json;
  /** Positions of the outputs. */
  readonly sink: Json;
  /** Position of the dead letters, as their sink gives it. */
  readonly deadLetters: Json;
  /** Counts of the split's own. */
  readonly counts: { readonly [name: string]: number };
  /**
   * Dead letters that were written and whose records are still to be read again: offset and reason; of a crossing
   * within a message offset, slash and the crossing's number.
   */
  readonly knownDeadLetters: readonly (readonly [number | string, string])[];
}

/** Some chunks of a stream, by their numbers. */
export interface Range {
  /** The first one. */
  start: number;
  /** The one behind the last. */
  end: number;
}

/** What {@link CheckpointLog.readManifest} gives: which chunks make up a checkpoint. */
export interface Manifest {
  /** What the state was written with. */
  readonly identity: StateIdentity;
  /** As {@link SplitState.watermarkUs}. */
  readonly watermarkUs: number | null;
  /** Of the checkpoint: each is one more than the last. */
  readonly number: number;
  /** Chunks of the pairs' stream that are needed. */
  readonly pairs: Range;
  /** Chunks of the windows' stream that are needed. */
  readonly window: Range;
  /** Chunks of what waits that are needed. */
  readonly waiting: Range;
  /** Of each partition: what waited and came before this arrival number is gone. */
  readonly waitingFloors: readonly number[];
  /** Chunks of the ledgers' stream that are needed. */
  readonly told: Range;
  /** Chunks of the stream with the rest: only the last checkpoint's. */
  readonly rest: Range;
  /** Of each partition's window: the numbers of its oldest and of its next id. */
  readonly windows: readonly (readonly [number, number])[];
  /** As {@link ChunkSum} gives it, of all these chunks; none in a state of before it was kept. */
  readonly sum?: string;
  /** Of each partition: how many rows its pairs have; none in a state of before it was kept. */
  readonly rows?: readonly number[];
}

interface Meta {
  readonly split: SplitState;
  readonly counters: Record<string, number>;
  readonly rules: readonly DwellRule[];
}

/** Some chunks of the windows' stream. */
interface WindowChunks {
  /** Number of the chunk behind the last. */
  readonly end: number;
  /** Up to which number the ids of each partition are stored with these chunks and those before them. */
  readonly tails: readonly number[];
}

/** What the checkpoints of a split depend on besides what they hold. */
export interface CheckpointOptions {
  /** Stored with them: what was told is known by its threshold. */
  readonly rules: readonly DwellRule[];
  /** What lies further ahead than that of what is yet to come is unusual, µs. */
  readonly latenessUs: number;
  /** From how many bytes on what waits is stored once, and not with each checkpoint; for tests. */
  readonly waitingBytesMin?: number;
}

/** Plans the checkpoints of one split, one after the other. */
export class CheckpointLog {
  readonly #checksum: Checksum;
  readonly #identity: StateIdentity;
  readonly #rules: readonly DwellRule[];
  /** Numbers of the oldest and the next id of each partition's window, as of the last barrier. */
  readonly #windows: [head: number, tail: number][];
  /** Up to where each is in the windows' stream. */
  #windowTails: readonly number[];
  /** What is in that stream, the oldest first. */
  readonly #windowChunks: WindowChunks[] = [];
  #number = 0;
  #pairs: Range = { start: 0, end: 0 };
  #window: Range = { start: 0, end: 0 };
  #rest: Range = { start: 0, end: 0 };
  /** Since the round before the current one began. */
  #journalBytes = 0;
  #round: { readonly start: number; readonly cursors: number[] } | null = null;

  #writer: ChunkWriter | null = null;
  #windowWriter: ChunkWriter | null = null;
  /** Of the partitions that are being taken: what of them has changed, and where to go on. */
  readonly #taking: ({ readonly rows: Int32Array; next: number } | undefined)[] = [];
  #restWriter: ChunkWriter | null = null;
  readonly #told: ToldLog;
  readonly #waiting: WaitingLog;
  #counters = new Counters();
  #liveBytes = 0;
  #sum: ChunkSum;
  /** Of each partition that was added to the checkpoint that is being made. */
  readonly #rows: number[];

  /** Begins at checkpoint 0; {@link CheckpointLog.restore} goes on from another. */
  constructor(
    checksum: Checksum,
    identity: StateIdentity,
    { rules, latenessUs, waitingBytesMin }: CheckpointOptions,
  ) {
    this.#checksum = checksum;
    this.#sum = new ChunkSum(checksum);
    this.#rows = new Array<number>(identity.partitions).fill(0);
    this.#told = new ToldLog(checksum);
    this.#waiting = new WaitingLog(checksum, {
      partitions: identity.partitions,
      latenessUs,
      ...(waitingBytesMin === undefined ? {} : { bytesMin: waitingBytesMin }),
    });
    this.#identity = identity;
    this.#rules = rules;
    this.#windowTails = new Array<number>(identity.partitions).fill(0);
    this.#windows = this.#windowTails.map(() => [0, 0]);
  }

  /** How many checkpoints there have been. */
  get number(): number {
    return this.#number;
  }

  /**
   * Adds a partition that has met the barrier to the checkpoint that is being made: takes its changes, or as many of them
   * as one step may take. The partition must not change until all are taken.
   *
   * @param dedupClockUs the split's, at the barrier: a partition without records must let its ids go all the same
   * @param rowsMax changed pairs to be taken at most
   * @returns whether all of it is taken
   */
  addPartition(number: number, partition: Partition, dedupClockUs: number, rowsMax = Infinity): boolean {
    const writer = this.#writer ??= new ChunkWriter(this.#checksum);
    const before = writer.byteLength + writer.at;
    writer.begin(number, SECTION_PAIRS);
    const pairs = partition.pairs;
    const taking = this.#taking[number] ??= { rows: pairs.takeDirty(), next: 0 };
    const end = Math.min(taking.rows.length, taking.next + rowsMax);
    // No iterator: this is the hottest loop of a checkpoint.
    for (; taking.next < end; taking.next++) {
      writeRow(writer, pairs, taking.rows[taking.next] as number, false);
    }
    const whole = end === taking.rows.length;
    const journalBytes = writer.byteLength + writer.at - before;
    this.#journalBytes += journalBytes;
    if (this.#round !== null) {
      this.#writeSlice(writer, number, pairs, whole ? Math.max(SLICE_BYTES_MIN, journalBytes) : journalBytes);
    }
    writer.end();
    if (!whole) return false;
    this.#taking[number] = undefined;
    this.#addWindow(number, partition, dedupClockUs);
    this.#restWriter ??= new ChunkWriter(this.#checksum);
    this.#waiting.add(number, partition.waiting, partition.watermarkUs, this.#restWriter);
    this.#told.add(number, partition.ledger);
    this.#counters.add(partition.counters);
    this.#liveBytes += pairs.size * ROW_RECKONED_BYTES;
    this.#rows[number] = pairs.rowCount;
    return true;
  }

  /** Ends the checkpoint that is being made, after all partitions were added. */
  finish(split: SplitState): CheckpointCommit {
    const put: CheckpointChunk[] = [];
    const drop: ChunkRange[] = [];
    for (const bytes of this.#writer?.finish() ?? []) {
      put.push({ stream: PAIRS, id: this.#pairs.end++, bytes });
    }
    const round = this.#round;
    if (round !== null && round.cursors.every((cursor) => cursor === Infinity)) {
      drop.push({ stream: PAIRS, start: this.#pairs.start, end: round.start });
      this.#pairs.start = round.start;
      this.#round = null;
      this.#journalBytes = 0;
    } else if (round === null) {
      const chunks = this.#pairs.end - this.#pairs.start;
      const due = this.#journalBytes > Math.max(JOURNAL_BYTES_MIN, this.#liveBytes) ||
        chunks > JOURNAL_CHUNKS_MIN + 2 * this.#liveBytes / CHUNK_BYTES_MAX;
      if (due) {
        this.#round = { start: this.#pairs.end, cursors: this.#windowTails.map(() => 0) };
      }
    }
    const unstored = [...this.#finishWindow(put, drop), ...this.#waiting.finish(put, drop)];
    this.#told.finish(put, drop);
    const meta: Meta = {
      split,
      counters: this.#counters.toJson(),
      rules: this.#rules,
    };
    const rest = this.#restWriter ?? new ChunkWriter(this.#checksum);
    rest.begin(0, SECTION_META);
    rest.writeBytes(new TextEncoder().encode(JSON.stringify(meta)));
    drop.push({ stream: REST, ...this.#rest });
    this.#rest = { start: this.#rest.end, end: this.#rest.end };
    for (const bytes of [...unstored, ...rest.finish()]) {
      put.push({ stream: REST, id: this.#rest.end++, bytes });
    }
    this.#number++;
    for (const range of drop) this.#sum.drop(range);
    for (const chunk of put) this.#sum.put(chunk);
    const rangeOf = ({ start, end }: ChunkRange): Range => ({ start, end });
    const manifest: Manifest = {
      identity: this.#identity,
      watermarkUs: split.watermarkUs,
      number: this.#number,
      pairs: { ...this.#pairs },
      window: { ...this.#window },
      waiting: rangeOf(this.#waiting.range),
      waitingFloors: this.#waiting.floors,
      told: rangeOf(this.#told.range),
      rest: { ...this.#rest },
      windows: this.#windows.map(([head, tail]) => [head, tail]),
      sum: this.#sum.toString(),
      rows: [...this.#rows],
    };
    this.#writer = null;
    this.#windowWriter = null;
    this.#restWriter = null;
    this.#counters = new Counters();
    this.#liveBytes = 0;
    return {
      put,
      drop: drop.filter(({ start, end }) => end > start),
      manifest: sealJson(manifest, this.#checksum),
    };
  }

  /**
   * Reads a manifest.
   *
   * @throws {DamagedCheckpointError} where it is damaged
   */
  readManifest(bytes: Uint8Array): Manifest {
    const manifest = unsealJson(bytes, this.#checksum);
    if (!isManifest(manifest)) throw new DamagedCheckpointError("What should be its manifest is none");
    return manifest;
  }

  /** All chunk ranges that a manifest needs, in the order in which {@link Restore.chunk} wants them. */
  static ranges(manifest: Manifest): ChunkRange[] {
    return [
      { stream: PAIRS, ...manifest.pairs },
      { stream: WINDOW, ...manifest.window },
      { stream: WAITING_STREAM, ...manifest.waiting },
      { stream: TOLD, ...manifest.told },
      { stream: REST, ...manifest.rest },
    ];
  }

  /** Begins to restore: the log goes on from this manifest, and the partitions, all new, are filled. */
  restore(manifest: Manifest, partitions: readonly Partition[]): Restore {
    return orDamaged(() => this.#restore(manifest, partitions));
  }

  #restore(manifest: Manifest, partitions: readonly Partition[]): Restore {
    this.#number = manifest.number;
    this.#sum = new ChunkSum(this.#checksum);
    this.#pairs = { ...manifest.pairs };
    this.#window = { ...manifest.window };
    this.#waiting.restore(manifest.waiting, manifest.waitingFloors);
    this.#told.restore(manifest.told);
    this.#rest = { ...manifest.rest };
    manifest.windows.forEach(([head, tail], i) => this.#windows[i] = [head, tail]);
    return new Restore({
      checksum: this.#checksum,
      manifest,
      partitions,
      rules: this.#rules,
      sum: this.#sum,
      windowChunk: (chunk) => {
        this.#windowChunks.push(chunk);
        this.#windowTails = chunk.tails;
      },
      waitingChunk: (id, lastUs) => this.#waiting.restoreChunk(id, lastUs),
    });
  }

  #writeSlice(writer: ChunkWriter, number: number, pairs: PairTable, bytesMax: number): void {
    const cursors = (this.#round as { cursors: number[] }).cursors;
    const begin = writer.byteLength + writer.at;
    let row = cursors[number] as number;
    while (row < pairs.rowCount && writer.byteLength + writer.at - begin < bytesMax) {
      if ((pairs.word(row, FLAGS) & LIVE) !== 0) writeRow(writer, pairs, row, true);
      row++;
    }
    cursors[number] = row >= pairs.rowCount ? Infinity : row;
  }

  #addWindow(number: number, partition: Partition, dedupClockUs: number): void {
    const window = partition.window;
    partition.expireWindow(dedupClockUs);
    this.#windows[number] = [window.head, window.tail];
    const writer = this.#windowWriter ??= new ChunkWriter(this.#checksum);
    let from = Math.max(window.head, this.#windowTails[number] as number);
    while (from < window.tail) {
      const bytes = window.copyRows(from, Math.min(from + WINDOW_SECTION_ROWS, window.tail));
      writer.begin(number, SECTION_WINDOW);
      writer.reserve(8 + bytes.length);
      writer.view.setFloat64(writer.at, from, true);
      writer.at += 8;
      writer.writeBytes(bytes);
      from += rowsIn(bytes.length);
    }
    writer.end();
  }

  /** Adds the new ids to their stream if they are many, else returns them as chunks; drops what has left the windows. */
  #finishWindow(put: CheckpointChunk[], drop: ChunkRange[]): readonly Uint8Array[] {
    const writer = this.#windowWriter ?? new ChunkWriter(this.#checksum);
    let unstored = writer.finish();
    if (writer.byteLength >= WINDOW_BYTES_MIN) {
      for (const bytes of unstored) put.push({ stream: WINDOW, id: this.#window.end++, bytes });
      unstored = [];
      this.#windowTails = this.#windows.map(([, tail]) => tail);
      this.#windowChunks.push({ end: this.#window.end, tails: this.#windowTails });
    }
    const kept = this.#windowChunks.findIndex(({ tails }) =>
      tails.some((tail, i) => tail > (this.#windows[i] as [number, number])[0])
    );
    const left = this.#windowChunks.splice(0, kept < 0 ? this.#windowChunks.length : kept).at(-1);
    if (left !== undefined) {
      drop.push({ stream: WINDOW, start: this.#window.start, end: left.end });
      this.#window.start = left.end;
    }
    return unstored;
  }
}

/** What a restore works with. */
interface RestoreParts {
  readonly checksum: Checksum;
  readonly manifest: Manifest;
  readonly partitions: readonly Partition[];
  readonly rules: readonly DwellRule[];
  /** Of the log that goes on: it has no chunks yet. */
  readonly sum: ChunkSum;
  /** Told of each chunk of the windows' stream. */
  readonly windowChunk: (chunk: WindowChunks) => void;
  /** Told of each chunk of what waits, and of the last event time in it. */
  readonly waitingChunk: (id: number, lastUs: number) => void;
}

/** A restore that is going on: give it all chunks of {@link CheckpointLog.ranges} in their order, then finish. */
export class Restore {
  readonly #parts: RestoreParts;
  readonly #manifest: Manifest;
  readonly #partitions: readonly Partition[];
  readonly #waiting: SavedEntry[][];
  readonly #meta: Uint8Array[] = [];
  /** Which chunk comes next. */
  #next = 0;

  /** Puts chunks into partitions that are fresh; their number must be the manifest's. */
  constructor(parts: RestoreParts) {
    const { manifest, partitions } = parts;
    this.#parts = parts;
    this.#manifest = manifest;
    this.#partitions = partitions;
    this.#waiting = partitions.map(() => []);
    manifest.windows.forEach(([head], i) => partitions[i]?.window.restoreFrom(head));
  }

  /**
   * Takes one chunk.
   *
   * @throws {DamagedCheckpointError} where it is damaged
   */
  chunk(bytes: Uint8Array): void {
    orDamaged(() => this.#chunk(bytes));
  }

  #chunk(bytes: Uint8Array): void {
    const { stream, id } = this.#placeOf(this.#next++);
    this.#parts.sum.put({ stream, id, bytes });
    const lastUs = this.#readChunk(bytes, stream === WAITING_STREAM);
    if (stream === WAITING_STREAM) this.#parts.waitingChunk(id, lastUs);
    if (stream !== WINDOW) return;
    this.#parts.windowChunk({ end: id + 1, tails: this.#partitions.map(({ window: { tail } }) => tail) });
  }

  /** Which chunk the n-th is of all that are needed. */
  #placeOf(nth: number): { stream: string; id: number } {
    let left = nth;
    for (const { stream, start, end } of CheckpointLog.ranges(this.#manifest)) {
      if (left < end - start) return { stream, id: start + left };
      left -= end - start;
    }
    throw new DamagedCheckpointError("It has more parts than it needs");
  }

  /** Reads a chunk; returns the last event time of what waits in it, µs. */
  #readChunk(bytes: Uint8Array, isSaved: boolean): number {
    let lastUs = -Infinity;
    for (const section of readChunk(bytes, this.#parts.checksum)) {
      const { partition: number, type, view, start, end } = section;
      const partition = this.#partitions[number];
      if (partition === undefined) throw new DamagedCheckpointError(`It has a partition ${number}`);
      if (type === SECTION_PAIRS) {
        const rowsMax = this.#manifest.rows?.[number] ?? Infinity;
        for (let at = start; at < end;) {
          if (view.getUint32(at, true) >= rowsMax) throw new DamagedCheckpointError("It has a pair too many");
          at = partition.pairs.readImage(view, at, hashOfKey);
        }
      } else if (type === SECTION_WINDOW) {
        this.#restoreWindow(number, view, start, end);
      } else if (type === SECTION_TOLD) {
        restoreTold(partition.ledger, section);
      } else if (type === SECTION_WAITING) {
        for (const entry of ReorderBuffer.readImages(view, start, end)) this.#waiting[number]?.push(entry);
      } else if (type === SECTION_WAITING_LOG) {
        lastUs = Math.max(lastUs, this.#readWaiting(number, section, isSaved));
      } else {
        this.#meta.push(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
      }
    }
    return lastUs;
  }

  /** What waits in a section and is still to be applied; returns the last event time in it, µs. */
  #readWaiting(number: number, section: Section, isSaved: boolean): number {
    const { watermarkUs, waitingFloors } = this.#manifest;
    const isWaiting = { watermarkUs: watermarkUs ?? -Infinity, floor: waitingFloors[number] ?? 0 };
    const { entries, lastUs } = readWaitingLog(section, isWaiting);
    for (const entry of entries) this.#waiting[number]?.push({ ...entry, isSaved });
    return lastUs;
  }

  /**
   * After the last chunk: the partitions are whole again; returns the split's part.
   *
   * @throws {DamagedCheckpointError} where chunks are missing, or are not those that belong there
   */
  finish(): SplitState {
    return orDamaged(() => this.#finish());
  }

  #finish(): SplitState {
    let count = 0;
    for (const { start, end } of CheckpointLog.ranges(this.#manifest)) count += end - start;
    if (this.#next !== count) {
      throw new DamagedCheckpointError(`It has ${count} parts, ${this.#next} are there`);
    }
    const { sum } = this.#manifest;
    if (sum !== undefined && sum !== this.#parts.sum.toString()) {
      throw new DamagedCheckpointError("A part of it is of another checkpoint");
    }
    const meta = this.#readMeta();
    const sameRules = JSON.stringify(meta.rules) === JSON.stringify(this.#parts.rules);
    const oldRules = sameRules ? null : new FenceRules(meta.rules);
    const watermarkUs = meta.split.watermarkUs ?? -Infinity;
    const clockUs = meta.split.dedupClockUs ?? -Infinity;
    this.#partitions.forEach((partition, number) => {
      if (partition.window.tail !== (this.#manifest.windows[number]?.[1] ?? 0)) {
        throw new DamagedCheckpointError(`The window of partition ${number} is not complete`);
      }
      // The counts are those of the whole split: one partition goes on with them.
      const counters = number === 0 ? Counters.fromJson(meta.counters) : new Counters();
      partition.finishRestore({ watermarkUs, clockUs, counters });
      if (oldRules !== null) partition.changeRules(oldRules);
      partition.waiting.restore(
        this.#waiting[number] as SavedEntry[],
        this.#manifest.waitingFloors[number] ?? 0,
      );
      partition.scheduleDeadlines();
    });
    return meta.split;
  }

  #readMeta(): Meta {
    const bytes = new Uint8Array(this.#meta.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of this.#meta) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return JSON.parse(new TextDecoder().decode(bytes)) as Meta;
  }

  #restoreWindow(number: number, view: DataView, start: number, end: number): void {
    const { window } = this.#partitions[number] as Partition;
    const first = view.getFloat64(start, true);
    const bytes = new Uint8Array(view.buffer, view.byteOffset + start + 8, end - start - 8);
    // Ids that had left the window are skipped, and those before the rest that it brings once more.
    if (first > window.tail) throw new DamagedCheckpointError(`Ids of partition ${number} are missing`);
    window.restoreRows(first, bytes);
  }
}

/** Whether all that says how much there is to be read is there, and can be true. */
function isManifest(value: unknown): value is Manifest {
  const manifest = (value ?? {}) as Partial<Record<keyof Manifest, unknown>>;
  const { pairs, window, waiting, told, rest, windows, waitingFloors, identity } = manifest;
  const isNumbers = (numbers: unknown): boolean =>
    Array.isArray(numbers) && numbers.every(Number.isSafeInteger);
  return [pairs, window, waiting, told, rest].every((range) => {
    const { start, end } = (range ?? {}) as Partial<Range>;
    return isNumbers([start, end]) && 0 <= (start as number) && (start as number) <= (end as number);
  }) && Array.isArray(windows) && windows.every(isNumbers) && isNumbers(waitingFloors) &&
    typeof identity === "object" && identity !== null;
}

/**
 * A chunk whose checksum is right is what was written, unless somebody has made it so: then any of it may be anything, and
 * whatever trips over it says that it is damaged.
 */
function orDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof DamagedCheckpointError) throw cause;
    throw new DamagedCheckpointError(`A part of it can't be read (${(cause as Error).message})`, { cause });
  }
}

function writeRow(writer: ChunkWriter, pairs: PairTable, row: number, full: boolean): void {
  writer.reserve(IMAGE_BYTES_MAX);
  writer.at = pairs.writeImage(writer.view, writer.at, row, full);
}

/** How many ids an image of the window has. */
function rowsIn(byteLength: number): number {
  return (byteLength - WINDOW_IMAGE_HEADER_BYTES) / WINDOW_ROW_BYTES;
}

function hashOfKey(bytes: Uint8Array, deviceStart: number, deviceEnd: number, fenceEnd: number): number {
  return pairHash(murmur2(bytes, deviceStart, deviceEnd), bytes, deviceEnd, fenceEnd);
}
