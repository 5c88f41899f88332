/**
 * The metrics of a run over a topic: by partition, as partitions come and go.
 *
 * @module
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { afterAll } from "../support/after_all.ts";
import { inDirectory, until } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, otherProducer } from "../support/kafka_messages.ts";
import { Scrape } from "../support/metrics_text.ts";
import { KafkaRun } from "./kafka_run.ts";

const broker = await startKafka();
const kafka = clientOf(broker?.brokers ?? []);
const PARTITIONS = 2;

afterAll(async () => await broker?.stop());

async function produce(topic: string, device: string, partition: number): Promise<void> {
  const event_time_ms = Date.now();
  const value = JSON.stringify({ device_id: device, fence_id: "f", kind: "ENTER", event_time_ms });
  await otherProducer(kafka, null, async (producer) => {
    await producer.send({ topic, messages: [{ key: device, value, partition }] });
  });
}

async function scrape(url: string): Promise<Scrape> {
  return new Scrape(await (await fetch(`${url}/metrics`)).text());
}

function read({ samples }: Scrape): number {
  return [...samples].filter(([series]) => series.startsWith("fencepost_records_read_total"))
    .reduce((sum, [, value]) => sum + value, 0);
}

/** Partitions that are here and open. */
function open({ samples }: Scrape): string[] {
  return [...samples].filter(([series, value]) => series.startsWith("fencepost_split_open") && value === 1)
    .map(([series]) => /partition="(\d+)"/.exec(series)?.[1] as string).toSorted();
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`);
  await response.body?.cancel();
  return response.ok;
}

Deno.test({
  name: "metrics over Kafka: by partition; one that goes leaves its counts, and who has none stands by",
  ignore: broker === null,
  async fn() {
    const topic = (): Promise<string> =>
      broker === null ? Promise.reject(new Error("none")) : broker.topic(PARTITIONS);
    const [input, triggers, deadLetters] = [await topic(), await topic(), await topic()];
    const config = {
      kafka: { brokers: broker?.brokers },
      source: { type: "kafka", topic: input, group: `g-${input}` },
      sink: { type: "kafka", topic: triggers },
      dead_letters: { type: "kafka", topic: deadLetters },
      checkpoint: { path: `kafka:state-${input}` },
      http: { listen: "127.0.0.1:0" },
    };
    await inDirectory(async (directory) => {
      const runs: KafkaRun[] = [];
      const start = async (): Promise<string> => {
        const run = await KafkaRun.start(directory, config);
        runs.push(run);
        return (await run.says(/Listening on (\S+)\n/))[1] as string;
      };
      try {
        const first = await start();
        await produce(input, "a", 0);
        await produce(input, "b", 1);
        await until(async () => read(await scrape(first)) === 2, "both records");
        await until(async () => open(await scrape(first)).length === PARTITIONS, "both partitions");
        ok(await isReady(first));
        const alone = await scrape(first);
        for (const partition of ["0", "1"]) {
          strictEqual(alone.value("fencepost_records_read_total", { source: input, partition }), 1);
          strictEqual(alone.value("fencepost_pairs", { source: input, partition }), 1);
        }
        const second = await start();
        await until(async () => open(await scrape(second)).length === 1, "a partition to move");
        const [moved] = open(await scrape(second)) as [string];
        await until(async () => open(await scrape(first)).length === 1, "it to be gone");
        const left = await scrape(first);
        left.mustFollow(alone);
        strictEqual(left.value("fencepost_pairs", { partition: moved }), NaN);
        strictEqual(left.value("fencepost_records_read_total", { partition: moved }), 1);
        ok(await isReady(first) && await isReady(second));
        const there = await scrape(second);
        strictEqual(there.value("fencepost_pairs", { partition: moved }), 1);
        await produce(input, "c", Number(moved));
        await until(async () => read(await scrape(second)) === read(there) + 1, "the third record");
        const third = await start();
        await until(() => isReady(third), "the third to stand by");
        deepStrictEqual(open(await scrape(third)), []);
        const kept = await scrape(first);
        kept.mustFollow(left);
      } finally {
        for (const run of runs) ok((await run.end()).startsWith("0: "));
      }
    });
  },
});
