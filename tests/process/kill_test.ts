/**
 * Killed and killed again: whatever the moment, each trigger and each dead letter is in its file exactly once.
 *
 * The process works over real files and is ended by SIGKILL, so that nothing in it can tidy up. Some kills come soon after
 * the start, so that they fall into opening, restoring and reading back; the others wait until something was written, so
 * that they fall into the work however slow the machine is. What was a moment ago an output's tail is then a torn line,
 * chunks that no manifest names, or a checkpoint that was durable and never acknowledged.
 *
 * A power cut, which also loses what was not synced, is the simulator's.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { generateLoad } from "../../bench/load.ts";
import { type Config, parseConfig } from "../../lib/config.ts";
import { makeOracle } from "../sim/oracle.ts";
import { EMIT_ORDERS, type EmitOrder } from "../support/cases.ts";
import {
  inDirectory,
  killAtOnce,
  linesOf,
  runFencepost,
  RunFiles,
  type Started,
  startFencepost,
  until,
} from "../support/fencepost_process.ts";
import { randomFrom } from "../support/random.ts";

const SEED = 8;
const RECORDS = 80_000;
const KILLS: Readonly<Record<EmitOrder, number>> = { arrival: 15, ordered: 10 };
/** One in so many kills comes soon after the start, whatever has been done by then. */
const EARLY_ONE_IN = 5;
/** ms after the start within which an early kill comes. */
const EARLY_MS = 350;
/** ms after the first write within which the others come. */
const LATER_MS = 250;

const CONFIG = {
  dwell: { rules: [{ fence: "*", after: ["6s", "12s"] }], lateness: "2s" },
  checkpoint: { interval: "30ms" },
};

/** What a run left in its files, without the time at which a dead letter was written. */
interface Outcome {
  readonly triggers: readonly string[];
  readonly deadLetters: readonly string[];
}

async function outcomeOf(files: RunFiles): Promise<Outcome> {
  const letters = (await linesOf(files.deadLetters)).map((line) => {
    const { at: _at, source: _source, ...letter } = JSON.parse(line) as Record<string, unknown>;
    return JSON.stringify(letter);
  });
  return { triggers: (await linesOf(files.output)).toSorted(), deadLetters: letters.toSorted() };
}

async function writeLoad(path: string): Promise<Uint8Array[]> {
  const load = generateLoad({
    ...{ seed: SEED, records: RECORDS, pairs: 500 },
    ...{ duplicateRatio: 0.05, lateRatio: 0.03, poisonRatio: 0.003, staleRatio: 0.03, heartbeatRatio: 0.01 },
  });
  const blocks = [...load];
  await Deno.writeFile(path, new Blob(blocks as BlobPart[]).stream());
  return blocks.flatMap((block) => {
    const lines: Uint8Array[] = [];
    for (let at = 0; at < block.length;) {
      const end = block.indexOf(0x0a, at);
      lines.push(block.subarray(at, end));
      at = end + 1;
    }
    return lines;
  });
}

/** Says how many bytes the outputs have. */
async function written(files: RunFiles): Promise<number> {
  let bytes = 0;
  for (const path of [files.output, files.deadLetters]) {
    try {
      bytes += (await Deno.stat(path)).size;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return bytes;
}

/** Lets a process work for a while and kills it; returns whether it was still at work. */
async function killSometime(
  process: Started,
  files: RunFiles,
  when: { early: boolean; share: number },
): Promise<boolean> {
  const before = await written(files);
  let hasEnded = false;
  const ended = process.ended.finally(() => hasEnded = true);
  if (!when.early) {
    await until(async () => hasEnded || await written(files) > before, "the process to write anything");
  }
  const waitMs = when.share * (when.early ? EARLY_MS : LATER_MS);
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([ended, new Promise((resolve) => timer = setTimeout(resolve, waitMs))]);
  clearTimeout(timer);
  killAtOnce(process.child);
  const { signal, status, stderr } = await ended;
  if (signal === "SIGKILL") return true;
  equal(status, 0, stderr);
  return false;
}

/** Kills for a while, then runs to the end, over and over until there were as many kills as asked for. */
async function killAndCompare(emit: EmitOrder, test: Deno.TestContext): Promise<void> {
  await inDirectory(async (directory) => {
    const config = { ...CONFIG, emit };
    const input = join(directory, "load.ndjson");
    const lines = await writeLoad(input);
    const configPath = join(directory, "config.json");
    await Deno.writeTextFile(configPath, JSON.stringify(config));
    const filesOf = (name: string): { files: RunFiles; args: string[] } => {
      const files = new RunFiles(join(directory, name));
      return {
        files,
        args: ["run", "--config", configPath, "--input", input, "--output", files.output, ...files.kept],
      };
    };

    const undisturbed = filesOf("undisturbed");
    const { status, stderr } = await runFencepost(undisturbed.args);
    equal(status, 0, stderr);
    const expected = await outcomeOf(undisturbed.files);
    await test.step("undisturbed, it says what the oracle says", async () => {
      await compareWithOracle(expected, { config: parseConfig(config), lines });
    });

    const random = randomFrom(SEED);
    let kills = 0;
    for (let round = 1; kills < KILLS[emit]; round++) {
      const { files, args } = filesOf(`round-${round}`);
      const moments: string[] = [];
      for (let goesOn = true; goesOn && kills < KILLS[emit];) {
        const early = random() < 1 / EARLY_ONE_IN;
        goesOn = await killSometime(startFencepost(args), files, { early, share: random() });
        if (goesOn) kills++;
        moments.push(
          `${goesOn ? "killed" : "ended"} ${early ? "early" : "at work"}, ${await written(files)} bytes`,
        );
      }
      const last = await runFencepost([...args, "--summary", "json"]);
      const story = `seed ${SEED}, round ${round}:\n${moments.join("\n")}\n${last.stderr}`;
      equal(last.status, 0, story);
      const outcome = await outcomeOf(files);
      for (const what of ["triggers", "deadLetters"] as const) {
        const differs = difference(outcome[what], expected[what]);
        equal(differs, "", `${what}: ${differs}\n${story}`);
      }
      const summary = JSON.parse(last.stderr.trim().split("\n").at(-1) ?? "") as { read_in_all: number };
      equal(summary.read_in_all, RECORDS, story);
    }
  });
}

async function compareWithOracle(
  outcome: Outcome,
  { config, lines }: { config: Config; lines: readonly Uint8Array[] },
): Promise<void> {
  const oracle = await makeOracle();
  const said = oracle(config, lines, { atEof: "flush", wallUs: Date.now() * 1000 });
  const told = outcome.triggers.map((line) => JSON.parse(line) as { id: string; kind: string });
  deepEqual(told.map(({ id }) => id).toSorted(), said.triggers.map(({ id }) => id).toSorted());
  const refused = outcome.deadLetters.map((line) => {
    const { reason, position } = JSON.parse(line) as { reason: string; position: { line: number } };
    return `${position.line} ${reason}`;
  });
  deepEqual(refused.toSorted(), said.deadLetters.map(({ line, reason }) => `${line} ${reason}`).toSorted());
  equal(new Set(told.map(({ id }) => id)).size, told.length, "no id comes out twice");
  const dwells = told.filter(({ kind }) => kind === "DWELL").length;
  ok(
    dwells > 1000 && refused.length > 100,
    `all of it occurs: ${dwells} DWELLs, ${refused.length} dead letters`,
  );
}

for (const emit of EMIT_ORDERS) {
  Deno.test(`kill: ${KILLS[emit]} times SIGKILL, emit ${emit}: each trigger and each dead letter exactly once`, (test) =>
    killAndCompare(emit, test));
}

/** The first lines that two sorted lists don't have in common, each as often as it occurs. */
function difference(is: readonly string[], shouldBe: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of is) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of shouldBe) counts.set(line, (counts.get(line) ?? 0) - 1);
  const wrong = [...counts].filter(([, count]) => count !== 0);
  return wrong.slice(0, 5).map(([line, count]) => `${count > 0 ? "too often" : "missing"}: ${line}\n`).join(
    "",
  );
}
