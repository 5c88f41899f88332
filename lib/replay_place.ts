/**
 * To which partition of its topic a dead letter's record goes back, and with which key.
 *
 * ```
 *   by its device   murmur2(device id) mod the partitions: where Kafka's default partitioner puts it
 *   by its source   the partition that it was read from
 * ```
 *
 * A device's records must meet in one partition: each has a window and visits of its own, so a copy that comes to another
 * is told twice, and an EXIT there ends nothing. Mostly the two are the same. Where they are not, either the topic has
 * got more partitions since, and the device's is right; or the producers partition otherwise (librdkafka's default is
 * CRC32) or by another key, and the source's is right. Nothing in a record tells which, so it is refused until somebody
 * says it. Where no device can be told (of a heartbeat, or of what is no JSON) the source's partition it is.
 *
 * The key is the device id, as producers should have it.
 *
 * @module
 */
import type { StoredDeadLetter } from "./dead_letter_line.ts";
import { ID_BYTES_MAX } from "./decoded_transition.ts";
import type { Json } from "./json.ts";
import { parseJsonObject } from "./json_object.ts";
import { murmur2, toPartition } from "./murmur2.ts";

/** Where a record goes. */
export interface ReplayPlace {
  /** The partition. */
  readonly partition: number;
  /** The device id's bytes; null where none can be told. */
  readonly key: Uint8Array | null;
}

/** A record that can't be placed, and why, in a sentence without its full stop. */
export interface NoReplayPlace {
  /** The sentence. */
  readonly why: string;
}

/** What decides where the two differ; null for neither. */
export type PlaceBy = "device" | "source" | null;

const encoder = new TextEncoder();

/**
 * Places a dead letter's record.
 *
 * @param partitions how many the topic has
 * @param isForeign whether its records are another format's messages
 */
export function replayPlace(
  letter: Pick<StoredDeadLetter, "position" | "record">,
  { partitions, by, isForeign = false }: {
    readonly partitions: number;
    readonly by: PlaceBy;
    readonly isForeign?: boolean;
  },
): ReplayPlace | NoReplayPlace {
  // What a producer's own messages are keyed by is the producer's to know: they go back to where they were.
  const key = isForeign ? null : deviceOf(letter.record);
  const byDevice = key === null ? null : toPartition(murmur2(key, 0, key.length), partitions);
  const from = sourcePartition(letter);
  const bySource = from === null || from >= partitions ? null : from;
  if (by === null && byDevice !== null && bySource !== null && byDevice !== bySource) {
    const why =
      `It came from partition ${bySource}, and Kafka's default partitioner would send its device to ` +
      `partition ${byDevice}: --partition source where the producers partition otherwise, --partition device ` +
      "where the topic has got more partitions since";
    return { why };
  }
  const partition = by === "source" ? bySource : byDevice ?? bySource;
  if (partition !== null) return { partition, key };
  return {
    why: from === null
      ? "Neither its device nor the partition that it came from can be told"
      : `It came from partition ${from}, and the topic has ${partitions}`,
  };
}

/** The partition that a dead letter's record was read from; null where that was none. */
export function sourcePartition({ position }: Pick<StoredDeadLetter, "position">): number | null {
  return countIn(position, "partition");
}

/** The offset that it had there; null where it had none. */
export function sourceOffset({ position }: Pick<StoredDeadLetter, "position">): number | null {
  return countIn(position, "offset");
}

/** Less than the decoder asks for: a record that would only come back, forced, belongs to its device's others as well. */
function deviceOf(record: Uint8Array): Uint8Array | null {
  const device = parseJsonObject(record)?.["device_id"];
  if (typeof device !== "string" || !device.isWellFormed()) return null;
  const bytes = encoder.encode(device);
  return bytes.length > 0 && bytes.length <= ID_BYTES_MAX ? bytes : null;
}

function countIn(position: StoredDeadLetter["position"], name: string): number | null {
  if (typeof position !== "object" || position === null || Array.isArray(position)) return null;
  const count = (position as Readonly<Record<string, Json>>)[name];
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
