/**
 * The keys by which a copy can be known, each over the same window.
 *
 * All but the first go through the real {@link Identity} and {@link DedupWindow}: a raw timestamp is a bucket of one
 * microsecond, and a bucket without a guard a guard of zero. So they differ in the key alone. The last one is a whole
 * partition, which has the pair's memory besides.
 *
 * @module
 */
import { parseConfig } from "../../lib/config.ts";
import { DedupWindow } from "../../lib/dedup_window.ts";
import { EffectBuffer } from "../../lib/effect.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { CODE_ENTER, CODE_EXIT, Identity, type IdentityOptions } from "../../lib/identity.ts";
import { KIND_ENTER, KIND_EXIT } from "../../lib/kind.ts";
import { murmur2 } from "../../lib/murmur2.ts";
import { Partition, SharedCount } from "../../lib/partition.ts";
import { TransitionBatch } from "../../lib/transition_batch.ts";
import { OURS } from "../engine/section.ts";
import type { PairIds } from "./trace.ts";

const SECOND_US = 1_000_000;
const BUCKET_US = 2 * SECOND_US;
const GUARD_US = 200_000;
const TTL_US = 300 * SECOND_US;
/** More than any trace has within the time to live. */
const CAPACITY = 20_000_000;

/** A record as a policy sees it. */
export interface Sighting {
  readonly ids: PairIds;
  readonly isEnter: boolean;
  readonly eventUs: number;
  readonly arrivalUs: number;
  /** The producer's number for the crossing. */
  readonly seq: number;
}

/** Decides record by record, in the order of arrival. */
export interface Policy {
  readonly name: string;
  /** Whether a trigger leaves. */
  admit(sighting: Sighting): boolean;
}

/** All of them, each with an empty window. */
export async function makePolicies(): Promise<Policy[]> {
  const identity = await Identity.create({ bucketUs: BUCKET_US, guardUs: GUARD_US });
  const keyed = (name: string, options: IdentityOptions): Policy =>
    new KeyedPolicy(name, identity.with(options), "time");
  return [
    { name: "nothing", admit: () => true },
    keyed("raw timestamps", { bucketUs: 1, guardUs: 0 }),
    keyed("2 s buckets", { bucketUs: BUCKET_US, guardUs: 0 }),
    new NeighbourPolicy(identity.with({ bucketUs: BUCKET_US, guardUs: 0 })),
    keyed("2 s buckets with the guard", { bucketUs: BUCKET_US, guardUs: GUARD_US }),
    keyed("30 s buckets", { bucketUs: 30 * SECOND_US, guardUs: 0 }),
    new KeyedPolicy("seq", identity, "seq"),
    new PartitionPolicy(identity),
  ];
}

/** One key, or two at an edge, and a window. */
class KeyedPolicy implements Policy {
  readonly #window = new DedupWindow({ ttlUs: TTL_US, capacity: CAPACITY });

  constructor(
    readonly name: string,
    readonly identity: Identity,
    readonly slot: "time" | "seq",
  ) {}

  admit(sighting: Sighting): boolean {
    const window = this.#window;
    const { lanes } = this.identity;
    const seq = this.slot === "seq" ? new TextEncoder().encode(String(sighting.seq)) : null;
    const count = computeIds(this.identity, sighting, sighting.eventUs, seq);
    window.clockUs = window.oldestClockUs = sighting.arrivalUs;
    if (window.has(lanes, 0) || count === 2 && window.has(lanes, 4)) return false;
    window.put(lanes, 0);
    if (count === 2) window.put(lanes, 4);
    return true;
  }
}

/**
 * A guard as it is often described: near an edge the neighbour's bucket is claimed as well. It knows what ours knows, and
 * a re-entry in the middle of the neighbour's bucket with it.
 */
class NeighbourPolicy implements Policy {
  readonly name = "2 s buckets, the neighbour's too at an edge";
  readonly #window = new DedupWindow({ ttlUs: TTL_US, capacity: CAPACITY });

  constructor(readonly identity: Identity) {}

  admit(sighting: Sighting): boolean {
    const window = this.#window;
    const { lanes } = this.identity;
    const { eventUs } = sighting;
    const intoUs = eventUs % BUCKET_US;
    const times = [eventUs];
    if (intoUs < GUARD_US) times.push(eventUs - BUCKET_US);
    if (BUCKET_US - intoUs <= GUARD_US) times.push(eventUs + BUCKET_US);
    window.clockUs = window.oldestClockUs = sighting.arrivalUs;
    for (const timeUs of times) {
      computeIds(this.identity, sighting, timeUs, null);
      if (window.has(lanes, 0)) return false;
    }
    for (const timeUs of times) {
      computeIds(this.identity, sighting, timeUs, null);
      window.put(lanes, 0);
    }
    return true;
  }
}

/** A partition as it is in the process. */
class PartitionPolicy implements Policy {
  readonly name = OURS;
  readonly #effects = new EffectBuffer(false);
  readonly #batch = new TransitionBatch(1);
  readonly #partition: Partition;

  constructor(identity: Identity) {
    const config = parseConfig({ identity: { capacity: CAPACITY }, dwell: { rules: [] } });
    this.#partition = new Partition(config, {
      identity,
      rules: new FenceRules(config.dwell.rules),
      bounds: { pairs: new SharedCount(CAPACITY), waiting: new SharedCount(CAPACITY) },
      effects: this.#effects,
    });
  }

  admit({ ids, isEnter, eventUs, arrivalUs }: Sighting): boolean {
    const { bytes, deviceEnd } = ids;
    this.#batch.push(
      {
        kind: isEnter ? KIND_ENTER : KIND_EXIT,
        bytes,
        deviceStart: 0,
        deviceEnd,
        fenceStart: deviceEnd,
        fenceEnd: bytes.length,
        eventTimeUs: eventUs,
        seqStart: 0,
        seqEnd: 0,
        attributesStart: 0,
        attributesEnd: 0,
      },
      {
        // The dwell logic is not what is looked at: time passes for it as far as nothing of it is late.
        watermarkBeforeUs: eventUs - SECOND_US,
        dedupClockUs: arrivalUs,
        deviceHash: murmur2(bytes, 0, deviceEnd),
        recordBytes: bytes,
        recordStart: 0,
        recordEnd: 0,
        offset: 0,
        line: 0,
        part: 0,
        knownLate: false,
      },
    );
    this.#partition.beginTurn();
    this.#partition.take(this.#batch, 0);
    const told = this.#effects.count > 0;
    this.#batch.reset();
    this.#effects.reset();
    return told;
  }
}

function computeIds(
  identity: Identity,
  { ids: { bytes, deviceEnd }, isEnter }: Sighting,
  eventUs: number,
  seq: Uint8Array | null,
): 1 | 2 {
  let room = bytes;
  if (seq !== null) {
    room = new Uint8Array(bytes.length + seq.length);
    room.set(bytes);
    room.set(seq, bytes.length);
  }
  return identity.compute(
    isEnter ? CODE_ENTER : CODE_EXIT,
    room,
    0,
    deviceEnd,
    deviceEnd,
    bytes.length,
    eventUs,
    bytes.length,
    room.length,
  );
}
