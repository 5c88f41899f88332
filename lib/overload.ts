/**
 * What a source that can't wait may take: admission before anything is accepted.
 *
 * ```
 *   in flight   0 ─────────────────────────────┬──────────────┬───▶ records taken and not yet durable
 *                 everything is taken          │ EXITs only   │ nothing
 *                                        enter mark        limit
 * ```
 *
 * The **limit** is not a size but a time: as many records may be in flight as become durable within `targetUs`, whatever
 * the machine, the disk and the records are (Little's law). It is found as TCP finds its window: one step up when it was
 * needed and all went well, a share down when something took too long. A fixed queue would be too long on a slow disk,
 * where everybody waits, and too short on a fast one. **Too long** is longer than `targetUs`, and than twice what it takes
 * with next to nothing in flight: where a commit alone takes as long as the target, letting in less would make nothing
 * faster. That is looked at only when so little is in flight, or a lasting overload would be taken for what is usual.
 *
 * **EXITs go on** when ENTERs are already refused: a lost EXIT leaves a device inside, and that is worse than a late
 * ENTER. **Clients share**: when half of the limit is used, nobody may have more than an equal part of it, so one that
 * floods is refused before the others are. Who is alone may use it all.
 *
 * Nothing here asks for the time.
 *
 * @module
 */
import { assert } from "./assert.ts";

/** Share of the limit at which only EXITs are still taken. */
const ENTER_SHARE = 0.8;
/** Share of the limit from which clients are held to equal parts. */
const EQUAL_SHARE = 0.5;
/** How much of the limit is left where something took too long. */
const DECREASE = 0.8;
/** How much it grows by, at least. */
const INCREASE_SHARE = 0.1;
/** How much a new look at what it takes at least counts. */
const LEAST_SHARE = 0.2;
/** A client counts for as long after its last request, µs. */
const ACTIVE_US = 2_000_000;
/** Clients that are known at most; beyond that the one longest silent is forgotten. */
const CLIENTS_MAX = 10_000;

/** See the module's header. */
export interface AdmissionOptions {
  /** How long a record may take from its offer until it is durable, µs. */
  readonly targetUs: number;
  /** Records in flight that are always allowed. */
  readonly floor: number;
  /** Records in flight that are never exceeded: what the mailboxes hold. */
  readonly ceiling: number;
}

/** How many records of a request may be taken. */
export interface Room {
  /** Of any kind. */
  readonly any: number;
  /** Of EXITs and STALEs, those of any kind counted. */
  readonly exits: number;
}

interface Client {
  inFlight: number;
  seenUs: number;
}

/** See the module's header. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #clients = new Map<string, Client>();
  #limit: number;
  #inFlight = 0;
  /** The most that was in flight since the limit was last looked at. */
  #peak = 0;
  #lastDecreaseUs = -Infinity;
  /** How long it takes until a record is durable with next to nothing in flight, smoothed; 0 before that is known. */
  #leastUs = 0;

  /** Begins at the floor, and learns. */
  constructor(options: AdmissionOptions) {
    assert(options.floor >= 1 && options.floor <= options.ceiling, "the floor is below the ceiling");
    this.#options = options;
    this.#limit = options.floor;
  }

  /** Records that may be in flight now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Records that are. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * How many records of this client may be taken now. Where nothing is in flight a request is taken whatever its size, up
   * to the ceiling, or a large one could never be.
   *
   * @param nowUs monotonic
   */
  room(name: string, nowUs: number): Room {
    const client = this.#clientOf(name, nowUs);
    if (this.#inFlight === 0) return { any: this.#options.ceiling, exits: this.#options.ceiling };
    const limit = this.limit;
    const part = limit / this.#activeCount(nowUs);
    const own = (share: number): number => {
      const free = limit * share - this.#inFlight;
      if (this.#inFlight < limit * EQUAL_SHARE) return free;
      return Math.min(free, part * share - client.inFlight);
    };
    const any = Math.max(0, Math.floor(own(ENTER_SHARE)));
    return { any, exits: Math.max(any, Math.floor(own(1))) };
  }

  /** So many records of a client were taken. */
  take(name: string, count: number, nowUs: number): void {
    this.#clientOf(name, nowUs).inFlight += count;
    this.#inFlight += count;
    this.#peak = Math.max(this.#peak, this.#inFlight);
  }

  /** So many of them are no longer in flight: durable, or given up. */
  release(name: string, count: number): void {
    const client = this.#clients.get(name);
    assert(client !== undefined && client.inFlight >= count, "only what was taken is released");
    client.inFlight -= count;
    this.#inFlight -= count;
  }

  /**
   * Some records have become durable.
   *
   * @param tookUs how long the one that waited longest took from its offer on
   * @param nowUs monotonic
   */
  durable(tookUs: number, nowUs: number): void {
    const { targetUs, floor, ceiling } = this.#options;
    if (this.#peak <= floor) {
      this.#leastUs += (tookUs - this.#leastUs) * (this.#leastUs === 0 ? 1 : LEAST_SHARE);
    }
    if (tookUs > Math.max(targetUs, 2 * this.#leastUs)) {
      // What is in flight now was let in under the old limit: it says nothing about the new one.
      if (nowUs - this.#lastDecreaseUs < tookUs) return;
      this.#lastDecreaseUs = nowUs;
      this.#limit = Math.max(floor, this.#limit * DECREASE);
    } else if (this.#peak >= this.#limit * ENTER_SHARE) {
      this.#limit = Math.min(ceiling, this.#limit + Math.max(1, this.#limit * INCREASE_SHARE));
    }
    this.#peak = this.#inFlight;
  }

  #clientOf(name: string, nowUs: number): Client {
    let client = this.#clients.get(name);
    if (client === undefined) {
      client = { inFlight: 0, seenUs: nowUs };
      if (this.#clients.size >= CLIENTS_MAX) this.#forgetOne();
    } else {
      // The map's order is the order in which clients were seen.
      this.#clients.delete(name);
    }
    client.seenUs = nowUs;
    this.#clients.set(name, client);
    return client;
  }

  #forgetOne(): void {
    for (const [name, { inFlight }] of this.#clients) {
      if (inFlight > 0) continue;
      this.#clients.delete(name);
      return;
    }
  }

  #activeCount(nowUs: number): number {
    let count = 0;
    // From the one seen last backwards would be shorter; there are few, and this is asked once a request.
    for (const { inFlight, seenUs } of this.#clients.values()) {
      if (inFlight > 0 || nowUs - seenUs < ACTIVE_US) count++;
    }
    return Math.max(1, count);
  }
}
