/**
 * What the tests of `fencepost run` have in common: inputs, and how a run is judged.
 *
 * @module
 */
import { doesNotMatch, equal, match } from "node:assert/strict";
import { generateLoad } from "../../bench/load.ts";
import { type Ended, inDirectory, linesOf, runFencepost, RunFiles } from "./fencepost_process.ts";

const START_MS = Date.UTC(2026, 2, 1);

/** A record: some seconds after the start, `truck-1` unless another is named. */
export function crossing(kind: "ENTER" | "EXIT", second: number, device = "truck-1"): string {
  const time = new Date(START_MS + second * 1000).toISOString();
  return JSON.stringify({ device_id: device, fence_id: "depot", kind, event_time: time, ingest_time: time });
}

/** One line each. */
export function file(...records: readonly string[]): string {
  return records.map((record) => `${record}\n`).join("");
}

/** A visit of eleven minutes: an ENTER, a DWELL and an EXIT come of it. */
export const VISIT: readonly [string, string] = [crossing("ENTER", 0), crossing("EXIT", 660)];

/** Enough that a process is at work for a while. */
export function load(records: number): Uint8Array {
  const blocks = [
    ...generateLoad({ seed: 11, records, pairs: 400, duplicateRatio: 0.05, poisonRatio: 0.001 }),
  ];
  const bytes = new Uint8Array(blocks.reduce((sum, block) => sum + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    bytes.set(block, at);
    at += block.length;
  }
  return bytes;
}

/** The kinds of the triggers in a file. */
export async function kindsOf(path: string): Promise<string[]> {
  return (await linesOf(path)).map((line) => (JSON.parse(line) as { kind: string }).kind);
}

/** The reasons of the dead letters in a file. */
export async function reasonsOf(path: string): Promise<string[]> {
  return (await linesOf(path)).map((line) => (JSON.parse(line) as { reason: string }).reason);
}

/** Checks that a process said one line of its own, no stack trace, and ended so. */
export function refused(ended: Ended, status: number, message: RegExp): void {
  const said = ended.stderr.trimEnd().split("\n");
  match(said.at(-1) ?? "", /^fencepost: /, ended.stderr);
  match(said.at(-1) ?? "", message);
  doesNotMatch(ended.stderr, /^\s+at /m);
  equal(ended.status, status, ended.stderr);
}

/** What `--summary json` said; the run must have come to its end. */
export function summaryOf({ status, stderr }: Ended): Record<string, unknown> {
  equal(status, 0, stderr);
  return JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Record<string, unknown>;
}

/** A test with a directory of its own. */
export function runTest(name: string, body: (files: RunFiles, directory: string) => Promise<void>): void {
  Deno.test(`run: ${name}`, () => inDirectory((directory) => body(new RunFiles(directory), directory)));
}

/** Runs over an input as it should be, with outputs of its own. */
export async function undisturbedRun(input: string, directory: string): Promise<RunFiles> {
  const files = new RunFiles(await Deno.makeTempDir({ dir: directory }), input);
  const { status, stderr } = await runFencepost(files.args);
  equal(status, 0, stderr);
  return files;
}
