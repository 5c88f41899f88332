import assert from "node:assert/strict";
import { CASES_WALL_US, EMIT_ORDERS, loadCases } from "../support/cases.ts";
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

/** Triggers in an order that does not depend on when they came out. */
function byId(triggers: readonly unknown[]): unknown[] {
  const copies = triggers.map((trigger) => JSON.parse(JSON.stringify(trigger)) as { id: string });
  return copies.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
