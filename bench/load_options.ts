/**
 * What a workload is made of, and what it was: options with their defaults, the command line that sets them, the summary.
 *
 * @module
 */
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import { parseDuration } from "../lib/time.ts";

/** What to generate. Ratios are shares of the crossings. */
export interface LoadOptions {
  readonly seed: number;
  /** Lines in all. */
  readonly records: number;
  /** µs since the epoch. Default: 2025-05-05T04:00:00Z. */
  readonly startUs?: number;
  /** How long the fleet is watched, µs, about. Default: 4 h. */
  readonly spanUs?: number;
  /**
   * How many pairs there are, about. Default: as many as make `records` in `spanUs` with stays and drives of the usual
   * lengths. With another number these are longer or shorter.
   */
  readonly pairs?: number;
  /** Default: 0.03, half of them exact. */
  readonly duplicateRatio?: number;
  /** Uploaded late by trucks that were without coverage; what is still kept at the end is never sent. Default: 0. */
  readonly lateRatio?: number;
  /** Default: 0. */
  readonly poisonRatio?: number;
  /** EXITs that come as STALE instead. Default: 0. */
  readonly staleRatio?: number;
  /** Default: 0. */
  readonly heartbeatRatio?: number;
  /** Share of the trucks that number their crossings. Default: 0.02. */
  readonly seqRatio?: number;
  /** Default: 0.02. */
  readonly attributesRatio?: number;
}

/** What was generated. */
export interface LoadSummary {
  readonly lines: number;
  readonly bytes: number;
  readonly enters: number;
  readonly exits: number;
  readonly stales: number;
  readonly heartbeats: number;
  readonly copies: number;
  /** Crossings among the above that were uploaded late. */
  readonly late: number;
  readonly poison: Readonly<Partial<Record<DeadLetterReason, number>>>;
  readonly trucks: number;
}

/** When the first truck leaves: a Monday morning. */
export const DEFAULT_START_US = Date.UTC(2025, 4, 5, 4) * 1000;
/** How long the fleet is watched. */
export const DEFAULT_SPAN_US = 4 * 3600 * 1_000_000;

/** The command line's flags, and the option each gives. */
const FLAGS = {
  "records": "records",
  "seed": "seed",
  "pairs": "pairs",
  "duplicates": "duplicateRatio",
  "late": "lateRatio",
  "poison": "poisonRatio",
  "stale": "staleRatio",
  "heartbeats": "heartbeatRatio",
  "seq": "seqRatio",
  "attributes": "attributesRatio",
} as const;

/** Reads the command line of `load.ts`: `--records N --seed S`, and what else is wanted. */
export function parseLoadArguments(args: readonly string[]): LoadOptions {
  const options: Record<string, number> = { records: 1_000_000, seed: 1 };
  for (let i = 0; i < args.length; i += 2) {
    const name = (args[i] as string).replace(/^--/, "");
    const text = args[i + 1] ?? "";
    const option = name === "span" ? "spanUs" : FLAGS[name as keyof typeof FLAGS];
    const value = name === "span" ? parseDuration(text) : text === "" ? NaN : Number(text);
    if (option === undefined || !(value >= 0)) {
      throw new RangeError(
        `Cannot read ${args[i]} ${text}: give --span 4h, or a number to ${Object.keys(FLAGS)}`,
      );
    }
    options[option] = value;
  }
  return options as unknown as LoadOptions;
}
