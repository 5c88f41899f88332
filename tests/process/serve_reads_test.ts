/**
 * Where a device is, asked of a real process: ids of any bytes, and what is known before, between and after.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { inDirectory, linesOf } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";

const NOW_MS = Date.now();
const RULES = ["--set", 'dwell.rules=[{"fence":"*","after":["10s","10m"]}]'];

interface Pair {
  readonly device_id: string;
  readonly fence_id: string;
  readonly inside: boolean;
  readonly entry_id: string;
  readonly told: readonly { readonly id: string }[];
  readonly pending: readonly { readonly after_s: number }[];
  readonly waiting_count: number;
}

function record(kind: string, device: string, seconds: number, fence = "depot"): string {
  return JSON.stringify({ device_id: device, fence_id: fence, kind, event_time_ms: NOW_MS + seconds * 1000 });
}

/** What is said to a request whose path is sent as it is. */
async function rawGet(service: RunningService, path: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(service.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nconnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const text = await new Response(connection.readable).text();
  const [answer, body] = text.split("\r\n\r\n", 2) as [string, string];
  return { status: Number(answer.split(" ")[1]), body };
}

async function get<T>(service: RunningService, path: string): Promise<{ status: number; body: T }> {
  const response = await fetch(service.url + path);
  return { status: response.status, body: await response.json() as T };
}

Deno.test("serve: where a device is, since when, and what it has told, over a restart", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state, ...RULES]);
    await service.send([
      record("ENTER", "truck-7", -60),
      record("ENTER", "truck-7", -50, "gate"),
      record("EXIT", "truck-7", -45, "gate"),
      record("ENTER", "truck-8", -40),
      record("HEARTBEAT", "", -1),
    ]);
    const look = async (from: RunningService): Promise<Pair> => {
      const { status, body } = await get<Pair & { watermark: string }>(from, "/v1/pairs/truck-7/depot");
      equal(status, 200);
      equal(body.watermark >= new Date(NOW_MS - 6000).toISOString().slice(0, 19), true);
      return body;
    };
    const pair = await look(service);
    deepEqual([pair.inside, pair.told.length, pair.pending.map(({ after_s }) => after_s)], [true, 1, [600]]);
    const device = await get<{ pairs_count: number; pairs: Pair[] }>(service, "/v1/devices/truck-7");
    equal(device.body.pairs_count, 2);
    deepEqual(device.body.pairs.map(({ fence_id, inside }) => [fence_id, inside]), [["depot", true], [
      "gate",
      false,
    ]]);
    for (const path of ["/v1/pairs/truck-7/elsewhere", "/v1/pairs/truck-9/depot", "/v1/devices/truck"]) {
      const { status, body } = await get<{ detail: string }>(service, path);
      equal(status, 404);
      match(body.detail, /remembered for 30d after its last record/);
    }
    const told = (await linesOf(join(state, "triggers.ndjson"))).map((line) =>
      JSON.parse(line) as { id: string }
    );
    const ids = new Set(told.map(({ id }) => id));
    equal(ids.has(pair.entry_id) && ids.has(pair.told[0]?.id as string), true);
    await service.kill();
    const again = await RunningService.start(["--state", state, ...RULES]);
    const restored = await look(again);
    deepEqual([restored.inside, restored.entry_id, restored.told], [true, pair.entry_id, pair.told]);
    equal((await again.stop()).status, 0);
  });
});

Deno.test("serve: a device is found by any id there may be, and by no other", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const ids = [
      "a/b",
      "a%2Fb",
      "line\nend",
      "\0",
      "?q=1#f",
      "+ +",
      "é",
      "e\u0301",
      "😀".repeat(64),
      "x".repeat(256),
      "<script>",
      "\u202eevil",
      "..",
      ".",
      "back\\slash",
    ];
    await service.send(
      ids.flatMap((id) => [record("ENTER", id, -60, id), record("ENTER", id, -60, "depot")]),
    );
    for (const id of ids) {
      const path = encodeURIComponent(id).replaceAll(".", "%2E");
      const pair = await rawGet(service, `/v1/pairs/${path}/${path}`);
      equal(pair.status, 200, pair.body);
      const said = JSON.parse(pair.body) as Pair;
      deepEqual([said.device_id, said.fence_id], [id, id]);
      const device = await rawGet(service, `/v1/devices/${path}`);
      const { device_id, pairs } = JSON.parse(device.body) as { device_id: string; pairs: Pair[] };
      equal(device_id, id);
      deepEqual(pairs.map(({ fence_id }) => fence_id).toSorted(), [id, "depot"].toSorted());
    }
    const others: readonly (readonly [path: string, status: number])[] = [
      ["/v1/devices/", 400],
      ["/v1/pairs//depot", 400],
      [`/v1/devices/${"x".repeat(257)}`, 400],
      [`/v1/devices/${"%F0%9F%98%80".repeat(65)}`, 400],
      ["/v1/devices/%FF", 404],
      ["/v1/devices/%", 404],
      ["/v1/devices/a/b", 404],
      ["/v1/devices/../devices/x", 404],
      ["/v1/pairs/depot", 404],
    ];
    for (const [path, status] of others) equal((await rawGet(service, path)).status, status, path);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("serve: the last dead letters, clipped, the newest first", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const recent = async (): Promise<{ record: string; reason: string; clipped?: true }[]> =>
      (await get<{ dead_letters: { record: string; reason: string }[] }>(service, "/v1/dead-letters/recent"))
        .body.dead_letters;
    deepEqual(await recent(), []);
    await service.send(Array.from({ length: 120 }, (_, i) => `poison ${i}`));
    await service.send([`"${"y".repeat(5000)}"`]);
    const letters = await recent();
    equal(letters.length, 100);
    deepEqual([letters[0]?.record.length, letters[0]?.clipped, letters[0]?.reason], [
      1000,
      true,
      "NOT_AN_OBJECT",
    ]);
    deepEqual([letters[1]?.record, letters[99]?.record], ["poison 119", "poison 21"]);
    equal((await service.stop()).status, 0);
  });
});
