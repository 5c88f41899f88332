/**
 * `fencepost run`: records in, triggers out, until the input ends or a signal comes.
 *
 * @module
 */
import { type Config, configToJson } from "../../lib/config.ts";
import { ConfigError } from "../../lib/config_fields.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";
import { SharedCount } from "../../lib/partition.ts";
import { KvStore } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { NdjsonSource } from "../adapters/ndjson_source.ts";
import type { Clock } from "../ports.ts";
import type { Opened, SplitReport } from "../split_actor.ts";
import { System } from "../system.ts";
import { Ticker } from "../ticker.ts";
import { Progress, summaryJson, summaryText } from "./summary.ts";

/** How long a signal may take to be obeyed, µs. */
export const DRAIN_US = 10_000_000;
/** Time between two progress lines. */
export const PROGRESS_US = 500_000;

/** What the command needs of the process it runs in. */
export interface RunEnvironment {
  readonly clock: Clock;
  /** Writes to stderr. */
  readonly say: (text: string) => void;
  /** Whether stderr is a terminal. */
  readonly terminal: boolean;
  /** Calls back at SIGTERM and SIGINT until the returned function is called. */
  readonly onSignal: (callback: () => void) => () => void;
  /** Ends the process at once. */
  readonly exit: (status: number) => never;
}

/** What was asked for besides the configuration. */
export interface RunOptions {
  readonly config: Config;
  readonly summary: "text" | "json";
}

/** Runs; returns the exit status. What it throws is an error of the world, to be said in one line. */
export async function run(options: RunOptions, environment: RunEnvironment): Promise<number> {
  const { config } = options;
  const { clock, say } = environment;
  if (config.source.type !== "ndjson") {
    throw new ConfigError('Cannot read config: source.type "kafka" can be configured, but not run yet');
  }
  const identity = await Identity.create(config.identity);
  const rules = new FenceRules(config.dwell.rules);
  const ticker = new Ticker(clock, config.dwell.tickUs);
  const progress = new Progress(say);
  const notice = (message: string): void => progress.say(`fencepost: ${message}`);
  const startedUs = clock.monotonicUs();
  // A restart from the checkpoint goes on; only the first start was told to read from the beginning.
  let fromStart = config.source.fromStart;
  const system = new System({
    clock,
    notice,
    opened: (opened) => {
      fromStart = false;
      sayOpened(opened, config, notice, system.report());
    },
    ports: () => ({
      source: new NdjsonSource({ ...config.source, fromStart, onNotice: notice }),
      sink: new NdjsonSink({ path: config.sink.path, onNotice: notice }),
      deadLetters: new NdjsonSink({ path: config.deadLetters.path, onNotice: notice }),
      store: new KvStore({ directory: config.checkpoint.path, split: "ndjson" }),
    }),
    split: (ports) => {
      sayWeaker(ports, notice);
      const pairBound = new SharedCount(config.pairs.capacity);
      return { ...ports, config, clock, ticker, identity, rules, pairBound, notice };
    },
  });
  let stopping = false;
  const unsubscribe = environment.onSignal(() => {
    if (stopping) return;
    stopping = true;
    system.stop();
    clock.delay(DRAIN_US).then(() => {
      say(
        "fencepost: Could not finish within 10 s; nothing is lost, the next start goes on from the last checkpoint\n",
      );
      environment.exit(1);
    });
  });
  const stopProgress = environment.terminal
    ? clock.every(PROGRESS_US, () => progress.show(system.report(), clock.monotonicUs() - startedUs))
    : (): void => {};
  try {
    await system.run();
  } finally {
    unsubscribe();
    stopProgress();
    progress.clear();
    ticker.stop();
  }
  const report = system.report();
  if (report !== null) {
    const elapsedUs = clock.monotonicUs() - startedUs;
    say(options.summary === "json" ? summaryJson(report, elapsedUs) : summaryText(report, elapsedUs));
  }
  return 0;
}

/** The configuration in force, as `--print-config` shows it. */
export function printConfig(config: Config): string {
  return JSON.stringify(configToJson(config), null, 2) + "\n";
}

function sayOpened(
  opened: Opened,
  config: Config,
  notice: (message: string) => void,
  report: SplitReport | null,
): void {
  if (!opened.resumed || report === null) return;
  const known = [
    `${report.read} records read`,
    `${report.pairs} pairs`,
    `${report.pendingDwells} pending dwells`,
    `${report.windowIds} ids in the window`,
  ];
  if (opened.readBack > 0) known.push(`${opened.readBack} lines read back from the outputs`);
  notice(
    `Going on from the state in ${config.checkpoint.path} (${known.join(", ")}). ` +
      `To begin afresh, use another --state directory or delete this one`,
  );
}

function sayWeaker(
  ports: { source: { rereadable: boolean; name: string }; sink: { readable: boolean; name: string } },
  notice: (message: string) => void,
): void {
  if (!ports.source.rereadable) {
    notice(
      `The input ${ports.source.name} is a pipe and can't be read again: what was read since the last checkpoint is ` +
        `gone if this process is killed`,
    );
  }
  if (!ports.sink.readable) {
    notice(
      `The output ${ports.sink.name} can't be read back: after a crash, triggers since the last checkpoint come again, ` +
        `with the same ids (at least once)`,
    );
  }
}
