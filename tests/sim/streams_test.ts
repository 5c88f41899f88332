import assert from "node:assert/strict";
import { DEAD_LETTER_REASONS } from "../../lib/dead_letter.ts";
import { makeOracle } from "./oracle.ts";
import { generateStream } from "./streams.ts";

const runOracle = await makeOracle();
const SEEDS = Array.from({ length: 80 }, (_, i) => i + 1);

Deno.test("streams: a seed gives the same stream each time, and another seed another", () => {
  for (const seed of SEEDS.slice(0, 10)) {
    assert.deepEqual(generateStream(seed), generateStream(seed));
    assert.notDeepEqual(generateStream(seed).lines, generateStream(seed + 1).lines);
  }
});

Deno.test("streams: 40 to 400 lines, none of them blank or two", () => {
  for (const seed of SEEDS) {
    const { lines } = generateStream(seed);
    assert.ok(lines.length >= 40 && lines.length <= 400, `seed ${seed}`);
    assert.ok(lines.every((line) => line.trim() !== "" && !line.includes("\n")), `seed ${seed}`);
  }
});

Deno.test("streams: together they meet every outcome that a file of text can have", () => {
  const met = new Set<string>();
  for (const seed of SEEDS) {
    const { config, lines, wallUs } = generateStream(seed);
    const result = runOracle(config, lines, { atEof: seed % 4 === 0 ? "hold" : "flush", wallUs });
    for (const { reason } of result.deadLetters) met.add(reason);
    for (const trigger of result.triggers) {
      const { kind, dwell_s, visit_s, attributes, seq, late, beyond_window } = trigger;
      const name = kind === "DWELL" && dwell_s === undefined ? "passed on" : kind;
      met.add(name);
      if (visit_s !== undefined) met.add(`${name} with its visit`);
      if (attributes !== undefined) met.add(`${name} with attributes`);
      if (seq !== undefined) met.add(`${name} with seq`);
      if (late) met.add(`${name} late`);
      if (beyond_window) met.add(`${name} beyond the window`);
    }
    for (const name of COUNTERS) {
      if (result[name] > 0) met.add(name);
    }
  }
  // Lines are text, and no sink refuses any.
  const reasons = DEAD_LETTER_REASONS.filter((reason) =>
    reason !== "INVALID_UTF8" && reason !== "SINK_REJECTED"
  );
  const told = ["ENTER", "EXIT", "passed on"].flatMap((name) => [
    ...[name, `${name} with attributes`, `${name} with seq`],
    ...[`${name} late`, `${name} beyond the window`],
  ]);
  const dwells = ["DWELL", "DWELL late", "DWELL beyond the window", "EXIT with its visit", "RETRACT"];
  assert.deepEqual([...met].sort(), [...reasons, ...told, ...dwells, ...COUNTERS].sort());
});

const COUNTERS = [
  "suppressed",
  "late",
  "late_skipped",
  "dwell_contradicted",
  "flaps_in_bucket",
  "pending",
] as const;
