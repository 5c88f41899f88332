/**
 * The metrics of endpoints that triggers are sent to. Their names are the configuration's, so they are few.
 *
 * @module
 */
import type { WebhookReport } from "../../webhook_endpoint.ts";
import type { MetricSet } from "./metric_set.ts";

const LABELS = ["endpoint"];

/** Registers them. */
export function registerEndpointMetrics(set: MetricSet, endpoints: () => readonly WebhookReport[]): void {
  set.counter({
    name: "fencepost_sink_attempts_total",
    help: "Attempts to send triggers to an endpoint, by outcome",
    labels: ["endpoint", "outcome"],
  }, (tell) => {
    for (const { name: endpoint, attempts } of endpoints()) {
      for (const [outcome, count] of Object.entries(attempts)) tell(count, { endpoint, outcome });
    }
  });
  set.counter({
    name: "fencepost_sink_given_up_total",
    help:
      "Triggers that an endpoint did not take in time, or never will: dead letters with the reason SINK_REJECTED",
    labels: LABELS,
  }, (tell) => {
    for (const { name: endpoint, rejected } of endpoints()) tell(rejected, { endpoint });
  });
  const gauge = (name: string, help: string, of: (endpoint: WebhookReport) => number): void =>
    set.gauge({ name: `fencepost_sink_${name}`, help, labels: LABELS }, (tell) => {
      for (const endpoint of endpoints()) tell(of(endpoint), { endpoint: endpoint.name });
    });
  gauge("pending_triggers", "Triggers that are to be sent to an endpoint", ({ pending }) => pending);
  gauge(
    "oldest_pending_seconds",
    "How long the oldest of them has waited; 0 for none",
    ({ oldestPendingUs }) => (oldestPendingUs ?? 0) / 1e6,
  );
  gauge(
    "disabled",
    "1 while nothing is sent until somebody enables it",
    ({ disabled }) => Number(disabled),
  );
}
