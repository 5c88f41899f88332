/**
 * A broker that asks who is there, in each of the ways, for the tests of security. Each way is a listener:
 *
 * | listener | TLS | who we are |
 * |---|---|---|
 * | PLAINTEXT | | nobody asks |
 * | SSL, MTLS | yes | nobody asks, by a certificate |
 * | ELSEWHERE, EXPIRED | with a certificate for another name, of yesterday | nobody asks |
 * | SASL_PLAINTEXT, SASL_SSL | no, yes | PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 |
 * | PLAIN_ONLY | | PLAIN |
 *
 * @module
 */
import { join } from "node:path";
import { TestAuthority } from "../support/certificates.ts";
import { type KafkaBroker, startKafka } from "../support/kafka_broker.ts";

/** The user that all listeners with SASL know. */
export const USER = "alice";
export const PASSWORD = "Tr0ub4dor-and-3";

/** Paths of PEM files. */
export interface SecureFiles {
  readonly caFile: string;
  /** An authority that nobody knows. */
  readonly strangerCaFile: string;
  /** Ours, and its key. */
  readonly client: { readonly certFile: string; readonly keyFile: string };
  /** Of somebody whom the stranger has signed. */
  readonly stranger: { readonly certFile: string; readonly keyFile: string };
  /** A key that belongs to neither. */
  readonly otherKeyFile: string;
}

/** See the module's header. */
export interface SecureBroker {
  readonly broker: KafkaBroker;
  readonly files: SecureFiles;
}

const PROTOCOLS = {
  PLAINTEXT: "PLAINTEXT",
  CONTROLLER: "PLAINTEXT",
  SSL: "SSL",
  MTLS: "SSL",
  ELSEWHERE: "SSL",
  EXPIRED: "SSL",
  SASL_PLAINTEXT: "SASL_PLAINTEXT",
  SASL_SSL: "SASL_SSL",
  PLAIN_ONLY: "SASL_PLAINTEXT",
};

/** Starts it; null where there is none to be had. The files are the caller's, in a directory of the caller's. */
export async function startSecureBroker(directory: string): Promise<SecureBroker | null> {
  const ours = await TestAuthority.make(join(directory, "ours"));
  const strangers = await TestAuthority.make(join(directory, "strangers"));
  const names = "DNS:localhost,IP:127.0.0.1";
  const here = await ours.sign({ name: "broker", names });
  const elsewhere = await ours.sign({ name: "elsewhere", names: "DNS:broker-1.example" });
  const expired = await ours.sign({ name: "expired", names, days: -1 });
  const broker = await startKafka({
    listeners: Object.keys(PROTOCOLS).filter((name) => name !== "PLAINTEXT" && name !== "CONTROLLER"),
    scramUsers: ["256", "512"].map((bits) => `SCRAM-SHA-${bits}=[name=${USER},password=${PASSWORD}]`),
    properties: {
      "listener.security.protocol.map": Object.entries(PROTOCOLS).map((of) => of.join(":")).join(","),
      ...keyStore("", here.storeFile),
      ...keyStore("listener.name.elsewhere.", elsewhere.storeFile),
      ...keyStore("listener.name.expired.", expired.storeFile),
      "ssl.truststore.type": "PEM",
      "ssl.truststore.location": ours.caFile,
      "listener.name.mtls.ssl.client.auth": "required",
      "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
      "listener.name.plain_only.sasl.enabled.mechanisms": "PLAIN",
      ...saslOf("sasl_plaintext"),
      ...saslOf("sasl_ssl"),
      ...saslOf("plain_only"),
    },
  });
  if (broker === null) return null;
  const files = {
    caFile: ours.caFile,
    strangerCaFile: strangers.caFile,
    client: await ours.sign({ name: "client" }),
    stranger: await strangers.sign({ name: "client" }),
    otherKeyFile: here.keyFile,
  };
  return { broker, files };
}

function keyStore(prefix: string, location: string): Record<string, string> {
  return { [`${prefix}ssl.keystore.type`]: "PEM", [`${prefix}ssl.keystore.location`]: location };
}

function saslOf(listener: string): Record<string, string> {
  const module = (of: string, options: string): string =>
    `org.apache.kafka.common.security.${of}LoginModule required${options};`;
  const prefix = `listener.name.${listener}`;
  return {
    [`${prefix}.plain.sasl.jaas.config`]: module("plain.Plain", ` user_${USER}="${PASSWORD}"`),
    [`${prefix}.scram-sha-256.sasl.jaas.config`]: module("scram.Scram", ""),
    [`${prefix}.scram-sha-512.sasl.jaas.config`]: module("scram.Scram", ""),
  };
}
