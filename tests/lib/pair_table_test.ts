/**
 * The pair table against a map of objects, over seeds, and through the images of checkpoints.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { murmur2 } from "../../lib/murmur2.ts";
import {
  CONTRADICTED,
  END,
  ENTER,
  FLAGS,
  HAS_VISIT,
  IMAGE_BYTES_MAX,
  INSIDE,
  LIVE,
  PairTable,
  ROW_BITS,
  RULE,
  SEEN,
  SEQS,
  TOLD,
  TOLD_EXIT,
  WAITING,
} from "../../lib/pair_table.ts";
import { pairHash } from "../../lib/partition.ts";
import { NO_ROW } from "../../lib/timing_wheel.ts";
import { randomFrom } from "../support/random.ts";

const TIME_COLUMNS = SEEN + 1;
/** The flags that a test sets: of those that a checkpoint keeps. */
const FLAGS_SET = INSIDE | HAS_VISIT;
/** Lengths of ids around what lies in the row itself (30 bytes of both), the arena's slots of 8, and the longest. */
const LENGTHS = [1, 2, 7, 14, 15, 16, 22, 23, 28, 29, 30, 31, 255, 256] as const;

const encoder = new TextEncoder();

/** A pair's ids as a table takes them: somewhere in a buffer, with something between. */
interface Key {
  readonly hash: number;
  readonly bytes: Uint8Array;
  readonly deviceStart: number;
  readonly deviceEnd: number;
  readonly fenceStart: number;
  readonly fenceEnd: number;
}

function keyOf(device: string, fence: string, hash?: number): Key {
  const deviceBytes = encoder.encode(device);
  const fenceBytes = encoder.encode(fence);
  const bytes = Uint8Array.of(1, ...fenceBytes, 2, 3, ...deviceBytes, 4);
  const fenceEnd = 1 + fenceBytes.length;
  const deviceStart = fenceEnd + 2;
  const deviceEnd = deviceStart + deviceBytes.length;
  hash ??= pairHash(murmur2(bytes, deviceStart, deviceEnd), bytes, 1, fenceEnd);
  return { hash, bytes, deviceStart, deviceEnd, fenceStart: 1, fenceEnd };
}

function find(table: PairTable, key: Key): number {
  const { hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd } = key;
  return table.find(hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd);
}

function insert(table: PairTable, key: Key): number {
  const { hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd } = key;
  return table.insert(hash, bytes, deviceStart, deviceEnd, fenceStart, fenceEnd);
}

/** The ids of a row. */
function idsOf(table: PairTable, row: number): [device: string, fence: string] {
  table.locate(row);
  const decoder = new TextDecoder();
  return [
    decoder.decode(table.keyBytes.subarray(table.deviceStart, table.deviceEnd)),
    decoder.decode(table.keyBytes.subarray(table.fenceStart, table.fenceEnd)),
  ];
}

/** What a checkpoint keeps of a row, besides the ids. */
interface Content {
  readonly times: readonly number[];
  readonly flags: number;
  readonly told: number;
  readonly contradicted: number;
  readonly seqs: readonly number[];
}

const NOTHING: Content = {
  times: new Array<number>(TIME_COLUMNS).fill(0),
  flags: 0,
  told: 0,
  contradicted: 0,
  seqs: new Array<number>(SEQS).fill(NaN),
};

function contentOf(table: PairTable, row: number): Content {
  return {
    times: Array.from({ length: TIME_COLUMNS }, (_, column) => table.time(row, column)),
    flags: table.word(row, FLAGS) & FLAGS_SET,
    told: table.word(row, TOLD),
    contradicted: table.word(row, CONTRADICTED),
    seqs: Array.from({ length: SEQS }, (_, column) => table.seq(row, column)),
  };
}

function setContent(table: PairTable, row: number, content: Content): void {
  table.touch(row);
  content.times.forEach((time, column) => table.setTime(row, column, time));
  content.seqs.forEach((key, column) => table.setSeq(row, column, key));
  table.setWord(row, FLAGS, table.word(row, FLAGS) & ~FLAGS_SET | content.flags);
  table.setWord(row, TOLD, content.told);
  table.setWord(row, CONTRADICTED, content.contradicted);
}

function drawContent(random: () => number, withSeqs: boolean): Content {
  const seen = 1 + Math.floor(random() * 2 ** 51);
  const flags = Math.floor(random() * 4) === 0 ? 0 : FLAGS_SET;
  const times = Array.from({ length: TIME_COLUMNS }, () => {
    const chance = random();
    if (chance < 0.5) return chance < 0.25 ? 0 : seen;
    // Around the bound of what takes four bytes, and on either side of SEEN.
    if (chance < 0.8) return Math.max(0, seen - Math.floor((random() * 3 - 1) * 2 ** 32));
    return Math.floor(random() * 2 ** 51);
  });
  times[SEEN] = seen;
  // While a visit goes on this is its next deadline, which a restore computes anew.
  if ((flags & INSIDE) !== 0) times[END] = 0;
  return {
    times,
    flags,
    told: random() < 0.5 ? 0 : Math.floor(random() * 2 ** 32) | 0,
    contradicted: random() < 0.8 ? 0 : Math.floor(random() * 2 ** 32) | 0,
    seqs: Array.from(
      { length: SEQS },
      () => withSeqs && random() < 0.5 ? Math.floor(random() * 2 ** 52) - 2 ** 51 : NaN,
    ),
  };
}

Deno.test("pair table: ids of every length, in the row and in the arena", () => {
  const table = new PairTable();
  const keys = LENGTHS.flatMap((device) =>
    LENGTHS.map((fence) => ["d".repeat(device), "f".repeat(fence)] as const)
  );
  const rows = keys.map(([device, fence]) => insert(table, keyOf(device, fence)));
  equal(new Set(rows).size, keys.length);
  equal(table.size, keys.length);
  keys.forEach(([device, fence], i) => {
    equal(find(table, keyOf(device, fence)), rows[i], `${device.length} and ${fence.length}`);
    deepEqual(idsOf(table, rows[i] as number), [device, fence]);
    deepEqual(contentOf(table, rows[i] as number), NOTHING);
  });
});

Deno.test("pair table: pairs with one hash are told apart by every byte, and by where the device ends", () => {
  for (const [device, fence] of [["abc", "de"], ["a".repeat(40), "b".repeat(40)]] as const) {
    const table = new PairTable();
    const row = insert(table, keyOf(device, fence, 7));
    const others = [
      [device + fence[0], fence.slice(1)],
      [device.slice(0, -1), device.at(-1) + fence],
      [fence, device],
      [device, fence + "x"],
      [device, fence.slice(0, -1) + "!"],
      ["!" + device.slice(1), fence],
    ] as const;
    for (const [otherDevice, otherFence] of others) {
      equal(find(table, keyOf(otherDevice, otherFence, 7)), NO_ROW, `${otherDevice} ${otherFence}`);
    }
    equal(find(table, keyOf(device, fence, 8)), NO_ROW);
    equal(find(table, keyOf(device, fence, 7)), row);
    const rows = others.map(([otherDevice, otherFence]) => insert(table, keyOf(otherDevice, otherFence, 7)));
    others.forEach(([otherDevice, otherFence], i) =>
      equal(find(table, keyOf(otherDevice, otherFence, 7)), rows[i])
    );
  }
});

Deno.test("pair hash: a fence that bears its device's name does not share its hash with all the others", () => {
  // Such fences are usual where each device has one of its own; tens of thousands of equal hashes would be no index.
  const hashes = new Set(Array.from({ length: 20_000 }, (_, i) => keyOf(`truck-${i}`, `truck-${i}`).hash));
  ok(hashes.size > 19_990, `${hashes.size} hashes`);
  const table = new PairTable();
  for (let i = 0; i < 20_000; i++) insert(table, keyOf(`truck-${i}`, `truck-${i}`));
  equal(table.size, 20_000);
  ok(keyOf("a", "b").hash !== keyOf("b", "a").hash);
});

Deno.test("pair table: a released row is used again, all zero, and its ids' place in the arena too", () => {
  const table = new PairTable();
  const random = randomFrom(1);
  const long = (i: number): Key => keyOf("d".repeat(100) + i, "f".repeat(100));
  for (let i = 100; i < 200; i++) setContent(table, insert(table, long(i)), drawContent(random, true));
  const before = table.byteLength;
  for (let round = 0; round < 50; round++) {
    for (let i = 100; i < 200; i++) table.release(find(table, long(i)));
    equal(table.size, 0);
    for (let i = 100; i < 200; i++) {
      equal(find(table, long(i)), NO_ROW);
      const row = insert(table, long(i));
      deepEqual(contentOf(table, row), NOTHING);
      deepEqual([RULE, WAITING].map((column) => table.word(row, column)), [0, 0]);
      setContent(table, row, drawContent(random, true));
    }
  }
  equal(table.rowCount, 100);
  equal(table.byteLength, before);
});

Deno.test("pair table: clear keeps the ids alone", () => {
  for (const length of [3, 200]) {
    const table = new PairTable();
    const key = keyOf("d".repeat(length), "f");
    const row = insert(table, key);
    setContent(table, row, drawContent(randomFrom(3), true));
    table.clear(row);
    deepEqual(contentOf(table, row), NOTHING);
    equal(table.word(row, FLAGS) & LIVE, LIVE);
    equal(find(table, key), row);
    deepEqual(idsOf(table, row), ["d".repeat(length), "f"]);
  }
});

Deno.test("pair table: a row is dirty once, from its first change until its image was written", () => {
  const table = new PairTable();
  const view = new DataView(new ArrayBuffer(IMAGE_BYTES_MAX));
  const row = insert(table, keyOf("d", "f"));
  table.touch(row);
  table.touch(row);
  deepEqual([...table.takeDirty()], [row]);
  equal(table.dirtyCount, 0);
  table.writeImage(view, 0, row, false);
  equal(table.dirtyCount, 0);
  table.touch(row);
  deepEqual([...table.takeDirty()], [row]);
  table.writeImage(view, 0, row, false);
  table.release(row);
  equal(insert(table, keyOf("e", "f")), row);
  deepEqual([...table.takeDirty()], [row]);
  // More than the list has room for at first.
  for (let i = 0; i < 3000; i++) insert(table, keyOf(`d${i}`, "f"));
  equal(table.takeDirty().length, 3000);
});

Deno.test("pair table: more rows than a segment has", () => {
  const table = new PairTable();
  const count = (1 << ROW_BITS) * 2 + 10;
  for (let i = 0; i < count; i++) {
    const row = insert(table, keyOf(`d${i}`, "f"));
    equal(row, i);
    table.setTime(row, ENTER, i);
    table.setTime(row, TOLD_EXIT, -i);
    table.setWord(row, RULE, i);
  }
  // A seq in one segment alone.
  const last = count - 1;
  table.setSeq(last, 5, 42);
  for (let i = 0; i < count; i++) {
    equal(find(table, keyOf(`d${i}`, "f")), i);
    deepEqual([table.time(i, ENTER), table.time(i, TOLD_EXIT), table.word(i, RULE)], [i, -i, i]);
    equal(table.seq(i, 5), i === last ? 42 : NaN);
  }
  equal(table.rowCount, count);
});

Deno.test("pair table: seqs are written while there is one, and leave nothing to the row's later ones", () => {
  const table = new PairTable();
  const row = insert(table, keyOf("d", "f"));
  const length = (): number => images(table, [row], false)[0]?.length ?? 0;
  images(table, [row], false);
  const without = length();
  table.setSeq(row, 0, 7);
  table.setSeq(row, 5, 8);
  equal(length(), without + SEQS * 8);
  table.setSeq(row, 0, NaN);
  equal(length(), without + SEQS * 8);
  table.setSeq(row, 5, NaN);
  equal(length(), without);
  table.setSeq(row, 1, 9);
  table.clear(row);
  table.setSeq(row, 2, 10);
  deepEqual(contentOf(table, row).seqs, [NaN, NaN, 10, NaN, NaN, NaN]);
});

function hashOfKey(bytes: Uint8Array, deviceStart: number, deviceEnd: number, fenceEnd: number): number {
  return pairHash(murmur2(bytes, deviceStart, deviceEnd), bytes, deviceEnd, fenceEnd);
}

/** Writes images as a checkpoint does, each of them by itself. */
function images(table: PairTable, rows: Iterable<number>, full: boolean): Uint8Array[] {
  return [...rows].map((row) => {
    const view = new DataView(new ArrayBuffer(IMAGE_BYTES_MAX + 8), 5);
    const end = table.writeImage(view, 3, row, full);
    ok(end - 3 <= IMAGE_BYTES_MAX);
    return new Uint8Array(view.buffer, 5 + 3, end - 3);
  });
}

/** A table made of images, all in one buffer. */
function fromImages(log: readonly Uint8Array[]): { table: PairTable; complete: boolean } {
  const bytes = new Uint8Array(log.reduce((sum, image) => sum + image.length, 0) + 4);
  const view = new DataView(bytes.buffer, 4);
  let at = 0;
  for (const image of log) {
    bytes.set(image, at + 4);
    at += image.length;
  }
  const table = new PairTable();
  let read = 0;
  while (read < at) read = table.readImage(view, read, hashOfKey);
  equal(read, at);
  return { table, complete: table.finishRestore() };
}

/** Checks that a table holds what a model says, and no more; rows may be asked for by their number. */
function check(
  table: PairTable,
  model: ReadonlyMap<string, { row: number; content: Content }>,
  where: string,
): void {
  equal(table.size, model.size, where);
  for (const [name, { row, content }] of model) {
    const [device, fence] = name.split("/") as [string, string];
    equal(find(table, keyOf(device, fence)), row, `${where}: ${name}`);
    deepEqual(idsOf(table, row), [device, fence], where);
    deepEqual(contentOf(table, row), content, `${where}: ${name}`);
  }
}

Deno.test("pair table: as a map has it, and restored from a journal with slices in between, over seeds", () => {
  for (let seed = 1; seed <= 24; seed++) {
    const random = randomFrom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const names = Array.from({ length: 60 }, (_, i) => {
      const [device, fence] = [LENGTHS[below(14)], LENGTHS[below(14)]] as [number, number];
      return `${String(i).padEnd(device, "d").slice(0, 256)}/${"f".repeat(fence)}`;
    });
    const withSeqs = seed % 3 !== 0;
    let table = new PairTable();
    const model = new Map<string, { row: number; content: Content }>();
    // What a checkpoint keeps: everything since the round before the current one began.
    let journal: Uint8Array[] = [];
    let roundStart = -1;
    let cursor = 0;
    for (let step = 0; step < 800; step++) {
      const where = `seed ${seed}, step ${step}`;
      const name = names[below(names.length)] as string;
      const [device, fence] = name.split("/") as [string, string];
      const entry = model.get(name);
      if (entry === undefined) {
        equal(find(table, keyOf(device, fence)), NO_ROW, where);
        const row = insert(table, keyOf(device, fence));
        deepEqual(contentOf(table, row), NOTHING, where);
        ok(![...model.values()].some((other) => other.row === row), `${where}: a row in use`);
        const content = random() < 0.2 ? NOTHING : drawContent(random, withSeqs);
        setContent(table, row, content);
        model.set(name, { row, content });
      } else if (random() < 0.4) {
        table.release(entry.row);
        model.delete(name);
      } else {
        entry.content = drawContent(random, withSeqs);
        setContent(table, entry.row, entry.content);
      }
      if (random() < 0.15) {
        // A checkpoint: the changes, and if a round is going on, a slice of all rows.
        journal.push(...images(table, table.takeDirty().slice(), false));
        if (roundStart >= 0) {
          const end = Math.min(table.rowCount, cursor + 1 + below(20));
          for (; cursor < end; cursor++) {
            if ((table.word(cursor, FLAGS) & LIVE) !== 0) journal.push(...images(table, [cursor], true));
          }
          if (cursor === table.rowCount) {
            journal = journal.slice(roundStart);
            roundStart = -1;
          }
        } else if (random() < 0.2) {
          roundStart = journal.length;
          cursor = 0;
        }
        if (random() < 0.3) {
          const restored = fromImages(journal);
          equal(restored.complete, true, where);
          check(restored.table, model, where);
          if (random() < 0.3) table = restored.table;
        }
      }
    }
    check(table, model, `seed ${seed}, at the end`);
  }
});

Deno.test("pair table: a row that changed hands between two images is the later pair's", () => {
  const table = new PairTable();
  const row = insert(table, keyOf("first", "f".repeat(100)));
  const log = images(table, table.takeDirty(), false);
  table.release(row);
  equal(insert(table, keyOf("second", "f")), row);
  table.setTime(row, SEEN, 5);
  log.push(...images(table, table.takeDirty(), false));
  const restored = fromImages(log);
  equal(restored.complete, true);
  equal(restored.table.size, 1);
  equal(find(restored.table, keyOf("first", "f".repeat(100))), NO_ROW);
  equal(find(restored.table, keyOf("second", "f")), row);
});

Deno.test("pair table: a change without ids is incomplete until a slice brings them, or the row was released", () => {
  const table = new PairTable();
  const row = insert(table, keyOf("d", "f"));
  images(table, table.takeDirty(), false);
  table.touch(row);
  table.setTime(row, SEEN, 7);
  const change = images(table, table.takeDirty(), false);
  equal(fromImages(change).complete, false);
  const slice = images(table, [row], true);
  const restored = fromImages([...change, ...slice]);
  equal(restored.complete, true);
  equal(restored.table.time(find(restored.table, keyOf("d", "f")), SEEN), 7);
  table.release(row);
  const gone = fromImages([...change, ...images(table, table.takeDirty(), false)]);
  equal(gone.complete, true);
  equal(gone.table.size, 0);
  // The orphan left its times in the row: a pair that comes into it begins with none.
  const next = insert(gone.table, keyOf("e", "f"));
  equal(next, row);
  deepEqual(contentOf(gone.table, next), NOTHING);
});

Deno.test("pair table: a row that was released after a restore's image leaves nothing to the next pair in it", () => {
  const table = new PairTable();
  const row = insert(table, keyOf("d", "f"));
  setContent(table, row, drawContent(randomFrom(5), true));
  const log = images(table, table.takeDirty(), false);
  table.release(row);
  log.push(...images(table, table.takeDirty(), false));
  const { table: restored } = fromImages(log);
  equal(restored.size, 0);
  const next = insert(restored, keyOf("e", "f"));
  equal(next, row);
  deepEqual(contentOf(restored, next), NOTHING);
});

Deno.test("pair table: the rows that a restore found free are used, the lowest first", () => {
  const table = new PairTable();
  for (let i = 0; i < 10; i++) insert(table, keyOf(`d${i}`, "f"));
  for (const row of [2, 5, 7]) table.release(row);
  const { table: restored } = fromImages(images(table, table.takeDirty(), false));
  equal(restored.rowCount, 10);
  deepEqual(["x", "y", "z", "later"].map((device) => insert(restored, keyOf(device, "f"))), [2, 5, 7, 10]);
});

Deno.test("pair table: a time takes no bytes, four or eight in an image, by how far before SEEN it is", () => {
  const seen = 2 ** 50;
  const table: readonly (readonly [timeUs: number, byteLength: number])[] = [
    [0, 0],
    [seen, 0],
    [seen - 1, 4],
    [seen - (2 ** 32 - 1), 4],
    [seen - 2 ** 32, 8],
    [seen + 1, 8],
    [1, 8],
  ];
  const lengthWith = (timeUs: number): number => {
    const pairs = new PairTable();
    const row = insert(pairs, keyOf("d", "f"));
    pairs.setTime(row, SEEN, seen);
    pairs.setTime(row, ENTER, timeUs);
    const log = images(pairs, [row], true);
    equal(fromImages(log).table.time(row, ENTER), timeUs);
    return log[0]?.length ?? 0;
  };
  for (const [timeUs, byteLength] of table) {
    equal(lengthWith(timeUs) - lengthWith(0), byteLength, `${timeUs - seen} of SEEN`);
  }
});

Deno.test("pair table: the longest image has room", () => {
  const table = new PairTable();
  const row = insert(table, keyOf("d".repeat(256), "f".repeat(256)));
  setContent(table, row, {
    times: Array.from({ length: TIME_COLUMNS }, (_, column) => 1 + 2 ** 40 * (column === SEEN ? 20 : column)),
    flags: HAS_VISIT,
    told: -1,
    contradicted: -1,
    seqs: Array.from({ length: SEQS }, (_, column) => column),
  });
  const [image] = images(table, [row], true);
  equal(image?.length, IMAGE_BYTES_MAX);
});

Deno.test("PairTable: a device's rows are told from all others, and one who watches hears of each that is added", () => {
  const table = new PairTable();
  for (const device of ["a", "aa", "b", "a".repeat(29), "a".repeat(256)]) {
    for (const fence of ["a", "f".repeat(40)]) insert(table, keyOf(device, fence));
  }
  for (const device of ["a", "aa", "b", "a".repeat(29), "a".repeat(256), "c", "a".repeat(255)]) {
    const bytes = encoder.encode(device);
    for (let row = 0; row < table.rowCount; row++) {
      equal(table.isOf(row, bytes), idsOf(table, row)[0] === device);
    }
  }
  const freed = find(table, keyOf("a", "a"));
  table.release(freed);
  ok(!table.isOf(freed, encoder.encode("a")), "a row that is free is nobody's");
  const [one, other]: [number[], number[]] = [[], []];
  const stop = table.watchInserted(one);
  const stopOther = table.watchInserted(other);
  // A row that a search may have passed already.
  equal(insert(table, keyOf("a", "new")), freed);
  stop();
  const next = insert(table, keyOf("a", "newer"));
  stopOther();
  insert(table, keyOf("a", "newest"));
  deepEqual([one, other], [[freed], [freed, next]]);
});
