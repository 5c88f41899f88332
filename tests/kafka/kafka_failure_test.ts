import { deepStrictEqual, match, ok } from "node:assert/strict";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { isMissing, sortKafkaFailure } from "../../actors/adapters/kafka/kafka_failure.ts";
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

Deno.test("isMissing: a topic that is not there, however deep it is wrapped, and no other refusal", () => {
  const unknown = Object.assign(new Error("This server does not host this topic-partition"), {
    type: "UNKNOWN_TOPIC_OR_PARTITION",
  });
  const refused = sortKafkaFailure(
    Object.assign(new Error("gave up"), { cause: unknown }),
    "write to topic t",
  );
  ok(refused instanceof KafkaRefusedError);
  ok(isMissing(refused));
  ok(isMissing(Object.assign(new Error("x"), { name: "KafkaJSTopicMetadataNotLoaded" })));
  ok(!isMissing(sortKafkaFailure({ type: "TOPIC_AUTHORIZATION_FAILED" }, "write")));
  ok(!isMissing(new UnavailableError("No broker answers")));
});

Deno.test("sortKafkaFailure: transactions that a broker never allows end it, and name the broker's setting", () => {
  const type = "INVALID_TRANSACTION_TIMEOUT";
  // Brokers name a setting that there is not.
  const failure = Object.assign(new Error("(as configured by max.transaction.timeout.ms)"), { type });
  const sorted = sortKafkaFailure(failure, "take over as fleet/t-0-state");
  ok(sorted instanceof KafkaRefusedError);
  match(
    sorted.message,
    /^Cannot take over as fleet\/t-0-state: .* raise their transaction\.max\.timeout\.ms/,
  );
});
