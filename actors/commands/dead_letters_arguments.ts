/**
 * What the command lines of `dead-letters list` and `dead-letters replay` ask for.
 *
 * @module
 */
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../lib/dead_letter.ts";
import { nearest } from "../../lib/nearest.ts";
import type { PlaceBy } from "../../lib/replay_place.ts";
import { parseDuration, parseRfc3339 } from "../../lib/time.ts";
import { type GivenFlags, UsageError } from "./flags.ts";

/** Since when: a time, or so long ago. In µs. */
export type Since = { readonly atUs: number } | { readonly agoUs: number };

/** Which dead letters are meant. */
export interface DeadLetterSelection {
  /** Files, `-` being stdin; empty for the configuration's file or topic. */
  readonly paths: readonly string[];
  /** Null for all. */
  readonly reasons: readonly DeadLetterReason[] | null;
  /** Those that were written then or later; null for all. */
  readonly since: Since | null;
}

/** `fencepost dead-letters list`, but for the configuration. */
export interface ListDeadLettersArguments extends DeadLetterSelection {
  readonly command: "dead-letters list";
  readonly json: boolean;
}

/** `fencepost dead-letters replay`, but for the configuration. */
export interface ReplayDeadLettersArguments extends DeadLetterSelection {
  readonly command: "dead-letters replay";
  /** Where the records go; `-` is stdout. Null for the source's topic, or stdout where there is none. */
  readonly output: string | null;
  /** What decides where a record goes that its device and its source would send to different partitions of a topic. */
  readonly placeBy: PlaceBy;
  readonly dryRun: boolean;
  /** Send what can only come back, too. */
  readonly force: boolean;
  /** Send what is older than `identity.ttl`, too. */
  readonly olderThanTtl: boolean;
  /** How many refusals are told one by one. */
  readonly limit: number;
}

const LIMIT = "1000";

/** Reads the flags of `list`. */
export function listDeadLettersArguments(given: GivenFlags): ListDeadLettersArguments {
  return {
    command: "dead-letters list",
    ...selection(given),
    json: given.switched("json") ?? false,
  };
}

/** Reads the flags of `replay`. */
export function replayDeadLettersArguments(given: GivenFlags): ReplayDeadLettersArguments {
  const limit = given.value("limit") ?? LIMIT;
  if (!/^[0-9]{1,9}$/.test(limit)) throw new UsageError(`--limit must be a whole number, got ${limit}`);
  return {
    command: "dead-letters replay",
    ...selection(given),
    output: given.value("output"),
    placeBy: placeBy(given.value("partition")),
    dryRun: given.switched("dry-run") ?? false,
    force: given.switched("force") ?? false,
    olderThanTtl: given.switched("older-than-ttl") ?? false,
    limit: Number(limit),
  };
}

function placeBy(partition: string | null): PlaceBy {
  if (partition === null || partition === "device" || partition === "source") return partition;
  throw new UsageError(`--partition must be device or source, got ${partition}`);
}

function selection(given: GivenFlags): DeadLetterSelection {
  const repeated = given.operands.find((path, i) => given.operands.indexOf(path) !== i);
  if (repeated !== undefined) {
    throw new UsageError(
      repeated === "-"
        ? "Stdin can be read once only"
        : `${repeated} is given twice, so its records would be`,
    );
  }
  const reasons = given.all("reason").flatMap((list) => list.split(",")).map(parseReason);
  const since = given.value("since");
  return {
    paths: given.operands,
    reasons: reasons.length === 0 ? null : reasons,
    since: since === null ? null : parseSince(since),
  };
}

function parseReason(text: string): DeadLetterReason {
  const name = text.trim().toUpperCase();
  const reason = DEAD_LETTER_REASONS.find((known) => known === name);
  if (reason !== undefined) return reason;
  const meant = nearest(name, DEAD_LETTER_REASONS);
  throw new UsageError(
    meant === null
      ? `--reason must be of ${DEAD_LETTER_REASONS.join(", ")}, got ${text}`
      : `There is no reason ${text}; did you mean ${meant}?`,
  );
}

function parseSince(text: string): Since {
  const agoUs = parseDuration(text);
  if (!Number.isNaN(agoUs)) return { agoUs };
  const bytes = new TextEncoder().encode(text);
  const atUs = parseRfc3339(bytes, 0, bytes.length);
  if (!Number.isNaN(atUs)) return { atUs };
  throw new UsageError(
    `--since must be a time such as 2026-11-30T20:30:00Z, or a duration such as 2h, got ${text}`,
  );
}
