/**
 * Several deployments over one topic, with their states in one topic or under one directory: each tells everything, and goes on where it was.
 *
 * @module
 */
import { match, strictEqual } from "node:assert/strict";
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

async function produce(topic: string, numbers: readonly number[]): Promise<void> {
  const messages = numbers.map((number) => ({
    value: JSON.stringify({
      ...{ device_id: "d", fence_id: "f", kind: number % 2 === 0 ? "ENTER" : "EXIT" },
      event_time_ms: STARTED_MS + number * MINUTE_MS,
    }),
  }));
  await otherProducer(kafka, null, async (producer) => void await producer.send({ topic, messages }));
}
