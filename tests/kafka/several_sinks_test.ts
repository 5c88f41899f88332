/**
 * From a topic to two topics, a file for each partition and webhooks, killed and killed again, and then on another host.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { readDeadLetter } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import { parseWebhookLetter } from "../../lib/webhook_letter.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory, linesOf, until } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { SECRET, WebhookReceiver } from "../support/webhook_receiver.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);

afterAll(async () => await broker?.stop());

const KILLS = 5;
const A_ROUND = 120;

function record(n: number): { key: string; value: string } {
  const device = `truck-${n}`;
  const event_time_ms = Date.now() - 1000;
  return {
    key: device,
    value: JSON.stringify({ device_id: device, fence_id: "depot", kind: "ENTER", event_time_ms }),
  };
}

function devicesOf(values: readonly string[]): string[] {
  return values.map((value) => (JSON.parse(value) as { device_id: string }).device_id).sort();
}

/** Of both partitions. */
async function valuesIn(topic: string): Promise<string[]> {
  return [
    ...await valuesOf(kafka, topic, { partition: 0 }),
    ...await valuesOf(kafka, topic, { partition: 1 }),
  ];
}

Deno.test({
  name:
    `several sinks over Kafka: ${KILLS} times SIGKILL, then another host: topics and files once, webhooks at least once`,
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      if (broker === null) throw new Error("There is no broker");
      const [source, one, two, letters] = await Promise.all([
        broker.topic(2),
        broker.topic(2),
        broker.topic(2),
        broker.topic(1),
      ]);
      const state = await broker.topic(2, { "cleanup.policy": "compact" });
      const works = new WebhookReceiver();
      const broken = new WebhookReceiver(() => new Response(null, { status: 500 }));
      await Deno.writeTextFile(join(directory, "secret"), SECRET);
      const webhook = {
        type: "webhook",
        secrets: [{ file: join(directory, "secret") }],
        allow_private: true,
      };
      const configOf = (host: string): unknown => ({
        deployment: "several",
        kafka: { brokers: broker.brokers },
        source: { type: "kafka", topic: source, group: source, session_timeout: "6s" },
        sink: [
          { type: "kafka", topic: one },
          { type: "ndjson", path: join(directory, "triggers-{partition}.ndjson") },
          { type: "kafka", topic: two, cloudevents: true },
          { ...webhook, name: "works", url: works.url },
          { ...webhook, name: "broken", url: broken.url, retry_for: "0s" },
        ],
        dead_letters: { type: "kafka", topic: letters },
        checkpoint: { path: `kafka:${state}`, interval: "50ms" },
        outbox: { path: join(directory, host) },
      });
      const files = async (): Promise<string[]> => [
        ...await linesOf(join(directory, "triggers-0.ndjson")),
        ...await linesOf(join(directory, "triggers-1.ndjson")),
      ];
      const rejected = async (): Promise<string[]> =>
        (await readAll(kafka, letters)).flatMap((message) => {
          const letter = readDeadLetter(message);
          return letter === null || parseWebhookLetter(letter.line) === null ? [] : [String(letter.place)];
        });
      let told = 0;
      const tell = async (): Promise<void> => {
        const messages = Array.from({ length: A_ROUND }, () => record(told++));
        await otherProducer(kafka, null, async (producer) => {
          await producer.send({ topic: source, messages });
        });
      };
      try {
        for (let kills = 0; kills < KILLS; kills++) {
          const run = await KafkaRun.start(directory, configOf("host-1"));
          await tell();
          const enough = kills * A_ROUND + kills * 20;
          await until(() => works.ids.length > enough, "deliveries");
          await run.kill();
        }
        for (const host of ["host-1", "host-2"]) {
          const run = await KafkaRun.start(directory, configOf(host));
          await tell();
          await until(() => works.ids.length === told, "all deliveries");
          // Of those that were told by the other host, that one has the outbox.
          if (host === "host-1") {
            await until(async () => new Set(await rejected()).size === told, "all dead letters");
          }
          const said = await run.end();
          ok(said.startsWith("0: "), said);
          equal(said.includes("another outbox"), host === "host-2", said);
        }
        const expected = Array.from({ length: told }, (_, n) => `truck-${n}`).sort();
        deepEqual(devicesOf(await valuesIn(one)), expected);
        deepEqual(devicesOf(await valuesIn(two)), expected);
        deepEqual(devicesOf(await files()), expected);
        deepEqual([...new Set(devicesOf(works.deliveries.map(({ body }) => body)))], expected);
        deepEqual([...works.forged, ...broken.forged], []);
        const places = await rejected();
        equal(new Set(places).size, places.length, "each dead letter once");
      } finally {
        await works.close();
        await broken.close();
      }
    }),
});
