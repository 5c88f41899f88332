import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { NdjsonReplayTarget } from "../../actors/adapters/ndjson_replay_target.ts";
import type { StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import { inDirectory } from "../support/fencepost_process.ts";

const encoder = new TextEncoder();

function letter(record: string | Uint8Array): StoredDeadLetter {
  const bytes = typeof record === "string" ? encoder.encode(record) : record;
  return { reason: "INVALID_KIND", detail: "", source: "-", position: 0, atUs: 0, record: bytes };
}

/** Sends records to a file; returns its bytes. */
async function sendTo(path: string, records: readonly Uint8Array[]): Promise<Uint8Array> {
  const target = new NdjsonReplayTarget(path);
  await target.open();
  try {
    for (const record of records) await target.send(letter(record));
    await target.flush();
  } finally {
    target.close();
  }
  return await Deno.readFile(path);
}

Deno.test("NdjsonReplayTarget: what a line can't hold", () => {
  const target = new NdjsonReplayTarget("-");
  const cases: [string | Uint8Array, string | null][] = [
    ["{}", null],
    ["{", null],
    [Uint8Array.of(0xff), null],
    ["a\rb\u2028c", null],
    ['{\n"a":1}', "It has a line end in it, so it would be two lines of NDJSON"],
    ["{}\n", "It has a line end in it, so it would be two lines of NDJSON"],
    ["", "It is blank, and blank lines of NDJSON are no records"],
    [" \t\r", "It is blank, and blank lines of NDJSON are no records"],
  ];
  for (const [record, why] of cases) strictEqual(target.refusal(letter(record)), why, JSON.stringify(record));
});

Deno.test("NdjsonReplayTarget: every byte arrives, in order, behind what is there", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "records.ndjson");
    // A last line without its end must not run into the first record.
    await Deno.writeTextFile(path, "before");
    // Some of the sizes fill its buffer to the byte, and two are larger than it.
    const sizes = [1, 0, 262_142, 1, 262_143, 262_144, 7, 100_000, 100_000, 100_000, 500_000];
    const records = sizes.map((size, i) =>
      Uint8Array.from({ length: size }, (_, at) => at % 251 === 10 ? 0xff : (at + i) % 9)
    );
    const expected = [
      encoder.encode("before\n"),
      ...records.flatMap((record) => [record, Uint8Array.of(10)]),
    ];
    const written = await sendTo(path, records);
    strictEqual(written.length, expected.reduce((sum, bytes) => sum + bytes.length, 0));
    let at = 0;
    for (const bytes of expected) {
      deepStrictEqual(written.subarray(at, at + bytes.length), bytes);
      at += bytes.length;
    }
  }));

Deno.test("NdjsonReplayTarget: nothing to send", () =>
  inDirectory(async (directory) => {
    strictEqual((await sendTo(join(directory, "records.ndjson"), [])).length, 0);
  }));
