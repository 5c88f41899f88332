/**
 * Where devices are, the triggers as they leave, and the last dead letters.
 *
 * @module
 */
import { formatDuration } from "../../../lib/time.ts";
import type { Onlookers } from "../../onlookers.ts";
import { UnavailableError } from "../../ports.ts";
import { type Found, readAll, type SplitReads } from "../../split_reads.ts";
import { jsonAnswer, problem } from "./answer.ts";
import type { Route } from "./service.ts";
import type { TriggerStreams } from "./trigger_streams.ts";

const ID_BYTES_MAX = 256;
/** Searches that wait for their turn: one at a time looks through all pairs. */
const SEARCHES_WAITING_MAX = 32;

const encoder = new TextEncoder();

/** What is read. */
export interface ReadRoutesOptions {
  readonly onlookers: Onlookers;
  readonly streams: TriggerStreams;
  /** The splits that there are; null for one that is to be opened again. */
  readonly reads: () => readonly (SplitReads | null)[];
  /** How long a pair that is outside is remembered, µs. */
  readonly maxAgeUs: number;
}

/** See the module's header. */
export function readRoutes({ onlookers, streams, reads, maxAgeUs }: ReadRoutesOptions): Route[] {
  const searches = new Searches();
  const remembered =
    `A pair that is outside is remembered for ${formatDuration(maxAgeUs)} after its last record, ` +
    "or for less where pairs.capacity is reached";
  return [
    {
      method: "GET",
      path: "/v1/pairs/:device/:fence",
      scope: "read",
      answer: (_request, { params }) =>
        answered(async () => {
          const device = idIn(params["device"]);
          const fence = idIn(params["fence"]);
          if (device === null || fence === null) return wrongId();
          const { watermark, pairs: [pair] } = await readAll(reads(), (split) => split.pair(device, fence));
          if (pair === undefined) return problem(404, `Nothing is known of this pair here. ${remembered}`);
          return jsonAnswer(200, { watermark, ...pair });
        }),
    },
    {
      method: "GET",
      path: "/v1/devices/:device",
      scope: "read",
      answer: (_request, { params }) =>
        answered(async () => {
          const device = idIn(params["device"]);
          if (device === null) return wrongId();
          const found = await searches.run(() => readAll(reads(), (split) => split.device(device)));
          if (found.count === 0) return problem(404, `Nothing is known of this device here. ${remembered}`);
          const { watermark, count, pairs } = found;
          return jsonAnswer(200, { device_id: params["device"], watermark, pairs_count: count, pairs });
        }),
    },
    {
      method: "GET",
      path: "/v1/triggers",
      scope: "read",
      answer: (request, { url }) => streams.answer(request, url),
    },
    {
      method: "GET",
      path: "/v1/dead-letters/recent",
      scope: "read",
      answer: () => jsonAnswer(200, { dead_letters: onlookers.deadLetters.newestFirst() }),
    },
  ];
}

/** One search at a time, so that many who ask cost no more of the event loop than one. */
class Searches {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  async run(search: () => Promise<Found>): Promise<Found> {
    if (this.#waiting >= SEARCHES_WAITING_MAX) throw new UnavailableError("Too many search for devices");
    this.#waiting++;
    const found = this.#last.then(search);
    this.#last = found.catch(() => {});
    try {
      return await found;
    } finally {
      this.#waiting--;
    }
  }
}

async function answered(read: () => Promise<Response>): Promise<Response> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnavailableError) return problem(503, error.message, { "retry-after": "1" });
    throw error;
  }
}

function idIn(text: string | undefined): Uint8Array | null {
  const bytes = encoder.encode(text ?? "");
  return bytes.length === 0 || bytes.length > ID_BYTES_MAX ? null : bytes;
}

function wrongId(): Response {
  return problem(400, `An id has 1 to ${ID_BYTES_MAX} bytes`);
}
