import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { parseArguments } from "../../../actors/commands/arguments.ts";
import { loadConfig } from "../../../actors/commands/configuration.ts";
import { type Config, parseConfig } from "../../../lib/config.ts";

function load(words: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Config> {
  const parsed = parseArguments(["run", ...words]);
  if (parsed.command !== "run") throw new Error("run was asked for");
  return loadConfig(parsed.config, (path) => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Error("No such file")) : Promise.resolve(text);
  });
}

Deno.test("loadConfig: nothing given is the default", async () => {
  deepStrictEqual(await load([]), parseConfig({}));
});

Deno.test("loadConfig: defaults < file < --set < the other flags", async () => {
  const files = { "c.json": '{"source":{"path":"file"},"sink":{"path":"file2"},"dwell":{"lateness":"1s"}}' };
  const words = [
    "--set",
    "source.path=set",
    "--config",
    "c.json",
    "--set",
    "dwell.lateness=2s",
    "--input",
    "flag",
  ];
  const config = await load(words, files);
  strictEqual(config.source.path, "flag");
  strictEqual(config.sinks[0]?.path, "file2");
  strictEqual(config.dwell.latenessUs, 2_000_000);
  strictEqual((await load(["--set", "partitions=2", "--set", "partitions=3"])).partitions, 3);
});

Deno.test("loadConfig: --state moves the dead letters unless they are given", async () => {
  const files = {
    "c.json": '{"dead_letters":{"path":"file"}}',
    "d.json": '{"dead_letters":{"retention":"1m"}}',
  };
  const cases: [string[], string][] = [
    [[], "d/dead-letters.ndjson"],
    [["--dead-letters", "flag"], "flag"],
    [["--set", "dead_letters.path=set"], "set"],
    [["--config", "c.json"], "file"],
    [["--config", "d.json"], "d/dead-letters.ndjson"],
  ];
  for (const [words, path] of cases) {
    const config = await load([...words, "--state", "d"], files);
    strictEqual(config.checkpoint.path, "d");
    strictEqual(config.deadLetters.path, path);
  }
});

Deno.test("loadConfig: --state moves no dead letters that go to a topic, and none to where there is no directory", async () => {
  const kafka = { brokers: ["localhost:9092"] };
  const source = { type: "kafka", topic: "in" };
  const topics = { kafka, source, sink: { type: "kafka", topic: "out" } };
  const files = {
    "topic.json": JSON.stringify({ ...topics, dead_letters: { type: "kafka", topic: "dead" } }),
    "file.json": JSON.stringify({ ...topics, dead_letters: { path: "dead-{partition}" } }),
  };
  for (const state of ["kafka:state", "https://kv.example", "directory"]) {
    const toTopic = await load(["--config", "topic.json", "--state", state], files);
    deepStrictEqual([toTopic.checkpoint.path, toTopic.deadLetters.topic], [state, "dead"]);
    const toFile = await load(["--config", "file.json", "--state", state], files);
    strictEqual(toFile.deadLetters.path, "dead-{partition}");
  }
});

Deno.test("loadConfig: checked is what comes out of all layers", async () => {
  const files = { "c.json": '\uFEFF{"identity":{"guard":"1s"}}' };
  strictEqual(
    (await load(["--config", "c.json", "--set", "identity.bucket=3s"], files)).identity.guardUs,
    1_000_000,
  );
  await rejects(load(["--config", "c.json"], files), {
    name: "ConfigError",
    message: /^Cannot read config: identity\.guard /,
  });
});

Deno.test("loadConfig: what is refused, and the message", async () => {
  const files = { "list": "[]", "broken": "{", "unknown": '{"dwel":1}' };
  const cases: [string[], RegExp][] = [
    [["--config", "none"], /^Cannot read config: none: No such file$/],
    [["--config", "broken"], /^Cannot read config: broken: .*JSON/],
    [["--config", "list"], /^Cannot read config: it must be an object, got \[\]$/],
    [["--config", "list", "--set", "partitions=2"], /^Cannot read config: it must be an object, got \[\]$/],
    [["--config", "unknown"], /^Cannot read config: dwel is not a key/],
    [["--set", "dwell.latency=5s"], /^Cannot read config: dwell\.latency is not a key/],
    [["--partitions", "many"], /^Cannot read config: partitions must be a whole number, got "many"$/],
    [["--at-eof", "stop"], /^Cannot read config: source\.at_eof must be "flush" or "hold", got "stop"$/],
    [
      ["--input", "a", "--output", "a"],
      /^Cannot read config: sink\.path must not be source\.path too, got "a"$/,
    ],
  ];
  for (const [words, message] of cases) await rejects(load(words, files), { name: "ConfigError", message });
});
