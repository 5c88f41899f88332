/**
 * `fencepost plan` as a process: what goes to stdout is a file that `run --config` takes.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { runFencepost } from "../support/fencepost_process.ts";
import { file, kindsOf, refused, runTest, summaryOf, VISIT } from "../support/run_case.ts";

runTest("plan > FILE: run goes by it", async (files, directory) => {
  const planned = await runFencepost(["plan", "--rate", "2000", "--pairs", "50000", "--after", "10m"]);
  equal(planned.status, 0);
  match(planned.stderr, /^memory +\d+\.\d MiB/m);
  const config = join(directory, "fencepost.json");
  await Deno.writeTextFile(config, planned.stdout);
  await Deno.writeTextFile(files.input, file(...VISIT));
  const ended = await runFencepost([...files.args, "--config", config, "--summary", "json"]);
  equal(summaryOf(ended)["pairs"], 1);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
  const shown = await runFencepost(["run", "--config", config, "--print-config"]);
  // The guard's own width is shown where none is planned.
  const { identity } = JSON.parse(planned.stdout);
  deepEqual(JSON.parse(shown.stdout).identity, { ...identity, max_skew: identity.guard });
});

runTest("plan: status 2 where it can't be run, and nothing on stdout", async () => {
  const ended = await runFencepost(["plan", "--rate", "2000", "--pairs", "50000", "--after", "4s"]);
  refused(ended, 2, /dwell\.lateness must be below the smallest threshold/);
  equal(ended.stdout, "");
});
