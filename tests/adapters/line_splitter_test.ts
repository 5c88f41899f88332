import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import xxhash from "xxhash-wasm";
import { LineSplitter, type SplitLines } from "../../actors/adapters/line_splitter.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import { randomFrom } from "../support/random.ts";

const hash = await xxhash();
const encoder = new TextEncoder();

/** A record as the tests compare it: the kept bytes as Latin-1, so that any bytes are shown. */
interface Line {
  readonly text: string;
  readonly offset: number;
  readonly line: number;
  readonly oversize?: { readonly byteLength: number; readonly hash: string };
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function hashOf(bytes: Uint8Array): string {
  return hash.h64Raw(bytes).toString(16).padStart(16, "0");
}

function linesOf(split: SplitLines | null): Line[] {
  const lines: Line[] = [];
  for (let i = 0; i < (split?.count ?? 0); i++) {
    if (split === null) break;
    const oversize = split.oversize.get(i);
    lines.push({
      text: latin1(split.bytes.subarray(split.starts[i], split.ends[i])),
      offset: split.offsets[i] ?? -1,
      line: split.lines[i] ?? -1,
      ...(oversize === undefined ? {} : { oversize }),
    });
  }
  return lines;
}

/** The obvious way: the whole input at once, byte by byte. */
function model(input: Uint8Array): Line[] {
  const lines: Line[] = [];
  const hasMark = input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf;
  let start = hasMark ? 3 : 0;
  let line = 0;
  for (let at = start; at <= input.length; at++) {
    if (at < input.length && input[at] !== 0x0a) continue;
    if (at === input.length && at === start) break;
    line++;
    const end = at > start && input[at - 1] === 0x0d ? at - 1 : at;
    const record = input.subarray(start, end);
    const oversize = { byteLength: record.length, hash: hashOf(record) };
    if (record.length > RECORD_BYTES_MAX) {
      lines.push({ text: latin1(record.subarray(0, RECORD_BYTES_MAX)), offset: start, line, oversize });
    } else if (/[^ \t\r]/.test(latin1(record))) {
      lines.push({ text: latin1(record), offset: start, line });
    }
    start = at + 1;
  }
  return lines;
}

function splitterWith(readBytes: number): LineSplitter {
  return new LineSplitter({ offset: 0, line: 0, readBytes, createHash: () => hash.create64() });
}

/**
 * Feeds an input in reads of the sizes that `size` gives. All batches are looked at once more when all is read, or before
 * they are released, since until then what was handed over must not change.
 */
function split(
  input: Uint8Array,
  { readBytes, size, releases = () => false }: {
    readBytes: number;
    size: () => number;
    releases?: () => boolean;
  },
): Line[] {
  const splitter = splitterWith(readBytes);
  const lines: Line[] = [];
  const batches: SplitLines[] = [];
  let released = 0;
  const lookAgain = (): void => {
    const again = batches.splice(0).flatMap(linesOf);
    deepStrictEqual(again, lines.slice(released), "what was handed over has not changed");
    released = lines.length;
  };
  const take = (batch: SplitLines | null): void => {
    lines.push(...linesOf(batch));
    if (batch !== null) batches.push(batch);
  };
  for (let at = 0; at < input.length;) {
    if (releases()) {
      lookAgain();
      splitter.release();
    }
    const room = splitter.room();
    ok(room.length >= 1 && room.length <= readBytes, "there is room for a read, and no more");
    const bytes = input.subarray(at, at + Math.max(1, Math.min(size(), room.length)));
    room.set(bytes);
    at += bytes.length;
    take(splitter.take(bytes.length));
  }
  take(splitter.finish());
  strictEqual(splitter.offset, input.length, "all has been handed over");
  lookAgain();
  return lines;
}

const LIMIT = "x".repeat(RECORD_BYTES_MAX);

Deno.test("LineSplitter: inputs, as a table, in reads of any size", () => {
  const cases: [string, string][] = [
    ["nothing", ""],
    ["one line", "{}\n"],
    ["no line end", "{}"],
    ["CRLF", '{"a":1}\r\n{"b":2}\r\n'],
    ["CRLF without the last LF", '{"a":1}\r\n{"b":2}\r'],
    ["a carriage return inside", "a\rb\r\r\n"],
    ["blank lines", "\n\n{}\n\r\n \t\r\n{}\n\n"],
    ["only blank lines", "\n\r\n  \n"],
    ["byte order mark", "\xef\xbb\xbf{}\n{}\n"],
    ["byte order mark and nothing", "\xef\xbb\xbf"],
    ["byte order mark and a line end", "\xef\xbb\xbf\r\n{}"],
    ["half a byte order mark", "\xef\xbb\n{}\n"],
    ["half a byte order mark at the end", "\xef\xbb"],
    ["byte order mark in the second line", "{}\n\xef\xbb\xbf{}\n"],
    ["byte order mark twice", "\xef\xbb\xbf\xef\xbb\xbf{}\n"],
    ["byte order mark behind a blank line", "\n\xef\xbb\xbf{}\n"],
  ];
  for (const [name, text] of cases) {
    const input = Uint8Array.from(text, (character) => character.charCodeAt(0));
    for (const readBytes of [1, 2, 3, 5, 1 << 20]) {
      deepStrictEqual(
        split(input, { readBytes, size: () => readBytes }),
        model(input),
        `${name}, reads of ${readBytes}`,
      );
    }
  }
});

Deno.test("LineSplitter: records around the size limit, cut at every edge", () => {
  const ends = ["\n", "\r\n", "", "\r", "\r\r\n"];
  for (let extra = -2; extra <= 3; extra++) {
    const record = LIMIT.slice(2) + "yz+++".slice(0, 2 + extra);
    for (const end of ends) {
      for (const before of ["", "{}\n", "\xef\xbb\xbf"]) {
        const text = `${before}${record}${end}${end.includes("\n") ? "{}\n" : ""}`;
        const input = Uint8Array.from(text, (character) => character.charCodeAt(0));
        const expected = model(input);
        // The first read ends anywhere around the record's end, the others take a byte each, then all the rest.
        for (let edge = -3; edge <= 4; edge++) {
          let reads = 0;
          const size = (): number => {
            reads++;
            return reads === 1 ? before.length + record.length + edge : reads < 8 ? 1 : 1 << 20;
          };
          deepStrictEqual(
            split(input, { readBytes: 1 << 20, size }),
            expected,
            `${extra} ${JSON.stringify(end)} ${edge}`,
          );
        }
      }
    }
  }
});

Deno.test("LineSplitter: any input in any reads is cut as the model cuts it", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomFrom(seed);
    const upTo = (count: number): number => Math.floor(random() * count);
    const parts: string[] = random() < 0.3 ? ["\xef\xbb\xbf"] : [];
    for (let i = upTo(30); i >= 0; i--) {
      const kind = random();
      if (kind < 0.5) parts.push("a".repeat(upTo(300)));
      else if (kind < 0.6) parts.push("b\r".repeat(upTo(4)));
      else if (kind < 0.65) parts.push(String.fromCharCode(99 + upTo(20)).repeat(upTo(3 * RECORD_BYTES_MAX)));
      else if (kind < 0.7) parts.push(LIMIT.slice(upTo(3)), "z".repeat(upTo(4)));
      parts.push(["\n", "\r\n", "\n\n", "", "\r"][upTo(5)] ?? "");
    }
    const input = Uint8Array.from(parts.join(""), (character) => character.charCodeAt(0));
    const readBytes = [7, 100, 4096, 65_536, 300_000, 1 << 20][upTo(6)] ?? 1;
    const lines = split(input, { readBytes, size: () => 1 + upTo(readBytes) });
    deepStrictEqual(lines, model(input), `seed ${seed}`);
  }
});

Deno.test("LineSplitter: blocks that were released are written again, others are not", () => {
  for (let seed = 1; seed <= 3; seed++) {
    const random = randomFrom(seed);
    const input = new Uint8Array(4 << 20);
    for (let at = 0; at < input.length; at++) {
      input[at] = random() < 0.01 ? 0x0a : 0x61 + Math.floor(random() * 26);
    }
    const readBytes = [50_000, 250_000, 1 << 20][seed % 3] as number;
    const size = (): number => 1 + Math.floor(random() * readBytes);
    const lines = split(input, { readBytes, size, releases: () => random() < 0.6 });
    // Not deepStrictEqual: what it would say of 40,000 lines nobody wants to wait for.
    ok(JSON.stringify(lines) === JSON.stringify(model(input)), `seed ${seed}`);
  }
  const splitter = splitterWith(1 << 20);
  const block = splitter.room().buffer;
  for (const released of [true, true, false]) {
    const { length } = splitter.room().fill(0x0a).fill(0x61, 0, 900_000);
    splitter.take(length);
    if (released) splitter.release();
    strictEqual(splitter.room().buffer === block, released);
  }
});

Deno.test("LineSplitter: a line without an end takes no more room than a short one", () => {
  const splitter = splitterWith(1 << 20);
  const whole = hash.create64();
  const buffers = new Set<ArrayBuffer>();
  let byteLength = 0;
  for (let i = 0; i < 64; i++) {
    const room = splitter.room();
    buffers.add(room.buffer);
    room.fill(65 + i % 26);
    whole.update(room);
    byteLength += room.length;
    strictEqual(splitter.take(room.length), null);
  }
  ok(byteLength > 50 * RECORD_BYTES_MAX);
  ok(buffers.size <= 2, "the same block is read into again and again");
  strictEqual(splitter.offset, 0, "the line has not been handed over");
  splitter.room().set(encoder.encode("\n{}\n"));
  const lines = linesOf(splitter.take(4));
  deepStrictEqual(lines[0]?.oversize, { byteLength, hash: whole.digest().toString(16).padStart(16, "0") });
  deepStrictEqual(lines[1], { text: "{}", offset: byteLength + 1, line: 2 });
});

Deno.test("LineSplitter: goes on in the middle of a source, where a byte order mark is none", () => {
  const splitter = new LineSplitter({
    offset: 70,
    line: 9,
    readBytes: 64,
    createHash: () => hash.create64(),
  });
  splitter.room().set(Uint8Array.of(0xef, 0xbb, 0xbf, 0x0a, 0x61));
  deepStrictEqual(linesOf(splitter.take(5)), [{ text: "\xef\xbb\xbf", offset: 70, line: 10 }]);
  deepStrictEqual([splitter.offset, splitter.line], [74, 10], "the unfinished line stays");
});
