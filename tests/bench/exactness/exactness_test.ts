/**
 * Whose DWELLs are exact, in the small: times are simulated, so that the counts are those of the seeds.
 *
 * @module
 */
import assert from "node:assert/strict";
import { drawDeliveries, LATENESS_US, THRESHOLD_US, WAYS } from "../../../bench/exactness/deliveries.ts";
import { measureWay } from "../../../bench/exactness/exactness.ts";
import { makeRivals } from "../../../bench/exactness/rivals.ts";
import { OURS } from "../../../bench/engine/section.ts";

Deno.test("measureWay: ours are exact in every way, and no rival's are", async (test) => {
  for (const way of WAYS) {
    await test.step(way, async () => {
      const { earned, outcomes } = await measureWay(way, 2);
      assert.ok(earned > 300, `${earned} earned`);
      assert.equal(outcomes.length, 5);
      for (const { name, false: wrong, missed, early, retracted } of outcomes) {
        if (name === OURS) {
          assert.deepEqual({ wrong, missed, early }, { wrong: 0, missed: 0, early: 0 });
          // Who is told an hour later that a device had left has told its DWELL by then.
          assert.equal(retracted > 0, way === "delayed devices" || way === "late uploads");
        } else {
          assert.ok(wrong + missed + early > 0, `${name} is exact, too`);
        }
      }
    });
  }
});

Deno.test("drawDeliveries: by arrival, and some stays are as long as the threshold, some longer or shorter by 1 µs", () => {
  const lengths = new Set<number>();
  for (let seed = 1; seed <= 20; seed++) {
    const { arrivals } = drawDeliveries({ seed, way: "restarts", devices: 60, hours: 6 });
    const enteredUs = new Map<string, number>();
    let lastUs = -Infinity;
    for (const { pair, kind, eventUs, arrivesUs } of arrivals) {
      assert.ok(arrivesUs >= lastUs);
      lastUs = arrivesUs;
      if (kind === "ENTER") enteredUs.set(pair, eventUs);
      else lengths.add(eventUs - (enteredUs.get(pair) ?? NaN));
    }
  }
  for (const besideUs of [-1, 0, 1]) {
    assert.ok(lengths.has(THRESHOLD_US + besideUs), `${besideUs} µs beside it`);
  }
});

Deno.test("rivals: each tells of a long stay, once, where all is on time", () => {
  for (const rival of makeRivals()) {
    const take = (pair: string, kind: "ENTER" | "EXIT", eventUs: number): void => {
      rival.passTime(eventUs);
      rival.take({ pair, kind, eventUs, arrivesUs: eventUs });
    };
    take("d0 f0", "ENTER", 0);
    // Somebody has to move time on before the pair leaves.
    take("d1 f0", "EXIT", THRESHOLD_US + LATENESS_US);
    take("d0 f0", "EXIT", THRESHOLD_US + 2 * LATENESS_US);
    rival.end(3 * THRESHOLD_US);
    assert.deepEqual(
      rival.told.map(({ enteredAt }) => enteredAt),
      ["1970-01-01T00:00:00.000000Z"],
      rival.name,
    );
  }
});
