import { deepStrictEqual, notStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { NdjsonSource, type NdjsonSourceOptions } from "../../actors/adapters/ndjson_source.ts";
import type { Json } from "../../lib/json.ts";
import type { RecordBatch } from "../../lib/record_batch.ts";
import { randomFrom } from "../support/random.ts";

const decoder = new TextDecoder();
const never = new AbortController().signal;

type Overrides = Partial<Omit<NdjsonSourceOptions, "path">>;

function sourceOf(path: string, overrides: Overrides = {}): NdjsonSource {
  return new NdjsonSource({ path, live: false, fromStart: false, atEof: "flush", ...overrides });
}

function recordsOf(batch: RecordBatch): string[] {
  const records: string[] = [];
  for (let i = 0; i < batch.count; i++) {
    records.push(decoder.decode(batch.bytes.subarray(batch.starts[i], batch.ends[i])));
  }
  return records;
}

interface Reading {
  readonly records: string[];
  /** The position behind the last record, or the one that was opened with. */
  readonly position: Json;
  readonly opened: "resumed" | "started";
  readonly notices: string[];
}

/** Opens, reads to the end or up to a number of batches, closes. */
async function readAll(
  path: string,
  options: Overrides & { position?: Json; batches?: number } = {},
): Promise<Reading> {
  const { position: from = null, batches = Infinity, ...overrides } = options;
  const notices: string[] = [];
  const source = sourceOf(path, { onNotice: (message) => notices.push(message), ...overrides });
  try {
    const opened = await source.open(from);
    const records: string[] = [];
    let position = from;
    for (let count = 0; count < batches; count++) {
      const batch = await source.read(never);
      if (batch === null) {
        ok(source.caughtUp(), "at its end a source has caught up");
        strictEqual(await source.read(never), null, "the end stays the end");
        break;
      }
      ok(batch.count >= 1, "a batch has a record at least");
      records.push(...recordsOf(batch));
      position = batch.position;
    }
    return { records, position, opened, notices };
  } finally {
    source.close();
  }
}

async function withDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** A position as a checkpoint gives it back. */
function stored(position: Json): Json {
  return JSON.parse(JSON.stringify(position)) as Json;
}

async function linesFile(directory: string, lines: readonly string[], name = "in.ndjson"): Promise<string> {
  const path = join(directory, name);
  await Deno.writeTextFile(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

const numbered = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `{"number":${from + i}}`);

Deno.test("NdjsonSource: a file is read to its end, with offsets and lines", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "in.ndjson");
    await Deno.writeTextFile(path, '\ufeff{"a":1}\r\n\n{"b":2}\n{"c":3}');
    const source = sourceOf(path);
    deepStrictEqual([source.kind, source.name, source.rereadable, source.live], [
      "ndjson",
      path,
      true,
      false,
    ]);
    strictEqual(await source.open(null), "started");
    strictEqual(source.caughtUp(), false);
    const first = await source.read(never);
    ok(first !== null);
    deepStrictEqual(recordsOf(first), ['{"a":1}', '{"b":2}']);
    deepStrictEqual([...first.offsets.subarray(0, 2)], [3, 13]);
    deepStrictEqual([...first.lines.subarray(0, 2)], [1, 3]);
    strictEqual(first.ingestTimesUs, null);
    const last = await source.read(never);
    ok(last !== null);
    deepStrictEqual(recordsOf(last), ['{"c":3}']);
    deepStrictEqual([last.offsets[0], last.lines[0]], [21, 4]);
    strictEqual(await source.read(never), null);
    source.close();
    source.close();
  });
});

Deno.test("NdjsonSource: an empty or blank file ends at once", async () => {
  await withDirectory(async (directory) => {
    for (const text of ["", "\n\n \r\n", "\ufeff"]) {
      const path = join(directory, "in.ndjson");
      await Deno.writeTextFile(path, text);
      deepStrictEqual((await readAll(path)).records, []);
    }
  });
});

Deno.test("NdjsonSource: stopped after any batch and opened again, it misses and repeats nothing", async () => {
  await withDirectory(async (directory) => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = randomFrom(seed);
      const lines = numbered(40).map((line) =>
        random() < 0.2 ? "" : line + " ".repeat(Math.floor(random() * 200))
      );
      const path = await linesFile(directory, lines);
      const readBytes = [1, 17, 300, 5000][seed % 4] ?? 1;
      const records: string[] = [];
      let position: Json = null;
      for (;;) {
        const reading: Reading = await readAll(path, {
          position,
          batches: 1 + Math.floor(random() * 3),
          readBytes,
        });
        strictEqual(reading.opened, position === null ? "started" : "resumed", `seed ${seed}`);
        if (reading.records.length === 0) break;
        records.push(...reading.records);
        position = stored(reading.position);
      }
      deepStrictEqual(records, lines.filter((line) => line !== ""), `seed ${seed}`);
    }
  });
});

Deno.test("NdjsonSource: under hold a torn last line waits until the file has grown", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "in.ndjson");
    await Deno.writeTextFile(path, '{"a":1}\n{"b"');
    const first = await readAll(path, { atEof: "hold" });
    deepStrictEqual(first.records, ['{"a":1}']);
    // The head was hashed of what had been handed over: completing the line is no change of the beginning.
    await Deno.writeTextFile(path, ':2}\n{"c":3}\n', { append: true });
    const second = await readAll(path, { atEof: "hold", position: stored(first.position) });
    deepStrictEqual([second.opened, second.records], ["resumed", ['{"b":2}', '{"c":3}']]);
    const third = await readAll(path, { atEof: "hold", position: stored(second.position) });
    deepStrictEqual([third.opened, third.records], ["resumed", []]);
  });
});

Deno.test("NdjsonSource: what became of the file since the checkpoint", async (test) => {
  const lines = numbered(500);

  /** Reads half of a file, lets `change` happen to it, and opens it again. */
  async function afterwards(
    change: (path: string, directory: string) => Promise<unknown>,
    overrides: Overrides = {},
  ): Promise<Reading> {
    let reading: Reading | null = null;
    await withDirectory(async (directory) => {
      const path = await linesFile(directory, lines);
      const { position, records } = await readAll(path, { batches: 1, readBytes: 6000 });
      ok(records.length > 250 && records.length < 500, "about half has been read");
      await change(path, directory);
      reading = await readAll(path, { position: stored(position), ...overrides });
    });
    ok(reading !== null);
    return reading;
  }
  const replace = async (path: string, directory: string, replacement: readonly string[]): Promise<void> => {
    await Deno.rename(await linesFile(directory, replacement, "new.ndjson"), path);
  };

  await test.step("nothing: goes on", async () => {
    const reading = await afterwards(() => Promise.resolve());
    deepStrictEqual([reading.opened, reading.notices], ["resumed", []]);
    strictEqual(reading.records.at(-1), lines.at(-1));
    ok(reading.records.length < 250);
  });
  await test.step("grown: goes on", async () => {
    const reading = await afterwards((path) => Deno.writeTextFile(path, "{}\n", { append: true }));
    deepStrictEqual([reading.opened, reading.records.at(-1)], ["resumed", "{}"]);
  });
  await test.step("copied over itself, another inode: goes on", async () => {
    const reading = await afterwards(async (path) => {
      await Deno.copyFile(path, `${path}.copy`);
      notStrictEqual((await Deno.stat(path)).ino, (await Deno.stat(`${path}.copy`)).ino);
      await Deno.rename(`${path}.copy`, path);
    });
    deepStrictEqual([reading.opened, reading.notices], ["resumed", []]);
  });
  await test.step("shorter than the position: refused", async () => {
    for (const bytes of [0, 10, 4096, 5000]) {
      await rejects(
        afterwards((path) => Deno.truncate(path, bytes)),
        /it is shorter than what was read of it .*--from-start/,
        `${bytes}`,
      );
    }
  });
  await test.step("a copy shorter than the position: refused", async () => {
    await rejects(
      afterwards((path, directory) => replace(path, directory, lines.slice(0, 300))),
      /it is shorter than what was read of it/,
    );
  });
  await test.step("begins otherwise, the same inode: refused", async () => {
    await rejects(
      afterwards((path) => Deno.writeTextFile(path, numbered(500, 1000).join("\n"))),
      /its beginning is not what was read of it.*--from-start/,
    );
  });
  await test.step("shorter, but read from the start: all of it", async () => {
    const reading = await afterwards((path) => Deno.truncate(path, 26), { fromStart: true });
    deepStrictEqual([reading.opened, reading.records], ["started", lines.slice(0, 2)]);
  });
  await test.step("replaced by another file: that one from its beginning", async () => {
    for (const replacement of [numbered(500, 1000), ["{}"], []]) {
      const reading = await afterwards((path, directory) => replace(path, directory, replacement));
      deepStrictEqual([reading.opened, reading.records], ["started", replacement]);
      strictEqual(reading.notices.length, 1);
      ok(reading.notices[0]?.includes("is another file than the one read before"));
    }
  });
  await test.step("gone: refused", async () => {
    await rejects(
      afterwards((path) => Deno.remove(path)),
      /Cannot read records from .*: there is no such file/,
    );
  });
});

Deno.test("NdjsonSource: the beginning is compared as far as it was read, up to 4096 bytes", async () => {
  await withDirectory(async (directory) => {
    // A byte changed in place: refused where it is among the first 4096 that were handed over, else unknown.
    const cases: [number, number, boolean][] = [
      [5000, 0, true],
      [5000, 4095, true],
      [5000, 4096, false],
      [100, 99, true],
      [100, 105, false],
    ];
    for (const [readBytes, changedAt, refused] of cases) {
      const path = join(directory, "in.ndjson");
      // Lines of one byte, so that a read of an even number of bytes is handed over whole.
      await Deno.writeTextFile(path, "1\n".repeat(4000));
      const { position } = await readAll(path, { batches: 1, readBytes });
      using file = await Deno.open(path, { write: true });
      await file.seek(changedAt, Deno.SeekMode.Start);
      await file.write(Uint8Array.of(0x32));
      const again = readAll(path, { position: stored(position) });
      if (refused) await rejects(again, /its beginning is not/, `${readBytes} ${changedAt}`);
      else strictEqual((await again).opened, "resumed", `${readBytes} ${changedAt}`);
    }
  });
});

Deno.test("NdjsonSource: the beginning of a file that was short is learned as it is read on", async () => {
  await withDirectory(async (directory) => {
    const path = await linesFile(directory, numbered(2));
    const short = (await readAll(path)).position;
    await Deno.writeTextFile(path, numbered(1000, 2).map((line) => `${line}\n`).join(""), { append: true });
    const long = (await readAll(path, { position: stored(short), readBytes: 100 })).position;
    strictEqual(headBytesOf(short), 26);
    strictEqual(headBytesOf(long), 4096);
    deepStrictEqual(long, (await readAll(path)).position, "the same as read at once");
  });
});

function headBytesOf(position: Json): unknown {
  return (position as { identity: { headBytes: number } }).identity.headBytes;
}

Deno.test("NdjsonSource: from the start holds for the first open only, so that a restart goes on", async () => {
  await withDirectory(async (directory) => {
    const path = await linesFile(directory, numbered(3));
    const { position } = await readAll(path);
    const source = sourceOf(path, { fromStart: true });
    strictEqual(await source.open(position), "started");
    strictEqual(await source.open(position), "resumed");
    source.close();
  });
});

Deno.test("NdjsonSource: positions that are none are refused, a pipe's starts the file", async () => {
  await withDirectory(async (directory) => {
    const path = await linesFile(directory, numbered(1));
    for (
      const position of [7, {}, { offset: -1, line: 0 }, { offset: 1.5, line: 0 }, {
        partition: 0,
        offset: 1,
      }]
    ) {
      await rejects(readAll(path, { position }), /position is none of a file/, JSON.stringify(position));
    }
    const reading = await readAll(path, { position: { offset: 7, line: 1 } });
    deepStrictEqual([reading.opened, reading.records], ["started", numbered(1)]);
    ok(reading.notices[0]?.includes("read from a pipe before"));
    await rejects(readAll(directory), /it is not a file/);
  });
});

Deno.test("NdjsonSource: an aborted read loses nothing", async () => {
  await withDirectory(async (directory) => {
    const path = await linesFile(directory, numbered(2));
    const source = sourceOf(path, { readBytes: 13 });
    await source.open(null);
    const reason = new Error("stop");
    await rejects(source.read(AbortSignal.abort(reason)), reason);
    const controller = new AbortController();
    const reading = source.read(controller.signal);
    controller.abort(reason);
    await rejects(reading, reason);
    const first = await source.read(never);
    const second = await source.read(never);
    ok(first !== null && second !== null);
    deepStrictEqual([...recordsOf(first), ...recordsOf(second)], numbered(2));
    source.close();
  });
});

/** The writing end of a FIFO, which is another process: Deno 2.4 opens one only where the other end is open. */
interface Writer {
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

Deno.test("NdjsonSource: a file that is cut short while it is read does not count as read to its end", async () => {
  await withDirectory(async (directory) => {
    for (const atEof of ["flush", "hold"] as const) {
      const path = await linesFile(directory, numbered(1000));
      const source = sourceOf(path, { atEof, readBytes: 4096 });
      const never = new AbortController().signal;
      await source.open(null);
      try {
        ok(await source.read(never) !== null);
        await Deno.truncate(path, 100);
        await rejects(
          source.read(never),
          /it became shorter while it was read \(100 bytes, 4096 have been read\)/,
        );
        ok(!source.caughtUp());
      } finally {
        source.close();
      }
    }
  });
});

/** Opens a source on a FIFO, hands both ends over, and closes them. */
async function withPipe(
  options: Overrides & { position?: Json },
  run: (source: NdjsonSource, writer: Writer) => Promise<void>,
): Promise<void> {
  await withDirectory(async (directory) => {
    const { position = null, ...overrides } = options;
    const path = join(directory, "fifo");
    ok((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
    const child = new Deno.Command("sh", { args: ["-c", 'exec cat > "$0"', path], stdin: "piped" }).spawn();
    const stdin = child.stdin.getWriter();
    let isClosed = false;
    const writer: Writer = {
      write: (text) => stdin.write(new TextEncoder().encode(text)),
      close: async () => {
        if (!isClosed) await stdin.close();
        isClosed = true;
      },
    };
    const source = sourceOf(path, overrides);
    try {
      strictEqual(await source.open(position), "started");
      await run(source, writer);
    } finally {
      await writer.close();
      await child.status;
      source.close();
    }
  });
}

Deno.test("NdjsonSource: a pipe", async (test) => {
  await test.step("ignores a position, can't be read again, may be live, counts from its start", async () => {
    await withPipe({ live: true, position: { offset: 99, line: 9 } }, async (source, writer) => {
      deepStrictEqual([source.rereadable, source.live], [false, true]);
      await writer.write("{}\n\n");
      deepStrictEqual((await source.read(never))?.position, { offset: 4, line: 2 });
      await writer.close();
      strictEqual(await source.read(never), null);
    });
  });
  await test.step("has caught up only while it waits for the writer", async () => {
    await withPipe({}, async (source, writer) => {
      strictEqual(source.caughtUp(), false, "before the first read nothing is known");
      const reading = source.read(never);
      strictEqual(source.caughtUp(), true);
      await writer.write("{}\n");
      await reading;
      strictEqual(source.caughtUp(), false, "more may have come");
      await writer.close();
      strictEqual(await source.read(never), null);
    });
  });
  await test.step("keeps what comes after an abort", async () => {
    await withPipe({}, async (source, writer) => {
      for (let i = 0; i < 3; i++) {
        const controller = new AbortController();
        const reading = source.read(controller.signal);
        controller.abort(new Error(`stop ${i}`));
        await rejects(reading, new Error(`stop ${i}`));
        strictEqual(source.caughtUp(), true, "the read still waits");
      }
      await writer.write('{"a":1}\n');
      const batch = await source.read(never);
      ok(batch !== null);
      deepStrictEqual(recordsOf(batch), ['{"a":1}']);
      await writer.close();
      strictEqual(await source.read(never), null);
    });
  });
  await test.step("its last line needs no line end, under hold either", async () => {
    for (const atEof of ["flush", "hold"] as const) {
      await withPipe({ atEof }, async (source, writer) => {
        await writer.write('{"a":1}');
        await writer.close();
        const batch = await source.read(never);
        ok(batch !== null);
        deepStrictEqual(recordsOf(batch), ['{"a":1}']);
        strictEqual(await source.read(never), null);
      });
    }
  });
  await test.step("an aborted read that nobody asks for again keeps nothing open", async () => {
    await withPipe({}, async (source, writer) => {
      const controller = new AbortController();
      const reading = source.read(controller.signal);
      controller.abort(new Error("stop"));
      await rejects(reading, new Error("stop"));
      source.close();
      await writer.close();
    });
  });
});

/** Runs the program below with something as its stdin, and returns what it says. */
async function withStdin(stdin: string): Promise<unknown> {
  const program = new URL("../support/read_stdin.ts", import.meta.url).pathname;
  const script =
    `${stdin} '${Deno.execPath()}' run --quiet --no-lock --no-prompt --allow-read --allow-write '${program}'`;
  const output = await new Deno.Command("sh", {
    args: ["-c", stdin.endsWith("|") ? script : `${script.slice(stdin.length)} ${stdin}`],
    stderr: "inherit",
  }).output();
  strictEqual(output.code, 0);
  return JSON.parse(decoder.decode(output.stdout));
}

Deno.test("NdjsonSource: stdin is a pipe or a file, as it is given", async () => {
  await withDirectory(async (directory) => {
    const path = await linesFile(directory, numbered(3));
    const records = numbered(3);
    deepStrictEqual(await withStdin(`cat '${path}' |`), {
      rereadable: false,
      records,
      position: { offset: 39, line: 3 },
    });
    deepStrictEqual(await withStdin(`< '${path}'`), {
      rereadable: true,
      records,
      position: (await readAll(path)).position,
    });
  });
});
