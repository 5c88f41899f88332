/**
 * Conservation: no record gets lost between the counts. What was read is dead-lettered, a heartbeat or a transition, and
 * every transition is told, suppressed, silent, absorbed, refused as late, or waits, at every end of every stream.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import type { Config } from "../../lib/config.ts";
import { type Arrival, arrivalsOf } from "./arrivals.ts";
import { type EngineResult, runProcess, type Trigger } from "./engine.ts";
import { generateStream } from "./streams.ts";

const SEEDS = 150;

for (const atEof of ["flush", "hold"] as const) {
  Deno.test(`conservation: every record is accounted for, at EOF ${atEof}`, async () => {
    let waited = 0;
    for (let seed = 0; seed < SEEDS; seed++) {
      const { config: drawn, lines, wallUs } = generateStream(seed);
      const config: Config = { ...drawn, partitions: 3, source: { ...drawn.source, atEof } };
      const result = await runProcess(config, lines, { wallUs, batchRecords: 1 + seed % 50 });
      const arrivals = arrivalsOf(config, lines, result.deadLetters);
      waited += account(config, lines, { result, arrivals, where: `seed ${seed}, emit ${config.emit}` });
    }
    equal(waited > 0, atEof === "hold", `${waited} records waited at the ends`);
  });
}

/** Adds everything up; returns how many records of it wait. */
function account(
  config: Config,
  lines: readonly string[],
  { result, arrivals, where }: { result: EngineResult; arrivals: readonly Arrival[]; where: string },
): number {
  const { counters, deadLetters, read, readNow, waiting, watermarkUs } = result.report;
  const refused = Object.values(deadLetters).reduce((sum, count) => sum + count, 0);
  const heartbeats = arrivals.filter(({ kind }) => kind === "HEARTBEAT").length;
  const transitions = arrivals.filter(({ kind }) => kind !== "HEARTBEAT");

  equal(read, lines.length, where);
  equal(readNow, read, where);
  equal(read, counters.received + heartbeats + refused - deadLetters.LATE, where);
  equal(counters.received, transitions.length, where);
  equal(counters.late, transitions.filter(({ late }) => late).length, where);
  equal(counters.silent, transitions.filter(({ kind }) => kind === "STALE").length, where);

  // Before the watermark has reached them: they were neither told nor refused, unless that happens on arrival.
  const ahead = arrivals.filter(({ kind, eventTimeUs }) =>
    (kind === "ENTER" || kind === "EXIT") && eventTimeUs > watermarkUs
  );
  const untold = config.emit === "ordered" && config.source.atEof === "hold" ? ahead.length : 0;
  const { enter, exit, passedOn, suppressed, silent, absorbed, lateRefused } = counters;
  equal(
    counters.received,
    enter + exit + passedOn + suppressed + silent + absorbed + lateRefused + untold,
    `${where}: received`,
  );
  if (config.emit === "arrival") equal(absorbed + lateRefused, 0, where);
  if (config.source.atEof === "flush") equal(waiting, 0, where);

  // What the outputs hold is what was counted.
  deepEqual(kindsIn(result.triggers), {
    ENTER: enter,
    EXIT: exit,
    DWELL: counters.dwell,
    "DWELL passed on": passedOn,
    RETRACT: counters.retract,
  }, where);
  equal(result.deadLetters.length, refused, where);
  for (const [reason, count] of Object.entries(deadLetters)) {
    equal(
      result.deadLetters.filter((letter) => letter.reason === reason).length,
      count,
      `${where}: ${reason}`,
    );
  }
  equal(lateRefused, deadLetters.LATE, where);
  return waiting;
}

function kindsIn(triggers: readonly Trigger[]): Record<string, number> {
  const counts: Record<string, number> = { ENTER: 0, EXIT: 0, DWELL: 0, "DWELL passed on": 0, RETRACT: 0 };
  for (const trigger of triggers) {
    const kind = trigger["kind"] as string;
    const name = kind === "DWELL" && !("entered_at" in trigger) ? "DWELL passed on" : kind;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
