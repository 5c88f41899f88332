/**
 * Where a device is, read from the partition that owns it: between two of its messages, never in the middle of one.
 *
 * ```
 *   find all rows of a device    slice ─▶ the others' turn ─▶ slice … ─▶ between two messages: read, all at once
 *                                  │                                        ▲
 *                                  ╰── rows that a pair is put in meanwhile ╯
 * ```
 *
 * A pair is found by its hash. All pairs of a device are found by looking at every row of one partition, a millisecond at
 * a time: some 30 ms of work for 1.9 million rows. An index by device would have to be kept up with each pair that comes
 * and goes, and costs at least 6 bytes a pair, for what a person asks now and then.
 *
 * @module
 */
import type { Config } from "../lib/config.ts";
import type { FenceRules } from "../lib/fence_rules.ts";
import type { Identity } from "../lib/identity.ts";
import { murmur2, toPartition } from "../lib/murmur2.ts";
import { type PairView, PairViews } from "../lib/pair_view.ts";
import { formatTimestamp } from "../lib/time.ts";
import { NO_ROW } from "../lib/timing_wheel.ts";
import type { PartitionActor } from "./partition_actor.ts";
import { type Clock, UnavailableError } from "./ports.ts";

/** Pairs of a device that are told of at most. */
export const PAIRS_SHOWN_MAX = 1000;
/** Rows looked at before the clock is asked, and how long a slice may take, µs. */
const SLICE_ROWS = 4096;
const SLICE_US = 1000;
/** How long a partition may take to come to the end of a message, µs: with an output that is stuck it does not. */
const WAIT_US = 2_000_000;

/** What was found in one split. */
export interface Found {
  /** Everything up to here was applied; null before there was a record. */
  readonly watermark: string | null;
  /** Those inside first, then those that were last seen. */
  readonly pairs: readonly PairView[];
  /** How many there are: at most {@link PAIRS_SHOWN_MAX} are told of. */
  readonly count: number;
}

/** See the module's header. */
export interface SplitReadsParts {
  readonly config: Config;
  readonly identity: Identity;
  readonly rules: FenceRules;
  readonly clock: Clock;
  readonly actors: readonly PartitionActor[];
}

/** See the module's header. */
export class SplitReads {
  /** Whether there is something to be read: after the restore, before a failure. */
  isOpen = false;
  readonly #parts: SplitReadsParts;
  readonly #views: PairViews[];

  constructor(parts: SplitReadsParts) {
    this.#parts = parts;
    this.#views = parts.actors.map(({ partition }) => new PairViews(partition, parts));
  }

  /**
   * One pair.
   *
   * @throws {UnavailableError} where it can't be told now
   */
  async pair(device: Uint8Array, fence: Uint8Array): Promise<Found> {
    const number = this.#ownerOf(device);
    const views = this.#views[number] as PairViews;
    return await this.#between(number, () => {
      const row = views.find(device, fence);
      return this.#found(number, row === NO_ROW ? [] : [row]);
    });
  }

  /**
   * All pairs of a device.
   *
   * @throws {UnavailableError} where it can't be told now
   */
  async device(device: Uint8Array): Promise<Found> {
    const { clock, actors } = this.#parts;
    const number = this.#ownerOf(device);
    const views = this.#views[number] as PairViews;
    const { pairs } = (actors[number] as PartitionActor).partition;
    const rows: number[] = [];
    const stopWatching = pairs.watchInserted(rows);
    try {
      for (let from = 0; from < pairs.rowCount;) {
        this.#checkOpen();
        const startedUs = clock.monotonicUs();
        do {
          const to = Math.min(from + SLICE_ROWS, pairs.rowCount);
          views.findOf(device, from, to, rows);
          from = to;
        } while (from < pairs.rowCount && clock.monotonicUs() - startedUs < SLICE_US);
        if (from < pairs.rowCount) await clock.nextTurn();
      }
      return await this.#between(number, () => this.#found(number, views.known(device, rows)));
    } finally {
      stopWatching();
    }
  }

  #found(number: number, rows: readonly number[]): Found {
    const views = this.#views[number] as PairViews;
    const { watermarkUs } = (this.#parts.actors[number] as PartitionActor).partition;
    return {
      watermark: Number.isFinite(watermarkUs) ? formatTimestamp(watermarkUs) : null,
      pairs: views.viewsOf(views.inOrder(rows).slice(0, PAIRS_SHOWN_MAX)),
      count: rows.length,
    };
  }

  #ownerOf(device: Uint8Array): number {
    return toPartition(murmur2(device, 0, device.length), this.#parts.config.partitions);
  }

  #checkOpen(): void {
    if (!this.isOpen) throw new UnavailableError("The state is being restored");
  }

  /** Calls as soon as the partition is between two messages. */
  async #between<T>(number: number, look: () => T): Promise<T> {
    const { clock, actors } = this.#parts;
    this.#checkOpen();
    const looked = Promise.withResolvers<T>();
    let isDone = false;
    (actors[number] as PartitionActor).between(() => {
      isDone = true;
      try {
        looked.resolve(look());
      } catch (error) {
        looked.reject(error);
      }
    });
    if (isDone) return await looked.promise;
    const enough = new AbortController();
    const late = clock.delay(WAIT_US, enough.signal).then((): never => {
      throw new UnavailableError("The partition does not come to the end of a message: is an output stuck?");
    });
    late.catch(() => {});
    try {
      return await Promise.race([looked.promise, late]);
    } finally {
      enough.abort();
    }
  }
}

/**
 * All splits of a process, since a device may be in any of them where others share them out.
 *
 * @param splits null for one that is to be opened again
 * @throws {UnavailableError} where nothing was found, and it can't be told that there is nothing
 */
export async function readAll(
  splits: readonly (SplitReads | null)[],
  read: (split: SplitReads) => Promise<Found>,
): Promise<Found> {
  const open = splits.filter((split) => split !== null && split.isOpen) as SplitReads[];
  const all: Found[] = [];
  for (const split of open) all.push(await read(split));
  const found = all.filter(({ count }) => count > 0);
  if (found.length === 0 && (open.length < splits.length || open.length === 0)) {
    throw new UnavailableError("The state is being restored, or no partition is here");
  }
  const [first, ...rest] = found.length > 0 ? found : all;
  return rest.reduce((sum, { watermark, pairs, count }) => ({
    // What all have come to.
    watermark: [sum.watermark, watermark].includes(null)
      ? null
      : [sum.watermark, watermark].toSorted()[0] as string,
    pairs: [...sum.pairs, ...pairs].slice(0, PAIRS_SHOWN_MAX),
    count: sum.count + count,
  }), first as Found);
}
