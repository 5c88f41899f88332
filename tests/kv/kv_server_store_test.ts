import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { KvServerStore } from "../../actors/adapters/kv_server_store.ts";
import { FencedError, UnavailableError } from "../../actors/ports.ts";
import { afterAll } from "../support/after_all.ts";
import { KvProxy } from "../support/kv_proxy.ts";
import { startKvServer } from "../support/kv_server.ts";
import { SlowLink } from "../support/slow_link.ts";
import { chunksOf, commit, holds, range, storeContract, withStore } from "../support/store_contract.ts";

const started = await startKvServer();
const ignore = started === null;
const server = started?.url ?? "http://127.0.0.1:1";

afterAll(async () => await started?.stop());

/** Splits of other runs, and of other tests, are in the same database. */
function unique(split: string): string {
  return `${crypto.randomUUID()} ${split}`;
}

async function withProxy(use: (proxy: KvProxy) => Promise<void>): Promise<void> {
  const proxy = new KvProxy(server);
  try {
    await use(proxy);
  } finally {
    await proxy.close();
  }
}

async function chunkIds(split: string): Promise<Record<string, number[]>> {
  using kv = await Deno.openKv(server);
  const found: Record<string, number[]> = {};
  for await (const { key } of kv.list({ prefix: ["fencepost", split, "chunk"] }, { batchSize: 50 })) {
    (found[String(key[3])] ??= []).push(Number(key[4]));
  }
  return found;
}

storeContract("KvServerStore", {
  ignore,
  seeds: 4,
  world: async (use) => {
    const world = crypto.randomUUID();
    const storeOf = (split: string): KvServerStore =>
      new KvServerStore({ url: server, split: `${world} ${split}` });
    await use({
      store: storeOf,
      takeOver: (split) => withStore(storeOf(split), () => {}),
      chunks: (split) => chunkIds(`${world} ${split}`),
      leaveBehind: async (split, chunks) => {
        using kv = await Deno.openKv(server);
        for (const { stream, id, bytes } of chunks) {
          await kv.set(["fencepost", `${world} ${split}`, "chunk", stream, id], bytes);
        }
      },
    });
  },
});

Deno.test({
  name:
    "KvServerStore: answers are lost and asked for again: nothing is lost, doubled or taken for a takeover",
  ignore,
  async fn() {
    await withProxy(async (proxy) => {
      const split = unique("file");
      let writes = 0;
      // Every write is done, and every second answer to one lost; every third read is lost.
      proxy.fate = (what) => {
        if (what === "atomic_write") return ++writes % 2 === 1 ? "lose the answer" : "pass";
        return what === "snapshot_read" && proxy.passed.length % 3 === 0 ? "lose the answer" : "pass";
      };
      await withStore(new KvServerStore({ url: proxy.url, split }), async (store, manifest) => {
        strictEqual(manifest, null);
        await commit(store, { put: chunksOf(range("journal", 0, 30), 60_000), manifest: "one" });
        await commit(store, { put: chunksOf(range("journal", 30, 31), 60_000), manifest: "two" });
        await commit(store, { drop: [range("journal", 0, 20)], manifest: "three" });
      });
      ok(writes >= 10, `${writes} writes`);
      await withStore(new KvServerStore({ url: server, split }), async (store, manifest) => {
        strictEqual(manifest, "three");
        await holds(store, range("journal", 20, 31), 60_000);
      });
    });
  },
});

Deno.test({
  name: "KvServerStore: every write of a run comes once more, late: the newest checkpoint stays",
  ignore,
  async fn() {
    await withProxy(async (proxy) => {
      const split = unique("file");
      await withStore(new KvServerStore({ url: proxy.url, split }), async (store) => {
        for (let i = 0; i < 3; i++) {
          await commit(store, {
            put: chunksOf(range("journal", i, i + 1)),
            drop: [range("journal", i - 1, i)],
            manifest: String(i),
          });
        }
        for (const { what, again } of [...proxy.passed]) if (what === "atomic_write") await again();
        await commit(store, { manifest: "3" });
      });
      await withStore(new KvServerStore({ url: server, split }), async (store, manifest) => {
        strictEqual(manifest, "3");
        await holds(store, range("journal", 2, 3));
      });
    });
  },
});

Deno.test({
  name: "KvServerStore: a server that doesn't answer is said in time, and what comes late does nothing",
  ignore,
  async fn() {
    await withProxy(async (proxy) => {
      const split = unique("file");
      const stalled = new KvServerStore({ url: proxy.url, split, callMsMax: 300 });
      await withStore(stalled, async (store) => {
        await commit(store, { put: chunksOf(range("journal", 0, 1)), manifest: "one" });
        proxy.fate = (what) => what === "atomic_write" ? "never answer" : "pass";
        const late = (error: unknown): boolean =>
          error instanceof UnavailableError && /the server has not answered for 0\.3 s/.test(error.message);
        await rejects(commit(store, { put: chunksOf(range("late", 0, 1)), manifest: "late" }), late);
        await rejects(commit(store, { manifest: "late too" }), late, "it is done with");
        // Another store goes on, and then the write that was held up gets through.
        await withStore(new KvServerStore({ url: server, split }), async (next, manifest) => {
          strictEqual(manifest, "one");
          await commit(next, { manifest: "two" });
          const before = proxy.passed.length;
          proxy.release();
          while (proxy.passed.slice(before).every(({ what }) => what !== "atomic_write")) {
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          await commit(next, { manifest: "three" });
        });
      });
      await withStore(
        new KvServerStore({ url: server, split }),
        (_, manifest) => strictEqual(manifest, "three"),
      );
      deepStrictEqual(await chunkIds(split), { journal: [0] });
    });
  },
});

Deno.test({
  name:
    "KvServerStore: over a link of 2 Mbit/s, a checkpoint that takes longer than a call may is written and read",
  ignore,
  async fn() {
    const split = unique("file");
    const link = new SlowLink(server, 2_000_000);
    try {
      // Twelve seconds each way.
      const chunks = range("pairs", 0, 50);
      await withStore(new KvServerStore({ url: link.url, split }), async (store) => {
        await commit(store, { put: chunksOf(chunks, 60_000), manifest: "large" });
      });
      await withStore(new KvServerStore({ url: link.url, split }), async (store, manifest) => {
        strictEqual(manifest, "large");
        await holds(store, chunks, 60_000);
      });
    } finally {
      await link.close();
    }
  },
});

Deno.test({
  name: "KvServerStore: a wrong token is final, and not told",
  ignore,
  async fn() {
    const token = Deno.env.get("DENO_KV_ACCESS_TOKEN") ?? "";
    const store = new KvServerStore({ url: server, split: unique("file") });
    try {
      Deno.env.set("DENO_KV_ACCESS_TOKEN", "a-wrong-token-but-long");
      await rejects(store.open(), (error: Error) => {
        ok(!(error instanceof UnavailableError));
        strictEqual(
          error.message,
          `Cannot use the state in ${
            new URL(server).href
          }: the server refuses the access token in the environment's ` +
            "DENO_KV_ACCESS_TOKEN",
        );
        return true;
      });
    } finally {
      store.close();
      Deno.env.set("DENO_KV_ACCESS_TOKEN", token);
    }
  },
});

Deno.test("KvServerStore: a password in the address is refused, and not told", () => {
  for (const address of ["https://user:secret@example.org/kv", "https://secret@example.org/kv"]) {
    throws(() => new KvServerStore({ url: address, split: "file" }), (error) => {
      ok(error instanceof Error && !error.message.includes("secret"));
      return error.message.includes("https://example.org/kv: a user or password in the address is not used");
    });
  }
});

Deno.test({
  name: "KvServerStore: who was stopped while another took over is fenced when it goes on",
  ignore,
  async fn() {
    const split = unique("file");
    await withStore(new KvServerStore({ url: server, split }), async (first) => {
      await commit(first, { manifest: "first" });
      await withStore(new KvServerStore({ url: server, split }), async (second, manifest) => {
        strictEqual(manifest, "first");
        await rejects(
          commit(first, { put: chunksOf(range("a", 0, 50), 60_000), manifest: "late" }),
          FencedError,
        );
        await commit(second, { manifest: "second" });
      });
      deepStrictEqual(await chunkIds(split), {});
    });
  },
});
