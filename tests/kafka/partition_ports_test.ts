import { deepStrictEqual } from "node:assert/strict";
import { PartitionPorts } from "../../actors/adapters/kafka/partition_ports.ts";
import type { CheckpointStore } from "../../actors/ports.ts";
import { parseConfig } from "../../lib/config.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf } from "../support/kafka_messages.ts";

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
