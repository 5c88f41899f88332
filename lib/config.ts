/**
 * The configuration: SPEC 7's JSON, read into durations in µs, checked as a whole, and written back.
 *
 * Whatever is wrong is refused at the start with the key, the reason and the value, since a wrong width shows only weeks
 * later, as triggers that came twice or never. What is not given has its default.
 *
 * @module
 */
import {
  byType,
  choice,
  configError,
  count,
  duration,
  type Field,
  flag,
  list,
  nullable,
  oneOrMore,
  section,
  showValue,
  text,
} from "./config_fields.ts";
import { setKey } from "./config_overlay.ts";
import { type Format, FORMAT_FIELD } from "./format/format.ts";
import type { Json } from "./json.ts";
import { checkHttp, HTTP_FIELD, type HttpConfig, LISTEN_DEFAULT } from "./http_config.ts";
import { checkKafka, KAFKA_FIELD, type KafkaConfig } from "./kafka_config.ts";
import { STATE_TOPIC, type StatePlace, statePlaceOf } from "./state_place.ts";
import { formatDuration } from "./time.ts";
import { checkWebhook, WEBHOOK_FIELDS, WEBHOOK_KEYS, type WebhookConfig } from "./webhook_config.ts";

/** A rule: the first whose fence pattern matches gives the thresholds. */
export interface DwellRule {
  /** A fence id, `*` standing for any run of characters. */
  readonly fence: string;
  /** Thresholds in µs, ascending; empty for none. */
  readonly afterUs: readonly number[];
}

/** SPEC 7's configuration, checked, with durations in µs. */
export interface Config {
  /** Widths of the ids, and the dedup window (SPEC 2). */
  readonly identity: {
    readonly bucketUs: number;
    readonly guardUs: number;
    /** `guardUs` where the configuration says null. */
    readonly maxSkewUs: number;
    readonly minRevisitUs: number | null;
    readonly ttlUs: number;
    /** Ids a partition. */
    readonly capacity: number;
    readonly allowShortTtl: boolean;
  };
  /** Visits and their thresholds (SPEC 3). */
  readonly dwell: {
    readonly rules: readonly DwellRule[];
    readonly latenessUs: number;
    readonly onReenter: "restart" | "continue";
    readonly onContradiction: "count" | "retract";
    readonly tickUs: number;
    readonly maxFiresPerTurn: number;
    /** Records that wait or are held, a split. */
    readonly waitingCapacity: number;
  };
  /** The order of the triggers (SPEC 4). */
  readonly emit: "arrival" | "ordered";
  /** Which times are believed, and when a live source follows the wall clock. */
  readonly time: {
    readonly maxFutureSkewUs: number;
    readonly maxAgeUs: number;
    readonly liveWithinUs: number;
    readonly settleUs: number;
  };
  /** Pairs a process. */
  readonly pairs: { readonly capacity: number };
  /** Actors that share a split's devices. */
  readonly partitions: number;
  /** Records in a partition's mailbox. */
  readonly mailbox: { readonly capacity: number };
  /** The state's directory, `kafka:TOPIC` or a Deno KV server's URL, and the least time between two checkpoints. */
  readonly checkpoint: { readonly path: string; readonly intervalUs: number };
  /** Where triggers wait for their webhooks; null for a directory below the state's. */
  readonly outbox: { readonly path: string | null };
  /** Names this installation in the ids of transactions and in CloudEvents: the same on all its hosts. */
  readonly deployment: string;
  /** How Kafka is reached; null where it is not used. */
  readonly kafka: KafkaConfig | null;
  /** How the process is reached over HTTP, and by whom. */
  readonly http: HttpConfig;
  /**
   * Where records come from; the path `-` is stdin. Topic, group and session are Kafka's, `listen` is that of HTTP, the
   * rest a file's.
   */
  readonly source: {
    readonly type: "ndjson" | "kafka" | "http";
    readonly path: string;
    readonly live: boolean;
    readonly atEof: "flush" | "hold";
    readonly fromStart: boolean;
    readonly topic: string;
    readonly group: string;
    /** A member of the group that is not heard from for as long is out, and another takes over. */
    readonly sessionTimeoutUs: number;
    /** Where requests come in, `host:port`. */
    readonly listen: string;
    /** What its messages are. */
    readonly format: Format;
  };
  /** Where triggers go, each to all of them; `sink` in JSON, one object or a list. */
  readonly sinks: readonly SinkConfig[];
  /** Where records go that can't be taken, and how long they are kept to be sent again. */
  readonly deadLetters: {
    readonly type: "ndjson" | "kafka";
    readonly path: string;
    readonly topic: string;
    readonly retentionUs: number | null;
  };
}

/** One place where triggers go; the path `-` is stdout. */
export interface SinkConfig extends WebhookConfig {
  /** Which of the keys are its own. */
  readonly type: "ndjson" | "kafka" | "webhook";
  /** A file's. */
  readonly path: string;
  /** Kafka's. */
  readonly topic: string;
  /** Whether they are binary-mode CloudEvents. */
  readonly cloudevents: boolean;
}

/** Places that triggers can go to. */
const SINKS_MAX = 100;

/** Thresholds of one fence at most: each takes a bit of what a pair remembers to have told. */
const THRESHOLDS_MAX = 16;
const RULES_MAX = 10_000;
/** A fence id has up to 256 bytes, and a pattern may have stars between them. */
const PATTERN_LENGTH_MAX = 512;

/** The most that each of the counts may be. */
export const COUNTS_MAX = {
  /** Ids in a partition's window. */
  windowIds: 50_000_000,
  /** Pairs of a process. */
  pairs: 30_000_000,
  /** Of a split. */
  partitions: 1024,
  /** Records in a mailbox. */
  mailbox: 10_000_000,
  /** Records that wait, of a split. */
  waiting: 100_000_000,
} as const;

const FOREVER = "3650d";

/** `max_skew`: null is read as NaN, which {@link parseConfig} replaces by the guard. */
const maxSkew: Field<number> = {
  name: "max_skew",
  fallback: null,
  fields: null,
  read: (value, key) =>
    value === null ? NaN : duration("", undefined, { min: "0s", max: "1d" }).read(value, key),
  write: formatDuration,
};

const rule = section<DwellRule>("", {
  fence: text("fence", undefined, PATTERN_LENGTH_MAX),
  afterUs: list(duration("after", undefined, { min: "1us", max: FOREVER }), undefined, THRESHOLDS_MAX),
});

/** Kafka's own bound of a topic's name. */
const TOPIC_LENGTH_MAX = 249;
const TOPIC_NAME = /^[a-zA-Z0-9._-]+$/;
/** A directory that begins like an address is one that was mistyped; a single letter is a drive. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
/** A transactional id has the deployment, a topic and a partition in it. */
const DEPLOYMENT_LENGTH_MAX = 200;

/** A name with a slash would end where a topic begins: transactional ids and states are `deployment/topic-partition`. */
const deployment: Field<string> = {
  ...text("deployment", "fencepost", DEPLOYMENT_LENGTH_MAX),
  read: (value, key) => {
    const name = text("deployment", undefined, DEPLOYMENT_LENGTH_MAX).read(value, key);
    if (name.includes("/")) throw configError(key, "must not have a slash", showValue(name));
    return name;
  },
};

/** The name of a topic; empty where there is none. */
function topic(): Field<string> {
  return {
    ...text("topic", undefined, TOPIC_LENGTH_MAX),
    fallback: "",
    read: (value, key) => value === "" ? "" : text("topic", undefined, TOPIC_LENGTH_MAX).read(value, key),
  };
}

const SCHEMA = section<Config>("", {
  identity: section<Config["identity"]>("identity", {
    bucketUs: duration("bucket", "2s", { min: "1ms", max: "1d" }),
    guardUs: duration("guard", "200ms", { min: "0s", max: "1d" }),
    maxSkewUs: maxSkew,
    minRevisitUs: nullable(duration("min_revisit", undefined, { min: "1us", max: FOREVER })),
    ttlUs: duration("ttl", "300s", { min: "1ms", max: FOREVER }),
    capacity: count("capacity", 1_000_000, { min: 1, max: COUNTS_MAX.windowIds }),
    allowShortTtl: flag("allow_short_ttl", false),
  }),
  dwell: section<Config["dwell"]>("dwell", {
    rules: list({ ...rule, name: "rules" }, [{ fence: "*", after: ["10m"] }], RULES_MAX),
    latenessUs: duration("lateness", "5s", { min: "0s", max: FOREVER }),
    onReenter: choice("on_reenter", ["restart", "continue"]),
    onContradiction: choice("on_contradiction", ["count", "retract"]),
    tickUs: duration("tick", "1s", { min: "1ms", max: "10m" }),
    maxFiresPerTurn: count("max_fires_per_turn", 2000, { min: 1, max: 1_000_000 }),
    waitingCapacity: count("waiting_capacity", 1_000_000, { min: 1, max: COUNTS_MAX.waiting }),
  }),
  emit: choice("emit", ["arrival", "ordered"]),
  time: section<Config["time"]>("time", {
    maxFutureSkewUs: duration("max_future_skew", "5m", { min: "0s", max: FOREVER }),
    maxAgeUs: duration("max_age", "30d", { min: "1ms", max: "36500d" }),
    liveWithinUs: duration("live_within", "60s", { min: "0s", max: FOREVER }),
    settleUs: duration("settle", "30s", { min: "0s", max: "1d" }),
  }),
  pairs: section<Config["pairs"]>("pairs", {
    capacity: count("capacity", 5_000_000, { min: 1, max: COUNTS_MAX.pairs }),
  }),
  partitions: count("partitions", 16, { min: 1, max: COUNTS_MAX.partitions }),
  mailbox: section<Config["mailbox"]>("mailbox", {
    capacity: count("capacity", 8192, { min: 1, max: COUNTS_MAX.mailbox }),
  }),
  checkpoint: section<Config["checkpoint"]>("checkpoint", {
    path: text("path", "fencepost-data"),
    intervalUs: duration("interval", "500ms", { min: "0s", max: "1d" }),
  }),
  outbox: section<Config["outbox"]>("outbox", { path: nullable(text("path", undefined)) }),
  deployment,
  kafka: KAFKA_FIELD,
  http: HTTP_FIELD,
  source: byType(
    section<Config["source"]>("source", {
      type: choice("type", ["ndjson", "kafka", "http"]),
      path: text("path", "-"),
      live: flag("live", false),
      atEof: choice("at_eof", ["flush", "hold"]),
      fromStart: flag("from_start", false),
      topic: topic(),
      group: text("group", "fencepost", TOPIC_LENGTH_MAX),
      // Heartbeats are half a second apart; how long brokers allow it to be is a setting of theirs, 6 s to 30 min.
      sessionTimeoutUs: duration("session_timeout", "10s", { min: "1s", max: "60s" }),
      listen: text("listen", LISTEN_DEFAULT, 300),
      format: FORMAT_FIELD,
    }),
    {
      ndjson: ["path", "live", "at_eof", "from_start", "format"],
      kafka: ["topic", "group", "session_timeout", "format"],
      http: ["listen", "format"],
    },
  ),
  sinks: oneOrMore(
    byType(
      section<SinkConfig>("sink", {
        type: choice("type", ["ndjson", "kafka", "webhook"]),
        path: text("path", "-"),
        topic: topic(),
        cloudevents: flag("cloudevents", false),
        ...WEBHOOK_FIELDS,
      }),
      { ndjson: ["path"], kafka: ["topic", "cloudevents"], webhook: WEBHOOK_KEYS },
    ),
    SINKS_MAX,
  ),
  deadLetters: byType(
    section<Config["deadLetters"]>("dead_letters", {
      type: choice("type", ["ndjson", "kafka"]),
      path: text("path", "fencepost-data/dead-letters.ndjson"),
      topic: topic(),
      retentionUs: nullable(duration("retention", undefined, { min: "0s", max: FOREVER })),
    }),
    { ndjson: ["path", "retention"], kafka: ["topic", "retention"] },
  ),
});

/** SPEC 7's defaults, as JSON. */
export const DEFAULT_CONFIG_JSON: Json = SCHEMA.fallback ?? null;

/**
 * Reads a configuration.
 *
 * @param json what `JSON.parse` made of it, or an object like that: what it does not say has its default
 * @throws {ConfigError} where a key is unknown, a value is of the wrong type or out of bounds, or two contradict
 */
export function parseConfig(json: unknown): Config {
  const read = SCHEMA.read(json, "");
  const { identity, dwell } = read;
  const rules = dwell.rules.map((rule) => ({ ...rule, afterUs: rule.afterUs.toSorted((a, b) => a - b) }));
  const maxSkewUs = Number.isNaN(identity.maxSkewUs) ? identity.guardUs : identity.maxSkewUs;
  const config = { ...read, identity: { ...identity, maxSkewUs }, dwell: { ...dwell, rules } };
  checkIdentity(config);
  checkThresholds(config);
  checkOutputs(config);
  checkPaths(config);
  checkHttp(config.http, listenOf(config));
  return config;
}

/** What is listened on, and the key that says so; null for nothing. */
export function listenOf({ source, http }: Config): { readonly key: string; readonly value: string } | null {
  if (source.type === "http") return { key: "source.listen", value: source.listen };
  return http.listen === null ? null : { key: "http.listen", value: http.listen };
}

/** The configuration as JSON, nothing left out: what {@link parseConfig} reads as the same one. */
export function configToJson(config: Config): Json {
  return SCHEMA.write(config);
}

/**
 * Sets one dotted key of a configuration that is still JSON.
 *
 * @returns a copy with the key set
 * @throws {ConfigError} where there is no such key
 */
export function setConfigKey(json: Json, key: string, value: Json): Json {
  return setKey(SCHEMA, json, key, value);
}

function checkIdentity({ identity, deadLetters }: Config): void {
  const { bucketUs, guardUs, maxSkewUs, minRevisitUs, ttlUs } = identity;
  const bucket = formatDuration(bucketUs);
  if (2 * guardUs >= bucketUs) {
    throw configError(
      "identity.guard",
      `must be below half of identity.bucket (${bucket})`,
      formatDuration(guardUs),
    );
  }
  if (maxSkewUs >= bucketUs) {
    throw configError(
      "identity.max_skew",
      `must be below identity.bucket (${bucket})`,
      formatDuration(maxSkewUs),
    );
  }
  if (minRevisitUs !== null && minRevisitUs <= bucketUs) {
    throw configError(
      "identity.min_revisit",
      `must be above identity.bucket (${bucket})`,
      formatDuration(minRevisitUs),
    );
  }
  const { retentionUs } = deadLetters;
  if (retentionUs !== null && ttlUs < retentionUs && !identity.allowShortTtl) {
    const reason =
      `must be at least dead_letters.retention (${formatDuration(retentionUs)}), so that a dead letter ` +
      "that is sent again is known, or identity.allow_short_ttl be true";
    throw configError("identity.ttl", reason, formatDuration(ttlUs));
  }
}

function checkThresholds({ dwell, identity }: Config): void {
  const apartUs = 2 * identity.bucketUs;
  const apart = `2 identity.bucket (${formatDuration(apartUs)})`;
  let smallestUs = Infinity;
  for (const [index, { afterUs }] of dwell.rules.entries()) {
    const key = `dwell.rules[${index}].after`;
    let previousUs = 0;
    for (const thresholdUs of afterUs) {
      if (thresholdUs - previousUs < apartUs) {
        if (previousUs === 0) {
          throw configError(key, `must be at least ${apart}`, formatDuration(thresholdUs));
        }
        const got = `${formatDuration(previousUs)} and ${formatDuration(thresholdUs)}`;
        throw configError(key, `must have its thresholds at least ${apart} apart`, got);
      }
      previousUs = thresholdUs;
    }
    smallestUs = Math.min(smallestUs, afterUs[0] ?? Infinity);
  }
  if (dwell.latenessUs >= smallestUs) {
    const reason = `must be below the smallest threshold (${formatDuration(smallestUs)})`;
    throw configError("dwell.lateness", reason, formatDuration(dwell.latenessUs));
  }
}

/** What Kafka's parts need of each other, and what does not go together. */
function checkOutputs({ kafka, source, sinks, deadLetters, checkpoint }: Config): void {
  if (kafka !== null) checkKafka(kafka);
  const outputs = sinks.map((sink, i) => [sinkKey(sinks, i), sink] as const);
  for (const [key, sink] of outputs) {
    if (sink.type === "webhook") checkWebhook(key, sink);
  }
  const parts = [["source", source], ...outputs, ["dead_letters", deadLetters]] as const;
  for (const [key, { type, topic }] of parts) {
    if (type !== "kafka") continue;
    if (key === "dead_letters" && source.type !== "kafka") {
      throw configError(
        `${key}.type`,
        `must be "ndjson" where source.type is "${source.type}", whose dead letters stay with its state`,
        showValue(type),
      );
    }
    if (kafka === null) throw configError("kafka", `must be given where ${key}.type is "kafka"`, "null");
    if (topic === "") {
      throw configError(`${key}.topic`, `must be given where ${key}.type is "kafka"`, "nothing");
    }
    if (!TOPIC_NAME.test(topic)) {
      throw configError(
        `${key}.topic`,
        "may have letters, digits, dots, dashes and underscores",
        showValue(topic),
      );
    }
  }
  const place = statePlaceOf(checkpoint.path);
  checkPlace(place, { path: checkpoint.path, isKafka: source.type === "kafka" });
  refuseSame({
    "source.topic": source.topic,
    ...Object.fromEntries(outputs.map(([key, { topic }]) => [`${key}.topic`, topic])),
    "dead_letters.topic": deadLetters.topic,
    "checkpoint.path": place.type === "topic" ? place.topic : "",
  });
  if (source.type !== "kafka") return;
  for (const [key, { type, path }] of [...outputs, ["dead_letters", deadLetters] as const]) {
    if (type !== "ndjson" || path.includes("{partition}")) continue;
    const reason =
      'must have {partition} in it where source.type is "kafka": each partition writes a file of its own';
    throw configError(`${key}.path`, reason, showValue(path));
  }
}

/** Whether the state can be there. */
function checkPlace(place: StatePlace, { path, isKafka }: { path: string; isKafka: boolean }): void {
  const refuse = (reason: string): never => {
    throw configError("checkpoint.path", reason, showValue(path));
  };
  if (place.type === "directory") {
    if (!SCHEME.test(path)) return;
    refuse(
      `must be "${STATE_TOPIC}TOPIC", the http: or https: address of a Deno KV server, or a directory (with ./ before it ` +
        "if it is really named so)",
    );
  }
  if (!isKafka) refuse('must be a directory where source.type is not "kafka"');
  if (place.type === "topic" && !TOPIC_NAME.test(place.topic)) {
    refuse(`must have a topic behind "${STATE_TOPIC}", of letters, digits, dots, dashes and underscores`);
  }
}

/** Triggers alone go to the output, and nothing is read that is written; devices such as `/dev/null` take anything. */
function checkPaths({ checkpoint, source, sinks, deadLetters }: Config): void {
  for (
    const [key, path] of [["checkpoint.path", checkpoint.path], [
      "dead_letters.path",
      deadLetters.path,
    ]] as const
  ) {
    if (path === "-") {
      throw configError(key, "must be a path, since stdout is for triggers alone", showValue(path));
    }
  }
  refuseSame(
    Object.fromEntries(
      sinks.map(({ type, path }, i) => [`${sinkKey(sinks, i)}.path`, type === "ndjson" ? path : ""]),
    ),
  );
  refuseSame(Object.fromEntries(sinks.map(({ name }, i) => [`${sinkKey(sinks, i)}.name`, name])));
  const files = sinks.map((
    { type, path },
    i,
  ) => [`${sinkKey(sinks, i)}.path`, type === "ndjson" ? path : "-"]);
  const paths = {
    "source.path": source.path,
    ...Object.fromEntries(files) as Record<string, string>,
    "dead_letters.path": deadLetters.path,
  };
  const isFile = ([, path]: [string, string]): boolean => path !== "-" && !path.startsWith("/dev/");
  refuseSame(Object.fromEntries(Object.entries(paths).filter(isFile)));
}

/** The key of a sink, for messages: `sink`, or `sink[2]` where there are several. */
export function sinkKey(sinks: readonly unknown[], index: number): string {
  return sinks.length === 1 ? "sink" : `sink[${index}]`;
}

/** Refuses the same value under two keys; none is none. */
function refuseSame(values: Readonly<Record<string, string>>): void {
  const seen = new Map<string, string>();
  for (const [key, value] of Object.entries(values)) {
    const other = seen.get(value);
    if (other !== undefined) throw configError(key, `must not be ${other} too`, showValue(value));
    if (value !== "") seen.set(value, key);
  }
}
