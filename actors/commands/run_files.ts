/**
 * A run over a file or a pipe: one split, its outputs and its state on this host.
 *
 * @module
 */
import { SharedCount } from "../../lib/partition.ts";
import { NdjsonSource, refuseMissingFile } from "../adapters/ndjson_source.ts";
import type { TopicSinks } from "../adapters/kafka/topic_sinks.ts";
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import type { Onlookers } from "../onlookers.ts";
import { SinkList } from "../sink_list.ts";
import type { Opened, SplitReport } from "../split_actor.ts";
import { type SplitPorts, System } from "../system.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";
import { type CommonParts, goingOn, type Job } from "./job.ts";
import { localOutputs, refuseSameLocalFile } from "./local_outputs.ts";
import { openTopics } from "./open_topics.ts";
import { openWebhooks } from "./open_webhooks.ts";
import { observedBy, onlookersOf, whileShown } from "./shown.ts";

/** The split's name in the state and the outbox. */
const SPLIT = "ndjson";

/** See the module's header. */
export class FileJob implements Job {
  readonly #parts: CommonParts;
  readonly #system: System;
  readonly #onlookers: Onlookers | null;
  // A restart from the checkpoint goes on; only the first start was told to read from the beginning.
  #fromStart: boolean;
  readonly #stopping = new AbortController();
  #webhooks: Webhooks | null = null;
  #topics: TopicSinks | null = null;

  constructor(parts: CommonParts) {
    const { config, clock, notice } = parts;
    this.#parts = parts;
    this.#onlookers = onlookersOf(config);
    this.#fromStart = config.source.fromStart;
    this.#system = new System({
      clock,
      notice,
      opened: (opened) => {
        this.#fromStart = false;
        this.#sayOpened(opened);
      },
      ports: () => this.#ports(),
      split: (ports) => {
        sayWeaker(ports, notice);
        const pairBound = new SharedCount(config.pairs.capacity);
        return { ...parts, ...ports, pairBound, ...observedBy(this.#onlookers) };
      },
    });
  }

  async run(): Promise<void> {
    const { source } = this.#parts.config;
    await refuseSameLocalFile(this.#parts.config, [{ key: "source.path", path: source.path, descriptor: 0 }]);
    // The start after a mistyped one would go on from the state and the output that this one had made.
    await refuseMissingFile(source.path);
    this.#topics = await openTopics(this.#parts);
    this.#webhooks = await openWebhooks(this.#parts);
    const shown = {
      report: () => this.report(),
      splits: () => this.#system.views(),
      reads: () => this.#system.reads(),
      looks: () => this.#system.looks(source.path),
      endpoints: () => this.webhooks(),
      onlookers: this.#onlookers,
    };
    try {
      await whileShown(this.#parts, shown, async () => {
        const ended = await Promise.race([this.#system.run(), this.#webhooks?.failed ?? never()]);
        // What is at its end has nothing more to do than to deliver what it told.
        if (ended) await this.#webhooks?.tried(this.#stopping.signal);
      });
    } finally {
      await this.#webhooks?.close();
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#system.stop();
  }

  webhooks(): readonly WebhookReport[] {
    return this.#webhooks?.reports() ?? [];
  }

  report(): SplitReport | null {
    return this.#system.report();
  }

  #ports(): SplitPorts {
    const { config, notice } = this.#parts;
    return {
      source: new NdjsonSource({ ...config.source, fromStart: this.#fromStart, onNotice: notice }),
      ...localOutputs(config, { split: SPLIT, webhooks: this.#webhooks, topics: this.#topics, notice }),
    };
  }

  #sayOpened(opened: Opened): void {
    const report = this.report();
    if (report === null) return;
    const { config, notice } = this.#parts;
    const line = goingOn(config.checkpoint.path, opened, report);
    if (line !== null) notice(line);
  }
}

function sayWeaker({ source, sink }: SplitPorts, notice: (message: string) => void): void {
  const input = source.name === "-" ? "stdin" : source.name;
  if (!source.rereadable) {
    notice(
      `The input ${input} is a pipe and can't be read again: what was read since the last checkpoint is gone if ` +
        `this process is killed`,
    );
  }
  for (const name of sink instanceof SinkList ? sink.unreadable : []) {
    notice(
      `The output ${
        name === "-" ? "stdout" : name
      } can't be read back: after a crash, triggers since the last checkpoint come again, ` +
        `with the same ids (at least once)`,
    );
  }
}

/** Where nothing can fail, nothing is waited for. */
function never(): Promise<never> {
  return new Promise(() => {});
}
