/**
 * A split as it is looked at from outside: its report, and whether this process has it now.
 *
 * @module
 */
import type { SplitReport } from "./split_actor.ts";

/** See the module's header. */
export interface SplitView {
  /** With all that this process has ever done for it: what adds up in it never goes back. */
  readonly report: SplitReport;
  /** Whether it is this process's now, though it may not be open; what is not is known by its counts only. */
  readonly isHere: boolean;
}
