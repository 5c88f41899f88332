/**
 * Triggers out to a Kafka topic: the line is the value, the device id the key, the id a header. They go to the partition
 * of the source partition's number, so that a device's triggers stay in order, and whoever owns the one owns the other.
 *
 * A `write` is one transaction and resolves when it is committed, so `flush` has nothing to wait for. Readers have to use
 * `read_committed`: others see what was aborted too. Opening, positions and what may be wrong with them: see
 * output_partition.ts. An output topic belongs to one deployment; triggers of another in it would be taken for told.
 *
 * A trigger that is larger than the topic takes (`max.message.bytes`) is refused; those that are only too many together
 * go in several sends.
 *
 * One header, since each costs as much as a quarter of the whole record. As CloudEvents (binary mode, version 1.0 of the
 * Kafka binding) there are six, `ce_id` in place of `id`; the value is the same line.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { assert } from "../../../lib/assert.ts";
import type { Json } from "../../../lib/json.ts";
import { TriggerLine } from "../../../lib/trigger_line.ts";
import type { LineBatch, RefusedLine, Sink } from "../../ports.ts";
import { type OutputMessage, OutputPartition } from "./output_partition.ts";

const LINE_END = 0x0a;

/** `ce_type` of each kind. */
const EVENT_TYPES = {
  ENTER: "fencepost.trigger.enter",
  EXIT: "fencepost.trigger.exit",
  DWELL: "fencepost.trigger.dwell",
  RETRACT: "fencepost.trigger.retract",
} as const;

/** Where triggers go. */
export interface KafkaSinkOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  /** The source's partition, and the topic's. */
  readonly partition: number;
  /** Of this sink alone: not that of the dead letters or the state, which would fence it. */
  readonly transactionalId: string;
  /** Whether they are CloudEvents, and then where they come from: the deployment, never the process. */
  readonly cloudevents: false | { readonly source: string };
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class KafkaSink implements Sink {
  readonly name: string;
  readonly readable: boolean = true;

  readonly #cloudevents: KafkaSinkOptions["cloudevents"];
  readonly #output: OutputPartition;
  readonly #line = new TriggerLine();

  constructor(options: KafkaSinkOptions) {
    const { kafka, topic, partition, transactionalId, cloudevents, notice } = options;
    this.name = topic;
    this.#cloudevents = cloudevents;
    this.#output = new OutputPartition({
      kafka,
      topic,
      partition: (count) => partition < count ? partition : null,
      content: "triggers",
      transactionalId,
      notice,
    });
  }

  async open(position: Json | null): Promise<void> {
    await this.#output.open(position);
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    for await (const messages of this.#output.readBack()) {
      for (const { value } of messages) if (value !== null) yield value;
    }
  }

  async write({ bytes, byteLength }: LineBatch, refused: RefusedLine): Promise<void> {
    const messages: OutputMessage[] = [];
    for (let start = 0; start < byteLength;) {
      const end = bytes.indexOf(LINE_END, start);
      assert(end >= 0 && end < byteLength, "each line has its end");
      messages.push(this.#message(bytes, start, end));
      start = end + 1;
    }
    await this.#output.write(messages, (number, why) => {
      const value = messages[number]?.value ?? null;
      assert(value !== null, "what was refused was to be written");
      refused(value, why);
    });
  }

  flush(): Promise<Json> {
    return Promise.resolve(this.#output.position());
  }

  close(): void {
    // It never rejects, and nobody waits for it: the fence does not need the old owner to have gone.
    void this.#output.close();
  }

  #message(bytes: Uint8Array, start: number, end: number): OutputMessage {
    const line = this.#line;
    assert(line.read(bytes, start, end), "what goes to the triggers' topic is a trigger");
    const value = bytes.subarray(start, end);
    if (this.#cloudevents === false) return { key: line.device, value, headers: { id: line.id } };
    const headers = {
      ce_specversion: "1.0",
      ce_id: line.id,
      ce_source: this.#cloudevents.source,
      ce_type: EVENT_TYPES[line.kind],
      ce_time: line.eventTime,
      "content-type": "application/json",
    };
    return { key: line.device, value, headers };
  }
}
