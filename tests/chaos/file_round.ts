/**
 * A round over files: an input that grows, one process after the other over it, each disturbed, and then the verdict.
 *
 * ```
 *   feed ─▶ input ─▶ process ─▶ process ─▶ … ─▶ the last one, undisturbed, to the end ─▶ verdict
 *                       ▲ disturbance  ▲
 *                       └ state, output and dead letters stay ┘
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { randomFrom } from "../support/random.ts";
import type { FileDisturbance } from "./file_disturbances.ts";
import { FileProcess } from "./file_process.ts";
import { judgeFiles } from "./file_verdict.ts";
import { FileWorld } from "./file_world.ts";
import type { SmallDisk } from "./small_disk.ts";
import type { Verdict } from "./verdict.ts";

/** What comes to be known of a disturbance at the end of the input is that it met nothing; so many times is enough. */
const TRIES_PER_DISTURBANCE = 4;

/** What a round is. */
export interface FileRoundOptions {
  readonly name: string;
  readonly disturb: FileDisturbance;
  /** Disturbances in all. */
  readonly count: number;
  readonly emit: "arrival" | "ordered";
  readonly records: number;
  readonly seed: number;
  /** Whether triggers go to stdout as well. */
  readonly piped: boolean;
  /** Where its files are, where that isn't its directory. */
  readonly disk: SmallDisk | null;
  /** Where its logs are kept; it must be there. */
  readonly directory: string;
}

/** What came of it. */
export interface FileRoundOutcome extends Verdict {
  readonly name: string;
  /** Those that met a process at work. */
  readonly disturbances: number;
  readonly seconds: number;
  readonly processes: number;
  /** Whole lines that a reader of stdout got. */
  readonly received: number;
  /** Processes that ended otherwise than they should. */
  readonly faults: readonly string[];
}

/** See the module's header. */
export async function runFileRound(options: FileRoundOptions): Promise<FileRoundOutcome> {
  const { name, disturb, count, emit, records, seed, piped, disk, directory } = options;
  const startedMs = performance.now();
  const world = new FileWorld(disk?.path ?? directory, {
    ...{ logs: directory, records, seed },
    config: configOf({ emit, piped, directory: disk?.path ?? directory }),
  });
  const random = randomFrom(seed);
  const faults: string[] = [];
  const received: string[] = [];
  let processes = 0;
  const start = (last: boolean): FileProcess =>
    new FileProcess(world, join(directory, `process-${++processes}.log`), {
      atEof: last ? "flush" : "hold",
      stdout: piped && !last ? "piped" : "null",
    });
  let done = 0;
  for (let tries = 0; done < count && tries < count * TRIES_PER_DISTURBANCE && faults.length === 0; tries++) {
    await world.feed((tries + 1) / (count + 1));
    const met = await disturb({
      ...{ world, random, disk, logs: directory, start: () => start(false) },
      fault: (text) => void faults.push(`process ${processes}: ${text}`),
      received: (lines) => void received.push(...lines),
    });
    if (met) done++;
    else if (world.isFed) break;
  }
  await world.feed(1);
  const wrong = await start(true).fault("done");
  if (wrong !== null) faults.push(`process ${processes}, undisturbed: ${wrong}`);
  const verdict = await judgeFiles(world, received);
  return {
    ...{ ...verdict, name, faults, processes },
    ...{ disturbances: done, received: received.length, seconds: (performance.now() - startedMs) / 1000 },
  };
}

function configOf(
  { emit, piped, directory }: { readonly emit: string; readonly piped: boolean; readonly directory: string },
): Record<string, unknown> {
  const file = { type: "ndjson", path: join(directory, "triggers.ndjson") };
  return {
    sink: piped ? [file, { type: "ndjson", path: "-" }] : file,
    emit,
    checkpoint: { interval: "30ms" },
    dwell: { rules: [{ fence: "*", after: ["6s", "12s"] }], lateness: "2s", on_contradiction: "retract" },
  };
}
