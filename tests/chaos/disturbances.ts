/**
 * What is done to a round's processes, or to its broker, while it works. The moments are the seed's; what they meet is
 * the machine's.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { assert } from "../../lib/assert.ts";
import type { KafkaBroker } from "../support/kafka_broker.ts";
import type { KvServer } from "../support/kv_server.ts";
import type { Member, ProcessFleet } from "./process_fleet.ts";

/** How long a member of the group may be silent, in all rounds. */
export const SESSION_MS = 2_000;

/** A member is killed this soon after the last kill, one time in three: while it opens, restores or reads back. */
const EARLY_MS = [20, 900] as const;
const EARLY_SHARE = 1 / 3;
/** Otherwise when the group is at work, or is just coming together again. */
const LATER_MS = [900, 2 * SESSION_MS + 1_500] as const;
/** So often both are killed at once. */
const BOTH_SHARE = 0.1;
/** A process is stopped for as long; the session has run out by then. */
const STOPPED_MS = [1.3 * SESSION_MS, 3 * SESSION_MS] as const;
/** Between two disturbances of other kinds. */
const BETWEEN_MS = [200, 3_000] as const;
/** A broker, or the state's server, is away for as long, and as long as it takes to start. */
const AWAY_MS = [0, 4_000] as const;

/** What is disturbed. */
export interface Disturbed {
  readonly fleet: ProcessFleet;
  readonly broker: KafkaBroker;
  /** Where the state is, if it is on one. */
  readonly kv: KvServer | null;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Waits until a checkpoint more has been acknowledged. */
  readonly progress: () => Promise<void>;
}

/** Does one of its kind; returns how many that were. */
export type Disturbance = (disturbed: Disturbed) => Promise<number>;

/** SIGKILL, of one or of all, at a random moment. */
export async function killSome({ fleet, random }: Disturbed): Promise<number> {
  await wait(random() < EARLY_SHARE ? EARLY_MS : LATER_MS, random);
  const members = random() < BOTH_SHARE ? [...fleet.members] : [anyOf(fleet, random)];
  await Promise.all(members.map((member) => fleet.kill(member)));
  return members.length;
}

/** SIGSTOP until another must have taken over, and SIGCONT. */
export async function stopOne({ fleet, random }: Disturbed): Promise<number> {
  await wait(BETWEEN_MS, random);
  const { child } = anyOf(fleet, random);
  child.kill("SIGSTOP");
  await wait(STOPPED_MS, random);
  child.kill("SIGCONT");
  return 1;
}

/** One more process joins, and some time later one of them leaves. */
export async function joinAndLeave({ fleet, random }: Disturbed): Promise<number> {
  await wait(BETWEEN_MS, random);
  fleet.start();
  await wait(BETWEEN_MS, random);
  await fleet.terminate(anyOf(fleet, random));
  return 1;
}

/** The broker is killed in the middle of the work, and comes back. */
export function killBroker(disturbed: Disturbed): Promise<number> {
  return killServer(disturbed.broker, disturbed);
}

/** The server that has the state is killed in the middle of the work, and comes back. */
export function killKv(disturbed: Disturbed): Promise<number> {
  assert(disturbed.kv !== null, "the state is on a Deno KV server");
  return killServer(disturbed.kv, disturbed);
}

async function killServer(
  server: Pick<KafkaBroker | KvServer, "kill" | "restart">,
  { random, progress }: Disturbed,
): Promise<number> {
  await progress();
  await wait(BETWEEN_MS, random);
  await server.kill();
  await wait(AWAY_MS, random);
  await server.restart();
  return 1;
}

function anyOf({ members }: ProcessFleet, random: () => number): Member {
  return members[Math.floor(random() * members.length)] as Member;
}

async function wait([least, most]: readonly [number, number], random: () => number): Promise<void> {
  await delay(least + random() * (most - least));
}
