/**
 * What kafkajs fetched of one partition, and the record batch that becomes of it.
 *
 * ```
 *   asked for 100        records   100 101  ·  103 104  C     C: a transaction's control record
 *   (fetchedOffset)      handed over          offset 102 was aborted, or compacted away
 *                        position behind: 106, not 105: the control record is passed as well
 * ```
 *
 * The values are copied into one buffer, once. They are views of the response already, but pointing into that would keep
 * all of it alive, up to the whole fetch of all partitions, as long as one record of it waits; so a queue that is bounded
 * by its own bytes would not be bounded. A copy costs about 0.1 µs a record, a fiftieth of what it takes to read one.
 *
 * @module
 */
import type { XXHashAPI } from "xxhash-wasm";
import type { MessageContext } from "../../../lib/format/message_values.ts";
import { RECORD_BYTES_MAX } from "../../../lib/decoded_transition.ts";
import { markOf } from "./kafka_position.ts";
import type { OversizeRecord, RecordBatch } from "../../../lib/record_batch.ts";

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const US_PER_MS = 1000;
const HASH_DIGITS = 16;

/** A record as kafkajs has it. */
export interface FetchedMessage {
  /** In decimal. */
  readonly offset: string;
  /** ms since the epoch, in decimal; −1 where there is none. */
  readonly timestamp: string;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  /** By name; of several with one name a list. */
  readonly headers?: Readonly<Record<string, HeaderValue | readonly HeaderValue[] | undefined>>;
}

type HeaderValue = Uint8Array | string;

/** kafkajs' `Batch`: one partition's part of one fetch. Some of it is not in its published types. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  /** The offset that was asked for, in decimal. */
  readonly fetchedOffset: string;
  /** The log's end, open transactions included, in decimal. */
  readonly highWatermark: string;
  /** What may be seen: neither aborted nor control records. */
  readonly messages: readonly FetchedMessage[];
  /** All from the offset that was asked for on, aborted and control records too. */
  readonly messagesWithinOffset: readonly unknown[];
  readonly rawMessages: readonly unknown[];
  /** The last of {@link messagesWithinOffset}, in decimal. */
  lastOffset(): string;
}

/** The offset behind everything that the fetch has brought; the one that was asked for where it brought nothing. */
export function offsetBehind(batch: FetchedBatch): number {
  return batch.rawMessages.length === 0 ? Number(batch.fetchedOffset) : Number(batch.lastOffset()) + 1;
}

/**
 * Puts what may be seen of a fetch into one buffer, and columns beside it.
 *
 * @param withContexts whether the records' format asks for what came along with them
 */
export function packBatch(
  batch: FetchedBatch,
  hash: Pick<XXHashAPI, "h64Raw">,
  { withContexts = false }: { readonly withContexts?: boolean } = {},
): RecordBatch {
  const { messages, partition } = batch;
  const count = messages.length;
  let byteLength = 0;
  for (const { value } of messages) byteLength += Math.min(value?.length ?? 0, RECORD_BYTES_MAX);
  const bytes = new Uint8Array(byteLength);
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const offsets = new Float64Array(count);
  const ingestTimesUs = new Float64Array(count);
  const oversize = new Map<number, OversizeRecord>();
  let end = 0;
  messages.forEach(({ value, offset, timestamp }, i) => {
    starts[i] = end;
    if (value !== null && value.length > RECORD_BYTES_MAX) {
      oversize.set(i, { byteLength: value.length, hash: hexOf(hash.h64Raw(value)) });
      bytes.set(value.subarray(0, RECORD_BYTES_MAX), end);
      end += RECORD_BYTES_MAX;
    } else if (value !== null) {
      bytes.set(value, end);
      end += value.length;
    }
    ends[i] = end;
    offsets[i] = Number(offset);
    const timestampMs = Number(timestamp);
    // NaN is "not given": an old producer's record has no timestamp, and −1 would be a time in 1969.
    ingestTimesUs[i] = timestampMs < 0 ? NaN : timestampMs * US_PER_MS;
  });
  const last = messages.at(-1);
  const mark = last === undefined ? {} : {
    last: {
      ...markOf({ ...last, offset: Number(last.offset) }, hash),
    },
  };
  return {
    bytes,
    starts,
    ends,
    offsets,
    lines: new Float64Array(count),
    ingestTimesUs,
    contexts: withContexts ? messages.map((message) => contextOf(batch.topic, message)) : null,
    count,
    oversize,
    position: { partition, offset: offsetBehind(batch), ...mark },
  };
}

/** What came along with a record. It is looked at once, or never: text is made when it is asked for. */
function contextOf(topic: string, { key, headers }: FetchedMessage): MessageContext {
  return {
    topic,
    key,
    header(name) {
      const given = headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
      // Of several the last one, as of a member that comes twice.
      const last = Array.isArray(given)
        ? (given as readonly HeaderValue[]).at(-1)
        : given as HeaderValue | undefined;
      if (last === undefined) return null;
      return typeof last === "string" ? last : textOf(last);
    },
  };
}

/** What is no UTF-8 is no text. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}

function hexOf(hash: bigint): string {
  return hash.toString(16).padStart(HASH_DIGITS, "0");
}
