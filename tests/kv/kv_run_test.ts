/**
 * Whole runs over a topic with their state on a Deno KV server.
 *
 * @module
 */
import { doesNotMatch, match, ok, strictEqual } from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { startKafka } from "../support/kafka_broker.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { clientOf, otherProducer, valuesOf } from "../support/kafka_messages.ts";
import { type KvServer, startKvServer } from "../support/kv_server.ts";
import { KafkaRun } from "../kafka/kafka_run.ts";

const kv = await startKvServer();
const broker = kv === null ? null : await startKafka();
const kafka = clientOf(broker?.brokers ?? ["127.0.0.1:1"]);
const ignore = kv === null || broker === null;
/** Somebody else's server is not ours to kill. */
const ignoreKills = ignore || !kv.isOurs;
afterAll(async () => {
  await broker?.stop();
  await kv?.stop();
});

const TOKEN_ENV = "DENO_KV_ACCESS_TOKEN";

/** A topic and what its runs are told. */
class World {
  readonly input: string;
  readonly directory: string;
  #atMs = Date.now() - 3_600_000;

  private constructor(input: string, directory: string) {
    this.input = input;
    this.directory = directory;
  }

  static async use(fn: (world: World, server: KvServer) => Promise<void>): Promise<void> {
    if (broker === null || kv === null) return;
    const input = await broker.topic(1);
    await inDirectory((directory) => fn(new World(input, directory), kv));
  }

  /** Sends pairs of transitions: twice as many triggers are to come. */
  async send(pairs: number): Promise<void> {
    const messages = Array.from({ length: 2 * pairs }, (_, i) => {
      this.#atMs += 1_000;
      const kind = i % 2 === 0 ? "ENTER" : "EXIT";
      return { value: JSON.stringify({ device_id: "d", fence_id: "f", kind, event_time_ms: this.#atMs }) };
    });
    await otherProducer(kafka, null, async (producer) => {
      await producer.send({ topic: this.input, messages });
    });
  }

  /** A run that writes to a topic. */
  async start(
    output: string,
    { deployment = this.input, path = kv?.url ?? "", env = {} }: {
      deployment?: string;
      path?: string;
      env?: Record<string, string>;
    } = {},
  ): Promise<KafkaRun> {
    return await KafkaRun.start(this.directory, {
      deployment,
      kafka: { brokers: broker?.brokers },
      source: { type: "kafka", topic: this.input, group: `${deployment}-group` },
      sink: { type: "kafka", topic: output },
      dead_letters: { path: `${this.directory}/dead-letters-{partition}.ndjson` },
      checkpoint: { path, interval: "50ms" },
    }, env);
  }
}

async function topic(): Promise<string> {
  ok(broker !== null);
  return await broker.topic(1);
}

Deno.test({
  name: "run on a Deno KV server: another process goes on where the last one ended",
  ignore,
  fn: () =>
    World.use(async (world, { token }) => {
      const output = await topic();
      await world.send(10);
      const first = await world.start(output);
      await first.until(kafka, output, 20);
      const saidFirst = await first.end();
      match(saidFirst, /^0: .*\[0\]: beginning/s);
      await world.send(10);
      const second = await world.start(output);
      await second.until(kafka, output, 40);
      const said = await second.end();
      match(said, /^0: .*\[0\]: going on \(20 records read, 1 pair,/s);
      for (const text of [saidFirst, said]) {
        ok(!text.includes(token));
        doesNotMatch(text, /on this host alone/);
      }
      strictEqual(new Set(await valuesOf(kafka, output)).size, 40);
    }),
});

Deno.test({
  name: "run on a Deno KV server: deployments that read the same topic don't meet on it",
  ignore,
  fn: () =>
    World.use(async (world) => {
      const outputs = [await topic(), await topic()] as const;
      await world.send(10);
      const runs = await Promise.all(
        outputs.map((output) => world.start(output, { deployment: `of-${output}` })),
      );
      for (const [i, run] of runs.entries()) await run.until(kafka, outputs[i] as string, 20);
      for (const run of runs) {
        const said = await run.end();
        match(said, /^0: /);
        doesNotMatch(said, /another process/);
      }
    }),
});

Deno.test({
  name:
    "run on a Deno KV server: it is waited for, at the start and later, and nothing is lost or told twice",
  ignore: ignoreKills,
  fn: () =>
    World.use(async (world, server) => {
      const output = await topic();
      await world.send(10);
      await server.kill();
      const run = await world.start(output);
      await run.says(/Cannot use the state in http:.*; trying again in 0.5 s/);
      strictEqual((await valuesOf(kafka, output)).length, 0);
      await server.restart();
      await run.until(kafka, output, 20);
      await server.kill();
      await world.send(10);
      await run.says(/the server has not answered for 10 s; going on from the last checkpoint/);
      await server.restart();
      await run.until(kafka, output, 40);
      match(await run.end(), /^0: /);
      strictEqual(new Set(await valuesOf(kafka, output)).size, 40);
    }),
});

/** Longer than a call may take, and than a transaction may last. */
const STOPPED_MS = 17_000;

for (
  const who of ["the server", "the run", "both, the run for longer"] as const
) {
  Deno.test({
    name:
      `run on a Deno KV server: ${who} stopped with a call under way: it goes on, nothing is lost or told twice`,
    ignore: ignoreKills,
    fn: () =>
      World.use(async (world, server) => {
        const output = await topic();
        await world.send(10);
        const run = await world.start(output);
        await run.until(kafka, output, 20);
        try {
          // What it sends now waits for an answer until the server goes on.
          if (who !== "the run") server.pause();
          await world.send(10);
          await run.until(kafka, output, 40);
          if (who === "both, the run for longer") {
            run.pause();
            await delay(1_000);
            server.resume();
            await delay(STOPPED_MS);
            run.resume();
          } else {
            if (who === "the run") run.pause();
            await delay(STOPPED_MS);
            if (who === "the run") run.resume();
          }
        } finally {
          server.resume();
        }
        await world.send(10);
        await run.until(kafka, output, 60);
        const said = await run.end();
        match(said, /^0: /);
        doesNotMatch(said, /another process has taken|Another process/);
        strictEqual(new Set(await valuesOf(kafka, output)).size, 60);
        const next = await world.start(output);
        await next.says(/\[0\]: going on \(60 records read/);
        match(await next.end(), /^0: /);
      }),
  });
}

Deno.test({
  name: "run on a Deno KV server: a token that it refuses ends the run, which does not tell it",
  ignore,
  fn: () =>
    World.use(async (world) => {
      const wrong = "a-wrong-token-but-long";
      for (const token of [wrong, `${wrong}\n`]) {
        const { code, said } = await (await world.start(await topic(), { env: { [TOKEN_ENV]: token } }))
          .ended();
        strictEqual(code, 1, said);
        match(said, /^fencepost: Cannot use the state in http:.*environment's DENO_KV_ACCESS_TOKEN/);
        doesNotMatch(said, /a-wrong-token/);
        strictEqual(said.trimEnd().split("\n").length, 1, said);
      }
    }),
});

Deno.test({
  name: "run on a Deno KV server: an address of something else ends the run",
  ignore,
  async fn() {
    const page = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("<html>"),
    );
    try {
      await World.use(async (world) => {
        const path = `http://127.0.0.1:${page.addr.port}`;
        const { code, said } = await (await world.start(await topic(), { path })).ended();
        strictEqual(code, 1, said);
        match(said, /^fencepost: Cannot use the state in .*: what is at this address is no Deno KV server/);
      });
    } finally {
      await page.shutdown();
    }
  },
});

Deno.test({
  name: "run on a Deno KV server: one that has lost the state is refused, and nothing is told anew",
  ignore: ignoreKills,
  fn: () =>
    World.use(async (world, server) => {
      const output = await topic();
      await world.send(10);
      const first = await world.start(output);
      await first.until(kafka, output, 20);
      match(await first.end(), /^0: /);
      await server.kill();
      await server.restart("lost");
      const { code, said } = await (await world.start(output)).ended();
      strictEqual(code, 1, said);
      match(said, /so there is a state of it, on another host, under another deployment or lost/);
      strictEqual((await valuesOf(kafka, output)).length, 20);
    }),
});
