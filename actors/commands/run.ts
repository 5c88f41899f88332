/**
 * `fencepost run`: records in, triggers out, until the input ends or a signal comes.
 *
 * @module
 */
import { type Config, configToJson } from "../../lib/config.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { coarsestUs, misfit } from "../../lib/format/unit_fit.ts";
import { Identity } from "../../lib/identity.ts";
import type { Clock } from "../ports.ts";
import { Ticker } from "../ticker.ts";
import type { CommonParts, Job } from "./job.ts";
import { FileJob } from "./run_files.ts";
import { Progress, summaryJson, summaryText } from "./summary.ts";

/** How long a signal may take to be obeyed, µs. */
export const DRAIN_US = 10_000_000;
/** Time between two progress lines. */
const PROGRESS_US = 500_000;

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
  const progress = new Progress(say);
  const ticker = new Ticker(clock, config.dwell.tickUs);
  const parts: CommonParts = {
    config,
    clock,
    ticker,
    identity: await Identity.create(config.identity),
    rules: new FenceRules(config.dwell.rules),
    notice: (message) => progress.say(`fencepost: ${message}`),
  };
  const { mapping } = config.source.format;
  const unfit = mapping === null ? null : misfit(coarsestUs(mapping), config.identity);
  if (unfit !== null) parts.notice(unfit);
  const startedUs = clock.monotonicUs();
  const job = await jobOf(parts);
  let stopping = false;
  const unsubscribe = environment.onSignal(() => {
    if (stopping) return;
    stopping = true;
    job.stop();
    clock.delay(DRAIN_US).then(() => {
      say(
        "fencepost: Could not finish within 10 s; nothing is lost, the next start goes on from the last checkpoint\n",
      );
      environment.exit(1);
    });
  });
  const stopProgress = environment.terminal
    ? clock.every(PROGRESS_US, () => progress.show(job.report(), clock.monotonicUs() - startedUs))
    : (): void => {};
  try {
    await job.run();
  } finally {
    unsubscribe();
    stopProgress();
    progress.clear();
    ticker.stop();
  }
  const report = job.report();
  if (report !== null) {
    const elapsedUs = clock.monotonicUs() - startedUs;
    say(options.summary === "json" ? summaryJson(report, elapsedUs) : summaryText(report, elapsedUs));
  }
  return 0;
}

/** Each is loaded where it is used: kafkajs reads the environment as it is loaded, which others need no permission for. */
async function jobOf(parts: CommonParts): Promise<Job> {
  switch (parts.config.source.type) {
    case "kafka": {
      const { KafkaJob } = await import("./run_kafka.ts");
      return new KafkaJob(parts);
    }
    case "http": {
      const { HttpJob } = await import("./run_http.ts");
      return new HttpJob(parts);
    }
    case "ndjson":
      return new FileJob(parts);
  }
}

/** The configuration in force, as `--print-config` shows it. */
export function printConfig(config: Config): string {
  return JSON.stringify(configToJson(config), null, 2) + "\n";
}
