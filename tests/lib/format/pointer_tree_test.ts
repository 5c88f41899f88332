/**
 * The walk over a message against the plain way: `JSON.parse` and one step after the other.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { parsePointer } from "../../../lib/format/pointer.ts";
import { PointerTree, skipValue, Slots } from "../../../lib/format/pointer_tree.ts";
import { randomFrom } from "../../support/random.ts";

/** A whole number below this one. */
type Below = (bound: number) => number;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function found(text: string, pointers: readonly string[]): (string | null)[] {
  const tree = new PointerTree();
  const numbers = pointers.map((pointer) => tree.add(parsePointer(pointer) ?? []));
  const slots = new Slots(tree.slotCount);
  const bytes = encoder.encode(text);
  tree.scan(bytes, 0, slots);
  return numbers.map((slot) =>
    slots.ends[slot] === 0 ? null : decoder.decode(bytes.subarray(slots.starts[slot], slots.ends[slot]))
  );
}

const TABLE: readonly [text: string, pointers: readonly string[], expected: readonly (string | null)[]][] = [
  ['{"a":1,"b":{"c":"x"}}', ["/a", "/b", "/b/c", "/b/d", "/c"], ["1", '{"c":"x"}', '"x"', null, null]],
  ['{"a":[10,[20],{"b":30}]}', ["/a/0", "/a/1/0", "/a/2/b", "/a/3", "/a/01", "/a/-"], [
    "10",
    "20",
    "30",
    null,
    null,
    null,
  ]],
  // Of several members with one name the last one counts, with all that is below it.
  ['{"a":{"b":1},"a":{"c":2}}', ["/a/b", "/a/c"], [null, "2"]],
  ['{"a":{"b":1},"a":7}', ["/a/b", "/a"], [null, "7"]],
  ['{"a":{"b":{"c":1}},"a":{"b":{"d":1}}}', ["/a/b/c", "/a/b/d"], [null, "1"]],
  // Names are what they say, however they are written.
  [String.raw`{"\u0061":1,"b\/c":2,"d\\e":3,"~":4,"":5}`, ["/a", "/b~1c", "/d\\e", "/~0", "/"], [
    "1",
    "2",
    "3",
    "4",
    "5",
  ]],
  ['{"__proto__":1,"constructor":{"name":2}}', ["/__proto__", "/constructor/name", "/toString"], [
    "1",
    "2",
    null,
  ]],
  [' { "a" : [ 1 , 2 ] , "b" : "}]" } ', ["/a/1", "/b", ""], [
    "2",
    '"}]"',
    '{ "a" : [ 1 , 2 ] , "b" : "}]" }',
  ]],
  ['{"é":"ü","a":null,"b":false}', ["/é", "/a", "/b"], ['"ü"', "null", "false"]],
  ["[[1],[2]]", ["/1/0", ""], ["2", "[[1],[2]]"]],
  ["{}", ["/a", ""], [null, "{}"]],
];
for (const [text, pointers, expected] of TABLE) {
  Deno.test(`PointerTree: ${text}`, () => deepEqual(found(text, pointers), expected));
}

Deno.test("PointerTree: a pointer that is added twice has one slot, and the whole is another than an empty name", () => {
  const tree = new PointerTree();
  deepEqual([["a"], ["a"], [], [""], ["a", "b"]].map((steps) => tree.add(steps)), [0, 0, 1, 2, 3]);
  equal(tree.slotCount, 4);
});

Deno.test("PointerTree: any JSON, as JSON.parse and its steps have it", () => {
  const NAMES = ["a", "b", "0", "1", "é", 'q"', "x\\y", ""];
  const POINTERS = NAMES.flatMap((one) => [[one], ...NAMES.map((two) => [one, two])]);
  for (let seed = 1; seed <= 300; seed++) {
    const next = randomFrom(seed);
    const random: Below = (bound) => Math.floor(next() * bound);
    const value = json(random, NAMES, 0);
    const text = JSON.stringify(value, null, seed % 3);
    const tree = new PointerTree();
    const numbers = POINTERS.map((steps) => tree.add(steps));
    const slots = new Slots(tree.slotCount);
    const bytes = encoder.encode(text);
    tree.scan(bytes, 0, slots);
    POINTERS.forEach((steps, i) => {
      const slot = numbers[i] as number;
      const got = slots.ends[slot] === 0
        ? undefined
        : JSON.parse(decoder.decode(bytes.subarray(slots.starts[slot], slots.ends[slot])));
      deepEqual(got, step(value, steps), `seed ${seed}, ${JSON.stringify(steps)} of ${text}`);
    });
    equal(skipValue(bytes, 0), bytes.length, `seed ${seed}`);
  }
});

function step(value: unknown, steps: readonly string[]): unknown {
  let at: unknown = value;
  for (const name of steps) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function json(random: Below, names: readonly string[], depth: number): unknown {
  const choice = depth === 0 ? 6 + random(2) : random(depth > 3 ? 6 : 8);
  switch (choice) {
    case 6:
      return Array.from({ length: random(4) }, () => json(random, names, depth + 1));
    case 7:
      return Object.fromEntries(
        Array.from(
          { length: random(5) },
          () => [names[random(names.length)] as string, json(random, names, depth + 1)],
        ),
      );
    default:
      return [null, true, -1.5e3, 'a "b" \\ {[', "", 123456789][choice];
  }
}
