import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { KvStore } from "../../actors/adapters/kv_store.ts";
import { StateInUseError } from "../../actors/adapters/state_lock.ts";
import type { CheckpointStore } from "../../actors/ports.ts";
import {
  chunksOf,
  commit,
  holds,
  range,
  read,
  storeContract,
  withStore as withOpenStore,
} from "../support/store_contract.ts";

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
function withStore<T>(
  directory: string,
  use: (store: CheckpointStore, manifest: string | null) => Promise<T>,
  split = "file",
): Promise<T> {
  return withOpenStore(new KvStore({ directory, split }), use);
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

storeContract("KvStore", {
  ignore: false,
  seeds: 25,
  world: async (use) => {
    await withDirectory(async (parent) => {
      // Not made before: the store does that.
      const directory = join(parent, "deep", "state");
      await use({
        store: (split) => new KvStore({ directory, split }),
        takeOver: async (split) => {
          // Another process, on a file system where the lock does not hold.
          using kv = await Deno.openKv(join(directory, "state.kv"));
          await kv.set(["fencepost", split, "owner"], { pid: 1 });
        },
        chunks: (split) => allChunks(directory, split),
        leaveBehind: async (split, chunks) => {
          await Deno.mkdir(directory, { recursive: true });
          using kv = await Deno.openKv(join(directory, "state.kv"));
          for (const { stream, id, bytes } of chunks) {
            await kv.set(["fencepost", split, "chunk", stream, id], bytes);
          }
        },
      });
    });
  },
});

Deno.test("KvStore: it is called by its directory, says what to do about a missing chunk, and closes twice", async () => {
  await withDirectory(async (directory) => {
    await withStore(directory, async (store) => {
      strictEqual(store.name, directory);
      await commit(store, { put: chunksOf(range("journal", 0, 1)), manifest: "" });
      await rejects(
        read(store, range("journal", 0, 2)),
        /chunk 1 of journal is missing.*move the directory away/,
      );
      store.close();
      store.close();
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
