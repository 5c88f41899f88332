/**
 * Sorts what went wrong with Kafka by what its supervisor does about it: a broker that is away comes back, so that is
 * tried again; what was refused would be refused again; a fault of ours is no fault of Kafka's.
 *
 * A coordinator that is not found is told as unavailable, though it may be a right that is missing: kafkajs says the same
 * of a broker that went away while it was asked, and a process must outlive that. The message names both.
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
  if (lacksCoordinator(error)) return new UnavailableError(explained.message, { cause: error });
  for (const kind of SORTED) if (explained instanceof kind) return explained;
  return new UnavailableError(explained.message, { cause: error });
}

/** Whether that is behind a failure, which kafkajs wraps. */
export function lacksCoordinator(failure: unknown): boolean {
  return causesOf(failure).some(({ name }) => name === "KafkaJSGroupCoordinatorNotFound");
}
