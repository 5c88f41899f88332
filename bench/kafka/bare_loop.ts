/**
 * What a program with kafkajs and nothing else would do: read a topic in a group, parse each record, write what it tells
 * to another topic, with the key, the header and the sizes of Fencepost's triggers. It knows no duplicates, no dwells, no
 * state, and no transactions.
 *
 * `--extra 0.3` writes 0.3 records more for each that it reads, since Fencepost's DWELLs are more as well. It runs until
 * it is killed.
 *
 * @module
 */
import { Kafka, logLevel } from "kafkajs";
import { KAFKA_GROUP_LIMITS } from "../../actors/adapters/kafka/kafka_group.ts";

const SEND_RECORDS = 500;
const MIB = 1 << 20;

interface Options {
  readonly brokers: readonly string[];
  readonly input: string;
  readonly output: string;
  readonly extra: number;
}

async function loop({ brokers, input, output, extra }: Options): Promise<void> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer({
    idempotent: true,
    allowAutoTopicCreation: false,
    createPartitioner: () => ({ message }) => message.partition as number,
  });
  const consumer = kafka.consumer({
    groupId: output,
    maxWaitTimeInMs: KAFKA_GROUP_LIMITS.maxWaitMs,
    maxBytesPerPartition: MIB,
    maxBytes: 4 * MIB,
  });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topics: [input], fromBeginning: true });
  let owed = 0;
  await consumer.run({
    eachBatch: async ({ batch: { messages, partition }, heartbeat }) => {
      let sends: { key: string; value: string; partition: number; headers: { id: string } }[] = [];
      for (const [i, { value, offset }] of messages.entries()) {
        const { device_id, fence_id, kind, event_time } = JSON.parse(String(value));
        for (owed += 1 + extra; owed >= 1; owed--) {
          const id = `${offset}-${partition}`.padStart(32, "0");
          const trigger = JSON.stringify({ id, kind, device_id, fence_id, event_time });
          sends.push({ key: device_id, value: trigger, partition, headers: { id } });
        }
        if (sends.length < SEND_RECORDS && i < messages.length - 1) continue;
        await producer.send({ topic: output, messages: sends, acks: -1 });
        sends = [];
        await heartbeat();
      }
    },
  });
}

const [brokers = "", input = "", output = "", extra = ""] = Deno.args;
await loop({ brokers: brokers.split(","), input, output, extra: Number(extra) });
