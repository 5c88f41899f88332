/**
 * Sorts what went wrong with Kafka by what its supervisor does about it: a broker that is away comes back, so that is
 * tried again; what was refused would be refused again; a fault of ours is no fault of Kafka's.
 *
 * @module
 */
import { AssertionFailed } from "../../../lib/assert.ts";
import { FencedError, UnavailableError } from "../../ports.ts";
import { causesOf, explainKafkaFailure, KafkaRefusedError } from "./kafka_client.ts";

/** Errors that say already what they are. */
const SORTED = [AssertionFailed, FencedError, UnavailableError, KafkaRefusedError] as const;

/**
 * What to throw for something that kafkajs rejected with.
 *
 * @param doing completes `Cannot …`
 * @returns an {@link UnavailableError} where trying again may help, a {@link KafkaRefusedError} where it can't
 */
export function sortKafkaFailure(error: unknown, doing: string): Error {
  for (const kind of SORTED) if (error instanceof kind) return error;
  const explained = explainKafkaFailure(error, doing);
  for (const kind of SORTED) if (explained instanceof kind) return explained;
  return new UnavailableError(explained.message, { cause: error });
}

/** Whether a right is missing, which is no outage in disguise. */
export function isDenied(failure: unknown): boolean {
  return causesOf(failure).some(({ type = "" }) => type.endsWith("_AUTHORIZATION_FAILED"));
}

/** Whether a topic or partition is not there: so says a broker of all of them that has just come up, too. */
export function isMissing(failure: unknown): boolean {
  return causesOf(failure).some(({ type, name }) =>
    type === "UNKNOWN_TOPIC_OR_PARTITION" || name === "KafkaJSTopicMetadataNotLoaded"
  );
}
