/**
 * What `deno task chaos:kafka` runs: Fencepost over a real broker, in several processes that are killed, stopped,
 * joined and left, and with a broker that is killed; and after each round the question whether every trigger and every
 * dead letter is there exactly once.
 *
 * | round | what is done |
 * |---|---|
 * | kills | one of two processes, or both, SIGKILL at a random moment, and started again at once |
 * | stops | one of two is stopped until its session has run out and another has its partitions, and wakes up |
 * | joins and leaves | a third joins, one of the three leaves by SIGTERM |
 * | broker kills | the broker itself, SIGKILL, and back some seconds later; not that of KAFKA_BROKERS |
 * | state server kills | with `--state kv`: the Deno KV server, SIGKILL, and back some seconds later; not that of DENOKV_URL |
 *
 * The workload is bench/load.ts with copies, late uploads and poison; what should come out says the simulation's oracle,
 * written from the specification alone, over what the topic holds. Nothing is compared with another run of the same code.
 *
 * ```sh
 * deno task chaos:kafka                # a quarter of an hour; Java and Maven must be there, or KAFKA_BROKERS
 * deno task chaos:kafka --state kv     # with a denokv that can be started, see tests/support/kv_server.ts
 * deno task chaos:kafka --kills 10 --stops 2 --joins 2 --broker-kills 0 --records 20000 --seed 7 --state kafka
 * ```
 *
 * The exit status is 0 where nothing differs. Otherwise 1, and logs, topics and the broker's data are kept.
 *
 * @module
 */
import { join } from "node:path";
import { mendKafkajs } from "../../actors/adapters/kafka/mend_kafkajs.ts";
import { type KafkaBroker, startKafka } from "../support/kafka_broker.ts";
import type { TestServer } from "../support/given_server.ts";
import { type KvServer, startKvServer } from "../support/kv_server.ts";
import { type ChaosOptions, parseChaosArguments } from "./chaos_options.ts";
import { type RoundOptions, type RoundOutcome, runRound } from "./chaos_round.ts";
import { joinAndLeave, killBroker, killKv, killSome, stopOne } from "./disturbances.ts";
import { textTable } from "./text_table.ts";

interface Round extends Pick<RoundOptions, "name" | "disturb" | "count" | "emit"> {
  /** The server that it kills, if it kills one. */
  readonly server?: TestServer | null;
}

/** What the rounds work with. */
export interface ChaosEnvironment {
  readonly broker: KafkaBroker;
  /** For `--state kv`. */
  readonly kv: KvServer | null;
  /** Of logs and configurations. */
  readonly directory: string;
  readonly say: (text: string) => void;
}

/** Runs all rounds that there is anything to do in. */
export async function runChaos(
  options: ChaosOptions,
  { broker, kv, directory, say }: ChaosEnvironment,
): Promise<readonly RoundOutcome[]> {
  const { kills, stops, joins, brokerKills, kvKills, records, seed, state } = options;
  const rounds: Round[] = [
    { name: "kills", disturb: killSome, count: kills, emit: "arrival" },
    { name: "stops", disturb: stopOne, count: stops, emit: "ordered" },
    { name: "joins and leaves", disturb: joinAndLeave, count: joins, emit: "arrival" },
    { name: "broker kills", disturb: killBroker, count: brokerKills, emit: "ordered", server: broker },
    {
      ...{ name: "state server kills", disturb: killKv, count: kv === null ? 0 : kvKills },
      ...{ emit: "arrival", server: kv },
    },
  ];
  const outcomes: RoundOutcome[] = [];
  for (const [i, round] of rounds.entries()) {
    if (round.count === 0) continue;
    if (round.server?.isOurs === false) {
      say(`${round.name}: left out, the server is not ours to kill`);
      continue;
    }
    say(`${round.name}: ${round.count}, over ${records} records, emit ${round.emit}`);
    const own = join(directory, `${i + 1}-${round.name.replaceAll(" ", "-")}`);
    await Deno.mkdir(own);
    const common = { records, seed: seed + i, state, broker, kv, directory: own, say };
    const outcome = await runRound({ ...round, ...common });
    outcomes.push(outcome);
    say(`  ${outcome.differences} differences, ${outcome.seconds.toFixed(0)} s`);
    for (const line of [...outcome.faults, outcome.report]) if (line !== "") say(line);
  }
  return outcomes;
}

/** Whether a round is as it should be. */
export function isGood({ differences, faults }: RoundOutcome): boolean {
  return differences === 0 && faults.length === 0;
}

/** What was done and found, a line a round. */
export function tableOf(outcomes: readonly RoundOutcome[]): string {
  const rows = outcomes.map((outcome) => [
    outcome.name,
    String(outcome.disturbances),
    outcome.seconds.toFixed(0),
    String(outcome.records),
    String(outcome.triggers),
    String(outcome.deadLetters),
    String(outcome.takeovers),
    String(outcome.fenced),
    String(outcome.faults.length),
    String(outcome.differences),
  ]);
  const head = ["round", "times", "seconds", "records", "triggers", "dead letters", "takeovers", "fenced"];
  return textTable([[...head, "faults", "differences"], ...rows]);
}

async function main(): Promise<number> {
  const say = (text: string): void => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
  let options: ChaosOptions;
  try {
    options = parseChaosArguments(Deno.args, Date.now() % 1_000_000);
  } catch (error) {
    say((error as Error).message);
    return 2;
  }
  // Before the first client: an idle connection's timer is a warning of Node's each.
  mendKafkajs();
  const directory = await Deno.makeTempDir({ prefix: "fencepost-chaos-" });
  say(`seed ${options.seed}, files in ${directory}`);
  const kv = options.state === "kv" ? await startKvServer() : null;
  if (options.state === "kv" && kv === null) return 1;
  const broker = await startKafka({ directory: join(directory, "broker") });
  if (broker === null) return 1;
  let isWell = false;
  try {
    const outcomes = await runChaos(options, { broker, kv, directory, say });
    say(`\n${tableOf(outcomes)}`);
    isWell = outcomes.every(isGood);
  } catch (error) {
    say(`\n${error instanceof Error ? error.stack ?? error.message : String(error)}`);
  } finally {
    // A broker of ours that something went wrong on leaves its data.
    await (isWell || !broker.isOurs ? broker.stop() : broker.kill());
    await kv?.stop();
  }
  if (!isWell) {
    say(`\nNot exactly once, or not at all: seed ${options.seed}, logs, topics and data in ${directory}`);
    return 1;
  }
  await Deno.remove(directory, { recursive: true });
  say("\nEvery trigger and every dead letter exactly once.");
  return 0;
}

if (import.meta.main) Deno.exit(await main());
