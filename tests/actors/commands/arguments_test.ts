import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { parseArguments } from "../../../actors/commands/arguments.ts";
import { COMMANDS } from "../../../actors/commands/command_table.ts";
import { UsageError } from "../../../actors/commands/flags.ts";
import { helpText } from "../../../actors/commands/help.ts";

function refusalOf(words: readonly string[]): string {
  let message = "";
  throws(() => parseArguments(words), (error) => {
    message = (error as Error).message;
    return error instanceof UsageError;
  });
  return message;
}

const NO_CONFIG = { file: null, settings: [] };

Deno.test("parseArguments: run without flags", () => {
  deepStrictEqual(parseArguments(["run"]), {
    command: "run",
    config: NO_CONFIG,
    summary: "text",
    printConfig: false,
  });
});

Deno.test("parseArguments: run with all flags, in both spellings", () => {
  const config = {
    file: "c.json",
    settings: [
      { key: "dwell.lateness", value: "2s" },
      { key: "identity.capacity", value: 5 },
      { key: "source.path", value: "in" },
      { key: "sink.path", value: "-" },
      { key: "checkpoint.path", value: "dir/" },
      { key: "dead_letters.path", value: "dead" },
      { key: "source.at_eof", value: "hold" },
      { key: "source.live", value: true },
      { key: "source.from_start", value: false },
      { key: "partitions", value: 4 },
      {
        key: "dead_letters.path",
        value: "dir/dead-letters.ndjson",
        unlessGiven: ["dead_letters.path", "dead_letters.topic"],
      },
    ],
  };
  const expected = { command: "run", config, summary: "json", printConfig: true };
  const pairs = [
    ["config", "c.json"],
    ["set", "dwell.lateness=2s"],
    ["set", "identity.capacity=5"],
    ["input", "in"],
    ["output", "-"],
    ["state", "dir/"],
    ["dead-letters", "dead"],
    ["at-eof", "hold"],
    ["partitions", "4"],
    ["summary", "json"],
  ];
  const switches = ["--live", "--from-start=false", "--print-config"];
  deepStrictEqual(
    parseArguments(["run", ...pairs.flatMap(([name, value]) => [`--${name}`, `${value}`]), ...switches]),
    expected,
  );
  deepStrictEqual(
    parseArguments(["run", ...switches, ...pairs.map(([name, value]) => `--${name}=${value}`)]),
    expected,
  );
});

Deno.test("parseArguments: a --set value is JSON where it is JSON", () => {
  const cases: [string, unknown][] = [
    ["5s", "5s"],
    ["5", 5],
    ["true", true],
    ["null", null],
    ['"7"', "7"],
    ["", ""],
    ["a=b", "a=b"],
    ['[{"fence":"*","after":["1m"]}]', [{ fence: "*", after: ["1m"] }]],
    ["{broken", "{broken"],
  ];
  for (const [text, value] of cases) {
    const parsed = parseArguments(["run", "--set", `a.b=${text}`]);
    deepStrictEqual(parsed.command === "run" && parsed.config.settings, [{ key: "a.b", value }]);
  }
});

Deno.test("parseArguments: the state's directory holds the dead letters", () => {
  for (
    const [directory, path] of [["d", "d/dead-letters.ndjson"], ["d//", "d/dead-letters.ndjson"], [
      "/",
      "/dead-letters.ndjson",
    ]]
  ) {
    const parsed = parseArguments(["run", "--state", `${directory}`]);
    deepStrictEqual(parsed.command === "run" && parsed.config.settings, [
      { key: "checkpoint.path", value: directory },
      { key: "dead_letters.path", value: path, unlessGiven: ["dead_letters.path", "dead_letters.topic"] },
    ]);
  }
});

Deno.test("parseArguments: key", () => {
  const words = ["key", "--device", "-5", "--fence=--f", "--time", "2026-05-04T08:00:00Z"];
  const record = {
    device_id: "-5",
    fence_id: "--f",
    kind: "EXIT",
    event_time: "2026-05-04T08:00:00Z",
    seq: null,
  };
  const expected = { command: "key", config: NO_CONFIG, transitions: { record }, code: null, json: false };
  deepStrictEqual(parseArguments([...words, "--kind", "EXIT"]), expected);
  deepStrictEqual(parseArguments([...words, "--code", "D", "--json", "--bucket", "3s"]), {
    command: "key",
    config: { file: null, settings: [{ key: "identity.bucket", value: "3s" }] },
    transitions: { record: { ...record, kind: "DWELL" } },
    code: "D",
    json: true,
  });
  deepStrictEqual(parseArguments(["key", "--input", "-", "--code=P"]), {
    command: "key",
    config: NO_CONFIG,
    transitions: { path: "-" },
    code: "P",
    json: false,
  });
});

Deno.test("parseArguments: audit", () => {
  deepStrictEqual(parseArguments(["audit", "a", "-"]), {
    command: "audit",
    paths: ["a", "-"],
    bucketUs: 2_000_000,
    limit: 1000,
    json: false,
  });
  deepStrictEqual(parseArguments(["audit", "--bucket=500ms", "--json", "--limit", "0", "--", "--odd", "b"]), {
    command: "audit",
    paths: ["--odd", "b"],
    bucketUs: 500_000,
    limit: 0,
    json: true,
  });
});

Deno.test("parseArguments: help and version", () => {
  deepStrictEqual(parseArguments(["--version"]), { command: "version" });
  deepStrictEqual(parseArguments(["version"]), { command: "version" });
  for (const words of [["--help"], ["-h"], ["help"]]) {
    deepStrictEqual(parseArguments(words), { command: "help", of: null });
  }
  for (
    const words of [["help", "run"], ["run", "--help"], ["run", "--wrong", "-h"], [
      "run",
      "--input",
      "--help",
    ]]
  ) {
    deepStrictEqual(parseArguments(words), { command: "help", of: "run" });
  }
});

Deno.test("parseArguments: what is refused, and the message", () => {
  const cases: [string[], string][] = [
    [["rum"], "There is no command rum; did you mean run?"],
    [["frobnicate"], "There is no command frobnicate; see fencepost --help"],
    [["help", "rum"], "There is no command rum; did you mean run?"],
    [["--input", "x"], "There is no command --input; see fencepost --help"],
    [["run", "--outptu", "x"], "run has no flag --outptu; did you mean --output?"],
    [["run", "--outptu=x"], "run has no flag --outptu; did you mean --output?"],
    [["run", "-input", "x"], "run has no flag -input; did you mean --input?"],
    [["run", "--zzz"], "run has no flag --zzz; see fencepost run --help"],
    [["run", "--"], ""],
    [["run", "file"], "run takes flags only; did you mean --input file?"],
    [["run", "--", "--live"], "run takes flags only; did you mean --input --live?"],
    [["run", "--input"], "--input needs a value, FILE|-, got nothing"],
    [
      ["run", "--input", "--live"],
      "--input needs a value, FILE|-, got --live (write --input=--live if it is meant)",
    ],
    [["run", "--input", "a", "--input=a"], "--input is given twice"],
    [["run", "--live", "--live"], "--live is given twice"],
    [["run", "--live=maybe"], "--live is a switch and takes true or false, got maybe"],
    [["run", "--set", "a"], "--set needs a dotted key and a value, dwell.lateness=2s, got a"],
    [["run", "--set", "=a"], "--set needs a dotted key and a value, dwell.lateness=2s, got =a"],
    [["run", "--summary", "xml"], "--summary must be text or json, got xml"],
    [["key"], "key needs --device, or --input; see fencepost key --help"],
    [["key", "--device=a", "--fence=b", "--time=c"], "key needs --kind or --code; see fencepost key --help"],
    [["key", "--kind=EXIT", "--code=X"], "--kind and --code exclude each other"],
    [["key", "--input=-", "--seq=7"], "--seq and --input exclude each other"],
    [["key", "--code=Q"], "--code must be one of E, X, D, P and R, got Q"],
    [["key", "--code=toString"], "--code must be one of E, X, D, P and R, got toString"],
    [
      ["key", "--code=D", "--seq=1"],
      "--seq and --code D exclude each other: only what passes through has a seq",
    ],
    [["audit"], "audit needs a FILE of triggers, or - for stdin"],
    [["audit", "-", "-"], "Stdin can be read once only"],
    [["audit", "a", "--bucket", "2"], "--bucket must be a duration such as 2s, got 2"],
    [["audit", "a", "--bucket", "0s"], "--bucket must be a duration such as 2s, got 0s"],
    [["audit", "a", "--limit", "-1"], "--limit must be a whole number, got -1"],
  ];
  for (const [words, message] of cases) {
    if (message === "") parseArguments(words);
    else strictEqual(refusalOf(words), message);
  }
});

Deno.test("helpText: names every command and every flag, in 100 columns", () => {
  for (const { name } of COMMANDS) strictEqual(helpText(null).includes(`\n  ${name} `), true, name);
  for (const { name, flags } of COMMANDS) {
    const text = helpText(name);
    for (const flag of flags) strictEqual(text.includes(`\n  --${flag.name} `), true, flag.name);
    for (const line of text.split("\n")) strictEqual(line.length <= 100, true, line);
  }
});

Deno.test("parseArguments: serve, which is also what no argument at all means", () => {
  const asked = parseArguments([]);
  deepStrictEqual(asked, parseArguments(["serve"]));
  deepStrictEqual(asked, {
    command: "run",
    config: {
      file: null,
      settings: [
        { key: "source.type", value: "http" },
        { key: "sink.path", value: "fencepost-data/triggers.ndjson", unlessGiven: ["sink"] },
      ],
    },
    summary: "text",
    printConfig: false,
  });
  const given = parseArguments([
    "serve",
    "--listen",
    "[::1]:80",
    "--state",
    "s/",
    "--output",
    "-",
    "--partitions",
    "4",
  ]);
  deepStrictEqual(given.command === "run" ? given.config.settings : null, [
    { key: "source.type", value: "http" },
    { key: "source.listen", value: "[::1]:80" },
    { key: "sink.path", value: "-" },
    { key: "checkpoint.path", value: "s/" },
    { key: "partitions", value: 4 },
    { key: "sink.path", value: "s/triggers.ndjson", unlessGiven: ["sink"] },
    {
      key: "dead_letters.path",
      value: "s/dead-letters.ndjson",
      unlessGiven: ["dead_letters.path", "dead_letters.topic"],
    },
  ]);
});
