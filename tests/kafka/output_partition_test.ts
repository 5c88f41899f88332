/**
 * An output partition that others write to as well.
 *
 * @module
 */
import { deepStrictEqual, ok } from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { OutputPartition } from "../../actors/adapters/kafka/output_partition.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer } from "../support/kafka_messages.ts";

const broker = await startKafka();
afterAll(async () => await broker?.stop());

Deno.test({
  name: "OutputPartition: what others write in a long quiet of ours is not read back, and all of ours is",
  ignore: broker === null,
  async fn() {
    if (broker === null) return;
    const kafka = clientOf(broker.brokers);
    const topic = await broker.topic(1);
    const opened = (): OutputPartition =>
      new OutputPartition({
        ...{ kafka, topic, partition: () => 0, content: "dead letters", notice: () => {}, lookMs: 0 },
        transactionalId: `of-${topic}`,
      });
    const write = (output: OutputPartition, value: string): Promise<void> =>
      output.write([{ key: null, value: new TextEncoder().encode(value) }], null);
    const offsetOf = (output: OutputPartition): number => (output.position() as { offset: number }).offset;
    const first = opened();
    await first.open(null);
    await write(first, "ours, before");
    const before = offsetOf(first);
    const messages = Array.from({ length: 100 }, (_, i) => ({ value: `another's ${i}` }));
    await otherProducer(kafka, null, async (producer) => void await producer.send({ topic, messages }));
    for (let looks = 0; offsetOf(first) < before + messages.length; looks++) {
      ok(looks < 1_000, `the position stays at ${offsetOf(first)}`);
      await delay(10);
    }
    const position = first.position();
    await write(first, "ours, after");
    await first.close();
    const second = opened();
    await second.open(position);
    const values: string[] = [];
    for await (const piece of second.readBack()) {
      for (const { value } of piece) values.push(new TextDecoder().decode(value ?? undefined));
    }
    await second.close();
    deepStrictEqual(values, ["ours, after"]);
  },
});
