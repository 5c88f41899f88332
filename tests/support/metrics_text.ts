/**
 * Prometheus's text, read back.
 *
 * @module
 */
import { ok } from "node:assert/strict";

/** What a scrape gave. */
export class Scrape {
  /** By the name with its labels, as they stand there. */
  readonly samples: ReadonlyMap<string, number>;
  /** Of each metric its type. */
  readonly types: ReadonlyMap<string, string>;

  constructor(text: string) {
    const samples = new Map<string, number>();
    const types = new Map<string, string>();
    for (const line of text.split("\n")) {
      const type = /^# TYPE (\S+) (\S+)$/.exec(line);
      if (type !== null) types.set(type[1] as string, type[2] as string);
      if (line === "" || line.startsWith("#")) continue;
      const found = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line);
      ok(found !== null, line);
      const [, series, value] = found as unknown as [string, string, string];
      ok(!samples.has(series), `${series} is there twice`);
      samples.set(series, Number(value));
    }
    this.samples = samples;
    this.types = types;
  }

  /** The value of a metric whose labels have these among them; NaN where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    for (const [series, value] of this.samples) {
      const [of] = series.split("{", 1);
      if (of === name && wanted.every((pair) => series.includes(pair))) return value;
    }
    return NaN;
  }

  /** All names that a query may use. */
  names(): Set<string> {
    const names = new Set<string>();
    for (const [name, type] of this.types) {
      names.add(name);
      if (type === "histogram") {
        for (const part of ["bucket", "sum", "count"]) names.add(`${name}_${part}`);
      }
    }
    return names;
  }

  /** Whether a series adds up, and so may never go back. */
  isCount(series: string): boolean {
    const [name] = series.split("{", 1) as [string];
    return this.types.get(name) === "counter" ||
      this.types.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram";
  }

  /** Fails where something that adds up is gone, or less than it was before. */
  mustFollow(before: Scrape): void {
    for (const [series, value] of before.samples) {
      if (!before.isCount(series)) continue;
      const now = this.samples.get(series);
      ok(now !== undefined && now >= value, `${series} was ${value} and is ${now}`);
    }
  }
}
