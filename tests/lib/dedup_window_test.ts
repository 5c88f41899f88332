/**
 * The dedup window: its bounds as tables, and against a plain list of what was put in, over seeds.
 *
 * @module
 */
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { AssertionFailed } from "../../lib/assert.ts";
import { DedupWindow, WINDOW_IMAGE_HEADER_BYTES, WINDOW_ROW_BYTES } from "../../lib/dedup_window.ts";
import { EMPTY } from "../../lib/hash_index.ts";
import { randomFrom } from "../support/random.ts";

/** Asks a window by this clock. */
function has(window: DedupWindow, lanes: Int32Array, base: number, clockUs: number): boolean {
  window.clockUs = clockUs;
  return window.has(lanes, base);
}

function put(
  window: DedupWindow,
  lanes: Int32Array,
  base: number,
  clockUs: number,
  oldestClockUs: number,
): void {
  window.clockUs = clockUs;
  window.oldestClockUs = oldestClockUs;
  window.put(lanes, base);
}

function expire(window: DedupWindow, oldestClockUs: number): void {
  window.oldestClockUs = oldestClockUs;
  window.expire();
}

const TTL = 300_000_000;
const T = 1_780_000_000_000_000;

/** The four words of an id. The index looks by the last of them, which four ids share. */
function idOf(number: number): Int32Array {
  return Int32Array.of(number & 1, number & 2, 77, Math.imul(number >>> 2, 0x9E37_79B1));
}

function windowOf(capacity = 1_000_000, ttlUs = TTL): DedupWindow {
  return new DedupWindow({ ttlUs, capacity });
}

Deno.test("dedup window: an id is known until ttl has passed", () => {
  const table: readonly (readonly [afterUs: number, known: boolean])[] = [
    [0, true],
    [1, true],
    [TTL - 1, true],
    [TTL, false],
    [TTL + 1, false],
    [100 * TTL, false],
  ];
  for (const [afterUs, known] of table) {
    const window = windowOf();
    put(window, idOf(7), 0, T, T);
    equal(has(window, idOf(7), 0, T + afterUs), known, `${afterUs} µs later`);
    expire(window, T + afterUs);
    equal(window.size, known ? 1 : 0, `${afterUs} µs later`);
  }
});

Deno.test("dedup window: each of the 128 bits counts", () => {
  const window = windowOf();
  const id = Int32Array.of(0x0123_4567, 0x89ab_cdef, 0xdead_beef, 0x0bad_cafe);
  put(window, id, 0, T, T);
  ok(has(window, id, 0, T));
  for (let bit = 0; bit < 128; bit++) {
    const other = id.slice();
    other[bit >>> 5] = (other[bit >>> 5] as number) ^ (1 << (bit & 31));
    equal(has(window, other, 0, T), false, `bit ${bit}`);
  }
});

Deno.test("dedup window: ids are read at their place in the lanes", () => {
  const window = windowOf();
  const lanes = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  put(window, lanes, 4, T, T);
  equal(has(window, lanes, 0, T), false);
  equal(has(window, Int32Array.of(5, 6, 7, 8), 0, T), true);
});

Deno.test("dedup window: at capacity the oldest leaves, and is counted if it was alive", () => {
  const window = windowOf(3);
  for (const number of [1, 2, 3]) put(window, idOf(number), 0, T + number, T + number);
  equal(window.evictedLive, 0);
  put(window, idOf(4), 0, T + 4, T + 4);
  equal(window.evictedLive, 1);
  deepEqual([1, 2, 3, 4].map((number) => has(window, idOf(number), 0, T + 4)), [false, true, true, true]);
  equal(window.size, 3);
  // Two of the three have expired by now: there is room.
  put(window, idOf(5), 0, T + 3 + TTL, T + 3 + TTL);
  equal(window.evictedLive, 1);
  equal(window.size, 2);
});

Deno.test("dedup window: a capacity that its index can't tell apart is a defect", () => {
  throws(() => windowOf(EMPTY), AssertionFailed);
  throws(() => windowOf(0), AssertionFailed);
  windowOf(EMPTY - 1);
});

Deno.test("dedup window: a capacity of one", () => {
  const window = windowOf(1);
  for (let number = 0; number < 5000; number++) {
    put(window, idOf(number), 0, T, T);
    equal(window.size, 1);
    ok(has(window, idOf(number), 0, T));
    if (number > 0) equal(has(window, idOf(number - 1), 0, T), false);
  }
  equal(window.evictedLive, 4999);
});

Deno.test("dedup window: with clocks that do not ascend, an expired id is superseded, not doubled", () => {
  const window = windowOf();
  put(window, idOf(1), 0, T, T);
  // A record that came at T + 10 still waits: what it might be asked by stays.
  const later = T + TTL + 5;
  equal(has(window, idOf(1), 0, later), false);
  put(window, idOf(1), 0, later, T + 10);
  equal(window.size, 2);
  equal(has(window, idOf(1), 0, later + 1), true);
  expire(window, T + TTL);
  equal(window.size, 1);
  equal(has(window, idOf(1), 0, later + TTL - 1), true);
  equal(has(window, idOf(1), 0, later + TTL), false);
});

Deno.test("dedup window: an expired id behind one that lives is superseded as well", () => {
  const window = windowOf();
  // In event-time order: the first record arrived last.
  put(window, idOf(1), 0, T + 20, T + 10);
  put(window, idOf(2), 0, T + 10, T + 10);
  const clockUs = T + TTL + 10;
  equal(has(window, idOf(2), 0, clockUs), false);
  put(window, idOf(2), 0, clockUs, clockUs);
  equal(has(window, idOf(2), 0, clockUs), true);
  equal(has(window, idOf(2), 0, clockUs + TTL - 1), true);
});

Deno.test("dedup window: the contract of time, whatever the capacity spares", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = randomFrom(seed);
    const window = windowOf();
    const putAtUs = new Map<number, number>();
    let clockUs = T;
    for (let step = 0; step < 4000; step++) {
      clockUs += Math.floor(random() ** 4 * TTL / 20);
      const number = Math.floor(random() * 400);
      const sinceUs = clockUs - (putAtUs.get(number) ?? -Infinity);
      const known = has(window, idOf(number), 0, clockUs);
      equal(known, sinceUs < TTL, `seed ${seed}, step ${step}`);
      if (known) continue;
      put(window, idOf(number), 0, clockUs, clockUs);
      putAtUs.set(number, clockUs);
    }
    equal(window.evictedLive, 0);
  }
});

/** A window as a plain list. */
class WindowModel {
  readonly rows: { number: number; clockUs: number }[] = [];
  head = 0;
  evictedLive = 0;

  constructor(readonly capacity: number) {}

  has(number: number, clockUs: number): boolean {
    const row = this.rows.findLast((other) => other.number === number);
    return row !== undefined && clockUs - row.clockUs < TTL;
  }

  expire(clockUs: number): void {
    while (this.rows.length > 0 && clockUs - (this.rows[0]?.clockUs as number) >= TTL) this.#drop();
  }

  put(number: number, clockUs: number, oldestClockUs: number): void {
    this.expire(oldestClockUs);
    if (this.rows.length === this.capacity) {
      if (clockUs - (this.rows[0]?.clockUs as number) < TTL) this.evictedLive++;
      this.#drop();
    }
    this.rows.push({ number, clockUs });
  }

  #drop(): void {
    this.rows.shift();
    this.head++;
  }
}

/** The arrival clocks of records that leave in event-time order: each may be asked once more, later. */
function clocksOutOfOrder(random: () => number): () => { clockUs: number; oldestClockUs: number } {
  const waiting: number[] = [];
  let arrivalUs = T;
  return () => {
    while (waiting.length < 1 || random() < 0.5 && waiting.length < 30) {
      arrivalUs += Math.floor(random() ** 6 * TTL / 2);
      waiting.push(arrivalUs);
    }
    const oldestClockUs = waiting[0] as number;
    const [clockUs] = waiting.splice(Math.floor(random() * Math.min(waiting.length, 6)), 1);
    return { clockUs: clockUs as number, oldestClockUs };
  };
}

Deno.test("dedup window: as a plain list has it, by clocks that ascend or do not, at any capacity", () => {
  for (const capacity of [1, 2, 17, 300, 1_000_000]) {
    for (let seed = 1; seed <= 8; seed++) {
      const random = randomFrom(seed * 1000 + capacity);
      const next = clocksOutOfOrder(random);
      const inOrder = seed % 2 === 0;
      const window = windowOf(capacity);
      const model = new WindowModel(capacity);
      let ascendingUs = T;
      for (let step = 0; step < 1200; step++) {
        const where = `capacity ${capacity}, seed ${seed}, step ${step}`;
        ascendingUs += Math.floor(random() ** 6 * TTL);
        const { clockUs, oldestClockUs } = inOrder
          ? { clockUs: ascendingUs, oldestClockUs: ascendingUs }
          : next();
        const number = Math.floor(random() * 350);
        const known = model.has(number, clockUs);
        equal(has(window, idOf(number), 0, clockUs), known, where);
        if (!known) {
          put(window, idOf(number), 0, clockUs, oldestClockUs);
          model.put(number, clockUs, oldestClockUs);
        } else if (random() < 0.1) {
          expire(window, oldestClockUs);
          model.expire(oldestClockUs);
        }
        equal(window.size, model.rows.length, where);
        equal(window.head, model.head, where);
        equal(window.tail, model.head + model.rows.length, where);
        equal(window.evictedLive, model.evictedLive, where);
      }
    }
  }
});

/** A window that holds what another one holds, by way of bytes, in pieces of up to so many rows. */
function restored(window: DedupWindow, pieceRows: number, from = window.head): DedupWindow {
  const copy = windowOf();
  copy.restoreFrom(from);
  for (let start = from; start < window.tail; start += pieceRows) {
    const end = Math.min(start + pieceRows, window.tail);
    const bytes = window.copyRows(start, end);
    equal(bytes.length, WINDOW_IMAGE_HEADER_BYTES + (end - start) * WINDOW_ROW_BYTES);
    copy.restoreRows(start, bytes);
  }
  return copy;
}

Deno.test("dedup window: a restored one gives the same answers from there on", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = randomFrom(seed);
    const window = windowOf();
    let clockUs = T;
    let copy: DedupWindow | null = null;
    for (let step = 0; step < 6000; step++) {
      if (step === 3000) copy = restored(window, 1 + Math.floor(random() * 700));
      clockUs += Math.floor(random() * TTL / 2500);
      const number = Math.floor(random() * 6000);
      const known = has(window, idOf(number), 0, clockUs);
      if (copy !== null) {
        equal(has(copy, idOf(number), 0, clockUs), known, `seed ${seed}, step ${step}`);
        equal(copy.tail, window.tail);
      }
      if (known) continue;
      put(window, idOf(number), 0, clockUs, clockUs);
      if (copy !== null) put(copy, idOf(number), 0, clockUs, clockUs);
    }
    equal(copy?.head, window.head);
  }
});

Deno.test("dedup window: one that is restored with a smaller capacity comes down to it", () => {
  const window = windowOf(10);
  for (let number = 0; number < 10; number++) put(window, idOf(number), 0, T, T);
  const copy = windowOf(4);
  copy.restoreFrom(window.head);
  copy.restoreRows(window.head, window.copyRows(window.head, window.tail));
  put(copy, idOf(10), 0, T + 1, T + 1);
  equal(copy.size, 4);
  equal(copy.evictedLive, 7);
  const known = Array.from({ length: 11 }, (_, number) => has(copy, idOf(number), 0, T + 1));
  deepEqual(known, [...new Array<boolean>(7).fill(false), ...new Array<boolean>(4).fill(true)]);
});

Deno.test("dedup window: rows that are restored twice, or from before the head, are skipped", () => {
  const window = windowOf();
  for (let number = 0; number < 100; number++) put(window, idOf(number), 0, T + number, T + number);
  const copy = windowOf();
  copy.restoreFrom(10);
  copy.restoreRows(0, window.copyRows(0, 60));
  copy.restoreRows(40, window.copyRows(40, 100));
  equal(copy.head, 10);
  equal(copy.tail, 100);
  for (let number = 0; number < 100; number++) {
    equal(has(copy, idOf(number), 0, T + 100), number >= 10, `id ${number}`);
  }
  throws(() => copy.restoreRows(101, window.copyRows(0, 1)), AssertionFailed);
  throws(() => copy.restoreFrom(0), AssertionFailed);
});

Deno.test("dedup window: rows are copied as far as their clocks lie near the first one's", () => {
  const window = windowOf();
  const clocksUs = [T, T + 2 ** 31 - 1, T + 2 ** 31, T - 2 ** 31, T - 2 ** 31 - 1, T];
  clocksUs.forEach((clockUs, number) => put(window, idOf(number), 0, clockUs, T - 2 ** 32));
  const copy = windowOf();
  copy.restoreFrom(0);
  const counts: number[] = [];
  for (let from = 0; from < clocksUs.length;) {
    const bytes = window.copyRows(from, clocksUs.length);
    copy.restoreRows(from, bytes);
    counts.push((bytes.length - WINDOW_IMAGE_HEADER_BYTES) / WINDOW_ROW_BYTES);
    from += counts.at(-1) as number;
  }
  deepEqual(counts, [2, 1, 2, 1]);
  for (const [number, clockUs] of clocksUs.entries()) {
    equal(has(copy, idOf(number), 0, clockUs + TTL - 1), true, `id ${number}`);
    equal(has(copy, idOf(number), 0, clockUs + TTL), false, `id ${number}`);
  }
});

Deno.test("dedup window: an id that stands twice in the ring is restored as the later one", () => {
  const window = windowOf();
  put(window, idOf(1), 0, T, T);
  put(window, idOf(1), 0, T + TTL + 5, T + 10);
  const copy = restored(window, 1);
  equal(copy.size, 2);
  equal(has(copy, idOf(1), 0, T + TTL + 6), true);
  expire(copy, T + TTL + 5);
  equal(copy.size, 1);
  equal(has(copy, idOf(1), 0, T + TTL + 6), true);
});

Deno.test("dedup window: numbers beyond 2^31, 2^32 and twice that", () => {
  for (const around of [2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 * (2 ** 32 - 1), 2 ** 33, 2 ** 45]) {
    for (const before of [1, 2047, 3000]) {
      const random = randomFrom(around + before);
      const window = windowOf(2500);
      window.restoreFrom(around - before);
      const model = new WindowModel(2500);
      let clockUs = T;
      for (let step = 0; step < 5000; step++) {
        clockUs += Math.floor(random() * TTL / 3000);
        const number = Math.floor(random() * 40_000);
        const where = `${before} before ${around}, step ${step}`;
        if (step % 5 === 0) {
          // One that is in the window, or has just left it.
          const row = model.rows[Math.floor(random() ** 8 * model.rows.length)];
          if (row !== undefined) {
            equal(has(window, idOf(row.number), 0, clockUs), model.has(row.number, clockUs), where);
          }
        }
        if (has(window, idOf(number), 0, clockUs)) continue;
        put(window, idOf(number), 0, clockUs, clockUs);
        model.put(number, clockUs, clockUs);
      }
      equal(window.head, around - before + model.head);
      equal(window.size, model.rows.length);
      equal(window.evictedLive, model.evictedLive);
      for (const row of model.rows) {
        ok(has(window, idOf(row.number), 0, clockUs) === model.has(row.number, clockUs));
      }
      const copy = restored(window, 256, window.head);
      for (const row of model.rows) {
        equal(has(copy, idOf(row.number), 0, clockUs), model.has(row.number, clockUs));
      }
    }
  }
});

Deno.test("dedup window: what has left is given back", () => {
  const window = windowOf();
  for (let number = 0; number < 50_000; number++) put(window, idOf(number), 0, T + number, T + number);
  const full = window.byteLength;
  expire(window, T + TTL + 50_000);
  equal(window.size, 0);
  ok(window.byteLength < full / 2, `${window.byteLength} of ${full} bytes`);
});

Deno.test("dedup window: admit is has and put in one step, over seeds", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = randomFrom(seed);
    const one = windowOf();
    const two = windowOf();
    let clockUs = T;
    for (let step = 0; step < 6000; step++) {
      clockUs += Math.floor(random() * TTL / 500);
      const lanes = idOf(Math.floor(random() * 2000));
      const known = has(two, lanes, 0, clockUs);
      if (!known) put(two, lanes, 0, clockUs, clockUs);
      one.clockUs = one.oldestClockUs = clockUs;
      equal(one.admit(lanes, 0), !known, `seed ${seed}, step ${step}`);
      equal(one.tail, two.tail);
    }
    expire(one, clockUs);
    expire(two, clockUs);
    equal(one.head, two.head);
  }
});
