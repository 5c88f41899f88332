import { deepEqual, ok } from "node:assert/strict";
import { parseChaosArguments } from "../chaos/chaos_options.ts";
import { runChaos } from "../chaos/kafka.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { startKvServer } from "../support/kv_server.ts";

const kv = await startKvServer();
const broker = kv === null ? null : await startKafka();
afterAll(async () => {
  await broker?.stop();
  await kv?.stop();
});

Deno.test({
  name:
    "chaos on a Deno KV server: kills, stops, a join and a leave, the server's death: each trigger and each dead letter " +
    "exactly once",
  ignore: kv === null || broker === null,
  // Deno can't see processes end that it has lost interest in.
  sanitizeOps: false,
  async fn() {
    if (kv === null || broker === null) return;
    await inDirectory(async (directory) => {
      const story: string[] = [];
      const short = {
        kills: 6,
        stops: 2,
        joins: 1,
        brokerKills: 0,
        kvKills: 3,
        records: 10_000,
      };
      const options = { ...parseChaosArguments(["--state", "kv"], 11), ...short };
      const say = (text: string): void => void story.push(text);
      const outcomes = await runChaos(options, { broker, kv, directory, say });
      for (const { name, faults, differences, triggers, deadLetters, takeovers } of outcomes) {
        deepEqual([faults, differences], [[], 0], `${name}\n${story.join("\n")}`);
        ok(triggers > 10_000 && deadLetters > 15 && takeovers >= 4, `${name}: all of it occurs`);
      }
    });
  },
});
