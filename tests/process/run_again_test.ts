/**
 * `fencepost run` started again: what a second start goes on from, what it refuses, and what a signal leaves for it.
 *
 * @module
 */
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { join } from "node:path";
import {
  type Ended,
  linesOf,
  runFencepost,
  RunFiles,
  type Started,
  startFencepost,
  until,
} from "../support/fencepost_process.ts";
import {
  crossing,
  file,
  kindsOf,
  load,
  refused,
  runTest,
  summaryOf,
  undisturbedRun,
  VISIT,
} from "../support/run_case.ts";

runTest("stdin that is a file is read again from the checkpoint", async (files, directory) => {
  const args = ["run", "--output", files.output, ...files.kept];
  const fromFile = { directory, shell: 'exec "$@" < input.ndjson' };
  await Deno.writeTextFile(files.input, file(VISIT[0]));
  const first = await runFencepost([...args, "--at-eof", "hold"], fromFile);
  equal(first.status, 0, first.stderr);
  doesNotMatch(first.stderr, /is a pipe/);
  await Deno.writeTextFile(files.input, file(VISIT[1]), { append: true });
  const summary = summaryOf(await runFencepost([...args, "--summary", "json"], fromFile));
  deepEqual([summary["read"], summary["read_in_all"]], [1, 2]);
  // What the run before has told is not told of again.
  deepEqual(summary["emitted"], { ENTER: 0, EXIT: 1, DWELL: 1, DWELL_passed_on: 0, RETRACT: 0 });
  deepEqual(summary["emitted_in_all"], { ENTER: 1, EXIT: 1, DWELL: 1, DWELL_passed_on: 0, RETRACT: 0 });
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
});

runTest("stdin that is a pipe: the weaker promise is said on stderr", async (files) => {
  const ended = await runFencepost(["run", ...files.kept], { input: file(...VISIT) });
  equal(ended.status, 0, ended.stderr);
  equal(ended.stdout.trimEnd().split("\n").length, 3);
  match(
    ended.stderr,
    /^fencepost: The input stdin is a pipe and can't be read again: .*gone if this process is killed$/m,
  );
  match(ended.stderr, /^fencepost: The output stdout can't be read back: .*at least once\)$/m);
});

runTest("a second start goes on, says so, with what it knows and how to begin afresh", async (files) => {
  await Deno.writeTextFile(files.input, file(VISIT[0]));
  const first = await runFencepost([...files.args, "--at-eof", "hold"]);
  equal(first.status, 0, first.stderr);
  doesNotMatch(first.stderr, /Going on/);
  const second = await runFencepost([...files.args, "--at-eof", "hold"]);
  equal(second.status, 0, second.stderr);
  match(
    second.stderr,
    /^fencepost: Going on from the state in \S+ \(1 record read, 1 pair, 0 pending dwells, .*ids in the window\)\. To begin afresh, use another --state/m,
  );
  deepEqual(await kindsOf(files.output), ["ENTER"]);
});

runTest("hold: a torn last line waits for its end, and the file goes on when it has grown", async (files) => {
  const [enter, exit] = VISIT;
  await Deno.writeTextFile(files.input, `${enter}\n${exit.slice(0, 20)}`);
  const held = summaryOf(await runFencepost([...files.args, "--at-eof", "hold", "--summary", "json"]));
  deepEqual([held["read"], held["pending_dwells"], held["dead_lettered"]], [1, 0, {}]);
  deepEqual(await kindsOf(files.output), ["ENTER"]);
  await Deno.writeTextFile(files.input, `${exit.slice(20)}\n`, { append: true });
  const grown = summaryOf(await runFencepost([...files.args, "--summary", "json"]));
  deepEqual([grown["read"], grown["read_in_all"], grown["dead_lettered"]], [1, 2, {}]);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
});

runTest("a file that shrank is refused, and --from-start reads it again", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT, crossing("ENTER", 661, "truck-2")));
  equal((await runFencepost(files.args)).status, 0);
  const before = await linesOf(files.output);
  await Deno.truncate(files.input, file(...VISIT).length);
  refused(await runFencepost(files.args), 1, /input\.ndjson: it is shorter.*--from-start/);
  deepEqual(await linesOf(files.output), before);
  const again = summaryOf(await runFencepost([...files.args, "--from-start", "--summary", "json"]));
  deepEqual([again["read"], again["suppressed"]], [2, 2]);
  deepEqual(await linesOf(files.output), before);
});

runTest("a file that begins otherwise is refused", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  equal((await runFencepost(files.args)).status, 0);
  await Deno.writeTextFile(
    files.input,
    file(...VISIT.map((line) => line.replace("truck-1", "truck-2")), ...VISIT),
  );
  refused(await runFencepost(files.args), 1, /input\.ndjson: its beginning.*--from-start/);
});

runTest("another file tomorrow is read from its beginning, over what is known", async (files, directory) => {
  await Deno.writeTextFile(files.input, file(VISIT[0]));
  equal((await runFencepost([...files.args, "--at-eof", "hold"])).status, 0);
  const tomorrow = join(directory, "tomorrow.ndjson");
  await Deno.writeTextFile(tomorrow, file(crossing("EXIT", 1, "truck-2"), ...VISIT));
  const ended = await runFencepost([...new RunFiles(directory, tomorrow).args, "--summary", "json"]);
  deepEqual([summaryOf(ended)["read"], summaryOf(ended)["suppressed"]], [3, 1]);
  match(ended.stderr, /tomorrow\.ndjson is another file than the one read before/);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT", "EXIT"]);
});

runTest("an output shorter than the checkpoint knows is refused", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  equal((await runFencepost(files.args)).status, 0);
  await Deno.truncate(files.output, 10);
  refused(
    await runFencepost(files.args),
    1,
    /triggers\.ndjson: it is shorter than the checkpoint knows.*begin afresh/,
  );
  equal((await Deno.stat(files.output)).size, 10);
  await Deno.remove(files.output);
  refused(await runFencepost(files.args), 1, /it is missing/);
});

runTest("an output that exists without a checkpoint is appended to, never cut", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  await Deno.writeTextFile(files.output, "what was here before\nand a torn li");
  await Deno.writeTextFile(files.deadLetters, "an old dead letter\n");
  equal((await runFencepost(files.args)).status, 0);
  const lines = await linesOf(files.output);
  deepEqual(lines.slice(0, 2), ["what was here before", "and a torn li"]);
  equal(lines.length, 5);
  deepEqual(await linesOf(files.deadLetters), ["an old dead letter"]);
});

runTest("a state of another partition count, bucket or guard is refused, with both values", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  equal((await runFencepost(files.args)).status, 0);
  const changed: readonly (readonly [string, RegExp])[] = [
    ["partitions=4", /partitions was 16 and is now 4.*name another checkpoint.path \(--state\)/],
    ["identity.bucket=3s", /identity\.bucket was 2s and is now 3s/],
    ["identity.guard=100ms", /identity\.guard was 200ms and is now 100ms/],
  ];
  for (const [setting, message] of changed) {
    refused(await runFencepost([...files.args, "--set", setting]), 2, message);
  }
  equal((await runFencepost(files.args)).status, 0);
  equal((await linesOf(files.output)).length, 3);
});

runTest("a damaged state is refused with the way out, and nothing is written", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  equal((await runFencepost(files.args)).status, 0);
  const before = await Deno.readTextFile(files.output);
  await Deno.writeTextFile(join(files.state, "state.kv"), "x".repeat(8192));
  for (const name of ["state.kv-wal", "state.kv-shm"]) {
    await Deno.remove(join(files.state, name)).catch(() => {});
  }
  refused(await runFencepost(files.args), 1, /state.*damaged.*begin afresh/);
  equal(await Deno.readTextFile(files.output), before);
});

runTest("a second process on the same state is refused, and told of the first", async (files) => {
  const first = startFencepost(["run", "--output", files.output, ...files.kept], { input: "piped" });
  const writer = first.child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(file(...VISIT)));
  await until(async () => (await linesOf(files.output)).length > 0, "the first trigger");
  await Deno.writeTextFile(files.input, file(...VISIT));
  const message = new RegExp(`process ${first.child.pid} is using it.*--state`);
  refused(await runFencepost(files.args), 1, message);
  await writer.close();
  equal((await first.ended).status, 0);
  equal((await linesOf(files.output)).length, 3);
});

runTest(
  "SIGTERM and SIGINT at work over a file: status 0, and the next start comes to the same",
  async (files, directory) => {
    await Deno.writeFile(files.input, load(60_000));
    const undisturbed = await undisturbedRun(files.input, directory);
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const before = (await linesOf(files.output)).length;
      const process = startFencepost([...files.args, "--summary", "json"]);
      await until(async () => (await linesOf(files.output)).length > before, "some triggers");
      const { stderr } = await stopped(process, signal);
      const summary = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as {
        emitted_in_all: Record<string, number>;
      };
      const emitted = Object.values(summary.emitted_in_all).reduce((sum, count) => sum + count, 0);
      equal((await linesOf(files.output)).length, emitted, "what was taken is written");
    }
    equal((await runFencepost(files.args)).status, 0);
    deepEqual((await linesOf(files.output)).toSorted(), (await linesOf(undisturbed.output)).toSorted());
    equal((await linesOf(files.deadLetters)).length, (await linesOf(undisturbed.deadLetters)).length);
  },
);

runTest("SIGTERM while a pipe is idle: status 0, and what waits is kept", async (files) => {
  const args = ["run", "--output", files.output, ...files.kept, "--summary", "json"];
  const process = startFencepost(args, { input: "piped" });
  const writer = process.child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(file(VISIT[0], crossing("ENTER", 30, "truck-2"))));
  await until(async () => (await linesOf(files.output)).length === 2, "both triggers");
  const summary = summaryOf(await stopped(process, "SIGTERM"));
  // The first is inside; the second still waits for the watermark.
  deepEqual([summary["read"], summary["pending_dwells"], summary["waiting"]], [2, 1, 1]);
  await writer.close().catch(() => {});
  const rest = file(VISIT[1], crossing("EXIT", 631, "truck-2"));
  equal((await runFencepost(args, { input: rest })).status, 0);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "DWELL", "ENTER", "ENTER", "EXIT", "EXIT"]);
});

async function stopped(process: Started, signal: Deno.Signal): Promise<Ended> {
  process.child.kill(signal);
  const ended = await process.ended;
  equal(ended.status, 0, ended.stderr);
  return ended;
}
