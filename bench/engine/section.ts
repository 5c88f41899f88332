/**
 * One section of the report: what was measured below one heading, and what follows from it: whether a target was met,
 * and which contender is better than ours.
 *
 * @module
 */
import { median, shorten, spreadPercent } from "./numbers.ts";

/** The row that the others are compared with. */
export const OURS = "ours";

/** One thing that was measured. */
export interface Measurement {
  readonly part: string;
  /** What it is of; in a table its row: a contender, {@link OURS} among them, or a setting. */
  readonly name: string;
  /** In a table: what of it was measured. With the unit it is the column's head. */
  readonly column?: string;
  readonly unit: string;
  /** One number a round. */
  readonly rounds: readonly number[];
  /** What it must not exceed; not given for a reference. */
  readonly target?: number;
  /** The field's figure for the same. */
  readonly reference?: number;
  /** Which is better; `neither` where that can't be said. Default: `less`. */
  readonly better?: "less" | "more" | "neither";
}

/** What belongs together: a heading and what was said and measured below it. */
export interface Section {
  readonly title: string;
  readonly chart: SectionChart;
  readonly notes: string[];
  readonly measurements: Measurement[];
}

/** How the page draws a table: bars by column, or a line for each row over the columns (which are steps of one unit). */
export type SectionChart = "bars" | "lines";

/** Whether a target is met: by the median, which may reach it. What was not measured has not met it. */
export function isMet({ rounds, target }: Measurement): boolean {
  return target === undefined || median(rounds) <= target;
}

/** The cells of a section's table that are better than ours in the same column, and ours. */
export function cellsThatBeatOurs(section: Section): { cell: Measurement; ours: Measurement }[] {
  const cells = section.measurements.filter((cell) => cell.column !== undefined);
  return cells.flatMap((cell) => {
    const ours = cells.find((other) =>
      other.name === OURS && other.column === cell.column && other.unit === cell.unit
    );
    const better = cell.better ?? "less";
    if (ours === undefined || better === "neither") return [];
    const ahead = median(ours.rounds) - median(cell.rounds);
    return (better === "less" ? ahead : -ahead) > 0 ? [{ cell, ours }] : [];
  });
}

/** A median with how far its rounds lie apart: `0.21 ±9%`. */
export function cellText({ rounds }: Measurement): string {
  const percent = spreadPercent(rounds);
  return percent === 0 ? shorten(median(rounds)) : `${shorten(median(rounds))} ±${percent}%`;
}
