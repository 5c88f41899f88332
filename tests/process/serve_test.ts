/**
 * The service as its users see it: a real process, asked over loopback, killed, overloaded.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { generateLoad } from "../../bench/load.ts";
import { parseConfig } from "../../lib/config.ts";
import { makeOracle } from "../sim/oracle.ts";
import { inDirectory, linesOf, startFencepost } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { randomFrom } from "../support/random.ts";

const NOW_MS = Date.now();

function line(kind: string, device: string, seconds: number, more: Record<string, unknown> = {}): string {
  const event_time_ms = NOW_MS + Math.round(seconds * 1000);
  return JSON.stringify({ device_id: device, fence_id: "depot", kind, event_time_ms, ...more });
}

/** Triggers as text, sorted. */
async function triggersIn(state: string): Promise<string[]> {
  return (await linesOf(join(state, "triggers.ndjson"))).toSorted();
}

Deno.test("serve: says of each record what became of it, and keeps it over a restart", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state]);
    const enter = line("ENTER", "a", -60);
    const first = await service.send([
      enter,
      enter,
      "poison",
      line("EXIT", "a", -30),
      line("HEARTBEAT", "a", -20),
    ]);
    equal(first.status, 200);
    deepEqual(first.outcomes, ["accepted", "suppressed", "dead_lettered", "accepted", "accepted"]);
    deepEqual([first.taken, first.accepted, first.suppressed, first.dead_lettered, first.refused], [
      5,
      3,
      1,
      1,
      0,
    ]);
    equal(first.dead_letters[0]?.record, 3);
    equal(first.dead_letters[0]?.reason, "MALFORMED_JSON");
    // What was answered is durable, whatever happens to the process now.
    await service.kill();
    equal((await triggersIn(state)).length, 2);
    const again = await RunningService.start(["--state", state]);
    deepEqual((await again.send([enter, line("EXIT", "a", -30)])).outcomes, ["suppressed", "suppressed"]);
    const { status, stderr } = await again.stop();
    equal(status, 0, stderr);
    match(stderr, /Going on from the state in/);
    equal((await triggersIn(state)).length, 2);
    const letters = await linesOf(join(state, "dead-letters.ndjson"));
    equal(letters.length, 1);
    equal(JSON.parse(letters[0] as string).source, "http");
  });
});

Deno.test("serve: takes JSON, arrays, gzip and CloudEvents, and says what it does not take", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start([
      "--state",
      join(directory, "state"),
      "--set",
      "http.body_bytes_max=4096",
    ]);
    const outcomesOf = async (response: Response): Promise<unknown> => {
      equal(response.status, 200, await response.clone().text());
      return (await response.json() as { outcomes: unknown }).outcomes;
    };
    const type = (contentType: string): Record<string, string> => ({ "content-type": contentType });
    const record = (device: string): Record<string, unknown> => JSON.parse(line("ENTER", device, -10));
    deepEqual(await outcomesOf(await service.post(JSON.stringify(record("one")), type("application/json"))), [
      "accepted",
    ]);
    deepEqual(
      await outcomesOf(
        await service.post(
          JSON.stringify([record("one"), record("two"), 7]),
          type("application/json; charset=utf-8"),
        ),
      ),
      ["suppressed", "accepted", "dead_lettered"],
    );
    const gzipped = new Uint8Array(
      await new Response(
        new Blob([line("ENTER", "three", -10)]).stream().pipeThrough(new CompressionStream("gzip")),
      ).arrayBuffer(),
    );
    deepEqual(await outcomesOf(await service.post(gzipped, { "content-encoding": "gzip" })), ["accepted"]);
    const event = { specversion: "1.0", id: "1", source: "/x", type: "t" };
    deepEqual(
      await outcomesOf(
        await service.post(
          JSON.stringify({ ...event, data: record("four") }),
          type("application/cloudevents+json"),
        ),
      ),
      ["accepted"],
    );
    const data_base64 = btoa(JSON.stringify(record("five")));
    deepEqual(
      await outcomesOf(
        await service.post(
          JSON.stringify([{ ...event, data: record("four") }, { ...event, data_base64 }, event]),
          type("application/cloudevents-batch+json"),
        ),
      ),
      ["suppressed", "accepted", "dead_lettered"],
    );
    const binary = {
      ...type("application/json"),
      "ce-specversion": "1.0",
      "ce-id": "2",
      "ce-type": "t",
      "ce-source": "/x",
    };
    deepEqual(await outcomesOf(await service.post(JSON.stringify(record("six")), binary)), ["accepted"]);
    const refused: readonly (readonly [status: number, response: Promise<Response>])[] = [
      [413, service.post("x".repeat(4097))],
      [415, service.post("x", type("application/x-www-form-urlencoded"))],
      [415, service.post("x", { "content-encoding": "br" })],
      [400, service.post("not gzip", { "content-encoding": "gzip" })],
      [400, service.post("x", { "idempotency-key": "k".repeat(300) })],
      [405, fetch(`${service.url}/v1/transitions`)],
      [404, fetch(`${service.url}/v1/nothing`)],
      [404, fetch(`${service.url}/v1/../etc/passwd`)],
    ];
    for (const [status, answer] of refused) {
      const response = await answer;
      equal(response.status, status, await response.clone().text());
      equal(response.headers.get("content-type"), "application/problem+json");
      ok((await response.json() as { detail: string }).detail.length > 0);
    }
    equal((await service.stop()).status, 0);
  });
});

Deno.test("serve: a gzip bomb is cut off at the limit", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const zeros = new Blob([new Uint8Array(64 << 20)]).stream().pipeThrough(new CompressionStream("gzip"));
    const bomb = new Uint8Array(await new Response(zeros).arrayBuffer());
    ok(bomb.length < 100_000);
    const response = await service.post(bomb, { "content-encoding": "gzip" });
    equal(response.status, 413);
    await response.body?.cancel();
    equal((await service.stop()).status, 0);
  });
});

Deno.test("serve: the same Idempotency-Key has the same answer, over a restart and at the same time too", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state]);
    const key = { "idempotency-key": "upload-7" };
    const lines = [line("ENTER", "a", -60), line("EXIT", "a", -30)];
    const [one, other] = await Promise.all([service.send(lines, key), service.send(lines, key)]);
    deepEqual(one.outcomes, ["accepted", "accepted"]);
    deepEqual(other.outcomes, one.outcomes);
    equal([one, other].filter(({ headers }) => headers.get("idempotency-replayed") === "true").length, 1);
    equal((await service.send([lines[0] as string], key)).status, 422);
    await service.stop();
    const again = await RunningService.start(["--state", state]);
    deepEqual((await again.send(lines, key)).outcomes, ["accepted", "accepted"]);
    deepEqual((await again.send(lines)).outcomes, ["suppressed", "suppressed"]);
    await again.stop();
    equal((await triggersIn(state)).length, 2);
  });
});

Deno.test("serve: tokens have scopes; a guesser has to wait, and shuts nobody out", async () => {
  await inDirectory(async (directory) => {
    const file = join(directory, "token");
    await Deno.writeTextFile(file, "a-reader-who-may-only-read\n");
    const tokens = [
      { name: "producer", scopes: ["ingest"], env: "PRODUCER_TOKEN" },
      { name: "reader", scopes: ["read"], file },
    ];
    const service = await RunningService.start(
      ["--state", join(directory, "state"), "--set", `http.tokens=${JSON.stringify(tokens)}`],
      { PRODUCER_TOKEN: "a-producer-of-transitions" },
    );
    const send = async (authorization: string | null): Promise<number> => {
      const response = await service.post(
        line("ENTER", "a", -60),
        authorization === null ? {} : { authorization },
      );
      await response.body?.cancel();
      return response.status;
    };
    equal(await send(null), 401);
    equal(await send("Basic abc"), 401);
    equal(await send("Bearer a-reader-who-may-only-read"), 403);
    equal(await send("Bearer a-producer-of-transitions"), 200);
    for (let i = 0; i < 20; i++) equal(await send(`Bearer a-guess-of-token-number-${i}`), 401);
    equal(await send("Bearer another-guess-of-a-token"), 429);
    equal(await send("Bearer a-producer-of-transitions"), 200);
    const { stderr } = await service.stop();
    ok(!/a-producer-of|a-reader-who|a-guess/.test(stderr), "no token is in the log");
  });
});

Deno.test("serve: what can't be listened on, or by whom, is refused before anything is touched", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const tokens = JSON.stringify([{ name: "a", scopes: ["admin"], env: "FENCEPOST_NO_SUCH_VARIABLE" }]);
    const table: readonly (readonly [args: readonly string[], status: number, said: RegExp])[] = [
      [
        ["--listen", "0.0.0.0:0"],
        2,
        /source\.listen can be reached by other hosts, so http\.tokens must say who/,
      ],
      [["--listen", "here"], 2, /source\.listen must be "host:port"/],
      [["--listen", "127.0.0.1:0", "--set", `http.tokens=${tokens}`], 1, /Cannot read the token a/],
      [
        ["--listen", "127.0.0.1:0", "--output", join(state, "state.kv")],
        2,
        /sink\.path must not be the same file/,
      ],
    ];
    for (const [args, status, said] of table) {
      const ended = await startFencepost(["serve", "--state", state, ...args], {
        permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env"],
      }).ended;
      equal(ended.status, status, ended.stderr);
      match(ended.stderr, said);
    }
    const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    const { status, stderr } = await startFencepost([
      "serve",
      "--state",
      state,
      "--listen",
      `127.0.0.1:${port}`,
    ], {
      permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env"],
    }).ended;
    taken.close();
    equal(status, 1);
    match(stderr, /Cannot listen on 127\.0\.0\.1:\d+: another process listens there/);
  });
});

Deno.test("serve: killed ten times under load, what was answered has its effect and each id is there once", async () => {
  const oracle = await makeOracle();
  const random = randomFrom(11);
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const config = { dwell: { rules: [{ fence: "*", after: ["6s", "12s"] }], lateness: "2s" } };
    const configPath = join(directory, "config.json");
    await Deno.writeTextFile(configPath, JSON.stringify(config));
    const text = [...generateLoad({
      ...{ seed: 3, records: 30_000, pairs: 300 },
      ...{ duplicateRatio: 0.05, lateRatio: 0, poisonRatio: 0, staleRatio: 0.03, heartbeatRatio: 0.01 },
    })].map((block) => new TextDecoder().decode(block)).join("");
    const lines = text.split("\n").filter((record) => record !== "");
    const start = (): Promise<RunningService> =>
      RunningService.start(["--state", state, "--config", configPath]);
    let service = await start();
    let kills = 0;
    for (let at = 0; at < lines.length;) {
      const batch = lines.slice(at, at + 250);
      // A kill at some moment of every twelfth request, mostly before it is answered.
      const killed = kills < 10 && at / 250 % 12 === 5
        ? new Promise((resolve) => setTimeout(resolve, random() * 12)).then(() => service.kill())
        : null;
      let answered = false;
      try {
        const { status, refused } = await service.send(batch);
        answered = status === 200 && refused === 0;
      } catch {
        // Whether it was taken nobody knows: it is sent again.
      }
      if (answered) at += batch.length;
      if (killed === null) continue;
      await killed;
      kills++;
      service = await start();
    }
    equal(kills, 10);
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    const expected = oracle(parseConfig(config), lines, { atEof: "hold", wallUs: NOW_MS * 1000 });
    const told = (await triggersIn(state)).map((trigger) =>
      JSON.parse(trigger) as { id: string; kind: string }
    );
    deepEqual(told.map(({ id }) => id).toSorted(), expected.triggers.map(({ id }) => id).toSorted());
  });
});
