import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { KvStore } from "../../actors/adapters/kv_store.ts";
import { StateInUseError } from "../../actors/adapters/state_lock.ts";
import { type CheckpointChunk, type ChunkRange, FencedError } from "../../actors/ports.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function withDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Opens a store, hands it and its manifest over, and closes it again. */
async function withStore<T>(
  directory: string,
  use: (store: KvStore, manifest: string | null) => Promise<T>,
  split = "file",
): Promise<T> {
  const store = new KvStore({ directory, split });
  const manifest = await store.open();
  try {
    return await use(store, manifest === null ? null : decoder.decode(manifest));
  } finally {
    store.close();
  }
}

function chunksOf(range: ChunkRange, byteLength = 100): CheckpointChunk[] {
  const chunks: CheckpointChunk[] = [];
  for (let id = range.start; id < range.end; id++) {
    chunks.push({ stream: range.stream, id, bytes: new Uint8Array(byteLength).fill(id % 251) });
  }
  return chunks;
}

function range(stream: string, start: number, end: number): ChunkRange {
  return { stream, start, end };
}

async function commit(
  store: KvStore,
  { put = [], drop = [], manifest }: {
    put?: readonly CheckpointChunk[];
    drop?: readonly ChunkRange[];
    manifest: string;
  },
): Promise<void> {
  await store.commit({ put, drop, manifest: encoder.encode(manifest) });
}

async function read(store: KvStore, of: ChunkRange): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(of)) chunks.push(chunk);
  return chunks;
}

async function holds(store: KvStore, of: ChunkRange, byteLength = 100): Promise<void> {
  deepStrictEqual(await read(store, of), chunksOf(of, byteLength).map(({ bytes }) => bytes));
}

/** The ids of all chunks there are, by stream, whoever they belong to. */
async function allChunks(directory: string, split = "file"): Promise<Record<string, number[]>> {
  using kv = await Deno.openKv(join(directory, "state.kv"));
  const found: Record<string, number[]> = {};
  for await (const { key } of kv.list({ prefix: ["fencepost", split, "chunk"] }, { batchSize: 50 })) {
    (found[String(key[3])] ??= []).push(Number(key[4]));
  }
  return found;
}

/** Writes chunks past the store, as a checkpoint that was never completed has left them. */
async function leaveBehind(directory: string, chunks: readonly CheckpointChunk[]): Promise<void> {
  using kv = await Deno.openKv(join(directory, "state.kv"));
  for (const { stream, id, bytes } of chunks) await kv.set(["fencepost", "file", "chunk", stream, id], bytes);
}

Deno.test("KvStore: a checkpoint is there when it is opened again", async () => {
  await withDirectory(async (parent) => {
    const directory = join(parent, "deep", "state");
    await withStore(directory, async (store, manifest) => {
      deepStrictEqual([store.name, manifest], [directory, null]);
      await commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "one" });
      await holds(store, range("journal", 0, 3));
    });
    await withStore(directory, async (store, manifest) => {
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
      store.close();
      store.close();
    });
    deepStrictEqual(await allChunks(directory), { journal: [2, 3, 4], snapshot: [9] });
    await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, "two")));
  });
});

Deno.test("KvStore: a missing chunk is said, wherever it is missing", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, async (store) => {
      await commit(store, {
        put: chunksOf(range("journal", 10, 15)),
        drop: [range("journal", 12, 13)],
        manifest: "",
      });
      await rejects(read(store, range("journal", 9, 12)), /chunk 9 of journal is missing/);
      await rejects(
        read(store, range("journal", 10, 15)),
        /chunk 12 of journal is missing.*move the directory away/,
      );
      await rejects(read(store, range("journal", 13, 16)), /chunk 15 of journal is missing/);
      await rejects(read(store, range("other", 0, 1)), /chunk 0 of other is missing/);
      await holds(store, range("journal", 13, 15));
    });
  });
});

Deno.test("KvStore: more than one atomic takes, by bytes, by mutations, by keys", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, async (store) => {
      // Values as large as they may be, 40 of them: three atomics and a bit.
      const large = range("large", 0, 40);
      await commit(store, { put: chunksOf(large, 65_536), manifest: "x".repeat(65_536) });
      await holds(store, large, 65_536);
      const small = range("small", 0, 2500);
      await commit(store, { put: chunksOf(small, 1), drop: [large], manifest: "small" });
      await holds(store, small, 1);
      await commit(store, { drop: [small], manifest: "dropped" });
      // A long split and stream name: 700 bytes a key.
      await withStore(join(directory, "other"), async (long) => {
        const named = range("s".repeat(500), 0, 300);
        await commit(long, { put: chunksOf(named, 1), manifest: "long" });
        await holds(long, named, 1);
        await commit(long, { drop: [named], manifest: "" });
      }, "ü".repeat(100));
    });
    deepStrictEqual(await allChunks(directory), {});
    deepStrictEqual(await allChunks(join(directory, "other"), "ü".repeat(100)), {});
  });
});

Deno.test("KvStore: sweep deletes what no range names, and nothing else", async () => {
  await withDirectory(async (directory) => {
    for (let seed = 1; seed <= 25; seed++) {
      const random = randomFrom(seed);
      const upTo = (count: number): number => Math.floor(random() * count);
      const streams = ["a", "b", "journal", "owner"];
      const present = streams.flatMap((stream) => chunksOf(range(stream, upTo(20), 20 + upTo(20)), 1));
      const live = Array.from({ length: upTo(6) }, () => {
        const start = upTo(40);
        return range(streams[upTo(streams.length)] ?? "a", start, start + upTo(15));
      });
      await withStore(directory, async (store) => {
        await store.sweep([]);
        await commit(store, { put: present, manifest: String(seed) });
        await store.sweep(live);
      });
      const expected: Record<string, number[]> = {};
      for (const { stream, id } of present) {
        const named = live.some((of) => of.stream === stream && of.start <= id && id < of.end);
        if (named) (expected[stream] ??= []).push(id);
      }
      deepStrictEqual(await allChunks(directory), expected, `seed ${seed}`);
      await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, String(seed))));
    }
  });
});

Deno.test("KvStore: what a first checkpoint left behind that was not completed is gone", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, () => Promise.resolve());
    await leaveBehind(directory, chunksOf(range("journal", 0, 3)));
    await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, null)));
    deepStrictEqual(await allChunks(directory), {});
  });
});

Deno.test("KvStore: splits share a directory and don't see each other", async () => {
  await withDirectory(async (directory) => {
    for (const split of ["one", "two"]) {
      await withStore(directory, async (store, manifest) => {
        strictEqual(manifest, null);
        await commit(store, { put: chunksOf(range("journal", 0, 2)), manifest: split });
      }, split);
    }
    for (const split of ["one", "two"]) {
      await withStore(directory, async (store, manifest) => {
        strictEqual(manifest, split);
        await store.sweep([range("journal", 1, 2)]);
      }, split);
      deepStrictEqual(await allChunks(directory, split), { journal: [1] });
    }
  });
});

Deno.test("KvStore: who was taken over from writes nothing more", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, async (store) => {
      await commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "mine" });
      {
        // Another process, on a file system where the lock does not hold.
        using kv = await Deno.openKv(join(directory, "state.kv"));
        await kv.set(["fencepost", "file", "owner"], { pid: 1 });
      }
      const fenced = (error: unknown): boolean =>
        error instanceof FencedError && error.message.includes("another process has taken file over");
      await rejects(commit(store, { put: chunksOf(range("journal", 3, 4)), manifest: "not mine" }), fenced);
      await rejects(
        commit(store, { put: chunksOf(range("large", 0, 40), 60_000), manifest: "not mine" }),
        fenced,
      );
      await rejects(commit(store, { drop: [range("journal", 0, 3)], manifest: "not mine" }), fenced);
      await rejects(store.sweep([]), fenced);
    });
    deepStrictEqual(await allChunks(directory), { journal: [0, 1, 2] });
    await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, "mine")));
  });
});

/** The process of tests/support/hold_state.ts. */
function spawn(directory: string, what: "hold" | "try" | "commit"): Deno.ChildProcess {
  const program = new URL("../support/hold_state.ts", import.meta.url).pathname;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-lock", "--unstable-kv", "-A", program, directory, what],
    stdout: "piped",
  }).spawn();
}

/** Reads what a process says until it ends or `isEnough`. */
async function hear(
  child: Deno.ChildProcess,
  isEnough: (said: string) => boolean = () => false,
): Promise<string> {
  let said = "";
  const reader = child.stdout.getReader();
  while (!isEnough(said)) {
    const { value, done } = await reader.read();
    if (done) break;
    said += decoder.decode(value);
  }
  await reader.cancel();
  return said;
}

Deno.test("KvStore: a second process is refused by name while the first lives, and not after", async () => {
  await withDirectory(async (directory) => {
    const holder = spawn(directory, "hold");
    try {
      strictEqual(await hear(holder, (said) => said !== ""), "open\n");
      const second = spawn(directory, "try");
      const said = await hear(second);
      strictEqual((await second.status).code, 1);
      strictEqual(
        said,
        `StateInUseError: Cannot use the state in ${directory}: process ${holder.pid} is using it. Stop that one first, ` +
          `or give this one another directory with --state\n`,
      );
    } finally {
      holder.kill("SIGKILL");
      await holder.status;
    }
    await withStore(directory, () => Promise.resolve());
  });
});

Deno.test({
  name: "KvStore: a second store in the same process is refused too",
  // Deno 2.4 can't try for a lock; there the refused one still waits for it.
  ignore: !("tryLock" in Deno.FsFile.prototype),
  fn: async () => {
    await withDirectory(async (directory) => {
      await withStore(directory, async (store) => {
        await rejects(new KvStore({ directory, split: "file" }).open(), StateInUseError);
        await commit(store, { manifest: "still mine" });
      });
      await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, "still mine")));
    });
  },
});

Deno.test("KvStore: killed while it commits, the last acknowledged checkpoint or the next is there, whole", async () => {
  await withDirectory(async (directory) => {
    let acknowledged = 0;
    for (let round = 1; round <= 4; round++) {
      const child = spawn(directory, "commit");
      const said = await hear(child, (text) => text.split("\n").length > 3 + round * 2);
      child.kill("SIGKILL");
      await child.status;
      const numbers = said.split("\n").slice(1, -1).map(Number);
      ok(numbers.length > 0);
      acknowledged = Math.max(acknowledged, ...numbers);
      await withStore(directory, async (store, manifest) => {
        const number = Number(manifest);
        // It went on writing between what was heard and the kill.
        ok(number >= acknowledged, `${number} is not behind ${acknowledged}`);
        const live = range("journal", number * 15, (number + 1) * 15);
        const chunks = await read(store, live);
        deepStrictEqual(chunks, chunks.map(() => new Uint8Array(60_000).fill(number)));
        await store.sweep([live]);
        acknowledged = number;
      });
      const ids = Array.from({ length: 15 }, (_, i) => acknowledged * 15 + i);
      deepStrictEqual(await allChunks(directory), { journal: ids });
    }
  });
});

Deno.test("KvStore: a state that was emptied is refused, one that never was begins", async (test) => {
  const emptied: [string, (directory: string) => Promise<unknown>][] = [
    ["no bytes left", (directory) => Deno.truncate(join(directory, "state.kv"), 0)],
    ["the file gone", (directory) => Deno.remove(join(directory, "state.kv"))],
    ["a new database in its place", async (directory) => {
      await Deno.remove(join(directory, "state.kv"));
      using kv = await Deno.openKv(join(directory, "state.kv"));
      await kv.set(["else"], 1);
    }],
  ];
  for (const [name, empty] of emptied) {
    await test.step(name, async () => {
      await withDirectory(async (directory) => {
        await withStore(directory, (store) => commit(store, { manifest: "one" }));
        await empty(directory);
        await rejects(
          withStore(directory, () => Promise.resolve()),
          /it is empty, though there was a checkpoint in it.*move the directory away/,
        );
      });
    });
  }
  await test.step("no checkpoint before", async () => {
    await withDirectory(async (directory) => {
      await withStore(directory, () => Promise.resolve());
      await Deno.truncate(join(directory, "state.kv"), 0);
      await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, null)));
    });
  });
  await test.step("killed before the marker was written: it is written later", async () => {
    await withDirectory(async (directory) => {
      await withStore(directory, (store) => commit(store, { manifest: "one" }));
      await Deno.remove(join(directory, "format"));
      await withStore(directory, (_, manifest) => Promise.resolve(strictEqual(manifest, "one")));
      deepStrictEqual(JSON.parse(await Deno.readTextFile(join(directory, "format"))), {
        fencepost: 1,
        splits: ["file"],
      });
    });
  });
  await test.step("a marker of another version, or torn", async () => {
    for (
      const text of ['{"fencepost":2,"splits":[]}', '{"fencepost":1', '{"fencepost":1,"splits":[7]}', "null"]
    ) {
      await withDirectory(async (directory) => {
        await Deno.writeTextFile(join(directory, "format"), text);
        await rejects(withStore(directory, () => Promise.resolve()), /it is not of format 1/, text);
      });
    }
  });
});

Deno.test("KvStore: a damaged file and a directory that is none are said, with what to do", async () => {
  await withDirectory(async (directory) => {
    const state = join(directory, "state");
    await withStore(
      state,
      (store) => commit(store, { put: chunksOf(range("a", 0, 90), 60_000), manifest: "one" }),
    );
    const size = (await Deno.stat(join(state, "state.kv"))).size;
    ok(size > 4_000_000);
    await Deno.writeFile(join(state, "state.kv"), new Uint8Array(size).fill(0x41));
    await rejects(withStore(state, () => Promise.resolve()), (error) => {
      ok(error instanceof Error && error.cause instanceof Error);
      strictEqual(
        error.message,
        `Cannot use the state in ${state}: state.kv is damaged. Put a copy of it back, or move the directory away to begin ` +
          `afresh`,
      );
      return true;
    });
    // What was refused is let go.
    await Deno.remove(state, { recursive: true });
    await withStore(state, () => Promise.resolve());

    await Deno.writeTextFile(join(directory, "file"), "");
    for (const path of [join(directory, "file"), join(directory, "file", "below")]) {
      await rejects(new KvStore({ directory: path, split: "file" }).open(), /there is a file in its place/);
    }
  });
});

Deno.test("KvStore: a full disk is said, and the checkpoint before it is kept", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, (store) => commit(store, { manifest: "1" }));
    const program = new URL("../support/hold_state.ts", import.meta.url).pathname;
    // 4 MB a file; a real disk says "full", a limit "disk I/O error", so only the name and the state are looked at.
    const output = await new Deno.Command("bash", {
      args: [
        "-c",
        `trap '' XFSZ; ulimit -f 4000; exec "$0" run --quiet --no-lock --unstable-kv -A '${program}' '${directory}' commit`,
        Deno.execPath(),
      ],
    }).output();
    const said = decoder.decode(output.stdout).trim().split("\n");
    strictEqual(output.code, 1);
    ok(said.at(-1)?.startsWith(`Error: Cannot use the state in ${directory}: `), said.at(-1));
    const acknowledged = Number(said.at(-2));
    ok(acknowledged >= 2, said.join());
    await withStore(directory, async (store, manifest) => {
      const number = Number(manifest);
      ok(number >= acknowledged);
      strictEqual((await read(store, range("journal", number * 15, (number + 1) * 15))).length, 15);
    });
  });
});
