/**
 * The command line of the measurements, and their processes in the small: they are code that runs rarely, and would rot.
 *
 * @module
 */
import assert from "node:assert/strict";
import { parseBenchArguments } from "../../bench/bench.ts";
import { Traffic } from "../../bench/engine/inside_load.ts";
import { askProcess, measureProcess, script } from "../../bench/engine/processes.ts";
import type { PairsOutcome } from "../../bench/engine/pairs_process.ts";

Deno.test("parseBenchArguments: all parts, one of them, and how much of it", () => {
  assert.deepEqual(parseBenchArguments([]).parts, [
    "timers",
    "window",
    "duplicates",
    "exactness",
    "afternoon",
    "throughput",
    "pairs",
    "growth",
    "checkpoint",
    "rest",
    "plan",
  ]);
  const { parts, scale } = parseBenchArguments(["--only", "window", "--rounds", "5", "--pairs", "10,20"]);
  assert.deepEqual(parts, ["window"]);
  assert.equal(scale.rounds, 5);
  assert.deepEqual(scale.workloadPairs, [10, 20]);
});

Deno.test("parseBenchArguments: refuses what it does not know, and says what it was", () => {
  const cases = [["--only", "nothing"], ["--rounds", "0"], ["--rounds"], ["--pairs", "1,x"], ["--what", "1"]];
  for (const args of cases) {
    assert.throws(() => parseBenchArguments(args), new RegExp(`Cannot read ${args[0]}`));
  }
});

Deno.test("traffic: each EXIT is of another pair of the filling, each ENTER of a new one", () => {
  const text = [...new Traffic(1000).take(1000, 1_750_000_000_000_000)].map((block) =>
    new TextDecoder().decode(block)
  ).join("");
  const records = text.trim().split("\n").map((line) => JSON.parse(line) as Record<string, string>);
  const pairsOf = (kind: string): Set<string> =>
    new Set(records.filter((record) => record["kind"] === kind).map((record) => record["device_id"] ?? ""));
  assert.equal(pairsOf("ENTER").size, 1000);
  assert.equal(pairsOf("EXIT").size, 1000);
  assert.ok(pairsOf("ENTER").isDisjointFrom(pairsOf("EXIT")));
  const [first] = records;
  assert.equal(`${first?.["device_id"]}${first?.["fence_id"]}`.length, 25);
});

Deno.test("measureProcess: CPU time of a child, and an error where it fails", async () => {
  const took = await measureProcess(["sh", "-c", "echo out; echo err >&2"]);
  assert.equal(took.stderr, "err\n");
  assert.ok(took.cpuSeconds >= 0 && took.wallSeconds > 0);
  const slow = await measureProcess(["sleep", "0.3"]);
  assert.ok(slow.peakMiB > 0 && slow.peakMiB < 100, `${slow.peakMiB} MiB`);
  await assert.rejects(measureProcess(["sh", "-c", "exit 3"]), /ended with 3/);
});

Deno.test("the measuring processes hold what they were told to", async () => {
  const pairs = await askProcess<PairsOutcome>(script("pairs_process.ts", ["3", "9000"]));
  assert.equal(pairs.pairs, 9000);
  assert.equal(pairs.pendingDwells, 9000);
  assert.ok(pairs.pairBytes > 9000 * 25);
});
