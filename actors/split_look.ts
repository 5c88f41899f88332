/**
 * What somebody who looks at a split sees besides its report: what is in its mailboxes and in its wheels now.
 *
 * @module
 */
import type { PendingCounts } from "../lib/pending_counts.ts";

/** A split that is open. */
export interface SplitLook {
  /** Records in each partition's mailbox. */
  readonly mailboxes: readonly number[];
  readonly mailboxCapacity: number;
  readonly pending: PendingCounts;
}
