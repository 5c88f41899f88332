/**
 * A broker that lets nobody do what was not granted, for the tests of rights: each user is somebody new, and has what the
 * test gives.
 *
 * @module
 */
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  type Kafka,
  ResourcePatternTypes,
} from "kafkajs";
import type { KafkaConfig } from "../../lib/kafka_config.ts";
import { type KafkaBroker, startKafka } from "../support/kafka_broker.ts";
import { clientOf } from "../support/kafka_messages.ts";

/** All users' password, and the environment's variable that holds it. */
export const PASSWORD_ENV = "FENCEPOST_TEST_ACL_PASSWORD";
export const PASSWORD = "secret";
const USERS = 40;

/** What is granted, as in `["TOPIC", "triggers", "WRITE"]`; an id of a transaction is granted by its prefix. */
export type Right = readonly [
  kind: "TOPIC" | "GROUP" | "TRANSACTIONAL_ID",
  name: string,
  operation: keyof typeof AclOperationTypes,
];

/** See the module's header. */
export class AclBroker {
  readonly broker: KafkaBroker;
  /** May do all. */
  readonly kafka: Kafka;
  #users = 0;

  private constructor(broker: KafkaBroker) {
    this.broker = broker;
    this.kafka = clientOf(broker.brokers);
  }

  static async start(): Promise<AclBroker | null> {
    const users = Array.from({ length: USERS }, (_, i) => `user_user${i}="${PASSWORD}"`).join(" ");
    const login = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    const broker = await startKafka({
      listeners: ["SASL_PLAINTEXT"],
      properties: {
        "listener.security.protocol.map":
          "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": `${login} ${users};`,
      },
    });
    Deno.env.set(PASSWORD_ENV, PASSWORD);
    return broker === null ? null : new AclBroker(broker);
  }

  /** Makes a user with these rights and no others. */
  async user(rights: readonly Right[]): Promise<{ readonly name: string; readonly config: KafkaConfig }> {
    const name = `user${this.#users++}`;
    await this.#withAdmin((admin) => admin.createAcls({ acl: rights.map((right) => entry(name, right)) }));
    const sasl = {
      mechanism: "plain",
      username: name,
      passwordFile: null,
      passwordEnv: PASSWORD_ENV,
    } as const;
    const brokers = [this.broker.address("SASL_PLAINTEXT")];
    return { name, config: { brokers, clientId: "fencepost-test", ssl: null, sasl } };
  }

  /** Takes a right away again. */
  async take(name: string, right: Right): Promise<void> {
    await this.#withAdmin((admin) => admin.deleteAcls({ filters: [entry(name, right)] }));
  }

  async #withAdmin(use: (admin: ReturnType<Kafka["admin"]>) => Promise<unknown>): Promise<void> {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      await use(admin);
    } finally {
      await admin.disconnect();
    }
  }
}

function entry(user: string, [kind, resourceName, operation]: Right) {
  return {
    resourceType: AclResourceTypes[kind],
    resourceName,
    resourcePatternType: kind === "TRANSACTIONAL_ID"
      ? ResourcePatternTypes.PREFIXED
      : ResourcePatternTypes.LITERAL,
    principal: `User:${user}`,
    host: "*",
    operation: AclOperationTypes[operation],
    permissionType: AclPermissionTypes.ALLOW,
  };
}
