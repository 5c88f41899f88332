/**
 * A process that uses a state: `hold_state.ts DIRECTORY hold` opens it, says so and waits to be killed;
 * `… try` says how opening it ended; `… commit` writes checkpoints until it is killed, and says the number of each.
 */
import { KvStore } from "../../actors/adapters/kv_store.ts";

const [directory = "", what = "hold"] = Deno.args;
const encoder = new TextEncoder();
const say = (text: string): number => Deno.stdout.writeSync(encoder.encode(`${text}\n`));

const store = new KvStore({ directory, split: "file" });
try {
  const manifest = await store.open();
  say("open");
  let number = manifest === null ? 0 : Number(new TextDecoder().decode(manifest));
  while (what === "commit") {
    number++;
    // Each takes two atomics, so that a kill can fall between them.
    const put = Array.from({ length: 15 }, (_, i) => ({
      stream: "journal",
      id: number * 15 + i,
      bytes: new Uint8Array(60_000).fill(number),
    }));
    const drop = [{ stream: "journal", start: (number - 1) * 15, end: number * 15 }];
    await store.commit({ put, drop, manifest: encoder.encode(String(number)) });
    say(String(number));
  }
} catch (error) {
  say(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  Deno.exit(1);
}
if (what === "hold") setInterval(() => {}, 1000);
else store.close();
