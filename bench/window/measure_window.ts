/**
 * Seven dedup windows of 5 million ids, each a trigger's 128 bits: 25,000 triggers a second, which is a window of 200 s, and
 * as fast as it goes. Three in a hundred are copies, one in a hundred is one that has expired and comes again.
 *
 * ```
 *   Map of strings, of bigints     insertion order is expiry order
 *   lru-cache                      npm's, with a ttl
 *   Redis                          SET NX PX on loopback, the batch's 128 in a pipeline, or one by one; where there is a
 *                                  `redis-server` (Debian has it), which the bench starts and stops
 *   bloom over Map                 npm's bloom-filters asked first
 *   ours                           lib/dedup_window.ts
 * ```
 *
 * Each is a process of its own, filled once and then asked in turns; all are there at once: 5 GB of memory. An admit is
 * timed by itself (Redis' pipeline: until all have been answered), the reading of the clock included, some 0.05 µs. `memory`
 * is what was added to the process while it was filled; of Redis what the server says of itself.
 *
 * The references are the figures that this was asked to beat: an LRU of 400 MB with a p99 below 0.2 ms, Redis' p99 of
 * 0.9 ms, a Bloom filter of 90 MB. Of their machine and number of ids nothing is known.
 *
 * @module
 */
import { AskedProcess } from "../engine/asked_process.ts";
import { Histogram } from "../engine/histogram.ts";
import type { PartContext } from "../engine/part.ts";
import { script } from "../engine/processes.ts";
import type { Report } from "../engine/report.ts";
import { type Measurement, OURS } from "../engine/section.ts";
import { startRedis } from "./redis_server.ts";
import type { Pace, WindowFilled, WindowRound } from "./window_bout.ts";

const PART = "window";
/** Of ours. */
const BYTES_MAX = 32;
const P99_US_MAX = 10;

/** A window, as its process and the table call it. */
interface Contender {
  readonly key: string;
  readonly name: string;
  /** The field's figures. */
  readonly memoryMB?: number;
  readonly p99Us?: number;
  /** What its process may besides, as flags. */
  readonly permissions?: readonly string[];
}

const LOCAL: readonly Contender[] = [
  { key: "strings", name: "Map of strings" },
  { key: "bigints", name: "Map of bigints" },
  { key: "lru", name: "lru-cache, ttl", memoryMB: 400, p99Us: 200 },
  { key: "bloom", name: "bloom over Map", memoryMB: 90, permissions: ["--allow-env"] },
  { key: "ours", name: OURS },
];

const REDIS: readonly Contender[] = [
  { key: "pipelined", name: "Redis, pipelined", p99Us: 900 },
  { key: "one by one", name: "Redis, one by one", p99Us: 900 },
];
const REDIS_PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-sys"];

/** One that is measured. */
interface Bout {
  readonly contender: Contender;
  readonly process: AskedProcess;
  readonly question: string;
  readonly filled: WindowFilled;
  readonly rounds: WindowRound[];
}

/** Runs it. */
export async function measureWindow({ scale, report, directory }: PartContext): Promise<void> {
  const ids = scale.windowIds;
  await using stack = new AsyncDisposableStack();
  const bouts: Bout[] = [];
  const redis = await startRedis(directory);
  if (redis !== null) {
    stack.use(redis);
    const command = script(
      "../window/redis_process.ts",
      [String(redis.port), String(ids)],
      REDIS_PERMISSIONS,
    );
    const process = stack.use(new AskedProcess(command));
    const filled = await process.ask<WindowFilled>("fill");
    for (const contender of REDIS) {
      bouts.push({ contender, process, question: contender.key, filled, rounds: [] });
    }
  }
  for (const contender of LOCAL) {
    const command = script(
      "../window/window_process.ts",
      [contender.key, String(ids)],
      contender.permissions,
    );
    const process = stack.use(new AskedProcess(command));
    const filled = await process.ask<WindowFilled>("fill");
    bouts.push({ contender, process, question: "round", filled, rounds: [] });
  }
  for (let round = 0; round < scale.rounds; round++) {
    for (const { process, question, rounds } of bouts) {
      rounds.push(await process.ask<WindowRound>(question, String(scale.windowSeconds)));
    }
  }
  tell(report, bouts, { ids, hasRedis: redis !== null });
}

function tell(
  report: Report,
  bouts: readonly Bout[],
  { ids, hasRedis }: { ids: number; hasRedis: boolean },
): void {
  report.begin(`window: ${ids} ids, 25,000 triggers a second`);
  if (!hasRedis) {
    report.note("Without Redis: there is no redis-server here. Debian has it, in the package of that name.");
  }
  report.note("In brackets the field's figures, of an unknown number of ids.");
  for (const bout of bouts) for (const cell of pacedCells(bout, ids)) report.add(cell);
  report.begin(`window: ${ids} ids, flat out`);
  for (const bout of bouts) for (const cell of flatOutCells(bout)) report.add(cell);
  const ours = bouts.find(({ contender }) => contender.name === OURS)?.filled;
  if (ours === undefined) throw new Error("Cannot compare: ours was not measured");
  const bytes = (name: string, rounds: number[]): void => {
    report.add({ part: PART, name, unit: "B/id", rounds, target: BYTES_MAX });
  };
  bytes("ours, by its own count", [(ours.byteLength ?? NaN) / ids]);
  bytes("ours, resident, without V8's heap", [(ours.residentBytes - ours.heapBytes) / ids]);
}

function pacedCells({ contender, filled, rounds }: Bout, ids: number): Measurement[] {
  const { name, memoryMB, p99Us } = contender;
  const sum = (of: (round: WindowRound) => number): number[] => [
    rounds.reduce((total, round) => total + of(round), 0),
  ];
  const cell = (column: string, unit: string, numbers: readonly number[]): Measurement => {
    return { part: PART, name, column, unit, rounds: numbers };
  };
  const reached = rounds.map(({ paced }) => paced.admits / paced.seconds);
  return [
    ...latencyCells(name, rounds.map(({ paced }) => paced), p99Us === undefined ? {} : { reference: p99Us }),
    { ...cell("reached", "/s", reached), better: "neither" },
    {
      ...cell("memory", "MB", [filled.residentBytes / 1e6]),
      ...(memoryMB === undefined ? {} : { reference: memoryMB }),
    },
    cell("memory", "B/id", [filled.residentBytes / ids]),
    cell("false drops", "ids", sum((round) => round.falseDrops)),
    cell("let through", "copies", sum((round) => round.letThrough)),
  ];
}

function flatOutCells({ contender: { name }, rounds }: Bout): Measurement[] {
  const paces = rounds.map(({ flatOut }) => flatOut);
  const cost = (unit: string, of: (pace: Pace) => number): Measurement => {
    return { part: PART, name, column: "cost", unit, rounds: paces.map((pace) => of(pace) / pace.admits) };
  };
  const bound = name === OURS ? { target: P99_US_MAX } : {};
  return [
    cost("µs", ({ wallUs }) => wallUs),
    cost("CPU µs", ({ cpuUs }) => cpuUs),
    ...latencyCells(name, paces, bound),
  ];
}

/** @param more what is said of the 99th percentile besides */
function latencyCells(
  name: string,
  paces: readonly Pace[],
  more: { readonly reference?: number; readonly target?: number },
): Measurement[] {
  const histograms = paces.map(({ latencies }) => Histogram.fromJson(latencies));
  const cell = (column: string, of: (histogram: Histogram) => number): Measurement => {
    return { part: PART, name, column, unit: "µs", rounds: histograms.map(of) };
  };
  return [
    cell("p50", (histogram) => histogram.percentileUs(0.5)),
    { ...cell("p99", (histogram) => histogram.percentileUs(0.99)), ...more },
    cell("p99.9", (histogram) => histogram.percentileUs(0.999)),
    cell("worst", (histogram) => histogram.worstUs),
  ];
}
