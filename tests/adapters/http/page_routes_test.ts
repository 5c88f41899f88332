/**
 * The page's files and its status, as a real process (or the binary of FENCEPOST_BIN) serves them.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Status } from "../../../actors/adapters/http/status.ts";
import { inDirectory, until } from "../../support/fencepost_process.ts";
import { RunningService } from "../../support/http_service.ts";

const FILES: readonly (readonly [path: string, type: RegExp])[] = [
  ["/", /^text\/html; charset=utf-8$/],
  ["/page/base.css", /^text\/css; charset=utf-8$/],
  ["/page/page.js", /^text\/javascript; charset=utf-8$/],
  ["/page/fence.svg", /^image\/svg\+xml$/],
  ["/page/uplot.js", /^text\/javascript; charset=utf-8$/],
  ["/page/uplot.css", /^text\/css; charset=utf-8$/],
];

async function withService(
  use: (service: RunningService) => Promise<void>,
  { args = [], environment = {} }: {
    args?: readonly string[];
    environment?: Record<string, string>;
  } = {},
): Promise<void> {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", `${directory}/state`, ...args], environment);
    try {
      await use(service);
    } finally {
      const { status, stderr } = await service.stop();
      equal(status, 0, stderr);
    }
  });
}

async function statusOf({ url }: RunningService, query = ""): Promise<Status & { history?: unknown }> {
  const response = await fetch(`${url}/v1/status${query}`);
  equal(response.status, 200);
  return await response.json();
}

Deno.test("page: each file with its type and its policy, and again only when it is another", async () => {
  await withService(async ({ url }) => {
    for (const [path, type] of FILES) {
      const response = await fetch(url + path);
      const text = await response.text();
      equal(response.status, 200, path);
      ok(text.length > 100, path);
      match(response.headers.get("content-type") ?? "", type);
      match(response.headers.get("content-security-policy") ?? "", /^default-src 'self'; /);
      equal(response.headers.get("x-content-type-options"), "nosniff");
      equal(response.headers.get("cache-control"), "no-cache");
      // Deno 2.4 packs the answer by itself, and says by `W/` that its bytes are others.
      const etag = (response.headers.get("etag") ?? "").replace(/^W\//, "");
      match(etag, /^"[0-9a-f]{24}"$/);
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await fetch(url + path, { headers: { "if-none-match": tag } });
        deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
      }
      const other = await fetch(url + path, { headers: { "if-none-match": '"other"' } });
      deepEqual([other.status, await other.text()], [200, text]);
      const head = await fetch(url + path, { method: "HEAD" });
      deepEqual([head.status, await head.text()], [200, ""]);
    }
  });
});

Deno.test("page: whatever it refers to is there, and none of it is elsewhere or inline", async () => {
  await withService(async ({ url }) => {
    const seen = new Set<string>();
    const missing: string[] = [];
    const follow = async (path: string): Promise<void> => {
      if (seen.has(path)) return;
      seen.add(path);
      const response = await fetch(url + path);
      const text = await response.text();
      if (response.status !== 200) missing.push(path);
      const found = [
        ...text.matchAll(/(?:src|href)="([^"#]+)"/g),
        ...text.matchAll(/^(?:import|export)[^;]*? from "([^"]+)"/gms),
      ];
      for (const [, reference = ""] of path.includes("uplot") ? [] : found) {
        const to = new URL(reference, url + path);
        equal(to.origin, url, `${path} refers to ${reference}`);
        if (reference !== "metrics") await follow(to.pathname);
      }
      if (path !== "/") return;
      equal(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/.test(text), false, "nothing is inline");
    };
    await follow("/");
    deepEqual(missing, []);
    for (const name of ["page.js", "health.js", "uplot.js", "lists.css"]) ok(seen.has(`/page/${name}`), name);
  });
});

Deno.test("page: no path leads to another file", async () => {
  await withService(async ({ url }) => {
    for (
      const path of [
        "/page/",
        "/page/index.html",
        "/page/%2e%2e/main.ts",
        "/page/..%2f..%2fmain.ts",
        "/deno.json",
      ]
    ) {
      const response = await fetch(url + path);
      await response.body?.cancel();
      equal(response.status, 404, path);
    }
  });
});

Deno.test("status: counts, splits, deadlines and the last lines", async () => {
  await withService(async (service) => {
    const before = await statusOf(service);
    deepEqual([before.not_ready, before.sample.read, before.recent_triggers], [null, 0, []]);
    deepEqual([before.splits.length, before.splits[0]?.watermark], [1, null]);
    const lineOf = (device: string, kind: string): string =>
      JSON.stringify({ device_id: device, fence_id: "depot", kind, event_time_ms: Date.now() - 60_000 });
    const poison = `{"device_id":"x","kind":"ENTER","note":"${"y".repeat(5000)}"}`;
    await service.send([lineOf("a", "ENTER"), lineOf("b", "ENTER"), poison]);
    // Until the watermark has passed the ENTERs, their visits have not begun.
    await service.send([
      JSON.stringify({
        device_id: "c",
        fence_id: "x",
        kind: "HEARTBEAT",
        event_time_ms: Date.now(),
      }),
    ]);
    await until(async () => (await statusOf(service)).sample.pending === 2, "both visits");
    const status = await statusOf(service);
    deepEqual([status.sample.read, status.sample.received, status.sample.enter], [4, 2, 2]);
    deepEqual([status.sample.dead_lettered, status.dead_letters], [1, { MISSING_FIELD: 1 }]);
    deepEqual(status.recent_triggers.map((trigger) => (trigger as { device_id: string }).device_id).sort(), [
      "a",
      "b",
    ]);
    const [letter] = status.recent_dead_letters;
    deepEqual([letter?.reason, letter?.clipped, (letter?.record ?? "").length < 5000], [
      "MISSING_FIELD",
      true,
      true,
    ]);
    deepEqual([status.pending.overdue, status.pending.hours[0], status.pending.is_sample], [0, 2, false]);
    equal(status.pending.minutes.slice(7, 10).reduce((sum, due) => sum + due, 0), 2);
    ok(status.pending.next_s !== null && status.pending.next_s < 600);
    const [split] = status.splits;
    deepEqual([split?.name, split?.pairs, split?.mailboxes.length], ["http", 2, 16]);
    ok((split?.checkpoint.bytes ?? 0) > 100 && (split?.checkpoint.number ?? 0) > 1);
    ok(status.in_flight !== null && status.in_flight.limit >= 1024);
  });
});

Deno.test("status: the history has a sample a second", async () => {
  await withService(async (service) => {
    const columns = async (): Promise<Record<string, number[]>> =>
      (await statusOf(service, "?history=1")).history as Record<string, number[]>;
    await until(async () => ((await columns())["at"]?.length ?? 0) >= 2, "two samples");
    const { at = [], read = [] } = await columns();
    equal(read.length, at.length);
    ok((at[1] as number) > (at[0] as number));
    equal((await statusOf(service)).history, undefined);
  });
});

Deno.test("status: for tokens that may read; the page itself for anybody", async () => {
  const tokens = JSON.stringify([
    { name: "looks", scopes: ["read"], env: "TOKEN_READ" },
    { name: "sends", scopes: ["ingest"], env: "TOKEN_SEND" },
  ]);
  await withService(async ({ url }) => {
    const ask = async (path: string, token?: string): Promise<number> => {
      const response = await fetch(
        url + path,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      );
      await response.body?.cancel();
      return response.status;
    };
    deepEqual(
      [
        await ask("/v1/status"),
        await ask("/v1/status", "s".repeat(20)),
        await ask("/v1/status", "r".repeat(20)),
      ],
      [401, 403, 200],
    );
    equal(await ask("/"), 200);
  }, {
    args: ["--set", `http.tokens=${tokens}`],
    environment: { TOKEN_READ: "r".repeat(20), TOKEN_SEND: "s".repeat(20) },
  });
});
