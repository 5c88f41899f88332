/**
 * The intake: requests that were handed in, as a source split that is read in the order in which they came.
 *
 * ```
 *   offer ─▶ admission ─▶ queue ─▶ read: many requests, one batch ─▶ the split ─┬─ decided: suppressed, dead letter
 *     ▲          │                                                              ▼
 *     │          ╰─ refused: said at once, nothing of it was taken          checkpoint
 *     ╰──────────────────── the receipt ◀─ acknowledge: it is durable ──────────╯
 * ```
 *
 * A request is answered when what was taken of it is in a durable checkpoint, so an answer is a promise; and since one
 * checkpoint answers all requests that came before it, a thousand clients cost as many commits as one (group commit). What
 * was not answered when a process dies may or may not have been taken: the client sends it again, and its ids are known.
 *
 * Each record has a number, one more than the one before it, that goes on over restarts: it stands for its offset.
 *
 * @module
 */
import { Admission, type Room } from "../lib/overload.ts";
import { assert } from "../lib/assert.ts";
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import type { Json } from "../lib/json.ts";
import { type Kind, KIND_EXIT, KIND_STALE } from "../lib/kind.ts";
import type { Mapping } from "../lib/format/mapping.ts";
import { MessageDecoder } from "../lib/format/message_decoder.ts";
import type { MessageContext } from "../lib/format/message_values.ts";
import type { OversizeRecord, RecordBatch } from "../lib/record_batch.ts";
import type { RecordSpans } from "../lib/record_spans.ts";
import { TransitionDecoder } from "../lib/transition.ts";
import { type Clock, type RecordOutcome, type Source, UnavailableError } from "./ports.ts";

/** Records in a batch for the split at most: a barrier can't be drawn within one. */
const BATCH_RECORDS = 4096;
/** Records in flight that are always allowed. */
const IN_FLIGHT_MIN = 4096;

/** What became of a record of a request. */
export const ACCEPTED = 0;
/** It is one that was taken before. */
export const SUPPRESSED = 1;
/** It went to the dead letters. */
export const DEAD_LETTERED = 2;
/** There was no room for it: to be sent again. */
export const REFUSED = 3;
/** It is no transition, by its format. */
export const SKIPPED = 4;

/** One request's records. */
export interface Delivery {
  readonly records: RecordSpans;
  /** Names the request in dead letters. */
  readonly request: string;
  /** Whose it is: clients share what can be taken. */
  readonly client: string;
  /** What came along with its records, where their format may ask for it. */
  readonly context?: MessageContext;
}

/** A record of a request, or a crossing of one, that went to the dead letters. */
export interface RefusedRecord {
  /** The record's index in the request. */
  readonly index: number;
  readonly reason: DeadLetterReason;
  readonly detail: string;
}

/** What became of a request. */
export interface Receipt {
  /** One of the constants above for each record. */
  readonly outcomes: Uint8Array;
  /** Why, for each that went to the dead letters, in the order in which that was found. */
  readonly deadLetters: readonly RefusedRecord[];
  /** How many were taken: all but the refused. */
  readonly taken: number;
}

/** A request that was taken, in whole or in part, and is not durable yet. */
interface Taken {
  readonly delivery: Delivery;
  /** Of those that were taken, their index in the request; null for all. */
  readonly indices: Uint32Array | null;
  readonly count: number;
  readonly outcomes: Uint8Array;
  readonly deadLetters: RefusedRecord[];
  /** Of messages of a format: how many crossings each was, and how many of them were suppressed; null for others. */
  readonly crossings: Map<number, { count: number; suppressed: number }> | null;
  readonly offeredUs: number;
  /** Number of the first record; −1 until it is read. */
  first: number;
  /** How many of them have been read. */
  read: number;
  readonly answer: PromiseWithResolvers<Receipt>;
}

/** What an intake works with. */
export interface IntakeOptions {
  /** For messages. */
  readonly name: string;
  readonly clock: Clock;
  /** How long a record may take until it is durable, µs; what can't be within that is refused. */
  readonly targetUs: number;
  /** Records in flight at most. */
  readonly capacity: number;
  /** Bytes of requests in flight at most: large records fill the memory long before they fill the mailboxes. */
  readonly bytesMax: number;
  /** What a record is, where it is not a transition by itself. */
  readonly mapping?: Mapping | null;
  /** How long clients have to send again what was refused, before time goes on without it, µs. */
  readonly settleUs: number;
}

/** Why records were refused. */
export type ShedCause =
  /** There was no room. */
  | "full"
  /** It is starting or stopping. */
  | "closed"
  /** The request was not read, or its connection not taken, and counts as one. */
  | "unread";

/** See the module's header. */
export class Intake implements Source {
  readonly kind = "http";
  readonly name: string;
  readonly rereadable = false;
  readonly live = true;
  readonly keepsUnread = false;
  /** Records that were refused, by cause, since this process began. */
  readonly shed: Record<ShedCause, number> = { full: 0, closed: 0, unread: 0 };
  readonly admission: Admission;

  readonly #options: IntakeOptions;
  readonly #decoder = new TransitionDecoder();
  readonly #messages: MessageDecoder | null;
  /** Taken and not yet read. */
  #queue: Taken[] = [];
  /** Read and not yet durable, the oldest first. */
  #reading: Taken[] = [];
  #next = 0;
  /** Bytes of the requests that are in flight. */
  #bytes = 0;
  #open = false;
  #wake: (() => void) | null = null;
  #shedAtUs = -Infinity;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.name = options.name;
    const { mapping = null } = options;
    this.#messages = mapping === null ? null : new MessageDecoder(mapping);
    const floor = Math.min(IN_FLIGHT_MIN, options.capacity);
    this.admission = new Admission({ targetUs: options.targetUs, floor, ceiling: options.capacity });
  }

  /**
   * Takes a request's records, or as many as there is room for; resolves when they are durable.
   *
   * @throws {UnavailableError} where it can't be told whether they were taken, or nothing is taken now
   */
  offer(delivery: Delivery): Promise<Receipt> {
    const { records: { count }, client } = delivery;
    const nowUs = this.#options.clock.monotonicUs();
    if (!this.#open) {
      this.#refused("closed", count, nowUs);
      return Promise.reject(new UnavailableError("Nothing is taken now: it is starting or stopping"));
    }
    const outcomes = new Uint8Array(count);
    const room = this.#roomFor(delivery, nowUs);
    let indices: Uint32Array | null = null;
    let taken = count;
    if (count > room.any) {
      indices = this.#choose(delivery, room, outcomes);
      taken = indices.length;
      this.#refused("full", count - taken, nowUs);
    }
    if (taken === 0) return Promise.resolve({ outcomes, deadLetters: [], taken });
    this.admission.take(client, taken, nowUs);
    this.#bytes += delivery.records.bytes.length;
    const answer = Promise.withResolvers<Receipt>();
    this.#queue.push({
      delivery,
      indices,
      count: taken,
      outcomes,
      deadLetters: [],
      crossings: this.#messages === null ? null : new Map(),
      offeredUs: nowUs,
      first: -1,
      read: 0,
      answer,
    });
    this.#wake?.();
    return answer.promise;
  }

  /** A request, or a connection, was refused before it was read: time waits for it as for any other. */
  refuseUnread(): void {
    this.#refused("unread", 1, this.#options.clock.monotonicUs());
  }

  /** Whether it is being read. */
  get isOpen(): boolean {
    return this.#open;
  }

  open(position: Json | null): Promise<"resumed" | "started"> {
    const before = numberIn(position);
    this.#next = Math.max(this.#next, before ?? 0);
    this.#open = true;
    return Promise.resolve(position === null ? "started" : "resumed");
  }

  async read(signal: AbortSignal): Promise<RecordBatch | null> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#queue.length > 0) return this.#batch();
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener("abort", done);
          this.#wake = null;
          resolve();
        };
        this.#wake = done;
        signal.addEventListener("abort", done, { once: true });
      });
    }
  }

  placeOf(offset: number, _line: number): Json {
    const taken = this.#takenAt(offset);
    if (taken === null) return { offset };
    return { request: taken.delivery.request, record: this.#indexOf(taken, offset) + 1 };
  }

  /** Each batch has a buffer of its own. */
  release(): void {}

  caughtUp(): boolean {
    const nowUs = this.#options.clock.monotonicUs();
    return this.#queue.length === 0 && nowUs - this.#shedAtUs >= this.#options.settleUs;
  }

  isAwaited(): boolean {
    return this.#reading.length > 0;
  }

  decided(offset: number, outcome: RecordOutcome): void {
    const taken = this.#takenAt(offset);
    if (taken === null) return;
    const index = this.#indexOf(taken, offset);
    if (outcome !== "suppressed") {
      taken.outcomes[index] = DEAD_LETTERED;
      taken.deadLetters.push({ index, ...outcome });
    } else if (taken.crossings === null) {
      taken.outcomes[index] = SUPPRESSED;
    } else {
      crossingsOf(taken.crossings, index).suppressed++;
    }
  }

  counted(offset: number, records: number): void {
    const taken = this.#takenAt(offset);
    if (taken === null || taken.crossings === null) return;
    crossingsOf(taken.crossings, this.#indexOf(taken, offset)).count = records;
  }

  acknowledge(position: Json): Promise<void> {
    const upTo = numberIn(position);
    assert(upTo !== null, "a position of this source is a number");
    const nowUs = this.#options.clock.monotonicUs();
    let longestUs = 0;
    let done = 0;
    for (const taken of this.#reading) {
      if (taken.first + taken.count > upTo) break;
      done++;
      longestUs = Math.max(longestUs, nowUs - taken.offeredUs);
      this.#release(taken);
      settleMessages(taken);
      const { outcomes, deadLetters, count } = taken;
      taken.answer.resolve({ outcomes, deadLetters, taken: count });
    }
    this.#reading = this.#reading.slice(done);
    if (done > 0) this.admission.durable(longestUs, nowUs);
    return Promise.resolve();
  }

  /** Nothing is read any more: whoever waits is told that it is not known what became of his. */
  close(): void {
    this.#open = false;
    // One that was read in part is in both.
    const waiting = new Set([...this.#reading, ...this.#queue]);
    this.#reading = [];
    this.#queue = [];
    for (const taken of waiting) {
      this.#release(taken);
      taken.answer.reject(new UnavailableError("It is not known whether this was taken: send it again"));
    }
  }

  #roomFor({ records: { bytes }, client }: Delivery, nowUs: number): Room {
    const room = this.admission.room(client, nowUs);
    const isTooMuch = this.#bytes > 0 && this.#bytes + bytes.length > this.#options.bytesMax;
    return isTooMuch ? { any: 0, exits: 0 } : room;
  }

  #release({ delivery, count }: Taken): void {
    this.admission.release(delivery.client, count);
    this.#bytes -= delivery.records.bytes.length;
  }

  /** Which records of a request to take where not all can be: EXITs for longer than the others. */
  #choose(
    { records, context }: Delivery,
    room: Room,
    outcomes: Uint8Array,
  ): Uint32Array {
    const chosen: number[] = [];
    for (let i = 0; i < records.count; i++) {
      const free = chosen.length < room.any ||
        chosen.length < room.exits && this.#isExit(records, i, context ?? null);
      if (free) chosen.push(i);
      else outcomes[i] = REFUSED;
    }
    return Uint32Array.from(chosen);
  }

  #isExit(
    { bytes, starts, ends, oversize }: RecordSpans,
    i: number,
    context: MessageContext | null,
  ): boolean {
    if (oversize.has(i)) return false;
    const messages = this.#messages;
    if (messages !== null) {
      messages.open(bytes, starts[i] as number, ends[i] as number, context);
      for (let outcome = messages.next(); outcome !== null; outcome = messages.next()) {
        if (outcome === "transition" && isExit(messages.kind)) return true;
      }
      return false;
    }
    if (this.#decoder.decode(bytes, starts[i] as number, ends[i] as number) !== "transition") return false;
    return isExit(this.#decoder.kind);
  }

  #refused(cause: ShedCause, count: number, nowUs: number): void {
    this.shed[cause] += count;
    this.#shedAtUs = nowUs;
  }

  /** The next requests as one batch; a single one, or a part of one that is large, without a copy. */
  #batch(): RecordBatch {
    const chosen: Taken[] = [];
    let count = 0;
    let byteLength = 0;
    for (const taken of this.#queue) {
      if (count === BATCH_RECORDS) break;
      chosen.push(taken);
      count = Math.min(BATCH_RECORDS, count + taken.count - taken.read);
      byteLength += taken.delivery.records.bytes.length;
    }
    const single = chosen.length === 1 ? chosen[0]?.delivery.records.bytes : undefined;
    const bytes = single ?? new Uint8Array(byteLength);
    const starts = new Uint32Array(count);
    const ends = new Uint32Array(count);
    const offsets = new Float64Array(count);
    const lines = new Float64Array(count);
    const oversize = new Map<number, OversizeRecord>();
    const contexts: (MessageContext | null)[] | null = this.#messages === null ? null : [];
    let row = 0;
    let base = 0;
    for (const taken of chosen) {
      const { records } = taken.delivery;
      if (single === undefined) bytes.set(records.bytes, base);
      if (taken.read === 0) {
        taken.first = this.#next;
        this.#reading.push(taken);
      }
      for (; taken.read < taken.count && row < count; taken.read++) {
        const index = taken.indices === null ? taken.read : taken.indices[taken.read] as number;
        starts[row] = base + (records.starts[index] as number);
        ends[row] = base + (records.ends[index] as number);
        offsets[row] = this.#next++;
        lines[row] = index + 1;
        const over = records.oversize.get(index);
        if (over !== undefined) oversize.set(row, over);
        contexts?.push(taken.delivery.context ?? null);
        row++;
      }
      if (single === undefined) base += records.bytes.length;
    }
    const last = chosen.at(-1);
    const unread = last !== undefined && last.read < last.count ? 1 : 0;
    this.#queue = this.#queue.slice(chosen.length - unread);
    return {
      bytes,
      starts,
      ends,
      offsets,
      lines,
      count,
      oversize,
      ingestTimesUs: null,
      contexts,
      position: { offset: this.#next },
    };
  }

  #takenAt(offset: number): Taken | null {
    const reading = this.#reading;
    let low = 0;
    let high = reading.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const taken = reading[middle] as Taken;
      if (offset < taken.first) high = middle - 1;
      else if (offset >= taken.first + taken.count) low = middle + 1;
      else return taken;
    }
    return null;
  }

  #indexOf({ first, indices }: Taken, offset: number): number {
    return indices === null ? offset - first : indices[offset - first] as number;
  }
}

function isExit(kind: Kind): boolean {
  return kind === KIND_EXIT || kind === KIND_STALE;
}

function crossingsOf(
  crossings: Map<number, { count: number; suppressed: number }>,
  index: number,
): { count: number; suppressed: number } {
  const known = crossings.get(index);
  if (known !== undefined) return known;
  const fresh = { count: 0, suppressed: 0 };
  crossings.set(index, fresh);
  return fresh;
}

/**
 * What a message was, of what its crossings were: dead-lettered if one of them was, else accepted if one was new, else
 * suppressed; and skipped if there was none.
 */
function settleMessages({ crossings, outcomes }: Taken): void {
  for (const [index, { count, suppressed }] of crossings ?? []) {
    if (outcomes[index] === DEAD_LETTERED) continue;
    if (count === 0) outcomes[index] = SKIPPED;
    else if (suppressed === count) outcomes[index] = SUPPRESSED;
  }
}

function numberIn(position: Json | null): number | null {
  if (typeof position !== "object" || position === null || !("offset" in position)) return null;
  return typeof position.offset === "number" ? position.offset : null;
}
