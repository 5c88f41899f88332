/**
 * The rule that everything else serves (SPEC 3): for records that are not late, the DWELLs are a function of the set of
 * records alone. Here with any order within the lateness, any number of copies, and copies that come minutes late.
 *
 * @module
 */
import { equal, ok } from "node:assert/strict";
import { type Config, parseConfig } from "../../lib/config.ts";
import { Chance } from "./chance.ts";
import { sameEntries, triggerText } from "./comparison.ts";
import { runProcess } from "./engine.ts";
import { deliver, type Delivery, drawCrossings } from "./punctual.ts";

const BEGIN_US = Date.UTC(2026, 4, 4, 8) * 1000;
const SECOND_US = 1_000_000;
const LATENESS_US = 5 * SECOND_US;
const SEEDS = 120;

function configOf(seed: number): Config {
  const chance = new Chance(seed);
  return parseConfig({
    identity: { max_skew: chance.pick([null, null, "0s", "1s"]), ttl: "10m" },
    dwell: {
      rules: [{ fence: "*", after: chance.pick([["10s"], ["10s", "60s"], ["6s", "10s", "14s", "300s"]]) }],
      on_reenter: chance.pick(["restart", "continue"]),
      on_contradiction: "retract",
    },
    emit: chance.pick(["arrival", "ordered"]),
    partitions: chance.pick([1, 3, 16]),
  });
}

/** How crossings may reach the source. */
const WAYS: Record<string, (chance: Chance, eventUs: number) => number[]> = {
  "shuffled": (chance, eventUs) => [eventUs + chance.below(LATENESS_US)],
  "newest first, in handfuls": (_chance, eventUs) => {
    // No event waits for longer than lateness, and none arrives before it happens.
    const handfulUs = LATENESS_US / 2;
    const beganUs = Math.floor(eventUs / handfulUs) * handfulUs;
    return [beganUs + 2 * handfulUs - 1 - Math.floor((eventUs - beganUs) / 2)];
  },
  "with copies": (chance, eventUs) =>
    Array.from({ length: chance.between(1, 4) }, () => eventUs + chance.below(LATENESS_US)),
  "with copies that come late": (chance, eventUs) => [
    eventUs + chance.below(LATENESS_US),
    ...Array.from({ length: chance.between(0, 3) }, () => eventUs + chance.below(500 * SECOND_US)),
  ],
};

Deno.test("dwell: the same for any order within lateness and any number of copies", async (test) => {
  for (const [way, arrivalsOf] of Object.entries(WAYS)) {
    await test.step(way, async () => {
      let dwells = 0;
      for (let seed = 0; seed < SEEDS; seed++) {
        const config = configOf(seed);
        // An ENTER that `continue` absorbs in order has claimed no id, so that its late copy, and an EXIT's, are a visit
        // among late records.
        const absorbs = config.emit === "ordered" && config.dwell.onReenter === "continue";
        const crossings = drawCrossings({ seed, count: 60, beginUs: BEGIN_US, spanUs: 800 * SECOND_US });
        const run = async (deliveries: readonly Delivery[], batchRecords: number): Promise<string[]> => {
          const options = { wallUs: BEGIN_US + 86_400 * SECOND_US, batchRecords };
          const { triggers, deadLetters, report } = await runProcess(config, deliver(deliveries), options);
          equal(report.counters.dwellContradicted, 0, `seed ${seed}`);
          // In order, what was absorbed the first time is not known when its copy comes late.
          const refused = deadLetters.filter(({ reason }) => config.emit === "arrival" || reason !== "LATE");
          equal(refused.length, 0, `seed ${seed}`);
          const dwells = triggers.filter(({ kind }) => kind === "DWELL");
          return (absorbs ? dwells.filter(({ late }) => late !== true) : dwells).map(triggerText);
        };
        const expected = await run(
          crossings.map((crossing) => ({ crossing, arrivesUs: crossing.eventUs })),
          64,
        );
        const chance = new Chance(seed);
        const deliveries = crossings.flatMap((crossing) =>
          arrivalsOf(chance, crossing.eventUs).map((arrivesUs) => ({ crossing, arrivesUs }))
        );
        const where = `seed ${seed}, emit ${config.emit}, ${config.dwell.onReenter}`;
        sameEntries(await run(deliveries, 1 + seed % 9), expected, where);
        dwells += expected.length;
      }
      ok(dwells > 5 * SEEDS, `${dwells} DWELLs`);
    });
  }
});
