/**
 * Lines that can't be taken: what broken producers, cut connections and reset clocks send.
 *
 * Each has a reason of its own in the dead letters, so that a run over a workload can be checked by counting.
 *
 * @module
 */
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import { formatTimestamp } from "../lib/time.ts";

/** A line, and why it will be refused. */
export interface PoisonLine {
  readonly reason: DeadLetterReason;
  readonly bytes: Uint8Array;
}

const MINUTE_US = 60_000_000;
const encoder = new TextEncoder();

/** How many different ones there are. */
export const POISON_KINDS = 12;

/**
 * A poison line, without its line end.
 *
 * @param kind 0 to {@link POISON_KINDS} − 1
 * @param device a `device_id` to blame
 * @param nowUs the ingest time, µs since the epoch
 */
export function poisonLine(kind: number, device: string, nowUs: number): PoisonLine {
  const good = {
    device_id: device,
    fence_id: "depot-0001",
    kind: "ENTER",
    event_time: formatTimestamp(nowUs - 400_000),
    ingest_time: formatTimestamp(nowUs),
  };
  const line = (reason: DeadLetterReason, members: Record<string, unknown>): PoisonLine => ({
    reason,
    bytes: encoder.encode(JSON.stringify({ ...good, ...members })),
  });
  switch (kind) {
    case 0:
      return { reason: "MALFORMED_JSON", bytes: encoder.encode(JSON.stringify(good).slice(0, 80)) };
    case 1: {
      const { bytes } = line("INVALID_UTF8", { fence_id: "Stra?e" });
      bytes[bytes.indexOf(0x3f)] = 0xdf;
      return { reason: "INVALID_UTF8", bytes };
    }
    case 2:
      return { reason: "NOT_AN_OBJECT", bytes: encoder.encode(JSON.stringify([good])) };
    case 3:
      return line("TOO_LARGE", { trace: "x".repeat(70_000) });
    case 4:
      return line("MISSING_FIELD", { device_id: undefined });
    case 5:
      return line("INVALID_ID", { fence_id: "" });
    case 6:
      return line("INVALID_KIND", { kind: "ARRIVED" });
    case 7:
      // A bare number: its unit would be a guess.
      return line("INVALID_TIME", { event_time: Math.floor(nowUs / 1000) });
    case 8:
      return line("INVALID_TIME", { event_time: "2025-02-30T10:00:00Z" });
    case 9:
      // A clock without its battery.
      return line("TIME_TOO_OLD", { event_time: "1980-01-06T00:00:12.000000Z" });
    case 10:
      return line("TIME_IN_FUTURE", { event_time: formatTimestamp(nowUs + 7 * 60 * MINUTE_US) });
    default:
      return line("INVALID_FIELD", { seq: -1 });
  }
}
