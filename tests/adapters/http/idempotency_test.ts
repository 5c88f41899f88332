import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { IdempotencyStore } from "../../../actors/adapters/http/idempotency.ts";

const KEEP_MS = 60_000;

/** Asks as a client does, and says what it got: the first time what is made, then what was kept. */
async function ask(store: IdempotencyStore, key: string, fingerprint = "body"): Promise<string> {
  const answer = await store.once(
    { client: "gateway", key, fingerprint },
    () => Promise.resolve({ given: new Response("made"), kept: { status: 200, body: `kept of ${key}` } }),
  );
  if (answer === "other") return answer;
  return answer instanceof Response ? await answer.text() : `${answer.status} ${answer.body}`;
}

Deno.test("IdempotencyStore: an answer is kept over a restart, up to a number of them, all as bytes that any version of Deno reads", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = join(directory, "answers.kv");
    const first = await IdempotencyStore.open(path, { keepMs: KEEP_MS, answersMax: 2 });
    strictEqual(await ask(first, "a"), "made");
    strictEqual(await ask(first, "a"), "200 kept of a");
    strictEqual(await ask(first, "a", "another body"), "other");
    strictEqual(await ask(first, 'b"\u00e9'), "made");
    first.close();

    const second = await IdempotencyStore.open(path, { keepMs: KEEP_MS, answersMax: 2 });
    strictEqual(await ask(second, "a"), "200 kept of a");
    strictEqual(await ask(second, "c"), "made", "which takes the place of the oldest");
    strictEqual(await ask(second, 'b"\u00e9'), '200 kept of b"\u00e9');
    strictEqual(await ask(second, "a"), "made");
    second.close();

    using kv = await Deno.openKv(path);
    const kinds: string[] = [];
    for await (const { key, value } of kv.list({ prefix: [] })) {
      strictEqual(value instanceof Uint8Array, true, `${key}`);
      kinds.push(String(key[0]));
    }
    deepStrictEqual(kinds, ["given", "given", "order", "order"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
