/**
 * Metrics that are read where they are counted, when somebody asks: prom-client's, set as they are collected.
 *
 * Whoever counts keeps its plain numbers, which a report shows to others as well; a metric is told its value at the
 * scrape. What is measured here itself (requests, the event loop) is a metric of prom-client's own.
 *
 * Two registries have the same metrics, since in prom-client one knows one format: Prometheus's text, and OpenMetrics for
 * whoever asks for it.
 *
 * prom-client's default metrics are not used: under Deno its event-loop lag is 0 whatever happens, and it has no garbage
 * collections to count.
 *
 * @module
 */
import { Counter, Gauge, type OpenMetricsContentType, Registry } from "prom-client";
import type { HistogramCounts } from "../../../lib/histogram.ts";

/** Values of labels, by name. */
export type Labels = Readonly<Record<string, string | number>>;

/** Tells a metric a value. */
export type Tell = (value: number, labels?: Labels) => void;

/** A metric's name and what it means. */
export interface Named {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

const PLAIN = "text/plain; version=0.0.4; charset=utf-8";

/** See the module's header. */
export class MetricSet {
  readonly #plain = new Registry();
  readonly #open = new Registry<OpenMetricsContentType>();

  constructor() {
    this.#open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  }

  /** The registries, for a metric of prom-client's own. */
  get registers(): Registry[] {
    return [this.#plain, this.#open as unknown as Registry];
  }

  /** A value that goes up and down. One that is not finite is not shown. */
  gauge({ name, help, labels = [] }: Named, read: (tell: Tell) => void): void {
    const gauge = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: this.registers,
      collect: () => {
        gauge.reset();
        read((value, of = {}) => {
          if (Number.isFinite(value)) gauge.set({ ...of }, value);
        });
      },
    });
  }

  /** A count that only goes up. */
  counter({ name, help, labels = [] }: Named, read: (tell: Tell) => void): void {
    const counter = new Counter({
      name,
      help,
      labelNames: labels,
      registers: this.registers,
      collect: () => {
        counter.reset();
        read((value, of = {}) => counter.inc({ ...of }, value));
      },
    });
  }

  /** What a histogram of ours has counted; nothing where there is none. */
  histogram({ name, help }: Named, read: () => HistogramCounts | null): void {
    const metric = {
      name,
      help,
      type: "histogram",
      aggregator: "sum",
      get: () => {
        const counted = read();
        return Promise.resolve({
          name,
          help,
          type: "histogram",
          values: counted === null ? [] : rows(name, counted),
        });
      },
      reset: () => {},
    };
    for (const registry of this.registers) {
      registry.registerMetric(metric as unknown as Gauge);
    }
  }

  /**
   * All of them as text.
   *
   * @param accept the header of whoever asks
   */
  async text(accept: string | null): Promise<{ readonly text: string; readonly contentType: string }> {
    if (accept?.includes("application/openmetrics-text") === true) {
      return { text: await this.#open.metrics(), contentType: Registry.OPENMETRICS_CONTENT_TYPE };
    }
    return { text: await this.#plain.metrics(), contentType: PLAIN };
  }
}

/** A histogram's lines, as prom-client wants them: each bucket with all below it. */
function rows(
  name: string,
  { bounds, counts, sum }: HistogramCounts,
): { readonly metricName: string; readonly labels: Labels; readonly value: number }[] {
  let below = 0;
  const buckets = counts.map((count, i) => {
    below += count;
    return { metricName: `${name}_bucket`, labels: { le: bounds[i] ?? "+Inf" }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, value: sum },
    { metricName: `${name}_count`, labels: {}, value: below },
  ];
}
