/**
 * A run over a file or a pipe: one split, its outputs and its state on this host.
 *
 * @module
 */
import { AssertionFailed } from "../../lib/assert.ts";
import { sinkKey } from "../../lib/config.ts";
import { SharedCount } from "../../lib/partition.ts";
import { refuseSameFile } from "../adapters/distinct_files.ts";
import { KvStore, stateFiles } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { NdjsonSource, refuseMissingFile } from "../adapters/ndjson_source.ts";
import { makeOutputs } from "../adapters/output_list.ts";
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import type { Opened, SplitReport } from "../split_actor.ts";
import { type SplitPorts, System } from "../system.ts";
import { SinkList } from "../sink_list.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";
import { openWebhooks } from "./open_webhooks.ts";
import { type CommonParts, describeState, type Job } from "./job.ts";

/** The split's name in the state and the outbox. */
const SPLIT = "ndjson";

/** See the module's header. */
export class FileJob implements Job {
  readonly #parts: CommonParts;
  readonly #system: System;
  // A restart from the checkpoint goes on; only the first start was told to read from the beginning.
  #fromStart: boolean;
  readonly #stopping = new AbortController();
  #webhooks: Webhooks | null = null;

  constructor(parts: CommonParts) {
    const { config, clock, notice } = parts;
    this.#parts = parts;
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
        return { ...parts, ...ports, pairBound: new SharedCount(config.pairs.capacity) };
      },
    });
  }

  async run(): Promise<void> {
    const { source, sinks, deadLetters, checkpoint } = this.#parts.config;
    await refuseSameFile([
      ...stateFiles(checkpoint.path).map((path) => ({ key: "checkpoint.path", path })),
      { key: "source.path", path: source.path, descriptor: 0 },
      ...sinks.flatMap(({ type, path }, i) =>
        type === "ndjson" ? [{ key: `${sinkKey(sinks, i)}.path`, path, descriptor: 1 as const }] : []
      ),
      { key: "dead_letters.path", path: deadLetters.path },
    ]);
    // The start after a mistyped one would go on from the state and the output that this one had made.
    await refuseMissingFile(source.path);
    this.#webhooks = await openWebhooks(this.#parts);
    try {
      const ended = await Promise.race([this.#system.run(), this.#webhooks?.failed ?? never()]);
      // What is at its end has nothing more to do than to deliver what it told.
      if (ended) await this.#webhooks?.tried(this.#stopping.signal);
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
    const { config: { source, sinks, deadLetters, checkpoint }, notice: onNotice } = this.#parts;
    const file = (path: string): NdjsonSink => new NdjsonSink({ path, onNotice });
    const webhooks = this.#webhooks;
    const letters = file(deadLetters.path);
    return {
      source: new NdjsonSource({ ...source, fromStart: this.#fromStart, onNotice }),
      sink: makeOutputs(sinks, {
        file,
        topic: () => assertNever("a topic goes with a source that is one"),
        outbox: () => webhooks?.sink(SPLIT, onNotice) ?? assertNever("webhooks are opened before a split"),
      }, onNotice),
      deadLetters: webhooks === null ? letters : webhooks.deadLetters(letters, SPLIT),
      store: new KvStore({ directory: checkpoint.path, split: SPLIT }),
    };
  }

  #sayOpened(opened: Opened): void {
    const report = this.report();
    if (!opened.resumed || report === null) return;
    const { config, notice } = this.#parts;
    notice(
      `Going on from the state in ${config.checkpoint.path} (${describeState(report, opened)}). ` +
        `To begin afresh, use another --state directory or delete this one`,
    );
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

function assertNever(message: string): never {
  throw new AssertionFailed(`Assertion failed: ${message}`);
}

/** Where nothing can fail, nothing is waited for. */
function never(): Promise<never> {
  return new Promise(() => {});
}
