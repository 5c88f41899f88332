import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { FencedWriter } from "../../actors/adapters/kafka/fenced_writer.ts";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { FencedError, UnavailableError } from "../../actors/ports.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, messagesOf, otherProducer, readAll, valuesOf } from "../support/kafka_messages.ts";
import { API, LossySockets } from "../support/lossy_sockets.ts";

const broker = await startKafka();
const ignore = broker === null;
const brokers = broker?.brokers ?? [];
const kafka = clientOf(brokers);
const newTopic = (partitions: number, configs?: Record<string, string>): Promise<string> =>
  broker === null ? Promise.reject(new Error("There is no broker")) : broker.topic(partitions, configs);

afterAll(async () => await broker?.stop());

/** Opens a writer, hands it over, and closes it again. */
async function withWriter<T>(
  id: string,
  use: (writer: FencedWriter) => Promise<T>,
  client = kafka,
): Promise<T> {
  const writer = new FencedWriter(client, id);
  try {
    await writer.open();
    return await use(writer);
  } finally {
    await writer.close();
  }
}

Deno.test({
  name:
    "FencedWriter: what it writes is there, in order, with key, headers and time, and it says where it ends",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    await withWriter(topic, async (writer) => {
      deepStrictEqual([...await writer.write([])], []);
      const first = await writer.write([
        {
          topic,
          partition: 0,
          key: "k",
          value: Uint8Array.of(1),
          headers: { h: "text", b: Uint8Array.of(0, 255) },
        },
        { topic, partition: 1, key: Uint8Array.of(0, 200), value: null },
        { topic, partition: 0, key: null, value: new Uint8Array(0), timestampMs: 1_700_000_000_123 },
      ]);
      deepStrictEqual([...first].sort(), [[`${topic}/0`, 2], [`${topic}/1`, 1]]);
      // Behind the last record lies the transaction's marker.
      deepStrictEqual([...await writer.write(messagesOf(topic, ["x"]))], [[`${topic}/0`, 4]]);
    });
    const [one, two, three] = await readAll(kafka, topic);
    deepStrictEqual([one?.offset, two?.offset, three?.offset], [0, 1, 3]);
    deepStrictEqual(Buffer.from(one?.key ?? []).toString(), "k");
    deepStrictEqual([...one?.value ?? []], [1]);
    deepStrictEqual([...one?.headers.get("h") ?? []], [...Buffer.from("text")]);
    deepStrictEqual([...one?.headers.get("b") ?? []], [0, 255]);
    deepStrictEqual([two?.key, two?.value?.length, two?.timestampMs], [null, 0, 1_700_000_000_123]);
    const [tombstone] = await readAll(kafka, topic, { partition: 1 });
    deepStrictEqual([[...tombstone?.key ?? []], tombstone?.value], [[0, 200], null]);
  },
});

Deno.test({
  name: "FencedWriter: a writer whose id was taken over can write nothing, and says why",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    await withWriter(topic, async (old) => {
      await old.write(messagesOf(topic, ["old"]));
      await withWriter(topic, async (owner) => {
        await rejects(old.write(messagesOf(topic, ["zombie"])), FencedError);
        // It never writes again, and says the same.
        await rejects(old.write(messagesOf(topic, ["zombie"])), FencedError);
        await owner.write(messagesOf(topic, ["new"]));
      });
    });
    deepStrictEqual(await valuesOf(kafka, topic), ["old", "new"]);
  },
});

Deno.test({
  name: "FencedWriter: a transaction that a dead owner left open is aborted by the next one's fence",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const sockets = new LossySockets();
    await withWriter(topic, async (dying) => {
      await dying.write(messagesOf(topic, ["a", "b"]));
      sockets.fate = (api) => api === API.endTxn ? "lose the request" : "pass";
      await rejects(dying.write(messagesOf(topic, ["never", "never"])));
      strictEqual(sockets.lost, 1);
    }, clientOf(brokers, sockets));
    await withWriter(topic, async (next) => {
      deepStrictEqual(await valuesOf(kafka, topic), ["a", "b"]);
      await next.write(messagesOf(topic, ["c"]));
    });
    deepStrictEqual(await valuesOf(kafka, topic), ["a", "b", "c"]);
  },
});

for (const [what, api, written] of [["send", API.produce, false], ["commit", API.endTxn, true]] as const) {
  Deno.test({
    name: `FencedWriter: the answer to a ${what} is lost: it never writes again, and the next one is whole`,
    ignore,
    async fn() {
      const topic = await newTopic(1);
      const sockets = new LossySockets();
      await withWriter(topic, async (writer) => {
        await writer.write(messagesOf(topic, ["a"]));
        sockets.fate = (key) => key === api ? "lose the answer" : "pass";
        await rejects(writer.write(messagesOf(topic, ["b"])), UnavailableError);
        sockets.away = false;
        // A batch of the same length is what a producer that goes on would lose.
        await rejects(writer.write(messagesOf(topic, ["c"])));
      }, clientOf(brokers, sockets));
      await withWriter(topic, async (next) => {
        deepStrictEqual(await valuesOf(kafka, topic), written ? ["a", "b"] : ["a"]);
        await next.write(messagesOf(topic, ["c"]));
      });
      deepStrictEqual(await valuesOf(kafka, topic), written ? ["a", "b", "c"] : ["a", "c"]);
    },
  });
}

Deno.test({
  name: "FencedWriter: many and large records are cut into as many sends as fit, all of one transaction",
  ignore,
  async fn() {
    const topic = await newTopic(1);
    const large = Array.from({ length: 40 }, (_, i) => `${i}:${"x".repeat(64 << 10)}`);
    const many = Array.from({ length: 2_500 }, (_, i) => `${i}`);
    await withWriter(topic, async (writer) => {
      const ends = await writer.write(messagesOf(topic, [...large, ...many]));
      deepStrictEqual([...ends], [[`${topic}/0`, 2_540]]);
    });
    const messages = await readAll(kafka, topic);
    deepStrictEqual(messages.map(({ offset }) => offset), Array.from({ length: 2_540 }, (_, i) => i));
    deepStrictEqual(await valuesOf(kafka, topic), [...large, ...many]);
  },
});

Deno.test({
  name:
    "FencedWriter: a topic that takes less at once gets less at once; a record over its limit is an error that says so",
  ignore,
  async fn() {
    const topic = await newTopic(1, { "max.message.bytes": "20000" });
    const values = Array.from({ length: 200 }, (_, i) => `${i}:${"x".repeat(1_000)}`);
    await withWriter(topic, async (writer) => {
      await writer.write(messagesOf(topic, values));
      await writer.write(messagesOf(topic, values));
      await rejects(writer.write(messagesOf(topic, ["before", "x".repeat(30_000), "behind"])), (error) => {
        ok(error instanceof KafkaRefusedError);
        ok(error.message.includes(topic) && error.message.includes("30040 bytes"), error.message);
        return true;
      });
    });
    await withWriter(
      topic,
      async () => deepStrictEqual(await valuesOf(kafka, topic), [...values, ...values]),
    );
  },
});

Deno.test({
  name: "FencedWriter: a partition that is not there is an error, and not a record less",
  ignore,
  async fn() {
    const topic = await newTopic(2);
    await withWriter(topic, async (writer) => {
      await rejects(
        writer.write([...messagesOf(topic, ["a"]), ...messagesOf(topic, ["b"], 2)]),
        KafkaRefusedError,
      );
    });
    await withWriter(topic, async () => deepStrictEqual(await valuesOf(kafka, topic), []));
  },
});

Deno.test({
  name: "FencedWriter: writers of many partitions do not disturb each other",
  ignore,
  async fn() {
    const topic = await newTopic(16);
    const values = (partition: number): string[] => Array.from({ length: 50 }, (_, i) => `${partition}-${i}`);
    await Promise.all(
      Array.from({ length: 16 }, (_, partition) =>
        withWriter(`${topic}-${partition}`, async (writer) => {
          for (let at = 0; at < 50; at += 10) {
            await writer.write(messagesOf(topic, values(partition).slice(at, at + 10), partition));
          }
        })),
    );
    for (let partition = 0; partition < 16; partition++) {
      deepStrictEqual(await valuesOf(kafka, topic, { partition }), values(partition));
    }
  },
});

Deno.test({
  name: "FencedWriter: a broker that is away is an error, and closing a writer that never opened is none",
  ignore,
  async fn() {
    const sockets = new LossySockets();
    sockets.away = true;
    const writer = new FencedWriter(clientOf(brokers, sockets), "nobody");
    await rejects(writer.open(), (error) => {
      ok(error instanceof UnavailableError);
      ok(error.message.includes("take over as nobody"), error.message);
      return true;
    });
    await writer.close();
    await writer.close();
    await new FencedWriter(kafka, "never-opened").close();
    // What others do with plain producers is none of its business.
    const topic = await newTopic(1);
    await otherProducer(kafka, null, (producer) => producer.send({ topic, messages: [{ value: "plain" }] }));
    deepStrictEqual(await valuesOf(kafka, topic), ["plain"]);
  },
});
