/**
 * What `deno task chaos:kafka` is told on its command line.
 *
 * @module
 */

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

const FLAGS = {
  "--kills": "kills",
  "--stops": "stops",
  "--joins": "joins",
  "--broker-kills": "brokerKills",
  "--kv-kills": "kvKills",
  "--records": "records",
  "--seed": "seed",
} as const;

/**
 * Reads the command line.
 *
 * @param seed in force where none is given
 * @throws {RangeError} where it can't be read
 */
export function parseChaosArguments(args: readonly string[], seed: number): ChaosOptions {
  let options: ChaosOptions = { ...CHAOS_DEFAULTS, seed };
  for (let i = 0; i < args.length; i += 2) {
    const flag = args[i] as string;
    const value = args[i + 1] ?? "";
    const key = FLAGS[flag as keyof typeof FLAGS];
    if (flag === "--state" && value !== "") options = { ...options, state: value };
    else if (key !== undefined && /^\d{1,9}$/.test(value)) options = { ...options, [key]: Number(value) };
    else {
      throw new RangeError(
        `Cannot read ${flag} ${value}: give a number to ${
          Object.keys(FLAGS).join(", ")
        }, or --state kafka|kv|DIR`,
      );
    }
  }
  return options;
}
