/**
 * `deno test` over the files of this directory, or those named, on one broker that they share: starting one takes as long
 * as most of the files do. Files that kill theirs, or need it configured otherwise, still start their own.
 *
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { startKafka } from "../support/kafka_broker.ts";

const broker = await startKafka();
const shared: Record<string, string> = broker === null ? {} : { KAFKA_SHARED: broker.brokers.join(",") };
const files = Deno.args.length > 0 ? Deno.args : [dirname(fileURLToPath(import.meta.url))];
try {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--parallel", "--shuffle", "--allow-all", ...files],
    env: shared,
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await broker?.stop();
}
