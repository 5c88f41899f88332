/**
 * What `deno task chaos:kafka` is told on its command line.
 *
 * @module
 */
import { readNumberFlags } from "./number_flags.ts";

/** How much of each is done, and from which seed. */
export interface ChaosOptions {
  /** SIGKILLs of the first round. */
  readonly kills: number;
  /** SIGSTOPs of the second. */
  readonly stops: number;
  /** Of the third: a process joins, and one leaves. */
  readonly joins: number;
  /** Of the fourth: the broker is killed. */
  readonly brokerKills: number;
  /** Of the fifth, where the state is on a Deno KV server: that is killed. */
  readonly kvKills: number;
  /** Of each round. */
  readonly records: number;
  readonly seed: number;
  /** `kafka` for a topic, `kv` for a Deno KV server, or a directory, in which each round has its own. */
  readonly state: string;
}

/** What is done where nothing else is given. */
export const CHAOS_DEFAULTS: Omit<ChaosOptions, "seed"> = {
  kills: 100,
  stops: 20,
  joins: 10,
  brokerKills: 4,
  kvKills: 10,
  records: 200_000,
  state: "kafka",
};

const NUMBERS = ["kills", "stops", "joins", "brokerKills", "kvKills", "records", "seed"] as const;

/**
 * Reads the command line.
 *
 * @param seed in force where none is given
 * @throws {RangeError} where it can't be read
 */
export function parseChaosArguments(args: readonly string[], seed: number): ChaosOptions {
  const at = args.indexOf("--state");
  const state = args[at + 1] ?? "";
  const isGiven = at >= 0 && at % 2 === 0 && state !== "";
  const rest = isGiven ? args.toSpliced(at, 2) : args;
  const numbers = readNumberFlags(rest, NUMBERS, ", or --state kafka|kv|DIR");
  return { ...CHAOS_DEFAULTS, seed, ...(isGiven ? { state } : {}), ...numbers };
}
