import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { isSameFile } from "../../actors/adapters/distinct_files.ts";
import { LINE_BYTES_MAX, LineReader } from "../../actors/adapters/line_reader.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Number and text of each line; null for one that is too long. */
type Lines = [number, string | null][];

async function linesOf(reader: LineReader): Promise<Lines> {
  const lines: Lines = [];
  try {
    for await (const { number, bytes } of reader.lines()) {
      lines.push([number, bytes === null ? null : decoder.decode(bytes)]);
    }
  } finally {
    reader.close();
  }
  return lines;
}

async function read(directory: string, content: string | Uint8Array): Promise<Lines> {
  const path = join(directory, "lines");
  await Deno.writeFile(path, typeof content === "string" ? encoder.encode(content) : content);
  return await linesOf(await LineReader.open(path));
}

Deno.test("LineReader: line ends, blank lines, byte order marks", () =>
  inDirectory(async (directory) => {
    const cases: [string, Lines][] = [
      ["", []],
      ["\n", []],
      ["a", [[1, "a"]]],
      ["a\n", [[1, "a"]]],
      ["a\r\nb\r\n", [[1, "a"], [2, "b"]]],
      ["a\n\n \t\n\r\nb", [[1, "a"], [5, "b"]]],
      ["a\rb\n", [[1, "a\rb"]]],
      ["a\r\r\n", [[1, "a\r"]]],
      ["\ufeffa\n\ufeffb\n", [[1, "a"], [2, "\ufeffb"]]],
      ["\ufeff\r\nb", [[2, "b"]]],
      [" a \n", [[1, " a "]]],
    ];
    for (const [content, expected] of cases) {
      deepStrictEqual(await read(directory, content), expected, JSON.stringify(content));
    }
  }));

Deno.test("LineReader: as splitting the whole text would, over seeds", () =>
  inDirectory(async (directory) => {
    for (let seed = 0; seed < 25; seed++) {
      const random = randomFrom(seed);
      const longest = [10, 1000, 65_540, 300_000][seed % 4] as number;
      const lines = Array.from(
        { length: 12 },
        (_, i) => String.fromCharCode(97 + i).repeat(Math.floor(random() * longest)),
      );
      const text = lines.join("\n") + (random() < 0.5 ? "\n" : "");
      const expected = lines.flatMap((line, i): Lines => line === "" ? [] : [[i + 1, line]]);
      deepStrictEqual(await read(directory, text), expected, `seed ${seed}`);
    }
  }));

Deno.test("LineReader: a line that is too long is passed over, and those around it are not", () =>
  inDirectory(async (directory) => {
    const cases: [number, boolean][] = [
      [LINE_BYTES_MAX - 2, true],
      [LINE_BYTES_MAX - 1, true],
      [LINE_BYTES_MAX, false],
      [LINE_BYTES_MAX + 1, false],
      [2 * LINE_BYTES_MAX, false],
      [2 * LINE_BYTES_MAX + 1, false],
    ];
    for (const [length, isRead] of cases) {
      const long = "x".repeat(length);
      const expected: Lines = [[1, "a"], [2, isRead ? long : null], [3, "b"]];
      deepStrictEqual(await read(directory, `a\n${long}\nb\n`), expected, String(length));
      deepStrictEqual(await read(directory, `a\n${long}\nb`), expected, String(length));
    }
    const last = await read(directory, `a\n${"x".repeat(2 * LINE_BYTES_MAX)}`);
    deepStrictEqual(last, [[1, "a"], [2, null]]);
  }));

Deno.test("LineReader: what is appended while it reads is not read", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "lines");
    await Deno.writeTextFile(path, "1\n2\n3");
    const reader = await LineReader.open(path);
    const lines: string[] = [];
    for await (const { bytes } of reader.lines()) {
      lines.push(decoder.decode(bytes ?? new Uint8Array(0)));
      await Deno.writeTextFile(path, "0\nmore\n", { append: true });
    }
    reader.close();
    deepStrictEqual(lines, ["1", "2", "3"]);
  }));

Deno.test("LineReader: what can't be opened says why", () =>
  inDirectory(async (directory) => {
    await rejects(LineReader.open(join(directory, "none")), { message: "there is no such file" });
    await rejects(LineReader.open(directory), { message: "it is a directory" });
  }));

Deno.test("isSameFile: by whatever path", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "lines");
    await Deno.writeTextFile(path, "");
    await Deno.symlink(path, join(directory, "link"));
    await Deno.link(path, join(directory, "hard link"));
    await Deno.writeTextFile(join(directory, "other"), "");
    const cases: [string, boolean][] = [
      [path, true],
      [`${directory}/./lines`, true],
      [join(directory, "link"), true],
      [join(directory, "hard link"), true],
      [join(directory, "other"), false],
      [join(directory, "none"), false],
      ["-", false],
    ];
    for (const [other, expected] of cases) {
      strictEqual(await isSameFile(path, other), expected, other);
      strictEqual(await isSameFile(other, path), expected, other);
    }
    strictEqual(await isSameFile("-", "-"), false);
  }));
