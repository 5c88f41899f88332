/**
 * One pair in the oracle: its visits, all of them, what waits for the watermark and what is held because it was late.
 *
 * The pair's life lies on the axis of the watermark, and {@link OraclePair.advanceTo} walks it: whatever is next of
 *
 * ```
 *   what is held, when the watermark has moved on by lateness since the first of it came
 *   the next deadline of the visit
 *   the next transition that waits
 * ```
 *
 * is what happens, and whichever of them it is, what is held is taken before it. At one instant they come in that order.
 *
 * Where the page leaves a choice:
 * - The ENTER that a late ENTER must not be, and the EXIT that a late EXIT must not copy, are those of the very visit
 *   whose DWELL is in question, not those of the visit beside it.
 * - Each late record is asked whether it contradicts, those too that are then not heard.
 * - What an old visit has told is remembered by its DWELL's id in the window: of the pair's visits only the two last are.
 * - What an old visit earns and does not tell, since it was told, earns nothing (`late_skipped`).
 * - A stray EXIT is one whose seq is that of the last EXIT that ended a visit, the pair being inside or outside.
 * - `flaps_in_bucket` counts what is applied, late or not; a crossing that shares an edge id is a flap too.
 *
 * @module
 */
import type { OracleBook, OracleMemories, OracleTransition } from "./oracle_book.ts";

/** A DWELL that came out. */
interface ToldDwell {
  readonly id: string;
  readonly timeUs: number;
  contradicted: boolean;
}

interface Visit {
  readonly enter: OracleTransition;
  ended: boolean;
  /** The EXIT that ended it, if one did. */
  exit: OracleTransition | null;
  readonly passedThresholds: Set<number>;
  readonly told: ToldDwell[];
}

const HELD_COUNT_MAX = 1000;

/** See the module's header. */
export class OraclePair {
  readonly memories: OracleMemories = new Map();
  /** The greatest event time of its ENTERs, EXITs and STALEs. */
  latestUs = -Infinity;
  readonly #book: OracleBook;
  readonly #thresholdsUs: readonly number[];
  readonly #visits: Visit[] = [];
  #waiting: OracleTransition[] = [];
  #held: OracleTransition[] = [];
  #heldUntilUs = Infinity;
  #lastAppliedUs = -Infinity;
  /** The kinds that were applied at that time. */
  readonly #heardKinds = new Set<string>();
  #lastExitSeq: string | null = null;
  #lastTold: string | null = null;

  constructor(book: OracleBook, thresholdsUs: readonly number[]) {
    this.#book = book;
    this.#thresholdsUs = thresholdsUs;
  }

  /** Whether it is outside, with nothing waiting and nothing held. */
  get isAtRest(): boolean {
    return this.#current() === null && this.#waiting.length === 0 && this.#held.length === 0;
  }

  /** Deadlines of its visit that have not passed. */
  get pendingCount(): number {
    return this.#pendingThresholds().length;
  }

  /** A transition has come. It changes nothing yet. */
  add(transition: OracleTransition, watermarkUs: number): void {
    this.latestUs = Math.max(this.latestUs, transition.timeUs);
    if (!transition.late) {
      this.#waiting = inOrder([...this.#waiting, transition]);
      return;
    }
    if (this.#held.length === 0) this.#heldUntilUs = watermarkUs + this.#book.config.dwell.latenessUs;
    this.#held.push(transition);
    if (this.#held.length === HELD_COUNT_MAX) this.#takeHeld();
  }

  /** Everything up to this watermark happens. */
  advanceTo(watermarkUs: number): void {
    for (;;) {
      const deadlineUs = this.#nextDeadlineUs();
      const transition = this.#waiting[0];
      const transitionUs = transition?.timeUs ?? Infinity;
      if (Math.min(this.#heldUntilUs, deadlineUs, transitionUs) > watermarkUs) return;
      if (this.#held.length > 0) {
        this.#takeHeld();
      } else if (deadlineUs <= transitionUs) {
        this.#fireUpTo(deadlineUs);
      } else if (transition !== undefined) {
        this.#waiting.shift();
        this.#apply(transition);
      }
    }
  }

  /** The input is complete, and this is the highest observed time. */
  flush(highestObservedUs: number): void {
    this.advanceTo(highestObservedUs);
    this.#takeHeld();
    this.advanceTo(highestObservedUs);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      this.advanceTo(next.timeUs);
    }
  }

  #current(): Visit | null {
    const visit = this.#visits.at(-1);
    return visit === undefined || visit.ended ? null : visit;
  }

  #pendingThresholds(): number[] {
    const visit = this.#current();
    if (visit === null) return [];
    return this.#thresholdsUs.filter((thresholdUs) => !visit.passedThresholds.has(thresholdUs));
  }

  #nextDeadlineUs(): number {
    return Math.min(...this.#pendingThresholds().map((us) => (this.#current()?.enter.timeUs ?? 0) + us));
  }

  /** Deadlines up to and including this time are earned. */
  #fireUpTo(timeUs: number): void {
    const visit = this.#current();
    if (visit === null) return;
    for (const thresholdUs of this.#pendingThresholds().toSorted((a, b) => a - b)) {
      const deadlineUs = visit.enter.timeUs + thresholdUs;
      if (deadlineUs > timeUs) return;
      visit.passedThresholds.add(thresholdUs);
      if (this.#hasTold(deadlineUs)) continue;
      const id = this.#book.tellDwell(visit.enter, thresholdUs);
      visit.told.push({ id, timeUs: deadlineUs, contradicted: false });
    }
  }

  /** Whether this visit or the one before has told the DWELL with the id of this time. */
  #hasTold(timeUs: number): boolean {
    const bucketOf = (us: number) => Math.floor(us / this.#book.config.identity.bucketUs);
    return this.#visits.slice(-2).some(({ told }) =>
      told.some((dwell) => bucketOf(dwell.timeUs) === bucketOf(timeUs))
    );
  }

  #apply(transition: OracleTransition): void {
    if (transition.timeUs < this.#lastAppliedUs) {
      throw new Error("Transitions are applied in event-time order");
    }
    if (transition.timeUs > this.#lastAppliedUs) {
      this.#lastAppliedUs = transition.timeUs;
      this.#heardKinds.clear();
    }
    if (this.#heardKinds.has(transition.kind)) return;
    this.#heardKinds.add(transition.kind);
    if (transition.kind === "ENTER") this.#enter(transition);
    else this.#leave(transition);
  }

  #enter(transition: OracleTransition): void {
    const { dwell, identity, emit } = this.#book.config;
    const isContinued = dwell.onReenter === "continue";
    const last = this.#visits.at(-1);
    const isSame = last !== undefined && this.#book.isSameCrossing(transition, last.enter);
    const current = this.#current();
    if (current !== null) {
      if (isSame || isContinued) return;
      this.#fireUpTo(transition.timeUs);
      current.ended = true;
    } else if (last !== undefined && isSame) {
      const apartUs = Math.abs(transition.timeUs - last.enter.timeUs);
      if (transition.seq !== null || apartUs <= identity.maxSkewUs) return;
      this.#book.counters.flapsInBucket++;
    }
    this.#visits.push({ enter: transition, ended: false, exit: null, passedThresholds: new Set(), told: [] });
    if (emit === "arrival" || transition.late) return;
    if (this.#lastTold === "ENTER" && isContinued) return;
    if (this.#book.tell(transition, this.memories) === "told") this.#lastTold = "ENTER";
  }

  #leave(transition: OracleTransition): void {
    if (this.#isStray(transition)) return;
    const visit = this.#current();
    if (visit !== null) {
      this.#fireUpTo(transition.timeUs);
      visit.ended = true;
      if (transition.kind === "EXIT") {
        visit.exit = transition;
        this.#lastExitSeq = transition.seq;
      }
    }
    if (transition.kind === "STALE" || this.#book.config.emit === "arrival" || transition.late) return;
    if (this.#lastTold === "EXIT") return;
    const ended = visit === null ? undefined : { enteredUs: visit.enter.timeUs };
    if (this.#book.tell(transition, this.memories, ended) === "told") this.#lastTold = "EXIT";
  }

  #isStray({ kind, seq }: OracleTransition): boolean {
    return kind === "EXIT" && seq !== null && seq === this.#lastExitSeq;
  }

  #takeHeld(): void {
    const group = inOrder(this.#held);
    this.#held = [];
    this.#heldUntilUs = Infinity;
    const lastAppliedUs = this.#lastAppliedUs;
    const old = group.filter(({ timeUs }) => timeUs < lastAppliedUs);
    for (const transition of old) this.#contradict(transition);
    this.#walkOld(old);
    for (const transition of group) {
      if (transition.timeUs < lastAppliedUs) continue;
      this.#contradict(transition);
      this.#apply(transition);
    }
  }

  /** Visits that begin and end among these, which no longer change the pair's state, earn their DWELLs. */
  #walkOld(transitions: readonly OracleTransition[]): void {
    const isContinued = this.#book.config.dwell.onReenter === "continue";
    const heard = new Set<string>();
    const earning = new Set<OracleTransition>();
    let enter: OracleTransition | null = null;
    for (const transition of transitions) {
      const key = `${transition.kind} ${transition.timeUs}`;
      if (heard.has(key)) continue;
      heard.add(key);
      if (transition.kind === "ENTER" && enter !== null) {
        if (this.#book.isSameCrossing(transition, enter)) continue;
        if (isContinued && !transition.suppressed) continue;
      }
      if (enter !== null && this.#tellOld(enter, transition.timeUs)) earning.add(enter).add(transition);
      enter = transition.kind === "ENTER" && !transition.suppressed ? transition : null;
    }
    this.#book.counters.lateSkipped += transitions.length - earning.size;
  }

  /** Tells what a visit in the past has earned; false if that is nothing. */
  #tellOld(enter: OracleTransition, endUs: number): boolean {
    let any = false;
    for (const thresholdUs of this.#thresholdsUs) {
      const timeUs = enter.timeUs + thresholdUs;
      if (timeUs > endUs || this.#hasTold(timeUs) || !this.#book.claimDwell(enter, thresholdUs)) continue;
      this.#book.tellDwell(enter, thresholdUs, {
        late: true,
        ...(enter.beyondWindow && { beyond_window: true }),
      });
      any = true;
    }
    return any;
  }

  /** Counts, and retracts, the told DWELLs that a late transition contradicts. */
  #contradict(transition: OracleTransition): void {
    for (const visit of this.#visits.slice(-2)) {
      if (!this.#isAgainst(transition, visit)) continue;
      for (const dwell of visit.told) {
        if (dwell.contradicted || transition.timeUs >= dwell.timeUs) continue;
        dwell.contradicted = true;
        this.#book.counters.dwellContradicted++;
        if (this.#book.config.dwell.onContradiction === "retract") this.#book.tellRetract(transition, dwell);
      }
    }
  }

  /** Whether the visit would have ended at this transition. */
  #isAgainst(transition: OracleTransition, { enter, exit }: Visit): boolean {
    const { timeUs } = transition;
    switch (transition.kind) {
      case "ENTER": {
        const isContinued = this.#book.config.dwell.onReenter === "continue";
        return !isContinued && timeUs > enter.timeUs && !this.#book.isSameCrossing(transition, enter);
      }
      case "EXIT": {
        const isOwn = exit !== null && this.#book.isSameCrossing(transition, exit);
        return timeUs >= enter.timeUs && !isOwn && !this.#isStray(transition);
      }
      default:
        return timeUs >= enter.timeUs;
    }
  }
}

/** In event-time order; ties keep theirs. */
function inOrder(transitions: readonly OracleTransition[]): OracleTransition[] {
  return transitions.toSorted((a, b) => a.timeUs - b.timeUs);
}
