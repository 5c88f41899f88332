/**
 * What every checkpoint store does, whatever it keeps its chunks in: one suite, run against each of them.
 *
 * @module
 */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import {
  type CheckpointChunk,
  type CheckpointStore,
  type ChunkRange,
  FencedError,
} from "../../actors/ports.ts";
import { randomFrom } from "./random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A place where stores keep their states; each test has its own. */
export interface StoreWorld {
  /** A store that is not open yet. */
  store(split: string): CheckpointStore;
  /** Takes the split over as another process does. */
  takeOver(split: string): Promise<void>;
  /** The ids of all chunks there are, by stream, ascending, whoever they belong to. */
  chunks(split: string): Promise<Record<string, number[]>>;
  /** Writes chunks past the store, as a checkpoint that was never completed has left them. */
  leaveBehind(split: string, chunks: readonly CheckpointChunk[]): Promise<void>;
}

/** How the suite is run. */
export interface StoreContractOptions {
  /** Why it can't be run here; null where it can. */
  readonly ignore: boolean;
  /** How many seeds a property is tried with: fewer where a store is far away. */
  readonly seeds: number;
  /** Makes a world, lets a test use it, and clears it away. */
  readonly world: (use: (world: StoreWorld) => Promise<void>) => Promise<void>;
}

/** Chunks of a range, each with bytes of its own. */
export function chunksOf(range: ChunkRange, byteLength = 100): CheckpointChunk[] {
  const chunks: CheckpointChunk[] = [];
  for (let id = range.start; id < range.end; id++) {
    chunks.push({ stream: range.stream, id, bytes: new Uint8Array(byteLength).fill(id % 251) });
  }
  return chunks;
}

/** A range, in one line. */
export function range(stream: string, start: number, end: number): ChunkRange {
  return { stream, start, end };
}

/** What a test commits: a manifest as text, and chunks. */
export interface TestCommit {
  readonly put?: readonly CheckpointChunk[];
  readonly drop?: readonly ChunkRange[];
  readonly manifest: string;
}

/** Commits. */
export async function commit(
  store: CheckpointStore,
  { put = [], drop = [], manifest }: TestCommit,
): Promise<void> {
  await store.commit({ put, drop, manifest: encoder.encode(manifest) });
}

/** The chunks of a range, as the store gives them. */
export async function read(store: CheckpointStore, of: ChunkRange): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(of)) chunks.push(Uint8Array.from(chunk));
  return chunks;
}

/** Asserts that a range is there, as {@link chunksOf} made it. */
export async function holds(store: CheckpointStore, of: ChunkRange, byteLength = 100): Promise<void> {
  deepStrictEqual(await read(store, of), chunksOf(of, byteLength).map(({ bytes }) => bytes));
}

/** Opens a store, hands it and its manifest over, and closes it again. */
export async function withStore<T>(
  store: CheckpointStore,
  use: (store: CheckpointStore, manifest: string | null) => Promise<T> | T,
): Promise<T> {
  try {
    const manifest = await store.open();
    return await use(store, manifest === null ? null : decoder.decode(manifest));
  } finally {
    // Those that take time to close say when it is done.
    await Promise.resolve(store.close());
  }
}

/** Registers the suite's tests. */
export function storeContract(name: string, { ignore, seeds, world }: StoreContractOptions): void {
  const test = (what: string, use: (world: StoreWorld) => Promise<void>): void => {
    Deno.test({ name: `${name}: ${what}`, ignore, fn: () => world(use) });
  };

  test("a checkpoint is there when it is opened again", async (world) => {
    await withStore(world.store("file"), async (store, manifest) => {
      strictEqual(manifest, null);
      await commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "one" });
      await holds(store, range("journal", 0, 3));
    });
    await withStore(world.store("file"), async (store, manifest) => {
      strictEqual(manifest, "one");
      await holds(store, range("journal", 0, 3));
      await holds(store, range("journal", 1, 2));
      await holds(store, range("journal", 2, 2));
      await commit(store, {
        put: [...chunksOf(range("journal", 3, 5)), ...chunksOf(range("snapshot", 9, 10))],
        drop: [range("journal", 0, 2)],
        manifest: "two",
      });
      await holds(store, range("journal", 2, 5));
    });
    deepStrictEqual(await world.chunks("file"), { journal: [2, 3, 4], snapshot: [9] });
    await withStore(world.store("file"), async (store, manifest) => {
      strictEqual(manifest, "two");
      await holds(store, range("snapshot", 9, 10));
      await holds(store, range("journal", 2, 5));
    });
  });

  test("a missing chunk is said, wherever it is missing", async (world) => {
    await withStore(world.store("file"), async (store) => {
      await commit(store, {
        put: chunksOf(range("journal", 10, 15)),
        drop: [range("journal", 12, 13)],
        manifest: "",
      });
      const missing: [ChunkRange, RegExp][] = [
        [range("journal", 9, 12), /chunk 9 of journal is missing/],
        [range("journal", 10, 15), /chunk 12 of journal is missing/],
        [range("journal", 13, 16), /chunk 15 of journal is missing/],
        [range("other", 0, 1), /chunk 0 of other is missing/],
      ];
      for (const [of, message] of missing) await rejects(read(store, of), message);
      await holds(store, range("journal", 13, 15));
    });
  });

  test("more than one call takes, by bytes and by count", async (world) => {
    const large = range("large", 0, 40);
    const small = range("small", 0, 2500);
    await withStore(world.store("file"), async (store) => {
      // Values as large as they may be.
      await commit(store, { put: chunksOf(large, 65_536), manifest: "x".repeat(65_536) });
    });
    await withStore(world.store("file"), async (store, manifest) => {
      strictEqual(manifest, "x".repeat(65_536));
      await holds(store, large, 65_536);
      await commit(store, { put: chunksOf(small, 1), drop: [large], manifest: "small" });
      await holds(store, small, 1);
      await commit(store, { drop: [small], manifest: "dropped" });
    });
    deepStrictEqual(await world.chunks("file"), {});
  });

  test("sweep deletes what no range names, and nothing else", async (world) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = randomFrom(seed);
      const upTo = (count: number): number => Math.floor(random() * count);
      const streams = ["a", "b", "journal", "owner", "manifest"];
      const present = streams.flatMap((stream) => chunksOf(range(stream, upTo(20), 20 + upTo(20)), 1));
      const live = Array.from({ length: upTo(6) }, () => {
        const start = upTo(40);
        return range(streams[upTo(streams.length)] ?? "a", start, start + upTo(15));
      });
      await withStore(world.store("file"), async (store) => {
        await store.sweep([]);
        await commit(store, { put: present, manifest: String(seed) });
        await store.sweep(live);
      });
      const expected: Record<string, number[]> = {};
      for (const { stream, id } of present) {
        const named = live.some((of) => of.stream === stream && of.start <= id && id < of.end);
        if (named) (expected[stream] ??= []).push(id);
      }
      deepStrictEqual(await world.chunks("file"), expected, `seed ${seed}`);
      await withStore(world.store("file"), (_, manifest) => strictEqual(manifest, String(seed)));
    }
  });

  test("what a first checkpoint left behind that was not completed is gone", async (world) => {
    await world.leaveBehind("file", chunksOf(range("journal", 0, 3)));
    await withStore(world.store("file"), (_, manifest) => strictEqual(manifest, null));
    deepStrictEqual(await world.chunks("file"), {});
  });

  test("a checkpoint that was not completed leaves the former whole, and its ids may be used again", async (world) => {
    await withStore(
      world.store("file"),
      (store) => commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "one" }),
    );
    await world.leaveBehind("file", chunksOf(range("journal", 3, 6), 7));
    await withStore(world.store("file"), async (store, manifest) => {
      strictEqual(manifest, "one");
      await store.sweep([range("journal", 0, 3)]);
      await holds(store, range("journal", 0, 3));
      await commit(store, { put: chunksOf(range("journal", 3, 5)), manifest: "two" });
    });
    await withStore(world.store("file"), (store) => holds(store, range("journal", 0, 5)));
    deepStrictEqual(await world.chunks("file"), { journal: [0, 1, 2, 3, 4] });
  });

  test("splits don't see each other, whatever they are called", async (world) => {
    const splits = ["one", "one/two", "ü", "manifest"];
    for (const split of splits) {
      await withStore(world.store(split), async (store, manifest) => {
        strictEqual(manifest, null, split);
        await commit(store, { put: chunksOf(range("journal", 0, 2)), manifest: split });
      });
    }
    for (const split of splits) {
      await withStore(world.store(split), async (store, manifest) => {
        strictEqual(manifest, split);
        await store.sweep([range("journal", 1, 2)]);
      });
      deepStrictEqual(await world.chunks(split), { journal: [1] }, split);
    }
  });

  const takenOver: [string, (store: CheckpointStore) => Promise<void>][] = [
    ["a chunk", (store) => commit(store, { put: chunksOf(range("journal", 3, 4)), manifest: "not mine" })],
    [
      "many chunks",
      (store) => commit(store, { put: chunksOf(range("large", 0, 40), 60_000), manifest: "not mine" }),
    ],
    ["a deletion", (store) => commit(store, { drop: [range("journal", 0, 3)], manifest: "not mine" })],
    ["sweep", (store) => store.sweep([])],
  ];
  for (const [what, write] of takenOver) {
    test(`who was taken over from writes nothing more: ${what}`, async (world) => {
      await withStore(world.store("file"), async (store) => {
        await commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "mine" });
        await world.takeOver("file");
        await rejects(write(store), FencedError);
        await rejects(write(store), "and not later either");
      });
      deepStrictEqual(await world.chunks("file"), { journal: [0, 1, 2] });
      await withStore(world.store("file"), (_, manifest) => strictEqual(manifest, "mine"));
    });
  }

  test("any run of checkpoints, restarts and takeovers reads as its model", async (world) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = randomFrom(seed);
      const upTo = (count: number): number => Math.floor(random() * count);
      const split = `seed ${seed}`;
      const ranges = { journal: range("journal", 0, 0), rest: range("rest", 0, 0) };
      let number = 0;
      for (let restart = 0; restart < 3; restart++) {
        await withStore(world.store(split), async (store, manifest) => {
          const live = Object.values(ranges);
          strictEqual(manifest, number === 0 ? null : String(number), split);
          await store.sweep(live);
          for (const of of live) await holds(store, of, 10 + (of.stream === "rest" ? 0 : seed));
          for (let commits = upTo(6); commits > 0; commits--) {
            const put: CheckpointChunk[] = [];
            const drop: ChunkRange[] = [];
            for (const stream of ["journal", "rest"] as const) {
              const { start, end } = ranges[stream];
              const added = range(stream, end, end + upTo(8));
              const kept = stream === "rest" ? end : start + upTo(end - start + 1);
              put.push(...chunksOf(added, 10 + (stream === "rest" ? 0 : seed)));
              drop.push(range(stream, start, kept));
              ranges[stream] = range(stream, kept, added.end);
            }
            await commit(store, { put, drop, manifest: String(++number) });
          }
        });
        // What a commit leaves behind that was cut off.
        await world.leaveBehind(
          split,
          chunksOf(range("journal", ranges.journal.end, ranges.journal.end + 2), 3),
        );
      }
    }
  });
}
