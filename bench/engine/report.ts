/**
 * What was measured: tables for people as they come, JSON for comparing, and what the page is made of.
 *
 * ```
 *   section "window, flat out"                          begin()
 *     note                                              note()
 *     name           median  least–most  unit  target   add() without a column: a line at once
 *     ┌───────────┬─ admit µs ─┬─ p99 µs ─┐
 *     │ Map       │  1.20 ±4%  │   …      │             add() with one: a cell; the table comes with the next begin() or end()
 *     │ ours      │  0.21 ±9%  │   …      │
 *     └───────────┴────────────┴──────────┘
 *     beats ours: …                                     said by the report itself, so that nobody forgets to
 * ```
 *
 * A number from one round of a shared machine says little: each has the median of its rounds, and the least and the most
 * of them.
 *
 * @module
 */
import { median, shorten } from "./numbers.ts";
import { tableLines } from "./report_table.ts";
import { isMet, type Measurement, type Section, type SectionChart } from "./section.ts";

/** Gathers measurements and shows each as it comes. */
export class Report {
  readonly sections: Section[] = [];
  readonly #write: (text: string) => void;
  #toldTable = true;

  /** @param write shows text to people */
  constructor(write: (text: string) => void) {
    this.#write = write;
    this.#write(lineOf(["", "median", "least–most", "unit", "target"]));
  }

  /** Everything measured so far. */
  get measurements(): Measurement[] {
    return this.sections.flatMap((section) => section.measurements);
  }

  /** Begins a section. */
  begin(title: string, chart: SectionChart = "bars"): void {
    this.end();
    this.sections.push({ title, chart, notes: [], measurements: [] });
    this.#write(`\n${title}\n`);
  }

  /** Tells people something that is no number. */
  note(line: string): void {
    this.#section().notes.push(line.trim());
    this.#write(`  ${line.trim()}\n`);
  }

  /** Takes a measurement. */
  add(measurement: Measurement): void {
    this.#section().measurements.push(measurement);
    if (measurement.column !== undefined) {
      this.#toldTable = false;
      return;
    }
    const { name, unit, rounds, target } = measurement;
    const spread = rounds.length === 1
      ? ""
      : `${shorten(Math.min(...rounds))}–${shorten(Math.max(...rounds))}`;
    const verdict = target === undefined
      ? ""
      : isMet(measurement)
      ? `at most ${target}: yes`
      : `at most ${target}: NO`;
    this.#write(lineOf([`  ${name}`, shorten(median(rounds)), spread, unit, verdict]));
  }

  /** Ends the section: its table is complete. */
  end(): void {
    if (this.#toldTable) return;
    this.#toldTable = true;
    for (const line of tableLines(this.#section())) this.#write(`  ${line}\n`);
  }

  /** All of it. */
  toJson(machine: Readonly<Record<string, string | number>>): string {
    const measurements = this.measurements.map((measurement) => ({
      ...measurement,
      median: median(measurement.rounds),
    }));
    return JSON.stringify({ machine, measurements }, null, 2) + "\n";
  }

  #section(): Section {
    const last = this.sections.at(-1);
    if (last !== undefined) return last;
    const first: Section = { title: "", chart: "bars", notes: [], measurements: [] };
    this.sections.push(first);
    return first;
  }
}

const WIDTHS = [52, 12, 16, 10, 20] as const;

function lineOf(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => {
    const width = WIDTHS[i] as number;
    return i === 1 || i === 2 ? cell.padStart(width) : cell.padEnd(width);
  });
  return padded.join(" ").trimEnd() + "\n";
}
