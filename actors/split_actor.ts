/**
 * One source split: reads, decodes, stamps each transition with the clocks at its place, routes it to its partition, and
 * draws the checkpoints.
 *
 * ```
 *   source ─▶ decode ─▶ clocks ─▶ route ─▶ mailbox 0 ─▶ partition 0 ─┐
 *                │                     └─▶ mailbox n ─▶ partition n ─┴▶ sink
 *                └─▶ dead letters
 *
 *   barrier: into every mailbox ─▶ each partition hands over its changes ─▶ sinks durable ─▶ one commit ─▶ acknowledge
 * ```
 *
 * Nobody stops for a checkpoint: changes are taken at the barrier, and written while the next records are at work. The
 * interval is a minimum: the next one begins when the last is durable and something has changed.
 *
 * @module
 */
import { assert } from "../lib/assert.ts";
import { CheckpointLog, type SplitState } from "../lib/checkpoint.ts";
import { DamagedCheckpointError } from "../lib/chunk.ts";
import type { Config } from "../lib/config.ts";
import { Counters } from "../lib/counters.ts";
import {
  DEAD_LETTER_REASONS,
  type DeadLetter,
  type DeadLetterReason,
  decodeKnownDeadLetter,
  encodeDeadLetter,
} from "../lib/dead_letter.ts";
import type { DecodedTransition } from "../lib/decoded_transition.ts";
import { EffectBuffer, type LateRecord } from "../lib/effect.ts";
import type { FenceRules } from "../lib/fence_rules.ts";
import type { CrossingOutcome } from "../lib/format/crossing_decoder.ts";
import type { Identity } from "../lib/identity.ts";
import type { Json } from "../lib/json.ts";
import { KIND_HEARTBEAT } from "../lib/kind.ts";
import { murmur2, toPartition } from "../lib/murmur2.ts";
import { Partition, SharedCount } from "../lib/partition.ts";
import { PendingCounts } from "../lib/pending_counts.ts";
import { judgeTimes } from "../lib/plausibility.ts";
import type { RecordBatch } from "../lib/record_batch.ts";
import { SplitClock } from "../lib/split_clock.ts";
import { formatTimestamp } from "../lib/time.ts";
import { TransitionDecoder } from "../lib/transition.ts";
import { TransitionBatch } from "../lib/transition_batch.ts";
import { parseTrigger } from "../lib/trigger.ts";
import type { SplitObservers } from "./line_observer.ts";
import { Mailbox } from "./mailbox.ts";
import { PartitionActor, type PartitionMessage } from "./partition_actor.ts";
import type { CheckpointStore, Clock, Sink, Source } from "./ports.ts";
import { Scheduler } from "./scheduler.ts";
import { SinkActor } from "./sink_actor.ts";
import type { SplitLook } from "./split_look.ts";
import { SplitReads } from "./split_reads.ts";
import { MessageReader, partIn, tooLarge } from "./message_reader.ts";
import { SplitMeter, type SplitVitals } from "./split_meter.ts";
import { checkStateIdentity } from "./state_identity.ts";
import type { Ticker } from "./ticker.ts";

/** Transitions in one message to a partition at most. */
const BATCH_ROWS = 128;
/** Records decoded before the partitions have their turn: few enough that what they point into is still in the cache. */
const PIECE_RECORDS = 2048;
/** How long that may take before the event loop has its chance, µs, and after how many records the clock is asked. */
const PIECE_US = 1000;
const CLOCK_RECORDS = 32;
/** Changed pairs that a checkpoint takes of a partition in one step. */
const BARRIER_ROWS = 1024;
/** Rows that a look at the pending deadlines touches: of all partitions, and of one at least. */
const LOOK_ROWS = 16_384;
const LOOK_ROWS_MIN = 16;
/** Batches kept for the next use. */
const POOL_BATCHES_MAX = 128;

/** What a split works with; all of it open, fresh and its own. */
export interface SplitParts {
  readonly config: Config;
  readonly source: Source;
  readonly sink: Sink;
  readonly deadLetters: Sink;
  readonly store: CheckpointStore;
  readonly clock: Clock;
  readonly ticker: Ticker;
  readonly identity: Identity;
  readonly rules: FenceRules;
  /** Pairs of the split, and so of the process. */
  readonly pairBound: SharedCount;
  /** Told things that an operator should know, one line each. */
  readonly notice: (message: string) => void;
  /** Who looks on, if anybody does. */
  readonly observers?: SplitObservers;
}

/** How many dead letters there were for each reason. */
export type DeadLetterCounts = Readonly<Record<DeadLetterReason, number>>;

/** How a split is doing, for progress and the summary. */
export interface SplitReport {
  /** Records read, by this process and by those before it on the same state. */
  readonly read: number;
  readonly readNow: number;
  readonly counters: Counters;
  readonly deadLetters: DeadLetterCounts;
  /** The same, of this process alone. */
  readonly countersNow: Counters;
  readonly deadLettersNow: DeadLetterCounts;
  readonly pairs: number;
  readonly pendingDwells: number;
  readonly waiting: number;
  readonly windowIds: number;
  readonly evictedLive: number;
  readonly checkpoints: number;
  readonly watermarkUs: number;
  readonly overdue: boolean;
  readonly vitals: SplitVitals;
}

/** What a split found when it opened. */
export interface Opened {
  /** Whether it goes on from a checkpoint. */
  readonly resumed: boolean;
  /** Triggers and dead letters that were written behind that checkpoint. */
  readonly readBack: number;
}

/** See the module's header. */
export class SplitActor {
  /** For those who ask where a device is. */
  readonly reads: SplitReads;
  readonly #parts: SplitParts;
  readonly #config: Config;
  readonly #clock: SplitClock;
  readonly #decoder = new TransitionDecoder();
  /** Reads messages of a format; null where a record is a transition by itself. */
  readonly #messages: MessageReader | null;
  readonly #log: CheckpointLog;
  readonly #actors: PartitionActor[] = [];
  readonly #filling: (TransitionBatch | null)[];
  readonly #pool: TransitionBatch[] = [];
  readonly #scheduler: Scheduler;
  readonly #triggers: SinkActor;
  readonly #deadLetters: SinkActor;
  readonly #waiting: SharedCount;
  readonly #meter = new SplitMeter();
  readonly #pieceRecords: number;
  readonly #counts = new Map<string, number>();
  /** What the processes before this one have counted on the same state. */
  #countersBefore = new Counters();
  #countsBefore: ReadonlyMap<string, number> = new Map();
  readonly #knownDeadLetters = new Map<number | string, DeadLetterReason>();
  readonly #failed: Promise<never>;
  readonly #stopReading = new AbortController();
  #fail: (error: unknown) => void = () => {};
  #position: Json = null;
  #epoch = 0;
  #checkpointing: Promise<void> | null = null;
  #checkpointAtUs = -Infinity;
  #sweptAtUs = -Infinity;
  #changed = false;
  #advancedToUs = -Infinity;
  /** Records that this process has read, and those before it on the same state. */
  #readNow = 0;
  #readBefore = 0;
  /** Ids that the windows had taken when it opened. */
  #windowIdsBefore = 0;
  #isOpen = false;
  #watermarkForced = 0;
  #inBatch = false;
  #paused = false;
  #warnedFuture = false;
  #warnedPairs = false;
  #overdueSinceUs = Infinity;
  #warnedOverdue = false;
  readonly #arrival = { wallUs: 0, monotonicUs: 0 };
  // One object for all records: at their number, a new one each would be a tenth of the garbage.
  readonly #times = { eventTimeUs: 0, ingestTimeUs: 0, dedupClockUs: 0, wallUs: 0 };
  readonly #context = {
    watermarkBeforeUs: 0,
    dedupClockUs: 0,
    deviceHash: 0,
    recordBytes: new Uint8Array(0) as Uint8Array,
    recordStart: 0,
    recordEnd: 0,
    offset: 0,
    line: 0,
    knownLate: false,
    part: 0,
  };

  constructor(parts: SplitParts) {
    this.#parts = parts;
    const { config, source, identity, rules, clock } = parts;
    this.#config = config;
    const { mapping } = config.source.format;
    this.#messages = mapping === null ? null : new MessageReader(mapping);
    this.#failed = new Promise((_resolve, reject) => this.#fail = reject);
    // Whoever waits for the split hears of it; until somebody does, it is no unhandled rejection.
    this.#failed.catch(() => {});
    this.#clock = new SplitClock({
      latenessUs: config.dwell.latenessUs,
      liveWithinUs: config.time.liveWithinUs,
      settleUs: config.time.settleUs,
      tickUs: config.dwell.tickUs,
      maxFutureSkewUs: config.time.maxFutureSkewUs,
      live: source.live,
      keepsUnread: source.keepsUnread,
    });
    this.#log = new CheckpointLog((bytes) => identity.checksum(bytes), {
      bucketUs: config.identity.bucketUs,
      guardUs: config.identity.guardUs,
      partitions: config.partitions,
      sourceKind: source.kind,
      ...(config.source.type === "kafka" ? { group: config.source.group } : {}),
    }, config.dwell);
    this.#waiting = new SharedCount(config.dwell.waitingCapacity);
    this.#pieceRecords = Math.max(1, Math.min(PIECE_RECORDS, Math.floor(config.mailbox.capacity / 2)));
    this.#scheduler = new Scheduler(clock, this.#fail);
    const ordered = config.emit === "ordered";
    this.#triggers = new SinkActor(parts.sink, {
      fail: this.#fail,
      refused: (line, why, epoch) => this.#refuseTrigger(line, why, epoch),
    }, ordered ? config.partitions : 0);
    this.#deadLetters = new SinkActor(parts.deadLetters, {
      fail: this.#fail,
      refused: (_line, why) => this.#fail(new Error(`Cannot write dead letters: ${why}`)),
    }, 0);
    this.#triggers.onRoom = () => this.#wakeAll();
    this.#triggers.observer = parts.observers?.triggers ?? null;
    this.#deadLetters.observer = parts.observers?.deadLetters ?? null;
    this.#filling = new Array<TransitionBatch | null>(config.partitions).fill(null);
    for (let number = 0; number < config.partitions; number++) {
      const effects = new EffectBuffer(ordered);
      const bounds = { pairs: parts.pairBound, waiting: this.#waiting };
      this.#actors.push(
        new PartitionActor({
          number,
          partition: new Partition(config, { identity, rules, bounds, effects }),
          effects,
          mailbox: new Mailbox<PartitionMessage>(config.mailbox.capacity),
          sink: this.#triggers,
          recycle: (batch) => this.#recycle(batch),
          refuseLate: (records, epoch) => this.#refuseLate(records, epoch),
          ...(source.live ? { fired: (timesUs) => this.#fired(timesUs) } : {}),
        }),
      );
    }
    this.reads = new SplitReads({ ...parts, actors: this.#actors });
  }

  /**
   * Takes the split over: fences whoever had it, restores the last checkpoint, reads back what was written behind it,
   * opens the source at its place. Where there is no checkpoint, the first one is made before anything is emitted.
   *
   * @throws {Error} where the state, the source or an output can't be gone on with; the message names the way out
   */
  async open(): Promise<Opened> {
    const { store, source, sink, deadLetters } = this.#parts;
    const manifest = await store.open();
    let split: SplitState | null = null;
    if (manifest !== null) split = await this.#restore(manifest);
    await sink.open(split?.sink ?? null);
    await deadLetters.open(split?.deadLetters ?? null);
    const position = split?.position ?? null;
    const resumed = await source.open(position) === "resumed";
    // Another input begins at its beginning, over the kept state.
    this.#position = resumed ? position : null;
    const comesAgain = source.rereadable && (position === null || resumed);
    const readBack = split === null ? 0 : await this.#readBack(comesAgain);
    this.#takeCheckpoint();
    await this.#whileWorking(this.#checkpointing ?? Promise.resolve());
    this.reads.isOpen = true;
    this.#windowIdsBefore = this.#windowIds();
    this.#isOpen = true;
    return { resumed: split !== null, readBack };
  }

  /**
   * Works until the input ends or {@link stop} is called, and makes a last checkpoint.
   *
   * @returns whether the input has ended
   */
  async run(): Promise<boolean> {
    const unsubscribe = this.#parts.ticker.subscribe((tick) => this.#onTick(tick));
    try {
      const ended = await this.#whileWorking(this.#read());
      await this.#whileWorking(this.#drain());
      if (ended && this.#config.source.atEof === "flush") await this.#whileWorking(this.#finish());
      await this.#whileWorking(this.#lastCheckpoint());
      return ended;
    } finally {
      unsubscribe();
      this.#scheduler.stop();
      // After a failure, what still reads would take records that the next one on this source is to have.
      this.stop();
    }
  }

  /** Stops reading; {@link run} finishes what was taken. */
  stop(): void {
    this.#stopReading.abort(STOPPED);
  }

  /** After a failure: nothing of it runs any more, and what was on its way to the outputs has arrived or failed. */
  async halt(): Promise<void> {
    this.reads.isOpen = false;
    this.#scheduler.stop();
    await Promise.all([this.#triggers.halt(), this.#deadLetters.halt()]);
  }

  /** How it is doing. */
  report(): SplitReport {
    const counters = new Counters();
    let pairs = 0;
    let pendingDwells = 0;
    let windowIds = 0;
    let evictedLive = 0;
    for (const { partition } of this.#actors) {
      counters.add(partition.counters);
      pairs += partition.pairs.size;
      pendingDwells += partition.pendingDwells;
      windowIds += partition.window.size;
      evictedLive += partition.window.evictedLive;
    }
    counters.watermarkForced += this.#watermarkForced;
    const countersNow = counters.since(this.#countersBefore);
    const deadLettersOf = (of: Counters, before: ReadonlyMap<string, number>): DeadLetterCounts => ({
      ...Object.fromEntries(
        DEAD_LETTER_REASONS.map((reason) => [
          reason,
          (this.#counts.get(reason) ?? 0) - (before.get(reason) ?? 0),
        ]),
      ) as Record<DeadLetterReason, number>,
      SINK_REJECTED: (this.#counts.get(REJECTED) ?? 0) + this.#triggers.refused - (before.get(REJECTED) ?? 0),
      LATE: of.lateRefused,
    });
    return {
      read: this.#readBefore + this.#readNow,
      readNow: this.#readNow,
      counters,
      deadLetters: deadLettersOf(counters, new Map()),
      countersNow,
      deadLettersNow: deadLettersOf(countersNow, this.#countsBefore),
      pairs,
      pendingDwells,
      waiting: this.#waiting.value,
      windowIds,
      evictedLive,
      checkpoints: this.#log.number,
      watermarkUs: this.#clock.watermarkUs,
      overdue: this.#warnedOverdue,
      vitals: this.#vitals(evictedLive),
    };
  }

  #vitals(evictedLive: number): SplitVitals {
    const { source, clock } = this.#parts;
    let mailboxRecords = 0;
    let mailboxFill = 0;
    let pairsBytes = 0;
    let windowBytes = 0;
    let deadlineUs = Infinity;
    const overdue = this.#warnedOverdue;
    for (const { mailbox, partition } of this.#actors) {
      mailboxRecords += mailbox.depth;
      mailboxFill = Math.max(mailboxFill, mailbox.depth / mailbox.capacity);
      pairsBytes += partition.pairs.byteLength;
      windowBytes += partition.window.byteLength;
      if (overdue) deadlineUs = Math.min(deadlineUs, partition.nextDeadlineUs);
    }
    // After a failure it is looked at until the next one is made.
    const isOpen = this.#isOpen && !this.#scheduler.stopped;
    return {
      source: source.name,
      partition: source.partition ?? 0,
      isOpen,
      isFollowing: isOpen && this.#clock.following,
      overdueUs: overdue ? Math.max(0, this.#advancedToUs - deadlineUs) : 0,
      mailboxRecords,
      mailboxFill,
      pairsBytes,
      windowBytes,
      windowIdsAdded: this.#isOpen ? this.#windowIds() - this.#windowIdsBefore : 0,
      evictedLive,
      heartbeats: this.#countedNow(HEARTBEAT),
      skipped: this.#countedNow(SKIPPED),
      checkpoint: this.#meter.checkpoint(clock.monotonicUs()),
      fireLag: this.#meter.fireLag,
    };
  }

  #countedNow(name: string): number {
    return (this.#counts.get(name) ?? 0) - (this.#countsBefore.get(name) ?? 0);
  }

  /** Ids that the windows have taken since the state began. */
  #windowIds(): number {
    return this.#actors.reduce((sum, { partition }) => sum + partition.window.tail, 0);
  }

  #fired(timesUs: readonly number[]): void {
    const { latenessUs } = this.#config.dwell;
    this.#meter.fired(timesUs.map((us) => us + latenessUs), this.#parts.clock.wallUs());
  }

  /** What is in it now. */
  look(): SplitLook {
    const pending = new PendingCounts();
    const rowsMax = Math.max(LOOK_ROWS_MIN, Math.floor(LOOK_ROWS / this.#actors.length));
    for (const { partition } of this.#actors) partition.samplePending(pending, rowsMax);
    return {
      mailboxes: this.#actors.map(({ mailbox }) => mailbox.depth),
      mailboxCapacity: this.#config.mailbox.capacity,
      pending,
    };
  }

  /** Waits for some work, or for the failure of anything else of this split. */
  #whileWorking<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#failed]);
  }

  async #restore(bytes: Uint8Array): Promise<SplitState> {
    try {
      return await this.#restoreWhole(bytes);
    } catch (cause) {
      if (!(cause instanceof DamagedCheckpointError)) throw cause;
      throw new Error(
        `Cannot restore the state in ${this.#parts.store.name}: ${cause.message}. ` +
          "Put a copy of it back, or name another checkpoint.path (--state) to begin afresh",
        { cause },
      );
    }
  }

  async #restoreWhole(bytes: Uint8Array): Promise<SplitState> {
    const { store, config, source } = this.#parts;
    const manifest = this.#log.readManifest(bytes);
    checkStateIdentity(manifest.identity, { config, sourceKind: source.kind, store: store.name });
    const restore = this.#log.restore(manifest, this.#actors.map((actor) => actor.partition));
    const ranges = CheckpointLog.ranges(manifest);
    await store.sweep(ranges);
    for (const range of ranges) {
      if (range.end === range.start) continue;
      for await (const chunk of store.read(range)) restore.chunk(chunk);
    }
    const split = restore.finish();
    this.#clock.restore(split.clock);
    const { [READ]: readBefore = 0, ...counts } = split.counts;
    this.#readBefore = readBefore;
    for (const [name, count] of Object.entries(counts)) this.#counts.set(name, count);
    for (const [offset, reason] of split.knownDeadLetters) {
      this.#knownDeadLetters.set(offset, reason as DeadLetterReason);
    }
    this.#advancedToUs = split.watermarkUs ?? -Infinity;
    this.#countersBefore = this.report().counters;
    this.#countsBefore = new Map(this.#counts);
    return split;
  }

  /** Learns what was written behind the checkpoint; returns how many lines that was. */
  async #readBack(sourceComesAgain: boolean): Promise<number> {
    const { sink, deadLetters } = this.#parts;
    for (const { partition } of this.#actors) partition.recordsComeAgain = sourceComesAgain;
    let lines = 0;
    const told = new Set<string>();
    for await (const line of sink.readBack()) {
      const id = this.#noteTold(line);
      if (id === null) continue;
      told.add(id);
      lines++;
    }
    const rejected = new Set<string | null>();
    if (!sourceComesAgain) this.#knownDeadLetters.clear();
    for await (const line of deadLetters.readBack()) {
      const letter = decodeKnownDeadLetter(line);
      if (letter === null) continue;
      lines++;
      if (letter.reason === REJECTED) {
        // As good as told: the id is claimed, and it has its dead letter. Another output may have taken it.
        const id = parseTrigger(letter.trigger)?.id ?? null;
        if (id !== null && !told.has(id)) this.#noteTold(letter.trigger);
        rejected.add(id);
        this.#count(REJECTED);
        continue;
      }
      const offset = letter.source === this.#parts.source.name ? offsetOf(letter.position) : null;
      if (offset === null || !sourceComesAgain) continue;
      this.#knownDeadLetters.set(knownKey(offset, partIn(letter.position)), letter.reason);
    }
    for (const [line, why] of sink.refusedAtOpen?.() ?? []) {
      if (rejected.has(parseTrigger(line)?.id ?? null)) continue;
      this.#count(REJECTED);
      this.#refuseTrigger(line, why, this.#epoch);
    }
    return lines;
  }

  /** Learns of a trigger that was told; returns its id, null where the line is none. */
  #noteTold(line: Uint8Array): string | null {
    const told = parseTrigger(line);
    if (told === null) return null;
    const bytes = new TextEncoder().encode(told.device);
    const number = toPartition(murmur2(bytes, 0, bytes.length), this.#config.partitions);
    (this.#actors[number] as PartitionActor).partition.noteTold(told);
    return told.id;
  }

  /** Reads until the input ends (true) or reading was stopped (false). */
  async #read(): Promise<boolean> {
    const { source, clock } = this.#parts;
    const signal = this.#stopReading.signal;
    for (;;) {
      let batch: RecordBatch | null;
      // Only what is in a mailbox still points into a batch.
      if (this.#isIdle()) source.release();
      try {
        batch = await source.read(signal);
      } catch (error) {
        if (signal.aborted) return false;
        throw error;
      }
      if (batch === null) return true;
      this.#arrival.wallUs = clock.wallUs();
      this.#arrival.monotonicUs = clock.monotonicUs();
      // A barrier between two records of a batch would have no position.
      this.#inBatch = true;
      await this.#takeBatch(batch);
      this.#inBatch = false;
      this.#position = batch.position;
      this.#markChanged(this.#arrival.monotonicUs);
      this.#checkpointIfDue();
    }
  }

  /** Decodes and routes a batch, piece by piece, as the partitions have room. */
  async #takeBatch(batch: RecordBatch): Promise<void> {
    for (let from = 0; from < batch.count;) {
      const room = await this.#makeRoom();
      const records = Math.min(this.#pieceRecords, room);
      const messages = this.#messages;
      from = messages === null
        ? this.#takePiece(batch, from, records)
        : this.#takeMessages(messages, batch, from, records);
      this.#sendAll();
      // With a sink that keeps up the mailboxes are empty again after this, and what was decoded is taken while it is
      // still in the cache; with a slow one they fill, up to their mark.
      await this.#scheduler.whenIdle();
    }
    if (
      !this.#warnedPairs && this.#actors.some(({ partition }) => partition.counters.pairsOverCapacity > 0)
    ) {
      this.#warnedPairs = true;
      this.#parts.notice(
        `More than ${this.#config.pairs.capacity} pairs (pairs.capacity), and all are inside: none can be forgotten, ` +
          "so memory grows",
      );
    }
    if (this.#clock.warnedFutureRecord && !this.#warnedFuture) {
      this.#warnedFuture = true;
      this.#parts.notice(
        "A record without an ingest time lies far ahead of those before it: it has moved time on for all devices. " +
          "Give ingest_time where clocks can't be trusted",
      );
    }
  }

  /** Takes records from here on, a piece at most; returns which is the next. */
  #takePiece(batch: RecordBatch, from: number, records: number): number {
    const to = Math.min(batch.count, from + records);
    const startedUs = this.#parts.clock.monotonicUs();
    while (from < to) {
      const next = Math.min(to, from + CLOCK_RECORDS);
      for (; from < next; from++) this.#takeRecord(batch, from);
      if (this.#parts.clock.monotonicUs() - startedUs > PIECE_US) break;
    }
    return from;
  }

  /** As {@link #takePiece}, of messages that are any number of records: one may be left in the middle. */
  #takeMessages(messages: MessageReader, batch: RecordBatch, from: number, records: number): number {
    const { clock, source } = this.#parts;
    const startedUs = clock.monotonicUs();
    for (let left = records; left > 0 && from < batch.count;) {
      for (let i = 0; i < CLOCK_RECORDS && left > 0 && from < batch.count; i++) {
        const outcome = messages.next(batch, from);
        if (outcome === null) {
          source.counted?.(batch.offsets[from] as number, messages.count);
          from++;
        } else {
          left--;
          this.#takeCrossing(messages, batch, from, outcome);
        }
      }
      if (clock.monotonicUs() - startedUs > PIECE_US) break;
    }
    return from;
  }

  /** Waits until the partitions and the dead letters can take more; tells how many records may wait for the watermark. */
  async #makeRoom(): Promise<number> {
    while (this.#deadLetters.isFullFor(this.#epoch)) {
      this.#paused = true;
      await new Promise<void>((resolve) => this.#deadLetters.onRoom = resolve);
      this.#paused = false;
    }
    for (const { mailbox } of this.#actors) {
      if (!mailbox.isHigh) continue;
      this.#paused = true;
      await mailbox.whenLow();
      this.#paused = false;
    }
    let room = this.#waiting.capacity - this.#waiting.value;
    if (room >= this.#pieceRecords) return room;
    // Near the bound: what is on its way counts too, so let it arrive.
    await this.#drain();
    room = this.#waiting.capacity - this.#waiting.value;
    while (room <= 0) {
      this.#letFirstGo();
      await this.#drain();
      room = this.#waiting.capacity - this.#waiting.value;
    }
    return room;
  }

  /**
   * Lets go what would be the first to go. What is held, `lateness` past the watermark, must not take that along past
   * what was observed: all that comes then would be late, held, and push it on by another `lateness`, for ever, each time
   * firing what nobody has earned.
   */
  #letFirstGo(): void {
    let firstUs = Infinity;
    let heldUs = Infinity;
    for (const { partition } of this.#actors) {
      firstUs = Math.min(firstUs, partition.firstReleaseUs());
      heldUs = Math.min(heldUs, partition.waiting.firstGroupDueUs());
    }
    assert(firstUs < Infinity, "what waits can be let go");
    if (heldUs < Infinity && firstUs > this.#clock.highestObservedUs) {
      for (const actor of this.#actors) this.#deliver(actor, { type: "take_held", dueUs: heldUs }, 0);
    } else {
      this.#watermarkForced++;
      this.#clock.force(firstUs);
      this.#sendAll();
    }
  }

  #takeRecord(batch: RecordBatch, i: number): void {
    this.#readNow++;
    const known = this.#knownDeadLetters.size === 0 ? undefined : this.#takeKnown(batch.offsets[i] as number);
    if (known !== undefined && known !== "LATE") {
      this.#count(known);
      return;
    }
    const oversize = batch.oversize.size === 0 ? undefined : batch.oversize.get(i);
    if (oversize !== undefined) {
      this.#refuse(batch, i, "TOO_LARGE", tooLarge(oversize));
      return;
    }
    const decoder = this.#decoder;
    const outcome = decoder.decode(batch.bytes, batch.starts[i] as number, batch.ends[i] as number);
    this.#take(decoder, batch, i, outcome, known);
  }

  #takeCrossing(messages: MessageReader, batch: RecordBatch, i: number, outcome: CrossingOutcome): void {
    this.#readNow++;
    if (outcome === "skipped") {
      this.#count(SKIPPED);
      return;
    }
    const { part } = messages.decoder;
    const known = this.#knownDeadLetters.size === 0
      ? undefined
      : this.#takeKnown(knownKey(batch.offsets[i] as number, part));
    if (known !== undefined && known !== "LATE") {
      this.#count(known);
      return;
    }
    this.#context.part = part;
    this.#take(messages.decoder, batch, i, outcome, known);
  }

  /** Takes what was decoded of a record. */
  #take(
    decoder: DecodedTransition & { readonly detail: string },
    batch: RecordBatch,
    i: number,
    outcome: "transition" | DeadLetterReason,
    known: DeadLetterReason | undefined,
  ): void {
    // Of what was refused as a whole there is no time to be judged.
    if (outcome !== "transition" && (outcome !== "INVALID_FIELD" || Number.isNaN(decoder.eventTimeUs))) {
      this.#refuse(batch, i, outcome, decoder.detail);
      return;
    }
    const carried = batch.ingestTimesUs;
    const ingestTimeUs = carried !== null && Number.isNaN(decoder.ingestTimeUs)
      ? carried[i] as number
      : decoder.ingestTimeUs;
    const clock = this.#clock;
    const eventTimeUs = decoder.eventTimeUs;
    const times = this.#times;
    times.eventTimeUs = eventTimeUs;
    times.ingestTimeUs = ingestTimeUs;
    times.dedupClockUs = clock.dedupClockUs;
    times.wallUs = this.#arrival.wallUs;
    const implausible = judgeTimes(times, this.#config.time);
    if (implausible !== null) {
      this.#refuse(batch, i, implausible.reason, implausible.detail);
      return;
    }
    if (outcome === "INVALID_FIELD") {
      this.#refuse(batch, i, outcome, decoder.detail);
      return;
    }
    clock.observe(eventTimeUs, ingestTimeUs, this.#arrival);
    if (decoder.kind === KIND_HEARTBEAT) {
      this.#count(HEARTBEAT);
      return;
    }
    const context = this.#context;
    context.watermarkBeforeUs = clock.watermarkBeforeUs;
    context.dedupClockUs = clock.dedupClockUs;
    context.deviceHash = murmur2(decoder.bytes, decoder.deviceStart, decoder.deviceEnd);
    context.recordBytes = batch.bytes;
    context.recordStart = batch.starts[i] as number;
    context.recordEnd = batch.ends[i] as number;
    context.offset = batch.offsets[i] as number;
    context.line = batch.lines[i] as number;
    context.knownLate = known === "LATE";
    const number = toPartition(context.deviceHash, this.#config.partitions);
    let filling = this.#filling[number] as TransitionBatch | null;
    if (filling === null) {
      filling = this.#pool.pop() ?? new TransitionBatch(BATCH_ROWS);
      this.#filling[number] = filling;
    }
    filling.push(decoder, context);
    if (filling.full) this.#send(number, context.watermarkBeforeUs);
  }

  #takeKnown(key: number | string): DeadLetterReason | undefined {
    const reason = this.#knownDeadLetters.get(key);
    if (reason !== undefined) this.#knownDeadLetters.delete(key);
    return reason;
  }

  /** Sends what was gathered to all partitions, with the watermark of now. */
  #sendAll(): void {
    const watermarkUs = this.#clock.watermarkUs;
    const moved = watermarkUs > this.#advancedToUs;
    this.#advancedToUs = watermarkUs;
    for (let number = 0; number < this.#actors.length; number++) {
      if (moved || this.#filling[number] !== null) this.#send(number, watermarkUs);
    }
  }

  #send(number: number, watermarkUs: number): void {
    const actor = this.#actors[number] as PartitionActor;
    const batch = this.#filling[number] ?? null;
    this.#filling[number] = null;
    this.#deliver(actor, { type: "advance", batch, watermarkUs }, batch?.count ?? 0);
  }

  #deliver(actor: PartitionActor, message: PartitionMessage, weight: number): void {
    // Mailboxes are looked at before each piece, and one below its high mark has room for a whole one.
    assert(actor.mailbox.offer(message, weight), "a mailbox that was not high has room for a piece");
    this.#scheduler.ready(actor);
  }

  #recycle(batch: TransitionBatch): void {
    const { source } = this.#parts;
    if (source.decided !== undefined) {
      for (let i = 0; i < batch.count; i++) {
        if (batch.suppressed[i] === 1) source.decided(batch.offset(i), "suppressed");
      }
    }
    batch.reset();
    if (this.#pool.length < POOL_BATCHES_MAX) this.#pool.push(batch);
  }

  #wakeAll(): void {
    for (const actor of this.#actors) {
      if (!actor.idle) this.#scheduler.ready(actor);
    }
  }

  #refuse(batch: RecordBatch, i: number, reason: DeadLetterReason, detail: string): void {
    this.#count(reason);
    const record = batch.bytes.subarray(batch.starts[i], batch.ends[i]);
    const oversize = batch.oversize.get(i);
    this.#writeDeadLetter(
      {
        reason,
        detail,
        record,
        offset: batch.offsets[i] as number,
        line: batch.lines[i] as number,
        part: this.#context.part,
        ...(oversize === undefined ? {} : { oversize }),
      },
      this.#epoch,
    );
  }

  #refuseLate(records: readonly LateRecord[], epoch: number): void {
    for (const { record, offset, line, part, eventTimeUs, watermarkUs } of records) {
      const detail = `Event time ${formatTimestamp(eventTimeUs)} is not after the watermark ` +
        `${formatTimestamp(watermarkUs)}, and triggers leave in event-time order`;
      this.#writeDeadLetter({ reason: "LATE", detail, record, offset, line, part }, epoch);
    }
  }

  /** The sink will never take a trigger: it is kept, and its id stays known. */
  #refuseTrigger(record: Uint8Array, detail: string, epoch: number): void {
    const { source, clock, notice } = this.#parts;
    if (this.#triggers.refused === 1) {
      notice(`A trigger is refused, and kept in the dead letters as ${REJECTED}, as more may be: ${detail}`);
    }
    const letter: DeadLetter = { reason: REJECTED, detail, source: source.name, position: null, record };
    this.#deadLetters.acceptLine(encodeDeadLetter(letter, clock.wallUs()), epoch);
  }

  #writeDeadLetter(
    letter: {
      reason: DeadLetterReason;
      detail: string;
      record: Uint8Array;
      offset: number;
      line: number;
      part: number;
      oversize?: { byteLength: number; hash: string };
    },
    epoch: number,
  ): void {
    const { source, clock } = this.#parts;
    const { offset, line, part, ...whole } = letter;
    const place = source.placeOf(offset, line);
    const { position, ...rest } = part === 0 || this.#messages === null
      ? { ...whole, position: place }
      : this.#messages.letterOf(whole, part, place);
    source.decided?.(offset, { reason: rest.reason, detail: rest.detail });
    const encoded = encodeDeadLetter({ ...rest, source: source.name, position }, clock.wallUs());
    this.#deadLetters.acceptLine(encoded, epoch);
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Waits until the partitions have handled all that they were sent. */
  async #drain(): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#isIdle()) {
      // After a failure nobody waits for this any more, and it would go round for ever.
      if (this.#scheduler.stopped) throw STOPPED;
      await this.#triggers.settled();
      this.#wakeAll();
      await clock.nextTurn();
    }
  }

  #isIdle(): boolean {
    return this.#scheduler.idle && this.#actors.every((actor) => actor.idle);
  }

  /** The input is complete: lateness is over, and what still waits is applied. */
  async #finish(): Promise<void> {
    this.#clock.flush();
    this.#sendAll();
    await this.#toAll((done) => ({ type: "finish", done }));
    this.#markChanged(this.#parts.clock.monotonicUs());
  }

  /** Sends a message to all partitions; resolves when all have said that they are done with it. */
  #toAll(
    message: (done: () => void, actor: PartitionActor, number: number) => PartitionMessage,
  ): Promise<void> {
    return new Promise((resolve) => {
      let left = this.#actors.length;
      this.#actors.forEach((actor, number) => {
        const done = (): void => {
          if (--left === 0) resolve();
        };
        this.#deliver(actor, message(done, actor, number), 0);
      });
    });
  }

  #onTick(tick: { wallUs: number; monotonicUs: number }): void {
    const { source } = this.#parts;
    const caughtUp = source.caughtUp() && !this.#paused && this.#isIdle();
    this.#clock.tick(tick, caughtUp);
    this.#watchOverdue(tick.monotonicUs);
    if (this.#clock.watermarkUs > this.#advancedToUs) {
      this.#sendAll();
      this.#markChanged(tick.monotonicUs);
    }
    this.#checkpointIfDue();
  }

  /**
   * Overdue deadlines that last longer than a tick: said once, and a metric as long as it lasts. Those that this tick makes
   * due the partitions have not been told of yet.
   */
  #watchOverdue(nowUs: number): void {
    const watermarkUs = this.#advancedToUs;
    const overdue = this.#actors.some(({ partition }) => partition.nextDeadlineUs <= watermarkUs) &&
      !this.#isIdle();
    if (!overdue) {
      this.#overdueSinceUs = Infinity;
      this.#warnedOverdue = false;
    } else if (this.#overdueSinceUs === Infinity) {
      this.#overdueSinceUs = nowUs;
    } else if (!this.#warnedOverdue && nowUs - this.#overdueSinceUs >= this.#config.dwell.tickUs) {
      this.#warnedOverdue = true;
      this.#parts.notice("Deadlines are overdue for longer than a tick: the partitions can't keep up");
    }
  }

  #markChanged(nowUs: number): void {
    this.#changed = true;
    this.#meter.changed(nowUs);
  }

  #checkpointIfDue(): void {
    if (this.#checkpointing !== null || this.#inBatch || !this.#changed) return;
    const nowUs = this.#parts.clock.monotonicUs();
    const due = nowUs - this.#checkpointAtUs >= this.#config.checkpoint.intervalUs;
    if (due || this.#parts.source.isAwaited?.() === true) this.#takeCheckpoint();
  }

  async #lastCheckpoint(): Promise<void> {
    await this.#checkpointing;
    if (this.#changed) {
      this.#takeCheckpoint();
      await this.#checkpointing;
    }
  }

  /** Draws a barrier here; what comes before it becomes durable beside the work. */
  #takeCheckpoint(): void {
    assert(this.#checkpointing === null, "one checkpoint at a time");
    const { clock } = this.#parts;
    this.#checkpointAtUs = clock.monotonicUs();
    // Where somebody waits for each checkpoint there are many of them.
    const sweeps = this.#checkpointAtUs - this.#sweptAtUs >= this.#config.checkpoint.intervalUs;
    if (sweeps) this.#sweptAtUs = this.#checkpointAtUs;
    this.#changed = false;
    this.#meter.barrier(this.#checkpointAtUs);
    this.#epoch++;
    this.#sendAll();
    const { watermarkUs, dedupClockUs } = this.#clock;
    const atBarrier = {
      clock: this.#clock.state(),
      watermarkUs: Number.isFinite(watermarkUs) ? watermarkUs : null,
      dedupClockUs: Number.isFinite(dedupClockUs) ? dedupClockUs : null,
      position: this.#position,
      counts: { ...Object.fromEntries(this.#counts), [READ]: this.#readBefore + this.#readNow },
      knownDeadLetters: [...this.#knownDeadLetters],
    };
    const met = this.#toAll((done, actor, number) => ({
      type: "barrier",
      sweeps,
      watermarkUs,
      take: () => {
        const whole = this.#log.addPartition(number, actor.partition, dedupClockUs, BARRIER_ROWS);
        if (whole) done();
        return whole;
      },
    }));
    this.#checkpointing = this.#complete(met, atBarrier).then(
      () => {
        this.#checkpointing = null;
        // Those who came while it was made wait for the next.
        if (this.#parts.source.isAwaited?.() === true) this.#checkpointIfDue();
      },
      (error) => {
        this.#checkpointing = null;
        this.#fail(error);
      },
    );
  }

  async #complete(met: Promise<void>, atBarrier: Omit<SplitState, "sink" | "deadLetters">): Promise<void> {
    await met;
    // In this order: what the sink refuses of the triggers are dead letters before the same barrier.
    const { position: sink, refused } = await this.#triggers.closeEpoch();
    const { position: deadLetters } = await this.#deadLetters.closeEpoch();
    const counts = { ...atBarrier.counts, [REJECTED]: (this.#counts.get(REJECTED) ?? 0) + refused };
    const commit = this.#log.finish({ ...atBarrier, counts, sink, deadLetters });
    await this.#parts.store.commit(commit);
    this.#meter.durable(commit, this.#parts.clock.monotonicUs());
    if (atBarrier.position !== null) await this.#parts.source.acknowledge(atBarrier.position);
  }
}

/** The reason of triggers that the sink refused. What was counted of them before this process began is with the other counts. */
const REJECTED = "SINK_REJECTED";

/** The count of records read, among those of a checkpoint. */
const READ = "read";
const HEARTBEAT = "heartbeat";
/** What was no transition by its format. */
const SKIPPED = "skipped";

/** Names a record among the dead letters that are known. */
function knownKey(offset: number, part: number): number | string {
  return part === 0 ? offset : `${offset}/${part}`;
}

/** Why reading was stopped. */
const STOPPED = new DOMException("Reading was stopped", "AbortError");

function offsetOf(position: Json): number | null {
  if (typeof position !== "object" || position === null || !("offset" in position)) return null;
  return typeof position.offset === "number" ? position.offset : null;
}
