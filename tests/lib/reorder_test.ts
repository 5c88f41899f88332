/**
 * What waits and what is held, against plain lists over seeds, and through a checkpoint's images.
 *
 * @module
 */
import { deepEqual, equal, throws } from "node:assert/strict";
import { AssertionFailed } from "../../lib/assert.ts";
import { type Kind, KIND_ENTER, KIND_EXIT, KIND_NAMES, KIND_STALE } from "../../lib/kind.ts";
import { ENTRY_BYTES, type EntryExtras, type NewEntry, ReorderBuffer } from "../../lib/reorder.ts";
import { NO_ROW } from "../../lib/timing_wheel.ts";
import { TransitionBatch } from "../../lib/transition_batch.ts";
import { randomFrom } from "../support/random.ts";

const T = 1_780_000_000_000_000;
const SECOND = 1_000_000;
const KINDS: readonly Kind[] = [KIND_ENTER, KIND_EXIT, KIND_STALE];

function record(row: number, timeUs: number, rest: Partial<NewEntry> = {}): NewEntry {
  return {
    row,
    timeUs,
    kind: KIND_ENTER,
    clockUs: timeUs,
    suppressed: false,
    beyondWindow: false,
    extras: null,
    ...rest,
  };
}

function wait(buffer: ReorderBuffer, { row, kind, timeUs, clockUs, beyondWindow, extras }: NewEntry): void {
  const batch = new TransitionBatch(1);
  const bytes = new Uint8Array(0);
  const nowhere = { deviceStart: 0, deviceEnd: 0, fenceStart: 0, fenceEnd: 0, seqStart: 0, seqEnd: 0 };
  batch.push(
    { kind, bytes, ...nowhere, eventTimeUs: timeUs, attributesStart: 0, attributesEnd: 0 },
    {
      watermarkBeforeUs: -Infinity,
      dedupClockUs: clockUs,
      deviceHash: 0,
      recordBytes: bytes,
      recordStart: 0,
      recordEnd: 0,
      offset: 0,
      line: 0,
      knownLate: false,
      part: 0,
    },
  );
  buffer.wait(batch, 0, row, beyondWindow, extras);
}

/** All that an entry tells. */
function told(buffer: ReorderBuffer, entry: number): NewEntry & { held: boolean } {
  return {
    row: buffer.row(entry),
    kind: buffer.kind(entry),
    timeUs: buffer.timeUs(entry),
    clockUs: buffer.clockUs(entry),
    suppressed: buffer.suppressed(entry),
    beyondWindow: buffer.beyondWindow(entry),
    extras: buffer.extras(entry) ?? null,
    held: buffer.isHeld(entry),
  };
}

/** Rows and times, relative to T, of all that is due, released. */
function popAll(buffer: ReorderBuffer, watermarkUs: number): [row: number, us: number][] {
  const popped: [number, number][] = [];
  for (let entry = buffer.popDue(watermarkUs); entry !== NO_ROW; entry = buffer.popDue(watermarkUs)) {
    popped.push([buffer.row(entry), buffer.timeUs(entry) - T]);
    buffer.release(entry);
  }
  return popped;
}

Deno.test("reorder buffer: what waits is let go at its time, equal times as they came", () => {
  const buffer = new ReorderBuffer({ ordered: false });
  const times = [5, 3, 5, 4, 3, 5];
  times.forEach((us, row) => wait(buffer, record(row, T + us)));
  equal(buffer.firstWaitingUs(), T + 3);
  deepEqual(popAll(buffer, T + 2), []);
  deepEqual(popAll(buffer, T + 4), [[1, 3], [4, 3], [3, 4]]);
  equal(buffer.firstWaitingUs(), T + 5);
  deepEqual(popAll(buffer, T + 5), [[0, 5], [2, 5], [5, 5]]);
  equal(buffer.firstWaitingUs(), Infinity);
  equal(buffer.size, 0);
});

Deno.test("reorder buffer: a group is due by its first record, and taken in event-time order", () => {
  const buffer = new ReorderBuffer({ ordered: false });
  equal(buffer.firstGroupDueUs(), Infinity);
  equal(buffer.hold(record(7, T + 9), T + 100), 1);
  equal(buffer.hold(record(8, T + 1), T + 150), 1);
  equal(buffer.hold(record(7, T + 2), T + 200), 2);
  equal(buffer.hold(record(7, T + 9, { kind: KIND_EXIT }), T + 300), 3);
  equal(buffer.heldCount, 4);
  equal(buffer.firstGroupDueUs(), T + 100);
  // Held records do not wait.
  equal(buffer.popDue(Infinity), NO_ROW);
  equal(buffer.firstWaitingUs(), Infinity);
  for (const [watermarkUs, row] of [[T + 99, NO_ROW], [T + 100, 7], [T + 101, 7]] as const) {
    equal(buffer.dueGroup(watermarkUs), row);
  }
  const group = buffer.takeGroup(7);
  deepEqual(
    group.map((entry) => `${buffer.timeUs(entry) - T} ${KIND_NAMES[buffer.kind(entry)]}`),
    ["2 ENTER", "9 ENTER", "9 EXIT"],
  );
  for (const entry of group) buffer.release(entry);
  equal(buffer.dueGroup(T + 149), NO_ROW);
  equal(buffer.dueGroup(T + 150), 8);
  equal(buffer.firstGroupDueUs(), T + 150);
  equal(buffer.heldCount, 1);
  deepEqual(buffer.takeGroup(7), []);
});

Deno.test("reorder buffer: a pair whose group was taken early has another one, due by its own first record", () => {
  const buffer = new ReorderBuffer({ ordered: false });
  buffer.hold(record(1, T), T + 10);
  for (const entry of buffer.takeGroup(1)) buffer.release(entry);
  equal(buffer.firstGroupDueUs(), Infinity);
  buffer.hold(record(1, T), T + 20);
  equal(buffer.dueGroup(T + 19), NO_ROW);
  equal(buffer.dueGroup(T + 20), 1);
});

Deno.test("reorder buffer: the oldest clock is that of the first record that is still here", () => {
  const buffer = new ReorderBuffer({ ordered: true });
  equal(buffer.oldestClockUs(), Infinity);
  wait(buffer, record(0, T + 30, { clockUs: T + 1 }));
  wait(buffer, record(1, T + 10, { clockUs: T + 2 }));
  buffer.hold(record(2, T, { clockUs: T + 3 }), T + 99);
  wait(buffer, record(3, T + 50, { clockUs: T + 4 }));
  equal(buffer.oldestClockUs(), T + 1);
  popAll(buffer, T + 10);
  equal(buffer.oldestClockUs(), T + 1);
  // A popped record counts until it is released.
  const entry = buffer.popDue(T + 30);
  equal(buffer.oldestClockUs(), T + 1);
  buffer.release(entry);
  equal(buffer.oldestClockUs(), T + 3);
  for (const held of buffer.takeGroup(2)) buffer.release(held);
  equal(buffer.oldestClockUs(), T + 4);
  // Its place is used again by a later one.
  popAll(buffer, T + 50);
  equal(buffer.oldestClockUs(), Infinity);
  wait(buffer, record(4, T + 60, { clockUs: T + 5 }));
  equal(buffer.oldestClockUs(), T + 5);
  equal(new ReorderBuffer({ ordered: false }).oldestClockUs(), Infinity);
});

Deno.test("reorder buffer: what only some have stays with its record", () => {
  const buffer = new ReorderBuffer({ ordered: false });
  const extras: EntryExtras = { seqKey: 7, seq: Uint8Array.of(0x37), attributes: Uint8Array.of(0x7b, 0x7d) };
  wait(buffer, record(0, T + 1, { extras }));
  wait(buffer, record(1, T + 2));
  const first = buffer.popDue(T + 1);
  deepEqual(buffer.extras(first), extras);
  equal(buffer.seqKey(first), 7);
  buffer.release(first);
  // The place is used again, by one that has none.
  wait(buffer, record(2, T));
  const again = buffer.popDue(T);
  equal(again, first);
  equal(buffer.extras(again), undefined);
  equal(buffer.seqKey(again), NaN);
});

/** Random extras: none, a seq alone, or seq and attributes. */
function drawExtras(random: () => number): EntryExtras | null {
  if (random() < 0.6) return null;
  const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => Math.floor(random() * 256));
  const attributes = bytes(random() < 0.05 ? 16_384 : random() < 0.5 ? 0 : Math.floor(random() * 40));
  return {
    seqKey: random() < 0.3 ? NaN : Math.floor(random() * 1000),
    seq: bytes(Math.floor(random() * 65)),
    attributes,
  };
}

/** The buffer through the bytes of a checkpoint. */
function throughImages(buffer: ReorderBuffer): ReorderBuffer {
  let byteLength = 0;
  for (let entry = 0; entry < buffer.entryCount; entry++) {
    const extras = buffer.isLive(entry) ? buffer.extras(entry) : undefined;
    byteLength += ENTRY_BYTES + (extras === undefined ? 0 : extras.seq.length + extras.attributes.length);
  }
  // At an offset, as in a chunk.
  const view = new DataView(new ArrayBuffer(byteLength + 100), 9);
  let at = 13;
  for (let entry = 0; entry < buffer.entryCount; entry++) {
    const before = at;
    at = buffer.writeImage(view, at, entry);
    const extras = buffer.isLive(entry) ? buffer.extras(entry) : undefined;
    const most = ENTRY_BYTES + (extras === undefined ? 0 : extras.seq.length + extras.attributes.length);
    equal(at - before <= most, true, `an image of ${at - before} bytes, not more than ${most}`);
    equal(at > before, buffer.isLive(entry));
  }
  const copy = new ReorderBuffer({ ordered: true });
  copy.restore(ReorderBuffer.readImages(view, 13, at));
  return copy;
}

interface ModelEntry extends NewEntry {
  readonly held: boolean;
  readonly arrival: number;
  readonly dueUs: number;
}

/** The buffer as plain lists. */
class ReorderModel {
  entries: ModelEntry[] = [];
  #arrival = 0;

  add(added: NewEntry, held: boolean, dueUs: number): void {
    const first = this.entries.find((entry) => entry.held && entry.row === added.row);
    this.entries.push({
      ...added,
      held,
      arrival: this.#arrival++,
      dueUs: held ? first?.dueUs ?? dueUs : NaN,
    });
  }

  popDue(watermarkUs: number): ModelEntry | undefined {
    const due = this.entries.filter((entry) => !entry.held && entry.timeUs <= watermarkUs);
    const first = due.sort((a, b) => a.timeUs - b.timeUs || a.arrival - b.arrival)[0];
    this.entries = this.entries.filter((entry) => entry !== first);
    return first;
  }

  dueGroup(watermarkUs: number): number {
    return this.entries.find((entry) => entry.held && entry.dueUs <= watermarkUs)?.row ?? NO_ROW;
  }

  takeGroup(row: number): ModelEntry[] {
    const group = this.entries.filter((entry) => entry.held && entry.row === row);
    this.entries = this.entries.filter((entry) => !group.includes(entry));
    return group.sort((a, b) => a.timeUs - b.timeUs || a.arrival - b.arrival);
  }

  oldestClockUs(): number {
    return Math.min(Infinity, ...this.entries.map(({ clockUs }) => clockUs));
  }

  firstGroupDueUs(): number {
    return Math.min(Infinity, ...this.entries.filter(({ held }) => held).map(({ dueUs }) => dueUs));
  }

  firstWaitingUs(): number {
    return Math.min(Infinity, ...this.entries.filter(({ held }) => !held).map(({ timeUs }) => timeUs));
  }
}

function withoutPlaces({ arrival: _, dueUs: __, ...entry }: ModelEntry): unknown {
  return entry;
}

Deno.test("reorder buffer: as plain lists have it, restored now and then", () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = randomFrom(seed);
    const model = new ReorderModel();
    let buffer = new ReorderBuffer({ ordered: true });
    const takeBoth = (row: number, where: string): void => {
      const group = buffer.takeGroup(row);
      deepEqual(group.map((entry) => told(buffer, entry)), model.takeGroup(row).map(withoutPlaces), where);
      for (const entry of group) buffer.release(entry);
    };
    let watermarkUs = T;
    let clockUs = T;
    for (let step = 0; step < 600; step++) {
      const where = `seed ${seed}, step ${step}`;
      const chance = random();
      if (chance < 0.6) {
        clockUs += Math.floor(random() * SECOND);
        const late = random() < 0.3;
        const distance = Math.floor(random() * 8) * SECOND / 2 + (random() < 0.3 ? 1 : 0);
        const added: NewEntry = {
          row: Math.floor(random() * 20),
          kind: KINDS[Math.floor(random() * 3)] as Kind,
          timeUs: late ? watermarkUs - distance : watermarkUs + 1 + distance,
          clockUs,
          suppressed: late && random() < 0.3,
          beyondWindow: random() < 0.2,
          extras: drawExtras(random),
        };
        model.add(added, late, watermarkUs + 5 * SECOND);
        if (late) {
          const count = model.entries.filter(({ held, row }) => held && row === added.row).length;
          equal(buffer.hold(added, watermarkUs + 5 * SECOND), count, where);
        } else wait(buffer, added);
      } else if (chance < 0.8) {
        watermarkUs += Math.floor(random() * 3 * SECOND);
        for (;;) {
          const entry = buffer.popDue(watermarkUs);
          const wanted = model.popDue(watermarkUs);
          equal(entry === NO_ROW, wanted === undefined, where);
          if (wanted === undefined) break;
          deepEqual(told(buffer, entry), withoutPlaces(wanted), where);
          buffer.release(entry);
          equal(buffer.isLive(entry), false, where);
        }
        for (let row = model.dueGroup(watermarkUs); row !== NO_ROW; row = model.dueGroup(watermarkUs)) {
          equal(buffer.dueGroup(watermarkUs), row, where);
          takeBoth(row, where);
        }
        equal(buffer.dueGroup(watermarkUs), NO_ROW, where);
      } else if (chance < 0.95) {
        takeBoth(Math.floor(random() * 20), where);
      } else {
        buffer = throughImages(buffer);
      }
      equal(buffer.size, model.entries.length, where);
      equal(buffer.heldCount, model.entries.filter(({ held }) => held).length, where);
      equal(buffer.oldestClockUs(), model.oldestClockUs(), where);
      equal(buffer.firstGroupDueUs(), model.firstGroupDueUs(), where);
      equal(buffer.firstWaitingUs(), model.firstWaitingUs(), where);
    }
  }
});

Deno.test("reorder buffer: many entries, and their places are used again", () => {
  const buffer = new ReorderBuffer({ ordered: true });
  for (let round = 0; round < 5; round++) {
    for (let row = 0; row < 10_000; row++) {
      wait(buffer, record(row, T + round * SECOND + (row * 7919) % 10_000));
    }
    equal(buffer.size, 10_000);
    const times = popAll(buffer, T + round * SECOND + 10_000).map(([, us]) => us - round * SECOND);
    deepEqual(times, Array.from({ length: 10_000 }, (_, us) => us));
    equal(buffer.entryCount, 10_000);
  }
});

Deno.test("reorder buffer: one that is in use cannot be restored", () => {
  const buffer = new ReorderBuffer({ ordered: false });
  wait(buffer, record(0, T));
  throws(() => buffer.restore([]), AssertionFailed);
});
