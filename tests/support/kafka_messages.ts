/**
 * What tests of the Kafka adapters write and read back.
 *
 * @module
 */
import { Kafka, logLevel, Partitioners } from "kafkajs";
import type { WriteMessage } from "../../actors/adapters/kafka/fenced_writer.ts";
import { PartitionReader, type ReadMessage } from "../../actors/adapters/kafka/partition_reader.ts";
import type { LossySockets } from "./lossy_sockets.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A client without a log, and with few tries, so that what fails does so at once. */
export function clientOf(brokers: readonly string[], sockets?: LossySockets): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId: "fencepost-test",
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 20, retries: 4, maxRetryTime: 100 },
    ...(sockets === undefined ? {} : { socketFactory: sockets.factory }),
  });
}

/** Records with these values. */
export function messagesOf(topic: string, values: readonly string[], partition = 0): WriteMessage[] {
  return values.map((value) => ({ topic, partition, key: null, value: encoder.encode(value) }));
}

/** All committed records of a partition, from an offset on. */
export async function readAll(
  kafka: Kafka,
  topic: string,
  { partition = 0, from = 0 }: { partition?: number; from?: number } = {},
): Promise<ReadMessage[]> {
  const reader = await PartitionReader.connect(kafka, topic, partition);
  try {
    const messages: ReadMessage[] = [];
    const end = await reader.settledEnd(() => {});
    for await (const piece of reader.read(from, end)) messages.push(...piece);
    return messages;
  } finally {
    await reader.close();
  }
}

/** The values of all committed records of a partition. */
export async function valuesOf(
  kafka: Kafka,
  topic: string,
  options: { partition?: number; from?: number } = {},
): Promise<string[]> {
  return (await readAll(kafka, topic, options)).map(({ value }) => decoder.decode(value ?? undefined));
}

/** A producer that is none of ours, transactional where it has an id. */
export async function otherProducer<T>(
  kafka: Kafka,
  transactionalId: string | null,
  use: (producer: ReturnType<Kafka["producer"]>) => Promise<T>,
): Promise<T> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { initialRetryTime: 5, retries: 100, maxRetryTime: 200 },
    ...(transactionalId === null ? {} : { transactionalId }),
  });
  await producer.connect();
  try {
    return await use(producer);
  } finally {
    await producer.disconnect();
  }
}

/** Does what retention does: the records before an offset are gone. */
export async function deleteBefore(kafka: Kafka, topic: string, offset: number): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    // kafkajs only deletes from a topic that it has looked at.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  } finally {
    await admin.disconnect();
  }
}
