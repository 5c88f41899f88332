/**
 * What is known of a pair, for somebody who asks: read from its row as it stands between two messages, in the words of
 * the triggers.
 *
 * Nothing is kept for this. The ids are computed again from the row, as they were when the triggers left; only that of an
 * entry whose `seq` is no number can't be, since the row has a hash of such a seq and not its text.
 *
 * @module
 */
import type { Config } from "./config.ts";
import type { FenceRules } from "./fence_rules.ts";
import { CODE_DWELL, CODE_ENTER, type Identity, shareAnId } from "./identity.ts";
import { KIND_NAMES } from "./kind.ts";
import {
  CONTRADICTED,
  END,
  END_KIND_SHIFT,
  ENDED_BY_STALE,
  ENTER,
  ENTER_SEQ,
  FLAGS,
  HAS_VISIT,
  INSIDE,
  LIVE,
  NEXT_SHIFT,
  RULE,
  SEEN,
  TOLD,
  TOLD_ENTER,
  TOLD_ENTER_SEQ,
  WAITING,
} from "./pair_table.ts";
import { pairHash, type Partition } from "./partition.ts";
import { murmur2 } from "./murmur2.ts";
import { formatTimestamp } from "./time.ts";
import { NO_ROW } from "./timing_wheel.ts";

/** Waiting records of a pair that are shown; there may be more. */
export const WAITING_SHOWN_MAX = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A threshold of a visit, and the DWELL that it has brought or will bring. */
export interface ThresholdView {
  /** The threshold in seconds. */
  readonly after_s: number;
  /** Entry and threshold: the event time of the DWELL, and its deadline. */
  readonly event_time: string;
  /** The id of the DWELL. */
  readonly id: string;
  /** Only where a late record has contradicted it. */
  readonly contradicted?: true;
}

/** A record that the dwell logic has not applied yet. */
export interface WaitingView {
  /** ENTER, EXIT or STALE. */
  readonly kind: string;
  /** Its event time. */
  readonly event_time: string;
  /** Of one that came late: the watermark at which it is taken, at the latest. */
  readonly held_until?: string;
}

/** See the module's header. Times are RFC 3339 with microseconds. */
export interface PairView {
  /** The device's id. */
  readonly device_id: string;
  /** The fence's id. */
  readonly fence_id: string;
  /** Whether a visit is going on, as of the watermark. */
  readonly inside: boolean;
  /** When the visit began that is going on, or the last one; null where there was none. */
  readonly entered_at: string | null;
  /** When the last visit ended; null while inside. */
  readonly left_at: string | null;
  /** How it ended. */
  readonly ended_by: "EXIT" | "STALE" | null;
  /** The id of the ENTER that began it; null where there is none, or its seq is no number. */
  readonly entry_id: string | null;
  /** Thresholds that the visit has earned and told. */
  readonly told: readonly ThresholdView[];
  /** Those that are ahead. */
  readonly pending: readonly ThresholdView[];
  /** The first {@link WAITING_SHOWN_MAX} records that are not applied yet, in event-time order. */
  readonly waiting: readonly WaitingView[];
  /** How many there are. */
  readonly waiting_count: number;
  /** The highest event time of any record of the pair. */
  readonly last_seen: string;
}

/** Looks into one partition; only between two of its messages. */
export class PairViews {
  readonly #partition: Partition;
  readonly #identity: Identity;
  readonly #rules: FenceRules;
  readonly #config: Config;

  /** Looks into a partition; `parts` are what it works with, too. */
  constructor(partition: Partition, parts: { identity: Identity; rules: FenceRules; config: Config }) {
    this.#partition = partition;
    this.#identity = parts.identity;
    this.#rules = parts.rules;
    this.#config = parts.config;
  }

  /** The row of a pair, or {@link NO_ROW}. */
  find(device: Uint8Array, fence: Uint8Array): number {
    const bytes = new Uint8Array(device.length + fence.length);
    bytes.set(device);
    bytes.set(fence, device.length);
    const hash = pairHash(murmur2(bytes, 0, device.length), bytes, device.length, bytes.length);
    const row = this.#partition.pairs.find(hash, bytes, 0, device.length, device.length, bytes.length);
    return row === NO_ROW || this.#isForgotten(row) ? NO_ROW : row;
  }

  /** Adds the rows `from` to `to` that are a device's to `found`. */
  findOf(device: Uint8Array, from: number, to: number, found: number[]): void {
    const { pairs } = this.#partition;
    for (let row = from; row < to; row++) if (pairs.isOf(row, device)) found.push(row);
  }

  /** Of these rows those that are still the device's and remembered, each once. */
  known(device: Uint8Array, rows: readonly number[]): number[] {
    return [...new Set(rows)].filter((row) =>
      this.#partition.pairs.isOf(row, device) && !this.#isForgotten(row)
    );
  }

  /** Rows that somebody wants to see first come first: those inside, then those last seen. */
  inOrder(rows: readonly number[]): number[] {
    const { pairs } = this.#partition;
    const inside = (row: number): number => pairs.word(row, FLAGS) & INSIDE;
    return rows.toSorted((a, b) => inside(b) - inside(a) || pairs.time(b, SEEN) - pairs.time(a, SEEN));
  }

  /** What these rows say. */
  viewsOf(rows: readonly number[]): PairView[] {
    const waiting = this.#waitingOf(rows);
    return rows.map((row) => this.#view(row, waiting.get(row) ?? []));
  }

  #isForgotten(row: number): boolean {
    const { pairs, clockUs } = this.#partition;
    const flags = pairs.word(row, FLAGS);
    if ((flags & LIVE) === 0) return true;
    if ((flags & INSIDE) !== 0 || pairs.word(row, WAITING) > 0) return false;
    return pairs.time(row, SEEN) < clockUs - this.#config.time.maxAgeUs;
  }

  /** The entries of the reorder buffer, by their row. */
  #waitingOf(rows: readonly number[]): Map<number, number[]> {
    const { pairs, waiting } = this.#partition;
    const counts = new Map<number, number>();
    for (const row of rows) {
      const count = pairs.word(row, WAITING);
      if (count > 0) counts.set(row, count);
    }
    return waiting.entriesOf(counts);
  }

  #view(row: number, entries: readonly number[]): PairView {
    const { pairs, waiting } = this.#partition;
    const flags = pairs.word(row, FLAGS);
    const inside = (flags & INSIDE) !== 0;
    const hasVisit = (flags & HAS_VISIT) !== 0;
    const stale = (flags >>> END_KIND_SHIFT & 3) === ENDED_BY_STALE;
    pairs.locate(row);
    const { keyBytes, deviceStart, deviceEnd, fenceStart, fenceEnd } = pairs;
    const ordered = entries.toSorted((a, b) => waiting.timeUs(a) - waiting.timeUs(b));
    return {
      device_id: decoder.decode(keyBytes.subarray(deviceStart, deviceEnd)),
      fence_id: decoder.decode(keyBytes.subarray(fenceStart, fenceEnd)),
      inside,
      entered_at: hasVisit ? formatTimestamp(pairs.time(row, ENTER)) : null,
      left_at: hasVisit && !inside ? formatTimestamp(pairs.time(row, END)) : null,
      ended_by: !hasVisit || inside ? null : stale ? "STALE" : "EXIT",
      entry_id: hasVisit ? this.#entryId(row) : null,
      ...this.#thresholds(row, { inside, hasVisit }),
      waiting: ordered.slice(0, WAITING_SHOWN_MAX).map((entry) => this.#waiting(entry)),
      waiting_count: entries.length,
      last_seen: formatTimestamp(pairs.time(row, SEEN)),
    };
  }

  #waiting(entry: number): WaitingView {
    const { waiting } = this.#partition;
    return {
      kind: KIND_NAMES[waiting.kind(entry)],
      event_time: formatTimestamp(waiting.timeUs(entry)),
      ...(waiting.isHeld(entry)
        ? { held_until: formatTimestamp(waiting.groupDueUs(waiting.row(entry))) }
        : {}),
    };
  }

  #thresholds(
    row: number,
    { inside, hasVisit }: { inside: boolean; hasVisit: boolean },
  ): Pick<PairView, "told" | "pending"> {
    const { pairs, ledger } = this.#partition;
    const told: ThresholdView[] = [];
    const pending: ThresholdView[] = [];
    if (!hasVisit) return { told, pending };
    const next = pairs.word(row, FLAGS) >>> NEXT_SHIFT & 31;
    const enteredAtUs = pairs.time(row, ENTER);
    for (const [i, thresholdUs] of (this.#rules.thresholdsUs[pairs.word(row, RULE)] ?? []).entries()) {
      const timeUs = enteredAtUs + thresholdUs;
      const id = this.#id(row, CODE_DWELL, timeUs, "");
      const contradicted = (pairs.word(row, CONTRADICTED) & (1 << i)) !== 0;
      const view = {
        after_s: thresholdUs / 1e6,
        event_time: formatTimestamp(timeUs),
        id,
        ...(contradicted ? { contradicted } as const : {}),
      };
      const isTold = (pairs.word(row, TOLD) & (1 << i)) !== 0;
      // What a process before this one told behind its last checkpoint is told, though the visit has not come to it yet.
      if (isTold || (inside && ledger.hasDwell(id, timeUs, enteredAtUs))) told.push(view);
      else if (inside && i >= next) pending.push(view);
    }
    return { told, pending };
  }

  /**
   * The id that the entry left with. A copy with an earlier time may have begun the visit, though it came second: then the
   * pair's memory has the time that was told.
   */
  #entryId(row: number): string | null {
    const { pairs } = this.#partition;
    const enteredAtUs = pairs.time(row, ENTER);
    const seqKey = pairs.seq(row, ENTER_SEQ);
    if (!Number.isNaN(seqKey)) {
      return seqKey < 0 ? null : this.#id(row, CODE_ENTER, enteredAtUs, String(seqKey));
    }
    const toldUs = pairs.time(row, TOLD_ENTER);
    const isTold = toldUs > 0 && Number.isNaN(pairs.seq(row, TOLD_ENTER_SEQ)) &&
      (shareAnId(toldUs, enteredAtUs, this.#identity) ||
        Math.abs(toldUs - enteredAtUs) <= this.#config.identity.maxSkewUs);
    return this.#id(row, CODE_ENTER, isTold ? toldUs : enteredAtUs, "");
  }

  #id(row: number, code: number, timeUs: number, seq: string): string {
    const { pairs } = this.#partition;
    pairs.locate(row);
    const ids = pairs.keyBytes.subarray(pairs.deviceStart, pairs.fenceEnd);
    const text = encoder.encode(seq);
    const bytes = new Uint8Array(ids.length + text.length);
    bytes.set(ids);
    bytes.set(text, ids.length);
    const fenceStart = pairs.fenceStart - pairs.deviceStart;
    const { length } = ids;
    this.#identity.compute(code, bytes, 0, fenceStart, fenceStart, length, timeUs, length, bytes.length);
    return this.#identity.hex(0);
  }
}
