/**
 * What was measured, as a table for people and as JSON for comparing.
 *
 * A number from one round of a shared machine says little: each row has the median of its rounds, and the least and the
 * most of them.
 *
 * @module
 */

/** One thing that was measured. */
export interface Measurement {
  readonly part: string;
  readonly name: string;
  readonly unit: string;
  /** One number a round. */
  readonly rounds: readonly number[];
  /** What it must not exceed; not given for a reference. */
  readonly target?: number;
}

/** Gathers measurements and shows each as it comes. */
export class Report {
  readonly measurements: Measurement[] = [];
  readonly #write: (text: string) => void;

  /** @param write shows text to people */
  constructor(write: (text: string) => void) {
    this.#write = write;
    this.#write(tableRow(["", "median", "least–most", "unit", "target"]));
  }

  /** Begins a part. */
  begin(title: string): void {
    this.#write(`\n${title}\n`);
  }

  /** Tells people something that is no number. */
  note(line: string): void {
    this.#write(`  ${line.trim()}\n`);
  }

  /** Takes a measurement. */
  add(measurement: Measurement): void {
    this.measurements.push(measurement);
    const { name, unit, rounds, target } = measurement;
    const middle = median(rounds);
    const spread = rounds.length === 1
      ? ""
      : `${shorten(Math.min(...rounds))}–${shorten(Math.max(...rounds))}`;
    const verdict = target === undefined
      ? ""
      : middle <= target
      ? `at most ${target}: yes`
      : `at most ${target}: NO`;
    this.#write(tableRow([`  ${name}`, shorten(middle), spread, unit, verdict]));
  }

  /** All of it. */
  toJson(machine: Readonly<Record<string, string | number>>): string {
    const measurements = this.measurements.map((measurement) => ({
      ...measurement,
      median: median(measurement.rounds),
    }));
    return JSON.stringify({ machine, measurements }, null, 2) + "\n";
  }
}

/** The one in the middle, or the mean of the two that are; NaN of none. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

const WIDTHS = [52, 12, 16, 10, 20] as const;

function tableRow(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => {
    const width = WIDTHS[i] as number;
    return i === 1 || i === 2 ? cell.padStart(width) : cell.padEnd(width);
  });
  return padded.join(" ").trimEnd() + "\n";
}

function shorten(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
