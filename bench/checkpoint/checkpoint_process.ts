/**
 * `fencepost run` over a file, with a checkpoint at its end of all that it has read, of which it tells as JSON on stdout.
 *
 * Takes `--set key=value` as `run` does.
 *
 * @module
 */
import { SystemClock } from "../../actors/adapters/system_clock.ts";
import { say } from "../../actors/adapters/system_process.ts";
import { parseArguments } from "../../actors/commands/arguments.ts";
import { loadConfig } from "../../actors/commands/configuration.ts";
import { FileJob } from "../../actors/commands/run_files.ts";
import { Ticker } from "../../actors/ticker.ts";
import { assert } from "../../lib/assert.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { Identity } from "../../lib/identity.ts";

/** What it tells. */
export interface CheckpointOutcome {
  readonly pendingDwells: number;
  readonly bytes: number;
  /** From the barrier until it was durable. */
  readonly seconds: number;
}

async function measure(words: readonly string[]): Promise<CheckpointOutcome> {
  const asked = parseArguments(["run", ...words, "--set", "checkpoint.interval=1d"]);
  assert(asked.command === "run", "run was asked for");
  const config = await loadConfig(asked.config, Deno.readTextFile);
  const clock = new SystemClock();
  const job = new FileJob({
    config,
    clock,
    ticker: new Ticker(clock, config.dwell.tickUs),
    identity: await Identity.create(config.identity),
    rules: new FenceRules(config.dwell.rules),
    notice: (message) => say(`${message}\n`),
  });
  await job.run();
  const report = job.report();
  assert(report !== null, "a job that has run has a report");
  const { count, lastBytes, lastUs } = report.vitals.checkpoint;
  // The first one is due with the first records, and has next to nothing in it.
  if (count > 2) throw new Error(`Cannot measure: there were ${count} checkpoints`);
  return { pendingDwells: report.pendingDwells, bytes: lastBytes, seconds: lastUs / 1e6 };
}

Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(await measure(Deno.args)) + "\n"));
