/**
 * What arrived, told from the lines alone: which records were taken, which of them late. Tests count by it what the
 * engine's report has to add up to.
 *
 * It reads with the oracle's decoder, and shares nothing with `lib/`.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { type OracleReading, readOracleRecord } from "./oracle_record.ts";

/** A record that was taken. */
export interface Arrival extends OracleReading {
  /** Whether it came at or before the watermark. */
  readonly late: boolean;
}

/** All records that were taken, in their order; a dead letter with the reason LATE is among them, since it moves time. */
export function arrivalsOf(
  config: Config,
  lines: readonly string[],
  deadLetters: readonly { readonly line: number; readonly reason: string }[],
): Arrival[] {
  const refused = new Set(deadLetters.filter(({ reason }) => reason !== "LATE").map(({ line }) => line));
  const arrivals: Arrival[] = [];
  let highestEventUs = -Infinity;
  let highestObservedUs = -Infinity;
  for (const [i, line] of lines.entries()) {
    if (refused.has(i + 1)) continue;
    const reading = readOracleRecord(new TextEncoder().encode(line));
    if (typeof reading === "string") throw new Error(`Line ${i + 1} was taken, and is ${reading}`);
    const { eventTimeUs } = reading;
    const late = eventTimeUs <= highestObservedUs - config.dwell.latenessUs;
    highestEventUs = Math.max(highestEventUs, eventTimeUs);
    const observedUs = Math.min(eventTimeUs, reading.ingestTimeUs ?? highestEventUs);
    highestObservedUs = Math.max(highestObservedUs, observedUs);
    arrivals.push({ ...reading, late });
  }
  return arrivals;
}
