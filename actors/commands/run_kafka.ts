/**
 * A run over a topic: as many splits as the group gives to this process, for as long as it gives them.
 *
 * @module
 */
import { assert } from "../../lib/assert.ts";
import { SharedCount } from "../../lib/partition.ts";
import { createKafka } from "../adapters/kafka/kafka_client.ts";
import { isMissing } from "../adapters/kafka/kafka_failure.ts";
import { KafkaGroup } from "../adapters/kafka/kafka_group.ts";
import type { KafkaPartitionSource } from "../adapters/kafka/kafka_partition_source.ts";
import { PartitionPorts } from "../adapters/kafka/partition_ports.ts";
import type { Onlookers } from "../onlookers.ts";
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import { type Source, UnavailableError } from "../ports.ts";
import type { SplitParts, SplitReport } from "../split_actor.ts";
import { SplitGroup } from "../split_group.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";
import { type CommonParts, describeState, type Job } from "./job.ts";
import { observedBy, onlookersOf, whileShown } from "./shown.ts";
import { openWebhooks } from "./open_webhooks.ts";
import { sumReports } from "./summary.ts";

const FIRST_PAUSE_US = 500_000;
const PAUSE_US_MAX = 15_000_000;

/** See the module's header. */
export class KafkaJob implements Job {
  readonly #parts: CommonParts;
  readonly #pairs: SharedCount;
  readonly #onlookers: Onlookers | null;
  readonly #stopping = new AbortController();
  #splits: SplitGroup | null = null;
  #hasJoined = false;
  #webhooks: Webhooks | null = null;

  constructor(parts: CommonParts) {
    const { config } = parts;
    // A partition of the topic is one of ours as well: the group shares them out, not we.
    this.#parts = { ...parts, config: { ...config, partitions: 1 } };
    this.#pairs = new SharedCount(config.pairs.capacity);
    this.#onlookers = onlookersOf(config);
  }

  async run(): Promise<void> {
    const shown = {
      report: () => this.report(),
      splits: () => this.#splits?.views() ?? [],
      reads: () => this.#splits?.reads() ?? [],
      endpoints: () => this.webhooks(),
      looks: () => this.#splits?.looks() ?? [],
      onlookers: this.#onlookers,
      standsBy: () => this.#hasJoined,
    };
    await whileShown(this.#parts, shown, () => this.#run());
  }

  async #run(): Promise<void> {
    const { config: { kafka: settings }, notice } = this.#parts;
    assert(settings !== null, "a topic comes with a way to it");
    const kafka = await createKafka(settings, { notice });
    const webhooks = await openWebhooks(this.#parts);
    this.#webhooks = webhooks;
    try {
      await this.#work(kafka, new PartitionPorts(kafka, this.#parts.config, webhooks));
    } finally {
      await webhooks?.close();
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  report(): SplitReport | null {
    return sumReports(this.#splits?.reports() ?? []);
  }

  webhooks(): readonly WebhookReport[] {
    return this.#webhooks?.reports() ?? [];
  }

  async #work(kafka: Awaited<ReturnType<typeof createKafka>>, ports: PartitionPorts): Promise<void> {
    const { config: { source, checkpoint }, clock, notice } = this.#parts;
    const { topic, group, sessionTimeoutUs } = source;
    await this.#reach(ports);
    if (this.#stopping.signal.aborted) return;
    await Promise.race([ports.warn(notice), this.#stopped()]);
    if (!ports.isShared) {
      notice(
        `The state is in ${checkpoint.path}, on this host alone: start no other host in group ${group}, or give ` +
          `"kafka:TOPIC" or the address of a Deno KV server as checkpoint.path, so that the state follows its partition`,
      );
    }
    const splits = new SplitGroup({
      clock,
      notice,
      parts: (source) => this.#splitParts(source, ports),
      mayPass: isMissing,
      confirm: (source) => (source as KafkaPartitionSource).confirm(),
      opened: (name, opened, report) => {
        notice(`${name}: ${opened.resumed ? `going on (${describeState(report, opened)})` : "beginning"}`);
      },
    });
    this.#splits = splits;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    const members = new KafkaGroup({
      kafka,
      topic,
      withContexts: source.format.mapping?.needsContext ?? false,
      group,
      limits: { sessionTimeoutMs: sessionTimeoutUs / 1000 },
      notice,
      assigned: (source) => splits.assigned(source, this.#nameOf(source)),
      revoked: (_partition, source) => splits.revoked(source),
      failed: failed.reject,
    });
    try {
      const stopped = members.start().then(() => {
        this.#hasJoined = true;
        return this.#stopped();
      });
      const failures = [
        splits.failed,
        failed.promise,
        ...(this.#webhooks === null ? [] : [this.#webhooks.failed]),
      ];
      await Promise.race([...failures, stopped, this.#stopped()]);
    } finally {
      await members.stop();
    }
  }

  #stopped(): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Looks at the topics, for as long as it takes to reach a broker. */
  async #reach(ports: PartitionPorts): Promise<void> {
    const { clock, notice } = this.#parts;
    const { signal } = this.#stopping;
    for (let pauseUs = FIRST_PAUSE_US; !signal.aborted; pauseUs = Math.min(2 * pauseUs, PAUSE_US_MAX)) {
      try {
        // A broker that doesn't answer is not waited for: kafkajs would for ten seconds.
        await Promise.race([ports.check(), this.#stopped()]);
        return;
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        notice(`${error.message}; trying again in ${pauseUs / 1e6} s`);
        await clock.delay(pauseUs, signal).catch(() => {});
      }
    }
  }

  #splitParts(source: Source, ports: PartitionPorts): SplitParts {
    const { partition } = source as KafkaPartitionSource;
    const name = this.#nameOf(source as KafkaPartitionSource);
    const notice = (message: string): void => this.#parts.notice(`${name}: ${message}`);
    return {
      ...this.#parts,
      source,
      sink: ports.sink(partition, notice),
      deadLetters: ports.deadLetters(partition, notice),
      store: ports.store(partition, notice),
      pairBound: new SharedCount(this.#pairs.capacity, this.#pairs),
      ...observedBy(this.#onlookers),
      notice,
    };
  }

  #nameOf({ name, partition }: KafkaPartitionSource): string {
    return `${name}[${partition}]`;
  }
}
