/**
 * How to reach Kafka: the configuration's section `kafka`, once for source, sink, dead letters and state.
 *
 * No secret stands in it: a password comes from a file or from the environment, so that a configuration can be printed,
 * logged and kept under version control.
 *
 * @module
 */
import {
  choice,
  configError,
  type Field,
  list,
  NOT_SHOWN,
  nullable,
  section,
  text,
} from "./config_fields.ts";

/** See the module's header. */
export interface KafkaConfig {
  /** `host:port`, some of the cluster's. */
  readonly brokers: readonly string[];
  /** Names this client in the brokers' logs and quotas. */
  readonly clientId: string;
  /** TLS, with the authorities of a file or the system's, and a certificate of our own where there is one; null for none. */
  readonly ssl: KafkaSsl | null;
  /** Who we are; null where the brokers don't ask. */
  readonly sasl: KafkaSasl | null;
}

/** Paths of PEM files. */
export interface KafkaSsl {
  /** Authorities that signed the brokers' certificates; null for the system's. */
  readonly caFile: string | null;
  /** Our certificate, for mutual TLS. */
  readonly certFile: string | null;
  /** Its key. */
  readonly keyFile: string | null;
}

/** A name and where its password is. */
export interface KafkaSasl {
  /** How the password is proved. */
  readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
  /** The user. */
  readonly username: string;
  /** A file that holds the password; a line end behind it is none of it. */
  readonly passwordFile: string | null;
  /** Or the environment's variable that does. */
  readonly passwordEnv: string | null;
}

const BROKERS_MAX = 100;

/** The name of a variable of the environment. Where it is none, it may be the secret itself. */
function variableName(name: string): Field<string> {
  return {
    ...text(name, undefined),
    read(value, key) {
      if (typeof value === "string" && /^[a-z_][a-z0-9_.-]{0,199}$/i.test(value)) return value;
      throw configError(key, "must be the name of the environment's variable that has it", NOT_SHOWN);
    },
  };
}

/** Reads the section, null where it is not given. */
export const KAFKA_FIELD: Field<KafkaConfig | null> = nullable(
  section<KafkaConfig>("kafka", {
    brokers: list(text("brokers", undefined, 300), undefined, BROKERS_MAX),
    clientId: text("client_id", "fencepost", 200),
    ssl: nullable(
      section<KafkaSsl>("ssl", {
        caFile: nullable(text("ca_file", undefined)),
        certFile: nullable(text("cert_file", undefined)),
        keyFile: nullable(text("key_file", undefined)),
      }),
    ),
    sasl: nullable(
      section<KafkaSasl>("sasl", {
        mechanism: choice("mechanism", ["plain", "scram-sha-256", "scram-sha-512"]),
        username: text("username", undefined, 500),
        passwordFile: nullable(text("password_file", undefined)),
        passwordEnv: nullable(variableName("password_env")),
      }),
    ),
  }),
);

/**
 * Looks at what the fields can't say by themselves.
 *
 * @throws {ConfigError} where two settings contradict or one needs another
 */
export function checkKafka({ brokers, ssl, sasl }: KafkaConfig): void {
  if (brokers.length === 0) throw configError("kafka.brokers", "must name at least one broker", "[]");
  for (const [i, broker] of brokers.entries()) {
    if (!/^[^\s:/]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/.test(broker)) {
      throw configError(`kafka.brokers[${i}]`, 'must be "host:port"', JSON.stringify(broker));
    }
  }
  if (ssl !== null && (ssl.certFile === null) !== (ssl.keyFile === null)) {
    const missing = ssl.certFile === null ? "cert_file" : "key_file";
    throw configError(
      `kafka.ssl.${missing}`,
      "must be given where the other half of a certificate is",
      "nothing",
    );
  }
  if (sasl !== null && (sasl.passwordFile === null) === (sasl.passwordEnv === null)) {
    const got = sasl.passwordFile === null ? "neither" : "both";
    throw configError("kafka.sasl", "must have either password_file or password_env", got);
  }
}
