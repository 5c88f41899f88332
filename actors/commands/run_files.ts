/**
 * A run over a file or a pipe: one split, its outputs and its state on this host.
 *
 * @module
 */
import { SharedCount } from "../../lib/partition.ts";
import { refuseSameFile } from "../adapters/distinct_files.ts";
import { KvStore, stateFiles } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { NdjsonSource, refuseMissingFile } from "../adapters/ndjson_source.ts";
import type { Onlookers } from "../onlookers.ts";
import type { Opened, SplitReport } from "../split_actor.ts";
import { type SplitPorts, System } from "../system.ts";
import { type CommonParts, describeState, type Job } from "./job.ts";
import { observedBy, onlookersOf, whileShown } from "./shown.ts";

/** See the module's header. */
export class FileJob implements Job {
  readonly #parts: CommonParts;
  readonly #system: System;
  readonly #onlookers: Onlookers | null;
  // A restart from the checkpoint goes on; only the first start was told to read from the beginning.
  #fromStart: boolean;

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
    const { source, sink, deadLetters, checkpoint } = this.#parts.config;
    await refuseSameFile([
      ...stateFiles(checkpoint.path).map((path) => ({ key: "checkpoint.path", path })),
      { key: "source.path", path: source.path, descriptor: 0 },
      { key: "sink.path", path: sink.path, descriptor: 1 },
      { key: "dead_letters.path", path: deadLetters.path },
    ]);
    // The start after a mistyped one would go on from the state and the output that this one had made.
    await refuseMissingFile(source.path);
    const shown = {
      report: () => this.report(),
      splits: () => this.#system.views(),
      reads: () => this.#system.reads(),
      looks: () => this.#system.looks(source.path),
      onlookers: this.#onlookers,
    };
    await whileShown(this.#parts, shown, async () => {
      await this.#system.run();
    });
  }

  stop(): void {
    this.#system.stop();
  }

  report(): SplitReport | null {
    return this.#system.report();
  }

  #ports(): SplitPorts {
    const { config: { source, sink, deadLetters, checkpoint }, notice: onNotice } = this.#parts;
    return {
      source: new NdjsonSource({ ...source, fromStart: this.#fromStart, onNotice }),
      sink: new NdjsonSink({ path: sink.path, onNotice }),
      deadLetters: new NdjsonSink({ path: deadLetters.path, onNotice }),
      store: new KvStore({ directory: checkpoint.path, split: "ndjson" }),
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
  const output = sink.name === "-" ? "stdout" : sink.name;
  if (!source.rereadable) {
    notice(
      `The input ${input} is a pipe and can't be read again: what was read since the last checkpoint is gone if ` +
        `this process is killed`,
    );
  }
  if (!sink.readable) {
    notice(
      `The output ${output} can't be read back: after a crash, triggers since the last checkpoint come again, ` +
        `with the same ids (at least once)`,
    );
  }
}
