import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { NdjsonSink } from "../../actors/adapters/ndjson_sink.ts";
import type { Json } from "../../lib/json.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function withDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function write(sink: NdjsonSink, lines: readonly string[]): Promise<void> {
  const bytes = encoder.encode(lines.map((line) => `${line}\n`).join(""));
  // A batch's buffer is longer than what is in it.
  const buffer = new Uint8Array(bytes.length + 10).fill(0x21);
  buffer.set(bytes);
  await sink.write({ bytes: buffer, byteLength: bytes.length, count: lines.length });
}

async function readBack(sink: NdjsonSink): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of sink.readBack()) lines.push(decoder.decode(line));
  return lines;
}

/** Opens a sink, hands it over, and closes it again. */
async function withSink<T>(
  { path, position = null, notices = [] }: { path: string; position?: Json; notices?: string[] },
  use: (sink: NdjsonSink) => Promise<T>,
): Promise<T> {
  const sink = new NdjsonSink({ path, onNotice: (message) => notices.push(message) });
  await sink.open(position);
  try {
    return await use(sink);
  } finally {
    sink.close();
  }
}

Deno.test("NdjsonSink: writes a new file, its directories too, and says how long it is", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "deep", "er", "out.ndjson");
    const sink = new NdjsonSink({ path });
    deepStrictEqual([sink.name, sink.readable], [path, true]);
    await sink.open(null);
    deepStrictEqual(await sink.flush(), { path, bytes: 0 });
    await write(sink, ["one", "two"]);
    deepStrictEqual(await sink.flush(), { path, bytes: 8 });
    await write(sink, []);
    await write(sink, ["ü"]);
    deepStrictEqual(await sink.flush(), { path, bytes: 11 });
    deepStrictEqual(await readBack(sink), []);
    sink.close();
    sink.close();
    strictEqual(await Deno.readTextFile(path), "one\ntwo\nü\n");
  });
});

Deno.test("NdjsonSink: without a position, what is there is kept", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "out.ndjson");
    for (
      const [before, after] of [["", ""], ["a\n", "a\n"], ["a\ntorn", "a\ntorn\n"], [
        "torn",
        "torn\n",
      ]] as const
    ) {
      await Deno.writeTextFile(path, before);
      await withSink({ path }, async (sink) => {
        deepStrictEqual(await readBack(sink), [], "nothing is known of it");
        await write(sink, ["new"]);
        deepStrictEqual(await sink.flush(), { path, bytes: after.length + 4 });
      });
      strictEqual(await Deno.readTextFile(path), `${after}new\n`);
    }
  });
});

Deno.test("NdjsonSink: behind a position, whole lines are read back and a torn one is cut", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "out.ndjson");
    const cases: [string, number, string[], string][] = [
      ["", 0, [], ""],
      ["a\n", 2, [], "a\n"],
      ["a\nb\n", 2, ["b"], "a\nb\n"],
      ["a\nb\n\nc\n", 2, ["b", "", "c"], "a\nb\n\nc\n"],
      ["a\nb\ntor", 2, ["b"], "a\nb\n"],
      ["a\ntor", 2, [], "a\n"],
      ["tor", 0, [], ""],
      // Never below the position, whatever stands there.
      ["abc", 3, [], "abc"],
      ["abcdef", 3, [], "abc"],
    ];
    for (const [before, bytes, tail, after] of cases) {
      await Deno.writeTextFile(path, before);
      const notices: string[] = [];
      await withSink({ path, position: { path, bytes }, notices }, async (sink) => {
        deepStrictEqual(await readBack(sink), tail, before);
        strictEqual(await Deno.readTextFile(path), after);
        await write(sink, ["new"]);
        deepStrictEqual(await sink.flush(), { path, bytes: after.length + 4 });
        deepStrictEqual(await readBack(sink), tail, "only what was there when it was opened");
      });
      strictEqual(await Deno.readTextFile(path), `${after}new\n`);
      deepStrictEqual(notices, []);
    }
  });
});

Deno.test("NdjsonSink: shorter than the checkpoint knows is refused, and nothing comes into being", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "deep", "out.ndjson");
    const expected = /it is shorter than the checkpoint knows \(it is missing, .* 5\).*move the state away/;
    await rejects(withSink({ path, position: { path, bytes: 5 } }, readBack), expected);
    await rejects(Deno.stat(join(directory, "deep")), Deno.errors.NotFound);
    await withSink({ path, position: { path, bytes: 0 } }, (sink) => write(sink, ["abc"]));
    await withSink({ path, position: { path, bytes: 4 } }, readBack);
    await rejects(withSink({ path, position: { path, bytes: 5 } }, readBack), /it has 4 bytes, .* knows 5/);
    strictEqual(await Deno.readTextFile(path), "abc\n");
  });
});

Deno.test("NdjsonSink: killed at any byte, all whole lines are there once when it has been opened again", async () => {
  await withDirectory(async (directory) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed);
      const path = join(directory, `${seed}.ndjson`);
      const lines = Array.from(
        { length: 30 },
        (_, i) => `${i}:${"x".repeat(Math.floor(random() ** 8 * 200_000))}`,
      );
      let told = 0;
      let position: Json = null;
      while (told < lines.length) {
        const from = told;
        position = await withSink({ path, position }, async (sink): Promise<Json> => {
          const back = await readBack(sink);
          deepStrictEqual(back, lines.slice(from, from + back.length), `seed ${seed}`);
          told = from + back.length;
          const count = Math.floor(random() * 5);
          await write(sink, lines.slice(told, told + count));
          told = Math.min(lines.length, told + count);
          return await sink.flush();
        });
        // Killed while it writes more: some whole lines, and a part of one.
        const more = encoder.encode(lines.slice(told, told + 3).map((line) => `${line}\n`).join(""));
        await Deno.writeFile(path, more.subarray(0, Math.floor(random() * more.length)), { append: true });
      }
      strictEqual(await Deno.readTextFile(path), lines.map((line) => `${line}\n`).join(""), `seed ${seed}`);
    }
  });
});

Deno.test("NdjsonSink: the path has changed since the checkpoint", async (test) => {
  await test.step("the old tail is read back and left alone, the new file appended to", async () => {
    await withDirectory(async (directory) => {
      const old = join(directory, "old.ndjson");
      const path = join(directory, "new.ndjson");
      await Deno.writeTextFile(old, "a\nb\ntor");
      await Deno.writeTextFile(path, "kept");
      const notices: string[] = [];
      await withSink({ path, position: { path: old, bytes: 2 }, notices }, async (sink) => {
        deepStrictEqual(await readBack(sink), ["b"]);
        deepStrictEqual(await sink.flush(), { path, bytes: 5 });
      });
      deepStrictEqual(notices, [`The output was ${old} before; from here on it is ${path}`]);
      strictEqual(await Deno.readTextFile(old), "a\nb\ntor");
      strictEqual(await Deno.readTextFile(path), "kept\n");
    });
  });
  await test.step("the old file is gone, too short, or was stdout: nothing is read back", async () => {
    await withDirectory(async (directory) => {
      const path = join(directory, "new.ndjson");
      await Deno.writeTextFile(join(directory, "short"), "a");
      for (const old of [join(directory, "gone"), join(directory, "short"), "-", "/dev/null"]) {
        const notices: string[] = [];
        const tail = await withSink({ path, position: { path: old, bytes: 2 }, notices }, readBack);
        deepStrictEqual([tail, notices.length], [[], 1], old);
      }
    });
  });
  await test.step("the same file by another spelling is no change", async () => {
    await withDirectory(async (directory) => {
      const path = join(directory, "out.ndjson");
      await Deno.writeTextFile(path, "a\nb\n");
      const notices: string[] = [];
      const position = { path: join(directory, ".", "x", "..", "out.ndjson"), bytes: 2 };
      deepStrictEqual(await withSink({ path, position, notices }, readBack), ["b"]);
      deepStrictEqual(notices, []);
    });
  });
});

Deno.test("NdjsonSink: positions that are none are refused", async () => {
  for (const position of [7, "x", {}, { path: "x" }, { path: "x", bytes: -1 }, { path: 1, bytes: 1 }]) {
    await rejects(new NdjsonSink({ path: "/dev/null" }).open(position), /position is none of an output/);
  }
});

Deno.test("NdjsonSink: a device or pipe can't be read back", async (test) => {
  await test.step("/dev/null takes all", async () => {
    const sink = new NdjsonSink({ path: "/dev/null" });
    strictEqual(sink.readable, false);
    await sink.open({ path: "/dev/null", bytes: 100 });
    await write(sink, ["a"]);
    deepStrictEqual([await sink.flush(), await readBack(sink)], [{ path: "/dev/null", bytes: 2 }, []]);
    sink.close();
  });
  await test.step("a FIFO carries the lines over", async () => {
    await withDirectory(async (directory) => {
      const path = join(directory, "fifo");
      ok((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
      // The other end is another process, since Deno 2.4 opens one only where the other is open.
      const reading = new Deno.Command("cat", { args: [path], stdout: "piped" }).spawn().output();
      await withSink({ path }, async (sink) => {
        strictEqual(sink.readable, false);
        await write(sink, ["a", "b"]);
        deepStrictEqual(await sink.flush(), { path, bytes: 4 });
      });
      strictEqual(decoder.decode((await reading).stdout), "a\nb\n");
    });
  });
});

/** What the process of tests/support/write_lines.ts says of itself. */
interface Said {
  readonly position: { readonly bytes: number } | null;
  readonly message: string | null;
  readonly isClosedPipe: boolean;
  readonly hasCause: boolean;
  readonly staysFailed: boolean;
}

/** Runs that process in a shell: `before PROGRAM args behind`. */
async function runWriter(
  { before = "", args, behind = "" }: { before?: string; args: readonly string[]; behind?: string },
): Promise<{ said: Said; stdout: string }> {
  const program = new URL("../support/write_lines.ts", import.meta.url).pathname;
  const words = args.map((argument) => `'${argument}'`).join(" ");
  const output = await new Deno.Command("bash", {
    args: ["-c", `${before} '${Deno.execPath()}' run --quiet --no-lock -A '${program}' ${words} ${behind}`],
  }).output();
  return {
    said: JSON.parse(decoder.decode(output.stderr)) as Said,
    stdout: decoder.decode(output.stdout),
  };
}

Deno.test("NdjsonSink: stdout takes lines, and is no file even where it is one", async () => {
  await withDirectory(async (directory) => {
    const { said, stdout } = await runWriter({ args: ["-", "2", "4"] });
    deepStrictEqual([stdout, said.position], ["xxx\nxxx\n", { path: "-", bytes: 8 }]);
    const path = join(directory, "out");
    const file = await runWriter({ args: ["-", "2", "4"], behind: `> '${path}'` });
    deepStrictEqual([await Deno.readTextFile(path), file.said.position], ["xxx\nxxx\n", {
      path: "-",
      bytes: 8,
    }]);
  });
});

Deno.test("NdjsonSink: an output that nobody reads any more is a ClosedPipeError", async () => {
  const { said } = await runWriter({ args: ["-", "1000", "65536"], behind: "| head -c 1 >/dev/null" });
  deepStrictEqual(said, {
    position: null,
    message: "Cannot write to stdout: nobody reads it any more",
    isClosedPipe: true,
    hasCause: true,
    staysFailed: true,
  });
});

Deno.test("NdjsonSink: a full device is said with its name and cause", async () => {
  const { said } = await runWriter({ args: ["/dev/full", "1", "16"] });
  deepStrictEqual([said.message, said.hasCause], ["Cannot write to /dev/full: the disk is full", true]);
});

Deno.test("NdjsonSink: a file that can't grow ends in a torn line, which the next open cuts", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "out.ndjson");
    // 64 KiB a file; without the trap, the signal would end the process.
    const { said } = await runWriter({
      before: "trap '' XFSZ; ulimit -f 64;",
      args: [path, "100", "10000"],
    });
    ok(said.message?.startsWith(`Cannot write to ${path}: `), said.message ?? "it has not failed");
    deepStrictEqual([said.position, said.staysFailed, said.hasCause], [null, true, true]);
    strictEqual((await Deno.stat(path)).size, 65_536, "the last write was short");
    await withSink({ path, position: { path, bytes: 20_000 } }, async (sink) => {
      strictEqual((await readBack(sink)).length, 4);
      deepStrictEqual(await sink.flush(), { path, bytes: 60_000 });
    });
    strictEqual((await Deno.stat(path)).size, 60_000);
  });
});

Deno.test("NdjsonSink: an output that is deleted or cut while it is written is no longer acknowledged", async (test) => {
  const cases: [name: string, harm: (path: string) => Promise<void>, message: string][] = [
    ["deleted", (path) => Deno.remove(path), "it was deleted while it was written"],
    [
      "cut short",
      (path) => Deno.truncate(path, 1),
      "it became shorter while it was written (5 bytes of 8 are left)",
    ],
  ];
  for (const [name, harm, reason] of cases) {
    await test.step(name, () =>
      withDirectory(async (directory) => {
        const path = join(directory, "out");
        await withSink({ path }, async (sink) => {
          await write(sink, ["one"]);
          deepStrictEqual(await sink.flush(), { path, bytes: 4 });
          await harm(path);
          await write(sink, ["two"]);
          const message = `Cannot write to ${path}: ${reason}`;
          await rejects(sink.flush(), { message });
          await rejects(sink.flush(), { message }, "final");
        });
      }));
  }
});

Deno.test("NdjsonSink: a path that can't be a file is refused by name", async () => {
  await withDirectory(async (directory) => {
    await Deno.writeTextFile(join(directory, "file"), "");
    await rejects(new NdjsonSink({ path: directory }).open(null), /Cannot write to .*: /);
    await rejects(
      new NdjsonSink({ path: join(directory, "file", "out") }).open(null),
      /Cannot write to .*: /,
    );
  });
});

Deno.test({
  name:
    "NdjsonSink: a second run on the same file is refused while the first writes, whatever leads there, and not after",
  // Deno 2.4 can't try for a lock; there the refused one still waits for it.
  ignore: !("tryLock" in Deno.FsFile.prototype) || Deno.build.os === "windows",
  fn: async () => {
    await withDirectory(async (directory) => {
      const path = join(directory, "out.ndjson");
      const link = join(directory, "link.ndjson");
      const first = new NdjsonSink({ path });
      await first.open(null);
      await write(first, ["one"]);
      const position = await first.flush();
      await Deno.symlink(path, link);
      // A torn line behind what the second knows is the first one's, which is writing it.
      await first.write({ bytes: encoder.encode("tw"), byteLength: 2, count: 1 });
      for (const [name, known] of [[path, null], [path, position], [link, null]] as const) {
        await rejects(new NdjsonSink({ path: name }).open(known), {
          name: "UnavailableError",
          message:
            `Cannot write to ${name}: another run is writing to it: stop that one first, or give another file`,
        });
      }
      await first.write({ bytes: encoder.encode("o\n"), byteLength: 2, count: 0 });
      await first.flush();
      strictEqual(await Deno.readTextFile(path), "one\ntwo\n");
      first.close();
      await withSink({ path, position }, async (sink) => deepStrictEqual(await readBack(sink), ["two"]));
    });
  },
});
