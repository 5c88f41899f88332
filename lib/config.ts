/** A rule: the first whose fence pattern matches gives the thresholds. */
export interface DwellRule {
  /** A fence id, `*` standing for any run of characters. */
  readonly fence: string;
  /** Thresholds in µs, ascending; empty for none. */
  readonly afterUs: readonly number[];
}

/** SPEC 7's configuration, checked, with durations in µs. */
export interface Config {
  readonly identity: {
    readonly bucketUs: number;
    readonly guardUs: number;
    /** `guardUs` where the configuration says null. */
    readonly maxSkewUs: number;
    readonly minRevisitUs: number | null;
    readonly ttlUs: number;
    readonly capacity: number;
    readonly allowShortTtl: boolean;
  };
  readonly dwell: {
    readonly rules: readonly DwellRule[];
    readonly latenessUs: number;
    readonly onReenter: "restart" | "continue";
    readonly onContradiction: "count" | "retract";
    readonly tickUs: number;
    readonly maxFiresPerTurn: number;
    readonly waitingCapacity: number;
  };
  readonly emit: "arrival" | "ordered";
  readonly time: {
    readonly maxFutureSkewUs: number;
    readonly maxAgeUs: number;
    readonly liveWithinUs: number;
    readonly settleUs: number;
  };
  readonly pairs: { readonly capacity: number };
  readonly partitions: number;
  readonly mailbox: { readonly capacity: number };
  readonly checkpoint: { readonly path: string; readonly intervalUs: number };
  readonly source: {
    readonly type: "ndjson";
    readonly path: string;
    readonly live: boolean;
    readonly atEof: "flush" | "hold";
    readonly fromStart: boolean;
  };
  readonly sink: { readonly type: "ndjson"; readonly path: string };
  readonly deadLetters: {
    readonly type: "ndjson";
    readonly path: string;
    readonly retentionUs: number | null;
  };
}
