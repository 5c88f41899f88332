/**
 * The page's words: numbers at the edges of their units, and foreign text that nothing can hide in.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { bytes, count, duration, percent, rate, short, visible } from "../../actors/page/text.js";

const WORDS: readonly (readonly [said: string, meant: string])[] = [
  [count(1_234_567), "1,234,567"],
  [short(999_999), "999,999"],
  [short(1_234_567), "1.23 M"],
  [short(2e9), "2.00 G"],
  [rate(0), "0"],
  [rate(0.25), "0.3"],
  [rate(9.96), "10.0"],
  [rate(10.4), "10"],
  [percent(0), "0 %"],
  [percent(0.0004), "< 0.1 %"],
  [percent(0.034), "3.4 %"],
  [percent(0.42), "42 %"],
  [bytes(1023), "1023 B"],
  [bytes(1024), "1 KiB"],
  [bytes(3 << 20), "3.0 MiB"],
  [duration(0), "0 ms"],
  [duration(0.042), "42 ms"],
  [duration(5), "5.0 s"],
  [duration(59.6), "1 min"],
  [duration(61), "1 min 1 s"],
  [duration(3600), "1 h"],
  [duration(90_000), "1 d 1 h"],
  [duration(86_400 + 59), "1 d"],
  [duration(-3), "−3.0 s"],
  [visible("truck-7"), "truck-7"],
  [visible("a\nb\0"), "a␊b␀"],
  [visible("\u202Ecod.exe"), "⟨U+202E⟩cod.exe"],
  [visible("zero\u200Bwidth"), "zero⟨U+200B⟩width"],
  [visible("<script>"), "<script>"],
  [visible("\x7f"), "␡"],
  [visible("\u2028"), "⟨U+2028⟩"],
  [visible("🚚"), "🚚"],
  [visible("\uD83D"), "⟨U+D83D⟩"],
];
for (const [i, [said, meant]] of WORDS.entries()) {
  Deno.test(`text: ${i}: ${JSON.stringify(meant)}`, () => equal(said, meant));
}
