/**
 * What the oracle has told so far, and what it therefore knows: SPEC 2's ids and Admit, SPEC 4's triggers.
 *
 * The window is a Map from an id to the clock at which it was first put in. An id put in at `c` is known to whoever asks
 * at `a` if `a − c < ttl`; with triggers in order, `a` may well be before `c`.
 *
 * Where the page leaves a choice:
 * - A RETRACT that Admit refuses is not counted as suppressed, which counts records.
 * - A DWELL of ours neither asks the window nor goes into it: its visit knows what was told.
 * - Of two emitted transitions at one time, which their seqs tell apart, the pair remembers the one emitted last.
 *
 * @module
 */
import xxhash from "xxhash-wasm";
import type { Config } from "../../lib/config.ts";

/** A trigger, as SPEC 4 has it. */
export interface OracleTrigger {
  readonly id: string;
  readonly kind: "ENTER" | "EXIT" | "DWELL" | "RETRACT";
  readonly device_id: string;
  readonly fence_id: string;
  readonly event_time: string;
  readonly entered_at?: string;
  readonly dwell_s?: number;
  readonly visit_s?: number;
  readonly attributes?: unknown;
  readonly seq?: string;
  readonly late?: true;
  readonly beyond_window?: true;
  readonly revises?: string;
}

/** What the oracle counts. */
export interface OracleCounters {
  /** Records that Admit, or a pair's memory, refused. */
  suppressed: number;
  /** Records at or before the watermark on arrival, heartbeats not counted. */
  late: number;
  /** Late records older than the pair's last applied one, but for those that a told DWELL's visit began and ended with. */
  lateSkipped: number;
  /** Told DWELLs that were contradicted. */
  dwellContradicted: number;
  /** Visits that began in the bucket, or over the edge, in which the one before began. */
  flapsInBucket: number;
}

/** An ENTER, EXIT, STALE or DWELL of a record, and how it was on arrival. */
export interface OracleTransition {
  readonly kind: "ENTER" | "EXIT" | "DWELL" | "STALE";
  readonly deviceId: string;
  readonly fenceId: string;
  readonly timeUs: number;
  readonly seq: string | null;
  readonly attributes: unknown;
  /** The dedup clock, its own ingest time counted. */
  readonly clockUs: number;
  readonly late: boolean;
  readonly beyondWindow: boolean;
  /** An ENTER or EXIT that came out on arrival, or would have, was it not late. */
  suppressed: boolean;
}

/** The emitted transition that a pair remembers of a kind. */
export interface OracleMemory {
  readonly timeUs: number;
  readonly seq: string | null;
}

/** A pair's memory, by kind. */
export type OracleMemories = Map<string, OracleMemory>;

/** XXH64 of bytes with a seed. */
export type Hash64 = (bytes: Uint8Array, seed: bigint) => bigint;

/** Loads the hash. */
export async function loadHash64(): Promise<Hash64> {
  const { h64Raw } = await xxhash();
  return (bytes, seed) => h64Raw(bytes, seed);
}

/** See the module's header. */
export class OracleBook {
  readonly triggers: OracleTrigger[] = [];
  readonly counters: OracleCounters = {
    suppressed: 0,
    late: 0,
    lateSkipped: 0,
    dwellContradicted: 0,
    flapsInBucket: 0,
  };
  /** The dedup clock. */
  clockUs = -Infinity;
  readonly config: Config;
  readonly #hash: Hash64;
  readonly #window = new Map<string, number>();

  constructor(config: Config, hash: Hash64) {
    this.config = config;
    this.#hash = hash;
  }

  /** The one or two slots of a time, or the one of a seq. The first is that of the trigger's own id. */
  slotsOf(timeUs: number, seq: string | null): string[] {
    if (seq !== null) return [`#${seq}`];
    const { bucketUs, guardUs } = this.config.identity;
    const bucket = Math.floor(timeUs / bucketUs);
    const sinceStartUs = timeUs - bucket * bucketUs;
    const slots = [`${bucket}`];
    if (sinceStartUs < guardUs) slots.push(`${bucket - 1}~${bucket}`);
    if (bucketUs - sinceStartUs <= guardUs) slots.push(`${bucket}~${bucket + 1}`);
    return slots;
  }

  /** Whether two transitions of one pair and kind are the same crossing. */
  isSameCrossing(one: OracleMemory, other: OracleMemory): boolean {
    const slots = this.slotsOf(other.timeUs, other.seq);
    return this.slotsOf(one.timeUs, one.seq).some((slot) => slots.includes(slot));
  }

  /** The id of SPEC 2. */
  idOf(pair: { deviceId: string; fenceId: string }, code: string, slot: string): string {
    const encoder = new TextEncoder();
    const netstring = (text: string) => `${encoder.encode(text).length}:${text},`;
    const material = encoder.encode([pair.deviceId, pair.fenceId, code, slot].map(netstring).join(""));
    return [0n, 0x9e3779b97f4a7c15n]
      .map((seed) => this.#hash(material, seed).toString(16).padStart(16, "0"))
      .join("");
  }

  /** Whether the window or the pair's memory knows it. */
  isKnown(transition: OracleTransition, memories: OracleMemories): boolean {
    return this.#isRemembered(transition, memories) ||
      this.#isInWindow(this.#idsOf(transition), transition.clockUs);
  }

  /** Emits an ENTER, an EXIT or a DWELL passed on, unless it is known. */
  tell(
    transition: OracleTransition,
    memories: OracleMemories,
    visit?: { enteredUs: number },
  ): "told" | "suppressed" {
    const { kind, timeUs, seq, clockUs } = transition;
    if (kind === "STALE") throw new Error("No trigger tells of a STALE");
    if (this.isKnown(transition, memories)) {
      this.counters.suppressed++;
      return "suppressed";
    }
    const ids = this.#idsOf(transition);
    for (const id of ids) this.#window.set(id, clockUs);
    if (kind !== "DWELL" && timeUs >= (memories.get(kind)?.timeUs ?? -Infinity)) {
      memories.set(kind, { timeUs, seq });
    }
    this.triggers.push({
      id: ids[0] as string,
      kind,
      device_id: transition.deviceId,
      fence_id: transition.fenceId,
      event_time: formatUs(timeUs),
      ...(visit && { entered_at: formatUs(visit.enteredUs), visit_s: (timeUs - visit.enteredUs) / 1e6 }),
      ...(transition.attributes !== undefined && { attributes: transition.attributes }),
      ...(seq !== null && { seq }),
      ...(transition.late && { late: true }),
      ...(transition.beyondWindow && { beyond_window: true }),
    });
    return "told";
  }

  /** Emits a DWELL of ours; its id. */
  tellDwell(
    enter: OracleTransition,
    thresholdUs: number,
    flags: { late?: true; beyond_window?: true } = {},
  ): string {
    const timeUs = enter.timeUs + thresholdUs;
    const id = this.idOf(enter, "D", this.slotsOf(timeUs, null)[0] as string);
    this.triggers.push({
      id,
      kind: "DWELL",
      device_id: enter.deviceId,
      fence_id: enter.fenceId,
      event_time: formatUs(timeUs),
      entered_at: formatUs(enter.timeUs),
      dwell_s: thresholdUs / 1e6,
      ...flags,
    });
    return id;
  }

  /** Where a late ENTER claims no id, the DWELLs that it earns in the past do; false where it is known. */
  claimDwell(enter: OracleTransition, thresholdUs: number): boolean {
    if (this.config.emit === "arrival") return true;
    const id = this.idOf(enter, "D", this.slotsOf(enter.timeUs + thresholdUs, null)[0] as string);
    if (this.#isInWindow([id], enter.clockUs)) return false;
    this.#window.set(id, enter.clockUs);
    return true;
  }

  /** Emits the RETRACT of a DWELL, unless its ids are known. */
  tellRetract(pair: { deviceId: string; fenceId: string }, dwell: { id: string; timeUs: number }): void {
    const ids = this.slotsOf(dwell.timeUs, null).map((slot) => this.idOf(pair, "R", slot));
    if (this.#isInWindow(ids, this.clockUs)) return;
    for (const id of ids) this.#window.set(id, this.clockUs);
    this.triggers.push({
      id: ids[0] as string,
      kind: "RETRACT",
      device_id: pair.deviceId,
      fence_id: pair.fenceId,
      event_time: formatUs(dwell.timeUs),
      revises: dwell.id,
    });
  }

  #idsOf(transition: OracleTransition): string[] {
    const code = { ENTER: "E", EXIT: "X", DWELL: "P", STALE: "" }[transition.kind];
    return this.slotsOf(transition.timeUs, transition.seq).map((slot) => this.idOf(transition, code, slot));
  }

  #isInWindow(ids: readonly string[], clockUs: number): boolean {
    return ids.some((id) => clockUs - (this.#window.get(id) ?? -Infinity) < this.config.identity.ttlUs);
  }

  #isRemembered({ kind, timeUs, seq }: OracleTransition, memories: OracleMemories): boolean {
    const memory = memories.get(kind);
    if (memory === undefined) return false;
    if (seq !== null || memory.seq !== null) return seq === memory.seq;
    return Math.abs(timeUs - memory.timeUs) <= this.config.identity.maxSkewUs;
  }
}

/** A time as triggers have it. */
export function formatUs(us: number): string {
  const toMilliseconds = new Date(Math.floor(us / 1000)).toISOString().slice(0, -1);
  return `${toMilliseconds}${String(us % 1000).padStart(3, "0")}Z`;
}
