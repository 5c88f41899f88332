/**
 * Dead letters out to a Kafka topic: the value is the record's bytes as they came, so that a consumer or a replay has
 * them untouched; what is known of it is in headers:
 *
 * ```
 *   reason  detail  source_topic  source_partition  source_offset  at      and of a record that is too large, whose value
 *                                                                          is its beginning:  byte_length  xxh64
 * ```
 *
 * One crossing of a message that has several has `source_part` besides: its place in the message, in JSON.
 *
 * A trigger that the sink has refused (`SINK_REJECTED`) has no `source_offset`: the value is the trigger, which knows no
 * longer which record it came from.
 *
 * One that a webhook has given up has `webhook`, `outbox` and `outbox_offset` besides (webhook_letter.ts).
 *
 * They have no key. The topic may have any number of partitions: those of a source partition go to one (its number modulo
 * theirs), in order. So several source partitions may share one, and what is read back is told apart by the headers.
 * Opening and positions: see output_partition.ts.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { Buffer } from "node:buffer";
import { assert } from "../../../lib/assert.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason, encodeDeadLetter } from "../../../lib/dead_letter.ts";
import type { Json } from "../../../lib/json.ts";
import { parseJsonObject } from "../../../lib/json_object.ts";
import { parseRfc3339 } from "../../../lib/time.ts";
import { TriggerLine } from "../../../lib/trigger_line.ts";
import { parseWebhookLetter, type WebhookLetterPlace, webhookOrigin } from "../../../lib/webhook_letter.ts";
import type { LineBatch, Sink } from "../../ports.ts";
import { type OutputMessage, OutputPartition } from "./output_partition.ts";
import type { ReadMessage } from "./partition_reader.ts";

const LINE_END = 0x0a;
const REJECTED: DeadLetterReason = "SINK_REJECTED";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Where dead letters go, and whose they are. */
export interface KafkaDeadLettersOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  /** The source's name in the dead letters. */
  readonly sourceTopic: string;
  readonly sourcePartition: number;
  /** Of these dead letters alone: not that of the triggers or the state, which would fence them. */
  readonly transactionalId: string;
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class KafkaDeadLetters implements Sink {
  readonly name: string;
  readonly readable: boolean = true;

  readonly #options: KafkaDeadLettersOptions;
  readonly #output: OutputPartition;

  constructor(options: KafkaDeadLettersOptions) {
    const { kafka, topic, sourcePartition, transactionalId, notice } = options;
    this.name = topic;
    this.#options = options;
    this.#output = new OutputPartition({
      kafka,
      topic,
      partition: (count) => sourcePartition % count,
      content: "dead letters",
      transactionalId,
      notice,
    });
  }

  async open(position: Json | null): Promise<void> {
    await this.#output.open(position);
  }

  /** The dead letters of this source partition as the lines that were written, each record's and each trigger's once. */
  async *readBack(): AsyncIterable<Uint8Array> {
    const { sourceTopic, sourcePartition } = this.#options;
    const seen = new Set<number | string>();
    for await (const messages of this.#output.readBack()) {
      for (const message of messages) {
        const letter = readDeadLetter(message);
        if (letter === null || letter.topic !== sourceTopic || letter.partition !== sourcePartition) continue;
        if (seen.has(letter.place)) continue;
        seen.add(letter.place);
        yield letter.line;
      }
    }
  }

  async write({ bytes, byteLength }: LineBatch): Promise<void> {
    const messages: OutputMessage[] = [];
    for (let start = 0; start < byteLength;) {
      const end = bytes.indexOf(LINE_END, start);
      assert(end >= 0 && end < byteLength, "each line has its end");
      messages.push(this.#message(bytes.subarray(start, end)));
      start = end + 1;
    }
    // There is nowhere else to put one that its topic does not take: that ends the writer, which says what helps.
    await this.#output.write(messages, null);
  }

  flush(): Promise<Json> {
    return Promise.resolve(this.#output.position());
  }

  close(): void {
    // It never rejects, and nobody waits for it: the fence does not need the old owner to have gone.
    void this.#output.close();
  }

  #message(line: Uint8Array): OutputMessage {
    const letter = parseJsonObject(line);
    assert(letter !== null, "a dead letter is a JSON object");
    const { reason, detail, position, at, record, record_base64, byte_length, xxh64 } = letter;
    const place = typeof position === "object" && position !== null ? position as Record<string, Json> : {};
    const { offset = null, part } = place;
    assert(typeof offset === "number" || reason === REJECTED, "a dead letter has its record's offset");
    const value = typeof record_base64 === "string"
      ? Buffer.from(record_base64, "base64")
      : Buffer.from(String(record), "utf8");
    const headers: Record<string, string> = {
      reason: String(reason),
      detail: String(detail),
      source_topic: this.#options.sourceTopic,
      source_partition: String(this.#options.sourcePartition),
      at: String(at),
    };
    const webhook = parseWebhookLetter(line);
    if (webhook !== null) {
      const { name, outbox, offset } = webhook;
      Object.assign(headers, { webhook: name, outbox, outbox_offset: String(offset) });
    } else if (offset !== null) headers["source_offset"] = String(offset);
    if (part !== undefined) headers["source_part"] = JSON.stringify(part);
    if (byte_length !== undefined) headers["byte_length"] = String(byte_length);
    if (xxh64 !== undefined) headers["xxh64"] = String(xxh64);
    return { key: null, value, headers };
  }
}

/** A dead letter that was read from a topic. */
export interface ReadDeadLetter {
  /** The source's. */
  readonly topic: string;
  readonly partition: number;
  /** The record's offset in it, with the crossing's place in it where it has several, or the id of a trigger that the sink has refused, or where a webhook had it. */
  readonly place: number | string;
  /** As `encodeDeadLetter` writes it, without its `\n`. */
  readonly line: Uint8Array;
}

/** Makes a record of a dead letters' topic a line again; null where it is none of ours. */
export function readDeadLetter({ value, headers }: ReadMessage): ReadDeadLetter | null {
  const text = (name: string): string | null => {
    const bytes = headers.get(name);
    return bytes === undefined ? null : decoder.decode(bytes);
  };
  const reason = DEAD_LETTER_REASONS.find((known) => known === text("reason"));
  const topic = text("source_topic");
  const partition = countOf(text("source_partition"));
  const offset = countOf(text("source_offset"));
  const at = headers.get("at") ?? new Uint8Array(0);
  const atUs = parseRfc3339(at, 0, at.length);
  if (value === null || reason === undefined || topic === null || Number.isNaN(atUs)) return null;
  if (partition === null) return null;
  const given = webhookPlace(text("webhook"), text("outbox"), countOf(text("outbox_offset")));
  const partText = text("source_part");
  const part = partText === null ? null : parseJsonObject(encoder.encode(partText)) as Json;
  const of = partText === null || offset === null ? offset : `${offset} ${partText}`;
  const place = given !== null ? Object.values(given).join(" ") : reason === REJECTED ? idOf(value) : of;
  if (place === null) return null;
  const isRecord = given === null && reason !== REJECTED && offset !== null;
  const byteLength = countOf(text("byte_length"));
  const letter = {
    reason,
    detail: text("detail") ?? "",
    source: topic,
    position: isRecord ? { partition, offset, ...(part === null ? {} : { part }) } : null,
    record: value,
    ...(given === null ? {} : webhookOrigin(given)),
    ...(byteLength === null ? {} : { oversize: { byteLength, hash: text("xxh64") ?? "" } }),
  };
  return { topic, partition, place, line: encodeDeadLetter(letter, atUs).subarray(0, -1) };
}

function webhookPlace(
  name: string | null,
  outbox: string | null,
  offset: number | null,
): WebhookLetterPlace | null {
  return name === null || outbox === null || offset === null ? null : { name, outbox, offset };
}

/** The id of a trigger; null where it is none. */
function idOf(trigger: Uint8Array): string | null {
  const line = new TriggerLine();
  return line.read(trigger, 0, trigger.length) ? decoder.decode(line.id) : null;
}

function countOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
