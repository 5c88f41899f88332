/**
 * More than the service can take: what was taken is told, what was refused is not, and nobody's DWELL is made up.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { parseConfig } from "../../lib/config.ts";
import { makeOracle } from "../sim/oracle.ts";
import { inDirectory, linesOf } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { randomFrom } from "../support/random.ts";

const START_MS = Date.UTC(2026, 2, 1, 12);
const NOW_MS = Date.now();
const BATCH = 300;

/** A client's records: its devices come and go within a minute, and some are sent twice. */
function recordsOf(client: string, count: number, random: () => number): string[] {
  const inside = new Set<string>();
  const lines: string[] = [];
  for (let i = 0; lines.length < count; i++) {
    const device = `${client}-${Math.floor(random() * 60)}`;
    const kind = inside.delete(device) ? "EXIT" : "ENTER";
    if (kind === "ENTER") inside.add(device);
    const event_time_ms = START_MS + Math.floor(i * 50_000 / count);
    const line = JSON.stringify({
      device_id: device,
      fence_id: "f",
      kind,
      event_time_ms,
      ingest_time_ms: event_time_ms,
    });
    lines.push(line);
    if (random() < 0.05) lines.push(line);
  }
  return lines;
}

Deno.test("serve: under more than it can take, what was taken has its effect, and what was refused has none", async () => {
  const oracle = await makeOracle();
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    // Nothing is late, so that what comes out follows from the set of records, whoever was first.
    const config = {
      dwell: { rules: [{ fence: "*", after: ["70s"] }], lateness: "60s" },
      partitions: 2,
      mailbox: { capacity: 256 },
    };
    const configPath = join(directory, "config.json");
    await Deno.writeTextFile(configPath, JSON.stringify(config));
    const service = await RunningService.start(["--state", state, "--config", configPath]);
    const taken: string[] = [];
    let refused = 0;
    const client = async (name: string): Promise<void> => {
      const random = randomFrom(name.charCodeAt(0));
      const lines = recordsOf(name, 6000, random);
      for (let at = 0; at < lines.length; at += BATCH) {
        const batch = lines.slice(at, at + BATCH);
        const answer = await service.send(batch);
        const { outcomes } = answer;
        const refusedHere = outcomes.filter((outcome) => outcome === "refused").length;
        equal(answer.taken, batch.length - refusedHere);
        equal(answer.status, refusedHere > 0 ? 429 : 200);
        if (refusedHere > 0) equal(answer.headers.get("retry-after"), "1");
        refused += refusedHere;
        batch.forEach((line, i) => {
          ok(["accepted", "suppressed", "refused"].includes(outcomes[i] as string));
          if (outcomes[i] !== "refused") taken.push(line);
        });
      }
    };
    await Promise.all(["a", "b", "c", "d", "e", "f"].map(client));
    ok(refused > 0, "there was more than it can take");
    ok(taken.length > 0);
    // Time goes on, so that whoever is still inside has earned a DWELL.
    const later = JSON.stringify({
      kind: "HEARTBEAT",
      event_time_ms: START_MS + 200_000,
      ingest_time_ms: START_MS + 200_000,
    });
    equal((await service.send([later])).status, 200);
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    const timeOf = (line: string): number => (JSON.parse(line) as { event_time_ms: number }).event_time_ms;
    const inOrder = [...taken.toSorted((a, b) => timeOf(a) - timeOf(b)), later];
    const expected = oracle(parseConfig(config), inOrder, { atEof: "hold", wallUs: NOW_MS * 1000 });
    const told = (await linesOf(join(state, "triggers.ndjson"))).map((line) =>
      JSON.parse(line) as { id: string; kind: string }
    );
    ok(told.some(({ kind }) => kind === "DWELL"));
    deepEqual(told.map(({ id }) => id).toSorted(), expected.triggers.map(({ id }) => id).toSorted());
  });
});

Deno.test("serve: a client that floods is refused before one that does not", async () => {
  await inDirectory(async (directory) => {
    const tokens = ["greedy", "modest"].map((name) => ({
      name,
      scopes: ["ingest"],
      env: `TOKEN_OF_${name}`,
    }));
    const service = await RunningService.start([
      ...["--state", join(directory, "state"), "--set", `http.tokens=${JSON.stringify(tokens)}`],
      ...["--set", "partitions=2", "--set", "mailbox.capacity=512"],
    ], { TOKEN_OF_greedy: "greedy-greedy-greedy", TOKEN_OF_modest: "modest-modest-modest" });
    const counts = { greedy: { taken: 0, refused: 0 }, modest: { taken: 0, refused: 0 } };
    let done = false;
    let number = 0;
    const send = async (name: "greedy" | "modest", count: number): Promise<void> => {
      const lines = Array.from(
        { length: count },
        () =>
          JSON.stringify({
            device_id: `d${number++}`,
            fence_id: "f",
            kind: "ENTER",
            event_time_ms: NOW_MS - 60_000,
          }),
      );
      const answer = await service.send(lines, {
        authorization: `Bearer ${`${name}-`.repeat(3).slice(0, -1)}`,
      });
      const { refused } = answer;
      counts[name].refused += refused;
      counts[name].taken += count - refused;
    };
    const flood = Promise.all(Array.from({ length: 12 }, async () => {
      while (!done) await send("greedy", 200);
    }));
    for (let i = 0; i < 60; i++) await send("modest", 20);
    done = true;
    await flood;
    equal((await service.stop()).status, 0);
    const shareOf = ({ taken, refused }: { taken: number; refused: number }): number =>
      refused / (taken + refused);
    ok(counts.greedy.refused > 0, "there was more than it can take");
    ok(shareOf(counts.modest) < shareOf(counts.greedy) / 2, JSON.stringify(counts));
  });
});
