/**
 * The demo: that it finds all well, and that it would say so if it were not.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { runDemo } from "../../bench/demo.ts";

Deno.test("demo: each crossing gives one trigger, wherever the kill falls", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const said: string[] = [];
    const say = (text: string): void => {
      said.push(text);
    };
    const outcome = await runDemo({ records: 12_000, seed: 2, directory, say, stderr: "null" });
    deepEqual(outcome.wrong, []);
    equal(outcome.repeatedIds, 0);
    equal(outcome.triggers["ENTER"], outcome.load.enters);
    equal(outcome.triggers["EXIT"], outcome.load.exits);
    ok((outcome.triggers["DWELL"] ?? 0) > 100);
    deepEqual(outcome.deadLetters, { ...outcome.load.poison });
    ok(outcome.load.copies > 0 && outcome.load.late > 0 && Object.keys(outcome.load.poison).length > 0);
    match(said.join(""), /Each of the \d+ crossings gave one trigger/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
