/**
 * What a TypeScript developer writes in an afternoon, and would be content with: geofence triggers once, DWELLs after ten
 * minutes, from NDJSON to NDJSON. No dependency, nothing clever, nothing wasted either.
 *
 * ```
 *   lines ─▶ JSON.parse ─▶ sha256 of device, fence, kind and 2 s bucket ─▶ Map of ids, ttl 300 s ─▶ told or dropped
 *                      ╰─▶ Map of pairs: when it came in ──▶ binary heap of deadlines ─▶ is it still inside? ─▶ DWELL
 * ```
 *
 * Time is the highest event time so far, 5 s behind, as with Fencepost. What it leaves out: a guard at a bucket's edges,
 * late and reordered records, a check of the fields, dead letters, and all that would survive a crash.
 *
 * ```sh
 * deno run --allow-read --allow-write bench/afternoon/afternoon.ts input.ndjson triggers.ndjson
 * ```
 *
 * @module
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DeadlineHeap } from "./deadline_heap.ts";

const BUCKET_MS = 2_000;
const TTL_MS = 300_000;
const SWEEP_MS = 10_000;
const THRESHOLD_MS = 600_000;
const LATENESS_MS = 5_000;
/** Characters that are written at once. */
const WRITE_LENGTH = 1 << 16;

/** A line of the input. */
interface Record {
  readonly device_id: string;
  readonly fence_id: string;
  readonly kind: string;
  readonly event_time: string;
}

/** The whole of it. */
class Afternoon {
  /** Triggers that were not written yet. */
  output = "";
  /** Ids that were told, and when; the oldest first. */
  readonly #seen = new Map<string, number>();
  /** Since when each pair is inside. */
  readonly #inside = new Map<string, number>();
  readonly #deadlines = new DeadlineHeap();
  #watermarkMs = -Infinity;
  #nextSweepMs = -Infinity;

  take(line: string): void {
    const record = JSON.parse(line) as Record;
    const { device_id, fence_id, kind } = record;
    const timeMs = Date.parse(record.event_time);
    this.#advance(timeMs - LATENESS_MS);
    if (kind !== "ENTER" && kind !== "EXIT") return;
    const id = idOf(device_id, fence_id, kind, timeMs);
    if (this.#seen.has(id)) return;
    this.#seen.set(id, timeMs);
    this.output += `${JSON.stringify({ id, kind, device_id, fence_id, event_time: record.event_time })}\n`;

    const pair = `${device_id}|${fence_id}`;
    if (kind === "EXIT") {
      this.#inside.delete(pair);
    } else {
      this.#inside.set(pair, timeMs);
      this.#deadlines.push({ dueMs: timeMs + THRESHOLD_MS, pair });
    }
  }

  /** The input is complete. */
  end(): void {
    this.#advance(this.#watermarkMs + LATENESS_MS);
  }

  #advance(watermarkMs: number): void {
    if (watermarkMs <= this.#watermarkMs) return;
    this.#watermarkMs = watermarkMs;
    for (let next = this.#deadlines.peek(); next !== undefined && next.dueMs <= watermarkMs;) {
      this.#deadlines.pop();
      this.#fire(next.pair, next.dueMs);
      next = this.#deadlines.peek();
    }
    // Not with each record: a Map's iterator steps over all that was deleted before, half a millisecond of it at times.
    if (watermarkMs < this.#nextSweepMs) return;
    this.#nextSweepMs = watermarkMs + SWEEP_MS;
    for (const [id, toldMs] of this.#seen) {
      if (toldMs > watermarkMs - TTL_MS) break;
      this.#seen.delete(id);
    }
  }

  /** Only if it is still inside, and has not left and come back meanwhile. */
  #fire(pair: string, dueMs: number): void {
    if (this.#inside.get(pair) !== dueMs - THRESHOLD_MS) return;
    const [device_id = "", fence_id = ""] = pair.split("|");
    const id = idOf(device_id, fence_id, "DWELL", dueMs);
    const event_time = new Date(dueMs).toISOString();
    const entered_at = new Date(dueMs - THRESHOLD_MS).toISOString();
    const trigger = { id, kind: "DWELL", device_id, fence_id, event_time, entered_at };
    this.output += `${JSON.stringify(trigger)}\n`;
  }
}

function idOf(device: string, fence: string, kind: string, timeMs: number): string {
  const material = `${device}|${fence}|${kind}|${Math.floor(timeMs / BUCKET_MS)}`;
  return createHash("sha256").update(material).digest("hex").slice(0, 32);
}

async function main(input: string, output: string): Promise<void> {
  const afternoon = new Afternoon();
  const file = createWriteStream(output);
  for await (const line of createInterface({ input: createReadStream(input) })) {
    if (line === "") continue;
    afternoon.take(line);
    if (afternoon.output.length < WRITE_LENGTH) continue;
    if (!file.write(afternoon.output)) await once(file, "drain");
    afternoon.output = "";
  }
  afternoon.end();
  file.end(afternoon.output);
  await once(file, "finish");
}

const [input = "", output = ""] = Deno.args;
await main(input, output);
