/**
 * A section's cells as a table of text: rows are contenders, columns what was measured of them.
 *
 * @module
 */
import { shorten } from "./numbers.ts";
import { cellsThatBeatOurs, cellText, isMet, type Measurement, type Section } from "./section.ts";

/** A section's cells, by row and column, each in the order in which they first came. */
export interface Table {
  readonly columns: readonly { readonly column: string; readonly unit: string }[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly (Measurement | undefined)[] }[];
}

/** The cells of a section as a table. */
export function tableOf(section: Section): Table {
  const cells = section.measurements.filter((cell) => cell.column !== undefined);
  const headOf = (cell: Measurement): string => JSON.stringify([cell.column, cell.unit]);
  const byHead = new Map(cells.toReversed().map((cell) => [headOf(cell), cell]));
  const heads = [...new Set(cells.map(headOf))];
  const names = [...new Set(cells.map((cell) => cell.name))];
  return {
    columns: heads.map((head) => {
      const { column = "", unit } = byHead.get(head) as Measurement;
      return { column, unit };
    }),
    rows: names.map((name) => ({
      name,
      cells: heads.map((head) => cells.find((cell) => cell.name === name && headOf(cell) === head)),
    })),
  };
}

/** What a section's table says, in sentences: what beats ours, and which target was missed. */
export function remarks(section: Section): string[] {
  const beaten = cellsThatBeatOurs(section).map(({ cell, ours }) =>
    `beats ours: ${cell.name}, ${cell.column}: ${cellText(cell)} against ${cellText(ours)} ${cell.unit}`
  );
  const missed = section.measurements.filter((cell) => cell.column !== undefined && !isMet(cell)).map((
    cell,
  ) => `target missed: ${cell.name}, ${cell.column}: ${cellText(cell)}, at most ${cell.target} ${cell.unit}`);
  return [...beaten, ...missed];
}

/** The table and its remarks as lines of text. The field's figures are in brackets. */
export function tableLines(section: Section): string[] {
  const { columns, rows } = tableOf(section);
  const texts = [
    ["", ...columns.map(({ column }) => column)],
    ["", ...columns.map(({ unit }) => unit)],
    ...rows.map(({ name, cells }) => [name, ...cells.map(withReference)]),
  ];
  const widths = texts[0]?.map((_, i) => Math.max(...texts.map((row) => (row[i] as string).length))) ?? [];
  const lines = texts.map((row) =>
    row.map((text, i) => {
      const width = widths[i] as number;
      return i === 0 ? text.padEnd(width) : text.padStart(width);
    }).join("  ").trimEnd()
  );
  return [...lines, ...remarks(section)];
}

function withReference(cell: Measurement | undefined): string {
  if (cell === undefined) return "–";
  return cell.reference === undefined ? cellText(cell) : `${cellText(cell)} (${shorten(cell.reference)})`;
}
