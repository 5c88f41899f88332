import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { ConfigResourceTypes } from "kafkajs";
import { FencedWriter, type WriteMessage } from "../../actors/adapters/kafka/fenced_writer.ts";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { KafkaStore } from "../../actors/adapters/kafka/kafka_store.ts";
import { ensureStateTopic } from "../../actors/adapters/kafka/state_topic.ts";
import type { CheckpointChunk } from "../../actors/ports.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, deleteBefore, otherProducer, readAll } from "../support/kafka_messages.ts";
import { API, LossySockets } from "../support/lossy_sockets.ts";
import { chunksOf, commit, holds, range, storeContract, withStore } from "../support/store_contract.ts";

const broker = await startKafka({ properties: { "log.cleaner.backoff.ms": "100" } });
const ignore = broker === null;
const brokers = broker?.brokers ?? [];
const kafka = clientOf(brokers);
const decoder = new TextDecoder();

afterAll(async () => await broker?.stop());

const COMPACTED = { "cleanup.policy": "compact" };

function newTopic(partitions = 1, configs: Record<string, string> = COMPACTED): Promise<string> {
  return broker === null
    ? Promise.reject(new Error("There is no broker"))
    : broker.topic(partitions, configs);
}

function storeOf(
  topic: string,
  options: { split?: string; partitions?: number; client?: typeof kafka } = {},
) {
  const { split = "file", partitions, client = kafka } = options;
  return new KafkaStore({
    kafka: client,
    topic,
    partition: 0,
    split,
    transactionalId: idOf(topic, split),
    ...(partitions === undefined ? {} : { partitions }),
    notice: () => {},
  });
}

function idOf(topic: string, split: string): string {
  return `${topic}-${split}-state`;
}

/** The last value of each key of a split's, by stream. */
async function chunkIds(topic: string, split: string): Promise<Record<string, number[]>> {
  const last = new Map<string, boolean>();
  for (const { key, value } of await readAll(kafka, topic)) {
    last.set(decoder.decode(key ?? undefined), value !== null);
  }
  const ids: Record<string, number[]> = {};
  for (const [key, present] of last) {
    const [name = "", stream = "", id] = key.split("/").map(decodeURIComponent);
    if (present && name === split && id !== undefined) (ids[stream] ??= []).push(Number(id));
  }
  for (const stream in ids) ids[stream]?.sort((a, b) => a - b);
  return ids;
}

function chunkMessages(topic: string, split: string, chunks: readonly CheckpointChunk[]): WriteMessage[] {
  return chunks.map(({ stream, id, bytes }) => ({
    topic,
    partition: 0,
    key: `${encodeURIComponent(split)}/${encodeURIComponent(stream)}/${id}`,
    value: bytes,
  }));
}

/** Deletes records as a topic does whose policy was another for a while: of a compacted one nobody may. */
async function deleteRecords(topic: string, before: number): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  const setPolicy = (value: string) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [{
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: [{ name: "cleanup.policy", value }],
      }],
    });
  try {
    await setPolicy("delete");
    await deleteBefore(kafka, topic, before);
    await setPolicy("compact");
  } finally {
    await admin.disconnect();
  }
}

/** Writes in a transaction of somebody with this id, who is fenced after. */
async function writeAs(id: string, messages: readonly WriteMessage[]): Promise<void> {
  const writer = new FencedWriter(kafka, id);
  try {
    await writer.open();
    await writer.write(messages);
  } finally {
    await writer.close();
  }
}

storeContract("KafkaStore", {
  ignore,
  seeds: 4,
  world: async (use) => {
    const topic = await newTopic();
    await use({
      store: (split) => storeOf(topic, { split }),
      takeOver: async (split) => await withStore(storeOf(topic, { split }), () => {}),
      chunks: (split) => chunkIds(topic, split),
      leaveBehind: (split, chunks) => writeAs(idOf(topic, split), chunkMessages(topic, split, chunks)),
    });
  },
});

Deno.test({
  name: "KafkaStore: a topic that is missing is made, compacted, with as many partitions as the source",
  ignore,
  async fn() {
    const topic = `made-${crypto.randomUUID()}`;
    await rejects(withStore(storeOf(topic), () => {}), (error) => {
      ok(error instanceof KafkaRefusedError);
      return /there is no such topic\. Make it: kafka-topics.*--config cleanup\.policy=compact/.test(
        error.message,
      );
    });
    const notices: string[] = [];
    // As many processes do at once.
    const made = { topic, partitions: 3, notice: (message: string): unknown => notices.push(message) };
    await Promise.all([1, 2, 3].map(() => ensureStateTopic(kafka, made)));
    deepStrictEqual(notices, [`Made topic ${topic} for the state: 3 partitions, compacted`]);
    await withStore(storeOf(topic, { partitions: 3 }), (store) => commit(store, { manifest: "one" }));
    const admin = kafka.admin();
    await admin.connect();
    const { resources } = await admin.describeConfigs({
      resources: [{
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configNames: ["cleanup.policy", "segment.bytes"],
      }],
      includeSynonyms: false,
    });
    await admin.disconnect();
    const configs = resources[0]?.configEntries.map((
      { configName, configValue },
    ) => [configName, configValue]);
    deepStrictEqual(configs?.sort(), [["cleanup.policy", "compact"], ["segment.bytes", "33554432"]]);
  },
});

Deno.test({
  name:
    "KafkaStore: a topic that forgets, or has fewer partitions than the source, is refused with what to do",
  ignore,
  async fn(test) {
    const cases: [string, Record<string, string>, number | undefined, RegExp][] = [
      [
        "delete",
        { "cleanup.policy": "delete" },
        1,
        /cleanup\.policy is delete.*--add-config cleanup\.policy=compact/,
      ],
      ["both", { "cleanup.policy": "compact,delete" }, undefined, /cleanup\.policy is compact,delete/],
      ["too few", COMPACTED, 2, /it has 1 partitions and the source 2.*--alter.*--partitions 2/],
    ];
    for (const [name, configs, partitions, message] of cases) {
      await test.step(name, async () => {
        const topic = await newTopic(1, configs);
        const store = storeOf(topic, partitions === undefined ? {} : { partitions });
        await rejects(withStore(store, () => {}), (error) => {
          ok(error instanceof KafkaRefusedError);
          return message.test(error.message);
        });
      });
    }
    await test.step("no partition of that number", async () => {
      const topic = await newTopic(1);
      const store = new KafkaStore({
        kafka,
        topic,
        partition: 1,
        split: "file",
        transactionalId: topic,
        notice: () => {},
      });
      await rejects(withStore(store, () => {}), KafkaRefusedError);
    });
  },
});

Deno.test({
  name:
    "KafkaStore: a topic with more partitions than the source is taken, as the source is to get more later",
  ignore,
  async fn() {
    const topic = await newTopic(3);
    await withStore(storeOf(topic, { partitions: 2 }), (store) => commit(store, { manifest: "one" }));
  },
});

Deno.test({
  name: "KafkaStore: a state whose records were deleted is refused, and not begun afresh",
  ignore,
  async fn() {
    const topic = await newTopic();
    await withStore(
      storeOf(topic),
      (store) => commit(store, { put: chunksOf(range("journal", 0, 3)), manifest: "one" }),
    );
    // Only the first chunk is gone: the manifest names it.
    await deleteRecords(topic, 1);
    await withStore(storeOf(topic), async (store, manifest) => {
      strictEqual(manifest, "one");
      await rejects(
        holds(store, range("journal", 0, 3)),
        /chunk 0 of journal is missing.*Name another topic/,
      );
    });
    const end = Number((await readAll(kafka, topic, { from: 1 })).at(-1)?.offset) + 1;
    await deleteRecords(topic, end);
    await rejects(withStore(storeOf(topic), () => {}), /were deleted, and no checkpoint is left/);
  },
});

Deno.test({
  name:
    "KafkaStore: a checkpoint in several transactions, of which only the first came, leaves the former whole",
  ignore,
  async fn() {
    const topic = await newTopic();
    await withStore(
      storeOf(topic),
      (store) => commit(store, { put: chunksOf(range("journal", 0, 2)), manifest: "one" }),
    );
    const sockets = new LossySockets();
    const large = range("journal", 2, 302);
    await withStore(storeOf(topic, { client: clientOf(brokers, sockets) }), async (store, manifest) => {
      strictEqual(manifest, "one");
      let commits = 0;
      sockets.fate = (apiKey) => apiKey === API.endTxn && ++commits === 2 ? "lose the request" : "pass";
      await rejects(
        commit(store, { put: chunksOf(large, 60_000), drop: [range("journal", 0, 2)], manifest: "two" }),
      );
      sockets.fate = () => "pass";
      sockets.away = false;
    });
    await withStore(storeOf(topic), async (store, manifest) => {
      strictEqual(manifest, "one");
      // The open transaction is aborted by now, so that this need not wait for it.
      const left = (await chunkIds(topic, "file"))["journal"]?.length ?? 0;
      ok(left > 100 && left < 302, `${left} chunks`);
      await store.sweep([range("journal", 0, 2)]);
      await holds(store, range("journal", 0, 2));
      await commit(store, { put: chunksOf(large, 60_000), drop: [range("journal", 0, 2)], manifest: "two" });
    });
    await withStore(storeOf(topic), async (store, manifest) => {
      strictEqual(manifest, "two");
      await holds(store, large, 60_000);
    });
  },
});

Deno.test({
  name: "KafkaStore: a commit whose answer was lost is there, whole, for the next store",
  ignore,
  async fn() {
    const topic = await newTopic();
    const sockets = new LossySockets();
    await withStore(storeOf(topic, { client: clientOf(brokers, sockets) }), async (store) => {
      await commit(store, { put: chunksOf(range("journal", 0, 2)), manifest: "one" });
      sockets.fate = (apiKey) => apiKey === API.endTxn ? "lose the answer" : "pass";
      await rejects(
        commit(store, {
          put: chunksOf(range("journal", 2, 3)),
          drop: [range("journal", 0, 2)],
          manifest: "two",
        }),
      );
      sockets.fate = () => "pass";
      sockets.away = false;
      await rejects(commit(store, { manifest: "three" }), "it never writes again");
    });
    await withStore(storeOf(topic), async (store, manifest) => {
      strictEqual(manifest, "two");
      await holds(store, range("journal", 2, 3));
    });
    deepStrictEqual(await chunkIds(topic, "file"), { journal: [2] });
  },
});

Deno.test({
  name: "KafkaStore: a transaction that the former owner left open is no part of the state",
  ignore,
  async fn() {
    const topic = await newTopic();
    await withStore(storeOf(topic), (store) => commit(store, { manifest: "one" }));
    await otherProducer(kafka, idOf(topic, "file"), async (producer) => {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ key: "file/manifest", value: "torn", partition: 0 }] });
      await withStore(storeOf(topic), async (store, manifest) => {
        strictEqual(manifest, "one");
        await commit(store, { manifest: "two" });
        await rejects(transaction.commit());
      });
    });
    await withStore(storeOf(topic), (_, manifest) => strictEqual(manifest, "two"));
  },
});

Deno.test({
  name: "KafkaStore: what compaction has taken is not missed",
  ignore,
  async fn() {
    const topic = await newTopic(1, {
      ...COMPACTED,
      "segment.bytes": "1048576",
      "min.cleanable.dirty.ratio": "0.01",
      "delete.retention.ms": "0",
      "segment.ms": "1000",
    });
    const live = range("journal", 95, 100);
    await withStore(storeOf(topic), async (store) => {
      for (let id = 0; id < live.end; id++) {
        await commit(store, {
          put: chunksOf(range("journal", id, id + 1), 60_000),
          drop: id < 5 ? [] : [range("journal", id - 5, id - 4)],
          manifest: String(id),
        });
      }
    });
    // Until the cleaner has been there: most of what was written lies in segments that are closed.
    let records = Infinity;
    while (records > 100) records = (await readAll(kafka, topic)).length;
    await withStore(storeOf(topic), async (store, manifest) => {
      strictEqual(manifest, "99");
      await store.sweep([live]);
      await holds(store, live, 60_000);
    });
    deepStrictEqual(await chunkIds(topic, "file"), { journal: [95, 96, 97, 98, 99] });
  },
});

/** The process of tests/support/hold_kafka_state.ts. */
function spawn(topic: string): Deno.ChildProcess {
  const program = new URL("../support/hold_kafka_state.ts", import.meta.url).pathname;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", program, brokers.join(","), topic, idOf(topic, "file")],
    stdout: "piped",
  }).spawn();
}

/** Reads the lines that a process says until there are so many, or it has ended. */
async function hear(reader: ReadableStreamDefaultReader<Uint8Array>, lines: number): Promise<string[]> {
  let said = "";
  while (said.split("\n").length <= lines) {
    const { value, done } = await reader.read();
    if (done) break;
    said += decoder.decode(value);
  }
  return said.split("\n").slice(0, -1);
}

Deno.test({
  name:
    "KafkaStore: killed while it commits, the last acknowledged checkpoint or a later one is there, whole",
  ignore,
  async fn() {
    const topic = await newTopic();
    let acknowledged = 0;
    for (let round = 1; round <= 4; round++) {
      const child = spawn(topic);
      const reader = child.stdout.getReader();
      const said = await hear(reader, 1 + round);
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      strictEqual(said[0], "open");
      acknowledged = Math.max(acknowledged, ...said.slice(1).map(Number));
      await withStore(storeOf(topic), async (store, manifest) => {
        const number = Number(manifest);
        // It went on writing between what was heard and the kill.
        ok(number >= acknowledged, `${number} is not behind ${acknowledged}`);
        const live = range("journal", number * 15, (number + 1) * 15);
        await store.sweep([live]);
        await holds(store, live, 60_000);
        acknowledged = number;
      });
      const ids = Array.from({ length: 15 }, (_, i) => acknowledged * 15 + i);
      deepStrictEqual(await chunkIds(topic, "file"), { journal: ids });
    }
  },
});

Deno.test({
  name: "KafkaStore: stopped, taken over from and woken up, it writes nothing and says that it was fenced",
  ignore,
  async fn() {
    const topic = await newTopic();
    const child = spawn(topic);
    const reader = child.stdout.getReader();
    try {
      strictEqual((await hear(reader, 3))[0], "open");
      child.kill("SIGSTOP");
      await withStore(storeOf(topic), async (store, manifest) => {
        const number = Number(manifest);
        const live = range("journal", number * 15, (number + 1) * 15);
        await store.sweep([live]);
        await commit(store, { drop: [live], manifest: "taken over" });
        child.kill("SIGCONT");
        const said = await hear(reader, Infinity);
        ok(said.at(-1)?.startsWith("FencedError: "), said.at(-1));
        strictEqual((await child.status).code, 1);
        await commit(store, { manifest: "still mine" });
      });
    } finally {
      await reader.cancel();
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended, as it should.
      }
    }
    await withStore(storeOf(topic), (_, manifest) => strictEqual(manifest, "still mine"));
    deepStrictEqual(await chunkIds(topic, "file"), {});
  },
});
