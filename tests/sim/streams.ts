/**
 * Streams of raw lines that a seed determines: a few devices and fences over minutes, told by producers that repeat
 * themselves, jitter, flap, upload hours later, run ahead and write nonsense.
 *
 * Swarm style: each seed switches some of these features off, leaves some rare, and lets some run wild, since a bug that
 * needs much of one thing hides in streams that have a little of everything. Producers are followed only as far as that
 * makes streams nasty: what is true of a device is nobody's business here, and what must come out is the oracle's.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { Chance } from "./chance.ts";
import { drawConfig } from "./stream_config.ts";
import { type Draft, drawAttributes, type LineStyle, writeLine, writePoison } from "./stream_line.ts";

/** A stream. */
export interface GeneratedStream {
  readonly config: Config;
  /** Without line ends, none of them blank. */
  readonly lines: string[];
  /** The wall clock, which stands still, in µs. */
  readonly wallUs: number;
}

/** What can happen besides a crossing that is told at once. */
const FEATURES = [
  "copy",
  "nearCopy",
  "flap",
  "stale",
  "heartbeat",
  "passedOn",
  "upload",
  "ahead",
  "atBound",
  "tooOld",
  "poison",
  "seqReuse",
] as const;
type Feature = (typeof FEATURES)[number];
/** How much of it is wild, where that is not most of the stream: too many dead letters leave nothing to be wrong. */
const WILD: Partial<Record<Feature, number>> = { tooOld: 8, poison: 12 };

const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;
const ODD_IDS = ["d|0", "5:d0,", "車-07 🚧", "__proto__", "d\u0000"];

/** The stream of a seed: the same each time. */
export function generateStream(seed: number): GeneratedStream {
  return new StreamGenerator(new Chance(seed)).generate();
}

class StreamGenerator {
  readonly #chance: Chance;
  readonly #config: Config;
  readonly #gridUs: number;
  readonly #wallUs: number;
  readonly #style: LineStyle;
  readonly #pairs: [deviceId: string, fenceId: string][];
  /** How many of a hundred records. */
  readonly #weights: ReadonlyMap<Feature, number>;
  readonly #ingestProbability: number;
  readonly #ingestJitterUs: number;
  readonly #delayProbability: number;
  readonly #wildDelayProbability: number;
  readonly #seqProbability: number;
  readonly #attributesProbability: number;
  readonly #paceUs: number;
  readonly #lines: string[] = [];
  /** All that was told, as it would be told again. */
  readonly #told: Draft[] = [];
  /** An upload that is under way. */
  #uploading: Draft[] = [];
  readonly #isInside = new Map<string, boolean>();
  #nextSeq = 1;
  #nowUs = BEGIN_US;
  #highestObservedUs = BEGIN_US;

  constructor(chance: Chance) {
    this.#chance = chance;
    const { config, gridUs } = drawConfig(chance);
    const { bucketUs } = config.identity;
    this.#config = config;
    this.#gridUs = gridUs;
    this.#wallUs = BEGIN_US + bucketUs * (chance.happens(0.1) ? 200 : 100_000);
    this.#style = { spelling: chance.happens(0.3) ? "varied" : "plain" };
    const devices = ["d0", "d1", "d2"].slice(0, chance.between(1, 3));
    if (chance.happens(0.15)) devices.push(chance.pick(ODD_IDS));
    const fences = ["f0", "f1", "g1"].slice(0, chance.between(1, 3));
    this.#pairs = devices.flatMap((device) => fences.map((fence): [string, string] => [device, fence]));
    this.#weights = new Map(
      FEATURES.map((feature) => [feature, chance.pick([0, 0, 3, 6, WILD[feature] ?? 40])]),
    );
    this.#ingestProbability = chance.pick([1, 1, 1, 0, 0.8]);
    this.#ingestJitterUs = chance.pick([0, 0, gridUs, bucketUs]);
    this.#delayProbability = chance.pick([0, 0.3, 0.9]);
    this.#wildDelayProbability = chance.pick([0, 0, 0.05, 0.4]);
    this.#seqProbability = chance.pick([0, 0, 0.5, 0.9, 1]);
    this.#attributesProbability = chance.pick([0, 0.2]);
    this.#paceUs = chance.pick([gridUs, 4 * gridUs, bucketUs, 2 * bucketUs]);
  }

  generate(): GeneratedStream {
    const linesCount = this.#chance.between(40, 400);
    while (this.#lines.length < linesCount) {
      this.#passTime();
      const next = this.#chance.happens(0.7) ? this.#uploading.shift() : undefined;
      if (next !== undefined) this.#tell(next);
      else this.#happen(this.#chance.weighted([...this.#weights, ["crossing", 20]]));
    }
    return { config: this.#config, lines: this.#lines.slice(0, linesCount), wallUs: this.#wallUs };
  }

  #passTime(): void {
    const { bucketUs } = this.#config.identity;
    this.#nowUs += this.#chance.weighted([
      [0, 2],
      [1, 1],
      [this.#paceUs, 5],
      [this.#chance.below(3 * this.#paceUs), 4],
      [this.#config.dwell.latenessUs, 0.5],
      [10 * bucketUs, 0.2],
      [this.#config.identity.ttlUs > 100 * bucketUs ? 50 * bucketUs : this.#config.identity.ttlUs, 0.1],
    ]);
  }

  #happen(what: Feature | "crossing"): void {
    const { identity, time } = this.#config;
    switch (what) {
      case "crossing":
        return this.#tell(this.#draft(this.#delayedUs()));
      case "copy": {
        const told = this.#earlier();
        return this.#tell(told ?? this.#draft(this.#nowUs));
      }
      case "nearCopy":
        return this.#nearCopy();
      case "flap":
        return this.#flap();
      case "stale":
        return this.#tell({ ...this.#draft(this.#delayedUs()), kind: "STALE" });
      case "heartbeat":
        return this.#tell({
          ...this.#draft(this.#delayedUs()),
          kind: "HEARTBEAT",
          seq: null,
          attributes: null,
        });
      case "passedOn":
        return this.#tell({ ...this.#draft(this.#delayedUs()), kind: "DWELL" });
      case "upload":
        return this.#beginUpload();
      case "ahead": {
        const skewUs = Math.min(time.maxFutureSkewUs, 20 * identity.bucketUs);
        const aheadUs = this.#chance.pick([this.#chance.below(skewUs + 1), skewUs, time.maxFutureSkewUs + 1]);
        return this.#tell(this.#draft(this.#nowUs + aheadUs));
      }
      case "atBound":
        return this.#atBound();
      case "tooOld":
        return this.#tell(this.#draft(this.#nowUs - time.maxAgeUs + this.#chance.between(-1, 1)));
      case "poison":
        this.#lines.push(
          writePoison(this.#chance, this.#draft(this.#nowUs), {
            ingestUs: this.#nowUs,
            wallUs: this.#wallUs,
          }),
        );
        return;
      case "seqReuse": {
        const seq = this.#earlier()?.seq ?? null;
        return this.#tell({ ...this.#draft(this.#delayedUs()), seq });
      }
    }
  }

  /** A crossing of some pair: mostly the one that its last one lets expect. */
  #draft(
    eventUs: number,
    pair = this.#chance.pick(this.#pairs),
  ): Draft {
    const key = pair.join();
    const expected = this.#isInside.get(key) === true ? "EXIT" : "ENTER";
    const kind = this.#chance.happens(0.15) ? this.#chance.pick(["ENTER", "EXIT"]) : expected;
    this.#isInside.set(key, kind === "ENTER");
    return {
      kind,
      deviceId: pair[0],
      fenceId: pair[1],
      eventUs: this.#onGrid(eventUs),
      seq: this.#chance.happens(this.#seqProbability) ? this.#drawSeq() : null,
      attributes: this.#chance.happens(this.#attributesProbability) ? drawAttributes(this.#chance) : null,
    };
  }

  #drawSeq(): string {
    const number = this.#nextSeq++;
    return this.#chance.happens(0.2) ? `s-${number}` : String(number);
  }

  /** Most times are on the grid, some a microsecond beside it, some anywhere. */
  #onGrid(us: number): number {
    const gridUs = Math.floor(us / this.#gridUs) * this.#gridUs;
    return this.#chance.weighted([[gridUs, 6], [gridUs - 1, 1], [gridUs + 1, 1], [us, 2]]);
  }

  #delayedUs(): number {
    const { latenessUs } = this.#config.dwell;
    const { bucketUs } = this.#config.identity;
    if (this.#chance.happens(this.#wildDelayProbability)) {
      return this.#nowUs - latenessUs - this.#chance.below(this.#chance.pick([1, 8, 40]) * bucketUs);
    }
    if (!this.#chance.happens(this.#delayProbability)) return this.#nowUs;
    return this.#nowUs - this.#chance.below(latenessUs + 1);
  }

  /** Something that was told: mostly of late. */
  #earlier(): Draft | undefined {
    const back = this.#chance.happens(0.8) ? 12 : this.#told.length;
    return this.#told[this.#told.length - 1 - this.#chance.below(Math.min(back, this.#told.length))];
  }

  #nearCopy(): void {
    const { bucketUs, guardUs, maxSkewUs } = this.#config.identity;
    const told = this.#earlier();
    if (told === undefined) return;
    const apartUs = this.#chance.pick([
      1,
      guardUs,
      guardUs + 1,
      maxSkewUs,
      maxSkewUs + 1,
      2 * guardUs,
      bucketUs,
    ]);
    const withinUs = this.#chance.happens(0.5) ? apartUs : this.#chance.below(apartUs + 1);
    this.#tell({ ...told, eventUs: told.eventUs + (this.#chance.happens(0.5) ? withinUs : -withinUs) });
  }

  /** In and out and in again, within a bucket or hardly more. */
  #flap(): void {
    const pair = this.#chance.pick(this.#pairs);
    let eventUs = this.#delayedUs();
    for (let count = this.#chance.between(2, 5); count > 0; count--) {
      this.#tell(this.#draft(eventUs, pair));
      eventUs += this.#chance.between(0, 6) * this.#gridUs;
      this.#nowUs = Math.max(this.#nowUs, eventUs);
    }
  }

  /** A device that was offline: in order, newest first or anyhow, and perhaps after its first live record. */
  #beginUpload(): void {
    const { bucketUs } = this.#config.identity;
    const pair = this.#chance.pick(this.#pairs);
    const upload: Draft[] = [];
    let eventUs = this.#nowUs - this.#chance.between(2, 60) * bucketUs;
    while (eventUs < this.#nowUs && upload.length < 12) {
      const draft = this.#draft(eventUs, pair);
      upload.push(this.#chance.happens(0.1) ? { ...draft, kind: "STALE" } : draft);
      if (this.#chance.happens(0.1)) upload.push(draft);
      eventUs += this.#chance.pick([1, 4, 10, 30, 100]) * this.#gridUs;
    }
    if (this.#chance.happens(0.3)) this.#tell(this.#draft(this.#nowUs, pair));
    this.#uploading.push(
      ...this.#chance.pick([() => upload, () => upload.toReversed(), () => this.#chance.shuffled(upload)])(),
    );
  }

  /** A record right at a deadline, at the watermark, or one that moves the watermark right to such a point. */
  #atBound(): void {
    const { latenessUs, rules } = this.#config.dwell;
    const told = this.#earlier();
    const watermarkUs = this.#highestObservedUs - latenessUs;
    const besideUs = this.#chance.pick([-1, 0, 0, 1]);
    const thresholdUs = this.#chance.pick(
      [...rules.flatMap(({ afterUs }) => afterUs), 0],
    );
    const deadlineUs = (told?.eventUs ?? watermarkUs) + thresholdUs;
    if (told === undefined || this.#chance.happens(0.3)) {
      this.#tell({ ...this.#draft(0), eventUs: watermarkUs + besideUs });
      return;
    }
    // Time must not run away by deadlines that are far.
    const isNear = deadlineUs < this.#nowUs + 30 * this.#config.identity.bucketUs;
    if (!isNear) return;
    const movesUs = this.#chance.pick([deadlineUs, deadlineUs, watermarkUs + latenessUs]) + latenessUs +
      besideUs;
    if (this.#chance.happens(0.5)) {
      const draft = this.#draft(0, [told.deviceId, told.fenceId]);
      this.#tell({
        ...draft,
        kind: this.#chance.pick(["EXIT", "EXIT", "STALE", "ENTER"]),
        eventUs: deadlineUs + besideUs,
      });
    } else {
      this.#nowUs = Math.max(this.#nowUs, movesUs);
      this.#tell({ ...this.#draft(0), kind: "HEARTBEAT", seq: null, attributes: null, eventUs: movesUs });
    }
  }

  #tell(draft: Draft): void {
    const jitterUs = this.#chance.happens(0.2) ? this.#chance.below(this.#ingestJitterUs + 1) : 0;
    const ingestUs = this.#nowUs - jitterUs;
    const isGiven = this.#chance.happens(this.#ingestProbability);
    this.#lines.push(writeLine(this.#chance, this.#style, draft, isGiven ? ingestUs : null));
    if (draft.kind !== "HEARTBEAT") this.#told.push(draft);
    this.#highestObservedUs = Math.max(this.#highestObservedUs, Math.min(draft.eventUs, ingestUs));
  }
}
