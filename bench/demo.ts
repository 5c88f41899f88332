/**
 * What `deno task demo` runs: a morning of a delivery fleet through the real pipeline, killed half way and started again.
 *
 * ```
 *   load.ts ─▶ morning.ndjson ─▶ fencepost run ─╳ kill -9 ─▶ fencepost run ─▶ triggers.ndjson ─▶ counted
 * ```
 *
 * It runs the command in a process of its own, as anyone would, and looks at nothing but its files. Since the workload
 * knows what it is made of, the demo can say whether each crossing gave one trigger, not just that some came out.
 *
 * ```sh
 * deno task demo            # some seconds; with --keep the files stay
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { generateLoad } from "./load.ts";
import type { LoadSummary } from "./load_options.ts";

const RECORDS = 50_000;
/** How often the output's length is looked at before the kill, ms. */
const LOOK_MS = 5;
/** The first run is killed when it has written so much, as a share of the input's bytes: triggers are about as long. */
const KILL_SHARE = 0.4;
const MAIN = join(import.meta.dirname ?? ".", "..", "actors", "main.ts");

/** How to run it. */
export interface DemoOptions {
  readonly records: number;
  readonly seed: number;
  /** Where its files go. It must be there, and empty. */
  readonly directory: string;
  /** Told what happens. */
  readonly say: (text: string) => void;
  /** Where the pipeline's own messages go. */
  readonly stderr: "inherit" | "null";
}

/** What came out, counted in the files. */
export interface DemoOutcome {
  readonly load: LoadSummary;
  /** Triggers by kind. */
  readonly triggers: Readonly<Record<string, number>>;
  /** Ids that occur more than once: there should be none. */
  readonly repeatedIds: number;
  /** Dead letters by reason. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** What is not as the workload says it should be; empty if all is well. */
  readonly wrong: readonly string[];
}

interface Trigger {
  readonly id: string;
  readonly kind: string;
  readonly late?: boolean;
}

/** Runs the demo. Throws where the pipeline itself fails. */
export async function runDemo(options: DemoOptions): Promise<DemoOutcome> {
  const { directory, say } = options;
  const paths = {
    input: join(directory, "morning.ndjson"),
    output: join(directory, "triggers.ndjson"),
    state: join(directory, "state"),
    deadLetters: join(directory, "dead-letters.ndjson"),
  };
  const load = await writeMorning(paths.input, options);
  sayMorning(load, say);

  say("\n$ fencepost run --input morning.ndjson --output triggers.ndjson\n");
  const killed = await start(paths, options, load.bytes * KILL_SHARE);
  if (killed) {
    say("  … and that was kill -9, in the middle of it. The same command again:\n\n");
    await start(paths, options, Infinity);
  }

  const triggers = await readLines<Trigger>(paths.output);
  const deadLetters = await readLines<{ readonly reason: string }>(paths.deadLetters);
  saySample(triggers, deadLetters, say);
  const outcome = judge(
    load,
    triggers.map((line) => line.value),
    deadLetters.map((line) => line.value.reason),
  );
  sayVerdict(outcome, killed, say);
  return outcome;
}

async function writeMorning(path: string, { records, seed }: DemoOptions): Promise<LoadSummary> {
  const load = generateLoad({ records, seed, lateRatio: 0.02, poisonRatio: 0.0004, attributesRatio: 0.02 });
  using file = await Deno.open(path, { write: true, createNew: true });
  let next = load.next();
  for (; !next.done; next = load.next()) {
    for (let at = 0; at < next.value.length;) at += await file.write(next.value.subarray(at));
  }
  return next.value;
}

/** Runs the command to its end, or kills it when its output is that long; returns whether it was killed. */
async function start(
  paths: { input: string; output: string; state: string; deadLetters: string },
  options: DemoOptions,
  killAtBytes: number,
): Promise<boolean> {
  const { input, output, state, deadLetters } = paths;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--allow-read", "--allow-write", MAIN, "run"],
      ...["--input", input, "--output", output, "--state", state, "--dead-letters", deadLetters],
    ],
    stdin: "null",
    stdout: "null",
    stderr: options.stderr,
  }).spawn();
  let ended = false;
  const status = child.status.finally(() => ended = true);
  while (!ended && killAtBytes < Infinity) {
    if (await lengthOf(output) >= killAtBytes) {
      kill(child);
      break;
    }
    await Promise.race([status, delay(LOOK_MS)]);
  }
  const { success, signal, code } = await status;
  if (signal === "SIGKILL") return true;
  if (!success) throw new Error(`Cannot go on: the pipeline ended with status ${code}`);
  return false;
}

/** Kills a process without giving it a chance to tidy up, unless it has just ended by itself. */
function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // "Child process has already terminated": then its status says how.
    if (!(error instanceof TypeError)) throw error;
  }
}

async function lengthOf(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

async function readLines<T>(path: string): Promise<{ text: string; value: T }[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").filter((line) => line !== "").map((line) => ({
    text: line,
    value: JSON.parse(line) as T,
  }));
}

function judge(load: LoadSummary, triggers: readonly Trigger[], reasons: readonly string[]): DemoOutcome {
  const byKind = countBy(triggers.map((trigger) => trigger.kind));
  const byReason = countBy(reasons);
  const repeatedIds = triggers.length - new Set(triggers.map((trigger) => trigger.id)).size;
  const wrong: string[] = [];
  const compare = (what: string, is: number, shouldBe: number): void => {
    if (is !== shouldBe) wrong.push(`${what}: ${is} instead of ${shouldBe}`);
  };
  compare("ENTER triggers", byKind["ENTER"] ?? 0, load.enters);
  compare("EXIT triggers", byKind["EXIT"] ?? 0, load.exits);
  compare("ids that occur more than once", repeatedIds, 0);
  for (const reason of new Set([...Object.keys(load.poison), ...Object.keys(byReason)])) {
    compare(
      `dead letters ${reason}`,
      byReason[reason] ?? 0,
      load.poison[reason as keyof LoadSummary["poison"]] ?? 0,
    );
  }
  return { load, triggers: byKind, repeatedIds, deadLetters: byReason, wrong };
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function sayMorning(load: LoadSummary, say: (text: string) => void): void {
  const poison = Object.values(load.poison).reduce((sum, count) => sum + count, 0);
  say(
    `A morning of ${load.trucks} trucks, ${load.lines} records (${
      (load.bytes / 1e6).toFixed(1)
    } MB), slightly out of order:\n` +
      `  ${load.enters} ENTER and ${load.exits} EXIT, of which ${load.late} were uploaded late,\n` +
      `  ${load.copies} copies of them (retries, and crossings seen twice),\n` +
      `  ${poison} lines that are broken or have impossible times\n`,
  );
}

function saySample(
  triggers: readonly { text: string; value: Trigger }[],
  deadLetters: readonly { text: string }[],
  say: (text: string) => void,
): void {
  const first = (matches: (trigger: Trigger) => boolean): string[] => {
    const found = triggers.find((line) => matches(line.value));
    return found === undefined ? [] : [found.text];
  };
  const sample = [
    ...first((trigger) => trigger.kind === "ENTER"),
    ...first((trigger) => trigger.kind === "EXIT"),
    ...first((trigger) => trigger.kind === "DWELL"),
    ...first((trigger) => trigger.late === true && trigger.kind !== "DWELL"),
  ];
  say(`\nSome triggers:\n${sample.map((text) => `  ${text}\n`).join("")}`);
  const shortest = deadLetters.map((line) => line.text).toSorted((a, b) => a.length - b.length)[0];
  if (shortest !== undefined) say(`A dead letter:\n  ${shortest}\n`);
}

function sayVerdict(
  { load, triggers, repeatedIds, wrong }: DemoOutcome,
  killed: boolean,
  say: (text: string) => void,
): void {
  const counted = Object.entries(triggers).map(([kind, count]) => `${count} ${kind}`).join(", ");
  say(`\nIn triggers.ndjson: ${counted}; ${repeatedIds} ids occur more than once.\n`);
  if (wrong.length === 0) {
    say(
      `Each of the ${
        load.enters + load.exits
      } crossings gave one trigger, none of the ${load.copies} copies gave another, ` +
        `and every broken line is in the dead letters${killed ? ", across a kill -9" : ""}.\n`,
    );
  } else {
    say(`NOT as it should be:\n${wrong.map((text) => `  ${text}\n`).join("")}`);
  }
}

async function main(): Promise<void> {
  const encoder = new TextEncoder();
  const say = (text: string): void => {
    Deno.stdout.writeSync(encoder.encode(text));
  };
  const directory = await Deno.makeTempDir({ prefix: "fencepost-demo-" });
  const keep = Deno.args.includes("--keep");
  let outcome: DemoOutcome;
  try {
    outcome = await runDemo({ records: RECORDS, seed: 1, directory, say, stderr: "inherit" });
  } finally {
    if (!keep) await Deno.remove(directory, { recursive: true });
  }
  if (keep) say(`The files are in ${directory}\n`);
  if (outcome.wrong.length > 0) Deno.exitCode = 1;
}

if (import.meta.main) await main();
