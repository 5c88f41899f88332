/**
 * `fencepost serve`: requests in, as one split that is there for as long as the process.
 *
 * The server is up before the state is read, and says that it is not ready; what comes by then is refused, and sent again.
 *
 * @module
 */
import { SharedCount } from "../../lib/partition.ts";
import { refuseSameFile } from "../adapters/distinct_files.ts";
import { HttpService } from "../adapters/http/http_service.ts";
import { KvStore, stateFiles } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { Intake } from "../intake.ts";
import { Onlookers } from "../onlookers.ts";
import type { SplitParts, SplitReport } from "../split_actor.ts";
import { SplitGroup } from "../split_group.ts";
import { type CommonParts, describeState, type Job } from "./job.ts";
import { sumReports } from "./summary.ts";

/** See the module's header. */
export class HttpJob implements Job {
  readonly #parts: CommonParts;
  readonly #intake: Intake;
  readonly #splits: SplitGroup;
  readonly #onlookers = new Onlookers();
  readonly #stopped = Promise.withResolvers<void>();

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
    });
    this.#splits = new SplitGroup({
      clock,
      notice,
      parts: () => this.#splitParts(),
      mayPass: () => false,
      // Nobody else can have it.
      confirm: () => Promise.resolve(),
      opened: (_name, opened, report) => {
        if (!opened.resumed) return;
        notice(
          `Going on from the state in ${config.checkpoint.path} (${describeState(report, opened)}). ` +
            "To begin afresh, use another --state directory or delete this one",
        );
      },
    });
  }

  async run(): Promise<void> {
    const { config, notice } = this.#parts;
    const { sink, deadLetters, checkpoint } = config;
    await refuseSameFile([
      ...stateFiles(checkpoint.path).map((path) => ({ key: "checkpoint.path", path })),
      { key: "sink.path", path: sink.path, descriptor: 1 },
      { key: "dead_letters.path", path: deadLetters.path },
    ]);
    const service = await HttpService.start({
      config,
      notice,
      intake: this.#intake,
      report: () => this.report(),
      reads: () => this.#splits.reads(),
      onlookers: this.#onlookers,
      splits: () => this.#splits.views(),
      looks: () => this.#splits.looks(),
    });
    notice(`Listening on ${service.url}`);
    try {
      this.#splits.assigned(this.#intake, "http");
      await Promise.race([this.#splits.failed, this.#stopped.promise]);
      service.stopTaking();
      await Promise.race([this.#splits.failed, this.#splits.revoked(this.#intake)]);
    } finally {
      this.#intake.close();
      await service.stop();
    }
  }

  stop(): void {
    this.#stopped.resolve();
  }

  report(): SplitReport | null {
    return sumReports(this.#splits.reports());
  }

  #splitParts(): SplitParts {
    const { config, notice } = this.#parts;
    return {
      ...this.#parts,
      source: this.#intake,
      sink: new NdjsonSink({ path: config.sink.path, onNotice: notice }),
      deadLetters: new NdjsonSink({ path: config.deadLetters.path, onNotice: notice }),
      store: new KvStore({ directory: config.checkpoint.path, split: "http" }),
      pairBound: new SharedCount(config.pairs.capacity),
      observers: this.#onlookers.observers(),
    };
  }
}
