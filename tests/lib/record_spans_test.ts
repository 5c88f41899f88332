/**
 * Bodies cut into records: as tables, and against `JSON.parse` over seeds.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { type RecordSpans, spansOfJson, spansOfLines } from "../../lib/record_spans.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const hash = (bytes: Uint8Array): string => `hash of ${bytes.length}`;

function texts({ bytes, starts, ends, count }: RecordSpans): string[] {
  return Array.from({ length: count }, (_, i) => decoder.decode(bytes.subarray(starts[i], ends[i])));
}

const lines = (text: string): string[] => texts(spansOfLines(encoder.encode(text), hash));
const json = (text: string): string[] => texts(spansOfJson(encoder.encode(text), hash));

Deno.test("spansOfLines: line ends, blank lines and a byte order mark are no part of a record", () => {
  const table: readonly (readonly [body: string, records: readonly string[]])[] = [
    ["", []],
    ["\n\n \r\n\t\n", []],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["a\r\nb\r\n", ["a", "b"]],
    ["\uFEFFa\nb", ["a", "b"]],
    ["a\n\nb\n \nc", ["a", "b", "c"]],
    [" a \n", [" a "]],
    ["a\rb\n", ["a\rb"]],
  ];
  for (const [body, records] of table) deepEqual(lines(body), records, JSON.stringify(body));
});

Deno.test("spansOfJson: an array's elements, one value, or NDJSON under a wrong name", () => {
  const table: readonly (readonly [body: string, records: readonly string[]])[] = [
    ["", []],
    ["  \n", []],
    ["[]", []],
    [" [ ] ", []],
    ["{}", ["{}"]],
    [' \uFEFF{"a":1}', ['\uFEFF{"a":1}']],
    ['\uFEFF{"a":1}\n', ['{"a":1}']],
    ['{"a":[1,2],"b":"]}"}', ['{"a":[1,2],"b":"]}"}']],
    ['[{"a":1},{"b":2}]', ['{"a":1}', '{"b":2}']],
    ['[ {"a":[{}]} , 7,"x, ]" ,null ]\n', ['{"a":[{}]}', "7", '"x, ]"', "null"]],
    ['["\\"]",[1,[2]]]', ['"\\"]"', "[1,[2]]"]],
    ['[{"a":1},{"b":]', ['[{"a":1},{"b":]']],
    ['[{"a":1}', ['[{"a":1}']],
    ['[{"a":1}] x', ['[{"a":1}] x']],
    ["[1,]", ["[1,]"]],
    ["[,1]", ["[,1]"]],
    ["[1 2]", ["1 2"]],
    ['{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['{"a":1}{"b":2}', ['{"a":1}{"b":2}']],
    ["hello", ["hello"]],
    ['{"a":"x', ['{"a":"x']],
  ];
  for (const [body, records] of table) deepEqual(json(body), records, JSON.stringify(body));
});

Deno.test("spansOfJson: the elements are those that JSON.parse finds, over seeds", () => {
  const random = randomFrom(5);
  const below = (limit: number): number => Math.floor(random() * limit);
  const value = (depth: number): unknown => {
    const kind = below(depth > 3 ? 4 : 6);
    if (kind === 0) return below(1000) / 10;
    if (kind === 1) return `a"\\[]{},: ${String.fromCodePoint(below(0xd000) + 1)}`;
    if (kind === 2) return null;
    if (kind === 3) return random() < 0.5;
    if (kind === 4) return Array.from({ length: below(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: below(4) }, (_, i) => [`k${i}]`, value(depth + 1)]));
  };
  for (let round = 0; round < 500; round++) {
    const values = Array.from({ length: below(6) }, () => value(0));
    const text = JSON.stringify(values, null, below(3));
    deepEqual(json(text).map((element) => JSON.parse(element)), values, text);
  }
});

Deno.test("spans: of a record over the limit the first 64 KiB are kept, with length and hash", () => {
  const limit = 64 * 1024;
  for (const [length, isOver] of [[limit, false], [limit + 1, true]] as const) {
    const spans = spansOfLines(encoder.encode(`a\n${"x".repeat(length)}\nb`), hash);
    equal(spans.count, 3);
    equal((spans.ends[1] as number) - (spans.starts[1] as number), limit);
    deepEqual([...spans.oversize], isOver ? [[1, { byteLength: length, hash: `hash of ${length}` }]] : []);
  }
});
