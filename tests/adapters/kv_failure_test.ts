import { ok, strictEqual } from "node:assert/strict";
import { explainKvFailure } from "../../actors/adapters/kv_failure.ts";

Deno.test("explainKvFailure: SQLite's words and what they mean", () => {
  const cases: [string, string][] = [
    ["database or disk is full", "the disk is full"],
    ["disk I/O error", "the disk failed, or is full"],
    ["Can not write to a read-only database.", "it may not be written to"],
    ["attempt to write a readonly database", "it may not be written to"],
    ["Permission denied (os error 13): open 'data/lock'", "it may not be written to"],
    ["unable to open database file: /x/state.kv", "state.kv can't be opened"],
    ["file is not a database", "state.kv is damaged"],
    ["database disk image is malformed", "state.kv is damaged"],
    ["The value encoding -24 is unknown.", "state.kv is damaged"],
    ["database is locked", "another program has state.kv open"],
    ["something else", "something else"],
  ];
  for (const [words, meaning] of cases) {
    // Opening fails with an Error, an operation with a TypeError.
    for (const cause of [new Error(words), new TypeError(words)]) {
      const error = explainKvFailure(cause, "data");
      ok(error.message.startsWith(`Cannot use the state in data: ${meaning}`), error.message);
      strictEqual(error.cause, cause);
    }
  }
});
