/**
 * The DWELLs of Fencepost's own actors over simulated ports, and when each was told.
 *
 * The source waits before each record until nothing of the last one is under way, so that what comes out belongs to it.
 * Where the process is down, it ends in a crash that loses what was not synced, and another begins.
 *
 * @module
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LineBatch, RefusedLine } from "../../actors/ports.ts";
import { type Config, parseConfig } from "../../lib/config.ts";
import type { Json } from "../../lib/json.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import { runProcess } from "../../tests/sim/engine.ts";
import type { OracleTrigger } from "../../tests/sim/oracle.ts";
import { SimulatedSink, SimulatedSource, World } from "../../tests/sim/simulated_ports.ts";
import { type Arrival, type Deliveries, LATENESS_US, THRESHOLD_US } from "./deliveries.ts";
import type { Told } from "./rivals.ts";

/** What came out. */
export interface FencepostDwells {
  /** Those that stood in the end. */
  readonly told: readonly Told[];
  /** Those that a RETRACT has taken back. */
  readonly retracted: number;
}

/** The configuration of both the actors and the oracle. */
export function exactnessConfig(): Config {
  return parseConfig({
    dwell: {
      rules: [{ fence: "*", after: [`${THRESHOLD_US}us`] }],
      lateness: `${LATENESS_US}us`,
      on_contradiction: "retract",
    },
    // Some records between two checkpoints: the simulated clock moves by a microsecond where it is looked at.
    checkpoint: { interval: "40us" },
    partitions: 4,
  });
}

/** A record as a line. */
export function lineOf({ pair, kind, eventUs, arrivesUs }: Arrival): string {
  const [device_id, fence_id] = pair.split(" ");
  return JSON.stringify({ device_id, fence_id, kind, event_time_us: eventUs, ingest_time_us: arrivesUs });
}

/** The line behind all others: time goes on until all deadlines are past. */
export function lastLine(endUs: number): string {
  return JSON.stringify({ kind: "HEARTBEAT", event_time_us: endUs, ingest_time_us: endUs });
}

/** Runs it. */
export async function runFencepost(deliveries: Deliveries): Promise<FencepostDwells> {
  const { arrivals, outages, endUs } = deliveries;
  const lines = [...arrivals.map(lineOf), lastLine(endUs)];
  const world = new World();
  const now: Now = { atUs: -Infinity, toldAtUs: new Map() };
  const run = async (crashesAtUs: number): Promise<void> => {
    let ends = false;
    const arrived = async (line: number): Promise<void> => {
      await nextTurn();
      now.atUs = arrivals[line]?.arrivesUs ?? endUs;
      // The next step, whatever it is, does not come to its end.
      if (now.atUs < crashesAtUs || ends) return;
      ends = true;
      world.crashAt = world.steps + 1;
    };
    await runProcess(exactnessConfig(), lines, {
      wallUs: endUs,
      world,
      source: (world) => new PacedSource(world, lines, arrived),
      sink: (world) => new NotingSink(world, now),
    });
  };
  for (const { fromUs } of outages) {
    try {
      await run(fromUs);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "Crash") throw error;
    }
    world.restart("lost");
  }
  await run(Infinity);
  return dwellsOf(world, now);
}

/** The wall clock, and when a line of the output was written last. */
interface Now {
  atUs: number;
  readonly toldAtUs: Map<string, number>;
}

/** Gives one record at a time, and tells before each that it has arrived. */
class PacedSource extends SimulatedSource {
  readonly #arrived: (line: number) => Promise<void>;
  #next = 0;

  constructor(world: World, lines: readonly string[], arrived: (line: number) => Promise<void>) {
    super(world, lines, { batchRecords: 1 });
    this.#arrived = arrived;
  }

  override open(position: Json | null): Promise<"resumed" | "started"> {
    this.#next = position === null ? 0 : (position as { offset: number }).offset;
    return super.open(position);
  }

  override async read(signal: AbortSignal): Promise<RecordBatch | null> {
    await this.#arrived(this.#next++);
    return await super.read(signal);
  }
}

/** Notes when each line is written. */
class NotingSink extends SimulatedSink {
  readonly #now: Now;

  constructor(world: World, now: Now) {
    super(world, world.triggers);
    this.#now = now;
  }

  override write(batch: LineBatch, refused: RefusedLine): Promise<void> {
    const text = new TextDecoder().decode(batch.bytes.subarray(0, batch.byteLength));
    for (const line of text.split("\n")) this.#now.toldAtUs.set(line, this.#now.atUs);
    return super.write(batch, refused);
  }
}

function dwellsOf(world: World, { toldAtUs }: Now): FencepostDwells {
  const triggers = world.triggers.lines().map((line) => ({
    trigger: JSON.parse(line) as OracleTrigger,
    atUs: toldAtUs.get(line) ?? NaN,
  }));
  const revised = new Set(triggers.map(({ trigger }) => trigger.revises));
  const dwells = triggers.filter(({ trigger }) => trigger.kind === "DWELL");
  const standing = dwells.filter(({ trigger }) => !revised.has(trigger.id));
  return {
    told: standing.map(({ trigger, atUs }) => ({
      pair: `${trigger.device_id} ${trigger.fence_id}`,
      enteredAt: trigger.entered_at ?? "",
      atUs,
    })),
    retracted: dwells.length - standing.length,
  };
}
