/**
 * Simulated ports: a file, an output, a store and a clock that live in memory and can fail at any step.
 *
 * They implement the ports and no logic of ours. A {@link World} outlives the process that works on it: it knows what is
 * durable, counts every step that touches it, and can end the process before or after any one of them. What was written
 * and not flushed is then lost, or half of it, as after a power cut.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import type { OversizeRecord, RecordBatch } from "../../lib/record_batch.ts";
import {
  type CheckpointCommit,
  type CheckpointStore,
  type ChunkRange,
  type Clock,
  FencedError,
  type LineBatch,
  type RefusedLine,
  type Sink,
  type Source,
} from "../../actors/ports.ts";

const encoder = new TextEncoder();

/** The process has ended, by the simulation's will. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** How what was not flushed fares in a crash. */
export type Unflushed = "kept" | "lost" | "torn";

/** What survives. */
export class World {
  /** Steps that touched it. */
  steps = 0;
  /** The step at which the process ends; 0 for never. */
  crashAt = 0;
  /** Whether the step has its effect before the process ends. */
  crashAfterEffect = false;
  readonly triggers = new Output();
  readonly deadLetters = new Output();
  /** Which triggers the output never takes; null where it takes all. */
  refuses: ((trigger: string) => boolean) | null = null;
  manifest: Uint8Array | null = null;
  readonly chunks = new Map<string, Uint8Array>();
  owner = 0;
  /** Which process is alive; none after a crash. */
  process = 1;
  #dead = false;

  /** Counts a step of a process and does it, unless the process ends here, or has ended before. */
  step(process: number, effect: () => void): void {
    if (this.#dead || process !== this.process) throw new Crash("the process has ended");
    this.steps++;
    if (this.steps !== this.crashAt) {
      effect();
      return;
    }
    this.#dead = true;
    if (this.crashAfterEffect) effect();
    throw new Crash(`the process ended at step ${this.steps}`);
  }

  /** A new process begins; what the last one did not flush fares as told, that of each output by itself. */
  restart(unflushed: Unflushed, unflushedLetters = unflushed): void {
    this.#dead = false;
    this.process++;
    this.crashAt = 0;
    this.triggers.crash(unflushed);
    this.deadLetters.crash(unflushedLetters);
  }
}

/** An output file. */
export class Output {
  bytes = new Uint8Array(0);
  durable = 0;

  append(bytes: Uint8Array): void {
    const grown = new Uint8Array(this.bytes.length + bytes.length);
    grown.set(this.bytes);
    grown.set(bytes, this.bytes.length);
    this.bytes = grown;
  }

  crash(unflushed: Unflushed): void {
    const extra = this.bytes.length - this.durable;
    const kept = unflushed === "kept" ? extra : unflushed === "lost" ? 0 : Math.floor(extra / 2);
    this.bytes = this.bytes.slice(0, this.durable + kept);
  }

  /** All whole lines. */
  lines(): string[] {
    return new TextDecoder().decode(this.bytes).split("\n").slice(0, -1);
  }
}

/** A file of lines that can be read again. */
export class SimulatedSource implements Source {
  readonly kind = "ndjson";
  readonly name = "simulated";
  readonly rereadable = true;
  readonly live: boolean;
  readonly keepsUnread = false;
  readonly #world: World;
  readonly #process: number;
  readonly #lines: readonly Uint8Array[];
  readonly #batchRecords: number;
  #next = 0;
  readonly #given: Uint8Array[] = [];

  constructor(
    world: World,
    lines: readonly (string | Uint8Array)[],
    options: { batchRecords: number; live?: boolean },
  ) {
    this.#world = world;
    this.#process = world.process;
    this.#lines = lines.map((line) => typeof line === "string" ? encoder.encode(line) : line);
    this.#batchRecords = options.batchRecords;
    this.live = options.live ?? false;
  }

  open(position: Json | null): Promise<"resumed" | "started"> {
    if (position === null) return Promise.resolve("started");
    this.#next = (position as { offset: number }).offset;
    return Promise.resolve("resumed");
  }

  read(signal: AbortSignal): Promise<RecordBatch | null> {
    signal.throwIfAborted();
    if (this.#next >= this.#lines.length) return Promise.resolve(null);
    const lines = this.#lines.slice(this.#next, this.#next + this.#batchRecords);
    const first = this.#next;
    this.#next += lines.length;
    const kept = lines.map((line) => line.subarray(0, 65_536));
    const bytes = new Uint8Array(kept.reduce((sum, line) => sum + line.length, 0));
    const starts = new Uint32Array(lines.length);
    const ends = new Uint32Array(lines.length);
    const oversize = new Map<number, OversizeRecord>();
    let at = 0;
    kept.forEach((line, i) => {
      starts[i] = at;
      bytes.set(line, at);
      at += line.length;
      ends[i] = at;
      const byteLength = (lines[i] as Uint8Array).length;
      if (byteLength > 65_536) oversize.set(i, { byteLength, hash: "0".repeat(16) });
    });
    this.#given.push(bytes);
    return Promise.resolve({
      bytes,
      starts,
      ends,
      offsets: Float64Array.from(lines, (_line, i) => first + i),
      lines: Float64Array.from(lines, (_line, i) => first + i + 1),
      ingestTimesUs: null,
      count: lines.length,
      oversize,
      position: { offset: this.#next },
    });
  }

  placeOf(offset: number, line: number): Json {
    return { offset, line };
  }

  /** Spoils what was given back, so that whoever still reads it is found out. */
  release(): void {
    for (const bytes of this.#given.splice(0)) bytes.fill(0xff);
  }

  caughtUp(): boolean {
    return this.#next >= this.#lines.length;
  }

  acknowledge(): Promise<void> {
    return attempt(() => this.#world.step(this.#process, () => {}));
  }

  close(): void {}
}

/** An output that keeps what was flushed. */
export class SimulatedSink implements Sink {
  readonly name = "simulated";
  readonly readable = true;
  readonly #world: World;
  readonly #process: number;
  readonly #output: Output;
  #from = 0;

  constructor(world: World, output: Output) {
    this.#world = world;
    this.#process = world.process;
    this.#output = output;
  }

  open(position: Json | null): Promise<void> {
    if (position === null) return Promise.resolve();
    this.#from = (position as { bytes: number }).bytes;
    const { bytes } = this.#output;
    if (bytes.length < this.#from) {
      return Promise.reject(new Error("The output is shorter than the checkpoint knows"));
    }
    this.#output.bytes = bytes.slice(0, Math.max(this.#from, bytes.lastIndexOf(10) + 1));
    this.#output.durable = Math.min(this.#output.durable, this.#output.bytes.length);
    return Promise.resolve();
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    await Promise.resolve();
    const tail = this.#output.bytes.slice(this.#from);
    let start = 0;
    for (let end = tail.indexOf(10); end >= 0; end = tail.indexOf(10, start)) {
      yield tail.slice(start, end);
      start = end + 1;
    }
  }

  write({ bytes, byteLength }: LineBatch, refused: RefusedLine): Promise<void> {
    const { refuses, triggers } = this.#world;
    const written = bytes.slice(0, byteLength);
    if (refuses === null || this.#output !== triggers) return this.#append(written);
    const lines = new TextDecoder().decode(written).split("\n").slice(0, -1);
    const taken = lines.filter((line) => !refuses(line)).map((line) => `${line}\n`).join("");
    return this.#append(encoder.encode(taken)).then(() => {
      for (const line of lines.filter(refuses)) {
        refused(encoder.encode(line), "The simulation does not take it");
      }
    });
  }

  flush(): Promise<Json> {
    return attempt(() => {
      this.#world.step(this.#process, () => this.#output.durable = this.#output.bytes.length);
      return { bytes: this.#output.bytes.length };
    });
  }

  close(): void {}

  #append(bytes: Uint8Array): Promise<void> {
    return attempt(() => this.#world.step(this.#process, () => this.#output.append(bytes)));
  }
}

/** A store whose commits are all or nothing, and fenced. */
export class SimulatedStore implements CheckpointStore {
  readonly name = "simulated";
  readonly #world: World;
  readonly #process: number;
  #owner = 0;

  constructor(world: World) {
    this.#world = world;
    this.#process = world.process;
  }

  open(): Promise<Uint8Array | null> {
    this.#owner = ++this.#world.owner;
    return Promise.resolve(this.#world.manifest);
  }

  sweep(live: readonly ChunkRange[]): Promise<void> {
    for (const key of [...this.#world.chunks.keys()]) {
      const [stream, id] = key.split("/") as [string, string];
      const needed = live.some((range) =>
        range.stream === stream && range.start <= Number(id) && Number(id) < range.end
      );
      if (!needed) this.#world.chunks.delete(key);
    }
    return Promise.resolve();
  }

  async *read(range: ChunkRange): AsyncIterable<Uint8Array> {
    await Promise.resolve();
    for (let id = range.start; id < range.end; id++) {
      const chunk = this.#world.chunks.get(`${range.stream}/${id}`);
      if (chunk === undefined) throw new Error(`Chunk ${range.stream}/${id} is missing`);
      yield chunk.slice();
    }
  }

  commit(commit: CheckpointCommit): Promise<void> {
    return attempt(() => {
      // Chunks go in one by one, before the manifest: a crash leaves some of them.
      for (const { stream, id, bytes } of commit.put) {
        this.#world.step(
          this.#process,
          () => this.#mine(() => this.#world.chunks.set(`${stream}/${id}`, bytes.slice())),
        );
      }
      this.#world.step(this.#process, () => this.#mine(() => this.#world.manifest = commit.manifest.slice()));
      this.#world.step(this.#process, () => {
        for (const { stream, start, end } of commit.drop) {
          for (let id = start; id < end; id++) this.#world.chunks.delete(`${stream}/${id}`);
        }
      });
    });
  }

  close(): void {}

  #mine(effect: () => void): void {
    if (this.#owner !== this.#world.owner) throw new FencedError("Another process has taken over");
    effect();
  }
}

/** A clock that stands still unless it is moved. */
export class SimulatedClock implements Clock {
  #wallUs: number;
  #monotonicUs = 0;
  readonly #repeating = new Set<() => void>();

  constructor(wallUs: number) {
    this.#wallUs = wallUs;
  }

  wallUs(): number {
    return this.#wallUs;
  }

  /** Each look takes a microsecond, so that turns end. */
  monotonicUs(): number {
    return this.#monotonicUs++;
  }

  /** Lets time pass, and all repeated callbacks be called once. */
  advance(us: number): void {
    this.#wallUs += us;
    this.#monotonicUs += us;
    for (const callback of this.#repeating) callback();
  }

  delay(us: number): Promise<void> {
    this.advance(us);
    return Promise.resolve();
  }

  nextTurn(): Promise<void> {
    return Promise.resolve();
  }

  every(_us: number, callback: () => void): () => void {
    this.#repeating.add(callback);
    return () => this.#repeating.delete(callback);
  }
}

function attempt<T>(action: () => T): Promise<T> {
  return Promise.resolve().then(action);
}
