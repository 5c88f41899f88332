/**
 * A split's life with its checkpoints: partitions, their log, and a store that is a map.
 *
 * @module
 */
import { ok } from "node:assert/strict";
import { CheckpointLog, type SplitState } from "../../lib/checkpoint.ts";
import { type CheckpointCommit, CHUNK_BYTES_MAX, DamagedCheckpointError } from "../../lib/chunk.ts";
import { Identity } from "../../lib/identity.ts";
import type { Json } from "../../lib/json.ts";
import { type DrivenRecord, PartitionDriver } from "./partition_driver.ts";
import { randomFrom } from "./random.ts";

const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });

/** The checksum of all of its chunks. */
export const checksum = (bytes: Uint8Array): bigint => identity.checksum(bytes);

/** A store: chunks by stream and number, and the manifest. Puts that would write over a chunk are refused. */
export class MapStore {
  readonly streams = new Map<string, Map<number, Uint8Array>>();
  manifest = new Uint8Array(0);

  commit({ put, drop, manifest }: CheckpointCommit): void {
    for (const { stream, id, bytes } of put) {
      ok(bytes.length <= CHUNK_BYTES_MAX, `${stream} ${id} has ${bytes.length} bytes`);
      const chunks = this.streams.get(stream) ?? new Map<number, Uint8Array>();
      this.streams.set(stream, chunks);
      // A manifest that is stored may need it, and may be the one that is restored.
      ok(!chunks.has(id), `${stream} ${id} would be written over`);
      chunks.set(id, bytes.slice());
    }
    this.manifest = manifest.slice();
    for (const { stream, start, end } of drop) {
      for (let id = start; id < end; id++) this.streams.get(stream)?.delete(id);
    }
  }

  get byteLength(): number {
    return this.chunks().reduce((sum, { bytes }) => sum + bytes.length, this.manifest.length);
  }

  chunks(): { stream: string; id: number; bytes: Uint8Array }[] {
    return [...this.streams].flatMap(([stream, chunks]) =>
      [...chunks].map(([id, bytes]) => ({ stream, id, bytes }))
    );
  }

  copy(): MapStore {
    const copy = new MapStore();
    copy.manifest = this.manifest.slice();
    for (const { stream, id, bytes } of this.chunks()) {
      const chunks = copy.streams.get(stream) ?? new Map<number, Uint8Array>();
      copy.streams.set(stream, chunks.set(id, bytes.slice()));
    }
    return copy;
  }
}

/** A split with its log and store. */
export class Life {
  readonly driver: PartitionDriver;
  readonly log: CheckpointLog;
  readonly store: MapStore;
  /** Changed pairs taken at a time. */
  rowsMax = Infinity;
  /** Bytes that the last checkpoint wrote of the ledgers. */
  toldBytes = 0;

  /** What waits is stored once, however little it is. */
  static readonly #ALWAYS = 1;

  constructor(
    configJson: Record<string, unknown>,
    count: number,
    store = new MapStore(),
    waitingBytesMin = Life.#ALWAYS,
  ) {
    this.store = store;
    this.driver = new PartitionDriver(identity, configJson, count);
    const { identity: { bucketUs, guardUs }, dwell } = this.driver.config;
    const stateIdentity = { bucketUs, guardUs, partitions: count, sourceKind: "test" };
    this.log = new CheckpointLog(checksum, stateIdentity, { ...dwell, waitingBytesMin });
  }

  checkpoint(position: Json = null): void {
    const { clock, partitions } = this.driver;
    for (const partition of partitions) partition.sweep(64);
    // In turns, as the partitions have theirs.
    let left = [...partitions.entries()];
    while (left.length > 0) {
      left = left.filter(([number, partition]) =>
        !this.log.addPartition(number, partition, clock.dedupClockUs, this.rowsMax)
      );
    }
    const commit = this.log.finish({
      clock: clock.state(),
      watermarkUs: Number.isFinite(clock.watermarkUs) ? clock.watermarkUs : null,
      dedupClockUs: Number.isFinite(clock.dedupClockUs) ? clock.dedupClockUs : null,
      position,
      sink: null,
      deadLetters: null,
      counts: {},
      knownDeadLetters: [],
    });
    this.toldBytes = sumBytes(commit.put, "told");
    this.store.commit(commit);
  }

  /** Another process: it knows the store alone, and may have another configuration. */
  static restored(
    configJson: Record<string, unknown>,
    count: number,
    store: MapStore,
  ): { life: Life; split: SplitState } {
    const life = new Life(configJson, count, store);
    const manifest = life.log.readManifest(store.manifest);
    const restore = life.log.restore(manifest, life.driver.partitions);
    for (const { stream, start, end } of CheckpointLog.ranges(manifest)) {
      for (let id = start; id < end; id++) {
        const chunk = store.streams.get(stream)?.get(id);
        if (chunk === undefined) throw new DamagedCheckpointError(`${stream} ${id} is missing`);
        restore.chunk(chunk);
      }
    }
    const split = restore.finish();
    life.driver.clock.restore(split.clock);
    return { life, split };
  }
}

/** Bytes of a stream's chunks. */
export function sumBytes(chunks: readonly { stream: string; bytes: Uint8Array }[], of: string): number {
  return chunks.reduce((sum, { stream, bytes }) => stream === of ? sum + bytes.length : sum, 0);
}

/** What anyone can ask of a split's state. */
export function facts({ driver }: Life): Record<string, unknown> {
  const { partitions, bounds, clock } = driver;
  return {
    pairs: bounds.pairs.value,
    waiting: bounds.waiting.value,
    held: partitions.map(({ waiting }) => waiting.heldCount),
    windows: partitions.map(({ window }) => [window.head, window.tail]),
    pending: partitions.map(({ pendingDwells }) => pendingDwells),
    release: partitions.map((partition) => partition.firstReleaseUs()),
    watermarks: partitions.map(({ watermarkUs }) => watermarkUs),
    clock: clock.state(),
  };
}

/** A step of a life: a few records around a moment that moves on. */
export function drawSteps(random: () => number, count: number): DrivenRecord[][] {
  const below = (limit: number): number => Math.floor(random() * limit);
  let at = 0;
  return Array.from({ length: count }, () => {
    at += random() < 0.03 ? 60 + below(600) : below(30) / 10;
    return Array.from({ length: below(5) }, () => {
      // Long ids now and then, and pairs that come and go.
      const number = below(12) + Math.floor(at / 200);
      const late = random() < 0.2 ? below(900) / 10 : below(40) / 10;
      return {
        kind: (["ENTER", "ENTER", "EXIT", "EXIT", "STALE", "DWELL", "HEARTBEAT"] as const)[below(7)] ??
          "ENTER",
        at: at - late,
        device: number % 4 === 0 ? `${"long".repeat(20)}${number}` : `d${number}`,
        fence: below(3) === 0 ? "g" : "f",
        ...(random() < 0.3 ? { ingest: at } : {}),
        ...(random() < 0.2 ? { seq: String(below(50)) } : {}),
        ...(random() < 0.2 ? { attributes: `{"n":${below(100)}}` } : {}),
      } as const;
    });
  });
}

/** Lives in every order, with small bounds and large ones. */
export const LIFE_CONFIGS: readonly Record<string, unknown>[] = [
  { emit: "arrival", identity: { ttl: "30s" }, time: { max_age: "400s" } },
  { emit: "ordered", identity: { ttl: "30s" }, time: { max_age: "400s" } },
  { emit: "arrival", pairs: { capacity: 9 }, identity: { capacity: 50 } },
  { emit: "ordered", identity: { ttl: "5s" } },
].map((config, i) => ({
  ...config,
  dwell: {
    rules: [{ fence: "f", after: ["10s", "40s"] }, { fence: "*", after: ["20s"] }],
    on_contradiction: i % 2 === 0 ? "retract" : "count",
    on_reenter: i === 3 ? "continue" : "restart",
  },
}));

/** A life with something of everything in its last checkpoint. */
export function richLife(config: Record<string, unknown>): Life {
  const life = new Life(config, 2);
  for (const step of drawSteps(randomFrom(3), 120)) for (const record of step) life.driver.record(record);
  for (let i = 0; i < 4000; i++) life.driver.exit(5000 + i / 100, { device: `w${i}` });
  life.driver.enter(4000);
  life.driver.triggers();
  life.checkpoint();
  return life;
}
