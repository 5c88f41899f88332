/**
 * The service among clients and disks that mean it no good: what `tests/hostile` sends at random, one by one.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { Scrape } from "../support/metrics_text.ts";

const ENTER = JSON.stringify({ device_id: "a", fence_id: "f", kind: "ENTER", event_time_ms: Date.now() });

/** Sends bytes that no client library would, and returns the first of the answer. */
async function ask(service: RunningService, text: string): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(service.url).port) });
  await connection.write(new TextEncoder().encode(text));
  const buffer = new Uint8Array(1024);
  const count = await connection.read(buffer);
  connection.close();
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

Deno.test("serve: a Host that is no name is the client's mistake, and nothing for the log", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    for (const host of ["a b", "[", "%zz"]) {
      const answer = await ask(service, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      ok(answer.startsWith("HTTP/1.1 400 "), answer);
    }
    const { status, stderr } = await service.stop();
    equal(status, 0);
    ok(!stderr.includes("A request failed"), stderr);
  });
});

Deno.test("serve: more than 100,000 records in a request are refused before any is taken", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const types: readonly (readonly [type: string, body: (count: number) => string])[] = [
      ["application/x-ndjson", (count) => "1\n".repeat(count)],
      ["application/json", (count) => `[${Array(count).fill("1").join(",")}]`],
      ["application/cloudevents-batch+json", (count) => `[${Array(count).fill("1").join(",")}]`],
    ];
    for (const [type, body] of types) {
      const response = await service.post(body(100_001), { "content-type": type });
      equal(response.status, 413, type);
      match(await response.text(), /at most 100000 records/);
    }
    const most = await service.send([("1\n".repeat(100_000)).trimEnd()]);
    deepEqual([most.status, most.taken, most.dead_lettered], [200, 100_000, 100_000]);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("serve: where answers can't be kept a request with a key fails, until it is mended", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state]);
    const inTheWay = join(state, "requests.kv");
    await Deno.mkdir(inTheWay);
    const key = { "idempotency-key": "k" };
    const failed = await service.post(ENTER, key);
    equal(failed.status, 500, await failed.text());
    equal(await shedUnread(service), 1, "time waits for it to be sent again");
    await Deno.remove(inTheWay);
    deepEqual((await service.send([ENTER], key)).outcomes, ["accepted"]);
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    match(stderr, /Cannot use \S+requests\.kv: .*stop and delete it/);
  });
});

Deno.test("serve: a connection that there is no room for is shed, and time waits for what it had to say", async () => {
  await inDirectory(async (directory) => {
    const args = ["--state", join(directory, "state"), "--set", "http.connections_max=4"];
    const service = await RunningService.start(args);
    equal(await shedUnread(service), 0);
    const port = Number(new URL(service.url).port);
    const held: Deno.Conn[] = [];
    while (held.length < 4) held.push(await Deno.connect({ hostname: "127.0.0.1", port }));
    match(await ask(service, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"), /^HTTP\/1\.1 503 /);
    for (const connection of held) connection.close();
    ok(await shedUnread(service) >= 1);
    equal((await service.stop()).status, 0);
  });
});

/** How many requests and connections were refused without a look, by the metrics. */
async function shedUnread(service: RunningService): Promise<number> {
  const response = await fetch(`${service.url}/metrics`);
  const text = await response.text();
  // The gate may not have heard yet that there is room again.
  if (response.status === 503) return await shedUnread(service);
  return new Scrape(text).value("fencepost_shed_records_total", { cause: "unread" });
}

Deno.test("serve: answers that can't be kept do not fail the end", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    await Deno.mkdir(join(state, "requests.kv"), { recursive: true });
    const service = await RunningService.start(["--state", state]);
    const failed = await service.post(ENTER, { "idempotency-key": "k" });
    equal(failed.status, 500, await failed.text());
    deepEqual((await service.send([ENTER])).outcomes, ["accepted"]);
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    match(stderr, /1 ENTER/);
  });
});

Deno.test("serve: more connections than file descriptors are ended, and it goes on", async () => {
  await inDirectory(async (directory) => {
    const args = ["--state", join(directory, "state"), "--set", "http.request_timeout=2s"];
    const service = await RunningService.start(args, {}, "ready", 'ulimit -n 128; exec "$@"');
    const { hostname, port } = new URL(service.url);
    // Some may be refused: what counts is that it has no descriptors left.
    const connecting = Array.from({ length: 200 }, () => Deno.connect({ hostname, port: Number(port) }));
    const connections = await Promise.allSettled(connecting);
    for (const connection of connections) if (connection.status === "fulfilled") connection.value.close();
    let hasEnded = false;
    service.started.ended.then(() => hasEnded = true);
    for (let sent = false; !sent && !hasEnded;) {
      // Not the client's pool, whose connections may be among those that were ended.
      const answer = await ask(
        service,
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
      )
        .catch(() => "");
      sent = answer.startsWith("HTTP/1.1 200 ");
    }
    deepEqual((await service.send([ENTER])).outcomes, ["accepted"]);
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    match(stderr, /too few file descriptors/);
  });
});
