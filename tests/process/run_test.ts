/**
 * `fencepost run` as a process: exit statuses, what is said on stderr, and what is in the files when the input or an output
 * is not as it should be. Whatever happens, the way out is named and nothing is lost.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { linesOf, runFencepost, RunFiles, startFencepost } from "../support/fencepost_process.ts";
import {
  file,
  kindsOf,
  load,
  reasonsOf,
  refused,
  runTest,
  summaryOf,
  undisturbedRun,
  VISIT,
} from "../support/run_case.ts";

runTest("a file to its end: status 0, the triggers, and a summary for machines", async (files) => {
  const poison = ["{", '{"device_id":"a"}'];
  await Deno.writeTextFile(files.input, file(...VISIT, VISIT[0], ...poison));
  const ended = await runFencepost([...files.args, "--summary", "json"]);
  const summary = summaryOf(ended);
  equal(ended.stdout, "");
  equal(summary["read"], 5);
  deepEqual(summary["emitted"], { ENTER: 1, EXIT: 1, DWELL: 1, DWELL_passed_on: 0, RETRACT: 0 });
  equal(summary["suppressed"], 1);
  deepEqual(summary["dead_lettered"], { MALFORMED_JSON: 1, MISSING_FIELD: 1 });
  deepEqual([summary["pairs"], summary["pending_dwells"], summary["waiting"]], [1, 0, 0]);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
  deepEqual(await reasonsOf(files.deadLetters), ["MALFORMED_JSON", "MISSING_FIELD"]);
});

runTest("triggers alone go to stdout, and the summary to stderr", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  const ended = await runFencepost(["run", "--input", files.input, ...files.kept]);
  equal(ended.status, 0);
  equal(ended.stdout.split("\n").length, 4);
  for (const line of ended.stdout.trimEnd().split("\n")) ok("id" in JSON.parse(line));
  match(ended.stderr, /^fencepost: The output stdout can't be read back.*at least once/m);
  match(ended.stderr, /^emitted +1 ENTER, 1 EXIT, 1 DWELL$/m);
});

const WRONG: readonly (readonly [name: string, args: readonly string[], message: RegExp])[] = [
  ["an unknown flag", ["--inptu", "x"], /--inptu/],
  ["a flag without its value", ["--input"], /--input/],
  ["a word too many", ["everything"], /everything/],
  ["an unknown key", ["--set", "dwell.latenes=5s"], /dwell\.latenes/],
  ["a wrong type", ["--set", "partitions=many"], /partitions/],
  ["widths that contradict each other", ["--set", "dwell.lateness=12m"], /dwell\.lateness .*12m/],
  ["a configuration that is not there", ["--config", "nowhere.json"], /nowhere\.json/],
];
for (const [name, args, message] of WRONG) {
  runTest(`${name}: status 2, and nothing is touched`, async (files, directory) => {
    await Deno.writeTextFile(files.input, file(...VISIT));
    refused(await runFencepost([...files.args, ...args], { directory }), 2, message);
    deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["input.ndjson"]);
  });
}

const SAME: readonly (readonly [name: string, args: readonly string[], message: RegExp])[] = [
  [
    "an output that is the input by another path",
    ["--output", "./input.ndjson"],
    /sink\.path .*source\.path/,
  ],
  ["an output that is the input by a link", ["--output", "hard.ndjson"], /sink\.path .*source\.path/],
  [
    "an output that is the input by a symbolic link",
    ["--output", "soft.ndjson"],
    /sink\.path .*source\.path/,
  ],
  [
    "two outputs that will be one file",
    ["--output", "x/a", "--dead-letters", "x/./a"],
    /dead_letters\.path .*sink/,
  ],
  [
    "an output in the place of the state",
    ["--output", "s/state.kv", "--state", "s"],
    /sink\.path .*checkpoint/,
  ],
];
for (const [name, args, message] of SAME) {
  runTest(`${name}: status 2, and nothing is touched`, async ({ input }, directory) => {
    await Deno.writeTextFile(input, file(...VISIT));
    await Deno.link(input, join(directory, "hard.ndjson"));
    await Deno.symlink(input, join(directory, "soft.ndjson"));
    refused(await runFencepost(["run", "--input", input, ...args], { directory }), 2, message);
    deepEqual(await linesOf(input), VISIT);
    deepEqual(
      [...Deno.readDirSync(directory)].map(({ name }) => name).toSorted(),
      ["hard.ndjson", "input.ndjson", "soft.ndjson"],
    );
  });
}

runTest("a redirection onto the input: status 2, and the input is as it was", async ({ input, kept }) => {
  await Deno.writeTextFile(input, file(...VISIT));
  const shell = `"$@" >> '${input}'`;
  refused(await runFencepost(["run", "--input", input, ...kept], { shell }), 2, /sink\.path .*source\.path/);
  deepEqual(await linesOf(input), VISIT);
});

runTest("an input that is not there: status 1 and its name", async (files) => {
  refused(await runFencepost(files.args), 1, /input\.ndjson.*no such file/);
});

runTest("a file where the state directory should be: status 1 and its name", async (files) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  await Deno.writeTextFile(files.state, "not a directory");
  refused(await runFencepost(files.args), 1, /\/state/);
  equal(await Deno.readTextFile(files.state), "not a directory");
  deepEqual(await linesOf(files.output), []);
});

runTest("an output that can't be written: status 1 and its name", async (files, directory) => {
  await Deno.writeTextFile(files.input, file(...VISIT));
  await Deno.mkdir(files.output);
  refused(await runFencepost(files.args, { directory }), 1, /Cannot write to .*triggers\.ndjson/);
});

runTest("a closed output pipe: status 1, one line, no stack trace", async (files, directory) => {
  await Deno.writeFile(files.input, load(20_000));
  const ended = await runFencepost(["run", "--input", files.input, ...files.kept], {
    directory,
    shell: '{ "$@"; echo $? > status; } | head -n 1 > /dev/null',
  });
  equal(await Deno.readTextFile(join(directory, "status")), "1\n");
  refused({ ...ended, status: 1 }, 1, /stdout: nobody reads it any more/);
  const said = ended.stderr.trimEnd().split("\n").filter((line) => !line.includes("at least once"));
  equal(said.length, 1, ended.stderr);
});

runTest(
  "a full disk: status 1, and once there is room nothing is lost and nothing twice",
  async (files, directory) => {
    await Deno.writeFile(files.input, load(20_000));
    const undisturbed = await undisturbedRun(files.input, directory);
    // A device that is always full, in place of the output: a checkpoint is made before the first line fails.
    const full = await runFencepost(["run", "--input", files.input, ...files.kept], {
      shell: 'exec "$@" > /dev/full',
    });
    refused(full, 1, /Cannot write to stdout: the disk is full/);
    equal((await runFencepost(files.args)).status, 0);
    deepEqual((await linesOf(files.output)).toSorted(), (await linesOf(undisturbed.output)).toSorted());
    equal((await linesOf(files.deadLetters)).length, (await linesOf(undisturbed.deadLetters)).length);
  },
);

runTest("a full file system under output and state: the same", async (files, directory) => {
  const disk = join(directory, "disk");
  await Deno.mkdir(disk);
  if (!await mountSmallDisk(disk)) return;
  try {
    await Deno.writeFile(files.input, load(20_000));
    const undisturbed = await undisturbedRun(files.input, directory);
    const onDisk = new RunFiles(disk, files.input);
    const args = onDisk.args;
    refused(await runFencepost(args), 1, /the disk is full/);
    await shell(`mount -o remount,size=64m ${disk}`);
    const again = await runFencepost(args);
    equal(again.status, 0, again.stderr);
    deepEqual((await linesOf(onDisk.output)).toSorted(), (await linesOf(undisturbed.output)).toSorted());
    equal((await linesOf(onDisk.deadLetters)).length, (await linesOf(undisturbed.deadLetters)).length);
  } finally {
    await shell(`umount ${disk}`);
  }
});

runTest("an empty file, and one of blank lines: status 0 and nothing comes of it", async (files) => {
  for (const text of ["", "\n\r\n\n"]) {
    await Deno.writeTextFile(files.input, text);
    const summary = summaryOf(await runFencepost([...files.args, "--summary", "json", "--from-start"]));
    equal(summary["read"], 0);
    deepEqual(await linesOf(files.output), []);
  }
});

runTest("a byte order mark, CRLF and a last line without its end", async (files) => {
  await Deno.writeTextFile(files.input, "\ufeff" + VISIT.join("\r\n"));
  const summary = summaryOf(await runFencepost([...files.args, "--summary", "json"]));
  deepEqual([summary["read"], summary["dead_lettered"]], [2, {}]);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
});

runTest("a dead letter names the record's place and carries it", async (files) => {
  const wrong = '{"device_id":"é","fence_id":"depot","kind":"LEAVE","event_time":"2026-03-01T00:00:00Z"}';
  await Deno.writeTextFile(files.input, file(VISIT[0], wrong, VISIT[1]));
  equal((await runFencepost(files.args)).status, 0);
  const [line = ""] = await linesOf(files.deadLetters);
  const { at, detail, ...rest } = JSON.parse(line) as Record<string, unknown>;
  deepEqual(rest, {
    reason: "INVALID_KIND",
    source: files.input,
    position: { offset: VISIT[0].length + 1, line: 2 },
    record: wrong,
  });
  match(String(detail), /LEAVE/);
  ok(!Number.isNaN(Date.parse(String(at))));
});

/** Whether it could be: only root may, and not everywhere. */
async function mountSmallDisk(directory: string): Promise<boolean> {
  return await shell(`mount -t tmpfs -o size=1m tmpfs ${directory} 2> /dev/null`);
}

async function shell(command: string): Promise<boolean> {
  return (await new Deno.Command("sh", { args: ["-c", command] }).output()).success;
}

runTest("a signal before anything was taken: status 0, and nothing is touched", async (files, directory) => {
  const config = join(directory, "config.json");
  await new Deno.Command("mkfifo", { args: [config] }).output();
  const { child, ended } = startFencepost([...files.args, "--config", config]);
  // Opens when the other end does: it waits for its configuration from here on.
  using _config = await Deno.open(config, { write: true });
  child.kill("SIGTERM");
  const { status, signal } = await ended;
  deepEqual([status, signal], [0, null]);
  deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["config.json"]);
});
