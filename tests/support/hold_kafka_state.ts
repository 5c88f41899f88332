/**
 * A process that uses a state in Kafka: `hold_kafka_state.ts BROKERS TOPIC TRANSACTIONAL_ID` opens it, says so, writes
 * checkpoints until it is killed and says the number of each, or how it failed.
 */
import { KafkaStore } from "../../actors/adapters/kafka/kafka_store.ts";
import { chunksOf } from "./store_contract.ts";
import { clientOf } from "./kafka_messages.ts";

const [brokers = "", topic = "", transactionalId = ""] = Deno.args;
const encoder = new TextEncoder();
const say = (text: string): number => Deno.stdout.writeSync(encoder.encode(`${text}\n`));

const store = new KafkaStore({
  kafka: clientOf(brokers.split(",")),
  topic,
  partition: 0,
  split: "file",
  transactionalId,
  notice: () => {},
});
try {
  const manifest = await store.open();
  say("open");
  for (let number = manifest === null ? 1 : Number(new TextDecoder().decode(manifest)) + 1;; number++) {
    const start = number * 15;
    await store.commit({
      put: chunksOf({ stream: "journal", start, end: start + 15 }, 60_000),
      drop: [{ stream: "journal", start: start - 15, end: start }],
      manifest: encoder.encode(String(number)),
    });
    say(String(number));
  }
} catch (error) {
  say(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  Deno.exit(1);
}
