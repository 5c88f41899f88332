/**
 * Three ways to fire DWELLs, and one that learnt something, as they are usually written. They get the records one by one
 * as they arrive, and hear of time passing.
 *
 * ```
 *   arrival-time timers        a timer a pair from the ENTER's arrival; the EXIT's arrival clears it
 *   no recheck                 deadlines in event time; what is due fires, whatever the pair has done since
 *   cancel on EXIT, recheck    deadlines in event time; an EXIT cancels; what is due fires if the pair is still inside
 *   … an EXIT fires first      and an EXIT at or behind the deadline fires it before it cancels
 * ```
 *
 * The deadlines' time is the highest event time so far, `lateness` behind. Records that are older than the last one of the
 * pair are ignored, since nothing waits for them here. In a restart the timers are gone; deadlines and pairs are all there
 * (nobody loses a record here), and what became due meanwhile fires at once, as timer queues do.
 *
 * @module
 */
import { formatTimestamp } from "../../lib/time.ts";
import { type Arrival, LATENESS_US, THRESHOLD_US } from "./deliveries.ts";

/** A DWELL that was told. */
export interface Told {
  readonly pair: string;
  /** As triggers have it. */
  readonly enteredAt: string;
  /** The wall clock at that moment. */
  readonly atUs: number;
}

/** See the module's header. */
export interface Rival {
  readonly name: string;
  readonly told: readonly Told[];
  /** The wall clock moves on. */
  passTime(nowUs: number): void;
  take(arrival: Arrival): void;
  /** The process is there again; nothing of the meantime was read yet. */
  restart(nowUs: number): void;
  /** Nothing more will come, and all that is due by then is told. */
  end(nowUs: number): void;
}

/** One of each. */
export function makeRivals(): Rival[] {
  return [
    new ArrivalTimers(),
    new Deadlines("fire without recheck", { cancels: false, firesFirst: false }),
    new Deadlines("cancel on EXIT, recheck", { cancels: true, firesFirst: false }),
    new Deadlines("cancel on EXIT, recheck, earned ones first", { cancels: true, firesFirst: true }),
  ];
}

class ArrivalTimers implements Rival {
  readonly name = "arrival-time timers";
  readonly told: Told[] = [];
  readonly #timers = new Map<string, { readonly dueUs: number; readonly enteredUs: number }>();

  passTime(nowUs: number): void {
    for (const [pair, { dueUs, enteredUs }] of this.#timers) {
      if (dueUs > nowUs) continue;
      this.#timers.delete(pair);
      this.told.push({ pair, enteredAt: formatTimestamp(enteredUs), atUs: dueUs });
    }
  }

  take({ pair, kind, eventUs, arrivesUs }: Arrival): void {
    if (kind === "EXIT") this.#timers.delete(pair);
    else this.#timers.set(pair, { dueUs: arrivesUs + THRESHOLD_US, enteredUs: eventUs });
  }

  restart(): void {
    this.#timers.clear();
  }

  end(nowUs: number): void {
    this.passTime(nowUs);
  }
}

class Deadlines implements Rival {
  readonly told: Told[] = [];
  #pending: { readonly pair: string; readonly enteredUs: number }[] = [];
  /** When each pair came in; null outside. */
  readonly #insideSince = new Map<string, number | null>();
  readonly #latestUs = new Map<string, number>();
  #watermarkUs = -Infinity;
  #nowUs = -Infinity;

  constructor(
    readonly name: string,
    readonly options: { readonly cancels: boolean; readonly firesFirst: boolean },
  ) {}

  passTime(nowUs: number): void {
    this.#nowUs = nowUs;
  }

  take({ pair, kind, eventUs }: Arrival): void {
    this.#watermarkUs = Math.max(this.#watermarkUs, eventUs - LATENESS_US);
    if (eventUs >= (this.#latestUs.get(pair) ?? -Infinity)) {
      this.#latestUs.set(pair, eventUs);
      if (kind === "ENTER") this.#enter(pair, eventUs);
      else this.#leave(pair, eventUs);
    }
    this.#fire();
  }

  restart(nowUs: number): void {
    this.#nowUs = nowUs;
    this.#watermarkUs = Math.max(this.#watermarkUs, nowUs - LATENESS_US);
    this.#fire();
  }

  end(nowUs: number): void {
    this.restart(nowUs);
  }

  #enter(pair: string, eventUs: number): void {
    if (this.options.cancels) this.#cancel(pair);
    this.#insideSince.set(pair, eventUs);
    this.#pending.push({ pair, enteredUs: eventUs });
  }

  #leave(pair: string, eventUs: number): void {
    const enteredUs = this.#insideSince.get(pair) ?? null;
    const isPending = this.#pending.some((one) => one.pair === pair && one.enteredUs === enteredUs);
    if (this.options.firesFirst && enteredUs !== null && isPending && eventUs >= enteredUs + THRESHOLD_US) {
      this.#tell(pair, enteredUs);
    }
    if (this.options.cancels) this.#cancel(pair);
    this.#insideSince.set(pair, null);
  }

  #tell(pair: string, enteredUs: number): void {
    this.told.push({ pair, enteredAt: formatTimestamp(enteredUs), atUs: this.#nowUs });
  }

  #cancel(pair: string): void {
    this.#pending = this.#pending.filter((one) => one.pair !== pair);
  }

  #fire(): void {
    const isDue = ({ enteredUs }: { enteredUs: number }): boolean =>
      enteredUs + THRESHOLD_US <= this.#watermarkUs;
    for (const { pair, enteredUs } of this.#pending.filter(isDue)) {
      if (this.options.cancels && this.#insideSince.get(pair) !== enteredUs) continue;
      this.#tell(pair, enteredUs);
    }
    this.#pending = this.#pending.filter((one) => !isDue(one));
  }
}
