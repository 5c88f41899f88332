/**
 * Drives a partition, or several, as a split would: its clocks, one record at a time, and what comes out in short words.
 *
 * Times are seconds since the middle of some bucket of two seconds, so that no guard is met unless a test wants it.
 *
 * @module
 */
import { type Config, parseConfig } from "../../lib/config.ts";
import { EffectBuffer } from "../../lib/effect.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import type { Identity } from "../../lib/identity.ts";
import { type Kind, KIND_NAMES } from "../../lib/kind.ts";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { Partition, type SharedBounds, SharedCount } from "../../lib/partition.ts";
import { SplitClock } from "../../lib/split_clock.ts";
import { TransitionBatch } from "../../lib/transition_batch.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Second 0, in µs: an odd second, so the middle of a bucket of two. */
export const T_US = Date.UTC(2026, 5, 1, 0, 0, 1) * 1000;

/** A record. */
export interface DrivenRecord {
  readonly kind: (typeof KIND_NAMES)[number];
  /** Seconds since {@link T_US}. */
  readonly at: number;
  readonly device?: string;
  readonly fence?: string;
  /** Ingest time, in the same seconds; without it, the highest event time. */
  readonly ingest?: number;
  readonly seq?: string;
  readonly attributes?: string;
}

/** A trigger that came out, parsed. */
export type DrivenTrigger = Record<string, unknown>;

/** In µs, exactly. */
export function toUs(seconds: number): number {
  return T_US + Math.round(seconds * 1e6);
}

/** A partition, or several, and a split around them. */
export class PartitionDriver {
  readonly config: Config;
  readonly clock: SplitClock;
  readonly partitions: readonly Partition[];
  /** The first of them, which is the only one in most tests. */
  readonly partition: Partition;
  readonly bounds: SharedBounds;
  /** What a turn of `max_fires_per_turn` steps did not finish, so far. */
  unfinishedTurns = 0;
  readonly #effects: EffectBuffer;

  /**
   * @param configJson what differs from the defaults
   * @param count how many partitions
   */
  constructor(identity: Identity, configJson: Record<string, unknown> = {}, count = 1) {
    this.config = parseConfig(configJson);
    const { dwell, time, pairs, emit } = this.config;
    this.clock = new SplitClock({ ...dwell, ...time, live: false, keepsUnread: false });
    this.bounds = { pairs: new SharedCount(pairs.capacity), waiting: new SharedCount(dwell.waitingCapacity) };
    this.#effects = new EffectBuffer(emit === "ordered");
    const parts = {
      identity: identity.with(this.config.identity),
      rules: new FenceRules(dwell.rules),
      bounds: this.bounds,
      effects: this.#effects,
    };
    this.partitions = Array.from({ length: count }, () => new Partition(this.config, parts));
    this.partition = this.partitions[0] as Partition;
  }

  /** Reads a record: the clocks, what its watermark lets go, then the record itself. Then time passes. */
  record(record: DrivenRecord): void {
    const { kind, at, device = "d", fence = "f", ingest, seq = "", attributes = "" } = record;
    const eventTimeUs = toUs(at);
    this.clock.observe(eventTimeUs, ingest === undefined ? NaN : toUs(ingest), { wallUs: 0, monotonicUs: 0 });
    if (kind !== "HEARTBEAT") {
      const texts = [device, fence, seq, attributes].map((text) => encoder.encode(text));
      const bytes = new Uint8Array(texts.reduce((sum, text) => sum + text.length, 0));
      const ends: number[] = [];
      for (const text of texts) {
        bytes.set(text, ends.at(-1) ?? 0);
        ends.push((ends.at(-1) ?? 0) + text.length);
      }
      const [deviceEnd, fenceEnd, seqEnd, attributesEnd] = ends as [number, number, number, number];
      const batch = new TransitionBatch(1);
      batch.push({
        kind: KIND_NAMES.indexOf(kind) as Kind,
        bytes,
        deviceStart: 0,
        deviceEnd,
        fenceStart: deviceEnd,
        fenceEnd,
        eventTimeUs,
        seqStart: fenceEnd,
        seqEnd,
        attributesStart: seqEnd,
        attributesEnd,
      }, {
        watermarkBeforeUs: this.clock.watermarkBeforeUs,
        dedupClockUs: this.clock.dedupClockUs,
        deviceHash: murmur2(bytes, 0, deviceEnd),
        recordBytes: bytes,
        recordStart: 0,
        recordEnd: bytes.length,
        offset: 0,
        line: 0,
        knownLate: false,
        part: 0,
      });
      this.advanceTo(this.clock.watermarkBeforeUs);
      this.partitionOf(device).take(batch, 0);
    }
    this.advanceTo(this.clock.watermarkUs);
  }

  /** The partition that owns a device. */
  partitionOf(device: string): Partition {
    const bytes = encoder.encode(device);
    return this.partitions[toPartition(murmur2(bytes, 0, bytes.length), this.partitions.length)] as Partition;
  }

  /** ENTER of the usual pair. */
  enter(at: number, rest: Partial<DrivenRecord> = {}): void {
    this.record({ kind: "ENTER", at, ...rest });
  }

  /** EXIT of the usual pair. */
  exit(at: number, rest: Partial<DrivenRecord> = {}): void {
    this.record({ kind: "EXIT", at, ...rest });
  }

  /** The watermark comes to be at this second: a heartbeat that much later. */
  pass(at: number): void {
    this.record({ kind: "HEARTBEAT", at: at + this.config.dwell.latenessUs / 1e6 });
  }

  /** The input is complete. */
  flush(): void {
    this.clock.flush();
    this.advanceTo(this.clock.watermarkUs);
    for (const partition of this.partitions) this.#turns(partition, () => partition.finish());
  }

  /** Lets time pass, in as many turns as it takes. */
  advanceTo(watermarkUs: number): void {
    for (const partition of this.partitions) this.#turns(partition, () => partition.advanceTo(watermarkUs));
  }

  /** The triggers since the last call, as they came out. */
  triggers(): DrivenTrigger[] {
    const effects = this.#effects;
    const text = decoder.decode(effects.bytes.subarray(0, effects.byteLength));
    const triggers = text.split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line) as DrivenTrigger
    );
    effects.reset();
    return triggers;
  }

  /** The same in words: `ENTER 0`, `DWELL 10 late`; the device where it is not `d`, and the fence where it is not `f`. */
  told(): string[] {
    return this.triggers().map(inWords);
  }

  /** Records that were refused as late since the triggers were asked for last: their event times, in seconds. */
  lateRecords(): number[] {
    return this.#effects.lateRecords.map(({ eventTimeUs }) => (eventTimeUs - T_US) / 1e6);
  }

  #turns(partition: Partition, turn: () => boolean): void {
    partition.beginTurn();
    while (!turn()) {
      this.unfinishedTurns++;
      partition.beginTurn();
    }
  }
}

/** A trigger in a few words. */
export function inWords(trigger: DrivenTrigger): string {
  const seconds = (Number(microsecondsOf(String(trigger.event_time))) - T_US) / 1e6;
  return [
    trigger.kind,
    ...(trigger.device_id === "d" ? [] : [trigger.device_id]),
    ...(trigger.fence_id === "f" ? [] : [trigger.fence_id]),
    seconds,
    ...(trigger.late === true ? ["late"] : []),
    ...(trigger.beyond_window === true ? ["beyond"] : []),
  ].join(" ");
}

function microsecondsOf(timestamp: string): number {
  const [, whole, digits] = /^(.*)\.(\d{6})Z$/.exec(timestamp) as unknown as [string, string, string];
  return Date.parse(`${whole}Z`) * 1000 + Number(digits);
}
