/**
 * The windows that ours is compared with against a model (but for the filter, which wants to read the environment: the
 * part counts what it gets wrong), and the whole part in the small.
 *
 * @module
 */
import assert from "node:assert/strict";
import { IdTraffic } from "../../../bench/window/id_traffic.ts";
import { measureWindow } from "../../../bench/window/measure_window.ts";
import { lruCache, mapOfBigints, mapOfStrings, ourWindow } from "../../../bench/window/windows.ts";
import type { Window, WindowOptions } from "../../../bench/window/windows.ts";
import { randomFrom } from "../../support/random.ts";
import { runSmallPart } from "../support/small_part.ts";

/** So few of them that many come again. */
const IDS = 300;

function against<Id>(name: string, make: (options: WindowOptions) => Window<Id>): void {
  Deno.test(`window, ${name}: what is there is no news, until it has expired`, () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = randomFrom(seed);
      const clock = { nowUs: 1_750_000_000_000_000 };
      const window = make({ ids: IDS, ttlUs: 100_000, clock });
      const model = new Map<number, number>();
      for (let step = 0; step < 2000; step++) {
        clock.nowUs += Math.floor(random() * 3) * 1000;
        const id = Math.floor(random() * IDS);
        const novel = clock.nowUs - (model.get(id) ?? -Infinity) >= 100_000;
        if (novel) model.set(id, clock.nowUs);
        const lanes = Int32Array.of(id, id ^ 7, 1, Math.imul(id, 0x9e37_79b1));
        assert.equal(window.admit(window.idOf(lanes)), novel, `seed ${seed}, step ${step}`);
      }
    }
  });
}

against("Map of strings", mapOfStrings);
against("Map of bigints", mapOfBigints);
against("lru-cache", lruCache);
against("ours", ourWindow);

Deno.test("id traffic: new ones are different, copies are of the latest, returns of none that lives", () => {
  const ids = 1000;
  const traffic = new IdTraffic(ids, { returns: true, seed: 5 });
  const lanes = new Int32Array(4);
  /** When each was novel the last time, by the number of the draw. */
  const drawn = new Map<string, number>();
  const ages = { copy: 0, returned: 0, fresh: 0 };
  for (let draw = 0; draw < 20_000; draw++) {
    if (draw < 1030) traffic.drawNew(lanes);
    else traffic.draw(lanes);
    const last = drawn.get(lanes.join());
    if (!traffic.novel) {
      assert.ok(last !== undefined && draw - last < ids, `draw ${draw}: a copy of what is gone`);
      ages.copy++;
      continue;
    }
    assert.ok(last === undefined || draw - last >= ids, `draw ${draw}: it lives, and is said to be new`);
    ages[last === undefined ? "fresh" : "returned"]++;
    drawn.set(lanes.join(), draw);
  }
  assert.ok(ages.copy > 400 && ages.returned > 100 && ages.fresh > 18_000, JSON.stringify(ages));
});

Deno.test("window: every one has every column, and none is wrong", async () => {
  const part = await runSmallPart(measureWindow, ["--ids", "20000", "--rounds", "2"]);
  const latencies = ["p50 µs", "p99 µs", "p99.9 µs", "worst µs"];
  assert.deepEqual(part.heads, [
    [...latencies, "reached /s", "memory MB", "memory B/id", "false drops ids", "let through copies"],
    ["cost µs", "cost CPU µs", ...latencies],
  ]);
  const local = ["Map of strings", "Map of bigints", "lru-cache, ttl", "bloom over Map", "ours"];
  const [paced] = part.report.sections;
  const noRedis = paced?.notes.some((note) => note.startsWith("Without Redis")) ?? false;
  const all = noRedis ? local : ["Redis, pipelined", "Redis, one by one", ...local];
  assert.deepEqual(part.fullRows, [all, all]);
  for (const name of all) {
    assert.equal(part.median(name, "false drops"), 0, name);
    assert.equal(part.median(name, "let through"), 0, name);
  }
});
