/**
 * The visit rules by themselves: what a record does to its pair, which DWELLs are one, what is pending.
 *
 * Whatever needs a watermark, the window or several pairs is in partition_test.ts.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { Counters } from "../../lib/counters.ts";
import { type DwellOptions, DwellRules, type OldRecord } from "../../lib/dwell.ts";
import { type Kind, KIND_ENTER, KIND_EXIT, KIND_STALE } from "../../lib/kind.ts";
import { END, PairTable, RULE, TIMES } from "../../lib/pair_table.ts";
import { NO_ROW, TimingWheel } from "../../lib/timing_wheel.ts";
import { randomFrom } from "../support/random.ts";

const SECOND = 1_000_000;
/** The middle of a bucket of 2 s. */
const T = 1_780_000_001 * SECOND;
const KINDS = { ENTER: KIND_ENTER, EXIT: KIND_EXIT, STALE: KIND_STALE } as const;
type KindName = keyof typeof KINDS;

/** The rules over one pair; what they tell is kept in words, in seconds. */
class Rig {
  readonly counters = new Counters();
  readonly said: string[] = [];
  /** DWELLs, in seconds, that a crashed process told. */
  readonly toldBefore = new Set<number>();
  readonly pairs = new PairTable();
  readonly wheel = new TimingWheel(this.pairs.links, {
    segments: this.pairs.times,
    stride: TIMES,
    offset: END,
  });
  readonly rules: DwellRules;
  readonly row: number;

  constructor(thresholds: readonly number[], options: Partial<DwellOptions> = {}) {
    const seconds = (us: number): number => (us - T) / SECOND;
    this.rules = new DwellRules({
      pairs: this.pairs,
      wheel: this.wheel,
      counters: this.counters,
      outcomes: {
        earned: (_, { enteredAtUs, thresholdUs, old }) => {
          const flags = `${old !== null ? " late" : ""}${old?.beyondWindow ? " beyond" : ""}`;
          this.said.push(`${seconds(enteredAtUs)}+${thresholdUs / SECOND}${flags}`);
          return true;
        },
        contradicted: (_, dwellTimeUs) => this.said.push(`not ${seconds(dwellTimeUs)}`),
        wasTold: (_, dwellTimeUs) => this.toldBefore.delete(seconds(dwellTimeUs)),
      },
    }, {
      widths: { bucketUs: 2 * SECOND, guardUs: SECOND / 5 },
      maxSkewUs: SECOND / 5,
      onReenter: "restart",
      thresholdsUs: [[], thresholds.map((threshold) => threshold * SECOND)],
      ...options,
    });
    const bytes = Uint8Array.of(1, 2);
    this.row = this.pairs.insert(1, bytes, 0, 1, 1, 2);
    this.pairs.setWord(this.row, RULE, 1);
  }

  apply(kind: KindName, at: number, seqKey = NaN): string {
    return this.rules.apply(this.row, KINDS[kind], T + Math.round(at * SECOND), seqKey);
  }

  /** Late records that are older than what was applied. */
  old(...records: readonly (readonly [kind: KindName, at: number, rest?: Partial<OldRecord>])[]): void {
    this.rules.earnOld(
      this.row,
      records.map(([kind, at, rest]) => ({
        kind: KINDS[kind] as Kind,
        timeUs: T + Math.round(at * SECOND),
        seqKey: NaN,
        suppressed: false,
        beyondWindow: false,
        clockUs: T,
        ...rest,
      })),
    );
  }

  fire(at: number): void {
    this.rules.fireDue(this.row, T + Math.round(at * SECOND));
  }

  /** What was said since the last call. */
  take(): string[] {
    return this.said.splice(0);
  }
}

Deno.test("dwell: what a record does", () => {
  const rig = new Rig([10]);
  const table: readonly (readonly [kind: KindName, at: number, applied: string])[] = [
    ["EXIT", 0, "outside"],
    ["STALE", 0, "outside"],
    ["ENTER", 1, "entered"],
    ["ENTER", 1, "nothing"],
    ["ENTER", 1.5, "nothing"],
    ["ENTER", 4, "entered"],
    ["EXIT", 4, "ended"],
    ["EXIT", 4, "nothing"],
    ["EXIT", 4.5, "outside"],
    ["ENTER", 8, "entered"],
    ["STALE", 9, "ended"],
    ["EXIT", 9, "outside"],
  ];
  for (const [kind, at, applied] of table) equal(rig.apply(kind, at), applied, `${kind} ${at}`);
  deepEqual(rig.take(), []);
  equal(rig.rules.pending, 0);
  equal(rig.wheel.size, 0);
});

Deno.test("dwell: of one kind at one µs only the first is heard, in any mixture", () => {
  const rig = new Rig([10]);
  deepEqual(
    (["ENTER", "EXIT", "ENTER", "EXIT", "STALE", "STALE"] as const).map((kind) => rig.apply(kind, 5)),
    ["entered", "ended", "nothing", "nothing", "outside", "nothing"],
  );
});

Deno.test("dwell: thresholds fire once, as time or the end of the visit reaches them", () => {
  const rig = new Rig([10, 20, 30]);
  rig.apply("ENTER", 0);
  equal(rig.rules.pending, 3);
  rig.fire(9.999999);
  deepEqual(rig.take(), []);
  rig.fire(10);
  rig.fire(10);
  deepEqual(rig.take(), ["0+10"]);
  equal(rig.pairs.time(rig.row, END), T + 20 * SECOND);
  equal(rig.wheel.isScheduled(rig.row), true);
  rig.apply("EXIT", 29);
  deepEqual(rig.take(), ["0+20"]);
  equal(rig.rules.pending, 0);
  equal(rig.wheel.size, 0);
  rig.fire(100);
  deepEqual(rig.take(), []);
});

Deno.test("dwell: the wheel holds the pair at its next deadline, and lets it go", () => {
  const rig = new Rig([10, 20]);
  rig.apply("ENTER", 0);
  equal(rig.wheel.popDue(T + 10 * SECOND - 1), NO_ROW);
  equal(rig.wheel.popDue(T + 10 * SECOND), rig.row);
  rig.fire(10);
  equal(rig.wheel.popDue(T + 20 * SECOND - 1), NO_ROW);
  rig.apply("ENTER", 15);
  equal(rig.wheel.popDue(T + 25 * SECOND - 1), NO_ROW);
  equal(rig.wheel.popDue(T + 25 * SECOND), rig.row);
});

Deno.test("dwell: a pair without thresholds has visits and no deadlines", () => {
  const rig = new Rig([]);
  equal(rig.apply("ENTER", 0), "entered");
  equal(rig.rules.pending, 0);
  equal(rig.wheel.size, 0);
  rig.fire(1000);
  equal(rig.apply("EXIT", 2000), "ended");
  deepEqual(rig.take(), []);
});

Deno.test("dwell: a late re-entry so close that it earns the same id is not told again", () => {
  // Enter times in two buckets, that threshold later in one.
  for (const [threshold, told] of [[10.5, []], [10, ["1.5+10"]]] as const) {
    const rig = new Rig([threshold]);
    rig.apply("ENTER", 0.5);
    rig.fire(15);
    deepEqual(rig.take(), [`0.5+${threshold}`]);
    rig.rules.contradict(rig.row, KIND_ENTER, T + 1.5 * SECOND, NaN);
    equal(rig.apply("ENTER", 1.5), "entered");
    rig.fire(15);
    deepEqual(rig.take(), [`not ${0.5 + threshold}`, ...told]);
  }
});

Deno.test("dwell: old visits earn what they lasted, and tell of what the window could not vouch for", () => {
  const rig = new Rig([10, 20]);
  rig.apply("ENTER", 1000);
  rig.old(
    ["ENTER", 100, { beyondWindow: true }],
    ["EXIT", 120],
    ["ENTER", 200],
    ["ENTER", 212],
    ["EXIT", 215],
    ["ENTER", 300, { suppressed: true }],
    ["EXIT", 400],
    ["ENTER", 500],
    ["STALE", 510],
    ["ENTER", 600],
  );
  deepEqual(rig.take(), ["100+10 late beyond", "100+20 late beyond", "200+10 late", "500+10 late"]);
  // 215, both of the suppressed visit, and the one that never ended.
  equal(rig.counters.lateSkipped, 4);
  equal(rig.rules.pending, 2);
});

Deno.test("dwell: among old records, a suppressed ENTER ends a visit and begins none", () => {
  const rig = new Rig([10]);
  rig.apply("ENTER", 1000);
  rig.old(["ENTER", 100], ["ENTER", 130, { suppressed: true }], ["EXIT", 190]);
  deepEqual(rig.take(), ["100+10 late"]);
  const goesOn = new Rig([10], { onReenter: "continue" });
  goesOn.apply("ENTER", 1000);
  goesOn.old(["ENTER", 100], ["ENTER", 105], ["EXIT", 110]);
  deepEqual(goesOn.take(), ["100+10 late"]);
});

Deno.test("dwell: an old visit does not tell what this visit or the one before has told", () => {
  const rig = new Rig([10]);
  rig.apply("ENTER", 0);
  rig.fire(10);
  rig.apply("EXIT", 20);
  rig.apply("ENTER", 30);
  rig.fire(40);
  rig.take();
  rig.old(["ENTER", 0.4], ["EXIT", 15]);
  deepEqual(rig.take().filter((words) => !words.startsWith("not")), []);
});

Deno.test("dwell: a DWELL told by the wall clock is contradicted as its visit ends before it", () => {
  for (const kind of ["EXIT", "STALE", "ENTER"] as const) {
    const rig = new Rig([10, 20]);
    rig.toldBefore.add(10).add(20);
    rig.apply("ENTER", 0);
    rig.apply(kind, 15);
    deepEqual(rig.take(), ["0+10", "not 20"], kind);
    // Once: a late record says the same.
    rig.rules.contradict(rig.row, KIND_STALE, T + 14 * SECOND, NaN);
    deepEqual(rig.take(), [], kind);
  }
});

Deno.test("dwell: with seq, a late copy of an EXIT that ended a visit contradicts nothing", () => {
  const rig = new Rig([10]);
  rig.apply("ENTER", 0, 1);
  rig.fire(10);
  rig.apply("EXIT", 20, 2);
  rig.apply("ENTER", 30, 3);
  rig.take();
  rig.rules.contradict(rig.row, KIND_EXIT, T + 5 * SECOND, 2);
  rig.rules.contradict(rig.row, KIND_ENTER, T + 5 * SECOND, 1);
  deepEqual(rig.take(), []);
  rig.rules.contradict(rig.row, KIND_EXIT, T + 5 * SECOND, 4);
  deepEqual(rig.take(), ["not 10"]);
});

Deno.test("dwell: sixteen thresholds, of this visit and the one before, told and contradicted", () => {
  const thresholds = Array.from({ length: 16 }, (_, i) => 4 * (i + 1));
  const rig = new Rig(thresholds);
  rig.apply("ENTER", 0);
  rig.fire(64);
  rig.apply("ENTER", 100);
  rig.fire(164);
  equal(rig.take().length, 32);
  rig.rules.contradict(rig.row, KIND_STALE, T + 100 * SECOND, NaN);
  deepEqual(rig.take(), thresholds.map((threshold) => `not ${100 + threshold}`));
  rig.rules.contradict(rig.row, KIND_STALE, T, NaN);
  deepEqual(rig.take(), thresholds.map((threshold) => `not ${threshold}`));
  rig.rules.contradict(rig.row, KIND_STALE, T, NaN);
  deepEqual(rig.take(), []);
});

/** The visits of records in event-time order, as SPEC 3 says them, without seqs: bucket by bucket, edge by edge. */
function visitsOf(records: readonly { kind: KindName; at: number }[]): { enter: number; end: number }[] {
  const same = (a: number, b: number): boolean => {
    const [x, y] = [a + 1, b + 1];
    if (Math.floor(x / 2) === Math.floor(y / 2)) return true;
    const edge = Math.floor(Math.max(x, y) / 2) * 2;
    const [before, after] = [Math.min(x, y), Math.max(x, y)];
    return before >= edge - 0.2 - 1e-9 && after < edge + 0.2 - 1e-9 && Math.abs(x - y) < 0.5;
  };
  const visits: { enter: number; end: number }[] = [];
  let last = "";
  for (const { kind, at } of records) {
    const key = `${kind} ${at}`;
    if (last.split(",").includes(key)) continue;
    last = last.endsWith(` ${at}`) ? `${last},${key}` : key;
    const visit = visits.at(-1);
    const inside = visit !== undefined && visit.end === Infinity;
    if (kind !== "ENTER") {
      if (inside) visit.end = at;
    } else if (inside) {
      if (same(visit.enter, at)) continue;
      visit.end = at;
      visits.push({ enter: at, end: Infinity });
    } else if (visit === undefined || !same(visit.enter, at) || at - visit.enter > 0.2 + 1e-9) {
      visits.push({ enter: at, end: Infinity });
    }
  }
  return visits;
}

Deno.test("dwell: the visits of any records in order, over seeds", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomFrom(seed);
    let tenths = 0;
    const records = Array.from({ length: 40 }, () => {
      tenths += [0, 1, 2, 3, 5, 10, 20, 47, 100][Math.floor(random() * 9)] as number;
      const kind = (["ENTER", "ENTER", "EXIT", "STALE"] as const)[Math.floor(random() * 4)] as KindName;
      return { kind, at: tenths / 10 };
    });
    const rig = new Rig([5, 9]);
    for (const { kind, at } of records) rig.apply(kind, at);
    const end = tenths / 10 + 100;
    rig.fire(end);
    const expected: string[] = [];
    let told = new Set<number>();
    for (const { enter, end: endOfVisit } of visitsOf(records)) {
      const toldNow = new Set<number>();
      for (const threshold of [5, 9]) {
        if (enter + threshold > Math.min(endOfVisit, end) + 1e-9) continue;
        const bucket = Math.floor((enter + threshold + 1) / 2 + 1e-9);
        if (told.has(bucket)) continue;
        toldNow.add(bucket);
        expected.push(`${enter}+${threshold}`);
      }
      told = toldNow;
    }
    deepEqual(rig.take(), expected, `seed ${seed}`);
    equal(rig.rules.pending, 0, `seed ${seed}`);
    equal(rig.wheel.size, 0, `seed ${seed}`);
  }
});
