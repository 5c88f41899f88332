import { strictEqual } from "node:assert/strict";
import { nearest } from "../../lib/nearest.ts";

Deno.test("nearest: what was probably meant", () => {
  const known = ["input", "output", "from-start", "at-eof", "live"];
  const cases: [string, string | null][] = [
    ["input", "input"],
    ["inputt", "input"],
    ["inpt", "input"],
    ["inupt", "input"],
    ["outptu", "output"],
    ["from_start", "from-start"],
    ["liev", "live"],
    ["ateof", "at-eof"],
    ["colour", null],
    ["", null],
    ["x", null],
  ];
  for (const [name, meant] of cases) strictEqual(nearest(name, known), meant, name);
});

Deno.test("nearest: the first of several that are equally near", () => {
  strictEqual(nearest("at", ["cat", "rat"]), "cat");
  strictEqual(nearest("at", []), null);
});
