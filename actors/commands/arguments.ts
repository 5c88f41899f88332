/**
 * What the command line asks for: words in, one of a closed set of commands out. Nothing is read or opened here.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import { statePlaceOf } from "../../lib/state_place.ts";
import { parseDuration } from "../../lib/time.ts";
import { type Command, COMMANDS } from "./command_table.ts";
import {
  type ListDeadLettersArguments,
  listDeadLettersArguments,
  type ReplayDeadLettersArguments,
  replayDeadLettersArguments,
} from "./dead_letters_arguments.ts";
import { type GivenFlags, parseFlags, UsageError } from "./flags.ts";
import { type PlanArguments, planArguments } from "./plan_arguments.ts";

/** One key that the command line sets. */
export interface Setting {
  /** Dotted. */
  readonly key: string;
  readonly value: Json;
  /** Only a better default: holds unless the file or another setting has one of these keys. */
  readonly unlessGiven?: readonly string[];
}

/** Where the configuration comes from: the defaults, the file over them, the settings over that, the last one first. */
export interface ConfigArguments {
  /** Path of the JSON file; null for none. */
  readonly file: string | null;
  readonly settings: readonly Setting[];
}

/** `fencepost run`, and `serve`, which is a run whose source is HTTP. */
export interface RunArguments {
  readonly command: "run";
  readonly config: ConfigArguments;
  readonly summary: "text" | "json";
  readonly printConfig: boolean;
}

/** The codes of SPEC 2. */
export type Code = "E" | "X" | "D" | "P" | "R";

/** `fencepost key`. */
export interface KeyArguments {
  readonly command: "key";
  readonly config: ConfigArguments;
  /** The transitions: a file of them, or the fields of one as they would stand in a record. */
  readonly transitions: { readonly path: string } | { readonly record: Json };
  /** Replaces the code that follows from the kind. */
  readonly code: Code | null;
  readonly json: boolean;
}

/** `fencepost audit`. */
export interface AuditArguments {
  readonly command: "audit";
  readonly paths: readonly string[];
  readonly bucketUs: number;
  /** How many findings are shown. */
  readonly limit: number;
  readonly json: boolean;
}

/** `fencepost explain`. */
export interface ExplainArguments {
  readonly command: "explain";
  readonly config: ConfigArguments;
  readonly path: string;
  /** What comes along with each message. */
  readonly topic: string | null;
  readonly key: string | null;
  readonly headers: ReadonlyMap<string, string>;
  readonly json: boolean;
}

/** `fencepost ops alerts`. */
export interface AlertsArguments {
  readonly command: "ops alerts";
  readonly config: ConfigArguments;
  /** The scrape job's name. */
  readonly job: string;
}

/** Everything that a command line can ask for. */
export type Arguments =
  | RunArguments
  | KeyArguments
  | AuditArguments
  | ExplainArguments
  | { readonly command: "formats"; readonly name: string | null }
  | PlanArguments & { readonly config: ConfigArguments }
  | ListDeadLettersArguments & { readonly config: ConfigArguments }
  | ReplayDeadLettersArguments & { readonly config: ConfigArguments }
  | AlertsArguments
  | { readonly command: "ops grafana" }
  | { readonly command: "help"; readonly of: string | null }
  | { readonly command: "version" };

/**
 * Reads the command line.
 *
 * @param words without the program's name
 * @throws {UsageError} where it can't be understood
 */
export function parseArguments(words: readonly string[]): Arguments {
  const [first, ...rest] = withGroup(words);
  // What somebody gets who only starts the binary.
  if (first === undefined) return parseArguments(["serve"]);
  if (first === "--version" || first === "-V" || first === "version") return { command: "version" };
  if (first === "--help" || first === "-h") return { command: "help", of: null };
  if (first === "help") {
    const [of] = withGroup(rest);
    return { command: "help", of: of === undefined || isGroup(of) ? of ?? null : commandOf(of).name };
  }
  if (isGroup(first)) {
    if (rest.includes("--help") || rest.includes("-h")) return { command: "help", of: first };
    throw new UsageError(`${first} does what? See fencepost ${first} --help`);
  }
  const command = commandOf(first);
  const operandsAt = rest.indexOf("--");
  const flagWords = operandsAt < 0 ? rest : rest.slice(0, operandsAt);
  // Asked for first, so that help is to be had however wrong the rest is.
  if (flagWords.includes("--help") || flagWords.includes("-h")) return { command: "help", of: command.name };
  const given = parseFlags(command.name, rest, command.flags);
  switch (command.name) {
    case "run":
      return runArguments(given);
    case "serve":
      return serveArguments(given);
    case "key":
      return keyArguments(given);
    case "dead-letters list":
      return { ...listDeadLettersArguments(given), config: configArguments(given, []) };
    case "dead-letters replay":
      return { ...replayDeadLettersArguments(given), config: configArguments(given, []) };
    case "explain":
      return explainArguments(given);
    case "formats":
      if (given.operands.length > 1) throw new UsageError("formats takes one NAME at most");
      return { command: "formats", name: given.operands[0] ?? null };
    case "plan":
      refuseOperands("plan", given, "did you mean --config");
      return { ...planArguments(given), config: configArguments(given, []) };
    case "ops alerts":
      refuseOperands("ops alerts", given, "did you mean --config");
      return {
        command: "ops alerts",
        config: configArguments(given, []),
        job: given.value("job") ?? "fencepost",
      };
    case "ops grafana":
      refuseOperands("ops grafana", given, "did you mean >");
      return { command: "ops grafana" };
    default:
      return auditArguments(given);
  }
}

/** The words with a command of two words, `dead-letters list`, as one. */
function withGroup(words: readonly string[]): readonly string[] {
  const [first, second, ...rest] = words;
  if (first === undefined || second === undefined || !isGroup(first) || second.startsWith("-")) return words;
  return [`${first} ${second}`, ...rest];
}

/** Whether it is the first word of commands that have two. */
function isGroup(word: string): boolean {
  return COMMANDS.some(({ name }) => name.startsWith(`${word} `));
}

function commandOf(name: string): Command {
  const command = COMMANDS.find((known) => known.name === name);
  if (command !== undefined) return command;
  const meant = nearest(name, COMMANDS.map((known) => known.name));
  throw new UsageError(
    `There is no command ${name}; ${meant === null ? "see fencepost --help" : `did you mean ${meant}?`}`,
  );
}

function runArguments(given: GivenFlags): RunArguments {
  refuseOperands("run", given, "did you mean --input");
  const settings: Setting[] = [];
  const short = (flag: string, key: string): void => {
    const value = given.value(flag);
    if (value !== null) settings.push({ key, value });
  };
  const shortSwitch = (flag: string, key: string): void => {
    const value = given.switched(flag);
    if (value !== null) settings.push({ key, value });
  };
  short("input", "source.path");
  short("output", "sink.path");
  short("state", "checkpoint.path");
  short("dead-letters", "dead_letters.path");
  short("listen", "http.listen");
  short("at-eof", "source.at_eof");
  short("format", "source.format");
  shortSwitch("live", "source.live");
  shortSwitch("from-start", "source.from_start");
  const partitions = given.value("partitions");
  if (partitions !== null) settings.push({ key: "partitions", value: jsonOrText(partitions) });
  settings.push(...deadLettersInState(given.value("state")));
  return runOf(given, settings);
}

const STATE_DEFAULT = "fencepost-data";

function serveArguments(given: GivenFlags): RunArguments {
  refuseOperands("serve", given, "did you mean --listen");
  const settings: Setting[] = [{ key: "source.type", value: "http" }];
  const shorts = {
    listen: "source.listen",
    output: "sink.path",
    state: "checkpoint.path",
    "dead-letters": "dead_letters.path",
    format: "source.format",
  };
  for (const [flag, key] of Object.entries(shorts)) {
    const value = given.value(flag);
    if (value !== null) settings.push({ key, value });
  }
  const partitions = given.value("partitions");
  if (partitions !== null) settings.push({ key: "partitions", value: jsonOrText(partitions) });
  const state = given.value("state");
  const unlessGiven = ["sink"];
  settings.push({
    key: "sink.path",
    value: inDirectory(state ?? STATE_DEFAULT, "triggers.ndjson"),
    unlessGiven,
  });
  settings.push(...deadLettersInState(state));
  return runOf(given, settings);
}

/** A directory has room for the dead letters, too. */
function deadLettersInState(state: string | null): Setting[] {
  if (state === null || statePlaceOf(state).type !== "directory") return [];
  const unlessGiven = ["dead_letters.path", "dead_letters.topic"];
  return [{ key: "dead_letters.path", value: inDirectory(state, "dead-letters.ndjson"), unlessGiven }];
}

function inDirectory(directory: string, name: string): string {
  return `${directory.replace(/\/+$/, "")}/${name}`;
}

function runOf(given: GivenFlags, settings: readonly Setting[]): RunArguments {
  const summary = given.value("summary") ?? "text";
  if (summary !== "text" && summary !== "json") {
    throw new UsageError(`--summary must be text or json, got ${summary}`);
  }
  return {
    command: "run",
    config: configArguments(given, settings),
    summary,
    printConfig: given.switched("print-config") ?? false,
  };
}

/** Kinds that `key` makes a record of, by code. Our own DWELL and a RETRACT are no records, so they lend one. */
const KIND_OF_CODE: Readonly<Record<Code, string>> = {
  E: "ENTER",
  X: "EXIT",
  D: "DWELL",
  P: "DWELL",
  R: "DWELL",
};

function keyArguments(given: GivenFlags): KeyArguments {
  refuseOperands("key", given, "did you mean --input");
  const settings: Setting[] = [];
  for (const name of ["bucket", "guard"]) {
    const value = given.value(name);
    if (value !== null) settings.push({ key: `identity.${name}`, value });
  }
  const code = given.value("code");
  if (code !== null && !isCode(code)) {
    throw new UsageError(`--code must be one of E, X, D, P and R, got ${code}`);
  }
  return {
    command: "key",
    config: configArguments(given, settings),
    transitions: keyTransitions(given, code),
    code,
    json: given.switched("json") ?? false,
  };
}

function keyTransitions(given: GivenFlags, code: Code | null): KeyArguments["transitions"] {
  const path = given.value("input");
  const names = ["device", "fence", "kind", "time", "seq"] as const;
  if (path !== null) {
    const surplus = names.find((name) => given.value(name) !== null);
    if (surplus !== undefined) throw new UsageError(`--${surplus} and --input exclude each other`);
    return { path };
  }
  const kind = given.value("kind");
  if (kind !== null && code !== null) throw new UsageError("--kind and --code exclude each other");
  if ((code === "D" || code === "R") && given.value("seq") !== null) {
    throw new UsageError(`--seq and --code ${code} exclude each other: only what passes through has a seq`);
  }
  for (const name of ["device", "fence", "time"]) {
    if (given.value(name) === null) {
      throw new UsageError(`key needs --${name}, or --input; see fencepost key --help`);
    }
  }
  if (kind === null && code === null) {
    throw new UsageError("key needs --kind or --code; see fencepost key --help");
  }
  const record = {
    device_id: given.value("device"),
    fence_id: given.value("fence"),
    kind: code === null ? kind : KIND_OF_CODE[code],
    event_time: given.value("time"),
    seq: given.value("seq"),
  };
  return { record };
}

function isCode(text: string): text is Code {
  return Object.hasOwn(KIND_OF_CODE, text);
}

function explainArguments(given: GivenFlags): ExplainArguments {
  const [path = "-", ...more] = given.operands;
  if (more.length > 0) throw new UsageError("explain reads one FILE, or - for stdin");
  const format = given.value("format");
  const headers = given.all("header").map((text): [string, string] => {
    const equals = text.indexOf("=");
    if (equals <= 0) throw new UsageError(`--header needs a name and a value, x-device-id=7, got ${text}`);
    return [text.slice(0, equals).toLowerCase(), text.slice(equals + 1)];
  });
  return {
    command: "explain",
    config: configArguments(given, format === null ? [] : [{ key: "source.format", value: format }]),
    path,
    topic: given.value("topic"),
    key: given.value("key"),
    headers: new Map(headers),
    json: given.switched("json") ?? false,
  };
}

const AUDIT_BUCKET = "2s";
const AUDIT_LIMIT = "1000";

function auditArguments(given: GivenFlags): AuditArguments {
  if (given.operands.length === 0) throw new UsageError("audit needs a FILE of triggers, or - for stdin");
  if (given.operands.filter((path) => path === "-").length > 1) {
    throw new UsageError("Stdin can be read once only");
  }
  const bucket = given.value("bucket") ?? AUDIT_BUCKET;
  const bucketUs = parseDuration(bucket);
  if (!(bucketUs > 0)) throw new UsageError(`--bucket must be a duration such as 2s, got ${bucket}`);
  const limit = given.value("limit") ?? AUDIT_LIMIT;
  if (!/^[0-9]{1,9}$/.test(limit)) throw new UsageError(`--limit must be a whole number, got ${limit}`);
  return {
    command: "audit",
    paths: given.operands,
    bucketUs,
    limit: Number(limit),
    json: given.switched("json") ?? false,
  };
}

function configArguments(given: GivenFlags, short: readonly Setting[]): ConfigArguments {
  return { file: given.value("config"), settings: [...given.all("set").map(parseSetting), ...short] };
}

/** `dwell.lateness=2s` as a setting. */
function parseSetting(text: string): Setting {
  const equals = text.indexOf("=");
  if (equals <= 0) {
    throw new UsageError(`--set needs a dotted key and a value, dwell.lateness=2s, got ${text}`);
  }
  return { key: text.slice(0, equals), value: jsonOrText(text.slice(equals + 1)) };
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function refuseOperands(command: string, given: GivenFlags, hint: string): void {
  const [operand] = given.operands;
  if (operand !== undefined) throw new UsageError(`${command} takes flags only; ${hint} ${operand}?`);
}
