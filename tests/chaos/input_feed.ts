/**
 * The workload of a round on its way into the source's topic, a little at a time, so that there is always something to
 * do when something is broken.
 *
 * ```
 *   load.ts ─▶ lines ─▶ the partition of the device's key ─▶ as much as is allowed by now ─▶ topic
 *                                                            a heartbeat in each partition ─┘ at the end
 * ```
 *
 * One in ten records leaves its ingest time to Kafka: it is the message's timestamp then. The heartbeats move time on
 * behind all deadlines, since a topic has no end at which they would be flushed.
 *
 * A send that fails is tried again, whatever became of the first: what the broker has twice is a copy more. So not the
 * workload but the topic says what came in.
 *
 * @module
 */
import { type Kafka, type Message, Partitioners, type Producer } from "kafkajs";
import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import { generateLoad } from "../../bench/load.ts";
import type { LoadOptions } from "../../bench/load_options.ts";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { formatTimestamp } from "../../lib/time.ts";

/** Between two sends, and what one has at most. */
const PAUSE_MS = 40;
const SEND_BYTES_MAX = 500_000;
/** What is allowed is sent in about as many sends as this, dwindling, so that there is a little even after a second. */
const SENDS = 25;
const SEND_RECORDS_MIN = 10;
const RETRY_MS = 200;
/** One in so many records has no ingest time of its own. */
const TIMELESS_ONE_IN = 10;
const HOUR_US = 3_600_000_000;

const LINE_END = 0x0a;
const DEVICE = /"device_id":"([^"]+)"/;
const INGEST_TIME = /,"ingest_time":"([^"]+)"/;

type Record = Message & { readonly partition: number; readonly value: Buffer };

/** Where it goes, and what it is. */
export interface InputFeedOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly partitions: number;
  readonly load: LoadOptions;
}

/** See the module's header. */
export class InputFeed {
  /** Resolves when everything was sent. */
  readonly done: Promise<void>;

  readonly #options: InputFeedOptions;
  readonly #records: readonly Record[];
  #producer: Producer | null = null;
  #sent = 0;
  #allowed = 0;
  #stopped = false;
  #wake = (): void => {};

  /** Begins; nothing is sent until it is allowed. */
  constructor(options: InputFeedOptions) {
    this.#options = options;
    this.#records = recordsOf(options);
    this.done = this.#run();
    this.done.catch(() => {});
  }

  /** Records sent so far. */
  get sent(): number {
    return this.#sent;
  }

  /** So much of it may be sent by now; 1 is all, and the heartbeats. */
  allow(share: number): void {
    this.#allowed = Math.floor(share * this.#records.length);
    this.#wake();
  }

  /** Nothing more is sent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.done.catch(() => {});
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopped && this.#sent < this.#records.length) {
        if (this.#sent >= this.#allowed) {
          await new Promise<void>((resolve) => this.#wake = resolve);
          continue;
        }
        const records = this.#next();
        await this.#send(records);
        this.#sent += records.length;
        await delay(PAUSE_MS);
      }
    } finally {
      await this.#producer?.disconnect().catch(() => {});
    }
  }

  #next(): readonly Record[] {
    const count = Math.max(SEND_RECORDS_MIN, Math.ceil((this.#allowed - this.#sent) / SENDS));
    const end = Math.min(this.#allowed, this.#sent + count);
    const records: Record[] = [];
    for (let at = this.#sent, bytes = 0; at < end; at++) {
      const record = this.#records[at] as Record;
      bytes += record.value.length;
      if (records.length > 0 && bytes > SEND_BYTES_MAX) break;
      records.push(record);
    }
    return records;
  }

  async #send(messages: readonly Record[]): Promise<void> {
    while (!this.#stopped) {
      try {
        this.#producer ??= await this.#connect();
        await this.#producer.send({ topic: this.#options.topic, messages: [...messages], acks: -1 });
        return;
      } catch {
        // The broker is away: with a new producer, until it is back.
        await this.#producer?.disconnect().catch(() => {});
        this.#producer = null;
        await delay(RETRY_MS);
      }
    }
  }

  async #connect(): Promise<Producer> {
    const producer = this.#options.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    return producer;
  }
}

/** The workload as messages, with the heartbeats behind it. */
function recordsOf({ load, partitions }: InputFeedOptions): Record[] {
  const records: Record[] = [];
  let lastMs = 0;
  for (const block of generateLoad(load)) {
    for (let start = 0; start < block.length;) {
      const end = block.indexOf(LINE_END, start);
      const record = recordOf(Buffer.from(block.subarray(start, end)), {
        number: records.length,
        partitions,
      });
      lastMs = Math.max(lastMs, Number(record.timestamp ?? 0));
      records.push(record);
      start = end + 1;
    }
  }
  const time = formatTimestamp(lastMs * 1000 + HOUR_US);
  const heartbeat = Buffer.from(JSON.stringify({ kind: "HEARTBEAT", event_time: time, ingest_time: time }));
  for (let partition = 0; partition < partitions; partition++) {
    records.push({ partition, key: null, value: heartbeat, timestamp: String(lastMs) });
  }
  return records;
}

/** As a gateway would send it: keyed by its device, and what has none anywhere. */
function recordOf(line: Buffer, { number, partitions }: { number: number; partitions: number }): Record {
  // Some lines are no UTF-8: then what is behind the fault is of no interest here.
  const text = line.toString("latin1");
  const device = DEVICE.exec(text)?.[1];
  const ingestTime = INGEST_TIME.exec(text);
  const key = device === undefined ? null : Buffer.from(device, "latin1");
  const partition = key === null ? number % partitions : toPartition(murmur2(key, 0, key.length), partitions);
  const timestamp = ingestTime === null ? {} : { timestamp: String(Date.parse(ingestTime[1] as string)) };
  const isTimeless = ingestTime !== null && number % TIMELESS_ONE_IN === 0;
  const value = isTimeless ? Buffer.from(text.replace(INGEST_TIME, ""), "latin1") : line;
  return { partition, key, value, ...timestamp };
}
