import { deepEqual, ok } from "node:assert/strict";
import { parseChaosArguments } from "../chaos/chaos_options.ts";
import { runChaos } from "../chaos/kafka.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { type KafkaBroker, startKafka } from "../support/kafka_broker.ts";
import type { KvServer } from "../support/kv_server.ts";

const broker = await startKafka();
afterAll(async () => await broker?.stop());

Deno.test({
  name:
    "chaos: kills, a stop, a join and a leave, a broker's death: each trigger and each dead letter exactly once",
  ignore: broker === null,
  // Deno can't see processes end that it has lost interest in.
  sanitizeOps: false,
  async fn() {
    if (broker === null) return;
    await inDirectory(async (directory) => {
      const story: string[] = [];
      const short = { kills: 8, stops: 1, joins: 1, brokerKills: 1, records: 20_000 };
      const options = { ...parseChaosArguments([], 7), ...short };
      const say = (text: string): void => void story.push(text);
      const outcomes = await runChaos(options, { broker, kv: null, directory, say });
      for (const { name, faults, differences, triggers, deadLetters, takeovers } of outcomes) {
        deepEqual([faults, differences], [[], 0], `${name}\n${story.join("\n")}`);
        ok(triggers > 20_000 && deadLetters > 30 && takeovers > 4, `${name}: all of it occurs`);
      }
    });
  },
});

Deno.test("chaos: somebody else's broker or state server is not killed, and that is said", async () => {
  const said: string[] = [];
  const options = { ...parseChaosArguments([], 7), kills: 0, stops: 0, joins: 0 };
  const theirs = {
    ...{ broker: { isOurs: false } as KafkaBroker, kv: { isOurs: false } as KvServer },
    ...{ directory: "", say: (text: string): void => void said.push(text) },
  };
  deepEqual(await runChaos(options, theirs), []);
  deepEqual(said, [
    "broker kills: left out, the server is not ours to kill",
    "state server kills: left out, the server is not ours to kill",
  ]);
});

Deno.test("parseChaosArguments: what is given, and what is refused", () => {
  const { kills, brokerKills, seed, state } = parseChaosArguments(
    ["--kills", "3", "--broker-kills", "0", "--state", "/tmp/x"],
    9,
  );
  deepEqual({ kills, brokerKills, seed, state }, { kills: 3, brokerKills: 0, seed: 9, state: "/tmp/x" });
  for (const args of [["--kills"], ["--kills", "many"], ["--state"], ["--speed", "3"]]) {
    let refused = false;
    try {
      parseChaosArguments(args, 9);
    } catch (error) {
      refused = error instanceof RangeError;
    }
    ok(refused, args.join(" "));
  }
});
