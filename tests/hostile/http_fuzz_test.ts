/**
 * The short form of `deno task fuzz:http`.
 *
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";
import { inDirectory } from "../support/fencepost_process.ts";
import { fuzzHttp } from "./http_fuzz.ts";

Deno.test("serve: hostile requests crash nothing, leak nothing, and nothing of them is taken", async () => {
  await inDirectory(async (directory) => {
    const { statuses, faults } = await fuzzHttp(directory, { requests: 3000, seed: 7 });
    deepEqual(faults, []);
    for (const status of [200, 400, 401, 404, 405, 413, 415]) {
      ok((statuses[status] ?? 0) > 0, `${status} was an answer`);
    }
  });
});
