/**
 * Configurations: what is refused is refused by name; what is accepted can be printed, and is the same when it is read
 * again. And no key of `--set` makes anything else fail.
 *
 * @module
 */
import { ok, strictEqual } from "node:assert/strict";
import { configToJson, DEFAULT_CONFIG_JSON, parseConfig, setConfigKey } from "../../lib/config.ts";
import { ConfigError } from "../../lib/config_fields.ts";
import type { Json } from "../../lib/json.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateBytes, oddValue } from "./mutation.ts";

/** Configurations that say a lot. */
const CONFIGS: readonly string[] = [
  DEFAULT_CONFIG_JSON,
  configToJson(parseConfig({
    identity: { bucket: "1s", guard: "100ms", max_skew: "300ms", min_revisit: "3s", ttl: "1h" },
    dwell: {
      rules: [{ fence: "depot-*", after: ["10m", "30m"] }, { fence: "*", after: [] }],
      on_reenter: "continue",
    },
    emit: "ordered",
    source: { type: "kafka", topic: "in", group: "g" },
    kafka: { brokers: ["localhost:9092", "[::1]:9093"] },
    sink: [{ type: "kafka", topic: "out", cloudevents: true }, {
      type: "ndjson",
      path: "out-{partition}.ndjson",
    }],
    dead_letters: { type: "kafka", topic: "dl", retention: "5m" },
    checkpoint: { path: "kafka:state" },
  })),
  configToJson(parseConfig({
    source: { type: "http", listen: "127.0.0.1:8787" },
    sink: [{ type: "webhook", name: "erp", url: "https://erp.example/hook", secrets: [{ env: "SECRET" }] }],
  })),
].map((json) => JSON.stringify(json));

/** What mutations put in beside odd values. */
const PIECES = [
  ...[
    '"',
    ",",
    "{",
    "}",
    "[",
    "]",
    ":",
    "null",
    "0",
    "1e9",
    "-1",
    "10m",
    "0s",
    "*",
    "kafka:",
    "{partition}",
    "-",
  ],
  ...[
    '"__proto__":{"emit":"ordered"},',
    '"constructor":1,',
    '"emit":"ordered",',
    '"type":"kafka",',
    '"partitions":1024,',
  ],
];
const KEYS = [
  "",
  ".",
  "__proto__",
  "constructor",
  "toString",
  "dwell.rules",
  "dwell.rules.0",
  "kafka.brokers.x",
  "sink.path",
];

/** A text that may be JSON, and a key that may be set over it. */
interface ConfigInput {
  readonly text: string;
  readonly key: string;
  readonly value: string;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** See the module's header. */
export class ConfigTarget implements FuzzTarget<ConfigInput> {
  readonly name = "config";
  readonly share = 60_000;
  readonly outcomes = ["accepted", "refused", "no JSON"];

  draw(chance: Chance): ConfigInput {
    const text = chance.pick(CONFIGS);
    const key = chance.happens(0.5) ? chance.pick(KEYS) : chance.pick(keysOf(JSON.parse(text) as Json, ""));
    const input = { text, key, value: oddValue(chance) };
    if (chance.happens(0.4)) return { ...input, text: withOddValue(chance, JSON.parse(text) as Json) };
    const bytes = encoder.encode(text);
    return { ...input, text: decoder.decode(mutateBytes(chance, bytes, { other: bytes, pieces: PIECES })) };
  }

  judge({ text, key, value }: ConfigInput): string {
    let json: Json;
    try {
      json = JSON.parse(text) as Json;
    } catch {
      return "no JSON";
    }
    refusable(() => parseConfig(setConfigKey(json, key, JSON.parse(value) as Json)));
    const config = refusable(() => parseConfig(json));
    if (config === null) return "refused";
    const printed = JSON.stringify(configToJson(config));
    const again = configToJson(parseConfig(JSON.parse(printed)));
    strictEqual(JSON.stringify(again), printed, "what is printed is read as the same");
    return "accepted";
  }

  show(input: ConfigInput): string {
    return JSON.stringify(input).slice(0, 2000);
  }
}

/** Null where it is refused as it should be. */
function refusable<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    ok(error.message.startsWith("Cannot read config: "), error.message);
    ok(error.message.length < 1500, "a message can be read");
    return null;
  }
}

/** The dotted keys of all that is in it. */
function keysOf(json: Json, prefix: string): string[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [prefix];
  return Object.entries(json).flatMap(([name, value]) =>
    keysOf(value, prefix === "" ? name : `${prefix}.${name}`)
  );
}

/** One value, anywhere, is another. */
function withOddValue(chance: Chance, json: Json): string {
  const names = [] as string[];
  JSON.stringify(json, (name, value: unknown) => (names.push(name), value));
  const chosen = chance.below(names.length);
  let at = 0;
  const mark = "a place that is filled in";
  const marked = JSON.stringify(json, (_name, value: unknown) => at++ === chosen ? mark : value);
  return marked.replace(JSON.stringify(mark), () => oddValue(chance));
}
