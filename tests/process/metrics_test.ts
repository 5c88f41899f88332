/**
 * The metrics of a real process: what a scraper gets, who may have it, and that alerts and dashboard ask for nothing else.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { alertRules } from "../../actors/commands/alert_rules.ts";
import { ROWS } from "../../actors/commands/dashboard_panels.ts";
import { RECORDINGS } from "../../actors/commands/ratio_alerts.ts";
import { parseConfig } from "../../lib/config.ts";
import { VERSION } from "../../lib/version.ts";
import { inDirectory, runFencepost, RunFiles, startFencepost, until } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { Scrape } from "../support/metrics_text.ts";
import { promtool, promtoolTest } from "../support/promtool.ts";

const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];
const OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
const TOKEN = "0123456789abcdef-reader";

function line(kind: string, device: string, seconds = 0): string {
  return JSON.stringify({
    device_id: device,
    fence_id: "depot",
    kind,
    event_time_ms: Date.now() + seconds * 1000,
  });
}

async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  equal(response.status, 200);
  return new Scrape(await response.text());
}

Deno.test("metrics: what was sent is counted, and no label is a client's to choose", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const { url } = service;
    const enter = line("ENTER", "truck-1", -60);
    await service.send([
      enter,
      enter,
      "poison",
      line("EXIT", "truck-1", -30),
      line("HEARTBEAT", "x"),
      line("STALE", "truck-2"),
    ]);
    for (
      const [path, method] of [["/nope/truck-1", "GET"], ["/v1/transitions", "PUT"], [
        "/v1/transitions?truck-1",
        "BREW",
      ]]
    ) {
      const response = await fetch(`${url}${path}`, { method: method as string });
      await response.body?.cancel();
    }
    const found = await scrape(url);
    const value = (name: string, labels: Record<string, string> = {}): number =>
      found.value(`fencepost_${name}`, labels);
    equal(value("records_read_total", { source: "http", partition: "0" }), 6);
    deepEqual(
      ["emitted", "suppressed", "silent", "absorbed", "refused_late"].map((outcome) =>
        value("transitions_total", { outcome })
      ),
      [2, 1, 1, 0, 0],
    );
    deepEqual(["ENTER", "EXIT", "DWELL"].map((kind) => value("triggers_total", { kind })), [1, 1, 0]);
    equal(value("dead_letters_total", { reason: "MALFORMED_JSON" }), 1);
    equal(value("heartbeats_total"), 1);
    equal(value("split_open"), 1);
    equal(value("pairs"), 2);
    ok(value("window_ids") >= 2 && value("window_ids") === value("window_ids_added_total"));
    ok(value("checkpoints_total") >= 2 && value("checkpoint_written_bytes_total") > 100);
    ok(value("checkpoint_age_seconds") < 5);
    ok(
      value("watermark_lag_seconds") > 4 && value("watermark_lag_seconds") < 60,
      `${value("watermark_lag_seconds")}`,
    );
    equal(value("http_requests_total", { route: "/v1/transitions", method: "POST", status: "2xx" }), 1);
    equal(value("http_requests_total", { route: "none", method: "GET", status: "4xx" }), 1);
    equal(value("http_requests_total", { route: "/v1/transitions", method: "other", status: "4xx" }), 2);
    equal(value("http_request_duration_seconds_count", { route: "/v1/transitions" }), 3);
    ok(value("http_connections") >= 1);
    equal(value("shed_records_total", { cause: "full" }), 0);
    ok(value("admission_limit_records") >= 1024);
    deepEqual([value("admission_in_flight_records"), value("http_bodies_bytes")], [0, 0]);
    equal(value("build_info", { version: VERSION }), 1);
    ok(value("heap_used_bytes") > 1e6 && value("heap_limit_bytes") > value("heap_used_bytes"));
    ok(Math.abs(found.value("process_start_time_seconds") - Date.now() / 1000) < 600);
    ok(found.value("process_cpu_seconds_total") > 0 && found.value("process_resident_memory_bytes") > 1e6);
    equal(value("config_window_ttl_seconds"), 300);
    for (const series of found.samples.keys()) ok(!/truck|depot|BREW|nope/.test(series), series);
    await until(
      async () => (await scrape(url)).value("fencepost_event_loop_lag_seconds_count") > 0,
      "a look at the event loop",
    );
    (await scrape(url)).mustFollow(found);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("metrics: OpenMetrics for whoever asks for it, and HEAD", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const plain = await fetch(`${service.url}/metrics`);
    equal(plain.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    ok(!(await plain.text()).includes("# EOF"));
    const open = await fetch(`${service.url}/metrics`, { headers: { accept: OPENMETRICS } });
    equal(open.headers.get("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    const text = await open.text();
    match(text, /# TYPE fencepost_records_read counter\nfencepost_records_read_total\{/);
    match(text, /\n# EOF\n$/);
    const head = await fetch(`${service.url}/metrics`, { method: "HEAD" });
    deepEqual([head.status, await head.text()], [200, ""]);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("metrics: with tokens for readers, unless http.metrics_open", async () => {
  await inDirectory(async (directory) => {
    const config = join(directory, "config.json");
    const statuses = async (metricsOpen: boolean): Promise<number[]> => {
      const tokens = [
        { name: "prometheus", scopes: ["read"], env: "READER" },
        { name: "gateway", scopes: ["ingest"], env: "SENDER" },
      ];
      await Deno.writeTextFile(config, JSON.stringify({ http: { tokens, metrics_open: metricsOpen } }));
      const environment = { READER: TOKEN, SENDER: "0123456789abcdef-sender" };
      const service = await RunningService.start(
        ["--config", config, "--state", join(directory, `state-${metricsOpen}`)],
        environment,
      );
      const ask = async (path: string, token: string | null, method = "GET"): Promise<number> => {
        const headers = token === null ? undefined : { authorization: `Bearer ${token}` };
        const response = await fetch(`${service.url}${path}`, {
          method,
          ...(headers === undefined ? {} : { headers }),
        });
        const text = await response.text();
        ok(response.status === 200 || !text.includes("fencepost_"));
        return response.status;
      };
      const all = [
        await ask("/metrics", null),
        await ask("/metrics", TOKEN),
        await ask("/metrics", environment.SENDER),
        await ask("/metrics", "wrong-0123456789abcdef"),
        await ask("/v1/transitions", null, "POST"),
      ];
      equal((await service.stop()).status, 0);
      return all;
    };
    deepEqual(await statuses(false), [401, 200, 403, 401, 401]);
    deepEqual(await statuses(true), [200, 200, 200, 200, 401]);
  });
});

Deno.test("metrics: a DWELL is pending, fires, and how late it left is measured", async () => {
  await inDirectory(async (directory) => {
    const config = join(directory, "config.json");
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        identity: { bucket: "400ms", guard: "50ms" },
        dwell: { rules: [{ fence: "*", after: ["1s"] }], lateness: "100ms", tick: "50ms" },
        time: { settle: "0s" },
      }),
    );
    const service = await RunningService.start(["--config", config, "--state", join(directory, "state")]);
    const { url } = service;
    await service.send([line("ENTER", "a")]);
    const sees = (name: string, value: number, labels = {}): Promise<void> =>
      until(
        async () => (await scrape(url)).value(`fencepost_${name}`, labels) === value,
        `${name} to be ${value}`,
      );
    await sees("watermark_following", 1);
    await sees("triggers_total", 1, { kind: "DWELL" });
    const found = await scrape(url);
    equal(found.value("fencepost_pending_dwells"), 0);
    equal(found.value("fencepost_fire_lag_seconds_count"), 1);
    const lagS = found.value("fencepost_fire_lag_seconds_sum");
    ok(lagS >= 0 && lagS < 60, `${lagS}`);
    // A late one is not what the engine let wait.
    await service.send([line("ENTER", "b", -120), line("EXIT", "b", -60)]);
    await sees("triggers_total", 2, { kind: "DWELL" });
    equal((await scrape(url)).value("fencepost_fire_lag_seconds_count"), 1);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("metrics: counts are those of the process, what is remembered is the state's", async () => {
  await inDirectory(async (directory) => {
    const args = ["--state", join(directory, "state")];
    const first = await RunningService.start(args);
    await first.send([line("ENTER", "a"), line("ENTER", "b"), "poison"]);
    const before = await scrape(first.url);
    equal(before.value("fencepost_records_read_total"), 3);
    await first.kill();
    const second = await RunningService.start(args);
    const after = await scrape(second.url);
    equal(after.value("fencepost_records_read_total"), 0);
    equal(after.value("fencepost_dead_letters_total", { reason: "MALFORMED_JSON" }), 0);
    equal(after.value("fencepost_window_ids_added_total"), 0);
    equal(after.value("fencepost_pairs"), 2);
    ok(after.value("fencepost_window_ids") >= 2);
    ok(after.value("process_start_time_seconds") > before.value("process_start_time_seconds"));
    equal((await second.stop()).status, 0);
  });
});

Deno.test("metrics: run over a pipe shows itself with --listen, and takes nothing", async () => {
  await inDirectory(async (directory) => {
    const files = new RunFiles(directory);
    const url = Promise.withResolvers<string>();
    const { child, ended } = startFencepost(
      ["run", "--live", "--output", files.output, ...files.kept, "--listen", "127.0.0.1:0"],
      {
        permissions: PERMISSIONS,
        input: "piped",
        onStderr: (text) => {
          const found = /Listening on (\S+)\n/.exec(text);
          if (found !== null) url.resolve(found[1] as string);
        },
      },
    );
    ended.then(({ stderr }) => url.reject(new Error(stderr)));
    const at = await url.promise;
    await until(
      async () => (await scrape(at)).value("fencepost_split_open", { source: "-" }) === 1,
      "the split to open",
    );
    const ready = await fetch(`${at}/readyz`);
    deepEqual([ready.status, await ready.json()], [200, { status: "ready" }]);
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(line("ENTER", "a") + "\n"));
    await until(
      async () => (await scrape(at)).value("fencepost_triggers_total", { kind: "ENTER" }) === 1,
      "the trigger",
    );
    const post = await fetch(`${at}/v1/transitions`, { method: "POST", body: line("ENTER", "b") });
    await post.body?.cancel();
    equal(post.status, 404);
    ok(!(await scrape(at)).types.has("fencepost_shed_records_total"));
    await writer.close();
    const { status, stderr } = await ended;
    equal(status, 0, stderr);
  });
});

Deno.test("metrics: run refuses an address that is taken, before it has touched anything", async () => {
  await inDirectory(async (directory) => {
    const files = new RunFiles(directory);
    await Deno.writeTextFile(files.input, line("ENTER", "a") + "\n");
    const service = await RunningService.start(["--state", join(directory, "other")]);
    const { status, stderr } = await runFencepost(
      [...files.args, "--listen", service.url.replace("http://", "")],
      { permissions: PERMISSIONS },
    );
    equal(status, 1);
    match(stderr, /Cannot listen on 127\.0\.0\.1:\d+: another process listens there/);
    await Deno.stat(files.output).then(() => ok(false, "the output is there"), () => {});
    equal((await service.stop()).status, 0);
  });
});

Deno.test("metrics: alerts and dashboard ask only for what there is", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const names = (await scrape(service.url)).names().add("up");
    equal((await service.stop()).status, 0);
    const recorded = new Set(RECORDINGS.map(({ record }) => record));
    const config = parseConfig({});
    const asked = [
      ...RECORDINGS,
      ...alertRules({ job: "fencepost", config }),
      ...ROWS.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => ({ expr })))),
    ].map(({ expr }) => expr);
    let count = 0;
    for (const expr of asked) {
      // Neither what is in quotes, in ranges and by labels nor functions are metrics.
      const bare = expr.replaceAll(/"[^"]*"|\[[^\]]*\]|\b(by|on) \([^)]*\)/g, "");
      for (const [name] of bare.matchAll(/\b(?:[a-z]+:)?(?:fencepost_|process_|up\b)[a-z0-9_:]*/g)) {
        ok(names.has(name) || recorded.has(name), `${name} in ${expr}`);
        count++;
      }
    }
    ok(count > 80, `${count}`);
  });
});

promtoolTest("metrics: promtool finds nothing to say", async (directory) => {
  const service = await RunningService.start(["--state", join(directory, "state")]);
  await service.send([line("ENTER", "a")]);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  equal((await service.stop()).status, 0);
  deepEqual(await promtool(["check", "metrics"], text), { isContent: true, said: "" });
  const { isContent } = await promtool(
    ["check", "metrics"],
    text.replaceAll("fencepost_pairs ", "fencepost_Pairs "),
  );
  equal(isContent, false);
});
