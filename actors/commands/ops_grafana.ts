/**
 * `fencepost ops grafana`: the dashboard as the JSON that Grafana imports.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import { type Panel, ROWS } from "./dashboard_panels.ts";

/** Grafana's grid. */
const WIDTH = 24;
const HEIGHTS = { stat: 4, timeseries: 8 } as const;
const WIDTHS = { stat: 4, timeseries: 8 } as const;
/** Of the format; Grafana brings older ones up to date. */
const SCHEMA_VERSION = 39;
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

/** The dashboard. */
export function grafanaJson(): string {
  const panels: Json[] = [];
  let id = 1;
  let y = 0;
  for (const { title, panels: shown } of ROWS) {
    panels.push({
      id: id++,
      type: "row",
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
    });
    y++;
    let x = 0;
    let height = 0;
    for (const panel of shown) {
      const w = WIDTHS[panel.kind];
      const h = HEIGHTS[panel.kind];
      if (x + w > WIDTH) {
        x = 0;
        y += height;
        height = 0;
      }
      panels.push(panelJson(panel, { id: id++, gridPos: { x, y, w, h } }));
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  const dashboard = {
    uid: "fencepost",
    title: "Fencepost",
    tags: ["fencepost"],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        variable("job", "Job", "label_values(fencepost_build_info, job)"),
        variable("instance", "Instance", 'label_values(fencepost_build_info{job=~"$job"}, instance)'),
      ],
    },
    panels,
  };
  return JSON.stringify(dashboard, null, 2) + "\n";
}

function variable(name: string, label: string, query: string): Json {
  return {
    name,
    label,
    type: "query",
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { text: ["All"], value: ["$__all"] },
  };
}

function panelJson(
  { title, kind, unit, about, queries, thresholds, stacked }: Panel,
  place: { [key: string]: Json },
): Json {
  const steps: Json[] = [{ color: "green", value: null }];
  if (thresholds !== undefined) {
    steps.push({ color: "yellow", value: thresholds.warning }, { color: "red", value: thresholds.critical });
  }
  return {
    ...place,
    type: kind,
    title,
    description: about,
    datasource: DATASOURCE,
    targets: queries.map(([expr, legendFormat], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr,
      legendFormat,
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        thresholds: { mode: "absolute", steps },
        color: { mode: thresholds === undefined ? "palette-classic" : "thresholds" },
        ...(kind === "timeseries"
          ? {
            custom: {
              lineWidth: 1,
              fillOpacity: stacked === true ? 40 : 0,
              stacking: { mode: stacked === true ? "normal" : "none", group: "A" },
            },
          }
          : {}),
      },
      overrides: [],
    },
    options: kind === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, colorMode: "background" }
      : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
  };
}
