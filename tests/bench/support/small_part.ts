/**
 * A part of the bench in the small: they run rarely, and would rot.
 *
 * @module
 */
import { parseBenchArguments } from "../../../bench/bench.ts";
import type { Part } from "../../../bench/engine/part.ts";
import { median } from "../../../bench/engine/numbers.ts";
import { Report } from "../../../bench/engine/report.ts";
import { tableOf } from "../../../bench/engine/report_table.ts";

/** What a part has measured. */
export interface SmallPart {
  readonly report: Report;
  /** The heads of each section's table, `column unit`. */
  readonly heads: readonly (readonly string[])[];
  /** The rows of each section's table that have all of its cells, each a number. */
  readonly fullRows: readonly (readonly string[])[];
  /** The median of a cell, in whichever section it is. */
  median(name: string, column: string): number;
}

/** Runs a part with a scale of a few thousand, or other flags of the command line. */
export async function runSmallPart(part: Part, flags: readonly string[]): Promise<SmallPart> {
  const report = new Report(() => {});
  const directory = await Deno.makeTempDir({ prefix: "fencepost-bench-test-" });
  try {
    const { scale } = parseBenchArguments(flags);
    await part({ scale: { ...scale, churnSeconds: 0.2, windowSeconds: 0.2 }, report, directory });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  const tables = report.sections.map(tableOf);
  return {
    report,
    heads: tables.map(({ columns }) => columns.map(({ column, unit }) => `${column} ${unit}`)),
    fullRows: tables.map(({ rows }) =>
      rows.filter(({ cells }) => cells.every((cell) => cell !== undefined && isNumber(cell.rounds)))
        .map(({ name }) => name)
    ),
    median(name, column): number {
      const cell = report.measurements.find((other) => other.name === name && other.column === column);
      return median(cell?.rounds ?? []);
    },
  };
}

function isNumber(rounds: readonly number[]): boolean {
  return rounds.length > 0 && rounds.every(Number.isFinite);
}
