/**
 * The timing wheel: every edge of its levels as a table, and against a plain list of deadlines over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { LINK_SEGMENT_BITS, NO_ROW, TimingWheel, WheelLinks } from "../../lib/timing_wheel.ts";
import { randomFrom } from "../support/random.ts";

const TICK = 65_536;
const PERIOD = 256 * TICK;
const LAP = 4096 * PERIOD;
const DAY = 86_400_000_000;
const YEAR = 365 * DAY;
/** The beginning of a lap, some time in 2026. */
const T = Math.floor(1_780_000_000_000_000 / LAP) * LAP;

/** A wheel over rows whose deadlines lie in an array. */
class Rig {
  readonly deadlines: Float64Array;
  readonly links: WheelLinks;
  readonly wheel: TimingWheel;

  constructor(rowCount = 1 << LINK_SEGMENT_BITS) {
    const segments: Int32Array[] = [];
    for (let row = 0; row < rowCount; row += 1 << LINK_SEGMENT_BITS) {
      segments.push(new Int32Array(2 << LINK_SEGMENT_BITS));
    }
    this.links = new WheelLinks(segments, { stride: 2, offset: 0 });
    this.deadlines = new Float64Array(segments.length << LINK_SEGMENT_BITS);
    this.wheel = new TimingWheel(this.links, {
      segments: segments.map((_, i) =>
        this.deadlines.subarray(i << LINK_SEGMENT_BITS, (i + 1) << LINK_SEGMENT_BITS)
      ),
      stride: 1,
      offset: 0,
    });
  }

  schedule(row: number, deadlineUs: number): void {
    this.deadlines[row] = deadlineUs;
    this.wheel.schedule(row);
  }

  /** Takes out all that is due. */
  due(nowUs: number): number[] {
    const rows: number[] = [];
    for (let row = this.wheel.popDue(nowUs); row !== NO_ROW; row = this.wheel.popDue(nowUs)) rows.push(row);
    return rows;
  }
}

/** Distances from now that lie at an edge of the wheel, or far from any. */
const DISTANCES: readonly number[] = [
  ...[0, TICK, 2 * TICK, 255 * TICK, PERIOD, 2 * PERIOD, LAP - PERIOD, LAP, LAP + PERIOD, 2 * LAP, 9 * LAP],
  ...[7 * DAY, 30 * DAY, YEAR, 10 * YEAR, 600_000_000],
].flatMap((distance) => [distance - 1, distance, distance + 1]).filter((distance) => distance >= 0);

/** Where in a lap, a period and a tick time may stand. */
const STARTS: readonly number[] = [
  T,
  T + 1,
  T - 1,
  T + TICK - 1,
  T + TICK,
  T + PERIOD - 1,
  T + PERIOD - TICK,
  T + 77 * PERIOD + 200 * TICK + 12_345,
  T + LAP - 1,
  T + LAP - PERIOD,
];

Deno.test("timing wheel: a row is due at its deadline, not a µs before it", () => {
  for (const start of STARTS) {
    for (const distance of DISTANCES) {
      const where = `${start - T} + ${distance}`;
      const rig = new Rig();
      // Time stands at the start: another row was due then.
      rig.schedule(0, start);
      deepEqual(rig.due(start), [0], where);
      rig.schedule(1, start + distance);
      deepEqual(rig.due(start + distance - 1), [], where);
      equal(rig.wheel.size, 1, where);
      equal(rig.wheel.isScheduled(1), true, where);
      deepEqual(rig.due(start + distance), [1], where);
      equal(rig.wheel.isScheduled(1), false, where);
      equal(rig.wheel.size, 0, where);
      deepEqual(rig.due(start + distance + 1), [], where);
    }
  }
});

Deno.test("timing wheel: one jump past all deadlines brings them in their order", () => {
  for (const start of STARTS) {
    const rig = new Rig();
    rig.schedule(0, start);
    deepEqual(rig.due(start), [0]);
    const random = randomFrom(start - T);
    const rows = DISTANCES.map((_, i) => i + 1).sort(() => random() - 0.5);
    for (const row of rows) rig.schedule(row, start + (DISTANCES[row - 1] as number));
    const due = rig.due(start + 20 * YEAR);
    deepEqual(
      due.map((row) => DISTANCES[row - 1]),
      DISTANCES.toSorted((a, b) => a - b),
    );
  }
});

Deno.test("timing wheel: a row that was due long ago is due at once, and before later ones", () => {
  const rig = new Rig();
  rig.schedule(0, T);
  deepEqual(rig.due(T + YEAR), [0]);
  rig.schedule(1, T + YEAR);
  rig.schedule(2, T + 5);
  rig.schedule(3, T - YEAR);
  deepEqual(rig.due(T + YEAR - 1), [3, 2]);
  deepEqual(rig.due(T + YEAR), [1]);
});

Deno.test("timing wheel: time that goes back is no error", () => {
  const rig = new Rig();
  rig.schedule(0, T + PERIOD);
  rig.schedule(1, T + 2 * PERIOD);
  deepEqual(rig.due(T + PERIOD), [0]);
  deepEqual(rig.due(T), []);
  deepEqual(rig.due(T + 2 * PERIOD), [1]);
});

Deno.test("timing wheel: equal deadlines come in the order in which they were scheduled, at any level", () => {
  for (const distance of DISTANCES) {
    for (const count of [2, 31, 33, 200]) {
      const rig = new Rig();
      rig.schedule(1000, T);
      rig.due(T);
      const rows = Array.from({ length: count }, (_, i) => (i * 37) % count);
      // Half of them are scheduled when their deadline is far, half when it has come close.
      const half = Math.floor(count / 2);
      for (const row of rows.slice(0, half)) rig.schedule(row, T + distance);
      rig.due(T + distance - 1);
      for (const row of rows.slice(half)) rig.schedule(row, T + distance);
      const distinct = new Set(rows);
      if (distinct.size < rows.length) continue;
      deepEqual(rig.due(T + distance), rows, `${count} at ${distance}`);
    }
  }
});

Deno.test("timing wheel: cancelled rows are not due, wherever in their list they hang", () => {
  for (const distance of [0, 5, TICK, 3 * TICK, PERIOD, 5 * PERIOD, LAP, YEAR]) {
    for (const gone of [[0], [1], [2], [0, 1], [2, 1], [0, 2], [0, 1, 2]]) {
      const rig = new Rig();
      rig.schedule(9, T);
      rig.due(T);
      for (const row of [0, 1, 2]) rig.schedule(row, T + distance);
      for (const row of gone) rig.wheel.cancel(row);
      const left = [0, 1, 2].filter((row) => !gone.includes(row));
      for (const row of gone) equal(rig.wheel.isScheduled(row), false);
      equal(rig.wheel.size, left.length);
      equal(rig.wheel.nextDeadlineUs() === Infinity, left.length === 0);
      deepEqual(rig.due(T + distance), left, `${gone} gone at ${distance}`);
    }
  }
});

Deno.test("timing wheel: a row of the current tick is cancelled and scheduled again", () => {
  const table: readonly (readonly [name: string, deadlineUs: number, due: number[]])[] = [
    ["earlier in the tick", T + 1, [0, 1]],
    ["at the same µs", T + 10, [0, 1]],
    ["later in the tick", T + 30, [1, 0]],
    ["in another tick", T + 3 * TICK, [1, 0]],
    ["a week ahead", T + 7 * DAY, [1, 0]],
  ];
  for (const [name, deadlineUs, due] of table) {
    const rig = new Rig();
    rig.schedule(9, T);
    rig.due(T);
    rig.schedule(0, T + 10);
    rig.schedule(1, T + 20);
    rig.wheel.cancel(0);
    rig.schedule(0, deadlineUs);
    equal(rig.wheel.size, 2, name);
    deepEqual(rig.due(T + YEAR), due, name);
    equal(rig.wheel.size, 0, name);
  }
});

Deno.test("timing wheel: a row cancelled in the current tick and scheduled there again and again is due once", () => {
  const rig = new Rig();
  rig.schedule(9, T);
  rig.due(T);
  for (let turn = 0; turn < 500; turn++) {
    rig.schedule(0, T + 10 + turn % 7);
    rig.wheel.cancel(0);
  }
  equal(rig.wheel.nextDeadlineUs(), Infinity);
  equal(rig.wheel.first(), NO_ROW);
  rig.schedule(0, T + 12);
  equal(rig.wheel.nextDeadlineUs(), T + 12);
  deepEqual(rig.due(T + 11), []);
  deepEqual(rig.due(T + TICK), [0]);
});

Deno.test("timing wheel: the owner stops when it has had enough, and goes on", () => {
  const rig = new Rig();
  for (let row = 0; row < 100; row++) rig.schedule(row, T + (row % 10) * TICK * 100 + row);
  const rows: number[] = [];
  for (let row = rig.wheel.popDue(T + YEAR); row !== NO_ROW; row = rig.wheel.popDue(T + YEAR)) {
    rows.push(row);
    // What is scheduled between two turns, and due, comes in its order too.
    if (rows.length === 50) rig.schedule(100, T - 1);
  }
  const expected = Array.from({ length: 100 }, (_, row) => row)
    .sort((a, b) => (rig.deadlines[a] as number) - (rig.deadlines[b] as number));
  deepEqual(rows, [...expected.slice(0, 50), 100, ...expected.slice(50)]);
});

Deno.test("timing wheel: first() tells the first row and leaves it", () => {
  for (const distance of DISTANCES) {
    const rig = new Rig();
    equal(rig.wheel.first(), NO_ROW);
    rig.schedule(0, T);
    rig.due(T);
    rig.schedule(1, T + distance);
    rig.schedule(2, T + distance + 1);
    equal(rig.wheel.first(), 1);
    equal(rig.wheel.first(), 1);
    equal(rig.wheel.size, 2);
    equal(rig.wheel.isScheduled(1), true);
    // It looked ahead, but time has not passed.
    deepEqual(rig.due(T + distance - 1), []);
    if (distance > 2) {
      rig.schedule(3, T + distance - 2);
      equal(rig.wheel.first(), 3);
      deepEqual(rig.due(T + distance - 1), [3]);
    }
    rig.wheel.cancel(1);
    equal(rig.wheel.first(), 2);
    deepEqual(rig.due(T + distance + 1), [2]);
  }
});

Deno.test("timing wheel: the next deadline is a lower bound that leads to it in a few steps", () => {
  for (const start of STARTS) {
    for (const distance of DISTANCES) {
      const rig = new Rig();
      rig.schedule(0, start);
      rig.due(start);
      equal(rig.wheel.nextDeadlineUs(), Infinity);
      rig.schedule(1, start + distance);
      let row = NO_ROW;
      let steps = 0;
      for (let boundUs = -Infinity; row === NO_ROW; steps++) {
        const nextUs = rig.wheel.nextDeadlineUs();
        ok(nextUs <= start + distance && nextUs >= boundUs, `${start - T} + ${distance}: ${nextUs - start}`);
        boundUs = nextUs;
        row = rig.wheel.popDue(nextUs);
        // A bound that was met without a row is not given again; a row of the tick is told exactly.
        ok(row !== NO_ROW || rig.wheel.nextDeadlineUs() > boundUs, `${start - T} + ${distance} stands still`);
      }
      equal(row, 1);
      ok(steps <= distance / LAP + 4, `${start - T} + ${distance}: ${steps} steps`);
    }
  }
});

interface Scheduled {
  readonly row: number;
  readonly deadlineUs: number;
  readonly order: number;
}

/** The wheel as a plain list. */
class WheelModel {
  #scheduled: Scheduled[] = [];
  #order = 0;

  get size(): number {
    return this.#scheduled.length;
  }

  schedule(row: number, deadlineUs: number): void {
    this.#scheduled.push({ row, deadlineUs, order: this.#order++ });
    this.#scheduled.sort((a, b) => a.deadlineUs - b.deadlineUs || a.order - b.order);
  }

  cancel(row: number): void {
    this.#scheduled = this.#scheduled.filter((other) => other.row !== row);
  }

  first(): Scheduled | undefined {
    return this.#scheduled[0];
  }

  popDue(nowUs: number): number {
    if (this.#scheduled.length === 0 || (this.#scheduled[0] as Scheduled).deadlineUs > nowUs) return NO_ROW;
    return (this.#scheduled.shift() as Scheduled).row;
  }

  rows(): number[] {
    return this.#scheduled.map(({ row }) => row);
  }
}

const SPANS: readonly (readonly [name: string, spans: readonly number[]])[] = [
  ["a tick", [3, TICK]],
  ["ticks", [TICK, 20 * TICK]],
  ["periods", [TICK, PERIOD, 5 * PERIOD]],
  ["laps", [PERIOD, 200 * PERIOD, LAP, 3 * LAP]],
  ["all", [3, TICK, PERIOD, 100 * PERIOD, LAP, YEAR]],
];

Deno.test("timing wheel: as a plain list has it, over spans of all sizes", () => {
  for (const [name, spans] of SPANS) {
    for (let seed = 1; seed <= 12; seed++) {
      const random = randomFrom(seed);
      const rig = new Rig();
      const model = new WheelModel();
      const span = (): number =>
        Math.floor(random() * (spans[Math.floor(random() * spans.length)] as number));
      let nowUs = T + Math.floor(random() * LAP);
      let spare = 0;
      for (let step = 0; step < 700; step++) {
        const where = `${name}, seed ${seed}, step ${step}`;
        const chance = random();
        if (chance < 0.55 || model.size === 0) {
          // A row that was used before only comes back at another µs: see popDue on equal ones in the current tick.
          let row = spare;
          if (random() < 0.3 && spare > 0) row = Math.floor(random() * spare);
          if (row === spare) spare++;
          else if (rig.wheel.isScheduled(row)) continue;
          let deadlineUs = nowUs + span() - Math.floor(random() < 0.1 ? span() : 0);
          if (random() < 0.2) deadlineUs = Math.round(deadlineUs / TICK) * TICK;
          if (random() < 0.1) deadlineUs = Math.round(deadlineUs / PERIOD) * PERIOD;
          if (random() < 0.2) deadlineUs = model.first()?.deadlineUs ?? deadlineUs;
          if (deadlineUs === rig.deadlines[row]) deadlineUs++;
          rig.schedule(row, deadlineUs);
          model.schedule(row, deadlineUs);
        } else if (chance < 0.75) {
          const rows = model.rows();
          const row = rows[Math.floor(random() * rows.length)] as number;
          equal(rig.wheel.isScheduled(row), true, where);
          rig.wheel.cancel(row);
          model.cancel(row);
        } else if (chance < 0.8) {
          equal(rig.wheel.first(), model.first()?.row, where);
        } else {
          nowUs += span();
          if (random() < 0.2) nowUs = model.first()?.deadlineUs ?? nowUs;
          const countMax = random() < 0.3 ? 3 : Infinity;
          for (let count = 0; count < countMax; count++) {
            const row = rig.wheel.popDue(nowUs);
            equal(row, model.popDue(nowUs), where);
            if (row === NO_ROW) break;
            equal(rig.wheel.isScheduled(row), false, where);
          }
        }
        equal(rig.wheel.size, model.size, where);
        const nextUs = rig.wheel.nextDeadlineUs();
        ok(nextUs <= (model.first()?.deadlineUs ?? Infinity), where);
        equal(nextUs === Infinity, model.size === 0, where);
      }
      for (let row = model.popDue(Infinity); row !== NO_ROW; row = model.popDue(Infinity)) {
        equal(rig.wheel.popDue(Number.MAX_SAFE_INTEGER), row, `${name}, seed ${seed}, at the end`);
      }
      equal(rig.wheel.popDue(Number.MAX_SAFE_INTEGER), NO_ROW);
    }
  }
});

Deno.test("timing wheel: rows of many segments, and runs longer than any array to begin with", () => {
  const count = 20_000;
  const rig = new Rig(count);
  const random = randomFrom(4);
  // All in two ticks.
  for (let row = 0; row < count; row++) rig.schedule(row, T + PERIOD + Math.floor(random() * 2 * TICK));
  for (let row = 0; row < count; row += 3) rig.wheel.cancel(row);
  const due = rig.due(T + LAP);
  const expected = Array.from({ length: count }, (_, row) => row).filter((row) => row % 3 !== 0)
    .sort((a, b) => (rig.deadlines[a] as number) - (rig.deadlines[b] as number));
  deepEqual(due, expected);
  ok(rig.wheel.byteLength > 0);
});
