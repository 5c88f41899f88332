import { deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { readLines } from "../../actors/adapters/system_process.ts";

const decoder = new TextDecoder();

Deno.test("readLines: a blank line is empty, so that who counts them has the numbers of an editor", async () => {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-test-" });
  try {
    const path = join(directory, "lines.ndjson");
    await Deno.writeTextFile(path, "\na\n\n\r\nb\nc");
    const lines: string[] = [];
    for await (const line of readLines(path)) lines.push(decoder.decode(line));
    deepEqual(lines, ["", "a", "", "", "b", "c"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
