import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { DEAD_LETTER_REASONS, type DeadLetter, encodeDeadLetter } from "../../lib/dead_letter.ts";
import { decodeDeadLetter } from "../../lib/dead_letter_line.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const AT_US = 1_777_881_610_250_000;

/** The members of a good line, by which the bad ones differ. */
const GOOD = {
  reason: "INVALID_KIND",
  detail: "kind must be …",
  source: "field.ndjson",
  position: { offset: 120, line: 3 },
  at: "2026-05-04T08:00:10.250000Z",
  record: '{"kind":"INSIDE"}',
};

Deno.test("decodeDeadLetter: what encodeDeadLetter wrote, to the byte, over seeds", () => {
  // Bytes that are text, torn characters, controls, line ends, and anything at all.
  const pieces = ["{", '"', "\\", "é", "🚧", "\n", "\r", "\u2028", "\ufeff", "\0"].map((text) =>
    encoder.encode(text)
  );
  pieces.push(Uint8Array.of(0xff), Uint8Array.of(0xc3), Uint8Array.of(0xed, 0xa0, 0x80));
  for (let seed = 0; seed < 300; seed++) {
    const random = randomFrom(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const parts = Array.from({ length: Math.floor(random() * 12) }, () => pick(pieces.slice(seed % 4)));
    const record = Uint8Array.from(parts.flatMap((part) => [...part]));
    const position = random() < 0.5
      ? { offset: Math.floor(random() * 1e9), line: 7 }
      : { partition: 3, offset: 9 };
    const letter: DeadLetter = {
      reason: pick(DEAD_LETTER_REASONS),
      detail: 'why "é"',
      source: "-",
      position,
      record,
    };
    const atUs = AT_US + Math.floor(random() * 1e12);
    deepStrictEqual(decodeDeadLetter(encodeDeadLetter(letter, atUs)), { ...letter, atUs }, `seed ${seed}`);
  }
});

Deno.test("decodeDeadLetter: of a record that was too large, what is known of the whole", () => {
  const oversize = { byteLength: 70_123, hash: "0123456789abcdef" };
  const letter: DeadLetter = {
    reason: "TOO_LARGE",
    detail: "",
    source: "t",
    position: 0,
    record: encoder.encode("a"),
    oversize,
  };
  deepStrictEqual(decodeDeadLetter(encodeDeadLetter(letter, AT_US)), { ...letter, atUs: AT_US });
});

Deno.test("decodeDeadLetter: a good line, with and without its line end", () => {
  for (const end of ["", "\n"]) {
    ok(!("damage" in decodeDeadLetter(encoder.encode(JSON.stringify(GOOD) + end))));
  }
});

Deno.test("decodeDeadLetter: damaged lines, and what is said of them", () => {
  const cases: [unknown, string][] = [
    [null, "is no JSON object"],
    [7, "is no JSON object"],
    [[GOOD], "is no JSON object"],
    [{}, "has no known reason, got nothing"],
    [{ ...GOOD, reason: "ODD" }, 'has no known reason, got "ODD"'],
    [{ ...GOOD, reason: "invalid_kind" }, 'has no known reason, got "invalid_kind"'],
    [{ ...GOOD, detail: undefined }, "has no detail, got nothing"],
    [{ ...GOOD, source: 3 }, "has no source, got 3"],
    [{ ...GOOD, position: undefined }, "has no position"],
    [{ ...GOOD, at: undefined }, "must say at which time it was written, got nothing"],
    [{ ...GOOD, at: 1777881610 }, "must say at which time it was written, got 1777881610"],
    [{ ...GOOD, at: "yesterday" }, 'must say at which time it was written, got "yesterday"'],
    [{ ...GOOD, record: undefined }, "has neither record nor record_base64 as a string"],
    [{ ...GOOD, record: { kind: "ENTER" } }, "has neither record nor record_base64 as a string"],
    [{ ...GOOD, record_base64: "" }, "has both record and record_base64"],
    [{ ...GOOD, record: undefined, record_base64: "*" }, "has a record_base64 that is no base64"],
    [{ ...GOOD, record: "\ud83d" }, "has a lone surrogate in its record"],
    [{ ...GOOD, byte_length: "7" }, 'has a byte_length that is no number, got "7"'],
  ];
  for (const [members, damage] of cases) {
    deepStrictEqual(decodeDeadLetter(encoder.encode(JSON.stringify(members))), { damage });
  }
});

Deno.test("decodeDeadLetter: a line that was torn anywhere is damaged", () => {
  const line = encoder.encode(JSON.stringify(GOOD));
  for (let end = 0; end < line.length; end++) {
    const decoded = decodeDeadLetter(line.subarray(0, end));
    strictEqual("damage" in decoded && decoded.damage, "is no JSON object", `at ${end}`);
  }
});
