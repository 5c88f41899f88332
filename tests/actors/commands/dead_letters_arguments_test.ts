import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { parseArguments } from "../../../actors/commands/arguments.ts";
import { UsageError } from "../../../actors/commands/flags.ts";
import { helpText } from "../../../actors/commands/help.ts";

const NO_CONFIG = { file: null, settings: [] };
const LIST = {
  command: "dead-letters list",
  config: NO_CONFIG,
  paths: [],
  reasons: null,
  since: null,
  json: false,
};
const REPLAY = {
  command: "dead-letters replay",
  config: NO_CONFIG,
  paths: [],
  reasons: null,
  since: null,
  output: null,
  placeBy: null,
  dryRun: false,
  force: false,
  olderThanTtl: false,
  limit: 1000,
};

Deno.test("parseArguments: dead-letters list", () => {
  deepStrictEqual(parseArguments(["dead-letters", "list"]), LIST);
  const words = ["dead-letters", "list", "a", "--json", "-", "--reason", "LATE,invalid_kind"];
  deepStrictEqual(
    parseArguments([...words, "--reason=TOO_LARGE", "--config=c.json", "--set", "partitions=1"]),
    {
      ...LIST,
      config: { file: "c.json", settings: [{ key: "partitions", value: 1 }] },
      paths: ["a", "-"],
      reasons: ["LATE", "INVALID_KIND", "TOO_LARGE"],
      json: true,
    },
  );
});

Deno.test("parseArguments: dead-letters replay", () => {
  deepStrictEqual(parseArguments(["dead-letters", "replay"]), REPLAY);
  const switches = ["--dry-run", "--force", "--older-than-ttl"];
  deepStrictEqual(
    parseArguments(["dead-letters", "replay", ...switches, "--output", "o", "--limit", "0", "a"]),
    {
      ...REPLAY,
      paths: ["a"],
      output: "o",
      dryRun: true,
      force: true,
      olderThanTtl: true,
      limit: 0,
    },
  );
  for (const placeBy of ["device", "source"]) {
    deepStrictEqual(parseArguments(["dead-letters", "replay", "--partition", placeBy]), {
      ...REPLAY,
      placeBy,
    });
  }
  throws(
    () => parseArguments(["dead-letters", "replay", "--partition", "3"]),
    (error) => error instanceof UsageError && error.message.includes("device or source, got 3"),
  );
});

Deno.test("parseArguments: --since is a time or a duration", () => {
  const cases: [string, unknown][] = [
    ["2h", { agoUs: 7_200_000_000 }],
    ["0s", { agoUs: 0 }],
    ["2026-05-04T08:00:10.25Z", { atUs: 1_777_881_610_250_000 }],
    ["2026-05-04 10:00:10.25+02:00", { atUs: 1_777_881_610_250_000 }],
  ];
  for (const [text, since] of cases) {
    deepStrictEqual(parseArguments(["dead-letters", "list", "--since", text]), { ...LIST, since });
  }
});

Deno.test("parseArguments: help for both dead-letters commands, and for each", () => {
  const cases: [string[], string][] = [
    [["dead-letters", "--help"], "dead-letters"],
    [["dead-letters", "-h", "list"], "dead-letters"],
    [["help", "dead-letters"], "dead-letters"],
    [["help", "dead-letters", "replay"], "dead-letters replay"],
    [["dead-letters", "list", "--wrong", "--help"], "dead-letters list"],
  ];
  for (const [words, of] of cases) deepStrictEqual(parseArguments(words), { command: "help", of });
  const both = helpText("dead-letters");
  ok(both.includes(helpText("dead-letters list")) && both.includes(helpText("dead-letters replay")));
});

Deno.test("parseArguments: what is refused of dead-letters, and the message", () => {
  const since = "--since must be a time such as 2026-11-30T20:30:00Z, or a duration such as 2h, got ";
  const cases: [string[], string][] = [
    [[], "dead-letters does what? See fencepost dead-letters --help"],
    [["--json", "list"], "dead-letters does what? See fencepost dead-letters --help"],
    [["lst"], "There is no command dead-letters lst; did you mean dead-letters list?"],
    [
      ["list", "--dry-run"],
      "dead-letters list has no flag --dry-run; see fencepost dead-letters list --help",
    ],
    [["list", "--reason", "LATER"], "There is no reason LATER; did you mean LATE?"],
    [["list", "--since", "yesterday"], `${since}yesterday`],
    [["list", "--since", "2026-05-04"], `${since}2026-05-04`],
    [["list", "-", "a", "-"], "Stdin can be read once only"],
    [["replay", "a", "a"], "a is given twice, so its records would be"],
    [["replay", "--limit", "many"], "--limit must be a whole number, got many"],
    [["replay", "--force=maybe"], "--force is a switch and takes true or false, got maybe"],
  ];
  for (const [words, message] of cases) {
    throws(() => parseArguments(["dead-letters", ...words]), (error) => {
      strictEqual((error as Error).message, message);
      return error instanceof UsageError;
    });
  }
  for (const reason of ["", "LATE,", "CONSTRUCTOR"]) {
    throws(() => parseArguments(["dead-letters", "list", `--reason=${reason}`]), (error) => {
      return error instanceof UsageError && error.message.startsWith("--reason must be of MALFORMED_JSON,");
    });
  }
});
