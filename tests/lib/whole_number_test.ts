/**
 * Which JSON numbers are integers, by how they are written.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { isWholeNumber } from "../../lib/whole_number.ts";

Deno.test("whole number: by its digits and its exponent", () => {
  const table: readonly (readonly [source: string, whole: boolean])[] = [
    ["0", true],
    ["-0.0e-5", true],
    ["7", true],
    ["-7", true],
    ["7.0", true],
    ["7.000", true],
    ["7.01", false],
    ["0.5", false],
    ["5e-1", false],
    ["50e-1", true],
    ["50e-2", false],
    ["0.5e1", true],
    ["0.05E+1", false],
    ["0.050e2", true],
    ["1e400", true],
    ["1e-400", false],
    ["1777881600250.00000000000000000001", false],
    [`1.${"0".repeat(60_000)}`, true],
    [`1.${"0".repeat(60_000)}1`, false],
  ];
  for (const [source, whole] of table) equal(isWholeNumber(source), whole, source.slice(0, 40));
});
