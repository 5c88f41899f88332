/**
 * Whether a dead letter is worth sending again, and safe.
 *
 * ```
 *   incomplete        never: of a record that was too large only the beginning was kept
 *   comes_back        it would be a dead letter again (unless forced)
 *   trigger           never: it is what the sink refused, and no record
 *   older_than_ttl    it can't be known any more whether a copy of it was taken meanwhile (unless insisted on)
 * ```
 *
 * `SINK_REJECTED` says that the records were taken and only a trigger refused, which is what the letter has: a source can't
 * take it (it would make a transition of a DWELL), and the records again would be suppressed, since its id is known. It is
 * for whoever reads the triggers.
 *
 * What comes back is found by trying: the record as it stands in the file goes through the decoder and the judgement of
 * times that `run` uses, with the clock and the limits of today. So one that a person has mended passes, one that a newer
 * version understands passes, and so does one from the future once the future has come; and no list of "reasons that
 * never pass" can fall behind the rules. Two reasons need more than the record:
 *
 * - `TIME_TOO_OLD` depends on the split's dedup clock, which never goes back and is not known here. The wall clock stands
 *   for it: no record is older by the dedup clock than by the wall clock, but for `max_future_skew`. So a record is let
 *   through only where `max_age` was raised far enough for certain.
 * - `LATE` depends on the watermark, which never goes back either: where triggers leave in order it stays late. Where
 *   they leave on arrival it is none of a dead letter's reasons, and passes.
 *
 * @module
 */
import type { Config } from "./config.ts";
import type { DeadLetterReason } from "./dead_letter.ts";
import type { StoredDeadLetter } from "./dead_letter_line.ts";
import { hasTimes, type RecordOutcome, recordOutcomes } from "./format/record_outcomes.ts";
import { judgeTimes } from "./plausibility.ts";
import { formatDuration, formatTimestamp } from "./time.ts";

/** Why a dead letter is not sent again. */
export interface ReplayRefusal {
  /** For counting. */
  readonly because: "incomplete" | "trigger" | "comes_back" | "older_than_ttl";
  /** One sentence for a person, without its full stop. */
  readonly why: string;
}

/** What it is judged by. */
export interface ReplayCircumstances {
  /** The configuration of the run that the records go to. */
  readonly config: Pick<Config, "identity" | "emit" | "time" | "source">;
  /** The wall clock, µs since the epoch. */
  readonly wallUs: number;
  /** Send what would only come back, too. */
  readonly force: boolean;
  /** Send what is older than `identity.ttl`, too. */
  readonly olderThanTtl: boolean;
}

/** See the module's header. */
export class ReplayJudge {
  readonly #circumstances: ReplayCircumstances;
  readonly #outcomes: ReturnType<typeof recordOutcomes>;

  /** Judges by what is so now. */
  constructor(circumstances: ReplayCircumstances) {
    this.#circumstances = circumstances;
    this.#outcomes = recordOutcomes(circumstances.config.source.format);
  }

  /**
   * Why a letter's record must not be sent again; null where it may.
   *
   * @param firstSeenUs ingest time of a record that carries none, µs since the epoch; NaN where its reader has none either
   */
  refusal(letter: StoredDeadLetter, firstSeenUs: number): ReplayRefusal | null {
    if (letter.reason === "TOO_LARGE" || letter.oversize !== undefined) return incomplete(letter);
    if (letter.reason === "SINK_REJECTED") return TRIGGER;
    const { force, olderThanTtl } = this.#circumstances;
    if (!force) {
      const why = this.#whyItComesBack(letter, firstSeenUs);
      if (why !== null) return { because: "comes_back", why };
    }
    return olderThanTtl ? null : this.#olderThanTtl(letter);
  }

  #whyItComesBack({ reason, record }: StoredDeadLetter, firstSeenUs: number): string | null {
    const { config: { emit } } = this.#circumstances;
    if (reason === "LATE" && emit === "ordered") {
      return wouldBe("LATE", "Triggers leave in event-time order, and the watermark never goes back");
    }
    let isTransition = false;
    for (const decoded of this.#outcomes(record, null)) {
      if (decoded.outcome === "skipped") continue;
      const why = this.#whyRefused(reason, firstSeenUs, decoded);
      if (why !== null) return why;
      isTransition = true;
    }
    return isTransition ? null : "It is no transition, by source.format";
  }

  #whyRefused(reason: DeadLetterReason, firstSeenUs: number, decoded: RecordOutcome): string | null {
    const { config: { time }, wallUs } = this.#circumstances;
    const { outcome, detail, transition } = decoded;
    if (outcome === "skipped") return null;
    if (outcome !== "transition" && !hasTimes(decoded)) return wouldBe(outcome, detail);
    const { eventTimeUs } = transition;
    const ingestTimeUs = Number.isNaN(transition.ingestTimeUs) ? firstSeenUs : transition.ingestTimeUs;
    const implausible = judgeTimes({ eventTimeUs, ingestTimeUs, dedupClockUs: -Infinity, wallUs }, time);
    if (implausible !== null) return wouldBe(implausible.reason, implausible.detail);
    if (reason === "TIME_TOO_OLD" && wallUs - eventTimeUs > time.maxAgeUs) {
      const age = `more than time.max_age (${formatDuration(time.maxAgeUs)})`;
      return wouldBe(reason, `Event time ${formatTimestamp(eventTimeUs)} is ${age} ago`);
    }
    return outcome === "transition" ? null : wouldBe(outcome, detail);
  }

  #isOlderThanTtl({ atUs }: StoredDeadLetter): boolean {
    const { config: { identity: { ttlUs } }, wallUs } = this.#circumstances;
    return wallUs - atUs > ttlUs;
  }

  #olderThanTtl(letter: StoredDeadLetter): ReplayRefusal | null {
    if (!this.#isOlderThanTtl(letter)) return null;
    const { ttlUs } = this.#circumstances.config.identity;
    const why = `It is a dead letter since ${formatTimestamp(letter.atUs)}, longer than identity.ttl ` +
      `(${formatDuration(ttlUs)}): had a copy of it been taken meanwhile, that would be forgotten`;
    return { because: "older_than_ttl", why };
  }
}

const TRIGGER: ReplayRefusal = {
  because: "trigger",
  why:
    "It is a trigger that the output refused, and no record of the source: hand it to whoever reads the triggers",
};

function incomplete({ oversize, record }: StoredDeadLetter): ReplayRefusal {
  const bytes = oversize === undefined
    ? `${record.length} bytes of it`
    : `${record.length} of its ${oversize.byteLength} bytes`;
  return { because: "incomplete", why: `It was too large, and only the first ${bytes} were kept` };
}

function wouldBe(reason: DeadLetterReason, detail: string): string {
  return `It would come back as ${reason}: ${detail}`;
}
