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
  /** Whether the watermark follows the wall clock. */
  readonly following: boolean;
  readonly pending: PendingCounts;
  readonly windowBytes: number;
  /** Of the last checkpoint; `ageUs` is how long a change has waited to be durable, 0 where there is none. */
  readonly checkpoint: { readonly ageUs: number; readonly tookUs: number; readonly byteLength: number };
}
