import assert from "node:assert/strict";
import { parseConfig } from "../../lib/config.ts";
import { CASES_WALL_US, EMIT_ORDERS, loadCases } from "../support/cases.ts";
import { Chance } from "./chance.ts";
import { makeOracle } from "./oracle.ts";

const runOracle = await makeOracle();

for (const { name, lines, expected } of await loadCases()) {
  for (const emit of EMIT_ORDERS) {
    Deno.test(`oracle: case ${name}, emit ${emit}`, () => {
      const { config, triggers, deadLetters, suppressed } = expected[emit];
      const result = runOracle(config, lines, { atEof: "flush", wallUs: CASES_WALL_US });
      assert.deepEqual(byId(result.triggers), byId(triggers));
      assert.deepEqual(result.deadLetters, deadLetters);
      if (suppressed !== null) assert.equal(result.suppressed, suppressed);
    });
  }
}

const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;
const config = parseConfig({
  dwell: { rules: [{ fence: "*", after: ["20s", "40s"] }], on_contradiction: "retract" },
});
const FLUSH = { atEof: "flush", wallUs: CASES_WALL_US } as const;

/** A record `atUs` after the begin, of one device at one fence unless told otherwise, that arrives at once. */
function record(kind: string, atUs: number, more: Record<string, unknown> = {}): string {
  const timeUs = BEGIN_US + atUs;
  const ids = { device_id: "d", fence_id: "f" };
  return JSON.stringify({ ...ids, kind, event_time_us: timeUs, ingest_time_us: timeUs, ...more });
}

/** A second in µs. */
const S = 1_000_000;

Deno.test("oracle: a visit earns a threshold by lasting that long, to the microsecond", () => {
  for (
    const [exitUs, earned] of [[20 * S - 1, []], [20 * S, [20]], [40 * S - 1, [20]], [40 * S, [
      20,
      40,
    ]]] as const
  ) {
    for (const kind of ["EXIT", "STALE", "ENTER"]) {
      const lines = [record("ENTER", 0), record(kind, exitUs)];
      const { triggers, pending } = runOracle(config, lines, FLUSH);
      assert.deepEqual(triggers.flatMap(({ dwell_s }) => dwell_s ?? []), earned, `${kind} at ${exitUs}`);
      assert.equal(pending, kind === "ENTER" ? 2 : 0);
    }
  }
});

Deno.test("oracle: a deadline fires when the watermark is at it, and not a microsecond before", () => {
  for (const [besideUs, count] of [[-1, 0], [0, 1], [1, 1]] as const) {
    const lines = [record("ENTER", 0), record("HEARTBEAT", 25 * S + besideUs)];
    const { triggers, pending } = runOracle(config, lines, { ...FLUSH, atEof: "hold" });
    assert.equal(triggers.filter(({ kind }) => kind === "DWELL").length, count);
    assert.equal(pending, 2 - count);
  }
});

Deno.test("oracle: a record is late at the watermark, and not a microsecond after", () => {
  for (const [atUs, late] of [[55 * S - 1, 1], [55 * S, 1], [55 * S + 1, 0]] as const) {
    const lines = [record("HEARTBEAT", 60 * S), record("ENTER", atUs, { ingest_time_us: BEGIN_US + 60 * S })];
    const result = runOracle(config, lines, FLUSH);
    assert.equal(result.late, late);
    assert.equal(result.triggers[0]?.late, late === 1 ? true : undefined);
    const ordered = runOracle({ ...config, emit: "ordered" }, lines, FLUSH);
    assert.deepEqual(ordered.deadLetters, late === 1 ? [{ line: 2, reason: "LATE" }] : []);
  }
});

Deno.test("oracle: a late exit retracts the DWELL that it contradicts, once", () => {
  const ingest = { ingest_time_us: BEGIN_US + 30 * S };
  for (const [exitUs, contradicted] of [[-1, 0], [0, 1], [20 * S - 1, 1], [20 * S, 0]] as const) {
    const lines = [
      record("ENTER", 0),
      record("HEARTBEAT", 30 * S),
      record("EXIT", exitUs, ingest),
      record("EXIT", exitUs, ingest),
    ];
    const { triggers, dwell_contradicted } = runOracle(config, lines, FLUSH);
    assert.equal(dwell_contradicted, contradicted, `exit at ${exitUs}`);
    assert.equal(triggers.filter(({ kind }) => kind === "RETRACT").length, contradicted);
  }
});

Deno.test("oracle: a visit that a late group holds, behind what was applied, earns its DWELLs late", () => {
  const ingest = { ingest_time_us: BEGIN_US + 100 * S };
  const lines = [
    record("ENTER", 90 * S),
    record("HEARTBEAT", 100 * S),
    record("EXIT", 50 * S, ingest),
    record("ENTER", 20 * S, ingest),
    record("EXIT", 10 * S, ingest),
  ];
  const { triggers, late_skipped } = runOracle(config, lines, FLUSH);
  assert.deepEqual(
    triggers.filter(({ kind }) => kind === "DWELL").map(({ dwell_s, late }) => [dwell_s, late]),
    [
      [20, true],
    ],
  );
  assert.equal(late_skipped, 1);
});

Deno.test("oracle: where nothing is late, the DWELLs do not depend on the order of arrival", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const chance = new Chance(seed);
    const crossings: { kind: string; atUs: number }[] = [];
    for (let i = 0; i < 60; i++) {
      const nearUs = (crossings.at(-1)?.atUs ?? 0) + chance.below(3 * S);
      // No two at one microsecond, which alone may depend on it.
      const atUs = Math.floor((chance.happens(0.4) ? nearUs : chance.below(1500 * S)) / 60) * 60 + i;
      crossings.push({ kind: chance.pick(["ENTER", "EXIT", "STALE"]), atUs });
    }
    const dwells = [1, 2, 3].map(() => {
      const copies = crossings.flatMap((crossing) => chance.happens(0.3) ? [crossing, crossing] : [crossing]);
      const arrivals = copies.map(({ kind, atUs }) => ({
        kind,
        atUs,
        arrivesUs: atUs + chance.below(5 * S),
      }));
      arrivals.sort((a, b) => a.arrivesUs - b.arrivesUs);
      const lines = arrivals.map(({ kind, atUs, arrivesUs }) =>
        record(kind, atUs, { ingest_time_us: BEGIN_US + arrivesUs })
      );
      const { triggers, late } = runOracle(config, lines, FLUSH);
      assert.equal(late, 0, `seed ${seed}`);
      return byId(triggers.filter(({ kind }) => kind === "DWELL"));
    });
    assert.ok((dwells[0] ?? []).length > 0, `seed ${seed}`);
    assert.deepEqual(dwells[1], dwells[0], `seed ${seed}`);
    assert.deepEqual(dwells[2], dwells[0], `seed ${seed}`);
  }
});

/** Triggers in an order that does not depend on when they came out. */
function byId(triggers: readonly unknown[]): unknown[] {
  const copies = triggers.map((trigger) => JSON.parse(JSON.stringify(trigger)) as { id: string });
  return copies.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
