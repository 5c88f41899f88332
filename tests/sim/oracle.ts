/**
 * The oracle: SPEC 1 to 4 as an obvious program over a file of lines, with which the engine is compared.
 *
 * It was written from the page alone and shares no code with `lib/`: Maps, sorts and whole histories, and no care for
 * what that costs. It is the *ideal execution*: the watermark moves with every record, and with every move all that has
 * become due of any pair happens, before the next record is looked at.
 *
 * ```
 *   line ─▶ read ─▶ clocks ─▶ late? admit? ─▶ waits, or is held, by pair ─▶ every pair advances to the new watermark
 * ```
 *
 * Left out: following the wall clock (a file is not live), and all bounds of capacity.
 *
 * Where the page leaves a choice, this file and its neighbours `oracle_record.ts`, `oracle_book.ts` and
 * `oracle_pair.ts` say at their head which they took. Here:
 * - Time is checked in this order: before 2000; an ingest time in the future; an event time in the future; too old for
 *   the dedup clock; then seq and attributes.
 * - A pair's last transition, by which it is forgotten, is an ENTER, EXIT or STALE. A DWELL passed on changes no state.
 * - `pending` counts deadlines, not pairs; those of what still waits or is held are not made yet.
 * - A heartbeat is never counted as late.
 * - The order of triggers is that of the ideal execution only within a pair.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import {
  type Hash64,
  loadHash64,
  OracleBook,
  type OracleTransition,
  type OracleTrigger,
} from "./oracle_book.ts";
import { OraclePair } from "./oracle_pair.ts";
import { type OracleReading, readOracleRecord } from "./oracle_record.ts";

export type { OracleTrigger } from "./oracle_book.ts";

/** A raw line, as it is in the file, without its line feed. */
export type OracleRecord = string | Uint8Array;

/** How the input ends and when it is read. */
export interface OracleOptions {
  readonly atEof: "flush" | "hold";
  /** The wall clock, which stands still, in µs. */
  readonly wallUs: number;
}

/** All that comes out. */
export interface OracleResult {
  readonly triggers: readonly OracleTrigger[];
  /** `line` counts from 1. */
  readonly deadLetters: readonly { readonly line: number; readonly reason: string }[];
  readonly suppressed: number;
  readonly late: number;
  readonly late_skipped: number;
  readonly dwell_contradicted: number;
  readonly flaps_in_bucket: number;
  /** Deadlines that have not passed. */
  readonly pending: number;
}

/** Runs the oracle over a whole input. */
export type RunOracle = (
  config: Config,
  records: readonly OracleRecord[],
  options: OracleOptions,
) => OracleResult;

/** Makes the oracle; only loading the hash takes a wait. */
export async function makeOracle(): Promise<RunOracle> {
  const hash = await loadHash64();
  return (config, records, options) => new OracleRun(config, hash, options).over(records);
}

const YEAR_2000_US = Date.UTC(2000, 0, 1) * 1000;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const CARRIAGE_RETURN = 0x0d;

class OracleRun {
  readonly #config: Config;
  readonly #options: OracleOptions;
  readonly #book: OracleBook;
  readonly #pairs = new Map<string, OraclePair>();
  readonly #deadLetters: { line: number; reason: string }[] = [];
  #highestEventUs = -Infinity;
  #highestObservedUs = -Infinity;

  constructor(config: Config, hash: Hash64, options: OracleOptions) {
    this.#config = config;
    this.#options = options;
    this.#book = new OracleBook(config, hash);
  }

  over(records: readonly OracleRecord[]): OracleResult {
    for (const [i, record] of records.entries()) {
      const bytes = contentOf(record, i === 0);
      if (bytes.length === 0) continue;
      const reading = readOracleRecord(bytes);
      const reason = typeof reading === "string" ? reading : this.#refuse(reading) ?? this.#take(reading);
      if (reason !== null) this.#deadLetters.push({ line: i + 1, reason });
    }
    const pairs = [...this.#pairs.values()];
    if (this.#options.atEof === "flush") pairs.forEach((pair) => pair.flush(this.#highestObservedUs));
    const { triggers, counters } = this.#book;
    return {
      triggers,
      deadLetters: this.#deadLetters,
      suppressed: counters.suppressed,
      late: counters.late,
      late_skipped: counters.lateSkipped,
      dwell_contradicted: counters.dwellContradicted,
      flaps_in_bucket: counters.flapsInBucket,
      pending: pairs.reduce((sum, pair) => sum + pair.pendingCount, 0),
    };
  }

  /** Why a record that was read can't be taken, or null. It has moved no clock. */
  #refuse({ eventTimeUs, ingestTimeUs, invalidField }: OracleReading): string | null {
    const { maxFutureSkewUs, maxAgeUs } = this.#config.time;
    const { wallUs } = this.#options;
    if (eventTimeUs < YEAR_2000_US) return "TIME_TOO_OLD";
    if ((ingestTimeUs ?? -Infinity) > wallUs + maxFutureSkewUs) return "TIME_IN_FUTURE";
    if (eventTimeUs > (ingestTimeUs ?? wallUs) + maxFutureSkewUs) return "TIME_IN_FUTURE";
    if (eventTimeUs < Math.max(this.#book.clockUs, ingestTimeUs ?? -Infinity) - maxAgeUs) {
      return "TIME_TOO_OLD";
    }
    return invalidField ? "INVALID_FIELD" : null;
  }

  /** Takes a record; it can still become a dead letter where triggers leave in order. */
  #take(reading: OracleReading): "LATE" | null {
    const { eventTimeUs } = reading;
    const watermarkUs = this.#watermarkUs();
    this.#highestEventUs = Math.max(this.#highestEventUs, eventTimeUs);
    const ingestTimeUs = reading.ingestTimeUs ?? this.#highestEventUs;
    this.#book.clockUs = Math.max(this.#book.clockUs, ingestTimeUs);
    this.#highestObservedUs = Math.max(this.#highestObservedUs, Math.min(eventTimeUs, ingestTimeUs));
    const outcome = reading.kind === "HEARTBEAT" ? null : this.#arrive(reading.kind, reading, watermarkUs);
    for (const pair of this.#pairs.values()) pair.advanceTo(this.#watermarkUs());
    return outcome;
  }

  #watermarkUs(): number {
    return this.#highestObservedUs - this.#config.dwell.latenessUs;
  }

  /** @param watermarkUs the watermark before the record */
  #arrive(kind: OracleTransition["kind"], reading: OracleReading, watermarkUs: number): "LATE" | null {
    const { clockUs, counters } = this.#book;
    const { eventTimeUs: timeUs, deviceId, fenceId, seq, attributes } = reading;
    const late = timeUs <= watermarkUs;
    if (late) counters.late++;
    const beyondWindow = clockUs - timeUs >= this.#config.identity.ttlUs;
    const transition: OracleTransition = {
      ...{ kind, deviceId, fenceId, timeUs, seq, attributes, clockUs, late, beyondWindow },
      suppressed: false,
    };
    const pair = this.#pairOf(deviceId, fenceId);
    if (kind === "DWELL") {
      this.#book.tell(transition, pair.memories);
      return null;
    }
    let outcome: "LATE" | null = null;
    if (kind !== "STALE") {
      if (this.#config.emit === "arrival") {
        transition.suppressed = this.#book.tell(transition, pair.memories) === "suppressed";
      } else if (late) {
        transition.suppressed = this.#book.isKnown(transition, pair.memories);
        if (transition.suppressed) counters.suppressed++;
        else outcome = "LATE";
      }
    }
    pair.add(transition, watermarkUs);
    return outcome;
  }

  /** The pair, a new one if it was forgotten: none of the records it has seen could still be accepted. */
  #pairOf(deviceId: string, fenceId: string): OraclePair {
    const key = JSON.stringify([deviceId, fenceId]);
    const known = this.#pairs.get(key);
    const isForgotten = known === undefined ||
      known.isAtRest && this.#book.clockUs - known.latestUs > this.#config.time.maxAgeUs;
    if (!isForgotten) return known;
    const pair = new OraclePair(this.#book, this.#thresholdsUs(fenceId));
    this.#pairs.set(key, pair);
    return pair;
  }

  /** The first rule that matches gives them. */
  #thresholdsUs(fenceId: string): readonly number[] {
    const rule = this.#config.dwell.rules.find(({ fence }) => {
      const parts = fence.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
      return new RegExp(`^${parts.join("[^]*")}$`, "u").test(fenceId);
    });
    return rule?.afterUs ?? [];
  }
}

/** A line's bytes without the file's byte order mark and the carriage return. */
function contentOf(record: OracleRecord, isFirst: boolean): Uint8Array {
  let bytes = typeof record === "string" ? new TextEncoder().encode(record) : record;
  if (isFirst && BYTE_ORDER_MARK.every((byte, i) => bytes[i] === byte)) bytes = bytes.subarray(3);
  return bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
}
