/**
 * Millions of ids in one dedup window: bytes an id, and how long an admit takes, while it grows and when it is full and
 * each admit lets an id expire. The reference is a `Map` of hexadecimal strings.
 *
 * @module
 */
import { Histogram } from "./histogram.ts";
import type { PartContext } from "./part.ts";
import { askProcess, script } from "./processes.ts";
import type { WindowOutcome } from "./window_process.ts";

const PART = "window";

/** Runs it. */
export async function measureWindow({ scale, report }: PartContext): Promise<void> {
  const ids = scale.windowIds;
  report.begin(`window: ${ids} ids`);
  const outcomes = { window: [] as WindowOutcome[], map: [] as WindowOutcome[] };
  for (let round = 0; round < scale.rounds; round++) {
    outcomes.window.push(await askProcess(script("window_process.ts", ["window", String(ids)])));
    // It takes a while, and is not what is in question.
    if (round === 0) outcomes.map.push(await askProcess(script("window_process.ts", ["map", String(ids)])));
  }
  const add = (
    kind: "window" | "map",
    what: string,
    unit: string,
    of: (outcome: WindowOutcome) => number,
    target?: number,
  ): void => {
    const name = `${kind === "map" ? "Map of strings" : "window"}, ${what}`;
    const bound = target === undefined ? {} : { target };
    report.add({ part: PART, name, unit, rounds: outcomes[kind].map(of), ...bound });
  };
  add("window", "by its own count", "B/id", (outcome) => outcome.byteLength / ids, 32);
  const withoutHeap = (outcome: WindowOutcome): number => outcome.residentBytes - outcome.heapBytes;
  add("window", "resident, without V8's heap", "B/id", (outcome) => withoutHeap(outcome) / ids, 32);
  add("window", "resident, with it", "B/id", (outcome) => outcome.residentBytes / ids);
  add("map", "resident", "B/id", (outcome) => outcome.residentBytes / ids);
  for (const kind of ["window", "map"] as const) {
    for (const phase of ["growing", "full"] as const) {
      const histogram = (outcome: WindowOutcome): Histogram => Histogram.fromJson(outcome[phase]);
      const target = kind === "window" ? 10 : undefined;
      add(kind, `${phase}, p50`, "µs", (outcome) => histogram(outcome).percentileUs(0.5));
      add(kind, `${phase}, p99`, "µs", (outcome) => histogram(outcome).percentileUs(0.99), target);
      add(kind, `${phase}, p99.9`, "µs", (outcome) => histogram(outcome).percentileUs(0.999));
      add(kind, `${phase}, worst`, "µs", (outcome) => histogram(outcome).worstUs);
    }
  }
  add("window", "of which the timing itself, p50", "µs", (outcome) => {
    return Histogram.fromJson(outcome.clock).percentileUs(0.5);
  });
}
