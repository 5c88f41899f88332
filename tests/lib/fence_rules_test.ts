/**
 * Fence patterns: a table, and against regular expressions over seeds.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { FenceRules } from "../../lib/fence_rules.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();

/** The rule of a fence id that lies between other bytes. */
function match(rules: FenceRules, fence: string): number {
  const before = encoder.encode("depot-x");
  const id = encoder.encode(fence);
  const bytes = new Uint8Array(before.length + id.length + 3).fill(0x61);
  bytes.set(before);
  bytes.set(id, before.length);
  return rules.match(bytes, before.length, before.length + id.length);
}

function rulesOf(...patterns: string[]): FenceRules {
  return new FenceRules(patterns.map((fence, i) => ({ fence, afterUs: [i + 1] })));
}

Deno.test("fence rules: patterns", () => {
  const table:
    readonly (readonly [pattern: string, matches: readonly string[], others: readonly string[]])[] = [
      ["depot-3", ["depot-3"], ["depot-", "depot-33", "xdepot-3", "DEPOT-3"]],
      ["depot-*", ["depot-3", "depot-", "depot-**"], ["depot", "a depot-3"]],
      ["*", ["a", "*", "日本", "a b\n"], []],
      ["**", ["a", "ab"], []],
      ["*-north", ["a-north", "-north", "north-north"], ["a-northern", "north"]],
      ["a*b*c", ["abc", "aXbYc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]],
      ["a*a", ["aa", "aba", "aaa"], ["a", "ab"]],
      ["*ab*ab*", ["abab", "xababx", "ab ab"], ["ab", "aba", "bab"]],
      ["ü*", ["ü", "über"], ["u", "uber"]],
      ["[a-z].?", ["[a-z].?"], ["a.b", "b"]],
      ["", [], ["a"]],
    ];
  for (const [pattern, matches, others] of table) {
    for (const fence of matches) equal(match(rulesOf(pattern), fence), 1, `${pattern} takes ${fence}`);
    for (const fence of others) equal(match(rulesOf(pattern), fence), 0, `${pattern} leaves ${fence}`);
  }
});

Deno.test("fence rules: the first rule that matches, 0 for none", () => {
  const rules = rulesOf("depot-1", "depot-*", "*-1", "depot-2");
  deepEqual(["depot-1", "depot-2", "yard-1", "yard-2"].map((fence) => match(rules, fence)), [1, 2, 3, 0]);
  equal(match(rulesOf(), "depot"), 0);
});

Deno.test("fence rules: thresholds by rule; whom none matches has none", () => {
  const rules = new FenceRules([{ fence: "a", afterUs: [4, 9] }, { fence: "*", afterUs: [] }]);
  deepEqual(rules.thresholdsUs, [[], [4, 9], []]);
});

Deno.test("fence rules: as regular expressions have it", () => {
  for (let seed = 1; seed <= 4000; seed++) {
    const random = randomFrom(seed);
    const draw = (letters: string, length: number): string =>
      Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join("");
    const pattern = draw("ab**", Math.floor(random() * 7));
    const fence = draw("ab", 1 + Math.floor(random() * 8));
    const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(fence);
    equal(match(rulesOf(pattern), fence) === 1, expected, `seed ${seed}: ${pattern} and ${fence}`);
  }
});

Deno.test("fence rules: a pattern of many stars ends soon on a text that nearly matches", () => {
  // Backtracking over all stars would take 2^128 steps.
  equal(match(rulesOf("*a".repeat(128) + "b"), "a".repeat(256)), 0);
  equal(match(rulesOf("*a".repeat(128)), "a".repeat(256)), 1);
});
