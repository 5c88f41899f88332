/**
 * `fencepost dead-letters` as a process, over what a `run` has written: pipes, files, exit statuses, and that a replay
 * into the `run` that writes the same dead letters has an end.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { inDirectory, linesOf, runFencepost, RunFiles } from "../support/fencepost_process.ts";
import { crossing, file, kindsOf, reasonsOf, refused } from "../support/run_case.ts";

const encoder = new TextEncoder();

/** A visit of eleven minutes whose EXIT is misspelt. */
const BROKEN_VISIT: readonly [string, string] = [
  crossing("ENTER", 0),
  crossing("EXIT", 660).replace("EXIT", "EXITED"),
];

function deadLettersTest(
  name: string,
  body: (files: RunFiles, directory: string) => Promise<void>,
): void {
  Deno.test(
    `dead-letters: ${name}`,
    () => inDirectory((directory) => body(new RunFiles(directory), directory)),
  );
}

/** Runs over the input, which must come to its end. */
async function runToEnd(files: RunFiles, ...args: readonly string[]): Promise<void> {
  const { status, stderr } = await runFencepost([...files.args, ...args]);
  equal(status, 0, stderr);
}

/** Mends a copy, as a person would: the file itself must not be shorter than the checkpoint knows. */
async function mended(path: string, from: string, to: string): Promise<string> {
  const copy = `${path}.mended`;
  await Deno.writeTextFile(copy, (await Deno.readTextFile(path)).replaceAll(from, to));
  return copy;
}

/** A command line for a shell: `"$@"` is the first, these are its words. */
function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}

deadLettersTest("what was listed and mended goes through a pipe into run", async (files, directory) => {
  await Deno.writeTextFile(files.input, file(...BROKEN_VISIT, "{"));
  // Under `hold` the end of the input completes nothing: the visit's EXIT is still to come.
  await runToEnd(files, "--at-eof", "hold");
  const listed = await runFencepost(["dead-letters", "list", files.deadLetters, "--json"]);
  equal(listed.status, 0, listed.stderr);
  const entries = listed.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  deepEqual(entries.map(({ entry, reason }) => reason ?? entry), [
    "INVALID_KIND",
    "MALFORMED_JSON",
    "summary",
  ]);

  const copy = await mended(files.deadLetters, "EXITED", "EXIT");
  const records = join(directory, "records.ndjson");
  const replayed = await runFencepost(["dead-letters", "replay", copy], {
    shell: `"$@" > '${records}'`,
  });
  equal(replayed.status, 1);
  match(replayed.stderr, /dead-letters\.ndjson\.mended:2 MALFORMED_JSON is not sent: It would come back/);
  match(replayed.stderr, /^fencepost: 1 record sent to stdout$/m);
  deepEqual(await linesOf(records), [crossing("EXIT", 660)]);

  const run = await runFencepost(["run", "--output", files.output, ...files.kept], {
    input: await Deno.readFile(records),
  });
  equal(run.status, 0, run.stderr);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
  equal((await reasonsOf(files.deadLetters)).length, 2);
});

deadLettersTest("a replay into the run that writes the same dead letters has an end", async (files) => {
  const poison = Array.from({ length: 2000 }, (_, i) => `{${i}`);
  await Deno.writeTextFile(files.input, file(...poison));
  await runToEnd(files);
  const command = quoted(["run", "--output", files.output, ...files.kept]);
  const both = await runFencepost(["dead-letters", "replay", "--force", files.deadLetters], {
    // The words before the command's own are the executable and its flags.
    shell: `main=; for word; do [ "$word" = dead-letters ] && break; main="$main $word"; done; ` +
      `"$@" | $main ${command}`,
  });
  equal(both.status, 0, both.stderr);
  const records = (await linesOf(files.deadLetters)).map((line) => JSON.parse(line).record);
  deepEqual(records, [...poison, ...poison]);
});

deadLettersTest("records are appended to the file that run reads, and read from there", async (files) => {
  await Deno.writeTextFile(files.input, file(...BROKEN_VISIT));
  await runToEnd(files, "--at-eof", "hold");
  const copy = await mended(files.deadLetters, "EXITED", "EXIT");
  const given = ["--set", `dead_letters.path=${copy}`, "--output", files.input];
  const dry = await runFencepost(["dead-letters", "replay", ...given, "--dry-run"]);
  deepEqual([dry.status, dry.stdout], [0, ""]);
  match(dry.stderr, /^fencepost: 1 record would be sent to .*input\.ndjson$/m);
  deepEqual(await linesOf(files.input), BROKEN_VISIT);

  const replayed = await runFencepost(["dead-letters", "replay", ...given]);
  deepEqual([replayed.status, replayed.stdout], [0, ""], replayed.stderr);
  deepEqual(await linesOf(files.input), [...BROKEN_VISIT, crossing("EXIT", 660)]);
  await runToEnd(files);
  deepEqual((await kindsOf(files.output)).toSorted(), ["DWELL", "ENTER", "EXIT"]);
});

deadLettersTest("every byte comes back, from stdin too, and what was too large does not", async (files) => {
  const records = [
    Uint8Array.of(0xff, 0x00, 0xc3),
    encoder.encode(`{"é🚧":"\u2028\x7f"`),
    encoder.encode('"' + "\x01".repeat(65_000) + '"'),
    new Uint8Array(70_000).fill(0x7b),
  ];
  const input = records.flatMap((record) => [...record, 0x0a]);
  await Deno.writeFile(files.input, Uint8Array.from(input));
  await runToEnd(files);
  equal((await reasonsOf(files.deadLetters)).length, 4);
  const kept = await Deno.readFile(files.deadLetters);
  const expected = Uint8Array.from(input.slice(0, -70_001));
  for (const shell of ['cat "$FILE" | "$@" > "$FILE".out', '"$@" < "$FILE" > "$FILE".out']) {
    const ended = await runFencepost(["dead-letters", "replay", "--force", "-"], {
      shell: `FILE='${files.deadLetters}'; ${shell}`,
    });
    equal(ended.status, 1);
    match(ended.stderr, /only the first 65536 of its 70000 bytes were kept/);
    deepEqual(await Deno.readFile(`${files.deadLetters}.out`), expected);
  }
  // They are a log: nothing was taken out.
  deepEqual(await Deno.readFile(files.deadLetters), kept);
});

deadLettersTest("old ones are refused unless insisted on", async (files) => {
  await Deno.writeTextFile(files.input, file(BROKEN_VISIT[1]));
  await runToEnd(files);
  const copy = await mended(await mended(files.deadLetters, "EXITED", "EXIT"), '"at":"20', '"at":"19');
  const old = await runFencepost(["dead-letters", "replay", copy]);
  deepEqual([old.status, old.stdout], [1, ""]);
  match(old.stderr, /^fencepost: 1 not: older than identity\.ttl \(--older-than-ttl/m);
  const insisted = await runFencepost(["dead-letters", "replay", copy, "--older-than-ttl"]);
  deepEqual([insisted.status, insisted.stdout], [0, file(crossing("EXIT", 660))]);
});

deadLettersTest("a torn line is passed over with its number", async (files) => {
  await Deno.writeTextFile(files.input, file(BROKEN_VISIT[1], "{"));
  await runToEnd(files);
  const whole = await Deno.readTextFile(files.deadLetters);
  await Deno.writeTextFile(files.deadLetters, whole.slice(0, -20));
  const listed = await runFencepost(["dead-letters", "list", files.deadLetters]);
  equal(listed.status, 1);
  match(listed.stderr, /dead-letters\.ndjson:2 is no dead letter/);
  match(listed.stdout, /^1 dead letter$/m);
});

const WRONG: readonly (readonly [name: string, args: readonly string[], message: RegExp])[] = [
  ["neither list nor replay", [], /dead-letters --help/],
  ["an unknown reason", ["list", "--reason", "LATR"], /LATE/],
  ["a file that is not there", ["replay", "none.ndjson"], /none\.ndjson: there is no such file/],
  ["a directory", ["replay", "."], /it is a directory/],
  ["the dead letters as the output", ["replay", "d.ndjson", "--output", "./d.ndjson"], /another file/],
  ["a configuration that is refused", ["list", "d.ndjson", "--set", "emit=never"], /emit/],
];
for (const [name, args, message] of WRONG) {
  deadLettersTest(`${name}: status 2, and nothing is touched`, async (_, directory) => {
    await Deno.writeTextFile(join(directory, "d.ndjson"), "");
    refused(await runFencepost(["dead-letters", ...args], { directory }), 2, message);
    deepEqual([...Deno.readDirSync(directory)].map((entry) => entry.name), ["d.ndjson"]);
    equal(await Deno.readTextFile(join(directory, "d.ndjson")), "");
  });
}

deadLettersTest("a reader that goes away, an output that can't be written: status 1", async (files) => {
  const letter = JSON.stringify({
    reason: "LATE",
    detail: "x".repeat(500),
    source: "-",
    position: 0,
    at: new Date().toISOString(),
    record: crossing("EXIT", 660),
  });
  await Deno.writeTextFile(files.deadLetters, file(...Array.from({ length: 20_000 }, () => letter)));
  for (const action of ["list", "replay"]) {
    const status = `${files.deadLetters}.status`;
    const ended = await runFencepost(["dead-letters", action, files.deadLetters], {
      shell: `{ "$@"; echo $? > '${status}'; } | head -n 1 > /dev/null`,
    });
    equal(await Deno.readTextFile(status), "1\n");
    refused({ ...ended, status: 1 }, 1, /closed|nobody reads it/);
  }
  await Deno.mkdir(files.output);
  const unwritable = await runFencepost([
    "dead-letters",
    "replay",
    files.deadLetters,
    "--output",
    files.output,
  ]);
  refused(unwritable, 1, /Cannot write to .*triggers\.ndjson/);
  ok(!unwritable.stderr.includes("sent to"));
});
