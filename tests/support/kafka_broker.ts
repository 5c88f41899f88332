/**
 * A real Apache Kafka for the tests: one broker in KRaft mode on loopback, from Maven Central, started with plain `java`.
 *
 * ```
 *   KAFKA_BROKERS is set     that cluster is used, and never stopped
 *   KAFKA_SHARED is set      so is that broker, but where a test needs one of its own
 *   java and mvn are there   the broker's libraries are copied to build/kafka/libs once, and a broker started from them
 *   neither                  null: the tests that need it report themselves ignored
 * ```
 *
 * An open port is not yet a broker that works: it is waited for until a group and a transaction have succeeded. The data
 * lies in a directory, which a kill and a restart find again and {@link KafkaBroker.stop} removes.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Kafka, logLevel } from "kafkajs";
import type { KafkaConfig } from "../../lib/kafka_config.ts";
import { freePorts } from "./free_ports.ts";
import { GivenServer, type TestServer } from "./given_server.ts";
import { succeeds } from "./succeeds.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LIBRARIES = join(ROOT, "build/kafka/libs");
const POM = join(ROOT, "tests/support/kafka/pom.xml");
const CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg";
const READY_MS_MAX = 90_000;

/** How the broker differs from the usual one. */
export interface KafkaBrokerOptions {
  /** More of `server.properties`, or other values; listeners of the tests' own begin with `listener.`. */
  readonly properties?: Readonly<Record<string, string>>;
  /**
   * More listeners by name, each on a port of its own, as in `listeners`: the name is its protocol unless
   * `listener.security.protocol.map` says otherwise.
   */
  readonly listeners?: readonly string[];
  /** Users of SCRAM, as the storage tool takes them: `SCRAM-SHA-256=[name=alice,password=…]`. */
  readonly scramUsers?: readonly string[];
  /** Where its data lies, made where it is missing; a temporary directory where not given. */
  readonly directory?: string;
  /** Whether the tests kill it: then it is shared with nobody. */
  readonly own?: boolean;
}

/** A broker that runs. */
export interface KafkaBroker extends TestServer {
  readonly brokers: readonly string[];
  /** As the configuration's section `kafka`. */
  readonly config: KafkaConfig;
  /** `127.0.0.1:PORT` of another listener. */
  address(listener: string): string;
  /** Makes a topic with a name of its own, and waits until all its partitions are led. */
  topic(partitions: number, configs?: Readonly<Record<string, string>>): Promise<string>;
}

/** Starts a broker, or uses the one of KAFKA_BROKERS; null, said once on stderr, where there is none to be had. */
export async function startKafka(options: KafkaBrokerOptions = {}): Promise<KafkaBroker | null> {
  const given = Deno.env.get("KAFKA_BROKERS") ?? (options.own ? undefined : Deno.env.get("KAFKA_SHARED"));
  const special = options.properties !== undefined || options.listeners !== undefined;
  if (given !== undefined && !special) return new GivenBroker(given.split(","));
  if (!await haveLibraries()) {
    say("SKIPPED: no Kafka: neither KAFKA_BROKERS nor Java and Maven are there");
    return null;
  }
  return await OwnBroker.start(options);
}

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

function configOf(brokers: readonly string[]): KafkaConfig {
  return { brokers, clientId: "fencepost", ssl: null, sasl: null };
}

async function haveLibraries(): Promise<boolean> {
  const whole = join(LIBRARIES, "complete");
  const exists = async (): Promise<boolean> => {
    try {
      await Deno.stat(whole);
      return true;
    } catch {
      return false;
    }
  };
  if (!await succeeds("java", ["-version"])) return false;
  if (await exists()) return true;
  if (!await succeeds("mvn", ["-version"])) return false;
  const copied = await succeeds("mvn", [
    "-q",
    "-B",
    "-f",
    POM,
    "dependency:copy-dependencies",
    `-DoutputDirectory=${LIBRARIES}`,
  ]);
  if (!copied) return false;
  await Deno.writeTextFile(whole, "");
  return true;
}

async function makeTopic(
  kafka: Kafka,
  partitions: number,
  configs: Readonly<Record<string, string>>,
): Promise<string> {
  const topic = `t-${crypto.randomUUID().slice(0, 13)}`;
  const admin = kafka.admin();
  await admin.connect();
  try {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    await admin.createTopics({
      waitForLeaders: false,
      topics: [{ topic, numPartitions: partitions, configEntries }],
    });
    for (;;) {
      try {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        const led = topics[0]?.partitions.filter(({ leader }) => leader >= 0).length ?? 0;
        // Metadata is there a moment before the leader knows that it is one.
        if (led === partitions && (await admin.fetchTopicOffsets(topic)).length === partitions) return topic;
      } catch {
        // Not yet known to the broker that was asked.
      }
      await delay(20);
    }
  } finally {
    await admin.disconnect();
  }
}

/** Somebody else's cluster. */
class GivenBroker extends GivenServer implements KafkaBroker {
  readonly brokers: readonly string[];
  readonly config: KafkaConfig;
  readonly #kafka: Kafka;

  constructor(brokers: readonly string[]) {
    super("KAFKA_BROKERS");
    this.brokers = brokers;
    this.config = configOf(brokers);
    this.#kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  }

  address(listener: string): string {
    throw new Error(`KAFKA_BROKERS has no listener ${listener}`);
  }

  topic(partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<string> {
    return makeTopic(this.#kafka, partitions, configs);
  }
}

/** One of our own. */
class OwnBroker implements KafkaBroker {
  readonly isOurs = true;
  readonly brokers: readonly string[];
  readonly config: KafkaConfig;
  readonly #directory: string;
  readonly #ports: ReadonlyMap<string, number>;
  readonly #kafka: Kafka;
  #process: Deno.ChildProcess | null = null;

  private constructor(directory: string, ports: ReadonlyMap<string, number>) {
    this.#directory = directory;
    this.#ports = ports;
    this.brokers = [this.address("PLAINTEXT")];
    this.config = configOf(this.brokers);
    this.#kafka = new Kafka({
      brokers: [...this.brokers],
      logLevel: logLevel.NOTHING,
      retry: { retries: 2, initialRetryTime: 50 },
    });
  }

  static async start(options: KafkaBrokerOptions): Promise<OwnBroker> {
    const directory = options.directory ?? await Deno.makeTempDir({ prefix: "fencepost-kafka-" });
    await Deno.mkdir(directory, { recursive: true });
    const names = ["PLAINTEXT", "CONTROLLER", ...options.listeners ?? []];
    const free = freePorts(names.length);
    const ports = new Map(names.map((name, i) => [name, free[i] as number]));
    const broker = new OwnBroker(directory, ports);
    try {
      await broker.#configure(options);
      await broker.restart();
      return broker;
    } catch (error) {
      await broker.stop();
      throw error;
    }
  }

  address(listener: string): string {
    const port = this.#ports.get(listener);
    if (port === undefined) throw new Error(`There is no listener ${listener}`);
    return `127.0.0.1:${port}`;
  }

  topic(partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<string> {
    return makeTopic(this.#kafka, partitions, configs);
  }

  async kill(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    process.kill("SIGKILL");
    await process.status;
  }

  async stop(): Promise<void> {
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }

  async restart(): Promise<void> {
    this.#process = new Deno.Command("java", {
      args: ["-Xmx512m", "-cp", `${LIBRARIES}/*:${this.#directory}`, "kafka.Kafka", this.#properties],
      cwd: this.#directory,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const giveUpAt = Date.now() + READY_MS_MAX;
    for (;;) {
      try {
        await this.#works();
        return;
      } catch (error) {
        if (Date.now() > giveUpAt) throw new Error("The broker does not come up", { cause: error });
        await delay(100);
      }
    }
  }

  get #properties(): string {
    return join(this.#directory, "server.properties");
  }

  async #configure({ properties = {}, listeners = [], scramUsers = [] }: KafkaBrokerOptions): Promise<void> {
    const own = ["PLAINTEXT", ...listeners];
    const addresses = own.map((name) => `${name}://${this.address(name)}`).join(",");
    const settings: Record<string, string> = {
      "process.roles": "broker,controller",
      "node.id": "1",
      "controller.quorum.voters": `1@${this.address("CONTROLLER")}`,
      "controller.listener.names": "CONTROLLER",
      "listeners": `${addresses},CONTROLLER://${this.address("CONTROLLER")}`,
      "advertised.listeners": addresses,
      "log.dirs": join(this.#directory, "data"),
      "num.partitions": "4",
      "auto.create.topics.enable": "false",
      "offsets.topic.replication.factor": "1",
      "offsets.topic.num.partitions": "4",
      "transaction.state.log.replication.factor": "1",
      "transaction.state.log.min.isr": "1",
      "transaction.state.log.num.partitions": "4",
      "share.coordinator.state.topic.replication.factor": "1",
      "share.coordinator.state.topic.min.isr": "1",
      "group.initial.rebalance.delay.ms": "0",
      "group.min.session.timeout.ms": "1000",
      ...properties,
    };
    const text = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`).join("");
    await Deno.writeTextFile(this.#properties, text);
    await Deno.writeTextFile(join(this.#directory, "log4j2.properties"), "rootLogger.level = off\n");
    const formatted = await succeeds("java", [
      "-cp",
      `${LIBRARIES}/*:${this.#directory}`,
      "kafka.tools.StorageTool",
      "format",
      "-t",
      CLUSTER_ID,
      "-c",
      this.#properties,
      ...scramUsers.flatMap((user) => ["--add-scram", user]),
    ]);
    if (!formatted) throw new Error("The broker's directory can't be formatted");
  }

  /** Whether groups and transactions are coordinated: what a port that is open does not tell. */
  async #works(): Promise<void> {
    const admin = this.#kafka.admin();
    const producer = this.#kafka.producer({
      transactionalId: "ready",
      maxInFlightRequests: 1,
      idempotent: true,
    });
    try {
      await admin.connect();
      await admin.describeGroups(["ready"]);
      await producer.connect();
      await (await producer.transaction()).abort();
    } finally {
      await Promise.allSettled([admin.disconnect(), producer.disconnect()]);
    }
  }
}
