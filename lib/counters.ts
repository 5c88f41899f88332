/**
 * What happened, counted: a partition counts for itself, the split adds up. Plain fields, since they are in the hot path.
 *
 * Conservation (STYLE): every record that was taken is emitted, suppressed, dead-lettered, silent, absorbed or waiting.
 *
 * @module
 */

/** Counts since the state began; a checkpoint keeps them. */
export class Counters {
  /** Transitions that came in, without those that were dead-lettered on decoding; the split counts heartbeats. */
  received = 0;
  /** ENTER triggers. */
  enter = 0;
  /** EXIT triggers. */
  exit = 0;
  /** DWELL triggers of our own. */
  dwell = 0;
  /** DWELL triggers that an upstream made. */
  passedOn = 0;
  /** RETRACT triggers. */
  retract = 0;
  /** Not novel. */
  suppressed = 0;
  /** STALE: no trigger tells of it. */
  silent = 0;
  /** What a pair absorbed where triggers leave in order: neither told nor a repeat of an id. */
  absorbed = 0;
  /** Records at or before the watermark on arrival. */
  late = 0;
  /** Dead letters with the reason LATE. */
  lateRefused = 0;
  /** Late records, older than what was applied, that earned nothing. */
  lateSkipped = 0;
  /** DWELLs that were told and that a late record says should not have been. */
  dwellContradicted = 0;
  /** Visits that began with the id of the visit before: the bucket is too wide. */
  flapsInBucket = 0;
  /** The watermark was moved because too many records waited. */
  watermarkForced = 0;
  /** Pairs that were forgotten early because there were too many. */
  pairsEvicted = 0;
  /** Times that the pairs grew past their capacity since all were inside. */
  pairsOverCapacity = 0;
  /** Held groups that were taken because their 1,000th record came, or because too many records waited. */
  heldGroupsFull = 0;

  /** Adds another's counts to these. */
  add(other: Counters): void {
    for (const key of COUNTER_NAMES) this[key] += other[key];
  }

  /** These counts less another's. */
  since(before: Counters): Counters {
    const counters = new Counters();
    for (const key of COUNTER_NAMES) counters[key] = this[key] - before[key];
    return counters;
  }

  /** As a checkpoint keeps them. */
  toJson(): Record<string, number> {
    return Object.fromEntries(COUNTER_NAMES.map((name) => [name, this[name]]));
  }

  /** Takes over what {@link toJson} gave; unknown names are ignored, missing ones are 0. */
  static fromJson(json: Readonly<Record<string, number>>): Counters {
    const counters = new Counters();
    for (const key of COUNTER_NAMES) counters[key] = json[key] ?? 0;
    return counters;
  }
}

/** The names of all counts. */
export const COUNTER_NAMES = Object.keys(new Counters()) as readonly (
  & keyof Counters
  & (
    | "received"
    | "enter"
    | "exit"
    | "dwell"
    | "passedOn"
    | "retract"
    | "suppressed"
    | "silent"
    | "absorbed"
    | "late"
    | "lateRefused"
    | "lateSkipped"
    | "dwellContradicted"
    | "flapsInBucket"
    | "watermarkForced"
    | "pairsEvicted"
    | "pairsOverCapacity"
    | "heldGroupsFull"
  )
)[];
