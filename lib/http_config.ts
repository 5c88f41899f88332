/**
 * The listener: the configuration's section `http`, for `serve` and for `run --listen`.
 *
 * Secure where nothing is said: only this host can reach it. Whoever opens it to others says who they are (tokens), or
 * insists that anybody may do anything. No secret stands in the configuration: a token comes from a file or from the
 * environment, so that it can be printed, logged and kept under version control.
 *
 * @module
 */
import {
  choice,
  configError,
  count,
  duration,
  type Field,
  flag,
  list,
  nullable,
  section,
  text,
} from "./config_fields.ts";

/** What a token allows. `admin` allows all. */
export type Scope = "ingest" | "read" | "admin";

/** See the module's header. */
export interface HttpConfig {
  /** Where `run` shows itself, `host:port`; null for nowhere. `serve` has `source.listen`. */
  readonly listen: string | null;
  /** Paths of PEM files; null for plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Who may do what; empty for anybody anything. */
  readonly tokens: readonly TokenConfig[];
  /** Whether hosts other than this one may come without a token, where there are none. */
  readonly allowAnonymous: boolean;
  /** Whether `/metrics` is answered without a token: scrapers often have none. */
  readonly metricsOpen: boolean;
  /** Bytes of a request's body at most, unpacked. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being received, and of those whose records are not durable yet. */
  readonly bodiesBytesMax: number;
  /** Connections at a time. */
  readonly connectionsMax: number;
  /** From the first byte of a request to the first of its answer. */
  readonly requestTimeoutUs: number;
  /** How long a connection may be without a request, and how long its other end may take nothing. */
  readonly idleTimeoutUs: number;
  /** How long a record may take until it is durable; what can't be within that is refused. */
  readonly targetUs: number;
  /** How long the answer of a request with an Idempotency-Key is kept. */
  readonly idempotencyUs: number;
  /** Those who listen to triggers, at a time. */
  readonly streamsMax: number;
}

/** A token, and what it allows. */
export interface TokenConfig {
  /** For logs and fairness; never the token itself. */
  readonly name: string;
  /** What it allows. */
  readonly scopes: readonly Scope[];
  /** A file that holds it; a line end behind it is none of it. */
  readonly file: string | null;
  /** Or the environment's variable that does. */
  readonly env: string | null;
}

/** Where `serve` listens unless told otherwise. */
export const LISTEN_DEFAULT = "127.0.0.1:8787";

const TOKENS_MAX = 1000;
const SCOPES: readonly [Scope, ...Scope[]] = ["ingest", "read", "admin"];

/** Reads the section; all of it has defaults. */
export const HTTP_FIELD: Field<HttpConfig> = section<HttpConfig>("http", {
  listen: nullable(text("listen", undefined, 300)),
  tls: nullable(
    section<NonNullable<HttpConfig["tls"]>>("tls", {
      certFile: text("cert_file", undefined),
      keyFile: text("key_file", undefined),
    }),
  ),
  tokens: list(
    section<TokenConfig>("tokens", {
      name: text("name", undefined, 100),
      scopes: list(choice("scopes", SCOPES), undefined, SCOPES.length),
      file: nullable(text("file", undefined)),
      env: nullable(text("env", undefined, 200)),
    }),
    [],
    TOKENS_MAX,
  ),
  allowAnonymous: flag("allow_anonymous", false),
  metricsOpen: flag("metrics_open", false),
  bodyBytesMax: count("body_bytes_max", 8 << 20, { min: 1024, max: 256 << 20 }),
  bodiesBytesMax: count("bodies_bytes_max", 64 << 20, { min: 1024, max: 4096 * (1 << 20) }),
  connectionsMax: count("connections_max", 1000, { min: 1, max: 100_000 }),
  requestTimeoutUs: duration("request_timeout", "30s", { min: "100ms", max: "1h" }),
  idleTimeoutUs: duration("idle_timeout", "60s", { min: "100ms", max: "1d" }),
  targetUs: duration("target", "100ms", { min: "1ms", max: "1m" }),
  idempotencyUs: duration("idempotency", "24h", { min: "1m", max: "30d" }),
  streamsMax: count("streams_max", 100, { min: 0, max: 10_000 }),
});

/** The host and port of `host:port` or `[v6]:port`; null where it is neither. */
export function parseListen(listen: string): { readonly hostname: string; readonly port: number } | null {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(listen);
  const port = Number(found?.[3]);
  if (found === null || port > 65_535) return null;
  return { hostname: found[1] ?? found[2] as string, port };
}

/** Whether an address can be reached from this host only. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Looks at what the fields can't say by themselves.
 *
 * @param listen what is listened on, and the key that says so; null for nothing
 * @throws {ConfigError} where two settings contradict or one needs another
 */
export function checkHttp(
  http: HttpConfig,
  listen: { readonly key: string; readonly value: string } | null,
): void {
  const names = new Set<string>();
  for (const [i, { name, scopes, file, env }] of http.tokens.entries()) {
    const key = `http.tokens[${i}]`;
    if ((file === null) === (env === null)) {
      throw configError(key, "must have either file or env", file === null ? "neither" : "both");
    }
    if (scopes.length === 0) throw configError(`${key}.scopes`, "must have at least one", "none");
    if (names.has(name)) {
      throw configError(`${key}.name`, "must be another one for each token", JSON.stringify(name));
    }
    names.add(name);
  }
  if (http.bodiesBytesMax < http.bodyBytesMax) {
    throw configError(
      "http.bodies_bytes_max",
      "must be at least http.body_bytes_max",
      String(http.bodiesBytesMax),
    );
  }
  if (listen === null) return;
  const address = parseListen(listen.value);
  if (address === null) {
    throw configError(
      listen.key,
      'must be "host:port", an IPv6 address in brackets',
      JSON.stringify(listen.value),
    );
  }
  if (isLoopback(address.hostname) || http.tokens.length > 0 || http.allowAnonymous) return;
  throw configError(
    listen.key,
    "can be reached by other hosts, so http.tokens must say who may do what (or http.allow_anonymous be true)",
    JSON.stringify(listen.value),
  );
}
