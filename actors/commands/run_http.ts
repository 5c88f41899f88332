/**
 * `fencepost serve`: requests in, as one split that is there for as long as the process.
 *
 * The server is up before the state is read, and says that it is not ready; what comes by then is refused, and sent again.
 *
 * @module
 */
import { SharedCount } from "../../lib/partition.ts";
import { HttpService } from "../adapters/http/http_service.ts";
import type { TopicSinks } from "../adapters/kafka/topic_sinks.ts";
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import { Intake } from "../intake.ts";
import { Onlookers } from "../onlookers.ts";
import type { SplitParts, SplitReport } from "../split_actor.ts";
import { SplitGroup } from "../split_group.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";
import { type CommonParts, goingOn, type Job } from "./job.ts";
import { localOutputs, refuseSameLocalFile, refuseStateInUse } from "./local_outputs.ts";
import { openTopics } from "./open_topics.ts";
import { openWebhooks } from "./open_webhooks.ts";
import { sumReports } from "./summary.ts";

/** The split's name in the state and the outbox. */
const SPLIT = "http";

/** See the module's header. */
export class HttpJob implements Job {
  readonly #parts: CommonParts;
  readonly #intake: Intake;
  readonly #splits: SplitGroup;
  readonly #onlookers = new Onlookers();
  readonly #stopped = Promise.withResolvers<void>();
  #webhooks: Webhooks | null = null;
  #topics: TopicSinks | null = null;

  constructor(parts: CommonParts) {
    const { config, clock, notice } = parts;
    this.#parts = parts;
    this.#intake = new Intake({
      name: "http",
      clock,
      targetUs: config.http.targetUs,
      capacity: config.partitions * config.mailbox.capacity,
      bytesMax: config.http.bodiesBytesMax,
      settleUs: config.time.settleUs,
      mapping: config.source.format.mapping,
    });
    this.#splits = new SplitGroup({
      clock,
      notice,
      parts: () => this.#splitParts(),
      mayPass: (error) => this.#topics?.mayPass(error) ?? false,
      // Nobody else can have it.
      confirm: () => Promise.resolve(),
      opened: (_name, opened, report) => {
        const line = goingOn(config.checkpoint.path, opened, report);
        if (line !== null) notice(line);
      },
    });
  }

  async run(): Promise<void> {
    await refuseSameLocalFile(this.#parts.config, []);
    this.#topics = await openTopics(this.#parts);
    const webhooks = await openWebhooks(this.#parts);
    this.#webhooks = webhooks;
    try {
      await this.#serve();
    } finally {
      await webhooks?.close();
    }
  }

  stop(): void {
    this.#stopped.resolve();
  }

  report(): SplitReport | null {
    return sumReports(this.#splits.reports());
  }

  webhooks(): readonly WebhookReport[] {
    return this.#webhooks?.reports() ?? [];
  }

  async #serve(): Promise<void> {
    const { config, notice } = this.#parts;
    const service = await HttpService.start({
      config,
      notice,
      intake: this.#intake,
      report: () => this.report(),
      reads: () => this.#splits.reads(),
      onlookers: this.#onlookers,
      splits: () => this.#splits.views(),
      looks: () => this.#splits.looks(),
      endpoints: () => this.webhooks(),
    });
    notice(`Listening on ${service.url}`);
    try {
      // Later it may be another start of this process that still has it; now it is another process.
      await refuseStateInUse(config.checkpoint.path, SPLIT);
      this.#splits.assigned(this.#intake, SPLIT);
      const failures = [this.#splits.failed, ...(this.#webhooks === null ? [] : [this.#webhooks.failed])];
      await Promise.race([...failures, this.#stopped.promise]);
      service.stopTaking();
      await Promise.race([...failures, this.#splits.revoked(this.#intake)]);
    } finally {
      this.#intake.close();
      await service.stop();
    }
  }

  #splitParts(): SplitParts {
    const { config, notice } = this.#parts;
    return {
      ...this.#parts,
      ...localOutputs(config, { split: SPLIT, webhooks: this.#webhooks, topics: this.#topics, notice }),
      source: this.#intake,
      pairBound: new SharedCount(config.pairs.capacity),
      observers: this.#onlookers.observers(),
    };
  }
}
