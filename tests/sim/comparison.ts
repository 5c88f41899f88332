/**
 * How outputs are compared: as multisets, since different pairs have no order, with a message that names what is too
 * much and what is missing instead of two walls of text.
 *
 * @module
 */
import { fail } from "node:assert/strict";
import type { EngineResult } from "./engine.ts";

/** Entries of each side that a message shows. */
const SHOWN_MAX = 3;

/** A trigger as text that does not depend on the order of its members; absent ones are left out. */
export function triggerText(trigger: object): string {
  const members = Object.entries(trigger).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => a < b ? -1 : 1)));
}

/** Dead letters as text: line and reason. */
export function letterTexts(letters: EngineResult["deadLetters"]): string[] {
  return letters.map(({ line, reason }) => `line ${line} ${reason}`);
}

/** Fails unless both have the same entries, each as often. */
export function sameEntries(actual: readonly string[], expected: readonly string[], where: string): void {
  const difference = differenceOf(actual, expected);
  if (difference !== null) fail(`${where}\n${difference}`);
}

/** What one has and the other has not, for people; null where they have the same entries. */
export function differenceOf(actual: readonly string[], expected: readonly string[]): string | null {
  const { count, text } = differencesOf(actual, expected);
  return count === 0 ? null : text;
}

/** How many entries one has and the other has not, each as often as it does, and the first of them for people. */
export function differencesOf(
  actual: readonly string[],
  expected: readonly string[],
): { readonly count: number; readonly text: string } {
  const surplus = new Map<string, number>();
  for (const entry of actual) surplus.set(entry, (surplus.get(entry) ?? 0) + 1);
  for (const entry of expected) surplus.set(entry, (surplus.get(entry) ?? 0) - 1);
  const lines: string[] = [];
  let count = 0;
  for (const [sign, title] of [[1, "too many"], [-1, "missing"]] as const) {
    const odd = [...surplus].filter(([, count]) => count * sign > 0);
    if (odd.length > 0) lines.push(`${title}: ${odd.length} entries`);
    for (const [entry, count] of odd.slice(0, SHOWN_MAX)) lines.push(`  ${Math.abs(count)} × ${entry}`);
    for (const [, times] of odd) count += Math.abs(times);
  }
  return { count, text: lines.join("\n") };
}
