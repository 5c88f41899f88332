/**
 * Every way in to a broker, and every way to be refused: with the message that a user reads.
 *
 * @module
 */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import {
  createKafka,
  explainKafkaFailure,
  KafkaRefusedError,
  partitionCount,
} from "../../actors/adapters/kafka/kafka_client.ts";
import { UnavailableError } from "../../actors/ports.ts";
import type { KafkaConfig, KafkaSasl, KafkaSsl } from "../../lib/kafka_config.ts";
import { afterAll } from "../support/after_all.ts";
import { fencepostCommand } from "../support/fencepost_process.ts";
import { PASSWORD, startSecureBroker, USER } from "./secure_broker.ts";

const directory = await Deno.makeTempDir({ prefix: "fencepost-test-" });
const secure = await startSecureBroker(directory);
const ignore = secure === null;
const topic = await secure?.broker.topic(3) ?? "";
const passwordFile = join(directory, "password");
const wrongFile = join(directory, "wrong");
const emptyFile = join(directory, "empty");
await Deno.writeTextFile(passwordFile, `${PASSWORD}\n`);
await Deno.writeTextFile(wrongFile, `${PASSWORD}x`);
await Deno.writeTextFile(emptyFile, "\n");
const WRONG = `${PASSWORD}x`;
const PASSWORD_ENV = "FENCEPOST_TEST_KAFKA_PASSWORD";
Deno.env.set(PASSWORD_ENV, PASSWORD);

afterAll(async () => {
  await secure?.broker.stop();
  await Deno.remove(directory, { recursive: true });
});

/** How a client comes. */
interface Way {
  readonly listener: string;
  readonly host?: string;
  readonly ssl?: Partial<KafkaSsl> | null;
  readonly sasl?: Partial<KafkaSasl> | null;
}

const files = secure?.files ?? { caFile: "", strangerCaFile: "", otherKeyFile: "", client: {}, stranger: {} };
const TLS: Partial<KafkaSsl> = { caFile: files.caFile };

function as(mechanism: KafkaSasl["mechanism"], others: Partial<KafkaSasl> = {}): Partial<KafkaSasl> {
  return { mechanism, passwordFile, ...others };
}

function configOf({ listener, host = "127.0.0.1", ssl = null, sasl = null }: Way): KafkaConfig {
  const address = secure?.broker.address(listener).replace("127.0.0.1", host) ?? "";
  return {
    brokers: [address],
    clientId: "fencepost-test",
    ssl: ssl === null ? null : { caFile: null, certFile: null, keyFile: null, ...ssl },
    sasl: sasl === null
      ? null
      : { mechanism: "plain", username: USER, passwordFile: null, passwordEnv: null, ...sasl },
  };
}

/** Everything that a client, its parts or its failures could be made to show, and what was said. */
function shownBy(...values: unknown[]): string {
  const options = { depth: 100, iterableLimit: 10_000, strAbbreviateSize: 1e9, showHidden: true };
  return values.map((value) => `${value instanceof Error ? value.stack : ""}${Deno.inspect(value, options)}`)
    .join("\n");
}

function assertNoSecret(shown: string): void {
  for (const password of [PASSWORD, WRONG]) {
    ok(!shown.includes(password), "a password is shown");
    ok(!shown.includes(btoa(`\0${USER}\0${password}`).slice(0, -2)), "a password is shown, in base64");
    ok(!shown.includes(btoa(`${USER}\0${USER}\0${password}`).slice(0, -2)), "a password is shown, in base64");
  }
}

async function failureOf(attempt: () => Promise<unknown>): Promise<Error> {
  try {
    await attempt();
  } catch (error) {
    return error as Error;
  }
  throw new Error("It was not refused");
}

const SASLS: readonly (readonly [string, Way])[] = (["plain", "scram-sha-256", "scram-sha-512"] as const)
  .flatMap((mechanism) => [
    [`${mechanism} without TLS`, { listener: "SASL_PLAINTEXT", sasl: as(mechanism) }],
    [`${mechanism} with TLS`, { listener: "SASL_SSL", ssl: TLS, sasl: as(mechanism) }],
  ]);

const WAYS_IN: readonly (readonly [string, Way])[] = [
  ["TLS, by address", { listener: "SSL", ssl: TLS }],
  ["TLS, by name", { listener: "SSL", host: "localhost", ssl: TLS }],
  ["mutual TLS", { listener: "MTLS", ssl: { ...TLS, ...files.client } }],
  ["a certificate that nobody asks for", { listener: "SSL", ssl: { ...TLS, ...files.client } }],
  ...SASLS,
  ["a password from the environment", {
    listener: "SASL_SSL",
    ssl: TLS,
    sasl: as("scram-sha-512", { passwordFile: null, passwordEnv: PASSWORD_ENV }),
  }],
];

for (const [name, way] of WAYS_IN) {
  Deno.test({
    name: `createKafka: gets in, ${name}`,
    ignore,
    async fn() {
      const notices: string[] = [];
      const kafka = await createKafka(configOf(way), { notice: (message) => notices.push(message) });
      strictEqual(await partitionCount(kafka, topic), 3);
      deepStrictEqual(notices, []);
      assertNoSecret(shownBy(kafka, kafka.admin(), kafka.producer(), kafka.consumer({ groupId: "g" })));
    },
  });
}

const NO_CA = /certificate is not signed by an authority that we know: kafka\.ssl\.ca_file must have it/;
const CERTIFICATE_WANTED = /want a certificate of ours, or another: set kafka\.ssl\.cert_file and key_file/;
const WRONG_PASSWORD = /the user or the password of kafka\.sasl is wrong/;
const CLOSED =
  /it is away, or wants other TLS, another certificate or other SASL than kafka\.ssl and kafka\.sasl say/;
const NO_TLS = /no TLS is spoken there: is it a plaintext port\? \(kafka\.ssl is set\)/;

/** Only a person can mend these. */
const REFUSED: readonly (readonly [string, Way, RegExp])[] = [
  ["an authority that only the broker knows", { listener: "SSL", ssl: {} }, NO_CA],
  ["another authority", { listener: "SSL", ssl: { caFile: files.strangerCaFile } }, NO_CA],
  [
    "a certificate for another name",
    { listener: "ELSEWHERE", ssl: TLS },
    /certificate is not for the name that they are reached by, in kafka\.brokers or as they advertise it/,
  ],
  ["a certificate of yesterday", { listener: "EXPIRED", ssl: TLS }, /brokers' certificate is not valid/],
  ["mutual TLS without a certificate", { listener: "MTLS", ssl: TLS }, CERTIFICATE_WANTED],
  [
    "mutual TLS with a stranger's",
    { listener: "MTLS", ssl: { ...TLS, ...files.stranger } },
    /don't accept our certificate: is kafka\.ssl\.cert_file signed by an authority of theirs/,
  ],
  [
    "a key of another certificate",
    { listener: "MTLS", ssl: { ...TLS, ...files.client, keyFile: files.otherKeyFile } },
    /are kafka\.ssl\.cert_file and key_file a certificate and its own key\?/,
  ],
  ...SASLS.map(([name, way]) =>
    [
      `a wrong password, ${name}`,
      { ...way, sasl: { ...way.sasl, passwordFile: wrongFile } },
      WRONG_PASSWORD,
    ] as const
  ),
  [
    "a user that is not there",
    { listener: "SASL_PLAINTEXT", sasl: as("scram-sha-256", { username: "nobody" }) },
    WRONG_PASSWORD,
  ],
  [
    "a mechanism that is not enabled",
    { listener: "PLAIN_ONLY", sasl: as("scram-sha-256") },
    /the brokers don't offer this kafka\.sasl\.mechanism/,
  ],
  [
    "SASL where nobody asks",
    { listener: "PLAINTEXT", sasl: as("plain") },
    /kafka\.sasl is set, and nobody is asked there who they are/,
  ],
  [
    "SASL where nobody asks, with TLS",
    { listener: "SSL", ssl: TLS, sasl: as("scram-sha-512") },
    /kafka\.sasl is set, and nobody is asked there who they are/,
  ],
];

/** These look like a broker that is away, and are said as both. */
const UNAVAILABLE: readonly (readonly [string, Way, RegExp])[] = [
  ["no TLS where it is spoken", { listener: "SSL" }, CLOSED],
  ["SASL without TLS where it is spoken", { listener: "SASL_SSL", sasl: as("plain") }, CLOSED],
  ["no SASL where it is asked for", { listener: "SASL_PLAINTEXT" }, CLOSED],
  ["no SASL where it is asked for, with TLS", { listener: "SASL_SSL", ssl: TLS }, CLOSED],
  ["TLS where it is not spoken", { listener: "PLAINTEXT", ssl: TLS }, NO_TLS],
  ["TLS and SASL where TLS is not spoken", {
    listener: "SASL_PLAINTEXT",
    ssl: TLS,
    sasl: as("scram-sha-256"),
  }, NO_TLS],
];

for (const [kind, cases] of [[KafkaRefusedError, REFUSED], [UnavailableError, UNAVAILABLE]] as const) {
  for (const [name, way, why] of cases) {
    Deno.test({
      name: `explainKafkaFailure: ${kind.name}, ${name}`,
      ignore,
      async fn() {
        const notices: string[] = [];
        const kafka = await createKafka(configOf(way), { notice: (message) => notices.push(message) });
        let error = await failureOf(() => partitionCount(kafka, topic));
        // Brokers look at our certificate when we believe to be in already: the reason may come too late to be read.
        for (let tries = 1; way.listener === "MTLS" && CLOSED.test(error.message) && tries < 20; tries++) {
          error = await failureOf(() => partitionCount(kafka, topic));
        }
        ok(error instanceof kind, `${error}`);
        match(error.message, /^Cannot look at topic t-/);
        match(error.message, why);
        deepStrictEqual(notices, []);
        assertNoSecret(shownBy(error, kafka));
        assertNoSecret(shownBy(explainKafkaFailure(error.cause, "try"), error.cause));
      },
    });
  }
}

const UNUSABLE: readonly (readonly [string, Way, RegExp])[] = [
  [
    "no file",
    { listener: "SSL", ssl: { caFile: "no-such-file" } },
    /^Cannot read no-such-file \(kafka\.ssl\.ca_file\)/,
  ],
  [
    "no authority in it",
    { listener: "SSL", ssl: { caFile: passwordFile } },
    /\(kafka\.ssl\.ca_file\): .*no certificate in PEM/,
  ],
  [
    "no certificate in it",
    { listener: "MTLS", ssl: { ...TLS, ...files.client, certFile: passwordFile } },
    /\(kafka\.ssl\.cert_file\): there is no certificate in PEM/,
  ],
  [
    "no key in it",
    { listener: "MTLS", ssl: { ...TLS, ...files.client, keyFile: passwordFile } },
    /\(kafka\.ssl\.key_file\): there is no private key that is not encrypted in PEM/,
  ],
  [
    "no password file",
    { listener: "SASL_SSL", sasl: as("plain", { passwordFile: "gone" }) },
    /^Cannot read gone \(kafka\.sasl\.password_file\)/,
  ],
  [
    "an empty password file",
    { listener: "SASL_SSL", sasl: as("plain", { passwordFile: emptyFile }) },
    /^Cannot use kafka\.sasl: there is no password in .*empty/,
  ],
  [
    "no such variable",
    { listener: "SASL_SSL", sasl: as("plain", { passwordFile: null, passwordEnv: "FENCEPOST_TEST_NONE" }) },
    /^Cannot use kafka\.sasl: there is no password in (?!.*FENCEPOST_TEST_NONE).*password_env names/,
  ],
];

for (const [name, way, message] of UNUSABLE) {
  Deno.test({
    name: `createKafka: refuses ${name}`,
    ignore,
    async fn() {
      const error = await failureOf(() => createKafka(configOf(way), { notice: () => {} }));
      ok(error instanceof KafkaRefusedError, `${error}`);
      match(error.message, message);
      assertNoSecret(shownBy(error));
    },
  });
}

Deno.test({
  name: "run: says why it may not in, ends, and never shows the password, nor does --print-config",
  ignore,
  async fn() {
    const path = join(directory, "kafka.json");
    const { brokers } = configOf({ listener: "SASL_SSL" });
    const sasl = { mechanism: "scram-sha-512", username: USER, password_env: PASSWORD_ENV };
    await Deno.writeTextFile(
      path,
      JSON.stringify({
        kafka: { brokers, ssl: { ca_file: files.caFile }, sasl },
        source: { type: "kafka", topic, group: "g" },
        sink: { type: "ndjson", path: join(directory, "out-{partition}.ndjson") },
        dead_letters: { type: "ndjson", path: join(directory, "dead-{partition}.ndjson") },
        checkpoint: { path: join(directory, "state") },
      }),
    );
    const run = async (more: readonly string[]): Promise<{ code: number; said: string }> => {
      const permissions = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];
      const [command, ...args] = fencepostCommand(["run", "--config", path, ...more], permissions);
      const { code, stdout, stderr } = await new Deno.Command(command, {
        args,
        stdin: "null",
        env: { [PASSWORD_ENV]: WRONG },
      }).output();
      return { code, said: [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("") };
    };
    const printed = await run(["--print-config"]);
    strictEqual(printed.code, 0, printed.said);
    match(printed.said, new RegExp(PASSWORD_ENV));
    assertNoSecret(printed.said);
    const refused = await run([]);
    strictEqual(refused.code, 1, refused.said);
    match(refused.said, WRONG_PASSWORD);
    strictEqual(refused.said.trim().split("\n").length, 1, refused.said);
    assertNoSecret(refused.said);
  },
});
