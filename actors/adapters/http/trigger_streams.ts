/**
 * `GET /v1/triggers`: all who listen, and how much of the event loop they get.
 *
 * ```
 *   ring: more ─╮
 *   room ───────┴▶ a pass, 20 ms after the last one: a piece for each in turn, 5 ms at most
 * ```
 *
 * Those who listen must not slow down what they listen to: together they get a fifth of the time, whatever comes and
 * however many they are. Who can't keep up with the ring is sent away, and comes back with what it has seen last.
 *
 * @module
 */
import { FenceRules } from "../../../lib/fence_rules.ts";
import type { TriggerRing } from "../../trigger_ring.ts";
import { problem } from "./answer.ts";
import { type TriggerFilter, TriggerStream } from "./trigger_stream.ts";

const PASS_MS = 20;
const PASS_WORK_MS = 5;
const HEARTBEAT_MS = 15_000;
/** How long those who listen have to take the last of it, when it ends. */
const STOP_MS = 1000;
const STOP_LOOK_MS = 10;
/** Characters of an id that is not known, in the gap that it makes. */
const SHOWN_ID_CHARACTERS = 100;
const ID_BYTES_MAX = 256;
/** Patterns in a filter. */
const FENCES_MAX = 16;
const KINDS: readonly string[] = ["ENTER", "EXIT", "DWELL", "RETRACT"];

const HEADERS = {
  "content-type": "text/event-stream",
  // Neither kept nor packed on its way: a packer would wait for more.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
} as const;

const encoder = new TextEncoder();

/** See the module's header. */
export interface TriggerStreamsOptions {
  readonly ring: TriggerRing;
  readonly streamsMax: number;
  /** A connection on which nothing comes for longer is cut. */
  readonly idleTimeoutMs: number;
}

/** See the module's header. */
export class TriggerStreams {
  readonly #options: TriggerStreamsOptions;
  /** In the order of their turns. */
  readonly #streams = new Set<TriggerStream>();
  readonly #beating: ReturnType<typeof setInterval>;
  #passing: ReturnType<typeof setTimeout> | null = null;
  #stopped = false;

  constructor(options: TriggerStreamsOptions) {
    this.#options = options;
    options.ring.onMore = () => this.#wake();
    // Twice within the time, and the gate looks every quarter of a second.
    const beatMs = Math.min(HEARTBEAT_MS, options.idleTimeoutMs / 2);
    this.#beating = setInterval(() => {
      for (const stream of this.#streams) stream.beat();
    }, beatMs);
    Deno.unrefTimer(this.#beating as unknown as number);
  }

  /** How many listen. */
  get count(): number {
    return this.#streams.size;
  }

  /** Answers a request with a stream, or says why not. */
  answer(request: Request, url: URL): Response {
    const filter = filterOf(url.searchParams);
    if (filter instanceof Response) return filter;
    if (request.method === "HEAD") return new Response(null, { headers: HEADERS });
    if (this.#stopped) return problem(503, "The service is stopping", { "retry-after": "1" });
    if (this.#streams.size >= this.#options.streamsMax) {
      return problem(503, `${this.#streams.size} listen already (http.streams_max)`, { "retry-after": "5" });
    }
    const { ring } = this.#options;
    // A client that comes back sends the header, and still the URL that it began with.
    const lastId = request.headers.get("last-event-id") || url.searchParams.get("last_event_id") || null;
    const found = lastId === null ? ring.end : ring.find(lastId);
    const stream: TriggerStream = new TriggerStream(ring, filter, {
      position: found ?? ring.start,
      greeting: found === null ? `retry: 3000\n\n${gap(lastId ?? "")}` : "retry: 3000\n\n",
      room: () => this.#wake(),
      gone: () => this.#streams.delete(stream),
    });
    this.#streams.add(stream);
    this.#wake();
    return new Response(stream.body, { headers: HEADERS });
  }

  /** Sends what is there, waits a moment for it to be taken, and ends all streams: a server does not end before them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.ring.onMore = () => {};
    clearInterval(this.#beating);
    if (this.#passing !== null) clearTimeout(this.#passing);
    const all = [...this.#streams];
    const untilMs = performance.now() + STOP_MS;
    while (performance.now() < untilMs) {
      const isMore = this.#pass();
      if (!isMore && all.every((stream) => stream.taken)) break;
      await new Promise((resolve) => setTimeout(resolve, STOP_LOOK_MS));
    }
    for (const stream of all) stream.close();
    this.#streams.clear();
  }

  #wake(): void {
    if (this.#passing !== null || this.#stopped || this.#streams.size === 0) return;
    this.#passing = setTimeout(() => {
      this.#passing = null;
      if (this.#pass()) this.#wake();
    }, PASS_MS);
  }

  /** Whether there is more to be sent now. */
  #pass(): boolean {
    const startedMs = performance.now();
    let left = this.#streams.size;
    while (left > 0) {
      left = 0;
      for (const stream of [...this.#streams]) {
        if (performance.now() - startedMs > PASS_WORK_MS) return true;
        if (stream.deliver()) left++;
        // Who had its turn goes behind the others.
        this.#streams.delete(stream);
        if (!stream.ended) this.#streams.add(stream);
      }
    }
    return false;
  }
}

function gap(lastId: string): string {
  const data = {
    last_event_id: lastId.slice(0, SHOWN_ID_CHARACTERS),
    reason: "It is not in memory any more",
  };
  return `event: gap\ndata: ${JSON.stringify(data)}\n\n`;
}

function filterOf(asked: URLSearchParams): TriggerFilter | Response {
  const kinds = asked.getAll("kind").flatMap((value) => value.split(",")).map((kind) => kind.toUpperCase());
  const unknown = kinds.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) {
    return problem(400, `kind must be of ${KINDS.join(", ")}, got ${JSON.stringify(unknown.slice(0, 40))}`);
  }
  const fences = asked.getAll("fence");
  const device = asked.get("device");
  if (fences.length > FENCES_MAX) {
    return problem(400, `At most ${FENCES_MAX} patterns of fences can be given`);
  }
  for (const text of [...fences, ...(device === null ? [] : [device])]) {
    const { length } = encoder.encode(text);
    if (length === 0 || length > ID_BYTES_MAX) {
      return problem(400, `fence and device have 1 to ${ID_BYTES_MAX} bytes, got ${length}`);
    }
  }
  return {
    kinds: kinds.length === 0 ? null : new Set(kinds),
    fences: fences.length === 0 ? null : new FenceRules(fences.map((fence) => ({ fence, afterUs: [] }))),
    device: device === null ? null : encoder.encode(device),
  };
}
