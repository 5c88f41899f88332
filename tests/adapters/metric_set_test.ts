/**
 * Metrics that are read when somebody asks: both formats, labels that need escaping, values that are none; the event loop.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { MetricSet } from "../../actors/adapters/metrics/metric_set.ts";
import { EventLoopLag } from "../../actors/adapters/metrics/process_metrics.ts";
import { registerEndpointMetrics } from "../../actors/adapters/metrics/endpoint_metrics.ts";
import { registerRequestMetrics } from "../../actors/adapters/metrics/http_metrics.ts";
import { Histogram } from "../../lib/histogram.ts";
import { Scrape } from "../support/metrics_text.ts";

Deno.test("MetricSet: values are those of the scrape, in both formats", async () => {
  const set = new MetricSet();
  let count = 1;
  let rows: readonly (readonly [string, number])[] = [["a", 1], ["b", 2]];
  set.counter({ name: "x_things_total", help: "Things" }, (tell) => tell(count));
  set.gauge({ name: "x_rows", help: "Rows", labels: ["row"] }, (tell) => {
    for (const [row, value] of rows) tell(value, { row });
  });
  const scrape = async (): Promise<Scrape> => new Scrape((await set.text(null)).text);
  const before = await scrape();
  deepEqual([before.value("x_things_total"), before.value("x_rows", { row: "b" })], [1, 2]);
  count = 7;
  rows = [["b", NaN], ["c", -Infinity], ['q"\n\\', 3]];
  const after = await scrape();
  equal(after.value("x_things_total"), 7);
  deepEqual([...after.samples].filter(([series]) => series.startsWith("x_rows")), [[
    'x_rows{row="q\\"\\n\\\\"}',
    3,
  ]]);
  const open = await set.text("application/openmetrics-text; version=1.0.0");
  match(open.text, /# TYPE x_things counter\nx_things_total 7\n/);
  equal((await set.text("text/html, */*")).contentType, "text/plain; version=0.0.4; charset=utf-8");
});

Deno.test("MetricSet: a histogram's buckets hold all below them; none where nothing was counted", async () => {
  const set = new MetricSet();
  const histogram = new Histogram([0.5, 1]);
  let isThere = false;
  set.histogram({ name: "x_seconds", help: "Time" }, () => isThere ? histogram : null);
  equal(new Scrape((await set.text(null)).text).samples.size, 0);
  isThere = true;
  for (const value of [0.1, 0.7, 0.8, 9]) histogram.observe(value);
  const { samples } = new Scrape((await set.text(null)).text);
  deepEqual([...samples], [
    ['x_seconds_bucket{le="0.5"}', 1],
    ['x_seconds_bucket{le="1"}', 3],
    ['x_seconds_bucket{le="+Inf"}', 4],
    ["x_seconds_sum", 10.6],
    ["x_seconds_count", 4],
  ]);
});

Deno.test("request metrics: what a client chooses is in no label", async () => {
  const set = new MetricSet();
  const answered = registerRequestMetrics(set);
  const request = (method: string): Request => new Request("http://127.0.0.1/truck-7", { method });
  const status = (of: number): Response => new Response(null, { status: of });
  answered("/v1/devices/:device", request("GET"), status(200), performance.now());
  answered(null, request("BREW"), status(404), performance.now());
  answered(null, request("SHAKE"), status(405), performance.now());
  const scrape = new Scrape((await set.text(null)).text);
  const value = scrape.value.bind(scrape);
  equal(
    value("fencepost_http_requests_total", { route: "/v1/devices/:device", method: "GET", status: "2xx" }),
    1,
  );
  equal(value("fencepost_http_requests_total", { route: "none", method: "other", status: "4xx" }), 2);
  equal(value("fencepost_http_request_duration_seconds_count", { route: "none" }), 2);
  ok(![...scrape.samples.keys()].some((series) => /truck|BREW|SHAKE/.test(series)));
});

Deno.test("endpoint metrics: by endpoint and outcome", async () => {
  const set = new MetricSet();
  const attempts = { delivered: 0, refused: 0, gone: 0, timed_out: 0, unreachable: 0, refused_address: 0 };
  const rest = { retrying: 0, rejected: 0, down: false };
  registerEndpointMetrics(set, () => [
    {
      ...rest,
      name: "crm",
      attempts: { ...attempts, delivered: 3, refused: 1 },
      pending: 2,
      oldestPendingUs: 1_500_000,
      disabled: false,
    },
    {
      ...rest,
      name: "old",
      attempts: { ...attempts, gone: 1 },
      pending: 0,
      oldestPendingUs: null,
      disabled: true,
      rejected: 7,
    },
  ]);
  const scrape = new Scrape((await set.text(null)).text);
  equal(scrape.value("fencepost_sink_attempts_total", { endpoint: "crm", outcome: "delivered" }), 3);
  deepEqual(["crm", "old"].map((endpoint) => scrape.value("fencepost_sink_given_up_total", { endpoint })), [
    0,
    7,
  ]);
  equal(scrape.value("fencepost_sink_pending_triggers", { endpoint: "crm" }), 2);
  equal(scrape.value("fencepost_sink_oldest_pending_seconds", { endpoint: "crm" }), 1.5);
  deepEqual(["crm", "old"].map((endpoint) => scrape.value("fencepost_sink_disabled", { endpoint })), [0, 1]);
});

Deno.test("EventLoopLag: sees a turn that was too long", async () => {
  const lag = new EventLoopLag();
  try {
    const untilMs = performance.now() + 300;
    while (performance.now() < untilMs);
    while (lag.histogram.sum === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    // The timer was due 100 ms after the start, and nothing could run before 300.
    ok(lag.histogram.sum >= 0.19, `${lag.histogram.sum}`);
  } finally {
    lag.stop();
  }
});
