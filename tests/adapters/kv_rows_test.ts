import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { ATOMIC_BYTES_MAX } from "../../actors/adapters/kv_atomics.ts";
import { KvLane } from "../../actors/adapters/kv_lane.ts";
import { KvRows } from "../../actors/adapters/kv_rows.ts";
import { type CheckpointChunk, type ChunkRange, FencedError } from "../../actors/ports.ts";
import { chunksOf, range } from "../support/store_contract.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A database whose client loses the answers of the commits that a test tells it to, and asks again as Deno's does. */
class ForgetfulKv {
  /** Asked for each commit: what comes between its first try and its second; null where there is only one. */
  between: ((commit: () => Promise<unknown>) => Promise<void>) | null = null;
  readonly kv: Deno.Kv;

  constructor(kv: Deno.Kv) {
    const atomic = (): Deno.AtomicOperation => this.#forgetful(kv.atomic.bind(kv));
    this.kv = new Proxy(kv, {
      get: (target, name) => {
        if (name === "atomic") return atomic;
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  /** Records what is done to an atomic, so that it can be committed more than once. */
  #forgetful(begin: () => Deno.AtomicOperation): Deno.AtomicOperation {
    const steps: ((operation: Deno.AtomicOperation) => Deno.AtomicOperation)[] = [];
    const commit = (): Promise<Deno.KvCommitResult | Deno.KvCommitError> =>
      steps.reduce((operation, step) => step(operation), begin()).commit();
    const recorder = {
      check: (...checks: Deno.AtomicCheck[]) => add((operation) => operation.check(...checks)),
      set: (key: Deno.KvKey, value: unknown) => add((operation) => operation.set(key, value)),
      delete: (key: Deno.KvKey) => add((operation) => operation.delete(key)),
      commit: async () => {
        const between = this.between;
        if (between === null) return await commit();
        await commit();
        await between(commit);
        return await commit();
      },
    } as unknown as Deno.AtomicOperation;
    const add = (step: (operation: Deno.AtomicOperation) => Deno.AtomicOperation): Deno.AtomicOperation => {
      steps.push(step);
      return recorder;
    };
    return recorder;
  }
}

function rowsOf(kv: Deno.Kv, atomicsAtOnce = 1): KvRows {
  const bytes = atomicsAtOnce * ATOMIC_BYTES_MAX;
  return new KvRows({
    kv,
    split: "file",
    name: "memory",
    damaged: "it is damaged",
    lanes: {
      up: new KvLane({ bytesMin: bytes, bytesMax: bytes }),
      down: new KvLane({ bytesMin: 1, bytesMax: 1 << 20 }),
    },
    call: (run) => run(),
  });
}

async function withKv(use: (kv: Deno.Kv) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  await use(kv);
}

async function manifestOf(kv: Deno.Kv): Promise<string | null> {
  const { value } = await kv.get<Uint8Array>(["fencepost", "file", "manifest"]);
  return value === null ? null : decoder.decode(value);
}

function commitOf(manifest: string, put: readonly CheckpointChunk[] = [], drop: readonly ChunkRange[] = []) {
  return { put, drop, manifest: encoder.encode(manifest) };
}

const durable = (): Promise<void> => Promise.resolve();
const again = (): Promise<void> => Promise.resolve();

Deno.test("KvRows: a takeover and a commit that meet their own first try are done", async () => {
  await withKv(async (kv) => {
    const forgetful = new ForgetfulKv(kv);
    forgetful.between = again;
    const rows = rowsOf(forgetful.kv, 4);
    strictEqual(await rows.takeOver(), null);
    // Several atomics: chunks, the manifest, deletions.
    await rows.commit(commitOf("one", chunksOf(range("journal", 0, 40), 60_000)), durable);
    strictEqual(await manifestOf(kv), "one");
    await rows.commit(commitOf("two", [], [range("journal", 0, 39)]), durable);
    await rows.commit(commitOf("three"), durable);
    strictEqual(await manifestOf(kv), "three");
    const left: Uint8Array[] = [];
    for await (const chunk of rows.read(range("journal", 39, 40))) left.push(chunk);
    strictEqual(left.length, 1);
  });
});

Deno.test("KvRows: between the two tries of a commit another takes over: fenced, and its checkpoint stays", async () => {
  await withKv(async (kv) => {
    const forgetful = new ForgetfulKv(kv);
    const rows = rowsOf(forgetful.kv);
    await rows.takeOver();
    await rows.commit(commitOf("one"), durable);
    forgetful.between = async () => {
      const other = rowsOf(kv);
      // The first try was done: whoever takes over goes on from there.
      strictEqual(decoder.decode(await other.takeOver() ?? undefined), "two");
      await other.commit(commitOf("three of another"), durable);
    };
    await rejects(rows.commit(commitOf("two"), durable), FencedError);
    strictEqual(await manifestOf(kv), "three of another");
  });
});

Deno.test("KvRows: a first try that comes late, after newer checkpoints, changes nothing", async () => {
  await withKv(async (kv) => {
    const forgetful = new ForgetfulKv(kv);
    const rows = rowsOf(forgetful.kv);
    await rows.takeOver();
    let late: () => Promise<unknown> = durable;
    forgetful.between = (commit) => {
      late = commit;
      return Promise.resolve();
    };
    await rows.commit(commitOf("one", chunksOf(range("journal", 0, 1))), durable);
    forgetful.between = null;
    await rows.commit(commitOf("two", chunksOf(range("journal", 1, 2)), [range("journal", 0, 1)]), durable);
    await late();
    strictEqual(await manifestOf(kv), "two");
    const [first, second] = await kv.getMany(
      [0, 1].map((id) => ["fencepost", "file", "chunk", "journal", id]),
    );
    deepStrictEqual([first?.value, (second?.value as Uint8Array).length], [null, 100]);
    await rows.commit(commitOf("three"), durable);
    strictEqual(await manifestOf(kv), "three");
  });
});

Deno.test("KvRows: two take over at once: the later one owns it, the other writes nothing", async () => {
  await withKv(async (kv) => {
    const forgetful = new ForgetfulKv(kv);
    const first = rowsOf(kv);
    const second = rowsOf(forgetful.kv);
    let raced = 0;
    // Each of its tries is overtaken, but for the third.
    forgetful.between = async () => {
      if (++raced < 3) await first.takeOver();
    };
    await second.takeOver();
    strictEqual(raced, 3);
    forgetful.between = null;
    await rejects(first.commit(commitOf("first"), durable), FencedError);
    await second.commit(commitOf("second"), durable);
    strictEqual(await manifestOf(kv), "second");
    forgetful.between = async () => void await first.takeOver();
    await rejects(second.takeOver(), FencedError);
  });
});

Deno.test("KvRows: a manifest that something else has changed is not written over", async () => {
  await withKv(async (kv) => {
    const rows = rowsOf(kv);
    await rows.takeOver();
    await rows.commit(commitOf("one"), durable);
    await kv.set(["fencepost", "file", "manifest"], encoder.encode("somebody's"));
    await rejects(rows.commit(commitOf("two"), durable), /something that is not Fencepost has changed it/);
    strictEqual(await manifestOf(kv), "somebody's");
  });
});

Deno.test("KvRows: all values are bytes, which each version of Deno reads, and an owner that is none is taken over from", async () => {
  await withKv(async (kv) => {
    await kv.set(["fencepost", "file", "owner"], {
      pid: 1,
      since: "2026-11-30T20:30:00.000Z",
      name: "former",
    });
    const rows = rowsOf(kv);
    await rows.takeOver();
    await rows.commit(commitOf("one", chunksOf(range("journal", 0, 2), 100)), durable);
    const keys: string[] = [];
    for await (const { key, value } of kv.list({ prefix: ["fencepost"] })) {
      keys.push(key.join(" "));
      strictEqual(value instanceof Uint8Array, true, `${key}`);
    }
    deepStrictEqual(keys, [
      "fencepost file chunk journal 0",
      "fencepost file chunk journal 1",
      "fencepost file manifest",
      "fencepost file owner",
    ]);
  });
});

Deno.test("KvRows: where the owner's row is gone so is the state: said, and no takeover", async () => {
  for (const put of [[], chunksOf(range("journal", 0, 40), 60_000)]) {
    await withKv(async (kv) => {
      const rows = rowsOf(kv);
      await rows.takeOver();
      await rows.commit(commitOf("one"), durable);
      await kv.delete(["fencepost", "file", "owner"]);
      await rejects(rows.commit(commitOf("two", put), durable), (error: Error) => {
        strictEqual(
          error.message,
          "Cannot write the state in memory: that of file is gone, so it is damaged",
        );
        return !(error instanceof FencedError);
      });
      strictEqual(await manifestOf(kv), "one");
    });
  }
});
