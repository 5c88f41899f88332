/**
 * A split as somebody sees it who looks at the process.
 *
 * @module
 */
import type { SplitReport } from "./split_actor.ts";
import type { SplitLook } from "./split_look.ts";

/** What is in a split, under its name and with its report. */
export interface NamedLook extends SplitLook {
  readonly name: string;
  readonly report: SplitReport;
}
