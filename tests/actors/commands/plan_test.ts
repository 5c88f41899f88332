/**
 * `fencepost plan`: its flags, what it prints, and that the configuration is one that can be run.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { parseArguments } from "../../../actors/commands/arguments.ts";
import { UsageError } from "../../../actors/commands/flags.ts";
import { planCommand } from "../../../actors/commands/plan.ts";
import type { PlanArguments } from "../../../actors/commands/plan_arguments.ts";
import { parseConfig, setConfigKey } from "../../../lib/config.ts";
import { ConfigError } from "../../../lib/config_fields.ts";
import type { Json } from "../../../lib/json.ts";
import { randomFrom } from "../../support/random.ts";

const MINUTE = 60_000_000;
const LOAD = ["--rate", "25000", "--pairs", "1900000"];

function argumentsOf(words: readonly string[]): PlanArguments {
  const asked = parseArguments(["plan", ...words]);
  if (asked.command !== "plan") throw new Error(`It is ${asked.command}`);
  return asked;
}

async function planned(
  words: readonly string[],
  base: Json = {},
): Promise<{ stdout: string; stderr: string }> {
  const out = { stdout: "", stderr: "" };
  const status = await planCommand(argumentsOf(words), base, {
    write: (text) => {
      out.stdout += text;
      return Promise.resolve();
    },
    say: (text) => {
      out.stderr += text;
    },
  });
  equal(status, 0);
  return out;
}

Deno.test("parseArguments: plan's units, and what holds where nothing is said", () => {
  const { config: _, ...asked } = argumentsOf([
    ...LOAD,
    ...["--after", "30m, 10m,10m", "--retention=7d", "--skew", "250ms", "--memory", "1.5GiB", "--json"],
  ]) as PlanArguments & { readonly config: unknown };
  deepEqual(asked, {
    command: "plan",
    ratePerSecond: 25_000,
    pairs: 1_900_000,
    afterUs: [10 * MINUTE, 30 * MINUTE],
    retryUs: MINUTE / 2,
    replayUs: 4 * MINUTE,
    retentionUs: 7 * 24 * 60 * MINUTE,
    skewUs: 250_000,
    revisitUs: null,
    partitions: null,
    idBytes: 25,
    memoryBytes: 1.5 * 2 ** 30,
    json: true,
  });
});

Deno.test("parseArguments: what plan refuses names the flag", () => {
  const cases: [readonly string[], RegExp][] = [
    [["--rate", "5"], /^plan needs --pairs/],
    [["--pairs", "5"], /^plan needs --rate/],
    [["--rate", "0", "--pairs", "5"], /^--rate must be a whole number from 1 to 10000000, got 0$/],
    [["--rate", "2.5", "--pairs", "5"], /^--rate .* got 2\.5$/],
    [[...LOAD, "--retry", "30"], /^--retry must be a duration such as .*, got 30$/],
    [[...LOAD, "--replay", "3651d"], /^--replay /],
    [[...LOAD, "--after", "10m,"], /^--after must be a duration such as .*, got $/],
    [[...LOAD, "--partitions", "1025"], /^--partitions must be a whole number from 1 to 1024, got 1025$/],
    [[...LOAD, "--memory", "2G"], /^--memory must be a size such as 512MiB or 2GiB, got 2G$/],
    [[...LOAD, "--memory", "0MiB"], /^--memory /],
    [[...LOAD, "config.json"], /^plan takes flags only/],
  ];
  for (const [words, message] of cases) {
    throws(
      () => argumentsOf(words),
      (error) => error instanceof UsageError && message.test(error.message),
      words.join(" "),
    );
  }
});

Deno.test("plan: stdout is a configuration, stderr says why and warns", async () => {
  const { stdout, stderr } = await planned([...LOAD, "--retention", "7d", "--after", "10m,30m"]);
  const config = parseConfig(JSON.parse(stdout));
  equal(config.identity.minRevisitUs, 5_000_000);
  equal(config.identity.ttlUs, 5 * MINUTE);
  equal(config.identity.allowShortTtl, true);
  deepEqual(config.dwell.rules, [{ fence: "*", afterUs: [10 * MINUTE, 30 * MINUTE] }]);
  equal(config.deadLetters.retentionUs, 7 * 24 * 60 * MINUTE);
  match(stderr, /^memory +[0-9.]+ MiB/m);
  match(stderr, /^warning: identity\.ttl: 5m is below the retention of dead letters, 7d/m);
});

Deno.test("plan: keeps what the configuration has, and takes it into account", async () => {
  const base = { dwell: { lateness: "20s" }, source: { type: "http" }, identity: { min_revisit: "3s" } };
  const { stdout } = await planned([...LOAD, "--json"], base);
  const told = JSON.parse(stdout);
  equal(told.waiting_records, 500_000);
  const config = parseConfig(told.config);
  equal(config.dwell.latenessUs, 20_000_000);
  equal(config.source.type, "http");
  equal(config.identity.bucketUs, 1_200_000);
  const silent = JSON.parse(
    (await planned([...LOAD, "--json"], { ...base, source: { type: "ndjson" } })).stdout,
  );
  ok(told.memory.total_bytes > silent.memory.total_bytes, "who listens takes more");
});

Deno.test("plan: of a topic, partitions are its own and no key", async () => {
  const base = {
    kafka: { brokers: ["127.0.0.1:9092"] },
    source: { type: "kafka", topic: "in" },
    sink: { type: "kafka", topic: "out" },
    dead_letters: { type: "kafka", topic: "dead" },
  };
  const { stdout } = await planned([...LOAD, "--partitions", "12", "--json"], base);
  const told = JSON.parse(stdout);
  equal(told.partitions, 12);
  equal("partitions" in told.config, false);
  equal(parseConfig(told.config).source.topic, "in");
});

Deno.test("plan: what can't be run is refused as run would refuse it, with the warnings before", async () => {
  const said: string[] = [];
  const environment = { write: () => Promise.resolve(), say: (text: string) => void said.push(text) };
  await rejects(
    planCommand(argumentsOf([...LOAD, "--after", "3s"]), {}, environment),
    (error) => error instanceof ConfigError && /dwell\.lateness must be below/.test(error.message),
  );
  match(said.join(""), /warning: dwell\.lateness/);
});

Deno.test("plan: run takes whatever it prints, for workloads of all sizes", async () => {
  const random = randomFrom(7);
  const upTo = (digits: number): string => String(Math.floor(10 ** (random() * digits)));
  for (let step = 0; step < 300; step++) {
    const words = [
      ...["--rate", upTo(6.9), "--pairs", upTo(8.9), "--retry", `${upTo(4)}s`, "--replay", `${upTo(6)}s`],
      ...["--skew", `${upTo(5)}ms`, "--revisit", `${upTo(6)}ms`, "--retention", `${upTo(8)}s`],
      ...["--after", `${10 + Number(upTo(3))}s,${2000 + Number(upTo(5))}s`, "--id-bytes", upTo(2.7)],
    ];
    const { stdout } = await planned([...words, "--json"]);
    const told = JSON.parse(stdout);
    parseConfig(told.config);
    ok(
      Number.isFinite(told.memory.total_bytes) && Number.isFinite(told.checkpoint.bytes_per_second),
      words.join(" "),
    );
    // And over itself: what was planned is no bound for the next plan.
    const again = await planned(words, setConfigKey(told.config, "checkpoint.path", "x"));
    parseConfig(JSON.parse(again.stdout));
  }
});
