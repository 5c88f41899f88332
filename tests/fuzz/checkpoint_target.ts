/**
 * Checkpoints: one that is not, to the last byte, what was written is refused, whatever its chunks' own checksums say;
 * and with a `DamagedCheckpointError`, since all else is taken for a fault of ours.
 *
 * ```
 *   a chunk or the manifest   damaged ───────────────────▶ refused by its checksum
 *                             damaged, and sealed again ─▶ read to its end or refused there, then refused by the sum
 *   two chunks                exchanged, each whole ─────▶ refused by the sum
 *   a chunk                   of another life, whole ────▶ refused by the sum
 *   a chunk                   missing, or empty ─────────▶ refused
 * ```
 *
 * Only a manifest that was sealed again may be accepted: nothing stands behind it that could tell.
 *
 * @module
 */
import { ok, strictEqual } from "node:assert/strict";
import { DamagedCheckpointError } from "../../lib/chunk.ts";
import { parseTrigger } from "../../lib/trigger.ts";
import type { Chance } from "../sim/chance.ts";
import { randomFrom } from "../support/random.ts";
import { checksum, drawSteps, facts, Life, LIFE_CONFIGS, MapStore, richLife } from "../support/split_life.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateBytes, mutateJson } from "./mutation.ts";
import { showBytes } from "./show_bytes.ts";
import { TRIGGERS } from "./trigger_target.ts";

const DAMAGES = [
  "bytes",
  "sealed",
  "exchanged",
  "strange",
  "missing",
  "manifest",
  "sealed manifest",
  "none",
] as const;
/** One life in so many is a long one with full chunks, whose restore takes ten times as long. */
const RICH_ONE_IN = 50;
const MANIFEST = "manifest";
/** The checksum is before it. */
const FORMAT_AT = 8;

/** Which state, and what of it is otherwise. */
interface CheckpointInput {
  readonly base: number;
  readonly damage: typeof DAMAGES[number];
  /** By stream and number, or {@link MANIFEST}; null for missing. */
  readonly changes: ReadonlyMap<string, Uint8Array | null>;
}

/** A state that is whole, and what it restores to. */
interface Base {
  readonly config: Record<string, unknown>;
  readonly store: MapStore;
  readonly chunks: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  readonly facts: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** See the module's header. */
export class CheckpointTarget implements FuzzTarget<CheckpointInput> {
  readonly name = "checkpoint";
  readonly share = 40_000;
  readonly outcomes = [
    ...DAMAGES.map((damage) => damage === "none" ? "none: restored" : `${damage}: refused`),
  ];

  /** The last one is rich. */
  readonly #bases: readonly Base[] = basesOf();

  draw(chance: Chance): CheckpointInput {
    const short = this.#bases.length - 1;
    const base = chance.below(RICH_ONE_IN) === 0 ? short : chance.below(short);
    const damage = chance.pick(DAMAGES);
    return { base, damage, changes: this.#changes(chance, this.#bases[base] as Base, damage) };
  }

  judge({ base: number, damage, changes }: CheckpointInput): string {
    const base = this.#bases[number] as Base;
    let life: Life;
    try {
      life = Life.restored(base.config, 2, damaged(base.store, changes)).life;
    } catch (error) {
      ok(error instanceof DamagedCheckpointError, error instanceof Error ? error : String(error));
      ok(error.message.length < 300, error.message);
      return `${damage}: refused`;
    }
    const isChanged = [...changes].some(([name, bytes]) => !isSame(bytes, bytesIn(base.store, name)));
    if (damage === "sealed manifest") return "sealed manifest: restored";
    strictEqual(isChanged, false, "a state that was changed is refused");
    strictEqual(JSON.stringify(facts(life)), base.facts, "one that was not is as it was");
    return "none: restored";
  }

  show({ base, damage, changes }: CheckpointInput): string {
    const shown = [...changes].map(([name, bytes]) =>
      `${name} ${bytes === null ? "missing" : showBytes(bytes)}`
    );
    return `state ${base}, ${damage}: ${shown.join("; ")}`;
  }

  #changes(chance: Chance, base: Base, damage: CheckpointInput["damage"]): Map<string, Uint8Array | null> {
    const { name, bytes } = chance.pick(base.chunks);
    const other = chance.pick(base.chunks);
    const { manifest } = base.store;
    switch (damage) {
      case "none":
        return new Map();
      case "missing":
        return new Map([[name, chance.happens(0.5) ? null : new Uint8Array(0)]]);
      case "exchanged":
        return new Map([[name, other.bytes], [other.name, bytes]]);
      case "strange": {
        const stranger = chance.pick(this.#bases).chunks;
        return new Map([[
          name,
          (stranger.find((chunk) => chunk.name === name) ?? chance.pick(stranger)).bytes,
        ]]);
      }
      case "manifest":
        return new Map([[MANIFEST, mutateBytes(chance, manifest, { other: bytes })]]);
      case "sealed manifest": {
        const json = decoder.decode(manifest.subarray(FORMAT_AT + 1));
        return new Map([[MANIFEST, sealed(mutateJson(chance, json, json), manifest[FORMAT_AT] as number)]]);
      }
      default: {
        const changed = mutateBytes(chance, bytes, { other: other.bytes });
        const isSealed = damage === "sealed" && changed.length > FORMAT_AT;
        return new Map([[name, isSealed ? resealed(changed) : changed]]);
      }
    }
  }
}

function basesOf(): Base[] {
  const stores = LIFE_CONFIGS.map((config, number) => {
    const life = new Life(config, 2);
    // What a process before it has told, and is in no checkpoint.
    for (const line of TRIGGERS) {
      const told = parseTrigger(encoder.encode(line));
      if (told !== null) life.driver.partitionOf(told.device).noteTold(told);
    }
    for (const [i, step] of drawSteps(randomFrom(number + 1), 40).entries()) {
      for (const record of step) life.driver.record(record);
      life.driver.triggers();
      if (i % 8 === 7) life.checkpoint({ offset: i });
    }
    return { config, store: life.store };
  });
  const rich = { ...LIFE_CONFIGS[0], time: { max_age: "30d" }, identity: { ttl: "1h" } };
  return [...stores, { config: rich, store: richLife(rich).store }].map(({ config, store }) => ({
    config,
    store,
    chunks: store.chunks().map(({ stream, id, bytes }) => ({ name: `${stream} ${id}`, bytes })),
    facts: JSON.stringify(facts(Life.restored(config, 2, store).life)),
  }));
}

function damaged(store: MapStore, changes: CheckpointInput["changes"]): MapStore {
  if (changes.size === 0) return store;
  const copy = new MapStore();
  copy.manifest = store.manifest;
  for (const [stream, chunks] of store.streams) copy.streams.set(stream, new Map(chunks));
  for (const [name, bytes] of changes) {
    if (name === MANIFEST) copy.manifest = (bytes ?? new Uint8Array(0)).slice();
    else {
      const [stream = "", id = ""] = name.split(" ");
      if (bytes === null) copy.streams.get(stream)?.delete(Number(id));
      else copy.streams.get(stream)?.set(Number(id), bytes);
    }
  }
  return copy;
}

function bytesIn(store: MapStore, name: string): Uint8Array | null {
  const [stream = "", id = ""] = name.split(" ");
  return name === MANIFEST ? store.manifest : store.streams.get(stream)?.get(Number(id)) ?? null;
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** With the checksum that it should have. */
function resealed(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  new DataView(copy.buffer).setBigUint64(0, checksum(copy.subarray(FORMAT_AT)), true);
  return copy;
}

function sealed(body: Uint8Array, format: number): Uint8Array {
  const bytes = new Uint8Array(FORMAT_AT + 1 + body.length);
  bytes[FORMAT_AT] = format;
  bytes.set(body, FORMAT_AT + 1);
  return resealed(bytes);
}
