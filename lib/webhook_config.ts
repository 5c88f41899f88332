/**
 * One webhook of the configuration's `sink`: where it goes, what it is told, how it is signed and tried again.
 *
 * No secret stands in it: each comes from a file or from the environment, so that a configuration can be printed, logged
 * and kept under version control. A URL may be a secret as well (many receivers put a token into its path), so messages
 * call a webhook by its name.
 *
 * @module
 */
import {
  choice,
  configError,
  count,
  duration,
  type Fields,
  flag,
  list,
  nullable,
  section,
  text,
} from "./config_fields.ts";

/** The name of an endpoint is the name of files as well. */
const NAME = /^[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,63}$/;
const SECRETS_MAX = 8;
const PATTERNS_MAX = 1000;
const PATTERN_LENGTH_MAX = 512;

/** The kinds of triggers. */
export type TriggerKind = "ENTER" | "EXIT" | "DWELL" | "RETRACT";

/** Where a secret is: a file's path or the name of an environment's variable. */
export interface SecretPlace {
  /** A variable. */
  readonly env: string | null;
  /** A file; a line end behind the secret is none of it. */
  readonly file: string | null;
}

/** See the module's header. */
export interface WebhookConfig {
  /** What its state, metrics and messages know it by. */
  readonly name: string;
  /** Where to POST. */
  readonly url: string;
  /** Each signs; several while one takes the other's place. */
  readonly secrets: readonly SecretPlace[];
  /** What it is told of: fence patterns as those of the dwell rules, and kinds. Empty lists are everything. */
  readonly filter: { readonly fences: readonly string[]; readonly kinds: readonly TriggerKind[] };
  /** The trigger's line, or a structured-mode CloudEvent around it. */
  readonly body: "native" | "cloudevents";
  /** Requests at once. */
  readonly concurrency: number;
  /** For one attempt, all of it. */
  readonly timeoutUs: number;
  /** How long after it was told a trigger is given up. */
  readonly retryForUs: number;
  /** Whether it may be in a private network, or on this host. */
  readonly allowPrivate: boolean;
  /** PEM file of authorities that may have signed its certificate, besides the system's; null for none. */
  readonly caFile: string | null;
}

const KIND_NAMES: readonly [TriggerKind, ...TriggerKind[]] = ["ENTER", "EXIT", "DWELL", "RETRACT"];

/** How its keys are read. */
export const WEBHOOK_FIELDS: Fields<WebhookConfig> = {
  name: { ...text("name", undefined), fallback: "", read: readOptional("name") },
  url: { ...text("url", undefined), fallback: "", read: readOptional("url") },
  secrets: list(
    section<SecretPlace>("secrets", {
      env: nullable(text("env", undefined, 200)),
      file: nullable(text("file", undefined)),
    }),
    [],
    SECRETS_MAX,
  ),
  filter: section<WebhookConfig["filter"]>("filter", {
    fences: list(text("fences", undefined, PATTERN_LENGTH_MAX), [], PATTERNS_MAX),
    kinds: list(choice("kinds", KIND_NAMES), [], KIND_NAMES.length),
  }),
  body: choice("body", ["native", "cloudevents"]),
  concurrency: count("concurrency", 8, { min: 1, max: 256 }),
  timeoutUs: duration("timeout", "10s", { min: "1ms", max: "10m" }),
  retryForUs: duration("retry_for", "3d", { min: "0s", max: "30d" }),
  allowPrivate: flag("allow_private", false),
  caFile: nullable(text("ca_file", undefined)),
};

/** Their names in JSON. */
export const WEBHOOK_KEYS: readonly string[] = Object.values(WEBHOOK_FIELDS).map(({ name }) => name);

/** Empty where it is not given: other types of sinks have none. */
function readOptional(name: string): (value: unknown, key: string) => string {
  const given = text(name, undefined);
  return (value, key) => value === "" ? "" : given.read(value, key);
}

/**
 * Looks at what the fields can't say by themselves.
 *
 * @param key of the sink, for messages
 * @throws {ConfigError} where something is missing, or can't be
 */
export function checkWebhook(key: string, { name, url, secrets }: WebhookConfig): void {
  if (!NAME.test(name)) {
    const reason = "must be given: up to 64 letters, digits, dots, dashes and underscores, no dot first";
    throw configError(`${key}.name`, reason, name === "" ? "nothing" : JSON.stringify(name));
  }
  if (secrets.length === 0) {
    throw configError(
      `${key}.secrets`,
      "must name at least one, since receivers know us by the signature",
      "[]",
    );
  }
  for (const [i, { env, file }] of secrets.entries()) {
    if ((env === null) !== (file === null)) continue;
    throw configError(
      `${key}.secrets[${i}]`,
      "must have either env or file",
      env === null ? "neither" : "both",
    );
  }
  checkUrl(`${key}.url`, url);
}

/** What its text tells alone; where it leads is looked at in webhook_address.ts. */
function checkUrl(key: string, url: string): void {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw configError(
      key,
      "must be a URL",
      url === "" ? "nothing" : "what is not shown, since it may be a secret",
    );
  }
  const { protocol, username, password, hash } = parsed;
  const shown = "what is not shown, since it may be a secret";
  if (protocol !== "https:" && protocol !== "http:") {
    throw configError(key, "must begin with https:// or http://", protocol);
  }
  if (username !== "" || password !== "") {
    throw configError(key, "must not have a user or a password in it", shown);
  }
  if (hash !== "") throw configError(key, "must have no part behind a #, which is never sent", shown);
}
