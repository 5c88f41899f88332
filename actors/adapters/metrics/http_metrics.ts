/**
 * The metrics of the service: requests, connections, and what the intake has room for.
 *
 * A request's label is its route's pattern and never its path, which is the client's to choose.
 *
 * @module
 */
import { Counter, Histogram } from "prom-client";
import type { Intake } from "../../intake.ts";
import type { Gate } from "../http/gate.ts";
import type { RequestBodies } from "../http/request_body.ts";
import type { MetricSet } from "./metric_set.ts";

const DURATIONS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** What has no route. */
const NO_ROUTE = "none";

/** Told of a request that was answered: its route's pattern, null for none, and when it came. */
export type Answered = (
  route: string | null,
  request: Request,
  response: Response,
  startedMs: number,
) => void;

/** Registers the metrics of requests; the returned function is told of each. */
export function registerRequestMetrics(set: MetricSet): Answered {
  const { registers } = set;
  const requests = new Counter({
    name: "fencepost_http_requests_total",
    help: "Requests answered, by route and class of status",
    labelNames: ["route", "method", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "fencepost_http_request_duration_seconds",
    help: "From a request's head until the head of its answer, by route",
    labelNames: ["route"],
    buckets: DURATIONS_S,
    registers,
  });
  return (route, { method }, { status }, startedMs) => {
    const of = route ?? NO_ROUTE;
    // A method is the client's to choose, too.
    const known = method === "GET" || method === "HEAD" || method === "POST" ? method : "other";
    requests.inc({ route: of, method: known, status: `${Math.floor(status / 100)}xx` });
    durations.observe({ route: of }, (performance.now() - startedMs) / 1000);
  };
}

/** Registers the gate's; the gate comes later than the routes. */
export function registerGateMetrics(set: MetricSet, gate: () => Gate | null): void {
  set.gauge(
    { name: "fencepost_http_connections", help: "Connections that are open" },
    (tell) => tell(gate()?.connections ?? 0),
  );
  set.counter({
    name: "fencepost_http_connections_ended_total",
    help: "Connections that were refused since there were too many, or cut since they were too slow",
    labels: ["cause"],
  }, (tell) => {
    for (const cause of ["refused", "cut"] as const) tell(gate()?.counts[cause] ?? 0, { cause });
  });
}

/** Registers the intake's. */
export function registerIntakeMetrics(set: MetricSet, intake: Intake, bodies: RequestBodies): void {
  set.counter({
    name: "fencepost_shed_records_total",
    help:
      "Records that were refused before anything of them was taken: full; closed while starting and stopping; unread, where a request or a connection counts as one",
    labels: ["cause"],
  }, (tell) => {
    for (const [cause, count] of Object.entries(intake.shed)) tell(count, { cause });
  });
  set.gauge({
    name: "fencepost_admission_limit_records",
    help:
      "Records that may be in flight, taken and not durable: as many as become durable within http.target",
  }, (tell) => tell(intake.admission.limit));
  set.gauge(
    { name: "fencepost_admission_in_flight_records", help: "Records that are" },
    (tell) => tell(intake.admission.inFlight),
  );
  set.gauge(
    { name: "fencepost_http_bodies_bytes", help: "Bytes of the bodies that are being received" },
    (tell) => tell(bodies.byteLength),
  );
}
