import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { audit } from "../../../actors/commands/audit.ts";
import { UsageError } from "../../../actors/commands/flags.ts";

const encoder = new TextEncoder();

function trigger(id: number, device: string): string {
  return JSON.stringify({
    id: String(id).padStart(32, "0"),
    kind: "ENTER",
    device_id: device,
    fence_id: "depot-3",
    event_time: "2026-05-04T08:00:00.000000Z",
  });
}

const FILES: Readonly<Record<string, readonly string[]>> = {
  "clean": [trigger(1, "a"), trigger(2, "b")],
  "empty": [],
  "noise": ["noise", "{}"],
  "again": [trigger(1, "a"), "noise", trigger(3, "c"), trigger(3, "c")],
};

async function runAudit(paths: readonly string[], options: { json?: boolean; limit?: number }) {
  let output = "";
  const status = await audit({
    paths,
    bucketUs: 2_000_000,
    limit: options.limit ?? 1000,
    json: options.json ?? false,
  }, {
    isSameFile: (one, other) => Promise.resolve(`./${one}` === other || one === `./${other}`),
    write: (text) => {
      output += text;
      return Promise.resolve();
    },
    readLines: async function* (path) {
      const lines = FILES[path];
      if (lines === undefined) throw new Error(`Cannot read ${path}: no such file`);
      for (const text of lines) yield encoder.encode(text);
    },
  });
  return { status, output };
}

Deno.test("audit: nothing found", async () => {
  deepStrictEqual(await runAudit(["clean"], {}), {
    status: 0,
    output: "2 triggers: 0 ids that occur again, 0 suspiciously close\n",
  });
});

Deno.test("audit: findings in text", async () => {
  const { status, output } = await runAudit(["clean", "again"], {});
  strictEqual(status, 1);
  const lines = output.split("\n").filter((text) => !text.startsWith("  "));
  deepStrictEqual(lines, [
    `again:1 has the id of clean:1 again: ENTER "a" "depot-3" 2026-05-04T08:00:00.000000Z ${
      "1".padStart(32, "0")
    }`,
    `again:4 has the id of again:3 again: ENTER "c" "depot-3" 2026-05-04T08:00:00.000000Z ${
      "3".padStart(32, "0")
    }`,
    "5 triggers: 2 ids that occur again, 0 suspiciously close",
    "lines that are no triggers: 1",
    "",
  ]);
});

Deno.test("audit: findings as JSON, the last line sums up", async () => {
  const { status, output } = await runAudit(["clean", "again"], { json: true });
  strictEqual(status, 1);
  const lines = output.trimEnd().split("\n").map((text) => JSON.parse(text));
  deepStrictEqual(lines.map(({ finding, cause }) => [finding, cause]), [
    ["repeated_id", "two_writers"],
    ["repeated_id", "written_again"],
    ["summary", undefined],
  ]);
  strictEqual(lines[2].repeated_ids, 2);
});

Deno.test("audit: findings beyond the limit are counted", async () => {
  const { status, output } = await runAudit(["clean", "again"], { limit: 0 });
  strictEqual(status, 1);
  strictEqual(
    output,
    "5 triggers: 2 ids that occur again, 0 suspiciously close\n2 findings are not shown; see --limit\nlines that are no triggers: 1\n",
  );
});

Deno.test("audit: lines of which none is a trigger are refused; no lines are fine, and so are some", async () => {
  await rejects(
    runAudit(["noise", "empty"], {}),
    new UsageError("Cannot audit noise, empty: there are lines, and none of them is a trigger"),
  );
  strictEqual((await runAudit(["empty"], {})).status, 0);
  strictEqual((await runAudit(["noise", "clean"], {})).status, 0);
});

Deno.test("audit: a file that can't be read", async () => {
  await rejects(runAudit(["missing"], {}), (error) => {
    return error instanceof UsageError && error.message === "Cannot read missing: no such file";
  });
});

Deno.test("audit: a file that is given twice, by whatever path, is refused, and no crash is blamed", async () => {
  const twice = [
    [["clean", "again", "clean"], "clean is given twice"],
    [["clean", "./clean"], "./clean is the same file as clean"],
  ] as const;
  for (const [paths, message] of twice) {
    await rejects(runAudit(paths, {}), (error) => error instanceof UsageError && error.message === message);
  }
});
