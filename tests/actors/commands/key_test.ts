import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { KeyArguments } from "../../../actors/commands/arguments.ts";
import { key } from "../../../actors/commands/key.ts";

const encoder = new TextEncoder();
const WIDTHS = { bucketUs: 2_000_000, guardUs: 200_000 };

async function runKey(lines: readonly string[], options: Partial<KeyArguments>) {
  let output = "";
  let said = "";
  const status = await key({ transitions: { path: "in" }, code: null, json: true, ...options }, WIDTHS, {
    readLines: async function* () {
      for (const line of lines) yield encoder.encode(line);
    },
    write: (text) => {
      output += text;
      return Promise.resolve();
    },
    say: (text) => said += text,
  });
  return { status, output, said };
}

function record(fields: Readonly<Record<string, string>>): string {
  return JSON.stringify({
    device_id: "ld-1",
    fence_id: "depot",
    kind: "ENTER",
    event_time: "2026-05-04T08:00:00.000Z",
    ...fields,
  });
}

Deno.test("key: an id at the start of its bucket has the edge behind it", async () => {
  const { status, output } = await runKey([record({})], {});
  strictEqual(status, 0);
  deepStrictEqual(JSON.parse(output), {
    kind: "ENTER",
    code: "E",
    device_id: "ld-1",
    fence_id: "depot",
    event_time: "2026-05-04T08:00:00.000000Z",
    ids: [
      { slot: "bucket", id: "6c36b39e1842aca3306e5e77d7343882", material: "4:ld-1,5:depot,1:E,9:888940800," },
      {
        slot: "edge",
        id: JSON.parse(output).ids[1].id,
        material: "4:ld-1,5:depot,1:E,19:888940799~888940800,",
      },
    ],
  });
});

Deno.test("key: the slots and codes of what is given", async () => {
  const middle = "2026-05-04T08:00:01Z";
  const cases: [Readonly<Record<string, string>>, KeyArguments["code"], string[]][] = [
    [{ event_time: middle }, null, ["4:ld-1,5:depot,1:E,9:888940800,"]],
    [{ event_time: middle, kind: "exit" }, null, ["4:ld-1,5:depot,1:X,9:888940800,"]],
    [{ event_time: middle, kind: "DWELL" }, null, ["4:ld-1,5:depot,1:P,9:888940800,"]],
    [{ event_time: middle, kind: "DWELL" }, "D", ["4:ld-1,5:depot,1:D,9:888940800,"]],
    [{ event_time: middle, kind: "DWELL" }, "R", ["4:ld-1,5:depot,1:R,9:888940800,"]],
    [{ event_time: middle, device_id: "ü|\n" }, null, ["4:ü|\n,5:depot,1:E,9:888940800,"]],
    [{ seq: "7" }, null, ["4:ld-1,5:depot,1:E,2:#7,"]],
    [{ seq: "7", event_time: middle, kind: "DWELL" }, "D", ["4:ld-1,5:depot,1:D,9:888940800,"]],
    [{ event_time: "2026-05-04T08:00:01.8Z" }, null, [
      "4:ld-1,5:depot,1:E,9:888940800,",
      "4:ld-1,5:depot,1:E,19:888940800~888940801,",
    ]],
    [{ kind: "STALE" }, null, []],
    [{ kind: "STALE" }, "E", []],
    [{ kind: "HEARTBEAT" }, null, []],
  ];
  for (const [fields, code, materials] of cases) {
    const { output } = await runKey([record(fields)], { code });
    deepStrictEqual(JSON.parse(output).ids.map(({ material }: { material: string }) => material), materials);
  }
});

Deno.test("key: in text, quoted", async () => {
  const { output } = await runKey(
    [record({ device_id: "a\u001bb", event_time: "2026-05-04T07:59:59.877Z" })],
    { json: false },
  );
  const lines = output.replaceAll(/[0-9a-f]{32}/g, "<id>").split("\n");
  deepStrictEqual(lines, [
    'ENTER "a\\u001bb" "depot" 2026-05-04T07:59:59.877000Z, code E',
    "  id    <id>  its bucket, from 2026-05-04T07:59:58.000000Z for 2s",
    '        of "3:a\\u001bb,5:depot,1:E,9:888940799,"',
    "  edge  <id>  the boundary at 2026-05-04T08:00:00.000000Z, 123ms after this",
    '        of "3:a\\u001bb,5:depot,1:E,19:888940799~888940800,"',
    "",
  ]);
});

Deno.test("key: a heartbeat is no pair's", async () => {
  const { output } = await runKey([record({ kind: "HEARTBEAT" })], { json: false });
  strictEqual(output, "HEARTBEAT 2026-05-04T08:00:00.000000Z, which makes no trigger and has no id\n");
});

Deno.test("key: lines that are no transitions are named, the rest goes on", async () => {
  const { status, output, said } = await runKey(
    [record({}), "", "{", record({ kind: "LEFT" }), record({})],
    {},
  );
  strictEqual(status, 1);
  strictEqual(output.trimEnd().split("\n").length, 2);
  const refusals = said.trimEnd().split("\n");
  strictEqual(refusals[0]?.startsWith("fencepost: Line 3 is no transition: MALFORMED_JSON: "), true);
  strictEqual(refusals[1]?.startsWith("fencepost: Line 4 is no transition: INVALID_KIND: "), true);
  strictEqual(refusals.length, 2);
});

Deno.test("key: flags that describe no transition are wrong usage", async () => {
  const refused = { device_id: "", fence_id: "f", kind: "ENTER", event_time: "2026-05-04T08:00:00Z" };
  await rejects(runKey([], { transitions: { record: refused } }), {
    name: "UsageError",
    message: /^This is no transition: INVALID_ID: /,
  });
  const { output } = await runKey([], { transitions: { record: { ...refused, device_id: "d", seq: null } } });
  strictEqual(JSON.parse(output).device_id, "d");
});
