import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  DEAD_LETTER_REASONS,
  type DeadLetter,
  decodeKnownDeadLetter,
  encodeDeadLetter,
} from "../../lib/dead_letter.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const AT_US = 1_777_881_610_250_000;

const LETTER: DeadLetter = {
  reason: "INVALID_KIND",
  detail: 'kind must be ENTER, EXIT, DWELL, STALE or HEARTBEAT, got "INSIDE"',
  source: "field.ndjson",
  position: { offset: 120, line: 3 },
  record: encoder.encode('{"kind":"INSIDE"}'),
};

function written(letter: DeadLetter): string {
  return decoder.decode(encodeDeadLetter(letter, AT_US));
}

Deno.test("encodeDeadLetter: a line with its members in order", () => {
  strictEqual(
    written(LETTER),
    '{"reason":"INVALID_KIND","detail":"kind must be ENTER, EXIT, DWELL, STALE or HEARTBEAT, got \\"INSIDE\\"",' +
      '"source":"field.ndjson","position":{"offset":120,"line":3},"at":"2026-05-04T08:00:10.250000Z",' +
      '"record":"{\\"kind\\":\\"INSIDE\\"}"}\n',
  );
});

Deno.test("encodeDeadLetter: a record's text, or its bytes where it is not UTF-8", () => {
  const cases: [Uint8Array, Record<string, string>][] = [
    [new Uint8Array(0), { record: "" }],
    [encoder.encode("null"), { record: "null" }],
    [encoder.encode("a\nb\u2028\u0000é🚧"), { record: "a\nb\u2028\u0000é🚧" }],
    [encoder.encode("\ufeff{}"), { record: "\ufeff{}" }],
    [Uint8Array.of(0xff), { record_base64: "/w==" }],
    [Uint8Array.of(0x61, 0xc3), { record_base64: "YcM=" }],
    [Uint8Array.of(0xed, 0xa0, 0x80), { record_base64: "7aCA" }],
  ];
  for (const [record, expected] of cases) {
    const line = written({ ...LETTER, record });
    strictEqual(line.indexOf("\n"), line.length - 1);
    const { record: text, record_base64: base64 } = JSON.parse(line);
    deepStrictEqual({ text, base64 }, { text: expected["record"], base64: expected["record_base64"] });
  }
});

Deno.test("encodeDeadLetter: every byte comes back from a long record's base64", () => {
  const record = Uint8Array.from({ length: 65_536 }, (_, i) => i * 7 + (i >> 8));
  const { record_base64 } = JSON.parse(written({ ...LETTER, record }));
  deepStrictEqual(Uint8Array.from(atob(record_base64), (character) => character.charCodeAt(0)), record);
});

Deno.test("encodeDeadLetter: of a record that is too large the beginning, its length and hash", () => {
  const whole = { byteLength: 70_123, hash: "0123456789abcdef" };
  const cases: [number[], string | null][] = [
    [[0x61], "a"],
    [[], ""],
    [[0x61, 0xc3], "a"],
    [[0x61, 0xc3, 0xa9], "aé"],
    [[0x61, 0xe2], "a"],
    [[0x61, 0xe2, 0x82], "a"],
    [[0x61, 0xe2, 0x82, 0xac], "a€"],
    [[0x61, 0xf0], "a"],
    [[0x61, 0xf0, 0x9f], "a"],
    [[0x61, 0xf0, 0x9f, 0x9a], "a"],
    [[0x61, 0xf0, 0x9f, 0x9a, 0xa7], "a🚧"],
    [[0xc3], ""],
    [[0xff, 0x61], null],
    [[0x80, 0x80, 0x80, 0x80], null],
  ];
  for (const [bytes, text] of cases) {
    const letter = JSON.parse(
      written({ ...LETTER, reason: "TOO_LARGE", record: Uint8Array.from(bytes), oversize: whole }),
    );
    strictEqual(letter.record ?? null, text, String(bytes));
    strictEqual("record_base64" in letter, text === null);
    strictEqual(letter.byte_length, 70_123);
    strictEqual(letter.xxh64, "0123456789abcdef");
  }
});

Deno.test("decodeKnownDeadLetter: reads back what was written", () => {
  for (const reason of DEAD_LETTER_REASONS) {
    for (const position of [{ offset: 2 ** 40, line: 0 }, { partition: 3, offset: 7 }, null]) {
      const line = encodeDeadLetter({ ...LETTER, reason, position }, AT_US);
      const expected = reason === "SINK_REJECTED"
        ? { reason, trigger: LETTER.record }
        : { reason, source: LETTER.source, position };
      deepStrictEqual(decodeKnownDeadLetter(line), expected);
      deepStrictEqual(decodeKnownDeadLetter(line.subarray(0, -1)), expected);
      // A line that a crash tore is none.
      for (const kept of [0, 1, 40, line.length - 2]) {
        strictEqual(decodeKnownDeadLetter(line.subarray(0, kept)), null);
      }
    }
  }
});

Deno.test("decodeKnownDeadLetter: what is no dead letter", () => {
  const lines = [
    "",
    "null",
    "7",
    '"INVALID_KIND"',
    "[]",
    "{}",
    '{"reason":"INVALID_KIND"}',
    '{"position":{"offset":1}}',
    '{"reason":"OTHER","position":{"offset":1}}',
    '{"reason":["INVALID_KIND"],"position":{"offset":1}}',
    '{"__proto__":{"reason":"INVALID_KIND","position":1}}',
  ];
  for (const line of lines) strictEqual(decodeKnownDeadLetter(encoder.encode(line)), null, line);
  strictEqual(decodeKnownDeadLetter(Uint8Array.of(0x22, 0xff, 0x22)), null);
});
