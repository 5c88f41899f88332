/**
 * What the audit says, in the shape of its JSON lines: names as in the triggers, times as in the triggers.
 *
 * @module
 */

/** Where a trigger stands. */
export interface AuditPlace {
  /** As the audit was told. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** RFC 3339. */
  readonly event_time: string;
}

/** What probably led to a finding. */
export type AuditCause =
  | "key"
  | "seq_reused"
  | "ttl"
  | "two_writers"
  | "written_again"
  | "seq_on_one"
  | "other_widths"
  | "jitter";

/** One thing that was found, as its JSON is. */
export interface AuditFinding {
  /** What was found. */
  readonly finding: "repeated_id" | "close_pair";
  /** The later trigger's kind. */
  readonly kind: string;
  /** The later trigger's device. */
  readonly device_id: string;
  /** The later trigger's fence. */
  readonly fence_id: string;
  /** The id that occurs again, or that of the later line. */
  readonly id: string;
  /** Of a `close_pair`, the earlier line's id. */
  readonly first_id?: string;
  /** The line that came first. */
  readonly first: AuditPlace;
  /** The line that should perhaps not be there. */
  readonly again: AuditPlace;
  /** What probably led to it. */
  readonly cause: AuditCause;
  /** The cause in words, and what to do. */
  readonly explanation: string;
}

/** How many there were of what. */
export interface AuditSummary {
  /** Triggers, those that occur again too. */
  readonly triggers: number;
  /** Lines that are no triggers. */
  readonly other_lines: number;
  /** Triggers whose id had occurred before. */
  readonly repeated_ids: number;
  /** Triggers that are too close to an earlier one. */
  readonly close_pairs: number;
  /** Findings by their cause. */
  readonly causes: { readonly [cause in AuditCause]?: number };
}
