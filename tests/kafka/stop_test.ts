/**
 * A run that is told to stop before it has heard of any broker.
 *
 * @module
 */
import { match } from "node:assert/strict";
import { inDirectory } from "../support/fencepost_process.ts";
import { KafkaRun } from "./kafka_run.ts";

Deno.test("run: a broker that takes connections and never answers is not waited for at a SIGTERM", async () => {
  await inDirectory(async (directory) => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const run = await KafkaRun.start(directory, {
      kafka: { brokers: [`127.0.0.1:${listener.addr.port}`] },
      source: { type: "kafka", topic: "t" },
      sink: { path: `${directory}/{partition}.ndjson` },
      dead_letters: { path: `${directory}/dead-{partition}.ndjson` },
      checkpoint: { path: `${directory}/state` },
    });
    using _connection = await listener.accept();
    match(await run.end(), /^0: /);
  });
});
