/**
 * The real process with a file and webhooks as its outputs, killed and killed again: the file has each trigger once, each
 * receiver at least once, and nobody anything else.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { generateLoad } from "../../bench/load.ts";
import {
  inDirectory,
  killAtOnce,
  linesOf,
  runFencepost,
  RunFiles,
  startFencepost,
  type StartOptions,
  until,
} from "../support/fencepost_process.ts";
import { randomFrom } from "../support/random.ts";
import { RawReceiver, SECRET, WebhookReceiver } from "../support/webhook_receiver.ts";

const SEED = 11;
const RECORDS = 6000;
const KILLS = 12;
const WITH_NET: StartOptions = { permissions: ["--allow-read", "--allow-write", "--allow-net"] };
const RULES = {
  dwell: { rules: [{ fence: "*", after: ["6s", "12s"] }], lateness: "2s" },
  checkpoint: { interval: "30ms" },
};

async function writeInput(path: string): Promise<void> {
  const load = generateLoad({
    ...{ seed: SEED, records: RECORDS, pairs: 100 },
    ...{ duplicateRatio: 0.05, lateRatio: 0.03, poisonRatio: 0.003, staleRatio: 0.03, heartbeatRatio: 0.01 },
  });
  await Deno.writeFile(path, new Blob([...load] as BlobPart[]).stream());
}

interface Told {
  readonly id: string;
  readonly kind: string;
}

Deno.test(`webhooks: ${KILLS} times SIGKILL under load: the file has each trigger once, each receiver its own at least once`, () =>
  inDirectory(async (directory) => {
    const input = join(directory, "input.ndjson");
    const secret = join(directory, "secret");
    await writeInput(input);
    await Deno.writeTextFile(secret, `${SECRET}\n`);
    const plain = new RunFiles(join(directory, "plain"), input);
    await Deno.writeTextFile(join(directory, "plain.json"), JSON.stringify(RULES));
    const expected = await runFencepost([...plain.args, "--config", join(directory, "plain.json")]);
    equal(expected.status, 0, expected.stderr);
    const told = (await linesOf(plain.output)).map((line) => JSON.parse(line) as Told);
    ok(told.length > 1500, `${told.length} triggers`);

    const all = new WebhookReceiver();
    const dwells = new WebhookReceiver();
    const dead = new RawReceiver((connection) => Promise.resolve(connection.close()));
    const files = new RunFiles(join(directory, "killed"), input);
    const webhook = { type: "webhook", secrets: [{ file: secret }], allow_private: true };
    const config = join(directory, "config.json");
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        ...RULES,
        sink: [
          { type: "ndjson", path: files.output },
          { ...webhook, name: "all", url: all.url },
          {
            ...webhook,
            name: "dwells",
            url: dwells.url,
            filter: { fences: ["*"], kinds: ["DWELL"] },
            body: "cloudevents",
          },
          { ...webhook, name: "dead", url: dead.url },
        ],
      }),
    );
    const args = ["run", "--config", config, "--input", input, ...files.kept, "--at-eof", "flush"];
    try {
      const random = randomFrom(SEED);
      for (let kills = 0; kills < KILLS; kills++) {
        const process = startFencepost(args, WITH_NET);
        let hasEnded = false;
        const ended = process.ended.finally(() => hasEnded = true);
        const before = all.deliveries.length;
        const enough = before + Math.floor(random() * 200);
        await until(
          () => hasEnded || all.deliveries.length > enough || all.ids.length === told.length,
          "deliveries",
        );
        killAtOnce(process.child);
        await ended;
      }
      const last = await runFencepost([...args, "--summary", "json"], WITH_NET);
      equal(last.status, 0, last.stderr);
      match(last.stderr, /Webhook dead: \d+ triggers wait in the outbox/);
    } finally {
      await all.close();
      await dwells.close();
      await dead.close();
    }
    deepEqual((await linesOf(files.output)).toSorted(), (await linesOf(plain.output)).toSorted());
    deepEqual(all.ids, told.map(({ id }) => id).sort());
    deepEqual(dwells.ids, told.filter(({ kind }) => kind === "DWELL").map(({ id }) => id).sort());
    deepEqual([...all.forged, ...dwells.forged], []);
    ok(dead.connections > 10, `${dead.connections} attempts at the dead one`);
    const lines = new Set(await linesOf(plain.output));
    for (const { id, body, headers } of all.deliveries) {
      ok(lines.has(body), body);
      equal(headers.get("idempotency-key"), id);
      equal(headers.get("content-type"), "application/json");
    }
    for (const { id, body, headers } of dwells.deliveries) {
      const event = JSON.parse(body) as { id: string; type: string; source: string; data: Told };
      equal(event.id, id);
      equal(event.data.id, id);
      equal(event.type, "fencepost.trigger.dwell");
      equal(event.source, "/fencepost/fencepost");
      match(headers.get("content-type") ?? "", /^application\/cloudevents\+json/);
    }
    // The outbox has what the file has, once.
    const outbox = join(files.state, "outbox");
    const kept: string[] = [];
    for await (const { name } of Deno.readDir(outbox)) {
      if (!name.endsWith(".log")) continue;
      kept.push(...(await linesOf(join(outbox, name))).map((line) => line.slice(line.indexOf("{"))));
    }
    deepEqual(kept.sort(), (await linesOf(plain.output)).toSorted());
  }));
