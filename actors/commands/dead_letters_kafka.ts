/**
 * What `dead-letters` needs of Kafka. Loaded where it is used: see run.ts.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { assert } from "../../lib/assert.ts";
import type { PlaceBy } from "../../lib/replay_place.ts";
import { openDeadLetterTopic } from "../adapters/kafka/dead_letter_topic.ts";
import { createKafka } from "../adapters/kafka/kafka_client.ts";
import { KafkaReplayTarget } from "../adapters/kafka/kafka_replay_target.ts";
import type { DeadLetterLog } from "../dead_letter_log.ts";
import type { ReplayTarget } from "../replay_target.ts";

/** What it needs of the process it runs in. */
export interface KafkaEnvironment {
  /** Writes to stderr. */
  readonly say: (text: string) => void;
  /** The wall clock, µs since the epoch. */
  readonly wallUs: number;
}

/**
 * The topic that the configuration has the dead letters in.
 *
 * @throws {KafkaRefusedError} where it is not there, or may not be read
 * @throws {UnavailableError} where no broker answers
 */
export async function openConfiguredTopic(
  config: Pick<Config, "kafka" | "deadLetters">,
  { say }: KafkaEnvironment,
): Promise<readonly DeadLetterLog[]> {
  return await openDeadLetterTopic(await kafkaOf(config, say), config.deadLetters.topic);
}

/**
 * The source's topic, for its records to be sent to again.
 *
 * @throws {KafkaRefusedError} where it is not there, or may not be seen
 * @throws {UnavailableError} where no broker answers
 */
export async function configuredTopicTarget(
  config: Pick<Config, "kafka" | "source">,
  placeBy: PlaceBy,
  { say, wallUs }: KafkaEnvironment,
): Promise<ReplayTarget> {
  const kafka = await kafkaOf(config, say);
  const { topic, format } = config.source;
  return await KafkaReplayTarget.connect({ kafka, topic, placeBy, format, wallUs });
}

function kafkaOf(
  { kafka }: Pick<Config, "kafka">,
  say: KafkaEnvironment["say"],
): ReturnType<typeof createKafka> {
  assert(kafka !== null, "a topic comes with a way to it");
  return createKafka(kafka, { notice: (message) => say(`fencepost: ${message}\n`) });
}
