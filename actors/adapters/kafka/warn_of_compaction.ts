/**
 * Says of a topic of triggers that it is compacted, if it tells: that needs a right of its own.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { TopicLog } from "./topic_log.ts";

/** See the module's header. Never rejects. */
export async function warnOfCompaction(
  kafka: Kafka,
  { topic, notice }: { readonly topic: string; readonly notice: (message: string) => void },
): Promise<void> {
  const log = new TopicLog(kafka, topic);
  if (await log.isCompacted() === true) {
    notice(
      `Topic ${topic} is compacted (cleanup.policy), and the key of a trigger is its device: the brokers will keep ` +
        `the last trigger of each device, and lose the others, also before they are read`,
    );
  }
  log.close();
}
