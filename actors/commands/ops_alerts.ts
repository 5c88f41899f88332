/**
 * `fencepost ops alerts`: the rules as the file that Prometheus loads.
 *
 * @module
 */
import { type AlertOptions, alertRules } from "./alert_rules.ts";
import { RECORDINGS } from "./ratio_alerts.ts";

/** The rules as YAML. */
export function alertsYaml(options: AlertOptions): string {
  const recordings = RECORDINGS.map(({ record, expr }) =>
    `      - record: ${record}\n${block("expr", expr)}`
  );
  const alerts = alertRules(options).map((rule) =>
    [
      `      - alert: ${rule.alert}`,
      block("expr", rule.expr),
      `        for: ${rule.for}`,
      "        labels:",
      `          severity: ${rule.severity}`,
      "        annotations:",
      `          summary: ${quoted(rule.summary)}`,
      `          description: ${quoted(rule.description)}`,
      `          action: ${quoted(rule.action)}`,
    ].join("\n")
  );
  return [
    "# Made by `fencepost ops alerts`, for the configuration that it was given: make it anew when that changes.",
    "groups:",
    "  - name: fencepost-recordings",
    "    rules:",
    ...recordings,
    "  - name: fencepost",
    "    rules:",
    ...alerts,
  ].join("\n") + "\n";
}

/** JSON's strings are YAML's. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function block(key: string, text: string): string {
  return `        ${key}: |-\n${text.split("\n").map((line) => `          ${line}`).join("\n")}`;
}
