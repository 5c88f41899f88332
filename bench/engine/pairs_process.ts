/**
 * Fills the partitions of a process with pairs that are inside and have a dwell pending, and tells as JSON how many bytes
 * they take: its own process, so that what is resident is theirs.
 *
 * The partitions alone, without actors: these would add what is on its way between them. Changes are taken from time to
 * time, as by a checkpoint.
 *
 * @module
 */
import { type Config, parseConfig } from "../../lib/config.ts";
import { EffectBuffer } from "../../lib/effect.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import { KIND_ENTER } from "../../lib/kind.ts";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { IMAGE_BYTES_MAX } from "../../lib/pair_table.ts";
import { Partition, SharedCount } from "../../lib/partition.ts";
import { TransitionBatch } from "../../lib/transition_batch.ts";
import { deviceName, fenceName, FILL_STEP_US } from "./inside_load.ts";

/** What it tells. */
export interface PairsOutcome {
  readonly pairs: number;
  readonly pendingDwells: number;
  readonly windowIds: number;
  /** Everything: pairs, wheel, window, what waits, and V8's heap. */
  readonly residentBytes: number;
  /** V8's heap of these: its young generation grows to some 64 MB where there is work, for one pair or for millions. */
  readonly heapBytes: number;
  /** What the structures say of themselves. */
  readonly pairBytes: number;
  readonly windowBytes: number;
  readonly waitingBytes: number;
}

const START_US = Date.UTC(2025, 4, 5, 4) * 1000;
const LATENESS_US = 5_000_000;
/** Rows between two checkpoints. */
const CHECKPOINT_ROWS = 100_000;
const BATCH_ROWS = 128;
const WARM_UP_PAIRS = 20_000;
const encoder = new TextEncoder();
/** Where a changed row is written to, as a checkpoint would, and forgotten. */
const IMAGE = new DataView(new ArrayBuffer(IMAGE_BYTES_MAX));

/** Partitions of one process. */
class Partitions {
  readonly partitions: Partition[] = [];
  readonly #effects = new EffectBuffer(false);
  readonly #batch = new TransitionBatch(BATCH_ROWS);
  #waitingRows = 0;

  constructor(config: Config, identity: Identity) {
    const rules = new FenceRules(config.dwell.rules);
    const bounds = {
      pairs: new SharedCount(config.pairs.capacity),
      waiting: new SharedCount(config.dwell.waitingCapacity),
    };
    for (let i = 0; i < config.partitions; i++) {
      this.partitions.push(new Partition(config, { identity, rules, bounds, effects: this.#effects }));
    }
  }

  /** An ENTER of each of so many pairs, and then time enough for all to be applied. */
  enter(pairs: number): void {
    for (let pair = 0; pair < pairs; pair++) this.#enter(pair);
    const lastUs = START_US + pairs * FILL_STEP_US;
    for (const partition of this.partitions) {
      do partition.beginTurn(); while (!partition.advanceTo(lastUs));
    }
    this.#checkpoint();
  }

  #enter(pair: number): void {
    const bytes = encoder.encode(deviceName(pair) + fenceName(pair));
    const deviceEnd = deviceName(pair).length;
    const timeUs = START_US + pair * FILL_STEP_US;
    const deviceHash = murmur2(bytes, 0, deviceEnd);
    const partition = this.partitions[toPartition(deviceHash, this.partitions.length)] as Partition;
    this.#batch.push(
      {
        kind: KIND_ENTER,
        bytes,
        deviceStart: 0,
        deviceEnd,
        fenceStart: deviceEnd,
        fenceEnd: bytes.length,
        eventTimeUs: timeUs,
        seqStart: 0,
        seqEnd: 0,
        attributesStart: 0,
        attributesEnd: 0,
      },
      {
        watermarkBeforeUs: timeUs - FILL_STEP_US - LATENESS_US,
        dedupClockUs: timeUs,
        deviceHash,
        recordBytes: bytes,
        recordStart: 0,
        recordEnd: 0,
        offset: pair,
        line: pair,
        knownLate: false,
        part: 0,
      },
    );
    partition.beginTurn();
    partition.take(this.#batch, 0);
    this.#batch.reset();
    this.#effects.reset();
    if (++this.#waitingRows % CHECKPOINT_ROWS === 0) this.#checkpoint();
  }

  #checkpoint(): void {
    for (const { pairs } of this.partitions) {
      for (const row of pairs.takeDirty()) pairs.writeImage(IMAGE, 0, row, false);
    }
  }
}

async function measure(partitionCount: number, pairs: number): Promise<PairsOutcome> {
  const config = parseConfig({
    partitions: partitionCount,
    dwell: { rules: [{ fence: "*", after: ["1h"] }] },
  });
  const identity = await Identity.create(config.identity);
  new Partitions(config, identity).enter(WARM_UP_PAIRS);
  const before = Deno.memoryUsage();
  const filled = new Partitions(config, identity);
  filled.enter(pairs);
  const after = Deno.memoryUsage();
  const sum = (of: (partition: Partition) => number): number =>
    filled.partitions.reduce((total, partition) => total + of(partition), 0);
  return {
    pairs: sum((partition) => partition.pairs.size),
    pendingDwells: sum((partition) => partition.pendingDwells),
    windowIds: sum((partition) => partition.window.size),
    residentBytes: after.rss - before.rss,
    heapBytes: after.heapTotal - before.heapTotal,
    pairBytes: sum((partition) => partition.pairs.byteLength),
    windowBytes: sum((partition) => partition.window.byteLength),
    waitingBytes: sum((partition) => partition.waiting.byteLength),
  };
}

const [partitionCount, pairs] = Deno.args.map(Number);
const outcome = await measure(partitionCount ?? NaN, pairs ?? NaN);
Deno.stdout.writeSync(encoder.encode(JSON.stringify(outcome) + "\n"));
