/**
 * What is said of a pair: the words of the triggers that it has told or will tell, from the row alone.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { Identity } from "../../lib/identity.ts";
import { FenceRules } from "../../lib/fence_rules.ts";
import { type PairView, PairViews } from "../../lib/pair_view.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { NO_ROW } from "../../lib/timing_wheel.ts";
import { type DrivenTrigger, PartitionDriver, toUs } from "../support/partition_driver.ts";

const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
const encoder = new TextEncoder();
const RULES = { dwell: { rules: [{ fence: "*", after: ["10s", "60s"] }], lateness: "5s" } };

class Bench {
  readonly driver: PartitionDriver;
  readonly views: PairViews;
  readonly triggers: DrivenTrigger[] = [];

  constructor(config: Record<string, unknown> = RULES) {
    this.driver = new PartitionDriver(identity, config);
    this.views = new PairViews(this.driver.partition, {
      identity: identity.with(this.driver.config.identity),
      rules: new FenceRules(this.driver.config.dwell.rules),
      config: this.driver.config,
    });
  }

  record(record: Parameters<PartitionDriver["record"]>[0]): void {
    this.driver.record(record);
    this.triggers.push(...this.driver.triggers());
  }

  view(device = "d", fence = "f"): PairView | null {
    const row = this.views.find(encoder.encode(device), encoder.encode(fence));
    return row === NO_ROW ? null : this.views.viewsOf([row])[0] as PairView;
  }

  idOf(kind: string): unknown {
    return this.triggers.findLast((trigger) => trigger["kind"] === kind)?.["id"];
  }
}

function at(seconds: number): string {
  return formatTimestamp(toUs(seconds));
}

Deno.test("PairViews: an entry waits, is inside, earns, and leaves; ids are those of the triggers", () => {
  const bench = new Bench();
  bench.record({ kind: "ENTER", at: 0 });
  deepEqual(bench.view(), {
    device_id: "d",
    fence_id: "f",
    inside: false,
    entered_at: null,
    left_at: null,
    ended_by: null,
    entry_id: null,
    told: [],
    pending: [],
    waiting: [{ kind: "ENTER", event_time: at(0) }],
    waiting_count: 1,
    last_seen: at(0),
  });
  bench.record({ kind: "HEARTBEAT", at: 6 });
  const inside = bench.view();
  deepEqual([inside?.inside, inside?.entered_at, inside?.left_at, inside?.waiting_count], [
    true,
    at(0),
    null,
    0,
  ]);
  equal(inside?.entry_id, bench.idOf("ENTER"));
  deepEqual(inside?.pending.map(({ after_s, event_time }) => [after_s, event_time]), [[10, at(10)], [
    60,
    at(60),
  ]]);
  bench.record({ kind: "HEARTBEAT", at: 20 });
  const earned = bench.view();
  deepEqual(earned?.told, [{ after_s: 10, event_time: at(10), id: bench.idOf("DWELL") as string }]);
  equal(earned?.told[0]?.id, inside?.pending[0]?.id);
  deepEqual(earned?.pending, inside?.pending.slice(1));
  bench.record({ kind: "EXIT", at: 30 });
  bench.record({ kind: "HEARTBEAT", at: 40 });
  const left = bench.view();
  deepEqual([left?.inside, left?.entered_at, left?.left_at, left?.ended_by], [false, at(0), at(30), "EXIT"]);
  deepEqual([left?.told.length, left?.pending], [1, []]);
});

Deno.test("PairViews: a late record is held, and contradicts what was told", () => {
  const bench = new Bench();
  bench.record({ kind: "ENTER", at: 0 });
  bench.record({ kind: "HEARTBEAT", at: 20 });
  bench.record({ kind: "EXIT", at: 8 });
  const held = bench.view();
  deepEqual(held?.waiting, [{ kind: "EXIT", event_time: at(8), held_until: at(20) }]);
  equal(held?.inside, true);
  bench.record({ kind: "HEARTBEAT", at: 30 });
  const contradicted = bench.view();
  deepEqual([contradicted?.inside, contradicted?.left_at], [false, at(8)]);
  deepEqual(contradicted?.told.map((threshold) => threshold.contradicted), [true]);
});

Deno.test("PairViews: a STALE ends a visit; the entry's id is that of its seq, where that is a number", () => {
  const bench = new Bench();
  bench.record({ kind: "ENTER", at: 0, seq: "7" });
  bench.record({ kind: "STALE", at: 5 });
  bench.record({ kind: "ENTER", at: 0, fence: "g", seq: "seven" });
  bench.record({ kind: "HEARTBEAT", at: 20 });
  const stale = bench.view();
  deepEqual([stale?.inside, stale?.ended_by], [false, "STALE"]);
  equal(stale?.entry_id, bench.triggers[0]?.["id"]);
  deepEqual([bench.view("d", "g")?.inside, bench.view("d", "g")?.entry_id], [true, null]);
});

Deno.test("PairViews: a copy with an earlier time began the visit, and the id is still the one that was told", () => {
  const bench = new Bench();
  bench.record({ kind: "ENTER", at: 1.05 });
  bench.record({ kind: "ENTER", at: 0.95 });
  bench.record({ kind: "HEARTBEAT", at: 8 });
  equal(bench.triggers.length, 1);
  equal(bench.view()?.entered_at, at(0.95));
  equal(bench.view()?.entry_id, bench.idOf("ENTER"));
});

Deno.test("PairViews: what is forgotten is not known, though its row is still there", () => {
  const bench = new Bench({ ...RULES, time: { max_age: "1h" } });
  bench.record({ kind: "EXIT", at: 0 });
  bench.record({ kind: "ENTER", at: 0, fence: "g" });
  bench.record({ kind: "EXIT", at: 3599, device: "other" });
  equal(bench.view()?.inside, false);
  bench.record({ kind: "EXIT", at: 3602, device: "other" });
  equal(bench.view(), null);
  equal(bench.view("d", "g")?.inside, true);
  equal(bench.view("nobody"), null);
});

Deno.test("PairViews: all pairs of a device and of no other, those inside first", () => {
  const bench = new Bench();
  const long = "d".repeat(256);
  for (const device of ["d", "dd", "c", long]) {
    bench.record({ kind: "EXIT", at: 0, device, fence: "outside" });
    bench.record({ kind: "ENTER", at: 0, device, fence: "inside" });
    bench.record({ kind: "EXIT", at: 1, device, fence: "f".repeat(256) });
  }
  bench.record({ kind: "HEARTBEAT", at: 20 });
  for (const device of ["d", "dd", long]) {
    const found: number[] = [];
    bench.views.findOf(encoder.encode(device), 0, bench.driver.partition.pairs.rowCount, found);
    const rows = bench.views.inOrder(bench.views.known(encoder.encode(device), [...found, ...found]));
    const views = bench.views.viewsOf(rows);
    deepEqual(views.map(({ fence_id }) => fence_id), ["inside", "f".repeat(256), "outside"]);
    deepEqual(new Set(views.map(({ device_id }) => device_id)), new Set([device]));
  }
});

Deno.test("PairViews: of many records that wait the first hundred are shown, and all counted", () => {
  const bench = new Bench({ dwell: { rules: [{ fence: "*", after: ["1h"] }], lateness: "30m" } });
  for (let i = 300; i > 0; i--) bench.record({ kind: i % 2 === 0 ? "ENTER" : "EXIT", at: i * 4 });
  const view = bench.view();
  equal(view?.waiting_count, 300);
  equal(view?.waiting.length, 100);
  deepEqual([view?.waiting[0]?.event_time, view?.waiting[99]?.event_time], [at(4), at(400)]);
});
