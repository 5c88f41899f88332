/**
 * The way to Kafka: settings, secrets and certificates become a kafkajs client, and what kafkajs says when something is
 * wrong becomes a message that a person can act on.
 *
 * kafkajs has a few ways to fail that look alike: a port that wants TLS or SASL, spoken to without, just closes the
 * connection, and so does a broker that goes away. And some of its errors call themselves retriable or not by what would
 * help *it*. So which failures are final is decided here, by their types: {@link KafkaRefusedError} for what only a
 * person can mend, {@link UnavailableError} for what comes back.
 *
 * Its own log is not shown, but for errors while nothing else tells of them; no password is ever in it, nor in a message.
 *
 * @module
 */
import { Kafka, type KafkaConfig as KafkaOptions, logLevel, type SASLOptions } from "kafkajs";
import type { KafkaConfig, KafkaSasl, KafkaSsl } from "../../../lib/kafka_config.ts";
import { UnavailableError } from "../../ports.ts";
import { mendKafkajs } from "./mend_kafkajs.ts";

/** Trying again can't help: a right, a password, a topic or a setting is missing or wrong. The message says what to do. */
export class KafkaRefusedError extends Error {
  override readonly name = "KafkaRefusedError";
}

/** How long a connection may take to be made, and a request to be answered, ms. */
const CONNECTION_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How long the broker keeps a transaction open that its owner does not end, in ms. Readers wait as long. */
export const TRANSACTION_TIMEOUT_MS = 15_000;

/** What kafkajs puts on its errors. */
export interface KafkaFailure {
  readonly name?: string;
  readonly type?: string;
  readonly message?: string;
  readonly code?: string;
  readonly cause?: unknown;
  readonly originalError?: unknown;
  readonly errors?: readonly unknown[];
}

/** What a refusal by its type means, for a person. */
const REFUSALS: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED:
    "the user may not: grant READ and DESCRIBE on topics that are read, WRITE, READ and DESCRIBE on those that are written",
  GROUP_AUTHORIZATION_FAILED: "the user may not: grant READ on the group",
  CLUSTER_AUTHORIZATION_FAILED: "the user may not: grant WRITE on the topics that are written",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    "the user may not: grant WRITE and DESCRIBE on the transactional ids that begin with the deployment's name and a slash",
  UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition",
  UNSUPPORTED_SASL_MECHANISM: "the brokers don't offer this kafka.sasl.mechanism",
  ILLEGAL_SASL_STATE: "kafka.sasl is set, and nobody is asked there who they are: is it another port?",
  SASL_AUTHENTICATION_FAILED: "the user or the password of kafka.sasl is wrong",
  INVALID_TOPIC_EXCEPTION: "the topic's name can't be one",
  INVALID_SESSION_TIMEOUT:
    "the brokers don't allow this source.session_timeout (group.min.session.timeout.ms, group.max.session.timeout.ms)",
  INVALID_TRANSACTION_TIMEOUT: `the brokers don't allow transactions of ${
    TRANSACTION_TIMEOUT_MS / 1000
  } s: raise their transaction.max.timeout.ms`,
  MESSAGE_TOO_LARGE: "a message is larger than the topic takes (max.message.bytes)",
};

/** What a refusal without a type means, by what Deno or kafkajs says of it. The first that fits. */
const REFUSAL_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/mechanism is not supported|unsupported sasl/i, REFUSALS["UNSUPPORTED_SASL_MECHANISM"] as string],
  [
    /self.signed certificate|unable to (get|verify)|unknownissuer/i,
    "the brokers' certificate is not signed by an authority that we know: kafka.ssl.ca_file must have it",
  ],
  [
    /does not match certificate|notvalidforname|not valid for name/i,
    "the brokers' certificate is not for the name that they are reached by, in kafka.brokers or as they advertise it",
  ],
  [
    /certificate has expired|certificate is not yet valid|invalid peer certificate/i,
    "the brokers' certificate is not valid",
  ],
  [
    /alert: (BadCertificate|CertificateRequired|HandshakeFailure)|certificate required/i,
    "the brokers want a certificate of ours, or another: set kafka.ssl.cert_file and key_file",
  ],
  [
    /alert: \w*(Certificate|CA)\w*/i,
    "the brokers don't accept our certificate: is kafka.ssl.cert_file signed by an authority of theirs, and valid?",
  ],
  // What Deno says where the two can't be used at all.
  [/unsupported protocol/i, "are kafka.ssl.cert_file and key_file a certificate and its own key?"],
];

/** What a PEM file must have. */
const PEM_CERTIFICATE = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/;
const PEM_KEY = /-----BEGIN ((RSA|EC) )?PRIVATE KEY-----(?!\s*Proc-Type)/;

/**
 * Makes a client. Connects to nothing yet.
 *
 * @throws {KafkaRefusedError} where a password or certificate can't be read
 */
export async function createKafka(
  config: KafkaConfig,
  options: { readonly notice: (message: string) => void },
): Promise<Kafka> {
  mendKafkajs();
  const kafkaOptions: KafkaOptions = {
    brokers: [...config.brokers],
    clientId: config.clientId,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    authenticationTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 5 },
    logLevel: logLevel.ERROR,
    logCreator: () => quietLog(options.notice),
    ...(config.ssl === null ? {} : { ssl: await readSsl(config.ssl) }),
    ...(config.sasl === null ? {} : { sasl: await readSasl(config.sasl) }),
  };
  return new Kafka(kafkaOptions);
}

/**
 * How many partitions a topic has.
 *
 * @throws {KafkaRefusedError} where there is no such topic, or we may not see it
 */
export async function partitionCount(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length ?? 0;
  } catch (error) {
    throw explainKafkaFailure(error, `look at topic ${topic}`);
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

/**
 * Says what a failure means.
 *
 * @param doing what was tried, as in "read transitions as group fencepost"
 * @returns a {@link KafkaRefusedError} where only a person can mend it, else an {@link UnavailableError}
 */
export function explainKafkaFailure(error: unknown, doing: string): Error {
  if (error instanceof KafkaRefusedError || error instanceof UnavailableError) return error;
  const chain = causesOf(error);
  const message = (why: string): string => `Cannot ${doing}: ${why}`;
  for (const failure of chain) {
    const known = failure.type === undefined ? undefined : REFUSALS[failure.type];
    if (known !== undefined) {
      return new KafkaRefusedError(message(`${known} (${failure.type})`), { cause: error });
    }
  }
  for (const failure of chain) {
    const why = refusalOf(failure);
    if (why !== null) return new KafkaRefusedError(message(why), { cause: error });
  }
  const texts = chain.map(({ message: text = "" }) => text).filter((text) => text !== "");
  return new UnavailableError(message(hintOf(texts) ?? texts[0] ?? String(error)), { cause: error });
}

/** Why a failure that has no type of Kafka's is final; null where it is not. */
function refusalOf({ name = "", message = "" }: KafkaFailure): string | null {
  if (name === "KafkaJSSASLAuthenticationError") return REFUSALS["SASL_AUTHENTICATION_FAILED"] as string;
  if (name === "KafkaJSTopicMetadataNotLoaded") {
    return "there is no such topic, or the user may not DESCRIBE it";
  }
  for (const [pattern, why] of REFUSAL_MESSAGES) if (pattern.test(message)) return `${why} (${message})`;
  return null;
}

/** What is likely behind a message that says little; it may also be a broker that is away. */
function hintOf(texts: readonly string[]): string | null {
  if (texts.some((text) => /before secure TLS connection/i.test(text))) {
    return "no TLS is spoken there: is it a plaintext port? (kafka.ssl is set)";
  }
  if (texts.some((text) => /failed to find group coordinator/i.test(text))) {
    return "no broker says who coordinates the group or the transactions: is the cluster whole?";
  }
  if (texts.some((text) => /closed connection|not connected|write after end|ECONNRESET|EPIPE/i.test(text))) {
    return "the broker closed the connection: it is away, or wants other TLS, another certificate or other SASL than " +
      "kafka.ssl and kafka.sasl say";
  }
  return null;
}

/** A failure and those behind it: kafkajs wraps them in several ways. */
export function causesOf(error: unknown): KafkaFailure[] {
  const causes: KafkaFailure[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || causes.includes(value)) return;
    const failure = value as KafkaFailure;
    causes.push(failure);
    visit(failure.cause);
    visit(failure.originalError);
    for (const inner of failure.errors ?? []) visit(inner);
  };
  visit(error);
  return causes;
}

async function readSsl(ssl: KafkaSsl): Promise<Record<string, unknown>> {
  const { caFile, certFile, keyFile } = ssl;
  return {
    ...(caFile === null ? {} : { ca: [await readPem(caFile, "kafka.ssl.ca_file", PEM_CERTIFICATE)] }),
    ...(certFile === null ? {} : { cert: await readPem(certFile, "kafka.ssl.cert_file", PEM_CERTIFICATE) }),
    ...(keyFile === null ? {} : { key: await readPem(keyFile, "kafka.ssl.key_file", PEM_KEY) }),
  };
}

/** TLS leaves out, without a word, a file in which it finds nothing. */
async function readPem(path: string, key: string, content: RegExp): Promise<string> {
  const text = await readText(path, key);
  if (content.test(text)) return text;
  const what = content === PEM_KEY ? "private key that is not encrypted" : "certificate";
  throw new KafkaRefusedError(`Cannot use ${path} (${key}): there is no ${what} in PEM in it`);
}

async function readSasl({ mechanism, username, passwordFile, passwordEnv }: KafkaSasl): Promise<SASLOptions> {
  const password = passwordFile !== null
    ? (await readText(passwordFile, "kafka.sasl.password_file")).replace(/\r?\n$/, "")
    : Deno.env.get(passwordEnv ?? "");
  if (password === undefined || password === "") {
    throw new KafkaRefusedError(
      // Not which variable: the password itself may have been put there.
      "Cannot use kafka.sasl: there is no password in " +
        (passwordFile ??
          "the environment's variable that kafka.sasl.password_env names (its name, and no password)"),
    );
  }
  return { mechanism, username, password } as SASLOptions;
}

async function readText(path: string, key: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new KafkaRefusedError(`Cannot read ${path} (${key}): ${reason}`, { cause });
  }
}

/** kafkajs' log, of which only what crashes it is shown: all else is thrown as well, to those who can say it better. */
function quietLog(notice: (message: string) => void): (entry: { log: { message: string } }) => void {
  return ({ log: { message } }) => {
    if (message.startsWith("Unhandled")) notice(`Kafka: ${message}`);
  };
}
