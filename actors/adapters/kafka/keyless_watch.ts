/**
 * Notices records without a key, which producers spread over all partitions.
 *
 * A device's records are then with several splits: each tells the crossing that it has, and a DWELL is told where the EXIT
 * is in another partition. Nothing in a record says so, and nothing comes of it that could be seen as an error, so it is
 * said, once. A heartbeat needs no key, since it is no device's.
 *
 * @module
 */
import type { FetchedBatch } from "./fetched_batch.ts";

/** Records looked at in each fetch: a producer without keys has none in any. */
const LOOKS = 16;

const HEARTBEAT = /"kind"\s*:\s*"heartbeat"/i;

/** See the module's header. Of one topic. */
export class KeylessWatch {
  readonly #topic: string;
  readonly #partitions: number;
  readonly #notice: (message: string) => void;
  #isDone = false;
  readonly #decoder = new TextDecoder();

  /** @param partitions of the topic: with one, keys change nothing */
  constructor(topic: string, partitions: number, notice: (message: string) => void) {
    this.#topic = topic;
    this.#partitions = partitions;
    this.#notice = notice;
    this.#isDone = partitions < 2;
  }

  /** Looks at a fetch. */
  see({ messages, partition }: Pick<FetchedBatch, "messages" | "partition">): void {
    if (this.#isDone) return;
    const found = messages.slice(0, LOOKS).find(({ key, value }) =>
      key === null && value !== null && !HEARTBEAT.test(this.#decoder.decode(value))
    );
    if (found === undefined) return;
    this.#isDone = true;
    this.#notice(
      `Records of ${this.#topic} have no key (offset ${found.offset} of partition ${partition} is one): a device's are ` +
        `spread over ${this.#partitions} partitions then, so a crossing can be told twice, and a DWELL that nobody earned. ` +
        "Give each record its device_id as the key",
    );
  }
}
