/**
 * What a run works on: one file or pipe, or the partitions of a topic that a group hands out.
 *
 * @module
 */
import type { Opened, SplitParts, SplitReport } from "../split_actor.ts";
import { counted } from "./counted.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";

/** What is the same for every split of a process. */
export type CommonParts = Pick<SplitParts, "config" | "clock" | "ticker" | "identity" | "rules" | "notice">;

/** The work of a process. */
export interface Job {
  /** Resolves when the input has ended, or all that was taken is done after {@link stop}. */
  run(): Promise<void>;
  /** Takes nothing more. */
  stop(): void;
  /** How it is doing; null before anything has opened. */
  report(): SplitReport | null;
  /** How each webhook is doing; none before they are open. */
  webhooks(): readonly WebhookReport[];
}

/** What a split has gone on with, for the line that says that it did. */
export function describeState(report: SplitReport, { readBack }: Opened): string {
  const known = [
    `${counted(report.read, "record")} read`,
    counted(report.pairs, "pair"),
    counted(report.pendingDwells, "pending dwell"),
    `${counted(report.windowIds, "id")} in the window`,
  ];
  if (readBack > 0) known.push(`${counted(readBack, "line")} read back from the outputs`);
  return known.join(", ");
}

/** The line that says that a state of this host is gone on with; null where there was none. */
export function goingOn(directory: string, opened: Opened, report: SplitReport): string | null {
  if (!opened.resumed) return null;
  return `Going on from the state in ${directory} (${describeState(report, opened)}). ` +
    "To begin afresh, use another --state directory or delete this one";
}
