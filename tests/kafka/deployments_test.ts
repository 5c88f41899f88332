/**
 * Several deployments over one topic, with their states in one topic or under one directory: each tells everything, and goes on where it was.
 *
 * @module
 */
import { match, strictEqual } from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, valuesOf } from "../support/kafka_messages.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(1);

afterAll(async () => await broker?.stop());

const MINUTE_MS = 60_000;
const STARTED_MS = Date.now() - 60 * MINUTE_MS;
const DEPLOYMENTS = ["production", "trial"];

for (const state of ["a topic", "a directory"] as const) {
  Deno.test({
    name:
      `run: two deployments that read one topic and keep their state in ${state} know nothing of each other`,
    ignore,
    async fn() {
      const input = await newTopic();
      const outputs = new Map<string, string>();
      for (const deployment of DEPLOYMENTS) outputs.set(deployment, await newTopic());
      await inDirectory(async (directory) => {
        const path = state === "a topic" ? `kafka:state-${input}` : `${directory}/state`;
        for (const transitions of [2, 4]) {
          await produce(input, [transitions - 2, transitions - 1]);
          for (const [deployment, output] of outputs) {
            const config = {
              deployment,
              kafka: { brokers: broker?.brokers },
              source: { type: "kafka", topic: input, group: `${deployment}-of-${input}` },
              sink: { type: "kafka", topic: output },
              dead_letters: { type: "ndjson", path: `${directory}/${deployment}-{partition}.ndjson` },
              checkpoint: { path },
            };
            const run = await KafkaRun.start(directory, config);
            await run.until(kafka, output, transitions);
            match(
              await run.end(),
              transitions === 2 ? /^0: .*: beginning/s : /^0: .*: going on \(2 records/s,
            );
          }
        }
      });
      for (const output of outputs.values()) {
        const ids = (await valuesOf(kafka, output)).map((value) => JSON.parse(value).id);
        strictEqual(new Set(ids).size, 4);
      }
    },
  });
}

Deno.test({
  name:
    "run: a second group over a deployment's state is refused with both names, and under another deployment begins",
  ignore,
  async fn() {
    const input = await newTopic();
    const outputs = [await newTopic(), await newTopic()] as const;
    await produce(input, [0, 1]);
    await inDirectory(async (directory) => {
      const start = (group: string, output: string, deployment = "production"): Promise<KafkaRun> =>
        KafkaRun.start(directory, {
          deployment,
          kafka: { brokers: broker?.brokers },
          source: { type: "kafka", topic: input, group: `${group}-of-${input}` },
          sink: { type: "kafka", topic: output },
          dead_letters: { type: "ndjson", path: `${directory}/${deployment}-{partition}.ndjson` },
          checkpoint: { path: `kafka:state-${input}` },
        });
      const first = await start("first", outputs[0]);
      await first.until(kafka, outputs[0], 2);
      match(await first.end(), /^0:/);
      const { code, said } = await (await start("second", outputs[1])).ended();
      strictEqual(code, 2, said);
      match(
        said,
        /is of group first-of-\S+, and source\.group is second-of-\S+: .*another deployment than production/,
      );
      const second = await start("second", outputs[1], "trial");
      await second.until(kafka, outputs[1], 2);
      match(await second.end(), /^0: .*: beginning/s);
      await produce(input, [2]);
      const again = await start("first", outputs[0]);
      await again.until(kafka, outputs[0], 3);
      match(await again.end(), /^0: .*: going on \(2 records/s);
    });
  },
});

Deno.test({
  name: "run: a topic that was made anew, and is longer than the checkpoint's position by now, is refused",
  ignore,
  async fn() {
    const input = await newTopic();
    const output = await newTopic();
    await inDirectory(async (directory) => {
      const start = (): Promise<KafkaRun> =>
        KafkaRun.start(directory, {
          kafka: { brokers: broker?.brokers },
          source: { type: "kafka", topic: input, group: `of-${input}` },
          sink: { type: "kafka", topic: output },
          dead_letters: { type: "ndjson", path: `${directory}/{partition}.ndjson` },
          checkpoint: { path: `${directory}/state` },
        });
      await produce(input, [0, 1]);
      const first = await start();
      await first.until(kafka, output, 2);
      match(await first.end(), /^0:/);
      await produce(input, [2]);
      const same = await start();
      await same.until(kafka, output, 3);
      match(await same.end(), /^0: .*: going on/s);
      const admin = kafka.admin();
      await admin.connect();
      await admin.deleteTopics({ topics: [input] });
      while ((await admin.listTopics()).includes(input)) await delay(50);
      await admin.createTopics({ waitForLeaders: false, topics: [{ topic: input, numPartitions: 1 }] });
      await admin.disconnect();
      await produce(input, [3, 4, 5, 6, 7]);
      const { code, said } = await (await start()).ended();
      strictEqual(code, 1, said);
      match(said, /is at offset 3, but the record at 2 is another.*begin afresh with another state/);
    });
  },
});

async function produce(topic: string, numbers: readonly number[]): Promise<void> {
  const messages = numbers.map((number) => ({
    value: JSON.stringify({
      ...{ device_id: "d", fence_id: "f", kind: number % 2 === 0 ? "ENTER" : "EXIT" },
      event_time_ms: STARTED_MS + number * MINUTE_MS,
    }),
  }));
  await otherProducer(kafka, null, async (producer) => void await producer.send({ topic, messages }));
}
