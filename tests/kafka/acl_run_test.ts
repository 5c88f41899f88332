/**
 * Whole runs as a user who has the rights of the README, and no others; and what a run says when one is taken away.
 *
 * @module
 */
import { match, strictEqual } from "node:assert/strict";
import { afterAll } from "../support/after_all.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { otherProducer, valuesOf } from "../support/kafka_messages.ts";
import { AclBroker, PASSWORD, PASSWORD_ENV, type Right } from "./acl_broker.ts";
import { KafkaRun } from "./kafka_run.ts";

const acl = await AclBroker.start();
const ignore = acl === null;

afterAll(async () => await acl?.broker.stop());

/** Topics, and a configuration that names them. */
class World {
  readonly #acl: AclBroker;
  readonly input: string;
  readonly triggers: string;
  readonly deadLetters: string;
  readonly state = `state-${crypto.randomUUID().slice(0, 8)}`;
  #atMs = Date.now() - 60_000;

  private constructor(acl: AclBroker, [input, triggers, deadLetters]: readonly [string, string, string]) {
    this.#acl = acl;
    this.input = input;
    this.triggers = triggers;
    this.deadLetters = deadLetters;
  }

  static async make(): Promise<World> {
    const { broker } = acl as AclBroker;
    return new World(acl as AclBroker, [await broker.topic(1), await broker.topic(1), await broker.topic(1)]);
  }

  /** The README's table. */
  get rights(): Right[] {
    return [
      ["TOPIC", this.input, "READ"],
      ["TOPIC", this.input, "DESCRIBE"],
      ["GROUP", "readers", "READ"],
      ...[this.triggers, this.deadLetters, this.state].flatMap((topic): Right[] => [
        ["TOPIC", topic, "WRITE"],
        ["TOPIC", topic, "READ"],
        ["TOPIC", topic, "DESCRIBE"],
      ]),
      ["TOPIC", this.state, "DESCRIBE_CONFIGS"],
      ["TOPIC", this.state, "CREATE"],
      ["TRANSACTIONAL_ID", "tenant-7/", "WRITE"],
      ["TRANSACTIONAL_ID", "tenant-7/", "DESCRIBE"],
    ];
  }

  /** Sends values as somebody who may do all; `ENTER` and `EXIT` stand for transitions of one pair. */
  async send(...values: string[]): Promise<void> {
    const messages = values.map((value) => ({ value: /^E/.test(value) ? this.#transition(value) : value }));
    await otherProducer(this.#acl.kafka, null, async (producer) => {
      await producer.send({ topic: this.input, messages });
    });
  }

  async start(directory: string, user: { readonly name: string }): Promise<KafkaRun> {
    return await KafkaRun.start(directory, {
      deployment: "tenant-7",
      kafka: {
        brokers: [this.#acl.broker.address("SASL_PLAINTEXT")],
        sasl: { mechanism: "plain", username: user.name, password_env: PASSWORD_ENV },
      },
      source: { type: "kafka", topic: this.input, group: "readers" },
      sink: { type: "kafka", topic: this.triggers },
      dead_letters: { type: "kafka", topic: this.deadLetters },
      checkpoint: { path: `kafka:${this.state}` },
    }, { [PASSWORD_ENV]: PASSWORD });
  }

  #transition(kind: string): string {
    this.#atMs += 10_000;
    return JSON.stringify({ device_id: "d", fence_id: "f", kind, event_time_ms: this.#atMs });
  }
}

Deno.test({
  name: "run: the rights of the README are enough, also to go on; and when one is taken away it is said",
  ignore,
  async fn() {
    const world = await World.make();
    const { kafka } = acl as AclBroker;
    const user = await (acl as AclBroker).user(world.rights);
    await inDirectory(async (directory) => {
      const first = await world.start(directory, user);
      await world.send("ENTER", "{", "EXIT");
      await first.until(kafka, world.triggers, 2);
      await first.until(kafka, world.deadLetters, 1);
      match(await first.end(), /^0: /);
      const second = await world.start(directory, user);
      await world.send("ENTER");
      await second.until(kafka, world.triggers, 3);
      await (acl as AclBroker).take(user.name, ["TOPIC", world.triggers, "WRITE"]);
      await world.send("EXIT");
      const { code, said } = await second.ended();
      strictEqual(code, 1, said);
      match(said, new RegExp(`Cannot write to topic ${world.triggers}: the user may not: grant .*WRITE`));
      strictEqual((await valuesOf(kafka, world.triggers)).length, 3);
    });
  },
});

for (
  const [kind, why] of [
    [
      "TRANSACTIONAL_ID",
      /Cannot take over as tenant-7\/.*: grant WRITE and DESCRIBE on the transactional ids/,
    ],
    ["GROUP", /Cannot read t-.* as group readers: the user may not: grant READ on the group/],
  ] as const
) {
  Deno.test({
    name: `run: without the right on the ${kind} it ends, and says so`,
    ignore,
    async fn() {
      const world = await World.make();
      const user = await (acl as AclBroker).user(world.rights.filter(([of]) => of !== kind));
      await inDirectory(async (directory) => {
        const { code, said } = await (await world.start(directory, user)).ended();
        strictEqual(code, 1, said);
        match(said, why);
      });
    },
  });
}
