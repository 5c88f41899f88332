/**
 * The visit rules of SPEC 3, and nothing else: what an ENTER, EXIT or STALE does to its pair, what a visit earns, what a
 * late record contradicts.
 *
 * ```
 *                ENTER: a visit starts, deadlines at enter + D
 *          ┌────────────────────────────────────────────────────┐
 *   outside                                                    inside ──┐ ENTER, another crossing: one visit ends,
 *          └────────────────────────────────────────────────────┘   ▲───┘ the next starts (or, with `continue`, nothing)
 *                EXIT, STALE: deadlines up to then fire, the rest is cancelled
 * ```
 *
 * A pair remembers two visits: this one (or, outside, the last) and the one before, since a late record may contradict
 * what either told. Records come in event-time order; copies are known by their crossing, not by the dedup window, so
 * that what the window forgets cannot change a visit.
 *
 * @module
 */
import type { Counters } from "./counters.ts";
import { type IdentityOptions, shareAnId } from "./identity.ts";
import { type Kind, KIND_ENTER, KIND_EXIT, KIND_STALE } from "./kind.ts";
import {
  APPLIED,
  APPLIED_KINDS_SHIFT,
  CONTRADICTED,
  END,
  END_KIND_SHIFT,
  ENDED_BY_ENTER,
  ENDED_BY_EXIT,
  ENDED_BY_STALE,
  ENTER,
  ENTER_SEQ,
  EXIT_SEQ,
  FLAGS,
  HAS_PREVIOUS,
  HAS_VISIT,
  INSIDE,
  NEXT_SHIFT,
  type PairTable,
  PREVIOUS_END,
  PREVIOUS_END_KIND_SHIFT,
  PREVIOUS_ENTER,
  PREVIOUS_ENTER_SEQ,
  PREVIOUS_EXIT_SEQ,
  RULE,
  TOLD,
} from "./pair_table.ts";
import type { TimingWheel } from "./timing_wheel.ts";

const NEXT_MASK = 31 << NEXT_SHIFT;
const KINDS_MASK = 7 << APPLIED_KINDS_SHIFT;
const END_KIND_MASK = 3 << END_KIND_SHIFT;
const PREVIOUS_END_KIND_MASK = 3 << PREVIOUS_END_KIND_SHIFT;

/** What applying a record did. */
export type Applied =
  /** An ENTER that started a visit. */
  | "entered"
  /** An EXIT or STALE that ended one. */
  | "ended"
  /** An EXIT or STALE of a pair that was outside. */
  | "outside"
  /** A copy, a stray copy, or an announcement of a presence that is known. */
  | "nothing";

/** What the rules tell their owner, which makes triggers of it. */
export interface DwellOutcomes {
  /** A visit has earned a threshold; false where that was told before, which only a visit in the past is asked for. */
  earned(row: number, earned: Earned): boolean;
  /** A DWELL that was told at this event time is contradicted: called once a DWELL. */
  contradicted(row: number, dwellTimeUs: number): void;
  /** Whether this DWELL was told by a process that crashed before it could note it; forgets it if so. */
  wasTold(row: number, dwellTimeUs: number): boolean;
}

/** A threshold that a visit earned. */
export interface Earned {
  /** When the visit began, µs. */
  readonly enteredAtUs: number;
  /** Which threshold was earned, µs. */
  readonly thresholdUs: number;
  /** The ENTER of a visit in the past, which late records brought; null for the pair's own visit. */
  readonly old: OldRecord | null;
}

/** A late record that is older than what was applied. */
export interface OldRecord {
  /** ENTER, EXIT or STALE. */
  readonly kind: Kind;
  /** Event time, µs. */
  readonly timeUs: number;
  /** The seq as a number that stands for it; NaN for none. */
  readonly seqKey: number;
  /** Whether Admit had suppressed it on arrival. */
  readonly suppressed: boolean;
  /** Whether the window could no longer vouch for it on arrival. */
  readonly beyondWindow: boolean;
  /** The dedup clock that it came with, µs. */
  readonly clockUs: number;
}

/** The configuration of the rules. */
export interface DwellOptions {
  /** Bucket and guard: they say what is the same crossing. */
  readonly widths: IdentityOptions;
  /** How far the time of a copy may be off, µs. */
  readonly maxSkewUs: number;
  /** What an ENTER does while inside. */
  readonly onReenter: "restart" | "continue";
  /** Thresholds in µs, ascending, by the pair's RULE. */
  readonly thresholdsUs: readonly (readonly number[])[];
}

/** See the module's header. */
export class DwellRules {
  /** Deadlines that have not passed, of all visits. */
  pending = 0;

  readonly #pairs: PairTable;
  readonly #wheel: TimingWheel;
  readonly #options: DwellOptions;
  readonly #outcomes: DwellOutcomes;
  readonly #counters: Counters;

  /** Works on the rows of a partition's pairs. */
  constructor(
    parts: { pairs: PairTable; wheel: TimingWheel; counters: Counters; outcomes: DwellOutcomes },
    options: DwellOptions,
  ) {
    this.#pairs = parts.pairs;
    this.#wheel = parts.wheel;
    this.#counters = parts.counters;
    this.#outcomes = parts.outcomes;
    this.#options = options;
  }

  /** Applies a record that is not older than the last one applied. */
  apply(row: number, kind: Kind, timeUs: number, seqKey: number): Applied {
    const pairs = this.#pairs;
    pairs.touch(row);
    if (!this.#isHeard(row, kind, timeUs)) return "nothing";
    return kind === KIND_ENTER ? this.#enter(row, timeUs, seqKey) : this.#leave(row, kind, timeUs, seqKey);
  }

  /** Fires the thresholds of the current visit that are earned by `nowUs`; schedules the next. */
  fireDue(row: number, nowUs: number): void {
    const pairs = this.#pairs;
    const flags = pairs.word(row, FLAGS);
    if ((flags & INSIDE) === 0) return;
    const thresholdsUs = this.#thresholds(row);
    const enteredAtUs = pairs.time(row, ENTER);
    let next = (flags & NEXT_MASK) >>> NEXT_SHIFT;
    const first = next;
    while (next < thresholdsUs.length && enteredAtUs + (thresholdsUs[next] as number) <= nowUs) {
      this.#fire(row, next, enteredAtUs, thresholdsUs[next] as number);
      next++;
    }
    if (next !== first) {
      this.pending -= next - first;
      if (this.#wheel.isScheduled(row)) this.#wheel.cancel(row);
      pairs.touch(row);
      pairs.setWord(row, FLAGS, (pairs.word(row, FLAGS) & ~NEXT_MASK) | (next << NEXT_SHIFT));
    }
    if (!this.#wheel.isScheduled(row)) this.#schedule(row);
  }

  /** Carries what a pair has told over from other thresholds to those of its rule. */
  changeThresholds(row: number, beforeUs: readonly number[], watermarkUs: number): void {
    const pairs = this.#pairs;
    const flags = pairs.word(row, FLAGS);
    if ((flags & HAS_VISIT) === 0) return;
    const thresholdsUs = this.#thresholds(row);
    pairs.touch(row);
    for (const column of [TOLD, CONTRADICTED]) {
      const old = pairs.word(row, column);
      let carried = 0;
      for (let i = 0; i < beforeUs.length; i++) {
        const now = thresholdsUs.indexOf(beforeUs[i] as number);
        if (now < 0) continue;
        if ((old & (1 << i)) !== 0) carried |= 1 << now;
        if ((old & (1 << (i + 16))) !== 0) carried |= 1 << (now + 16);
      }
      pairs.setWord(row, column, carried);
    }
    const enteredAtUs = pairs.time(row, ENTER);
    let next = 0;
    while (next < thresholdsUs.length && enteredAtUs + (thresholdsUs[next] as number) <= watermarkUs) next++;
    pairs.setWord(row, FLAGS, (pairs.word(row, FLAGS) & ~NEXT_MASK) | (next << NEXT_SHIFT));
  }

  /** As a visit starts, or after a restore: schedules the next deadline of the pair, if there is one ahead of it. */
  resume(row: number): void {
    if ((this.#pairs.word(row, FLAGS) & INSIDE) === 0) return;
    this.pending += this.#ahead(row);
    this.#schedule(row);
  }

  /** Looks whether a late record contradicts a DWELL that this visit, or the one before, has told. */
  contradict(row: number, kind: Kind, timeUs: number, seqKey: number): void {
    const flags = this.#pairs.word(row, FLAGS);
    if (kind === KIND_ENTER && this.#options.onReenter === "continue") return;
    if (kind === KIND_EXIT && this.#isStrayExit(row, seqKey)) return;
    if ((flags & HAS_VISIT) !== 0) this.#contradictVisit(row, "this", kind, timeUs, seqKey);
    if ((flags & HAS_PREVIOUS) !== 0) this.#contradictVisit(row, "previous", kind, timeUs, seqKey);
  }

  /**
   * Late records of a pair that are older than its last applied one, in event-time order: they change nothing, but the
   * visits that begin and end among them earn their DWELLs.
   */
  earnOld(row: number, records: readonly OldRecord[]): void {
    let open: OldRecord | null = null;
    const used = new Set<OldRecord>();
    let heardAtUs = NaN;
    let heardKinds = 0;
    for (const record of records) {
      const bit = 1 << record.kind;
      if (record.timeUs !== heardAtUs) {
        heardAtUs = record.timeUs;
        heardKinds = 0;
      }
      if ((heardKinds & bit) !== 0) continue;
      heardKinds |= bit;
      this.contradict(row, record.kind, record.timeUs, record.seqKey);
      if (record.kind === KIND_ENTER) {
        if (open !== null && this.#sameCrossing(open.timeUs, open.seqKey, record.timeUs, record.seqKey)) {
          continue;
        }
        if (!record.suppressed && open !== null && this.#options.onReenter === "continue") continue;
      }
      if (open !== null && this.#earnBetween(row, open, record.timeUs)) used.add(open).add(record);
      open = record.kind === KIND_ENTER && !record.suppressed ? record : null;
    }
    this.#counters.lateSkipped += records.length - used.size;
  }

  /** Notes the next deadline of a pair that is inside and not scheduled, and schedules it. */
  #schedule(row: number): void {
    const pairs = this.#pairs;
    const next = (pairs.word(row, FLAGS) & NEXT_MASK) >>> NEXT_SHIFT;
    const thresholdUs = this.#thresholds(row)[next];
    pairs.setTime(row, END, thresholdUs === undefined ? 0 : pairs.time(row, ENTER) + thresholdUs);
    if (thresholdUs !== undefined) this.#wheel.schedule(row);
  }

  /** How many deadlines a pair has ahead of it. */
  #ahead(row: number): number {
    const flags = this.#pairs.word(row, FLAGS);
    if ((flags & INSIDE) === 0) return 0;
    return this.#thresholds(row).length - ((flags & NEXT_MASK) >>> NEXT_SHIFT);
  }

  #thresholds(row: number): readonly number[] {
    return this.#options.thresholdsUs[this.#pairs.word(row, RULE)] as readonly number[];
  }

  /** Of a pair's records of one kind at one microsecond only the first is heard. */
  #isHeard(row: number, kind: Kind, timeUs: number): boolean {
    const pairs = this.#pairs;
    const flags = pairs.word(row, FLAGS);
    const bit = 1 << (APPLIED_KINDS_SHIFT + (kind === KIND_STALE ? 2 : kind));
    if (timeUs === pairs.time(row, APPLIED)) {
      if ((flags & bit) !== 0) return false;
      pairs.setWord(row, FLAGS, flags | bit);
      return true;
    }
    pairs.setTime(row, APPLIED, timeUs);
    pairs.setWord(row, FLAGS, (flags & ~KINDS_MASK) | bit);
    return true;
  }

  #enter(row: number, timeUs: number, seqKey: number): Applied {
    const pairs = this.#pairs;
    const flags = pairs.word(row, FLAGS);
    const same = (flags & HAS_VISIT) !== 0 &&
      this.#sameCrossing(pairs.time(row, ENTER), pairs.seq(row, ENTER_SEQ), timeUs, seqKey);
    if ((flags & INSIDE) !== 0) {
      if (same || this.#options.onReenter === "continue") return "nothing";
      this.fireDue(row, timeUs);
      this.#contradictTold(row, timeUs);
      this.#end(row, timeUs, ENDED_BY_ENTER);
    } else if (same) {
      const withSeq = !Number.isNaN(seqKey);
      if (withSeq || Math.abs(timeUs - pairs.time(row, ENTER)) <= this.#options.maxSkewUs) return "nothing";
      this.#counters.flapsInBucket++;
    }
    this.#start(row, timeUs, seqKey);
    return "entered";
  }

  #leave(row: number, kind: Kind, timeUs: number, seqKey: number): Applied {
    const pairs = this.#pairs;
    if (kind === KIND_EXIT && this.#isStrayExit(row, seqKey)) return "nothing";
    if ((pairs.word(row, FLAGS) & INSIDE) === 0) return "outside";
    this.fireDue(row, timeUs);
    this.#contradictTold(row, timeUs);
    this.#end(row, timeUs, kind === KIND_EXIT ? ENDED_BY_EXIT : ENDED_BY_STALE);
    if (kind === KIND_EXIT) pairs.setSeq(row, EXIT_SEQ, seqKey);
    return "ended";
  }

  #start(row: number, timeUs: number, seqKey: number): void {
    const pairs = this.#pairs;
    let flags = pairs.word(row, FLAGS);
    if ((flags & HAS_VISIT) !== 0) {
      const endKind = (flags & END_KIND_MASK) >>> END_KIND_SHIFT;
      flags = (flags & ~PREVIOUS_END_KIND_MASK) | HAS_PREVIOUS | (endKind << PREVIOUS_END_KIND_SHIFT);
      pairs.setTime(row, PREVIOUS_ENTER, pairs.time(row, ENTER));
      pairs.setTime(row, PREVIOUS_END, pairs.time(row, END));
      pairs.setSeq(row, PREVIOUS_ENTER_SEQ, pairs.seq(row, ENTER_SEQ));
      pairs.setSeq(row, PREVIOUS_EXIT_SEQ, endKind === ENDED_BY_EXIT ? pairs.seq(row, EXIT_SEQ) : NaN);
    }
    pairs.setWord(row, TOLD, pairs.word(row, TOLD) << 16);
    pairs.setWord(row, CONTRADICTED, pairs.word(row, CONTRADICTED) << 16);
    pairs.setWord(row, FLAGS, (flags & ~(NEXT_MASK | END_KIND_MASK)) | INSIDE | HAS_VISIT);
    pairs.setTime(row, ENTER, timeUs);
    pairs.setSeq(row, ENTER_SEQ, seqKey);
    this.resume(row);
  }

  #end(row: number, timeUs: number, endKind: number): void {
    const pairs = this.#pairs;
    this.pending -= this.#ahead(row);
    if (this.#wheel.isScheduled(row)) this.#wheel.cancel(row);
    pairs.setTime(row, END, timeUs);
    const flags = pairs.word(row, FLAGS) & ~(INSIDE | END_KIND_MASK);
    pairs.setWord(row, FLAGS, flags | (endKind << END_KIND_SHIFT));
  }

  #fire(row: number, threshold: number, enteredAtUs: number, thresholdUs: number): void {
    const dwellTimeUs = enteredAtUs + thresholdUs;
    // At the end of an input a pair may have told what lies past the watermark, from which changed rules count again.
    if ((this.#pairs.word(row, TOLD) & (1 << threshold)) !== 0) return;
    if (this.#hasTold(row, "previous", dwellTimeUs)) return;
    this.#pairs.setWord(row, TOLD, this.#pairs.word(row, TOLD) | (1 << threshold));
    this.#outcomes.earned(row, { enteredAtUs, thresholdUs, old: null });
  }

  /** The visit ends before thresholds that a crashed process told by the wall clock: they are contradicted. */
  #contradictTold(row: number, endUs: number): void {
    const pairs = this.#pairs;
    const thresholdsUs = this.#thresholds(row);
    const enteredAtUs = pairs.time(row, ENTER);
    const next = (pairs.word(row, FLAGS) & NEXT_MASK) >>> NEXT_SHIFT;
    for (let i = next; i < thresholdsUs.length; i++) {
      const dwellTimeUs = enteredAtUs + (thresholdsUs[i] as number);
      if (dwellTimeUs <= endUs || !this.#outcomes.wasTold(row, dwellTimeUs)) continue;
      pairs.setWord(row, TOLD, pairs.word(row, TOLD) | (1 << i));
      pairs.setWord(row, CONTRADICTED, pairs.word(row, CONTRADICTED) | (1 << i));
      this.#outcomes.contradicted(row, dwellTimeUs);
    }
  }

  #contradictVisit(
    row: number,
    which: "this" | "previous",
    kind: Kind,
    timeUs: number,
    seqKey: number,
  ): void {
    const pairs = this.#pairs;
    const shift = which === "this" ? 0 : 16;
    const open = (pairs.word(row, TOLD) & ~pairs.word(row, CONTRADICTED)) >>> shift & 0xffff;
    if (open === 0) return;
    const enteredAtUs = pairs.time(row, which === "this" ? ENTER : PREVIOUS_ENTER);
    if (kind === KIND_ENTER) {
      const enterSeq = pairs.seq(row, which === "this" ? ENTER_SEQ : PREVIOUS_ENTER_SEQ);
      if (timeUs <= enteredAtUs || this.#sameCrossing(enteredAtUs, enterSeq, timeUs, seqKey)) return;
    } else if (timeUs < enteredAtUs) {
      return;
    } else if (kind === KIND_EXIT && this.#isOwnExit(row, which, timeUs, seqKey)) {
      return;
    }
    const thresholdsUs = this.#thresholds(row);
    for (let i = 0; i < thresholdsUs.length; i++) {
      const dwellTimeUs = enteredAtUs + (thresholdsUs[i] as number);
      if ((open & (1 << i)) === 0 || dwellTimeUs <= timeUs) continue;
      pairs.touch(row);
      pairs.setWord(row, CONTRADICTED, pairs.word(row, CONTRADICTED) | (1 << (i + shift)));
      this.#outcomes.contradicted(row, dwellTimeUs);
    }
  }

  #isOwnExit(row: number, which: "this" | "previous", timeUs: number, seqKey: number): boolean {
    const pairs = this.#pairs;
    const flags = pairs.word(row, FLAGS);
    const endKind = which === "this"
      ? (flags & END_KIND_MASK) >>> END_KIND_SHIFT
      : (flags & PREVIOUS_END_KIND_MASK) >>> PREVIOUS_END_KIND_SHIFT;
    if (endKind !== ENDED_BY_EXIT || (which === "this" && (flags & INSIDE) !== 0)) return false;
    const endUs = pairs.time(row, which === "this" ? END : PREVIOUS_END);
    const endSeq = pairs.seq(row, which === "this" ? EXIT_SEQ : PREVIOUS_EXIT_SEQ);
    return this.#sameCrossing(endUs, endSeq, timeUs, seqKey);
  }

  /** An EXIT whose seq is that of the pair's last EXIT that ended a visit. */
  #isStrayExit(row: number, seqKey: number): boolean {
    return !Number.isNaN(seqKey) && this.#pairs.seq(row, EXIT_SEQ) === seqKey;
  }

  /** Earns what an old visit earns; whether that was anything. */
  #earnBetween(row: number, enter: OldRecord, endUs: number): boolean {
    let any = false;
    for (const thresholdUs of this.#thresholds(row)) {
      const dwellTimeUs = enter.timeUs + thresholdUs;
      if (dwellTimeUs > endUs) break;
      if (this.#hasTold(row, "this", dwellTimeUs) || this.#hasTold(row, "previous", dwellTimeUs)) continue;
      if (this.#outcomes.earned(row, { enteredAtUs: enter.timeUs, thresholdUs, old: enter })) any = true;
    }
    return any;
  }

  /** Whether a visit has told a DWELL with the id that one at this time would have: with the same bucket. */
  #hasTold(row: number, which: "this" | "previous", dwellTimeUs: number): boolean {
    const pairs = this.#pairs;
    const told = which === "this" ? pairs.word(row, TOLD) & 0xffff : pairs.word(row, TOLD) >>> 16;
    if (told === 0) return false;
    const enteredAtUs = pairs.time(row, which === "this" ? ENTER : PREVIOUS_ENTER);
    const thresholdsUs = this.#thresholds(row);
    const bucket = Math.floor(dwellTimeUs / this.#options.widths.bucketUs);
    for (let i = 0; i < thresholdsUs.length; i++) {
      if ((told & (1 << i)) === 0) continue;
      const toldUs = enteredAtUs + (thresholdsUs[i] as number);
      if (Math.floor(toldUs / this.#options.widths.bucketUs) === bucket) return true;
    }
    return false;
  }

  /** Two transitions of one pair and kind are the same crossing if they share an id. */
  #sameCrossing(aUs: number, aSeq: number, bUs: number, bSeq: number): boolean {
    const aHas = !Number.isNaN(aSeq);
    const bHas = !Number.isNaN(bSeq);
    if (aHas || bHas) return aHas && bHas && aSeq === bSeq;
    return shareAnId(aUs, bUs, this.#options.widths);
  }
}
