/**
 * The topics of a run whose source is none, if it has any. Loaded where they are used: kafkajs costs a start half a second,
 * and the right to read the environment.
 *
 * @module
 */
import type { TopicSinks } from "../adapters/kafka/topic_sinks.ts";
import type { CommonParts } from "./job.ts";

/** Null where the configuration has none. */
export async function openTopics(
  { config, notice }: Pick<CommonParts, "config" | "notice">,
): Promise<TopicSinks | null> {
  if (!config.sinks.some(({ type }) => type === "kafka")) return null;
  const { TopicSinks } = await import("../adapters/kafka/topic_sinks.ts");
  return await TopicSinks.create(config, { notice });
}
