/**
 * What the duplicates of a trace are counted by, in the small: the counts are exact, since a seed determines them.
 *
 * @module
 */
import assert from "node:assert/strict";
import { countDuplicates, type DuplicatesOutcome } from "../../../bench/duplicates/duplicates.ts";
import { generateTrace, TRACE } from "../../../bench/duplicates/trace.ts";
import { OURS } from "../../../bench/engine/section.ts";

Deno.test("generateTrace: as many copies as asked for, each behind its crossing and within the restamp", () => {
  const trace = generateTrace({ ...TRACE, records: 20_000 });
  const share = trace.copies / trace.rows;
  assert.ok(share > 0.05 && share < 0.07, `${share} are copies`);
  assert.equal(trace.rows, trace.crossings + trace.copies);
  const firstUs = new Map<number, number>();
  for (let row = 0; row < trace.rows; row++) {
    const crossing = trace.crossingOf[row] as number;
    const eventUs = trace.eventUs[row] as number;
    const awayUs = Math.abs(eventUs - (firstUs.get(crossing) ?? eventUs));
    assert.ok(awayUs <= TRACE.restampUs, `a copy is ${awayUs} µs away`);
    if (!firstUs.has(crossing)) firstUs.set(crossing, eventUs);
    if (row > 0) assert.ok((trace.arrivalUs[row] as number) >= (trace.arrivalUs[row - 1] as number));
  }
});

Deno.test("countDuplicates: none of ours, none swallowed; each lesser key lets through what it can't know", async () => {
  const trace = generateTrace({ ...TRACE, records: 60_000, quickShare: 0.05 });
  const outcomes = new Map((await countDuplicates(trace)).map((outcome) => [outcome.policy, outcome]));
  const of = (policy: string): DuplicatesOutcome => {
    const outcome = outcomes.get(policy);
    assert.ok(outcome !== undefined, policy);
    return outcome;
  };
  for (const policy of [OURS, "2 s buckets with the guard", "seq"]) {
    assert.deepEqual(of(policy), { policy, told: trace.crossings, duplicates: 0, swallowed: 0 });
  }
  assert.equal(of("nothing").duplicates, trace.copies);
  assert.ok(of("raw timestamps").duplicates > trace.copies / 2);
  assert.ok(of("2 s buckets").duplicates > 0);
  assert.ok(of("2 s buckets").duplicates < of("raw timestamps").duplicates / 10);
  assert.equal(of("2 s buckets").swallowed, 0);
  assert.ok(of("30 s buckets").swallowed > 0);
});
