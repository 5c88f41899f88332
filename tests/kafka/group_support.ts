/**
 * What the tests of the consumer group share: what kafkajs would have fetched, a clock that the test moves, members that
 * read what they are given, connections that hang.
 *
 * @module
 */
import type { ISocketFactory } from "kafkajs";
import { Buffer } from "node:buffer";
import net from "node:net";
import type { FetchedBatch, FetchedMessage } from "../../actors/adapters/kafka/fetched_batch.ts";
import { KafkaGroup, type KafkaGroupOptions } from "../../actors/adapters/kafka/kafka_group.ts";
import type { KafkaPartitionSource } from "../../actors/adapters/kafka/kafka_partition_source.ts";
import type { Clock } from "../../actors/ports.ts";
import type { Json } from "../../lib/json.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";

const decoder = new TextDecoder();
/** What has not happened by then never will. */
const WAIT_MS_MAX = 90_000;

/** A part of a fetch, of topic `t`, partition 0. */
export interface Fetch {
  /** The offset that was asked for. */
  readonly at: number;
  /** Offsets of the records that may be seen. */
  readonly seen?: readonly number[];
  /** How many more were in the answer: control records, and those of aborted transactions. */
  readonly hidden?: number;
  /** The last offset of the answer; of `seen` where not given. */
  readonly last?: number;
  /** The log's end; right behind the answer where not given. */
  readonly end?: number;
  readonly value?: (offset: number) => Uint8Array | null;
}

/** Makes what kafkajs hands over. */
export function fetched(
  { at, seen = [], hidden = 0, last = seen.at(-1) ?? at - 1, end = last + 1, value }: Fetch,
): FetchedBatch {
  const messages: FetchedMessage[] = seen.map((offset) => ({
    offset: String(offset),
    timestamp: String(1_700_000_000_000 + offset),
    key: null,
    value: value === undefined ? new TextEncoder().encode(`record ${offset}`) : value(offset),
  }));
  const all = [...messages, ...new Array<null>(hidden).fill(null)];
  return {
    topic: "t",
    partition: 0,
    fetchedOffset: String(at),
    highWatermark: String(end),
    messages,
    messagesWithinOffset: all,
    rawMessages: all,
    lastOffset: () => String(last),
  };
}

/** Time that stands still until it is moved. Nothing here waits for it. */
export class StillClock implements Clock {
  wall = 1_700_000_000_000_000;
  monotonic = 0;

  wallUs(): number {
    return this.wall;
  }

  monotonicUs(): number {
    return this.monotonic;
  }

  delay(): Promise<void> {
    return Promise.reject(new Error("nothing here waits for the clock"));
  }

  nextTurn(): Promise<void> {
    return Promise.resolve();
  }

  every(): () => void {
    return () => {};
  }
}

/**
 * A member of a group as the supervisor of splits is one: reads what it is given, keeps a checkpoint for each partition,
 * and lets go when it is told. Several of them share the checkpoints, as processes share a store.
 */
export class TestMember {
  readonly group: KafkaGroup;
  readonly notices: string[] = [];
  readonly failures: Error[] = [];
  /** The open sources of the partitions that it has. */
  readonly sources = new Map<number, KafkaPartitionSource>();
  /** Each time that a partition was given to it. */
  readonly given: number[] = [];
  /** Waited for when a partition is let go of, after its reading has stopped. */
  drain: (partition: number) => Promise<void> = () => Promise.resolve();
  /** Whether it reads what it is given; else the records stay in their queues. */
  reads = true;

  readonly #log: GroupLog;
  readonly #work = new Map<number, { readonly stop: AbortController; readonly done: Promise<void> }>();

  constructor(
    log: GroupLog,
    options: Pick<KafkaGroupOptions, "kafka" | "topic" | "group" | "limits">,
  ) {
    this.#log = log;
    this.group = new KafkaGroup({
      ...options,
      notice: (message) => {
        this.notices.push(message);
        log.changed();
      },
      assigned: (source) => {
        const stop = new AbortController();
        this.given.push(source.partition);
        this.#work.set(source.partition, { stop, done: this.#run(source, stop.signal) });
        log.changed();
      },
      revoked: (partition) => this.#letGo(partition),
      failed: (error) => {
        this.failures.push(error);
        log.changed();
      },
    });
  }

  /** The partitions that it has, ascending. */
  get partitions(): number[] {
    return [...this.sources.keys()].sort((a, b) => a - b);
  }

  async #run(source: KafkaPartitionSource, signal: AbortSignal): Promise<void> {
    const { partition } = source;
    try {
      await source.open(this.#log.checkpoints.get(partition) ?? null);
      if (signal.aborted) return;
      this.sources.set(partition, source);
      this.#log.changed();
      while (!signal.aborted) {
        if (!this.reads) await this.#log.until(() => this.reads || signal.aborted);
        const batch = await source.read(signal);
        if (batch === null) return;
        this.#log.take(partition, batch);
        await source.acknowledge(batch.position);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.failures.push(error as Error);
      this.#log.changed();
    } finally {
      source.close();
      this.sources.delete(partition);
    }
  }

  async #letGo(partition: number): Promise<void> {
    const work = this.#work.get(partition);
    work?.stop.abort();
    this.#log.changed();
    await work?.done;
    this.#work.delete(partition);
    await this.drain(partition);
    this.#log.changed();
  }
}

/** What the members of a group have read, and how far: their checkpoints. */
export class GroupLog {
  readonly checkpoints = new Map<number, Json>();
  /** Values in the order in which they were read, by partition. */
  readonly values = new Map<number, string[]>();
  #waiting: { readonly isDone: () => boolean; readonly resolve: () => void }[] = [];

  take(partition: number, batch: RecordBatch): void {
    const values = this.values.get(partition) ?? [];
    for (let i = 0; i < batch.count; i++) {
      values.push(decoder.decode(batch.bytes.subarray(batch.starts[i], batch.ends[i])));
    }
    this.values.set(partition, values);
    this.checkpoints.set(partition, batch.position);
    this.changed();
  }

  /** How many values were read of all partitions. */
  get count(): number {
    return [...this.values.values()].reduce((sum, values) => sum + values.length, 0);
  }

  /** Waits until something holds. Looks when anything changes here, and now and then for what changes elsewhere. */
  async until(isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    const looking = setInterval(() => this.changed(), 20);
    let givingUp: ReturnType<typeof setTimeout> | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ isDone, resolve });
        givingUp = setTimeout(() => reject(new Error(`waited in vain until ${isDone}`)), WAIT_MS_MAX);
      });
    } finally {
      clearInterval(looking);
      clearTimeout(givingUp);
    }
  }

  changed(): void {
    const done = this.#waiting.filter(({ isDone }) => isDone());
    this.#waiting = this.#waiting.filter((waiting) => !done.includes(waiting));
    for (const { resolve } of done) resolve();
  }
}

/** Connections that a test can make hang, both ways, as those of a process that was stopped do. */
export class HangingSockets {
  readonly #sockets = new Set<{ hang: boolean; held: (() => void)[] }>();
  #newHang = false;

  /** For `new Kafka({ socketFactory })`. */
  readonly factory: ISocketFactory = ({ host, port, onConnect }) => {
    const state = { hang: this.#newHang, held: [] as (() => void)[] };
    this.#sockets.add(state);
    const socket = net.connect({ host, port }, onConnect);
    socket.once("close", () => this.#sockets.delete(state));
    const pass = (what: () => void): void => {
      if (state.hang) state.held.push(what);
      else what();
    };
    const write = socket.write.bind(socket);
    socket.write = (request: Uint8Array | string) => {
      const bytes = typeof request === "string" ? Buffer.from(request, "binary") : request;
      pass(() => socket.destroyed || write(bytes));
      return true;
    };
    const on = socket.on.bind(socket) as (event: string, listener: (data: Uint8Array) => void) => net.Socket;
    const listen: typeof on = (event, listener) =>
      event === "data" ? on(event, (data) => pass(() => listener(data))) : on(event, listener);
    socket.on = listen as typeof socket.on;
    return socket as unknown as ReturnType<ISocketFactory>;
  };

  /** How many are open. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Nothing comes through any more; on connections that are made from now on too, where `all`. */
  hang(which: "open ones" | "all"): void {
    this.#newHang = which === "all";
    for (const state of this.#sockets) state.hang = true;
  }

  /** What was held back comes through, in order. */
  goOn(): void {
    this.#newHang = false;
    for (const state of this.#sockets) {
      state.hang = false;
      for (const what of state.held.splice(0)) what();
    }
  }
}
