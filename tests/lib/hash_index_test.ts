/**
 * The hash index against a list of who is where, over seeds: few hashes that collide, many that split the tables.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { EMPTY, HashIndex } from "../../lib/hash_index.ts";
import { randomFrom } from "../support/random.ts";

/** All candidates of a hash, as a caller walks them. */
function candidates(index: HashIndex, hash: number): number[] {
  const found: number[] = [];
  for (let value = index.first(hash); value !== EMPTY; value = index.following()) found.push(value);
  return found;
}

/** How the hashes of a seed are spread: each shape is bad for another part of the structure. */
const SHAPES: readonly (readonly [name: string, hash: (random: () => number) => number])[] = [
  ["spread", (random) => Math.floor(random() * 2 ** 32)],
  ["seven hashes", (random) => Math.floor(random() * 7) * 0x2492_4924],
  ["one home", (random) => (Math.floor(random() * 4096) << 20) >>> 0],
  ["homes at the end, runs that wrap", (random) => 0xffff_fff0 + Math.floor(random() * 16)],
  ["one prefix", (random) => 0xabc0_0000 + Math.floor(random() * 2 ** 20)],
];

Deno.test("hash index: finds what was inserted and not removed, and nothing twice", () => {
  for (const [name, draw] of SHAPES) {
    for (let seed = 1; seed <= 6; seed++) {
      const random = randomFrom(seed);
      const hashes: number[] = [];
      const live: number[] = [];
      const index = new HashIndex((value) => hashes[value] as number);
      for (let step = 0; step < 1500; step++) {
        const where = `${name}, seed ${seed}, step ${step}`;
        // Grows for a while, shrinks for a while.
        if (random() < (step % 600 < 350 ? 0.75 : 0.25) || live.length === 0) {
          const value = hashes.push(draw(random)) - 1;
          index.insert(hashes[value] as number, value);
          live.push(value);
        } else {
          const [value] = live.splice(Math.floor(random() * live.length), 1);
          index.remove(hashes[value as number] as number, value as number);
        }
        equal(index.size, live.length, where);
        const asked = Math.floor(random() * hashes.length);
        const found = candidates(index, hashes[asked] as number);
        equal(new Set(found).size, found.length, `${where}: a candidate came twice`);
        const wanted = live.filter((value) => hashes[value] === hashes[asked]);
        ok(wanted.every((value) => found.includes(value)), `${where}: not all of ${wanted} in ${found}`);
        ok(found.every((value) => live.includes(value)), `${where}: one of ${found} was removed`);
      }
    }
  }
});

Deno.test("hash index: tables split, and everything is still there, and leaves again", () => {
  const hashOf = (value: number): number => Math.imul(value, 0x9E37_79B1) >>> 0;
  const index = new HashIndex(hashOf);
  const count = 60_000;
  for (let value = 0; value < count; value++) index.insert(hashOf(value), value);
  equal(index.size, count);
  // At least five tables of 16,384 slots; an entry costs 4 bytes at a load between a half and 0.8.
  ok(index.byteLength >= count * 4 / 0.8, `${index.byteLength} bytes`);
  ok(index.byteLength <= count * 4 / 0.4, `${index.byteLength} bytes`);
  for (let value = 0; value < count; value++) {
    ok(candidates(index, hashOf(value)).includes(value), `value ${value}`);
  }
  for (let value = 0; value < count; value += 2) index.remove(hashOf(value), value);
  equal(index.size, count / 2);
  for (let value = 0; value < count; value++) {
    equal(candidates(index, hashOf(value)).includes(value), value % 2 === 1, `value ${value}`);
  }
});

Deno.test("hash index: only some prefixes are deep", () => {
  // Nearly all hashes begin with the same six bits: that part of the directory splits again and again, the rest does not.
  const hashOf = (value: number): number =>
    value % 50 === 0
      ? Math.imul(value, 0x9E37_79B1) >>> 0
      : (0xd400_0000 | (Math.imul(value, 0x9E37_79B1) >>> 6)) >>> 0;
  const index = new HashIndex(hashOf);
  for (let value = 0; value < 40_000; value++) index.insert(hashOf(value), value);
  for (let value = 0; value < 40_000; value++) {
    ok(candidates(index, hashOf(value)).includes(value), `value ${value}`);
  }
});

Deno.test("hash index: what is not there can be removed", () => {
  const index = new HashIndex((value) => value);
  index.remove(5, 5);
  index.insert(5, 5);
  index.remove(5, 6);
  equal(index.size, 1);
  deepEqual(candidates(index, 5), [5]);
  equal(new HashIndex((value) => value).first(0), EMPTY);
});

Deno.test("hash index: an entry that was replaced is found by its new value and leaves by it", () => {
  const hashes = [9, 9, 9, 9];
  const index = new HashIndex((value) => hashes[value] as number);
  for (const value of [0, 1, 2]) index.insert(9, value);
  for (let value = index.first(9); value !== EMPTY; value = index.following()) {
    if (value === 1) {
      index.replaceCurrent(3);
      break;
    }
  }
  deepEqual(candidates(index, 9), [0, 3, 2]);
  index.remove(9, 1);
  equal(index.size, 3);
  index.remove(9, 3);
  deepEqual(candidates(index, 9), [0, 2]);
});
