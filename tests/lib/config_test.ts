import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  type Config,
  configToJson,
  DEFAULT_CONFIG_JSON,
  parseConfig,
  setConfigKey,
} from "../../lib/config.ts";
import { ConfigError } from "../../lib/config_fields.ts";
import type { Json } from "../../lib/json.ts";
import { formatDuration } from "../../lib/time.ts";
import { randomFrom } from "../support/random.ts";

const SECOND_US = 1_000_000;

/** A configuration that differs from the default in dotted keys. */
function configWith(keys: Readonly<Record<string, Json>>): Config {
  return parseConfig(jsonWith(keys));
}

function jsonWith(keys: Readonly<Record<string, Json>>): Json {
  return Object.entries(keys).reduce<Json>((json, [key, value]) => setConfigKey(json, key, value), {});
}

function refusalOf(json: unknown): string {
  let message = "";
  throws(() => parseConfig(json), (error) => {
    if (!(error instanceof ConfigError)) return false;
    message = error.message;
    return true;
  });
  return message;
}

Deno.test("parseConfig: nothing given is the default, in full", () => {
  const config = parseConfig({});
  deepStrictEqual(config, parseConfig(DEFAULT_CONFIG_JSON));
  strictEqual(config.identity.bucketUs, 2 * SECOND_US);
  strictEqual(config.identity.maxSkewUs, config.identity.guardUs);
  strictEqual(config.identity.minRevisitUs, null);
  deepStrictEqual(config.dwell.rules, [{ fence: "*", afterUs: [600 * SECOND_US] }]);
  deepStrictEqual(config.source, {
    type: "ndjson",
    path: "-",
    live: false,
    atEof: "flush",
    fromStart: false,
    topic: "",
    group: "fencepost",
    sessionTimeoutUs: 10 * SECOND_US,
    listen: "127.0.0.1:8787",
    format: { json: "native", mapping: null },
  });
  strictEqual(config.deadLetters.path, "fencepost-data/dead-letters.ndjson");
});

Deno.test("parseConfig: what is given replaces the default of its key alone", () => {
  const config = parseConfig({ dwell: { lateness: "2s" }, partitions: 4 });
  deepStrictEqual(config, {
    ...parseConfig({}),
    partitions: 4,
    dwell: { ...parseConfig({}).dwell, latenessUs: 2 * SECOND_US },
  });
});

Deno.test("parseConfig: max_skew is the guard unless it is given", () => {
  strictEqual(configWith({ "identity.guard": "300ms" }).identity.maxSkewUs, 300_000);
  strictEqual(
    configWith({ "identity.guard": "300ms", "identity.max_skew": "1s" }).identity.maxSkewUs,
    SECOND_US,
  );
  strictEqual(configWith({ "identity.max_skew": "0s" }).identity.maxSkewUs, 0);
});

Deno.test("parseConfig: thresholds are sorted", () => {
  const { rules } = configWith({ "dwell.rules": [{ fence: "depot-*", after: ["30m", "10m"] }] }).dwell;
  deepStrictEqual(rules, [{ fence: "depot-*", afterUs: [600 * SECOND_US, 1800 * SECOND_US] }]);
});

Deno.test("parseConfig: what is refused, and the message", () => {
  const cases: [unknown, string][] = [
    [null, "it must be an object, got null"],
    [[], "it must be an object, got []"],
    ["x", 'it must be an object, got "x"'],
    [{ dwel: {} }, "dwel is not a key of the configuration (did you mean dwell?), got {}"],
    [
      { dwell: { latenes: "1s" } },
      'dwell.latenes is not a key of the configuration (did you mean dwell.lateness?), got "1s"',
    ],
    [{ dwell: { colour: 1 } }, "dwell.colour is not a key of the configuration, got 1"],
    [JSON.parse('{"__proto__":{"a":1}}'), '__proto__ is not a key of the configuration, got {"a":1}'],
    [{ constructor: 1 }, "constructor is not a key of the configuration, got 1"],
    [{ dwell: null }, "dwell must be an object, got null"],
    [{ dwell: [] }, "dwell must be an object, got []"],
    [{ partitions: "16" }, 'partitions must be a whole number, got "16"'],
    [{ partitions: 1.5 }, "partitions must be a whole number, got 1.5"],
    [{ partitions: null }, "partitions must be a whole number, got null"],
    [
      { identity: { capacity: 100_000_000 } },
      "identity.capacity must be from 1 to 50000000, got 100000000",
    ],
    [{ partitions: 0 }, "partitions must be from 1 to 1024, got 0"],
    [{ partitions: 1025 }, "partitions must be from 1 to 1024, got 1025"],
    [{ emit: "Arrival" }, 'emit must be "arrival" or "ordered", got "Arrival"'],
    [{ source: { live: "true" } }, 'source.live must be true or false, got "true"'],
    [{ source: { type: "sql" } }, 'source.type must be "ndjson" or "kafka" or "http", got "sql"'],
    [{ source: { path: "" } }, 'source.path must not be empty: leave it out for "-", got ""'],
    [{ source: { group: "" } }, 'source.group must not be empty: leave it out for "fencepost", got ""'],
    [{ source: { path: 7 } }, "source.path must be text, got 7"],
    [
      { identity: { bucket: 2 } },
      'identity.bucket must be a duration such as "500ms", "5s", "10m", "2h" or "7d", got 2',
    ],
    [
      { identity: { bucket: "2 s" } },
      'identity.bucket must be a duration such as "500ms", "5s", "10m", "2h" or "7d", got "2 s"',
    ],
    [{ identity: { bucket: "0s" } }, "identity.bucket must be from 1ms to 1d, got 0s"],
    [{ identity: { bucket: "25h" } }, "identity.bucket must be from 1ms to 1d, got 25h"],
    [{ dwell: { rules: {} } }, "dwell.rules must be a list, got {}"],
    [{ dwell: { rules: [7] } }, "dwell.rules[0] must be an object, got 7"],
    [{ dwell: { rules: [{ fence: "*" }] } }, "dwell.rules[0].after must be a list, got nothing"],
    [{ dwell: { rules: [{ after: [] }] } }, "dwell.rules[0].fence must be text, got nothing"],
    [
      { dwell: { rules: [{ fence: "\ud800", after: [] }] } },
      'dwell.rules[0].fence must be well-formed text of at most 512 characters, got "\\ud800"',
    ],
    [
      { dwell: { rules: [{ fence: "*", after: [], until: 1 }] } },
      "dwell.rules[0].until is not a key of the configuration, got 1",
    ],
  ];
  for (const [json, message] of cases) strictEqual(refusalOf(json), `Cannot read config: ${message}`);
});

Deno.test("parseConfig: a message clips a long value", () => {
  const message = refusalOf({ emit: "x".repeat(10_000) });
  strictEqual(message.endsWith("x…"), true);
  strictEqual(message.length < 200, true);
});

/** Key by key, what is just allowed and what is just not, with the reason. */
const EDGES: [string, Readonly<Record<string, Json>>, Readonly<Record<string, Json>>, string][] = [
  ["2 guard < W", { "identity.guard": "999999us" }, { "identity.guard": "1s" }, "identity.guard"],
  ["max_skew < W", { "identity.max_skew": "1999999us" }, { "identity.max_skew": "2s" }, "identity.max_skew"],
  [
    "W < min_revisit",
    { "identity.min_revisit": "2000001us" },
    { "identity.min_revisit": "2s" },
    "identity.min_revisit",
  ],
  [
    "ttl ≥ retention",
    { "identity.ttl": "300s", "dead_letters.retention": "5m" },
    { "identity.ttl": "299s", "dead_letters.retention": "5m" },
    "identity.ttl",
  ],
  [
    "ttl ≥ retention, insisted",
    { "identity.ttl": "299s", "dead_letters.retention": "5m", "identity.allow_short_ttl": true },
    { "identity.ttl": "299s", "dead_letters.retention": "5m", "identity.allow_short_ttl": false },
    "identity.ttl",
  ],
  [
    "threshold ≥ 2 W",
    { "dwell.rules": [{ fence: "*", after: ["4s"] }], "dwell.lateness": "0s" },
    { "dwell.rules": [{ fence: "*", after: ["3999999us"] }], "dwell.lateness": "0s" },
    "dwell.rules[0].after",
  ],
  [
    "thresholds 2 W apart",
    { "dwell.rules": [{ fence: "*", after: ["10m", "604s"] }] },
    { "dwell.rules": [{ fence: "*", after: ["10m", "603999ms"] }] },
    "dwell.rules[0].after",
  ],
  [
    "thresholds of different rules may be close",
    { "dwell.rules": [{ fence: "a", after: ["10m"] }, { fence: "*", after: ["601s"] }] },
    { "dwell.rules": [{ fence: "a", after: ["10m"] }, { fence: "*", after: ["601s", "602s"] }] },
    "dwell.rules[1].after",
  ],
  [
    "16 thresholds",
    { "dwell.rules": [{ fence: "*", after: minutes(16) }] },
    { "dwell.rules": [{ fence: "*", after: minutes(17) }] },
    "dwell.rules[0].after",
  ],
  ["lateness < smallest", { "dwell.lateness": "599999999us" }, { "dwell.lateness": "10m" }, "dwell.lateness"],
  [
    "lateness < smallest of all rules",
    {
      "dwell.rules": [{ fence: "a", after: ["1h"] }, { fence: "b", after: ["10s"] }],
      "dwell.lateness": "9s",
    },
    {
      "dwell.rules": [{ fence: "a", after: ["1h"] }, { fence: "b", after: ["10s"] }],
      "dwell.lateness": "10s",
    },
    "dwell.lateness",
  ],
  [
    "lateness is free without thresholds",
    { "dwell.rules": [{ fence: "*", after: [] }], "dwell.lateness": "1d" },
    { "dwell.rules": [{ fence: "*", after: ["1d"] }], "dwell.lateness": "1d" },
    "dwell.lateness",
  ],
  ["state is a directory", { "checkpoint.path": "./-" }, { "checkpoint.path": "-" }, "checkpoint.path"],
  [
    "dead letters to a file",
    { "dead_letters.path": "/dev/stderr" },
    { "dead_letters.path": "-" },
    "dead_letters.path",
  ],
  [
    "output over input",
    { "source.path": "a", "sink.path": "b" },
    { "source.path": "a", "sink.path": "a" },
    "sink.path",
  ],
  [
    "output and dead letters",
    { "sink.path": "/dev/null", "dead_letters.path": "/dev/null" },
    { "sink.path": "out", "dead_letters.path": "out" },
    "dead_letters.path",
  ],
];

function minutes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index + 1}m`);
}

for (const [name, allowed, refused, key] of EDGES) {
  Deno.test(`parseConfig: ${name}`, () => {
    configWith(allowed);
    strictEqual(refusalOf(jsonWith(refused)).startsWith(`Cannot read config: ${key} must `), true);
  });
}

Deno.test("parseConfig: the message of a contradiction gives the value", () => {
  strictEqual(
    refusalOf({ dwell: { lateness: "12m" } }),
    "Cannot read config: dwell.lateness must be below the smallest threshold (10m), got 12m",
  );
});

Deno.test("configToJson: says everything, and reads back as the same", () => {
  const random = randomFrom(7);
  const below = (count: number): number => Math.floor(random() * count);
  for (let step = 0; step < 300; step++) {
    const bucketUs = 1000 + below(5 * SECOND_US);
    const config = configWith({
      "identity.bucket": formatDuration(bucketUs),
      "identity.guard": formatDuration(below(Math.floor((bucketUs - 1) / 2))),
      "identity.max_skew": below(2) === 0 ? null : formatDuration(below(bucketUs)),
      "identity.min_revisit": below(2) === 0 ? null : formatDuration(bucketUs + 1 + below(SECOND_US)),
      "dead_letters.retention": below(2) === 0 ? null : formatDuration(below(300 * SECOND_US)),
      "dwell.rules": Array.from({ length: below(4) }, (_, index) => ({
        fence: `*${index}`,
        after: minutes(below(4)),
      })),
      "emit": below(2) === 0 ? "arrival" : "ordered",
      "partitions": 1 + below(1024),
      "source.live": below(2) === 0,
      "sink.path": `out-${step}`,
    });
    const json = configToJson(config);
    deepStrictEqual(parseConfig(JSON.parse(JSON.stringify(json))), config, `seed 7, step ${step}`);
    deepStrictEqual(shapeOf(json), shapeOf(DEFAULT_CONFIG_JSON), `seed 7, step ${step}`);
  }
});

/** All dotted keys. */
function shapeOf(json: Json, parent = ""): string[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [parent];
  return Object.entries(json).flatMap(([name, value]) => shapeOf(value, `${parent}.${name}`));
}

Deno.test("setConfigKey: sets one key and leaves the rest", () => {
  const before = { dwell: { lateness: "5s" }, partitions: 2 };
  deepStrictEqual(setConfigKey(before, "dwell.tick", "2s"), {
    dwell: { lateness: "5s", tick: "2s" },
    partitions: 2,
  });
  deepStrictEqual(setConfigKey(before, "dwell.lateness", "1s"), { dwell: { lateness: "1s" }, partitions: 2 });
  deepStrictEqual(setConfigKey({}, "source.path", "-"), { source: { path: "-" } });
  deepStrictEqual(setConfigKey({}, "dwell", { tick: "2s" }), { dwell: { tick: "2s" } });
  deepStrictEqual(before, { dwell: { lateness: "5s" }, partitions: 2 });
});

Deno.test("setConfigKey: a key that there is not", () => {
  const cases: [string, RegExp][] = [
    [
      "dwell.latness",
      /^Cannot read config: dwell\.latness is not a key of the configuration \(did you mean dwell\.lateness\?\), got 1$/,
    ],
    ["", /^Cannot read config: {2}is not a key of the configuration, got 1$/],
    ["dwell.", /^Cannot read config: dwell\. is not a key/],
    ["__proto__.polluted", /^Cannot read config: __proto__ is not a key/],
    ["dwell.rules.0", /^Cannot read config: dwell\.rules has no keys below it .*, got dwell\.rules\.0=1$/],
  ];
  for (const [key, message] of cases) {
    throws(() => setConfigKey({}, key, 1), { name: "ConfigError", message });
  }
});

Deno.test("setConfigKey: what should be an object and is none is left to be refused", () => {
  strictEqual(
    refusalOf(setConfigKey({ dwell: 7 }, "dwell.tick", "1s")),
    "Cannot read config: dwell must be an object, got 7",
  );
  strictEqual(
    refusalOf(setConfigKey({ dwell: null }, "dwell.tick", "1s")),
    "Cannot read config: dwell must be an object, got null",
  );
});

/** A configuration over Kafka from end to end, with some keys otherwise. */
function kafkaConfig(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    kafka: { brokers: ["one:9092", "[::1]:9092"] },
    source: { type: "kafka", topic: "transitions" },
    sink: { type: "kafka", topic: "triggers", cloudevents: true },
    dead_letters: { type: "kafka", topic: "dead-letters", retention: "1m" },
    checkpoint: { path: "kafka:state" },
    ...changes,
  };
}

Deno.test("parseConfig: Kafka, with its defaults, and written back without the keys of files", () => {
  const config = parseConfig(kafkaConfig());
  deepStrictEqual(config.kafka, {
    brokers: ["one:9092", "[::1]:9092"],
    clientId: "fencepost",
    ssl: null,
    sasl: null,
  });
  deepStrictEqual([config.source.type, config.source.topic, config.source.group], [
    "kafka",
    "transitions",
    "fencepost",
  ]);
  const json = configToJson(config) as Record<string, Record<string, unknown>>;
  deepStrictEqual(json["source"], {
    type: "kafka",
    topic: "transitions",
    group: "fencepost",
    session_timeout: "10s",
    format: "native",
  });
  deepStrictEqual(json["sink"], { type: "kafka", topic: "triggers", cloudevents: true });
  deepStrictEqual(json["dead_letters"], { type: "kafka", topic: "dead-letters", retention: "1m" });
  deepStrictEqual(parseConfig(json), config);
  deepStrictEqual((configToJson(parseConfig({})) as Record<string, unknown>)["source"], {
    type: "ndjson",
    path: "-",
    live: false,
    at_eof: "flush",
    from_start: false,
    format: "native",
  });
});

Deno.test("parseConfig: topics beside a file and a webhook, of a source that is no topic", () => {
  const webhook = { type: "webhook", name: "erp", url: "https://erp.example/", secrets: [{ env: "S" }] };
  for (const source of [{ type: "http" }, { type: "ndjson", path: "in" }]) {
    const config = parseConfig(kafkaConfig({
      source,
      sink: [{ path: "out" }, { type: "kafka", topic: "one" }, webhook, { type: "kafka", topic: "two" }],
      dead_letters: {},
      checkpoint: {},
    }));
    deepStrictEqual(config.sinks.map(({ type, topic }) => type === "kafka" ? topic : type), [
      "ndjson",
      "one",
      "webhook",
      "two",
    ]);
    deepStrictEqual(parseConfig(configToJson(config)), config);
  }
});

Deno.test("parseConfig: Kafka key by key, as --set does it", () => {
  let json: Json = {};
  const keys: [string, Json][] = [
    ["kafka.brokers", ["b:1"]],
    ["kafka.ssl.ca_file", "ca.pem"],
    ["source.type", "kafka"],
    ["source.topic", "t"],
    ["sink.path", "out-{partition}.ndjson"],
    ["dead_letters.path", "dead-{partition}.ndjson"],
  ];
  for (const [key, value] of keys) json = setConfigKey(json, key, value);
  const { kafka, source } = parseConfig(json);
  strictEqual(kafka?.ssl?.caFile, "ca.pem");
  strictEqual(source.topic, "t");
});

Deno.test("parseConfig: what of Kafka is refused, and the message", () => {
  const brokers = ["b:1"];
  const sasl = { username: "u" };
  /** Of a source that is no topic. */
  const local = { dead_letters: {}, checkpoint: {} };
  const cases: [Record<string, unknown>, string][] = [
    [{ deployment: "a/b" }, 'deployment must not have a slash, got "a/b"'],
    [{ deployment: "" }, 'deployment must not be empty, got ""'],
    [{ kafka: null }, 'kafka must be given where source.type is "kafka", got null'],
    [{ kafka: {} }, "kafka.brokers must be a list, got nothing"],
    [{ kafka: { brokers: [] } }, "kafka.brokers must name at least one broker, got []"],
    [{ kafka: { brokers: ["kafka"] } }, 'kafka.brokers[0] must be "host:port", got "kafka"'],
    [
      { kafka: { brokers, password: "x" } },
      "kafka.password is not a key of the configuration, got what is not shown",
    ],
    [
      { kafka: { brokers, sasl: { ...sasl, password: "x" } } },
      "kafka.sasl.password is not a key of the configuration (did you mean kafka.sasl.password_env?), " +
      "got what is not shown",
    ],
    [
      { kafka: { brokers, ssl: { cert_file: "c" } } },
      "kafka.ssl.key_file must be given where the other half of a certificate is, got nothing",
    ],
    [
      { kafka: { brokers, sasl } },
      "kafka.sasl must have either password_file or password_env, got neither",
    ],
    [
      { kafka: { brokers, sasl: { ...sasl, password_env: "hunter2!" } } },
      "kafka.sasl.password_env must be the name of the environment's variable that has it, got what is not shown",
    ],
    [
      { kafka: { brokers, sasl: { ...sasl, password_env: "h".repeat(201) } } },
      "kafka.sasl.password_env must be the name of the environment's variable that has it, got what is not shown",
    ],
    [
      { kafka: { brokers, sasl: { ...sasl, password_file: "f", password_env: "e" } } },
      "kafka.sasl must have either password_file or password_env, got both",
    ],
    [
      { kafka: { brokers, sasl: { ...sasl, mechanism: "gssapi" } } },
      'kafka.sasl.mechanism must be "plain" or "scram-sha-256" or "scram-sha-512", got "gssapi"',
    ],
    [{ source: { type: "kafka" } }, 'source.topic must be given where source.type is "kafka", got nothing'],
    [
      { source: { type: "kafka", topic: "a b" } },
      'source.topic may have letters, digits, dots, dashes and underscores, got "a b"',
    ],
    [
      { source: { type: "kafka", topic: "t", path: "f" } },
      'source.path does not go with source.type "kafka", got "f"',
    ],
    [
      { source: { type: "kafka", topic: "t", session_timeout: "500ms" } },
      "source.session_timeout must be from 1s to 60s, got 500ms",
    ],
    [{ sink: { topic: "t" } }, 'sink.topic does not go with sink.type "ndjson", got "t"'],
    [
      { sink: { type: "ndjson", path: "out" } },
      'sink.path must have {partition} in it where source.type is "kafka": each partition writes a file of its own, ' +
      'got "out"',
    ],
    [
      { sink: { type: "kafka", topic: "transitions" } },
      'sink.topic must not be source.topic too, got "transitions"',
    ],
    [
      { dead_letters: { type: "kafka", topic: "triggers" } },
      'dead_letters.topic must not be sink.topic too, got "triggers"',
    ],
    [
      { checkpoint: { path: "kafka:transitions" } },
      'checkpoint.path must not be source.topic too, got "transitions"',
    ],
    [
      { checkpoint: { path: "kafka:" } },
      'checkpoint.path must have a topic behind "kafka:", of letters, digits, dots, dashes and underscores, got "kafka:"',
    ],
    [
      { source: {} },
      'dead_letters.type must be "ndjson" where source.type is "ndjson", whose dead letters stay with its state, got "kafka"',
    ],
    [
      { source: {}, sink: [{ type: "kafka", topic: "t" }, { type: "kafka", topic: "t" }], ...local },
      'sink[1].topic must not be sink[0].topic too, got "t"',
    ],
    [
      { source: { type: "http" }, sink: { type: "kafka" }, ...local },
      'sink.topic must be given where sink.type is "kafka", got nothing',
    ],
    [
      { source: {}, kafka: null, ...local },
      'kafka must be given where sink.type is "kafka", got null',
    ],
    [
      { source: {}, sink: {}, dead_letters: {} },
      'checkpoint.path must be a directory where source.type is not "kafka", got "kafka:state"',
    ],
  ];
  for (const [changes, message] of cases) {
    strictEqual(refusalOf(kafkaConfig(changes)), `Cannot read config: ${message}`);
  }
  for (const path of ["kafak:state", "htps://kv:4512", "KAFKA:state"]) {
    strictEqual(
      refusalOf(kafkaConfig({ checkpoint: { path } })),
      'Cannot read config: checkpoint.path must be "kafka:TOPIC", the http: or https: address of a Deno KV server, or a ' +
        `directory (with ./ before it if it is really named so), got "${path}"`,
    );
  }
  // A directory is no topic, whatever its name; and some have a drive.
  for (const path of ["transitions", "./kafak:state", "/var/kafak:state", "c:\\state", "c:state"]) {
    parseConfig(kafkaConfig({ checkpoint: { path } }));
  }
});

Deno.test("parseConfig: who may reach the service, and by which tokens", () => {
  const serve = (listen: string, http: Record<string, unknown> = {}): string | null => {
    try {
      parseConfig({ source: { type: "http", listen }, http });
      return null;
    } catch (error) {
      return (error as Error).message.replace("Cannot read config: ", "");
    }
  };
  const token = { name: "a", scopes: ["ingest"], env: "A" };
  for (const listen of ["127.0.0.1:0", "127.9.9.9:80", "localhost:8787", "[::1]:65535"]) {
    strictEqual(serve(listen), null);
  }
  const open =
    "can be reached by other hosts, so http.tokens must say who may do what (or http.allow_anonymous be true)";
  for (
    const listen of ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "example.com:80", "127.0.0.1.example.com:80"]
  ) {
    strictEqual(serve(listen), `source.listen ${open}, got "${listen}"`);
    strictEqual(serve(listen, { tokens: [token] }), null);
    strictEqual(serve(listen, { allow_anonymous: true }), null);
  }
  for (const listen of ["127.0.0.1", "127.0.0.1:65536", ":80", "[::1:80", "a b:80", "http://a:80"]) {
    strictEqual(
      serve(listen),
      `source.listen must be "host:port", an IPv6 address in brackets, got "${listen}"`,
    );
  }
  const table: readonly (readonly [http: Record<string, unknown>, said: string])[] = [
    [{ tokens: [{ ...token, file: "f" }] }, "http.tokens[0] must have either file or env, got both"],
    [
      { tokens: [{ name: "a", scopes: ["read"] }] },
      "http.tokens[0] must have either file or env, got neither",
    ],
    [{ tokens: [{ ...token, scopes: [] }] }, "http.tokens[0].scopes must have at least one, got none"],
    [{ tokens: [token, token] }, 'http.tokens[1].name must be another one for each token, got "a"'],
    [
      { body_bytes_max: 1 << 20, bodies_bytes_max: 1024 },
      "http.bodies_bytes_max must be at least http.body_bytes_max, got 1024",
    ],
  ];
  for (const [http, said] of table) strictEqual(serve("127.0.0.1:0", http), said);
  strictEqual(
    refusalOf({ http: { listen: "0.0.0.0:1" } }),
    `Cannot read config: http.listen ${open}, got "0.0.0.0:1"`,
  );
});
