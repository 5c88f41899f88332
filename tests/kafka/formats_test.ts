/**
 * Messages of a format on a topic: what their keys and headers say, and a process that is killed among them.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { readDeadLetter } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);
const newTopic = (configs: Record<string, string> = {}): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(1, configs);

afterAll(async () => await broker?.stop());

const NOW_MS = Date.now() - 60_000;
const decoder = new TextDecoder();

const FORMAT = {
  records: "/list",
  device_id: { join: [{ key: true }, { header: "unit" }], with: "/" },
  fence_id: "/zone",
  kind: "/what",
  kinds: { in: "ENTER", out: "EXIT", ping: "SKIP" },
  event_time: { at: "/at", unit: "ms" },
};

function message(number: number): { key: string; value: string; headers: Record<string, string> } {
  const at = NOW_MS + number * 10;
  const list = [
    { zone: "a", what: "in", at },
    { zone: "a", what: "ping", at },
    { zone: 7, what: "in", at },
    { zone: "b", what: "in", at },
  ];
  return { key: `truck-${number}`, value: JSON.stringify({ list }), headers: { unit: "front" } };
}

Deno.test({
  name:
    "kafka, format: the key and a header say which device; a kill among messages loses and repeats nothing",
  ignore,
  async fn() {
    const [input, output, letters, state] = await Promise.all([
      newTopic(),
      newTopic(),
      newTopic(),
      newTopic({ "cleanup.policy": "compact" }),
    ]);
    await inDirectory(async (directory) => {
      const config = {
        deployment: input,
        kafka: { brokers: broker?.brokers ?? [] },
        source: { type: "kafka", topic: input, group: input, format: FORMAT },
        sink: { type: "kafka", topic: output },
        dead_letters: { type: "kafka", topic: letters },
        checkpoint: { path: `kafka:${state}`, interval: "100ms" },
      };
      const send = async (from: number, to: number): Promise<void> =>
        await otherProducer(kafka, null, async (producer) => {
          const messages = Array.from({ length: to - from }, (_, i) => message(from + i));
          await producer.send({ topic: input, messages });
        });
      await send(0, 50);
      const first = await KafkaRun.start(directory, config);
      await first.until(kafka, output, 100);
      await send(50, 400);
      await first.kill();
      const second = await KafkaRun.start(directory, config);
      await second.until(kafka, output, 800);
      await second.until(kafka, letters, 400);
      equal((await second.end()).startsWith("0:"), true);
      const triggers = (await valuesOf(kafka, output)).map((value) => JSON.parse(value));
      const expected = Array.from({ length: 400 }, (_, i) => [`truck-${i}/front a`, `truck-${i}/front b`])
        .flat();
      deepEqual(
        triggers.map(({ device_id, fence_id }) => `${device_id} ${fence_id}`).toSorted(),
        expected.toSorted(),
      );
      const refused = (await readAll(kafka, letters)).map((record) => {
        const letter = JSON.parse(decoder.decode(readDeadLetter(record)?.line ?? new Uint8Array(0)));
        return [letter.position.offset, letter.position.part.pointer, JSON.parse(letter.record).list.length];
      });
      deepEqual(refused, Array.from({ length: 400 }, (_, i) => [i, "/list/2", 1]));
    });
  },
});
