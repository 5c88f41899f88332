/**
 * What the command line of `plan` asks for.
 *
 * @module
 */
import { parseDuration } from "../../lib/time.ts";
import { type GivenFlags, UsageError } from "./flags.ts";

/** `fencepost plan`, but for the configuration; durations in µs. What is null is the configuration's, if it says. */
export interface PlanArguments {
  readonly command: "plan";
  readonly ratePerSecond: number;
  readonly pairs: number;
  /** Ascending. */
  readonly afterUs: readonly number[] | null;
  readonly retryUs: number;
  readonly replayUs: number;
  readonly retentionUs: number | null;
  readonly skewUs: number | null;
  readonly revisitUs: number | null;
  readonly partitions: number | null;
  readonly idBytes: number;
  readonly memoryBytes: number;
  readonly json: boolean;
}

/** A device's id and a fence's have 256 bytes each, at most. */
const ID_BYTES_MAX = 512;
const RATE_MAX = 10_000_000;
const PAIRS_MAX = 1_000_000_000;

/** Reads the flags. */
export function planArguments(given: GivenFlags): PlanArguments {
  for (const name of ["rate", "pairs"]) {
    if (given.value(name) === null) throw new UsageError(`plan needs --${name}; see fencepost plan --help`);
  }
  return {
    command: "plan",
    ratePerSecond: countOf(given, "rate", RATE_MAX) ?? NaN,
    pairs: countOf(given, "pairs", PAIRS_MAX) ?? NaN,
    afterUs: thresholdsOf(given.value("after")),
    retryUs: durationOf(given, "retry") ?? parseDuration("30s"),
    replayUs: durationOf(given, "replay") ?? parseDuration("4m"),
    retentionUs: durationOf(given, "retention"),
    skewUs: durationOf(given, "skew"),
    revisitUs: durationOf(given, "revisit"),
    partitions: countOf(given, "partitions", 1024),
    idBytes: countOf(given, "id-bytes", ID_BYTES_MAX) ?? 25,
    memoryBytes: sizeOf(given.value("memory") ?? "2GiB"),
    json: given.switched("json") ?? false,
  };
}

function countOf(given: GivenFlags, name: string, max: number): number | null {
  const text = given.value(name);
  if (text === null) return null;
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(value >= 1 && value <= max)) {
    throw new UsageError(`--${name} must be a whole number from 1 to ${max}, got ${text}`);
  }
  return value;
}

/** The longest that the configuration takes. */
const DURATION_MAX = "3650d";

function durationOf(given: GivenFlags, name: string): number | null {
  const text = given.value(name);
  if (text === null) return null;
  return parseFlagDuration(name, text);
}

function parseFlagDuration(name: string, text: string): number {
  const us = parseDuration(text);
  if (!(us <= parseDuration(DURATION_MAX))) {
    throw new UsageError(`--${name} must be a duration such as 200ms, 30s, 10m or 7d, got ${text}`);
  }
  return us;
}

function thresholdsOf(text: string | null): readonly number[] | null {
  if (text === null) return null;
  const afterUs = text.split(",").map((part) => parseFlagDuration("after", part.trim()));
  return [...new Set(afterUs)].sort((a, b) => a - b);
}

const SIZES: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30, MB: 1e6, GB: 1e9 };

function sizeOf(text: string): number {
  const [, number = "", unit = ""] = /^([0-9]{1,6}(?:\.[0-9]{1,3})?)(MiB|GiB|MB|GB)$/.exec(text) ?? [];
  const bytes = Number(number) * (SIZES[unit] ?? NaN);
  if (!(bytes > 0)) throw new UsageError(`--memory must be a size such as 512MiB or 2GiB, got ${text}`);
  return bytes;
}
