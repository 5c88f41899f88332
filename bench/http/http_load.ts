/**
 * Clients that send crossings to the service, and book-keeping of what it said to them.
 *
 * @module
 */
import type { TransitionsAnswer } from "../../actors/adapters/http/transitions.ts";
import { bodyOf, type Crossing, crossing, IdSum } from "./crossings.ts";

/** What came of a load. */
export class Tally {
  /** Records by outcome. */
  readonly records: Record<string, number> = {
    accepted: 0,
    suppressed: 0,
    dead_lettered: 0,
    refused: 0,
    unknown: 0,
  };
  /** Requests by status; 0 where there was none. */
  readonly statuses: Record<number, number> = {};
  /** Of what was accepted. */
  readonly ids = new IdSum();
  /** From sending a request of which something was taken to its answer, ms. */
  readonly latencies: number[] = [];
  /** Refused records in an answer that is no 429: there must be none. */
  wrongStatus = 0;
}

/** Sends batches. */
export class HttpLoad {
  readonly #url: string;
  readonly #batch: number;
  readonly #idOf: (crossing: Crossing) => string;
  #next = 0;

  constructor(options: { url: string; batch: number; idOf: (crossing: Crossing) => string }) {
    this.#url = `${options.url}/v1/transitions`;
    this.#batch = options.batch;
    this.#idOf = options.idOf;
  }

  /** As fast as so many clients get their answers, for so long. */
  async closedLoop(clients: number, ms: number): Promise<Tally> {
    const tally = new Tally();
    const untilMs = performance.now() + ms;
    await Promise.all(Array.from({ length: clients }, async () => {
      while (performance.now() < untilMs) await this.#send(tally);
    }));
    return tally;
  }

  /**
   * At a rate, whatever the answers are, for so long.
   *
   * @param outstandingMax requests without an answer; one that would be more is not sent, and counted as such
   */
  async openLoop(
    perSecond: number,
    ms: number,
    outstandingMax: number,
  ): Promise<Tally & { readonly unsent: number }> {
    const tally = new Tally();
    const startedMs = performance.now();
    const sending = new Set<Promise<void>>();
    let sent = 0;
    let unsent = 0;
    while (performance.now() - startedMs < ms) {
      const due = (performance.now() - startedMs) / 1000 * perSecond / this.#batch;
      while (sent + unsent < due) {
        if (sending.size >= outstandingMax) {
          unsent++;
          continue;
        }
        sent++;
        const one: Promise<void> = this.#send(tally).finally(() => sending.delete(one));
        sending.add(one);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(sending);
    return Object.assign(tally, { unsent });
  }

  async #send(tally: Tally): Promise<void> {
    const nowUs = Date.now() * 1000;
    const crossings: Crossing[] = [];
    for (let i = 0; i < this.#batch; i++) crossings.push(crossing(this.#next++, nowUs));
    const startedMs = performance.now();
    let answer: Pick<TransitionsAnswer, "taken" | "outcomes">;
    let status = 0;
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: bodyOf(crossings),
      });
      status = response.status;
      answer = await response.json() as TransitionsAnswer;
    } catch {
      answer = { taken: 0, outcomes: [] };
    }
    tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    if (answer.taken > 0) tally.latencies.push(performance.now() - startedMs);
    const { outcomes = [] } = answer;
    for (const [i, one] of crossings.entries()) {
      const outcome = outcomes[i] ?? (status === 429 ? "refused" : "unknown");
      tally.records[outcome] = (tally.records[outcome] ?? 0) + 1;
      if (outcome === "accepted") tally.ids.add(this.#idOf(one));
      if (outcome === "refused" && status !== 429) tally.wrongStatus++;
    }
    // What was refused is tried no sooner: a client that hammers is not what is measured.
    if (status === 429) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A percentile of some numbers. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
