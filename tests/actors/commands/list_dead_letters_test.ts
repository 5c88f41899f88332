import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { DeadLetterSelection } from "../../../actors/commands/dead_letters_arguments.ts";
import { UsageError } from "../../../actors/commands/flags.ts";
import { listDeadLetters } from "../../../actors/commands/list_dead_letters.ts";
import { parseConfig } from "../../../lib/config.ts";
import {
  KAFKA_CONFIG,
  type LetterFiles,
  letterLine,
  type LetterTopic,
  LetterWorld,
  WALL_US,
} from "../../support/dead_letter_files.ts";

const FILES: LetterFiles = {
  "a": [
    letterLine({}),
    letterLine(
      { reason: "LATE", detail: "too late", source: "t", position: { partition: 3, offset: 9 } },
      10,
    ),
  ],
  "b": [letterLine({ reason: "MALFORMED_JSON" }, 3600), "noise", null, letterLine({})],
};

async function list(
  { json = false, config = {}, files = FILES, topic = null, ...selection }:
    & Partial<DeadLetterSelection>
    & { json?: boolean; config?: unknown; files?: LetterFiles; topic?: LetterTopic | null },
) {
  const world = new LetterWorld(files, topic);
  const writes: string[] = [];
  const write = (text: string): Promise<void> => {
    writes.push(text);
    return Promise.resolve();
  };
  const asked = { paths: ["a", "b"], reasons: null, since: null, ...selection, json };
  try {
    const status = await listDeadLetters(asked, parseConfig(config), {
      open: world.open,
      openTopic: world.openTopic,
      say: world.say,
      wallUs: world.wallUs,
      write,
    });
    return { status, output: writes.join(""), said: world.said, writes: writes.length };
  } finally {
    deepStrictEqual(world.isOpen, []);
  }
}

Deno.test("dead-letters list: each letter, and counts by reason", async () => {
  const { status, output, said } = await list({ paths: ["a"] });
  strictEqual(status, 0);
  strictEqual(said, "");
  strictEqual(
    output,
    [
      '2026-05-04T07:59:10.250000Z INVALID_KIND field.ndjson {"offset":0,"line":1}',
      "  kind must be another",
      '2026-05-04T08:00:00.250000Z LATE t {"partition":3,"offset":9}',
      "  too late",
      "2 dead letters",
      "  INVALID_KIND        1",
      "  LATE                1",
      "",
    ].join("\n"),
  );
});

Deno.test("dead-letters list: damaged lines are said, passed over, and are status 1", async () => {
  const { status, output, said } = await list({});
  strictEqual(status, 1);
  strictEqual(
    said,
    "fencepost: b:2 is no dead letter: it is no JSON object\n" +
      "fencepost: b:3 is no dead letter: it is too long for one\n",
  );
  ok(output.includes("\n4 dead letters\n  MALFORMED_JSON      1\n  INVALID_KIND        2\n"));
  ok(output.endsWith("\nlines that are no dead letters: 2\n"));
});

Deno.test("dead-letters list: by reason and time", async () => {
  const cases: [Partial<DeadLetterSelection>, string[]][] = [
    [{}, ["INVALID_KIND", "LATE", "MALFORMED_JSON", "INVALID_KIND"]],
    [{ reasons: ["LATE", "MALFORMED_JSON"] }, ["LATE", "MALFORMED_JSON"]],
    [{ reasons: ["SINK_REJECTED"] }, []],
    [{ since: { agoUs: 60e6 } }, ["INVALID_KIND", "LATE", "INVALID_KIND"]],
    [{ since: { agoUs: 60e6 - 1 } }, ["LATE"]],
    [{ since: { atUs: WALL_US - 10e6 } }, ["LATE"]],
    [{ since: { atUs: WALL_US - 10e6 + 1 } }, []],
    [{ since: { agoUs: 3600e6 }, reasons: ["MALFORMED_JSON"] }, ["MALFORMED_JSON"]],
  ];
  for (const [selection, expected] of cases) {
    const { output } = await list({ ...selection, json: true });
    const lines = output.trimEnd().split("\n").map((line) => JSON.parse(line));
    const summary = lines.pop();
    deepStrictEqual(lines.map(({ reason }) => reason), expected);
    strictEqual(summary.dead_letters, expected.length);
    strictEqual(summary.not_asked_for, 4 - expected.length);
  }
});

Deno.test("dead-letters list: as JSON, the last line sums up", async () => {
  const { status, output } = await list({ json: true, paths: ["b"], reasons: ["MALFORMED_JSON"] });
  strictEqual(status, 1);
  deepStrictEqual(output.trimEnd().split("\n").map((line) => JSON.parse(line)), [
    {
      entry: "letter",
      reason: "MALFORMED_JSON",
      detail: "kind must be another",
      source: "field.ndjson",
      position: { offset: 0, line: 1 },
      at: "2026-05-04T07:00:10.250000Z",
      bytes: 120,
      file: "b",
      line: 1,
    },
    {
      entry: "summary",
      dead_letters: 1,
      reasons: { MALFORMED_JSON: 1 },
      not_asked_for: 1,
      other_lines: 2,
    },
  ]);
});

Deno.test("dead-letters list: a record can't write on the terminal what it likes", async () => {
  const files = { "a": [letterLine({ detail: "got \x1b[2J\u009b\u202e\r\né", source: "s\x07" })] };
  const { output } = await list({ files, paths: ["a"] });
  ok(output.includes(" s\\u0007 "));
  ok(output.includes("  got \\u001b[2J\\u009b\\u202e\\u000d\\u000aé\n"));
});

Deno.test("dead-letters list: without a file that of the configuration", async () => {
  const { output } = await list({ paths: [], config: { dead_letters: { path: "a" } } });
  ok(output.includes("2 dead letters"));
});

Deno.test("dead-letters list: without a file the topic of the configuration, where that is one", async () => {
  const topic = [[letterLine({}), null], [], [letterLine({ reason: "LATE" })]];
  const { status, output, said } = await list({ paths: [], config: KAFKA_CONFIG, topic, json: true });
  strictEqual(status, 1);
  strictEqual(said, "fencepost: dead[0]:2 is no dead letter: it is too long for one\n");
  const entries = output.trimEnd().split("\n").map((line) => JSON.parse(line));
  const summary = entries.pop();
  deepStrictEqual(
    entries.map(({ reason, topic, partition, offset, file }) => [reason, topic, partition, offset, file]),
    [["INVALID_KIND", "dead", 0, 1, undefined], ["LATE", "dead", 2, 1, undefined]],
  );
  deepStrictEqual([summary.dead_letters, summary.other_lines], [2, 1]);
  const given = await list({ paths: ["a"], config: KAFKA_CONFIG, topic });
  ok(given.output.includes("2 dead letters\n  INVALID_KIND        1\n  LATE                1\n"));
});

Deno.test("dead-letters list: a topic that can't be opened, or breaks off", async () => {
  const asked = { paths: [], config: KAFKA_CONFIG };
  await rejects(
    list(asked),
    (error) =>
      error instanceof UsageError &&
      error.message === "Cannot read the dead letters of topic dead: no broker answers",
  );
  await rejects(list({ ...asked, topic: [["BREAK"]] }), { message: "Cannot read dead: input/output error" });
});

Deno.test("dead-letters list: a long list is written in few pieces, and whole", async () => {
  const files = { "a": Array.from({ length: 3000 }, () => letterLine({})) };
  const { output, writes } = await list({ files, paths: ["a"] });
  strictEqual(output.split("INVALID_KIND field.ndjson").length, 3001);
  ok(writes > 1 && writes < 20, String(writes));
});

Deno.test("dead-letters list: a file that is missing, or breaks off", async () => {
  await rejects(
    list({ paths: ["a", "none"] }),
    (error) => error instanceof UsageError && error.message === "Cannot read none: there is no such file",
  );
  await rejects(list({ files: { "a": [letterLine({}), "BREAK"] }, paths: ["a"] }), {
    message: "Cannot read a: input/output error",
  });
});
