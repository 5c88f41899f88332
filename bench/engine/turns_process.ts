/**
 * `fencepost run` with a witness: the same command in the same process, and beside it something that asks for the event
 * loop again and again, and notes how long it had to wait. The longest wait is the longest turn.
 *
 * ```
 *   turn of the pipeline │ witness │ turn of the pipeline │ witness │ …
 *                        ╰──── what is noted ─────╯
 * ```
 *
 * `setImmediate` is asked, as the pipeline itself does to give the loop back. `perf_hooks`' event loop delay is wrong
 * under Deno, and a timer's resolution of a millisecond would be a fifth of what is allowed.
 *
 * The waits are kept by phase. The first phase, before the command begins, is the reference: what the machine itself
 * holds an idle process up. Each SIGUSR2 begins the next one. At the end they come as JSON on stdout, so the triggers
 * have to go to a file.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { SystemClock } from "../../actors/adapters/system_clock.ts";
import { onSignal, say } from "../../actors/adapters/system_process.ts";
import { parseArguments } from "../../actors/commands/arguments.ts";
import { loadConfig } from "../../actors/commands/configuration.ts";
import { run } from "../../actors/commands/run.ts";
import { Histogram, type HistogramJson } from "./histogram.ts";
import { threadClock } from "./thread_clock.ts";

/** A phase. */
export interface Phase {
  /** Of the turns in which something happened, by the clock on the wall. */
  readonly turns: HistogramJson;
  /** What the thread worked of them; the machine's other work is in the turns and not in this. */
  readonly worked: HistogramJson;
  readonly seconds: number;
  /** Of the process, at the end of the phase. */
  readonly residentBytes: number;
}

/** How long the machine itself is looked at. */
const IDLE_MS = 3_000;
/** In a shorter turn nothing has happened but the asking. */
const BUSY_US = 20;

const threadUs = threadClock();
const phases: Phase[] = [];
let turns = new Histogram();
let worked = new Histogram();
let lastMs = performance.now();
let lastThreadUs = threadUs();
let phaseMs = lastMs;

function witness(): void {
  const nowMs = performance.now();
  const nowThreadUs = threadUs();
  const turnUs = (nowMs - lastMs) * 1000;
  if (turnUs >= BUSY_US) {
    turns.record(turnUs);
    worked.record(nowThreadUs - lastThreadUs);
  }
  lastMs = nowMs;
  lastThreadUs = nowThreadUs;
  setImmediate(witness);
}

function endPhase(): void {
  const nowMs = performance.now();
  phases.push({
    turns: turns.toJson(),
    worked: worked.toJson(),
    seconds: (nowMs - phaseMs) / 1000,
    residentBytes: Deno.memoryUsage().rss,
  });
  turns = new Histogram();
  worked = new Histogram();
  phaseMs = nowMs;
}

/** Runs the command line, and tells of its turns. */
async function main(words: readonly string[]): Promise<number> {
  const asked = parseArguments(words);
  if (asked.command !== "run") throw new Error("Cannot measure anything but run");
  const config = await loadConfig(asked.config, Deno.readTextFile);
  witness();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  endPhase();
  Deno.addSignalListener("SIGUSR2", endPhase);
  const clock = new SystemClock();
  const status = await run({ config, summary: asked.summary }, {
    clock,
    say,
    terminal: false,
    onSignal,
    exit: Deno.exit,
  });
  endPhase();
  return status;
}

const status = await main(Deno.args);
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(phases) + "\n"));
Deno.exit(status);
