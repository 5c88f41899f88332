/**
 * `fencepost explain` without a process: what it says of messages, and what it warns of.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { explain } from "../../../actors/commands/explain.ts";
import { parseConfig } from "../../../lib/config.ts";
import type { Json } from "../../../lib/json.ts";

const WALL_US = Date.UTC(2026, 4, 4, 9) * 1000;
const encoder = new TextEncoder();
const FORMAT: Json = { device_id: "/d", fence_id: "/f", kind: "/k", event_time: { at: "/t", unit: "ms" } };

async function said(
  messages: readonly unknown[],
  { json = false, format = FORMAT, identity = {} }: { json?: boolean; format?: Json; identity?: Json } = {},
): Promise<{ status: number; text: string }> {
  let text = "";
  const config = parseConfig({ source: { type: "ndjson", format }, identity });
  const status = await explain(
    { path: "-", topic: null, key: null, headers: new Map(), json },
    config,
    {
      wallUs: WALL_US,
      write: (more) => {
        text += more;
        return Promise.resolve();
      },
      async *readLines() {
        for (const message of messages) {
          yield await Promise.resolve(
            encoder.encode(typeof message === "string" ? message : JSON.stringify(message)),
          );
        }
      },
    },
  );
  return { status, text };
}

function crossing(ms: number, k = "ENTER"): Json {
  return { d: "a", f: "b", k, t: WALL_US / 1000 - 600_000 + ms };
}

Deno.test("explain: times are judged as in a run, and a control in a value does nothing to the terminal", async () => {
  const { status, text } = await said([
    crossing(7),
    { ...crossing(7) as object, t: WALL_US / 1000 + 3_600_000 },
    { ...crossing(7) as object, t: 1_777_881_610 },
    { ...crossing(7) as object, k: "\u001b[31mred" },
    "",
  ]);
  equal(status, 1);
  match(text, /^1 {5}ENTER "a" "b" 2026-05-04T08:50:00\.007000Z {2}id [0-9a-f]{32}$/m);
  match(text, /^2 {5}TIME_IN_FUTURE: Event time/m);
  match(text, /^3 {5}TIME_TOO_OLD: Event time 1970-01-21T.*times 1000 it would be/m);
  match(text, /^4 {5}INVALID_KIND: kind \(\/k\) must be one of/m);
  equal(text.includes("\u001b"), false);
  match(text, /4 messages: transitions: 1 ENTER; skipped: 0; dead letters: 1 TIME_IN_FUTURE, 1 TIME_TOO_OLD/);
});

Deno.test("explain: for machines, one object a crossing and one that sums up", async () => {
  const { text } = await said([crossing(0), crossing(60_000, "EXIT")], { json: true });
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  deepEqual(lines.map(({ line, kind }) => [line ?? null, kind ?? null]), [[1, "ENTER"], [2, "EXIT"], [
    null,
    null,
  ]]);
  deepEqual(lines[2], {
    messages: 2,
    transitions: { ENTER: 1, EXIT: 1 },
    skipped: 0,
    dead_letters: {},
    warnings: [],
  });
});

const WARNINGS: readonly [name: string, ms: readonly number[], identity: Json, warning: RegExp | null][] = [
  [
    "whole seconds",
    [0, 7000, 9000, 20_000, 31_000],
    {},
    /steps of 1s.*identity\.guard 1s, identity\.bucket 4s$/m,
  ],
  ["few of them may be chance", [0, 7000, 9000, 20_000], {}, null],
  ["one of them is not", [0, 7000, 9000, 20_001, 31_000], {}, null],
  ["widths that fit", [0, 7000, 9000, 20_000, 31_000], { bucket: "4s", guard: "1s" }, null],
  [
    "a memory that is too short",
    [0, 7000, 9000, 20_000, 31_000],
    { bucket: "4s", guard: "1s", max_skew: "500ms" },
    /steps of 1s, and identity\.max_skew \(500ms\) is shorter.*identity\.max_skew 1s$/m,
  ],
];
for (const [name, times, identity, warning] of WARNINGS) {
  Deno.test(`explain: warns of widths, ${name}`, async () => {
    const { text } = await said(times.map((ms) => crossing(ms)), { identity });
    if (warning === null) equal(text.includes("Warning"), false, text);
    else match(text, warning);
  });
}
