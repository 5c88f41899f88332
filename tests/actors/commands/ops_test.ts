/**
 * `fencepost ops`: the alert rules by Prometheus's own judge, with series that must and must not fire; the dashboard's
 * shape. That both name only metrics that exist is tested against a process (tests/process/metrics_test.ts).
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { alertRules } from "../../../actors/commands/alert_rules.ts";
import { ROWS } from "../../../actors/commands/dashboard_panels.ts";
import { alertsYaml } from "../../../actors/commands/ops_alerts.ts";
import { grafanaJson } from "../../../actors/commands/ops_grafana.ts";
import { RECORDINGS } from "../../../actors/commands/ratio_alerts.ts";
import { parseArguments } from "../../../actors/commands/arguments.ts";
import { parseConfig } from "../../../lib/config.ts";
import { inDirectory } from "../../support/fencepost_process.ts";
import { type AlertCase, CASES, DAY } from "../../support/alert_cases.ts";
import { promtool, promtoolTest } from "../../support/promtool.ts";

const OPTIONS = { job: "fencepost", config: parseConfig({}) };

/** Each case as a test of promtool's: that those alerts fire and no other does, by the metric that Prometheus keeps of them. */
function promtoolTests(cases: readonly AlertCase[]): string {
  return JSON.stringify({
    rule_files: ["rules.yml"],
    // A day takes promtool some seconds.
    evaluation_interval: cases.some(({ atMinute }) => atMinute > DAY) ? "5m" : "1m",
    tests: cases.map(({ name, series, atMinute, alerts }) => ({
      name,
      interval: "1m",
      input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
      promql_expr_test: [{
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${atMinute}m`,
        exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      }],
    })),
  });
}

async function judge(cases: readonly AlertCase[], yaml = alertsYaml(OPTIONS)): Promise<string> {
  return await inDirectory(async (directory) => {
    await Deno.writeTextFile(join(directory, "rules.yml"), yaml);
    const tests = join(directory, "tests.yml");
    await Deno.writeTextFile(tests, promtoolTests(cases));
    const { isContent, said } = await promtool(["test", "rules", tests]);
    return isContent ? "" : said;
  });
}

promtoolTest("ops alerts: promtool takes the rules, of any ttl, interval and job", async (directory) => {
  for (
    const [identity, interval, job] of [
      [{}, "500ms", "fencepost"],
      [{ ttl: "1500ms" }, "0s", 'a "b" \\ c'],
      [{ ttl: "30d" }, "1h", "x"],
    ] as const
  ) {
    const config = parseConfig({ identity, checkpoint: { interval } });
    const path = join(directory, "rules.yml");
    await Deno.writeTextFile(path, alertsYaml({ job, config }));
    const { isContent, said } = await promtool(["check", "rules", path]);
    ok(isContent, said);
    match(said, new RegExp(`${RECORDINGS.length + alertRules(OPTIONS).length} rules found`));
  }
});

promtoolTest("ops alerts: each fires where it must, and none where it must not", async () => {
  const isLong = ({ atMinute }: AlertCase): boolean => atMinute > DAY;
  equal(await judge(CASES.filter((one) => !isLong(one))), "");
  equal(await judge(CASES.filter(isLong)), "");
});

promtoolTest("ops alerts: the judge would tell", async () => {
  for (const name of ["it does not answer", "all is well, an hour after the start"]) {
    const wrong = CASES.filter((one) => one.name === name).map((one) => ({
      ...one,
      alerts: ["FencepostAbsent"],
    }));
    ok((await judge(wrong)) !== "", name);
  }
});

Deno.test("ops alerts: every rule has a case that fires it, and says what to do", () => {
  const fired = new Set(CASES.flatMap(({ alerts }) => alerts));
  for (const { alert, summary, description, action } of alertRules(OPTIONS)) {
    ok(fired.has(alert), `${alert} has no case`);
    for (const text of [summary, description, action]) ok(text.length > 20, `${alert}: ${text}`);
  }
});

promtoolTest(
  "ops grafana: promtool takes each query, once Grafana has filled in what is chosen",
  async (directory) => {
    const exprs = ROWS.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => expr)))
      .map((expr) => expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(job|instance)/g, ".+"));
    ok(exprs.length > 40 && !exprs.some((expr) => expr.includes("$")));
    const rules = exprs.map((expr, i) => ({ record: `x:y${i}`, expr }));
    const path = join(directory, "rules.yml");
    await Deno.writeTextFile(path, JSON.stringify({ groups: [{ name: "g", rules }] }));
    const { isContent, said } = await promtool(["check", "rules", path]);
    ok(isContent, said);
  },
);

Deno.test("ops grafana: panels that don't overlap, each with a query and a sentence", () => {
  const dashboard = JSON.parse(grafanaJson()) as {
    panels: {
      id: number;
      type: string;
      description?: string;
      targets?: { expr: string }[];
      gridPos: { x: number; y: number; w: number; h: number };
    }[];
  };
  const cells = new Set<string>();
  for (const { type, description, targets, gridPos: { x, y, w, h } } of dashboard.panels) {
    ok(x + w <= 24);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        ok(!cells.has(`${column} ${row}`), `two panels at ${column} ${row}`);
        cells.add(`${column} ${row}`);
      }
    }
    if (type === "row") continue;
    ok((description ?? "").length > 0);
    ok((targets ?? []).length > 0);
  }
  equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
});

Deno.test("ops: the command line", () => {
  deepEqual(parseArguments(["ops", "alerts", "--job", "x", "--set", "identity.ttl=60s"]), {
    command: "ops alerts",
    job: "x",
    config: { file: null, settings: [{ key: "identity.ttl", value: "60s" }] },
  });
  deepEqual(parseArguments(["ops", "grafana"]), { command: "ops grafana" });
  deepEqual(parseArguments(["ops", "--help"]), { command: "help", of: "ops" });
});
