import { deepStrictEqual, fail, match, strictEqual } from "node:assert/strict";
import { PartitionPorts } from "../../actors/adapters/kafka/partition_ports.ts";
import type { CheckpointStore, Sink } from "../../actors/ports.ts";
import { parseConfig } from "../../lib/config.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, valuesOf } from "../support/kafka_messages.ts";

const broker = await startKafka();
const ignore = broker === null;

afterAll(async () => await broker?.stop());

Deno.test({
  name: "PartitionPorts: deployments that read one topic may keep their states in one, each its own",
  ignore,
  async fn() {
    if (broker === null) return;
    const source = await broker.topic(1);
    const state = await broker.topic(1, { "cleanup.policy": "compact" });
    const manifestOf = async (deployment: string, next?: string): Promise<string | null> => {
      const config = parseConfig({
        deployment,
        kafka: { brokers: [...broker.brokers] },
        source: { type: "kafka", topic: source },
        sink: { type: "ndjson", path: "{partition}.ndjson" },
        dead_letters: { path: "dead-{partition}.ndjson" },
        checkpoint: { path: `kafka:${state}` },
      });
      const ports = new PartitionPorts(clientOf(broker.brokers), config);
      await ports.check();
      const store: CheckpointStore = ports.store(0, () => {});
      try {
        const manifest = await store.open();
        if (next !== undefined) {
          await store.commit({ put: [], drop: [], manifest: new TextEncoder().encode(next) });
        }
        return manifest === null ? null : new TextDecoder().decode(manifest);
      } finally {
        await store.close();
      }
    };
    deepStrictEqual(
      [
        await manifestOf("north", "state of north"),
        await manifestOf("south", "state of south"),
        await manifestOf("north"),
        await manifestOf("south"),
      ],
      [null, null, "state of north", "state of south"],
    );
  },
});

Deno.test({
  name: "PartitionPorts: deployments a-b over c and a over b-c don't fence each other",
  ignore,
  async fn() {
    if (broker === null) return;
    const kafka = clientOf(broker.brokers);
    const topic = await broker.topic(1);
    const output = await broker.topic(1);
    const sinkOf = (deployment: string, source: string): Sink => {
      const config = parseConfig({
        deployment,
        kafka: { brokers: [...broker.brokers] },
        source: { type: "kafka", topic: source },
        sink: { type: "kafka", topic: output },
        dead_letters: { path: "dead-{partition}.ndjson" },
      });
      return new PartitionPorts(kafka, config).sink(0, () => {});
    };
    const first = sinkOf("a-b", topic);
    const second = sinkOf("a", `b-${topic}`);
    try {
      await first.open(null);
      await second.open(null);
      const line = new TextEncoder().encode(
        '{"id":"00000000000000000000000000000000","kind":"ENTER","device_id":"d","fence_id":"f",' +
          '"event_time":"2026-11-30T20:30:00.123000Z"}\n',
      );
      for (const sink of [first, second]) {
        await sink.write({ bytes: line, byteLength: line.length, count: 1 }, (_line, why) => fail(why));
      }
      strictEqual((await valuesOf(kafka, output)).length, 2);
    } finally {
      first.close();
      second.close();
    }
  },
});

Deno.test({
  name: "PartitionPorts: a topic of triggers that is compacted is warned of, and no other",
  ignore,
  async fn() {
    if (broker === null) return;
    const warningsOf = async (policy: string): Promise<string[]> => {
      const config = parseConfig({
        kafka: { brokers: [...broker.brokers] },
        source: { type: "kafka", topic: "t" },
        sink: { type: "kafka", topic: await broker.topic(1, { "cleanup.policy": policy }) },
        dead_letters: { path: "dead-{partition}.ndjson" },
      });
      const warnings: string[] = [];
      await new PartitionPorts(clientOf(broker.brokers), config).warn((message) => warnings.push(message));
      return warnings;
    };
    deepStrictEqual(await warningsOf("delete"), []);
    for (const policy of ["compact", "compact,delete"]) {
      const warnings = await warningsOf(policy);
      strictEqual(warnings.length, 1);
      match(warnings[0] ?? "", /^Topic \S+ is compacted .*the last trigger of each device/);
    }
  },
});
