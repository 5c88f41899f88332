/**
 * THE state machine: some devices' pairs, their dedup window, their timing wheel, and what waits for the watermark.
 *
 * ```
 *   record ──▶ receive ──▶ Admit: window, memory ──▶ ENTER, EXIT, DWELL passed on      (emit: arrival)
 *                 │
 *                 ├─ not late ─▶ waits ─┐
 *                 └─ late ─────▶ held ──┤ advanceTo(watermark): in event-time order
 *                                       ▼
 *                                 visit rules ──▶ DWELL, RETRACT, and with emit: ordered ENTER and EXIT
 *                                       │
 *                                       └─ deadlines in the wheel ──▶ DWELL
 * ```
 *
 * Values in, values out: time comes with the messages, and what is to be done goes into an {@link EffectBuffer}. A
 * record costs one look-up of its pair, 1.2 ids of 0.2 µs, two or three touches of the window, one of the wheel.
 *
 * For one pair everything happens in its order on the watermark's axis, however far the watermark jumps: a record that
 * is applied first has its pair's held group taken and its pair's earlier deadlines fired. Different pairs do not touch,
 * so their order is free, and the number of partitions changes nothing.
 *
 * @module
 */
import { assert } from "./assert.ts";
import { DamagedCheckpointError } from "./chunk.ts";
import type { Config } from "./config.ts";
import { Counters } from "./counters.ts";
import { DedupWindow } from "./dedup_window.ts";
import { type Applied, DwellRules, type Earned, type OldRecord } from "./dwell.ts";
import type { EffectBuffer } from "./effect.ts";
import type { FenceRules } from "./fence_rules.ts";
import {
  CODE_DWELL,
  CODE_ENTER,
  CODE_EXIT,
  CODE_PASSED_ON,
  CODE_RETRACT,
  type Identity,
  writeLanesHex,
} from "./identity.ts";
import { KIND_DWELL, KIND_ENTER, KIND_EXIT, KIND_STALE } from "./kind.ts";
import { murmur2 } from "./murmur2.ts";
import {
  APPLIED,
  END,
  ENTER,
  FLAGS,
  HELD,
  INSIDE,
  LAST_TOLD_SHIFT,
  LIVE,
  PairTable,
  ROW_BITS,
  ROW_MASK,
  RULE,
  SEEN,
  TIMES,
  TOLD_ENTER,
  TOLD_ENTER_SEQ,
  TOLD_EXIT,
  TOLD_EXIT_SEQ,
  WAITING,
  WORDS,
} from "./pair_table.ts";
import { type EntryExtras, HELD_RECORDS_MAX, ReorderBuffer } from "./reorder.ts";
import type { PendingCounts } from "./pending_counts.ts";
import { NO_ROW, TimingWheel } from "./timing_wheel.ts";
import { ToldLedger } from "./told_ledger.ts";
import type { TransitionBatch } from "./transition_batch.ts";
import { type ToldTrigger, TriggerFields, writeTrigger } from "./trigger.ts";

const LAST_TOLD_MASK = 3 << LAST_TOLD_SHIFT;
const LAST_TOLD_ENTER = 1 << LAST_TOLD_SHIFT;
const LAST_TOLD_EXIT = 2 << LAST_TOLD_SHIFT;

/** Share of a partition's pairs that is looked up as candidates at a time when there are too many. */
const EVICTION_SHARE = 0.01;

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

/** A number that several partitions share a bound of. */
export class SharedCount {
  /** How many there are now. */
  value = 0;

  /**
   * `capacity` is how many there should be at most. Where this is a part of a `whole`, what counts here counts there, and
   * its bound is the one that holds.
   */
  constructor(readonly capacity: number, readonly whole: SharedCount | null = null) {}

  /** Whether there should be no more. */
  get isFull(): boolean {
    const { value, capacity } = this.whole ?? this;
    return value >= capacity;
  }

  /** Counts; a negative number takes away. */
  add(count: number): void {
    this.value += count;
    if (this.whole !== null) this.whole.value += count;
  }
}

/** What the partitions of a process or a split share. */
export interface SharedBounds {
  /** Pairs of the process. */
  readonly pairs: SharedCount;
  /** Records of the split that wait or are held. */
  readonly waiting: SharedCount;
}

/** See the module's header. */
export class Partition {
  /** What this partition has counted; after a restore partition 0 goes on with the counts of the whole split. */
  readonly counters = new Counters();
  /** The pairs of its devices. */
  readonly pairs = new PairTable();
  /** Which ids were told lately. */
  readonly window: DedupWindow;
  /** The records that wait or are held. */
  readonly waiting: ReorderBuffer;
  /** What was told and is in no checkpoint. */
  readonly ledger = new ToldLedger();
  /**
   * Whether the records come again as they were after a crash. Then what was told takes its turn in its place, and says
   * nothing of a record before it; where they do not, it may be all that is known of what a client sends once more.
   */
  recordsComeAgain = false;

  readonly #config: Config;
  readonly #identity: Identity;
  readonly #rules: FenceRules;
  readonly #bounds: SharedBounds;
  readonly #wheel: TimingWheel;
  readonly #dwell: DwellRules;
  readonly #ordered: boolean;
  readonly #fields = new TriggerFields();
  readonly #revised = new Int32Array(8);
  readonly #hexBytes = new Uint8Array(32);
  readonly #effects: EffectBuffer;
  #watermarkUs = -Infinity;
  #clockUs = -Infinity;
  /** Records applied and deadlines fired in this turn. */
  #steps = 0;
  #sweepRow = 0;
  /** Rows longest outside, the last one first; see {@link #evict}. */
  #candidates: { row: number; seenUs: number }[] = [];
  #searchAtSize = 0;

  /** An empty partition; a checkpoint's is restored into it. */
  constructor(
    config: Config,
    parts: { identity: Identity; rules: FenceRules; bounds: SharedBounds; effects: EffectBuffer },
  ) {
    this.#config = config;
    this.#identity = parts.identity;
    this.#rules = parts.rules;
    this.#bounds = parts.bounds;
    this.#effects = parts.effects;
    this.#ordered = config.emit === "ordered";
    const { identity, dwell } = config;
    this.window = new DedupWindow({ ttlUs: identity.ttlUs, capacity: identity.capacity });
    this.waiting = new ReorderBuffer({ ordered: this.#ordered });
    // While a pair is inside, the END of its visit is its next deadline.
    this.#wheel = new TimingWheel(this.pairs.links, {
      segments: this.pairs.times,
      stride: TIMES,
      offset: END,
    });
    this.#dwell = new DwellRules(
      {
        pairs: this.pairs,
        wheel: this.#wheel,
        counters: this.counters,
        outcomes: {
          earned: (row, earned) => this.#emitDwell(row, earned),
          contradicted: (row, dwellTimeUs) => this.#contradicted(row, dwellTimeUs),
          wasTold: (row, dwellTimeUs) => this.#wasTold(row, dwellTimeUs),
        },
      },
      {
        widths: parts.identity,
        maxSkewUs: identity.maxSkewUs,
        onReenter: dwell.onReenter,
        thresholdsUs: parts.rules.thresholdsUs,
      },
    );
  }

  /** The watermark that everything up to was applied and fired at, µs. */
  get watermarkUs(): number {
    return this.#watermarkUs;
  }

  /** The dedup clock of the last message, µs. */
  get clockUs(): number {
    return this.#clockUs;
  }

  /** Lets the window go of what has expired by a dedup clock that no later message is behind. */
  expireWindow(clockUs: number): void {
    this.#clockUs = Math.max(this.#clockUs, clockUs);
    this.#setWindowClock(this.#clockUs);
    this.window.expire();
  }

  /** Deadlines ahead: thresholds of all current visits that are not yet earned. */
  get pendingDwells(): number {
    return this.#dwell.pending;
  }

  /** The first deadline there is, a lower bound in µs of event time; Infinity for none. */
  get nextDeadlineUs(): number {
    return this.#wheel.nextDeadlineUs();
  }

  /**
   * Counts deadlines by how far they lie ahead of the watermark, from up to `rowsMax` rows, each of which stands for those
   * between it and the next.
   */
  samplePending(counts: PendingCounts, rowsMax: number): void {
    const stride = Math.max(1, Math.ceil(this.pairs.rowCount / rowsMax));
    if (stride > 1) counts.isSample = true;
    counts.firstUs = Math.min(counts.firstUs, this.#wheel.nextDeadlineUs());
    for (let row = 0; row < this.pairs.rowCount; row += stride) {
      if (this.#wheel.isScheduled(row)) counts.add(this.pairs.time(row, END) - this.#watermarkUs, stride);
    }
  }

  /** Starts a turn: the steps of {@link advanceTo} and {@link finish} are counted from here. */
  beginTurn(): void {
    this.#steps = 0;
  }

  /**
   * Lets time pass: applies what waited for this watermark, takes the late groups that are due, fires deadlines.
   *
   * @param watermarkUs event time; a lower one than before is no error and does nothing
   * @returns false where `max_fires_per_turn` was reached: call again in another turn before anything else
   */
  advanceTo(watermarkUs: number): boolean {
    if (watermarkUs <= this.#watermarkUs) return true;
    const stepsMax = this.#config.dwell.maxFiresPerTurn;
    for (;;) {
      if (this.#steps >= stepsMax) return false;
      // Most often nothing is due; then it takes three comparisons, since this is asked for each record.
      if (watermarkUs >= this.waiting.quietUntilUs) {
        const entry = this.waiting.popDue(watermarkUs);
        if (entry !== NO_ROW) {
          this.#applyWaiting(entry);
          continue;
        }
      }
      if (this.waiting.heldCount > 0) {
        const late = this.waiting.dueGroup(watermarkUs);
        if (late !== NO_ROW) {
          this.#takeGroup(late);
          continue;
        }
      }
      if (watermarkUs < this.#wheel.quietUntilUs) break;
      const due = this.#wheel.popDue(watermarkUs);
      if (due === NO_ROW) break;
      const deadlineUs = this.pairs.time(due, END);
      const held = (this.pairs.word(due, FLAGS) & HELD) !== 0;
      if (held) this.#takeGroup(due);
      // One at a time, so that a turn's bound holds for each deadline; a group may have changed which one it is.
      this.#dwell.fireDue(due, held ? watermarkUs : deadlineUs);
    }
    this.#watermarkUs = watermarkUs;
    return true;
  }

  /**
   * Takes the transitions of a batch, and lets time pass between them.
   *
   * @param from the first one
   * @returns the one to go on with in another turn, where `max_fires_per_turn` was reached; the batch's count at its end
   */
  take(batch: TransitionBatch, from: number): number {
    if (!batch.prepared) this.#prepare(batch);
    for (let i = from; i < batch.count; i++) {
      const watermarkUs = batch.watermarkUs(i);
      if (watermarkUs > this.#watermarkUs) {
        // Most often nothing is due, and this is asked for each record.
        const quiet = watermarkUs < this.waiting.quietUntilUs && watermarkUs < this.#wheel.quietUntilUs &&
          this.waiting.heldCount === 0;
        if (quiet) this.#watermarkUs = watermarkUs;
        else if (!this.advanceTo(watermarkUs)) return i;
      }
      this.#receive(batch, i);
    }
    return batch.count;
  }

  /**
   * The input is complete: takes what is held and applies what waits, in order, each firing its own pair's deadlines
   * only. {@link advanceTo} the highest observed time came before.
   *
   * @returns false where `max_fires_per_turn` was reached: call again in another turn
   */
  finish(): boolean {
    const stepsMax = this.#config.dwell.maxFiresPerTurn;
    while (this.#steps < stepsMax) {
      const late = this.waiting.dueGroup(Infinity);
      if (late !== NO_ROW) {
        this.#takeGroup(late);
        this.#dwell.fireDue(late, this.#watermarkUs);
        continue;
      }
      const entry = this.waiting.popDue(Infinity);
      if (entry === NO_ROW) return true;
      // Behind the watermark no wheel fires: the pair's own deadlines come with its records.
      this.#dwell.fireDue(this.waiting.row(entry), this.waiting.timeUs(entry));
      this.#applyWaiting(entry);
    }
    return false;
  }

  /**
   * Takes the held groups that are due up to a watermark, without time moving on.
   *
   * @returns false where `max_fires_per_turn` was reached: call again in another turn
   */
  takeHeld(dueUs: number): boolean {
    const stepsMax = this.#config.dwell.maxFiresPerTurn;
    while (this.#steps < stepsMax) {
      const late = this.waiting.dueGroup(dueUs);
      if (late === NO_ROW) return true;
      this.#takeGroup(late);
      this.#dwell.fireDue(late, this.#watermarkUs);
      this.counters.heldGroupsFull++;
    }
    return false;
  }

  /** The watermark at which the first record that waits or is held would be let go; Infinity for none. */
  firstReleaseUs(): number {
    return Math.min(this.waiting.firstWaitingUs(), this.waiting.firstGroupDueUs());
  }

  /** Forgets some of the pairs that no record can reach any more: a slice at a time, so that no moment pays for all. */
  sweep(rowsMax: number): void {
    const pairs = this.pairs;
    const oldestUs = this.#clockUs - this.#config.time.maxAgeUs;
    const end = Math.min(this.#sweepRow + rowsMax, pairs.rowCount);
    for (let row = this.#sweepRow; row < end; row++) {
      const flags = pairs.word(row, FLAGS);
      if ((flags & (LIVE | INSIDE)) === LIVE && this.#isForgotten(row, oldestUs)) this.#release(row);
    }
    this.#sweepRow = end >= pairs.rowCount ? 0 : end;
    if (this.ledger.size > 0) this.ledger.expire(this.#clockUs);
  }

  /** Notes a trigger that the process before this one wrote after its last checkpoint. */
  noteTold(told: ToldTrigger): void {
    const device = encoder.encode(told.device);
    const fence = encoder.encode(told.fence);
    const seq = told.seq === null ? NOTHING : encoder.encode(told.seq);
    const bytes = new Uint8Array(device.length + fence.length + seq.length);
    bytes.set(device);
    bytes.set(fence, device.length);
    bytes.set(seq, device.length + fence.length);
    const fenceEnd = device.length + fence.length;
    const count = this.#identity.compute(
      told.code.charCodeAt(0),
      bytes,
      0,
      device.length,
      device.length,
      fenceEnd,
      told.eventTimeUs,
      fenceEnd,
      bytes.length,
    );
    // A line with another id was not made by this configuration; it is kept by its own name all the same.
    const edge = count === 2 ? this.#hex(4) : null;
    const enteredAtUs = told.late ? null : told.enteredAtUs;
    const { id, eventTimeUs } = told;
    const expiresUs = Math.max(this.#clockUs, eventTimeUs) + this.#config.time.maxAgeUs;
    this.ledger.add({ id, edge, eventTimeUs, expiresUs, enteredAtUs });
  }

  /** After the pairs and the waiting were restored: rebuilds what no checkpoint keeps. */
  finishRestore(state: { watermarkUs: number; clockUs: number; counters: Counters }): void {
    this.#watermarkUs = state.watermarkUs;
    this.#clockUs = state.clockUs;
    this.counters.add(state.counters);
    const pairs = this.pairs;
    if (!pairs.finishRestore()) throw new DamagedCheckpointError("Pairs are missing");
    for (let row = 0; row < pairs.rowCount; row++) {
      if ((pairs.word(row, FLAGS) & LIVE) === 0) continue;
      pairs.setWord(row, WAITING, 0);
      pairs.locate(row);
      pairs.setWord(row, RULE, this.#rules.match(pairs.keyBytes, pairs.fenceStart, pairs.fenceEnd));
    }
  }

  /**
   * The rules have changed since the state was written: what was told is kept by its threshold, and one that is new and
   * already past does not fire.
   */
  changeRules(old: FenceRules): void {
    const pairs = this.pairs;
    for (let row = 0; row < pairs.rowCount; row++) {
      if ((pairs.word(row, FLAGS) & LIVE) === 0) continue;
      pairs.locate(row);
      const before = old.thresholdsUs[old.match(pairs.keyBytes, pairs.fenceStart, pairs.fenceEnd)] ?? [];
      this.#dwell.changeThresholds(row, before, this.#watermarkUs);
    }
  }

  /** After {@link finishRestore} and any change of rules: deadlines are computed, not stored. */
  scheduleDeadlines(): void {
    const pairs = this.pairs;
    this.#bounds.pairs.add(pairs.size);
    this.#bounds.waiting.value += this.waiting.size;
    for (let entry = 0; entry < this.waiting.entryCount; entry++) {
      if (!this.waiting.isLive(entry)) continue;
      const row = this.waiting.row(entry);
      pairs.setWord(row, WAITING, pairs.word(row, WAITING) + 1);
      if (this.waiting.isHeld(entry)) pairs.setWord(row, FLAGS, pairs.word(row, FLAGS) | HELD);
    }
    for (let row = 0; row < pairs.rowCount; row++) {
      this.#dwell.resume(row);
    }
  }

  /** Before a batch is taken: computes what its records will be looked up by, and touches the memory that takes. */
  #prepare(batch: TransitionBatch): void {
    batch.prepared = true;
    const { pairHashes, lanes, idCounts } = batch;
    for (let i = 0; i < batch.count; i++) {
      pairHashes[i] = pairHash(batch.deviceHash(i), batch.bytes(i), batch.fenceStart(i), batch.fenceEnd(i));
    }
    this.pairs.prefetch(pairHashes, batch.count);
    this.window.expire();
    if (this.#ordered) return;
    const ownLanes = this.#identity.lanes;
    for (let i = 0; i < batch.count; i++) {
      const kind = batch.kind(i);
      if (kind !== KIND_ENTER && kind !== KIND_EXIT) {
        idCounts[i] = 0;
        continue;
      }
      idCounts[i] = this.#computeIds(kind === KIND_ENTER ? CODE_ENTER : CODE_EXIT, batch, i);
      for (let word = 0; word < 8; word++) lanes[i * 8 + word] = ownLanes[word] as number;
    }
    this.window.prefetch(lanes, idCounts, batch.count);
  }

  /** Takes one transition; {@link advanceTo} its watermark has returned true. */
  #receive(batch: TransitionBatch, i: number): void {
    const clockUs = batch.dedupClockUs(i);
    assert(clockUs >= this.#clockUs, "the dedup clock of a partition's messages never goes back");
    this.#clockUs = clockUs;
    this.#setWindowClock(clockUs);
    this.counters.received++;
    const kind = batch.kind(i);
    const timeUs = batch.eventTimeUs(i);
    const late = timeUs <= batch.watermarkUs(i) || batch.knownLate(i);
    const beyondWindow = clockUs - timeUs >= this.#config.identity.ttlUs;
    if (late) this.counters.late++;
    if (kind === KIND_DWELL) {
      this.#passOn(batch, i, late, beyondWindow);
      return;
    }
    const row = this.#rowOf(batch, i);
    const seqKey = this.#seqKey(batch.bytes(i), batch.seqStart(i), batch.seqEnd(i));
    let suppressed = false;
    if (kind === KIND_STALE) this.counters.silent++;
    else if (!this.#ordered) suppressed = !this.#emitOnArrival(batch, i, row, seqKey, late, beyondWindow);
    else if (late) suppressed = this.#refuseLate(batch, i, row, seqKey);

    this.pairs.setWord(row, WAITING, this.pairs.word(row, WAITING) + 1);
    this.#bounds.waiting.value++;
    const extras = this.#extras(batch, i, seqKey, late);
    if (!late) {
      this.waiting.wait(batch, i, row, beyondWindow, extras);
      return;
    }
    const flags = this.pairs.word(row, FLAGS);
    if ((flags & HELD) === 0) this.pairs.setWord(row, FLAGS, flags | HELD);
    const dueUs = batch.watermarkUs(i) + this.#config.dwell.latenessUs;
    const record = { row, kind, timeUs, clockUs, suppressed, beyondWindow, extras };
    const full = this.waiting.hold(record, dueUs) >= HELD_RECORDS_MAX;
    if (full) this.counters.heldGroupsFull++;
    // Without lateness nothing is waited for.
    if (full || dueUs <= this.#watermarkUs) {
      this.#takeGroup(row);
      this.#dwell.fireDue(row, this.#watermarkUs);
    }
  }

  /** The pair's row for an arriving record; a new one where it is not known, or forgotten. */
  #rowOf(batch: TransitionBatch, i: number): number {
    const pairs = this.pairs;
    const bytes = batch.bytes(i);
    const deviceStart = batch.deviceStart(i);
    const deviceEnd = batch.deviceEnd(i);
    const fenceStart = batch.fenceStart(i);
    const fenceEnd = batch.fenceEnd(i);
    const timeUs = batch.eventTimeUs(i);
    const hash = batch.pairHashes[i] as number;
    let row = pairs.find(hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd);
    if (row === NO_ROW) {
      if (this.#bounds.pairs.isFull) this.#evict();
      row = pairs.insert(hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd);
      this.#bounds.pairs.add(1);
      pairs.setWord(row, RULE, this.#rules.match(bytes, fenceStart, fenceEnd));
    } else if (
      (pairs.word(row, FLAGS) & INSIDE) === 0 &&
      this.#isForgotten(row, this.#clockUs - this.#config.time.maxAgeUs)
    ) {
      pairs.touch(row);
      const rule = pairs.word(row, RULE);
      pairs.clear(row);
      pairs.setWord(row, RULE, rule);
    }
    const times = pairs.times[row >>> ROW_BITS] as Float64Array;
    const seen = (row & ROW_MASK) * TIMES + SEEN;
    if (timeUs > (times[seen] as number)) {
      times[seen] = timeUs;
      pairs.touch(row);
    }
    return row;
  }

  /** Whether a pair that is outside can be forgotten: nothing of it waits, and its last transition is too old. */
  #isForgotten(row: number, oldestUs: number): boolean {
    return this.pairs.word(row, WAITING) === 0 && this.pairs.time(row, SEEN) < oldestUs;
  }

  #release(row: number): void {
    this.pairs.release(row);
    this.#bounds.pairs.add(-1);
  }

  /** Makes room for a pair: the one that is longest outside goes. Where all are inside, the table grows. */
  #evict(): void {
    const pairs = this.pairs;
    for (;;) {
      const candidate = this.#candidates.pop();
      if (candidate === undefined) {
        if (pairs.size < this.#searchAtSize || !this.#findCandidates()) {
          this.counters.pairsOverCapacity++;
          return;
        }
        continue;
      }
      const flags = pairs.word(candidate.row, FLAGS);
      if ((flags & (LIVE | INSIDE)) !== LIVE || pairs.word(candidate.row, WAITING) !== 0) continue;
      if (pairs.time(candidate.row, SEEN) !== candidate.seenUs) continue;
      this.#release(candidate.row);
      this.counters.pairsEvicted++;
      return;
    }
  }

  #findCandidates(): boolean {
    const pairs = this.pairs;
    const outside: { row: number; seenUs: number }[] = [];
    for (let row = 0; row < pairs.rowCount; row++) {
      const words = pairs.words[row >>> ROW_BITS] as Int32Array;
      const at = (row & ROW_MASK) * WORDS;
      if (((words[at + FLAGS] as number) & (LIVE | INSIDE)) !== LIVE || words[at + WAITING] !== 0) continue;
      outside.push({ row, seenUs: pairs.time(row, SEEN) });
    }
    outside.sort((a, b) => a.seenUs - b.seenUs);
    outside.length = Math.min(outside.length, Math.max(1, Math.ceil(pairs.size * EVICTION_SHARE)));
    this.#candidates = outside.reverse();
    // Where there is none, looking again has to wait until there can be some worth it.
    this.#searchAtSize = outside.length > 0 ? 0 : pairs.size + Math.ceil(pairs.size * EVICTION_SHARE);
    return outside.length > 0;
  }

  /** A DWELL that an upstream made: deduplicated and passed on; it changes no state. */
  #passOn(batch: TransitionBatch, i: number, late: boolean, beyondWindow: boolean): void {
    const count = this.#computeIds(CODE_PASSED_ON, batch, i);
    if (!this.#admitIfNovel(count)) {
      this.counters.suppressed++;
      batch.suppressed[i] = 1;
      return;
    }
    this.counters.passedOn++;
    if (this.#isTold(count)) return;
    const fields = this.#fieldsOf(batch, i, late, beyondWindow);
    fields.kind = "DWELL";
    fields.leavesAtOnce = true;
    writeTrigger(this.#effects, this.#identity.lanes, fields);
  }

  /** Emits an ENTER or EXIT as it arrives, unless it is not novel. */
  #emitOnArrival(
    batch: TransitionBatch,
    i: number,
    row: number,
    seqKey: number,
    late: boolean,
    beyondWindow: boolean,
  ): boolean {
    const enter = batch.kind(i) === KIND_ENTER;
    const timeUs = batch.eventTimeUs(i);
    const count = this.#preparedIds(batch, i);
    if (this.#isRemembered(row, enter, timeUs, seqKey) || !this.#admitIfNovel(count)) {
      this.counters.suppressed++;
      batch.suppressed[i] = 1;
      return false;
    }
    this.#remember(row, enter, timeUs, seqKey);
    if (enter) this.counters.enter++;
    else this.counters.exit++;
    if (this.#isTold(count)) return true;
    const fields = this.#fieldsOf(batch, i, late, beyondWindow);
    fields.kind = enter ? "ENTER" : "EXIT";
    writeTrigger(this.#effects, this.#identity.lanes, fields);
    return true;
  }

  /** A late ENTER or EXIT where triggers leave in order: suppressed if known, else a dead letter. Claims no id. */
  #refuseLate(batch: TransitionBatch, i: number, row: number, seqKey: number): boolean {
    const enter = batch.kind(i) === KIND_ENTER;
    const timeUs = batch.eventTimeUs(i);
    if (!batch.knownLate(i)) {
      const count = this.#computeIds(enter ? CODE_ENTER : CODE_EXIT, batch, i);
      if (this.#isRemembered(row, enter, timeUs, seqKey) || !this.#isNovel(count) || this.#wasToldBefore()) {
        this.counters.suppressed++;
        batch.suppressed[i] = 1;
        return true;
      }
      this.#effects.lateRecords.push({
        record: batch.record(i),
        offset: batch.offset(i),
        line: batch.line(i),
        part: batch.part(i),
        eventTimeUs: timeUs,
        watermarkUs: batch.watermarkUs(i),
      });
    }
    this.counters.lateRefused++;
    return false;
  }

  #extras(batch: TransitionBatch, i: number, seqKey: number, late: boolean): EntryExtras | null {
    const attributesStart = batch.attributesStart(i);
    const attributesEnd = batch.attributesEnd(i);
    const leavesLater = this.#ordered && !late;
    if (Number.isNaN(seqKey) && (!leavesLater || attributesEnd === attributesStart)) return null;
    const bytes = batch.bytes(i);
    if (!leavesLater) return { seqKey, seq: NOTHING, attributes: NOTHING };
    return {
      seqKey,
      seq: bytes.slice(batch.seqStart(i), batch.seqEnd(i)),
      attributes: bytes.slice(attributesStart, attributesEnd),
    };
  }

  /** Applies a record that the watermark has reached. */
  #applyWaiting(entry: number): void {
    const waiting = this.waiting;
    const row = waiting.row(entry);
    if ((this.pairs.word(row, FLAGS) & HELD) !== 0) this.#takeGroup(row);
    const kind = waiting.kind(entry);
    const timeUs = waiting.timeUs(entry);
    const seqKey = waiting.seqKey(entry);
    if (timeUs < this.pairs.time(row, APPLIED)) {
      // Only behind the end of an input that was declared complete and grew after all.
      this.#earnOld(row, [entry]);
      if (waiting.untold(entry)) this.counters.absorbed++;
    } else {
      const visitStartUs = this.pairs.time(row, ENTER);
      const applied = this.#dwell.apply(row, kind, timeUs, seqKey);
      if (waiting.untold(entry)) this.#tellInOrder(entry, row, applied, visitStartUs);
    }
    this.#releaseEntry(entry);
  }

  /** Takes a pair's late records together, in event-time order. */
  #takeGroup(row: number): void {
    const pairs = this.pairs;
    const waiting = this.waiting;
    pairs.touch(row);
    pairs.setWord(row, FLAGS, pairs.word(row, FLAGS) & ~HELD);
    const group = waiting.takeGroup(row);
    const appliedUs = pairs.time(row, APPLIED);
    let old = 0;
    while (old < group.length && waiting.timeUs(group[old] as number) < appliedUs) old++;
    if (old > 0) this.#earnOld(row, group.slice(0, old));
    for (let i = old; i < group.length; i++) {
      const entry = group[i] as number;
      const kind = waiting.kind(entry);
      const timeUs = waiting.timeUs(entry);
      const seqKey = waiting.seqKey(entry);
      this.#dwell.contradict(row, kind, timeUs, seqKey);
      this.#dwell.apply(row, kind, timeUs, seqKey);
    }
    for (const entry of group) this.#releaseEntry(entry);
  }

  #earnOld(row: number, entries: readonly number[]): void {
    const waiting = this.waiting;
    const records = entries.map((entry): OldRecord => ({
      kind: waiting.kind(entry),
      timeUs: waiting.timeUs(entry),
      seqKey: waiting.seqKey(entry),
      suppressed: waiting.suppressed(entry),
      beyondWindow: waiting.beyondWindow(entry),
      clockUs: waiting.clockUs(entry),
    }));
    this.#dwell.earnOld(row, records);
  }

  #releaseEntry(entry: number): void {
    this.#steps++;
    const row = this.waiting.row(entry);
    this.pairs.setWord(row, WAITING, this.pairs.word(row, WAITING) - 1);
    this.waiting.release(entry);
    this.#bounds.waiting.value--;
  }

  /** Where triggers leave in order: tells an ENTER or EXIT that was applied, if it is to be told. */
  #tellInOrder(entry: number, row: number, applied: Applied, visitStartUs: number): void {
    const pairs = this.pairs;
    const waiting = this.waiting;
    const enter = waiting.kind(entry) === KIND_ENTER;
    const lastTold = pairs.word(row, FLAGS) & LAST_TOLD_MASK;
    const wanted = enter
      ? applied === "entered" &&
        !(lastTold === LAST_TOLD_ENTER && this.#config.dwell.onReenter === "continue")
      : applied !== "nothing" && lastTold !== LAST_TOLD_EXIT;
    if (!wanted) {
      this.counters.absorbed++;
      return;
    }
    const timeUs = waiting.timeUs(entry);
    const extras = waiting.extras(entry);
    const seqKey = extras?.seqKey ?? NaN;
    const seq = extras?.seq ?? NOTHING;
    const count = this.#computeRowIds(enter ? CODE_ENTER : CODE_EXIT, row, timeUs, seq);
    this.#setWindowClock(waiting.clockUs(entry));
    if (this.#isRemembered(row, enter, timeUs, seqKey) || !this.#admitIfNovel(count)) {
      this.counters.suppressed++;
      return;
    }
    this.#remember(row, enter, timeUs, seqKey);
    const told = enter ? LAST_TOLD_ENTER : LAST_TOLD_EXIT;
    pairs.setWord(row, FLAGS, (pairs.word(row, FLAGS) & ~LAST_TOLD_MASK) | told);
    if (enter) this.counters.enter++;
    else this.counters.exit++;
    if (this.#isTold(count)) return;
    const fields = this.#rowFields(row);
    fields.kind = enter ? "ENTER" : "EXIT";
    fields.eventTimeUs = timeUs;
    if (applied === "ended") {
      fields.enteredAtUs = visitStartUs;
      fields.visitUs = timeUs - visitStartUs;
    }
    this.#setExtras(extras);
    fields.beyondWindow = waiting.beyondWindow(entry);
    writeTrigger(this.#effects, this.#identity.lanes, fields);
  }

  /** Tells a DWELL, but not once more that of a late visit: where triggers leave in order its ENTER has claimed no id. */
  #emitDwell(row: number, earned: Earned): boolean {
    const dwellTimeUs = earned.enteredAtUs + earned.thresholdUs;
    const count = this.#computeRowIds(CODE_DWELL, row, dwellTimeUs, NOTHING);
    this.#steps++;
    if (earned.old !== null && this.#ordered) {
      this.#setWindowClock(earned.old.clockUs);
      if (!this.window.admit(this.#identity.lanes, 0)) return false;
    }
    this.counters.dwell++;
    if (this.#isTold(count)) return true;
    const fields = this.#rowFields(row);
    fields.kind = "DWELL";
    fields.eventTimeUs = dwellTimeUs;
    fields.enteredAtUs = earned.enteredAtUs;
    fields.dwellUs = earned.thresholdUs;
    fields.late = earned.old !== null;
    fields.beyondWindow = earned.old?.beyondWindow ?? false;
    writeTrigger(this.#effects, this.#identity.lanes, fields);
    // What a late record brings was due before it came: that is the record's lag, and not ours.
    if (dwellTimeUs > this.#watermarkUs) this.#effects.firedUs.push(dwellTimeUs);
    return true;
  }

  #contradicted(row: number, dwellTimeUs: number): void {
    this.counters.dwellContradicted++;
    if (this.#config.dwell.onContradiction !== "retract") return;
    this.#computeRowIds(CODE_DWELL, row, dwellTimeUs, NOTHING);
    this.#revised.set(this.#identity.lanes.subarray(0, 4), 4);
    const count = this.#computeRowIds(CODE_RETRACT, row, dwellTimeUs, NOTHING);
    this.#setWindowClock(this.#clockUs);
    if (!this.#admitIfNovel(count)) return;
    this.counters.retract++;
    if (this.#isTold(count)) return;
    this.#revised.set(this.#identity.lanes.subarray(0, 4));
    const fields = this.#rowFields(row);
    fields.kind = "RETRACT";
    fields.eventTimeUs = dwellTimeUs;
    writeTrigger(this.#effects, this.#revised, fields);
  }

  #wasTold(row: number, dwellTimeUs: number): boolean {
    if (this.ledger.size === 0) return false;
    const count = this.#computeRowIds(CODE_DWELL, row, dwellTimeUs, NOTHING);
    // Another visit may earn a DWELL of the same bucket, so of the same id, or by another threshold: it is not meant.
    const enteredAtUs = this.pairs.time(row, ENTER);
    return this.ledger.hasDwell(this.#hex(0), dwellTimeUs, enteredAtUs) && this.#isTold(count);
  }

  /** Whether the pair's memory knows a transition, however old its id. */
  #isRemembered(row: number, enter: boolean, timeUs: number, seqKey: number): boolean {
    const toldUs = this.pairs.time(row, enter ? TOLD_ENTER : TOLD_EXIT);
    if (toldUs === 0) return false;
    const toldSeq = this.pairs.seq(row, enter ? TOLD_ENTER_SEQ : TOLD_EXIT_SEQ);
    if (!Number.isNaN(seqKey) || !Number.isNaN(toldSeq)) return seqKey === toldSeq;
    return Math.abs(timeUs - toldUs) <= this.#config.identity.maxSkewUs;
  }

  #remember(row: number, enter: boolean, timeUs: number, seqKey: number): void {
    const column = enter ? TOLD_ENTER : TOLD_EXIT;
    if (timeUs < this.pairs.time(row, column)) return;
    this.pairs.touch(row);
    this.pairs.setTime(row, column, timeUs);
    this.pairs.setSeq(row, enter ? TOLD_ENTER_SEQ : TOLD_EXIT_SEQ, seqKey);
  }

  /** From here on the window is asked by this clock: that of the last record, or of one that waited and is applied. */
  #setWindowClock(clockUs: number): void {
    this.window.clockUs = clockUs;
    this.window.oldestClockUs = this.#ordered
      ? Math.min(this.#clockUs, this.waiting.oldestClockUs())
      : clockUs;
  }

  /** Whether none of the last ids is known: to the window, or as a near copy of what a crashed process told. */
  #isNovel(count: 1 | 2): boolean {
    const lanes = this.#identity.lanes;
    if (this.window.has(lanes, 0)) return false;
    if (count === 1) return true;
    if (this.window.has(lanes, 4)) return false;
    if (this.ledger.size === 0 || this.recordsComeAgain) return true;
    return this.ledger.has(this.#hex(0)) || !this.ledger.hasEdge(this.#hex(4));
  }

  /** Whether a crashed process told the last id, and this is no place for it to be told again. */
  #wasToldBefore(): boolean {
    return this.ledger.size > 0 && !this.recordsComeAgain && this.ledger.has(this.#hex(0));
  }

  /** Admit: whether a trigger with the last ids is novel; if so, they are in the window from here on. */
  #admitIfNovel(count: 1 | 2): boolean {
    if (count === 1 && this.ledger.size === 0) return this.window.admit(this.#identity.lanes, 0);
    if (!this.#isNovel(count)) return false;
    this.#admit(count);
    return true;
  }

  #admit(count: 1 | 2): void {
    const lanes = this.#identity.lanes;
    this.window.put(lanes, 0);
    if (count === 2) this.window.put(lanes, 4);
  }

  /** Whether the trigger with the last ids was written by a process that crashed before its checkpoint. */
  #isTold(count: 1 | 2): boolean {
    if (this.ledger.size === 0) return false;
    return this.ledger.take(this.#hex(0), count === 2 ? this.#hex(4) : null);
  }

  #hex(base: 0 | 4): string {
    writeLanesHex(this.#hexBytes, 0, this.#identity.lanes, base);
    return String.fromCharCode(...this.#hexBytes);
  }

  #preparedIds(batch: TransitionBatch, i: number): 1 | 2 {
    const ownLanes = this.#identity.lanes;
    for (let word = 0; word < 8; word++) ownLanes[word] = batch.lanes[i * 8 + word] as number;
    return batch.idCounts[i] as 1 | 2;
  }

  #computeIds(code: number, batch: TransitionBatch, i: number): 1 | 2 {
    return this.#identity.compute(
      code,
      batch.bytes(i),
      batch.deviceStart(i),
      batch.deviceEnd(i),
      batch.fenceStart(i),
      batch.fenceEnd(i),
      batch.eventTimeUs(i),
      batch.seqStart(i),
      batch.seqEnd(i),
    );
  }

  #computeRowIds(code: number, row: number, timeUs: number, seq: Uint8Array): 1 | 2 {
    const pairs = this.pairs;
    pairs.locate(row);
    let bytes = pairs.keyBytes;
    let { deviceStart, deviceEnd, fenceStart, fenceEnd } = pairs;
    if (seq.length > 0) {
      bytes = new Uint8Array(fenceEnd - deviceStart + seq.length);
      bytes.set(pairs.keyBytes.subarray(deviceStart, fenceEnd));
      bytes.set(seq, fenceEnd - deviceStart);
      deviceEnd -= deviceStart;
      fenceStart -= deviceStart;
      fenceEnd -= deviceStart;
      deviceStart = 0;
    }
    const seqEnd = seq.length > 0 ? bytes.length : fenceEnd;
    return this.#identity.compute(
      code,
      bytes,
      deviceStart,
      deviceEnd,
      fenceStart,
      fenceEnd,
      timeUs,
      fenceEnd,
      seqEnd,
    );
  }

  #fieldsOf(batch: TransitionBatch, i: number, late: boolean, beyondWindow: boolean): TriggerFields {
    const fields = this.#fields;
    fields.clearOptional();
    fields.bytes = fields.extraBytes = batch.bytes(i);
    fields.deviceStart = batch.deviceStart(i);
    fields.deviceEnd = batch.deviceEnd(i);
    fields.fenceStart = batch.fenceStart(i);
    fields.fenceEnd = batch.fenceEnd(i);
    fields.eventTimeUs = batch.eventTimeUs(i);
    fields.attributesStart = batch.attributesStart(i);
    fields.attributesEnd = batch.attributesEnd(i);
    fields.seqStart = batch.seqStart(i);
    fields.seqEnd = batch.seqEnd(i);
    fields.late = late;
    fields.beyondWindow = beyondWindow;
    return fields;
  }

  #rowFields(row: number): TriggerFields {
    const fields = this.#fields;
    const pairs = this.pairs;
    pairs.locate(row);
    fields.clearOptional();
    fields.bytes = pairs.keyBytes;
    fields.deviceStart = pairs.deviceStart;
    fields.deviceEnd = pairs.deviceEnd;
    fields.fenceStart = pairs.fenceStart;
    fields.fenceEnd = pairs.fenceEnd;
    return fields;
  }

  #setExtras(extras: EntryExtras | undefined): void {
    if (extras === undefined) return;
    const fields = this.#fields;
    const bytes = new Uint8Array(extras.seq.length + extras.attributes.length);
    bytes.set(extras.seq);
    bytes.set(extras.attributes, extras.seq.length);
    fields.extraBytes = bytes;
    fields.seqEnd = fields.attributesStart = extras.seq.length;
    fields.attributesEnd = bytes.length;
  }

  /** A number that stands for a seq: an integer itself, other texts by 52 bits of their hash, below zero. */
  #seqKey(bytes: Uint8Array, start: number, end: number): number {
    if (end === start) return NaN;
    let value = 0;
    let integer = end - start <= 16 && (bytes[start] !== 0x30 || end - start === 1);
    for (let i = start; i < end && integer; i++) {
      const digit = (bytes[i] as number) - 0x30;
      integer = digit >= 0 && digit <= 9;
      value = value * 10 + digit;
    }
    if (integer && value <= Number.MAX_SAFE_INTEGER) return value;
    return -1 - Number(this.#identity.checksum(bytes.subarray(start, end)) >> 12n);
  }
}

/** The hash of a pair: that of its device, by which it is routed, carried on over the fence. */
export function pairHash(
  deviceHash: number,
  bytes: Uint8Array,
  fenceStart: number,
  fenceEnd: number,
): number {
  // The device's hash is spread first: a fence that bears its device's name would otherwise leave nothing of both.
  const hash = Math.imul(
    Math.imul(deviceHash, 0x85EBCA6B) ^ murmur2(bytes, fenceStart, fenceEnd),
    0x9E3779B1,
  );
  return (hash ^ (hash >>> 15)) >>> 0;
}
