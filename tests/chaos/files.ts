/**
 * What `deno task chaos` runs: Fencepost over real files, in a process that is killed, stopped and asked to end, on a disk
 * that is full, without the right to write, with a reader that goes away; and after each round the question whether every
 * trigger and every dead letter is there exactly once.
 *
 * | round | what is done |
 * |---|---|
 * | kills | SIGKILL at a random moment |
 * | stops | SIGSTOP; another process wants its state, and its output; SIGCONT |
 * | restarts | SIGTERM at a random moment |
 * | full disks | state, output and dead letters are on a tmpfs that a file fills, and leaves again. It needs the right to mount |
 * | lost rights | the output, the dead letters or the state can't be written any more, and then they can |
 * | closed pipes | triggers go to stdout as well, whose reader goes away |
 *
 * The workload is bench/load.ts with copies, late uploads and poison, in an input that grows by pieces; what should come
 * out says the simulation's oracle. What can't be done here is said, and the exit status says it too: a round that was
 * left out has found nothing.
 *
 * ```sh
 * deno task chaos                                  # some minutes
 * deno task chaos --kills 300 --stops 0 --restarts 0 --full-disks 0 --lost-rights 0 --closed-pipes 0 --seed 7
 * ```
 *
 * The exit status is 0 where nothing differs. Otherwise 1, and all files are kept.
 *
 * @module
 */
import { join } from "node:path";
import {
  closePipe,
  fillDisk,
  killOne,
  restartOne,
  stopFileProcess,
  takeRightsAway,
} from "./file_disturbances.ts";
import { type FileRoundOptions, type FileRoundOutcome, runFileRound } from "./file_round.ts";
import { readNumberFlags } from "./number_flags.ts";
import { SmallDisk } from "./small_disk.ts";
import { canTakeAway } from "./take_away.ts";
import { textTable } from "./text_table.ts";

const DISK_MEGABYTES = 128;
/** More disturbances than these are several rounds: the oracle's work grows with the square of what it is given. */
const ROUND_TIMES_MAX = 10;

/** How much of each is done, and from which seed. */
export interface FileChaosOptions {
  readonly kills: number;
  readonly stops: number;
  readonly restarts: number;
  readonly fullDisks: number;
  readonly lostRights: number;
  readonly closedPipes: number;
  /** Of each round, for each disturbance. */
  readonly records: number;
  readonly seed: number;
}

/** What is done where nothing else is given. */
export const FILE_CHAOS_DEFAULTS: Omit<FileChaosOptions, "seed"> = {
  kills: 60,
  stops: 15,
  restarts: 20,
  fullDisks: 20,
  lostRights: 20,
  closedPipes: 20,
  records: 8_000,
};

/** What the rounds came to. */
export interface FileChaosResult {
  readonly outcomes: readonly FileRoundOutcome[];
  /** Those that can't be done here, and why. */
  readonly skipped: readonly string[];
}

type Round = Pick<FileRoundOptions, "name" | "disturb" | "count" | "emit"> & {
  readonly piped?: boolean;
  readonly needs?: "small disk" | "rights";
};

/** Runs all rounds that there is anything to do in. */
export async function runFileChaos(
  options: FileChaosOptions,
  { directory, say }: { readonly directory: string; readonly say: (text: string) => void },
): Promise<FileChaosResult> {
  const { kills, stops, restarts, fullDisks, lostRights, closedPipes, records, seed } = options;
  const rounds: Round[] = [
    { name: "kills", disturb: killOne, count: kills, emit: "arrival" },
    { name: "stops", disturb: stopFileProcess, count: stops, emit: "ordered" },
    { name: "restarts", disturb: restartOne, count: restarts, emit: "ordered" },
    { name: "full disks", disturb: fillDisk, count: fullDisks, emit: "arrival", needs: "small disk" },
    { name: "lost rights", disturb: takeRightsAway, count: lostRights, emit: "ordered", needs: "rights" },
    { name: "closed pipes", disturb: closePipe, count: closedPipes, emit: "arrival", piped: true },
  ];
  const outcomes: FileRoundOutcome[] = [];
  const skipped: string[] = [];
  for (const [i, { needs, piped = false, ...round }] of rounds.flatMap(inParts).entries()) {
    const own = join(directory, `${i + 1}-${round.name.replaceAll(/[ ,]+/g, "-")}`);
    await Deno.mkdir(own);
    const disk = needs === "small disk" ? await SmallDisk.mount(join(own, "disk"), DISK_MEGABYTES) : null;
    const lacks = needs === "small disk" && disk === null
      ? "a tmpfs can't be mounted (it takes root, and in a container CAP_SYS_ADMIN)"
      : needs === "rights" && !await canTakeAway(own)
      ? "rights can't be taken from root here (chattr +i has no effect)"
      : null;
    if (lacks !== null) {
      skipped.push(`${round.name}: ${lacks}`);
      say(`SKIPPED: ${skipped.at(-1)}`);
      continue;
    }
    const all = records * round.count;
    say(`${round.name}: ${round.count}, over ${all} records, emit ${round.emit}`);
    try {
      const outcome = await runFileRound({
        ...round,
        piped,
        disk,
        records: all,
        seed: seed + i,
        directory: own,
      });
      outcomes.push(outcome);
      say(`  ${outcome.differences} differences, ${outcome.seconds.toFixed(0)} s`);
      for (const line of [...outcome.faults, outcome.report]) if (line !== "") say(line);
    } finally {
      await disk?.unmount();
    }
  }
  return { outcomes, skipped };
}

/** A round of many disturbances as several, with a state each. */
function inParts(round: Round): Round[] {
  const parts = Math.ceil(round.count / ROUND_TIMES_MAX);
  return Array.from({ length: parts }, (_, i) => {
    const count = Math.min(ROUND_TIMES_MAX, round.count - i * ROUND_TIMES_MAX);
    return { ...round, count, name: parts === 1 ? round.name : `${round.name}, part ${i + 1}` };
  });
}

/** What was done and found, a line a round. */
function tableOf(outcomes: readonly FileRoundOutcome[]): string {
  const head = [
    "round",
    "times",
    "seconds",
    "records",
    "triggers",
    "dead letters",
    "processes",
    "read of stdout",
  ];
  return textTable([
    [...head, "faults", "differences"],
    ...outcomes.map(({ name, faults, seconds, ...counts }) => [
      ...[
        name,
        String(counts.disturbances),
        seconds.toFixed(0),
        String(counts.records),
        String(counts.triggers),
      ],
      ...[String(counts.deadLetters), String(counts.processes), String(counts.received)],
      ...[String(faults.length), String(counts.differences)],
    ]),
  ]);
}

async function main(): Promise<number> {
  const say = (text: string): void => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
  const defaults: FileChaosOptions = { ...FILE_CHAOS_DEFAULTS, seed: Date.now() % 1_000_000 };
  let options: FileChaosOptions;
  try {
    const names = Object.keys(defaults) as (keyof FileChaosOptions)[];
    options = { ...defaults, ...readNumberFlags(Deno.args, names) };
  } catch (error) {
    say((error as Error).message);
    return 2;
  }
  const directory = await Deno.makeTempDir({ prefix: "fencepost-chaos-" });
  say(`seed ${options.seed}, files in ${directory}`);
  const { outcomes, skipped } = await runFileChaos(options, { directory, say });
  say(`\n${tableOf(outcomes)}`);
  if (outcomes.some(({ differences, faults }) => differences > 0 || faults.length > 0)) {
    say(`\nNot exactly once, or not at all: seed ${options.seed}, logs and files in ${directory}`);
    return 1;
  }
  await Deno.remove(directory, { recursive: true });
  for (const what of skipped) say(`\nSKIPPED: ${what}`);
  say(
    `\nEvery trigger and every dead letter exactly once${skipped.length > 0 ? ", in what was tried" : ""}.`,
  );
  return skipped.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main());
