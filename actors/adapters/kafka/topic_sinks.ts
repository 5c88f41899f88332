/**
 * The topics that triggers go to from a source that is none.
 *
 * A transactional id is `deployment/topic-partition/triggers`. The second slash keeps it apart from those of a deployment
 * that reads this topic (partition_ports.ts): one may follow the other, with the same name.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { assert } from "../../../lib/assert.ts";
import type { Config, SinkConfig } from "../../../lib/config.ts";
import type { Sink } from "../../ports.ts";
import { createKafka } from "./kafka_client.ts";
import { isMissing } from "./kafka_failure.ts";
import { TopicSink } from "./topic_sink.ts";

/** See the module's header. */
export class TopicSinks {
  readonly #kafka: Kafka;
  readonly #deployment: string;

  private constructor(kafka: Kafka, deployment: string) {
    this.#kafka = kafka;
    this.#deployment = deployment;
  }

  /**
   * Makes a client. Connects to nothing yet.
   *
   * @throws {KafkaRefusedError} where a password or certificate can't be read
   */
  static async create(
    { kafka, deployment }: Config,
    options: { readonly notice: (message: string) => void },
  ): Promise<TopicSinks> {
    assert(kafka !== null, "a topic comes with a way to it");
    return new TopicSinks(await createKafka(kafka, options), deployment);
  }

  /** Makes a topic's sink, not yet open. */
  sink({ topic, cloudevents }: SinkConfig, notice: (message: string) => void): Sink {
    return new TopicSink({
      kafka: this.#kafka,
      topic,
      transactionalId: (partition) => `${this.#deployment}/${topic}-${partition}/triggers`,
      cloudevents: cloudevents ? { source: `/fencepost/${this.#deployment}` } : false,
      notice,
    });
  }

  /** Whether a refusal may be an outage in disguise. */
  mayPass(error: unknown): boolean {
    return isMissing(error);
  }
}
