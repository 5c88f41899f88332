/**
 * The topic that checkpoints are kept in: made where it is missing, and refused where it would lose them.
 *
 * A checkpoint's chunks are written once and named by many manifests after. A topic that forgets by age or size (the
 * usual `cleanup.policy`) would take the oldest of them away without a word, a week later; so only `compact` will do.
 *
 * What we make has settings of its own, since a broker's defaults are for topics that are read from their end, and this
 * one is read from its start, by a process that others wait for:
 *
 * | setting | | why |
 * |---|---|---|
 * | `segment.bytes`, `segment.ms` | 32 MiB, 1 min | the segment that is written to is never compacted, so it bounds what is read in vain |
 * | `min.cleanable.dirty.ratio` | 0.1 | compacted when a tenth is new, not half |
 * | `delete.retention.ms` | 10 min | tombstones: some a checkpoint, 170,000 a day. A reader that misses one only keeps a chunk that no manifest names |
 *
 * The broker's own `log.cleaner.enable` must be on, as it is by default.
 *
 * @module
 */
import { type Admin, ConfigResourceTypes, type Kafka } from "kafkajs";
import { setTimeout as delay } from "node:timers/promises";
import { UnavailableError } from "../../ports.ts";
import { KafkaRefusedError } from "./kafka_client.ts";
import { sortKafkaFailure } from "./kafka_failure.ts";

const SETTINGS: Readonly<Record<string, string>> = {
  "cleanup.policy": "compact",
  "segment.bytes": String(32 << 20),
  "segment.ms": "60000",
  "min.cleanable.dirty.ratio": "0.1",
  "delete.retention.ms": "600000",
};

/** How often, and how far apart in ms, it looks whether a topic that it made is there. */
const LOOKS_MAX = 200;
const LOOK_PAUSE_MS = 50;

/** Which topic, and what it must be. */
export interface StateTopicOptions {
  readonly topic: string;
  /** At least as many as the source has: partition p holds the state of split p. Null where only the rest is to be checked. */
  readonly partitions: number | null;
  readonly notice: (message: string) => void;
}

/**
 * Makes sure that a topic can hold checkpoints. Several processes may do so at once.
 *
 * @throws {KafkaRefusedError} where it can't, or it is missing and can't be made; says how to make it
 * @throws {UnavailableError} where the broker doesn't answer
 */
export async function ensureStateTopic(kafka: Kafka, options: StateTopicOptions): Promise<void> {
  const { topic, partitions } = options;
  const admin = kafka.admin();
  try {
    await admin.connect();
    const count = await countPartitions(admin, topic) ?? await makeTopic(admin, options);
    // More do no harm: where a source is to get more partitions, its state has to have them first.
    if (partitions !== null && count < partitions) {
      throw new KafkaRefusedError(
        `Cannot keep the state in topic ${topic}: it has ${count} partitions and the source ${partitions}, and each of ` +
          `the source's needs the one of its number. Add them: kafka-topics.sh --bootstrap-server … --alter --topic ` +
          `${topic} --partitions ${partitions}`,
      );
    }
    const policy = await cleanupPolicy(admin, topic);
    if (policy === "compact") return;
    throw new KafkaRefusedError(
      `Cannot keep the state in topic ${topic}: its cleanup.policy is ${policy}, so the brokers would delete what is ` +
        `still needed. Set it to compact: kafka-configs.sh --bootstrap-server … --entity-type topics --entity-name ` +
        `${topic} --alter --add-config cleanup.policy=compact`,
    );
  } catch (error) {
    throw sortKafkaFailure(error, `keep the state in topic ${topic}`);
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

/** Null where there is no such topic. */
async function countPartitions(admin: Admin, topic: string): Promise<number | null> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions ?? [];
    return partitions.length > 0 && partitions.every(({ leader }) => leader >= 0) ? partitions.length : null;
  } catch (error) {
    if (typesOf(error).includes("UNKNOWN_TOPIC_OR_PARTITION")) return null;
    throw error;
  }
}

async function makeTopic(admin: Admin, { topic, partitions, notice }: StateTopicOptions): Promise<number> {
  const missing = `Cannot keep the state in topic ${topic}: there is no such topic`;
  if (partitions === null) throw new KafkaRefusedError(`${missing}. ${howToMake(topic, null)}`);
  const configEntries = Object.entries(SETTINGS).map(([name, value]) => ({ name, value }));
  let made = false;
  try {
    // Waiting for its leaders can fail although it was made, so that is looked at here.
    made = await admin.createTopics({
      waitForLeaders: false,
      topics: [{ topic, numPartitions: partitions, configEntries }],
    });
  } catch (cause) {
    // Another process may be making it, or the metadata that said it was missing was old.
    const [type] = typesOf(cause);
    if (type === undefined) throw cause;
    if (type !== "TOPIC_ALREADY_EXISTS") {
      const right = type.endsWith("AUTHORIZATION_FAILED") ? "Grant CREATE on it, or make it yourself. " : "";
      throw new KafkaRefusedError(
        `${missing}, and it can't be made (${type}). ${right}${howToMake(topic, partitions)}`,
        { cause },
      );
    }
  }
  for (let look = 0; look < LOOKS_MAX; look++) {
    const count = await countPartitions(admin, topic);
    if (count !== null) {
      if (made) notice(`Made topic ${topic} for the state: ${count} partitions, compacted`);
      return count;
    }
    await delay(LOOK_PAUSE_MS);
  }
  throw new UnavailableError(
    `Cannot keep the state in topic ${topic}: it was made, and no broker leads it yet`,
  );
}

async function cleanupPolicy(admin: Admin, topic: string): Promise<string> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: ["cleanup.policy"] };
  try {
    const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    const entry = resources[0]?.configEntries.find(({ configName }) => configName === "cleanup.policy");
    return entry?.configValue ?? "unknown";
  } catch (cause) {
    if (!typesOf(cause).includes("TOPIC_AUTHORIZATION_FAILED")) throw cause;
    throw new KafkaRefusedError(
      `Cannot keep the state in topic ${topic}: the user may not see whether it is compacted: grant DESCRIBE_CONFIGS on it`,
      { cause },
    );
  }
}

function howToMake(topic: string, partitions: number | null): string {
  const settings = Object.entries(SETTINGS).map(([name, value]) => `--config ${name}=${value}`).join(" ");
  return `Make it: kafka-topics.sh --bootstrap-server … --create --topic ${topic} ` +
    `--partitions ${partitions ?? "(as many as the source)"} ${settings}`;
}

/** What the brokers called it; kafkajs wraps some errors once more, and those of `createTopics` in an aggregate. */
function typesOf(error: unknown): string[] {
  const types: string[] = [];
  const pending: unknown[] = [error];
  for (let i = 0; i < pending.length; i++) {
    const { type, cause, errors } = (pending[i] ?? {}) as {
      type?: unknown;
      cause?: unknown;
      errors?: unknown;
    };
    if (typeof type === "string") types.push(type);
    if (cause !== undefined) pending.push(cause);
    if (Array.isArray(errors)) pending.push(...errors as unknown[]);
  }
  return types;
}
