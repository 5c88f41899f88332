/**
 * Topics as the outputs of sources that are none, by the real process: a file, and the service, killed and killed again.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { generateLoad } from "../../bench/load.ts";
import { afterAll } from "../support/after_all.ts";
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
import { RunningService } from "../support/http_service.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, valuesOf } from "../support/kafka_messages.ts";
import { randomFrom } from "../support/random.ts";

const broker = await startKafka({ own: true });
const ignore = broker === null;
const kafka = clientOf(broker?.brokers ?? []);

afterAll(async () => await broker?.stop());

const SEED = 17;
const KILLS = 6;
const PARTITIONS = 3;
const WITH_KAFKA: StartOptions = {
  permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env"],
};

async function linesIn(topic: string): Promise<string[]> {
  const lines: string[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    lines.push(...await valuesOf(kafka, topic, { partition }));
  }
  return lines.toSorted();
}

async function writeConfig(directory: string, config: Record<string, unknown>): Promise<string> {
  const path = join(directory, `${crypto.randomUUID()}.json`);
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      kafka: { brokers: broker?.brokers },
      dwell: { rules: [{ fence: "*", after: ["6s", "12s"] }], lateness: "2s" },
      checkpoint: { interval: "30ms" },
      ...config,
    }),
  );
  return path;
}

/** The line of a record of a device that crossed a moment ago. */
function enter(device: string): string {
  const event_time_ms = Date.now() - 1000;
  return JSON.stringify({ device_id: device, fence_id: "depot", kind: "ENTER", event_time_ms });
}

function devicesOf(lines: readonly string[]): string[] {
  return lines.map((line) => (JSON.parse(line) as { device_id: string }).device_id).toSorted();
}

Deno.test({
  name: `run: from a file to a topic, ${KILLS} times SIGKILL: the triggers that a file has, each once`,
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      if (broker === null) throw new Error("There is no broker");
      const input = join(directory, "input.ndjson");
      const load = generateLoad({
        ...{ seed: SEED, records: 30_000, pairs: 200 },
        ...{
          duplicateRatio: 0.05,
          lateRatio: 0.03,
          poisonRatio: 0.003,
          staleRatio: 0.03,
          heartbeatRatio: 0.01,
        },
      });
      await Deno.writeFile(input, new Blob([...load] as BlobPart[]).stream());
      const plain = new RunFiles(join(directory, "plain"), input);
      const expected = await runFencepost([...plain.args, "--config", await writeConfig(directory, {})]);
      equal(expected.status, 0, expected.stderr);
      const topic = await broker.topic(PARTITIONS);
      const config = await writeConfig(directory, { deployment: topic, sink: { type: "kafka", topic } });
      const files = new RunFiles(join(directory, "killed"), input);
      const args = ["run", "--config", config, "--input", input, ...files.kept];
      const random = randomFrom(SEED);
      for (let kills = 0; kills < KILLS; kills++) {
        const process = startFencepost(args, WITH_KAFKA);
        let hasEnded = false;
        const ended = process.ended.finally(() => hasEnded = true);
        const before = (await linesIn(topic)).length;
        const enough = before + Math.floor(random() * 500);
        await until(async () => hasEnded || (await linesIn(topic)).length > enough, "triggers");
        killAtOnce(process.child);
        await ended;
      }
      const last = await runFencepost(args, WITH_KAFKA);
      equal(last.status, 0, last.stderr);
      deepEqual(await linesIn(topic), (await linesOf(plain.output)).toSorted());
      const again = await runFencepost(args, WITH_KAFKA);
      equal(again.status, 0, again.stderr);
      match(again.stderr, /Going on from the state/);
      deepEqual(await linesIn(topic), (await linesOf(plain.output)).toSorted());
    }),
});

Deno.test({
  name: `serve: a file and two topics, ${KILLS} times SIGKILL under load: each trigger once in all of them`,
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      if (broker === null) throw new Error("There is no broker");
      const [one, two] = [await broker.topic(PARTITIONS), await broker.topic(PARTITIONS)];
      const output = join(directory, "triggers.ndjson");
      const args = ["--state", join(directory, "state"), "--config"];
      args.push(
        await writeConfig(directory, {
          deployment: one,
          // Those that are there for long enough would earn one.
          dwell: { rules: [] },
          sink: [
            { type: "kafka", topic: one },
            { type: "ndjson", path: output },
            { type: "kafka", topic: two, cloudevents: true },
          ],
        }),
      );
      const random = randomFrom(SEED);
      const unanswered = new Set<string>();
      let made = 0;
      /** Four clients, each with a request at a time, until enough were answered or the service is gone. */
      const sendUntil = async (service: RunningService, enough: number): Promise<void> => {
        let answered = 0;
        let isGone = false;
        const client = async (): Promise<void> => {
          while (!isGone && answered < enough) {
            for (let i = 0; i < 20; i++) unanswered.add(enter(`truck-${made++}`));
            const lines = [...unanswered].slice(-40);
            try {
              const { status, taken } = await service.send(lines);
              if (status === 200 && taken === lines.length) {
                answered++;
                for (const line of lines) unanswered.delete(line);
              }
            } catch {
              isGone = true;
            }
          }
          // The others are on their way.
          killAtOnce(service.started.child);
        };
        await Promise.all([client(), client(), client(), client()]);
      };
      for (let kills = 0; kills < KILLS; kills++) {
        const service = await RunningService.start(args);
        await sendUntil(service, 3 + Math.floor(random() * 10));
        await service.started.ended;
      }
      const last = await RunningService.start(args);
      const { status } = await last.send([...unanswered]);
      equal(status, 200);
      const ended = await last.stop();
      equal(ended.status, 0, ended.stderr);
      const lines = (await linesOf(output)).toSorted();
      deepEqual(devicesOf(lines), Array.from({ length: made }, (_, n) => `truck-${n}`).toSorted());
      deepEqual(await linesIn(one), lines);
      deepEqual(await linesIn(two), lines);
    }),
});

Deno.test({
  name: "serve: a trigger that the topic is too narrow for is a dead letter, and in the file",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      if (broker === null) throw new Error("There is no broker");
      const topic = await broker.topic(PARTITIONS, { "max.message.bytes": "2000" });
      const state = join(directory, "state");
      const output = join(directory, "triggers.ndjson");
      const sink = [{ type: "kafka", topic }, { type: "ndjson", path: output }];
      const config = await writeConfig(directory, { deployment: topic, sink });
      const service = await RunningService.start(["--state", state, "--config", config]);
      const large = { ...JSON.parse(enter("large")), attributes: { text: "x".repeat(3_000) } };
      const { outcomes } = await service.send([enter("a"), JSON.stringify(large), enter("b")]);
      deepEqual(outcomes, ["accepted", "accepted", "accepted"]);
      const ended = await service.stop();
      equal(ended.status, 0, ended.stderr);
      deepEqual(devicesOf(await linesIn(topic)), ["a", "b"]);
      deepEqual(devicesOf(await linesOf(output)), ["a", "b", "large"]);
      const letters = await linesOf(join(state, "dead-letters.ndjson"));
      deepEqual(letters.map((line) => (JSON.parse(line) as { reason: string }).reason), ["SINK_REJECTED"]);
    }),
});

Deno.test({
  name:
    "serve: the broker goes away and comes back: what was not answered is sent again, and each is there once",
  ignore: broker === null || !broker.isOurs,
  fn: () =>
    inDirectory(async (directory) => {
      if (broker === null) throw new Error("There is no broker");
      const topic = await broker.topic(PARTITIONS);
      const output = join(directory, "triggers.ndjson");
      const sink = [{ type: "ndjson", path: output }, { type: "kafka", topic }];
      const config = await writeConfig(directory, { deployment: topic, sink });
      const service = await RunningService.start(["--state", join(directory, "state"), "--config", config]);
      const lines = Array.from({ length: 60 }, (_, i) => enter(`truck-${i}`));
      equal((await service.send(lines.slice(0, 20))).status, 200);
      await broker.kill();
      const refused = await service.post(lines.slice(20, 40).join("\n"));
      ok(refused.status >= 500, String(refused.status));
      await refused.body?.cancel();
      await broker.restart();
      await service.whenReady();
      const { status, taken } = await service.send(lines);
      deepEqual([status, taken], [200, lines.length]);
      const ended = await service.stop();
      equal(ended.status, 0, ended.stderr);
      match(ended.stderr, /http: .*going on from the last checkpoint/);
      const expected = Array.from({ length: lines.length }, (_, n) => `truck-${n}`).toSorted();
      deepEqual(devicesOf(await linesOf(output)), expected);
      deepEqual(devicesOf(await linesIn(topic)), expected);
    }),
});

Deno.test({
  name:
    "run: a topic that is missing, and a broker that is away, end a run over a file with status 1 and say so",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      const input = join(directory, "input.ndjson");
      await Deno.writeTextFile(input, `${enter("a")}\n`);
      const files = new RunFiles(directory, input);
      const sink = { type: "kafka", topic: `missing-${crypto.randomUUID()}` };
      for (
        const [more, said] of [
          [{}, /there is no such topic/],
          [
            { kafka: { brokers: ["127.0.0.1:1"] } },
            /fencepost: Cannot look at topic missing-.*ECONNREFUSED/,
          ],
        ] as const
      ) {
        const config = await writeConfig(directory, { sink, ...more });
        const ended = await runFencepost(
          ["run", "--config", config, "--input", input, ...files.kept],
          WITH_KAFKA,
        );
        equal(ended.status, 1, ended.stderr);
        match(ended.stderr, said);
      }
    }),
});
