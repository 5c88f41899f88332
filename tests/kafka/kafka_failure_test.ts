import { deepStrictEqual, match, ok } from "node:assert/strict";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { sortKafkaFailure } from "../../actors/adapters/kafka/kafka_failure.ts";
import { UnavailableError } from "../../actors/ports.ts";

Deno.test("sortKafkaFailure: a broker that went away while it was asked for a coordinator comes back", () => {
  const name = "KafkaJSGroupCoordinatorNotFound";
  const failure = Object.assign(new Error("Failed to find group coordinator"), { name });
  const wrapped = Object.assign(new Error("gave up"), { originalError: failure });
  for (const error of [failure, wrapped, Object.assign(new Error("x"), { cause: wrapped })]) {
    const sorted = sortKafkaFailure(error, "write to topic t");
    deepStrictEqual(sorted.constructor, UnavailableError);
    match(sorted.message, /^Cannot write to topic t: no broker says who coordinates/);
  }
  ok(sortKafkaFailure({ type: "TOPIC_AUTHORIZATION_FAILED" }, "write") instanceof KafkaRefusedError);
});
