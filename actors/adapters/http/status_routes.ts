/**
 * The route of the status, and its memory of the last quarter of an hour.
 *
 * @module
 */
import { jsonAnswer } from "./answer.ts";
import type { Route } from "./service.ts";
import { type Sample, sampleOf, statusOf, type StatusSources } from "./status.ts";

const SAMPLE_MS = 1000;
/** A quarter of an hour, in some 100 KB. */
const SAMPLES_MAX = 900;

/** A sample a second, of the last quarter of an hour. */
export class StatusHistory {
  readonly #samples: Sample[] = [];
  readonly #sample: () => Sample;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param sample makes one */
  constructor(sample: () => Sample) {
    this.#sample = sample;
  }

  /** Takes one each second until {@link stop}. */
  start(): void {
    // Before anything has come: what comes within the first second is growth as well.
    this.#take(this.#sample());
    this.#timer = setInterval(() => this.#take(this.#sample()), SAMPLE_MS);
  }

  /** By name, the oldest first: half as long as one object a sample. */
  columns(): Record<string, number[]> {
    const names = Object.keys(this.#samples[0] ?? {}) as (keyof Sample)[];
    return Object.fromEntries(names.map((name) => [name, this.#samples.map((sample) => sample[name])]));
  }

  /** Takes no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #take(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }
}

/** `GET /v1/status`, with `?history=1` for the samples as well. */
export function statusRoutes(sources: StatusSources, history: StatusHistory): Route[] {
  const startedMs = performance.now();
  return [{
    method: "GET",
    path: "/v1/status",
    scope: "read",
    answer: (_request, { url }) => {
      const status = statusOf(sources, performance.now() - startedMs);
      const past = url.searchParams.has("history") ? { history: history.columns() } : {};
      return jsonAnswer(200, { ...status, ...past });
    },
  }];
}

/** The history that belongs to these sources. */
export function historyOf(sources: StatusSources): StatusHistory {
  return new StatusHistory(() => sampleOf(sources));
}
