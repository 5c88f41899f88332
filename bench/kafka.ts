/**
 * Over Kafka. Part `throughput`, topic to topic: records a second and CPU time a record, against a bare loop of kafkajs that reads, parses and writes
 * as many records with the same keys, headers and sizes, and does nothing else (kafka/bare_loop.ts).
 *
 * ```
 *   deno task bench:kafka --records 400000 --rounds 3
 *   deno task bench:kafka --only hand-over --dwells 100000
 * ```
 *
 * One broker of its own on this machine (tests/support/kafka_broker.ts, or that of KAFKA_BROKERS), four partitions, one
 * process, Fencepost's checkpoints in a compacted topic of the same broker. The two take turns. What is measured is the time
 * from the first record in the output topic to the last: both have started and joined by then. The CPU time is that of
 * the process between the same moments.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Admin, Kafka, logLevel, Partitioners } from "kafkajs";
import { mendKafkajs } from "../actors/adapters/kafka/mend_kafkajs.ts";
import { KafkaRun } from "../tests/kafka/kafka_run.ts";
import { type KafkaBroker, startKafka } from "../tests/support/kafka_broker.ts";
import { cpuSecondsOf } from "./engine/processes.ts";
import { Report } from "./engine/report.ts";
import { measureHandOvers } from "./kafka/hand_over.ts";
import { generateLoad } from "./load.ts";

const PARTS = ["throughput", "hand-over"] as const;
const PARTITIONS = 4;
const SEND_RECORDS = 2_000;
const LOOK_MS = 50;
/** So long nothing comes any more where all has come. */
const QUIET_MS = 3_000;
/** Fencepost must reach so much of the bare loop's throughput. */
const SHARE = 0.7;
const HAND_OVER_SECONDS = 2;

const root = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const RESULTS = root("bench/results_kafka.json");

/** What one process took between its first and its last record. */
interface Took {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly stderr: string;
}

interface World {
  readonly broker: KafkaBroker;
  readonly admin: Admin;
  readonly input: string;
  readonly directory: string;
}

/** Fills the topic as a gateway does: by key, which is the device. */
async function fill(brokers: readonly string[], topic: string, records: number): Promise<void> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ idempotent: true, createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const decoder = new TextDecoder();
  let rest = "";
  let messages: { key: string; value: string }[] = [];
  const send = async (): Promise<void> => {
    if (messages.length > 0) await producer.send({ topic, messages, acks: -1 });
    messages = [];
  };
  for (const block of generateLoad({ records, seed: 1, pairs: 60_000 })) {
    const lines = (rest + decoder.decode(block, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const value of lines) {
      messages.push({ key: JSON.parse(value).device_id, value });
      if (messages.length === SEND_RECORDS) await send();
    }
  }
  await send();
  await producer.disconnect();
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", ...args],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

/** Runs a process until its output has come to rest. */
async function measure({ admin }: World, output: string, args: readonly string[]): Promise<Took> {
  const child = spawn(args);
  const stderr = new Response(child.stderr).text();
  let ended = false;
  child.status.then(() => ended = true);
  let count = 0;
  let first: { ms: number; cpu: number } | null = null;
  let last = { ms: 0, cpu: 0 };
  while (first === null || performance.now() - last.ms < QUIET_MS) {
    if (ended) throw new Error(`Cannot measure: the process has ended: ${await stderr}`);
    const ends = await admin.fetchTopicOffsets(output);
    const now = ends.reduce((sum, { high }) => sum + Number(high), 0);
    if (now > count) {
      last = { ms: performance.now(), cpu: await cpuSecondsOf(child.pid) };
      first ??= last;
      count = now;
    }
    await delay(LOOK_MS);
  }
  child.kill("SIGTERM");
  await child.status;
  return {
    wallSeconds: (last.ms - first.ms) / 1000,
    cpuSeconds: last.cpu - first.cpu,
    stderr: await stderr,
  };
}

/** The configuration of a run over topics, with a state of its own; its group has the name of the deployment. */
async function configOf({ broker }: World, input: string, output: string, group: string): Promise<unknown> {
  return {
    deployment: group,
    kafka: { brokers: broker.brokers },
    source: { type: "kafka", topic: input, group },
    sink: { type: "kafka", topic: output },
    dead_letters: { type: "kafka", topic: await broker.topic(PARTITIONS) },
    checkpoint: { path: `kafka:state-${group}` },
  };
}

async function runFencepost(world: World): Promise<Took> {
  const output = await world.broker.topic(PARTITIONS);
  const group = crypto.randomUUID().slice(0, 8);
  const config = join(world.directory, `${group}.json`);
  await Deno.writeTextFile(config, JSON.stringify(await configOf(world, world.input, output, group)));
  const args = [root("actors/main.ts"), "run", "--summary", "json", "--config", config];
  return await measure(world, output, args);
}

async function handOver(world: World, report: Report, { dwells, rounds }: Numbers): Promise<void> {
  report.begin(
    `hand-over: a partition with ${dwells} pending dwells, from SIGTERM until another goes on with it`,
  );
  const [input, output] = [await world.broker.topic(1), await world.broker.topic(1)];
  const config = await configOf(world, input, output, input);
  const seconds = await measureHandOvers({
    ...{ brokers: world.broker.brokers, admin: world.admin, input, output, dwells, rounds },
    start: () => KafkaRun.start(world.directory, config),
  });
  const name = "SIGTERM until the other goes on";
  report.add({ part: "hand-over", name, unit: "s", rounds: seconds, target: HAND_OVER_SECONDS });
}

async function runBareLoop(world: World, extra: number): Promise<Took> {
  const output = await world.broker.topic(PARTITIONS);
  const args = [world.broker.brokers.join(), world.input, output, String(extra)];
  return await measure(world, output, [root("bench/kafka/bare_loop.ts"), ...args]);
}

function emittedOf(stderr: string): number {
  const line = stderr.trim().split("\n").at(-1) ?? "";
  const { emitted } = JSON.parse(line) as { readonly emitted: Readonly<Record<string, number>> };
  return Object.values(emitted).reduce((sum, count) => sum + count, 0);
}

async function compare(world: World, report: Report, { records, rounds }: Numbers): Promise<void> {
  await fill(world.broker.brokers, world.input, records);
  const emitted = emittedOf((await runFencepost(world)).stderr);
  report.begin(
    `topic to topic: ${records} records, ${emitted} triggers, ${PARTITIONS} partitions, one process`,
  );
  const bare: Took[] = [];
  const ours: Took[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(await runBareLoop(world, emitted / records - 1));
    ours.push(await runFencepost(world));
  }
  const perSecond = (tooks: readonly Took[]): number[] =>
    tooks.map(({ wallSeconds }) => Math.round(records / wallSeconds));
  const cpu = (tooks: readonly Took[]): number[] => tooks.map(({ cpuSeconds }) => cpuSeconds / records * 1e6);
  report.add({
    part: "throughput",
    name: "bare loop of kafkajs",
    unit: "records/s",
    rounds: perSecond(bare),
  });
  report.add({ part: "throughput", name: "fencepost run", unit: "records/s", rounds: perSecond(ours) });
  report.add({
    part: "throughput",
    name: "bare loop / fencepost, records/s",
    unit: "×",
    rounds: bare.map((took, i) => (ours[i] as Took).wallSeconds / took.wallSeconds),
    target: 1 / SHARE,
  });
  report.add({ part: "throughput", name: "bare loop of kafkajs", unit: "CPU µs", rounds: cpu(bare) });
  report.add({ part: "throughput", name: "fencepost run", unit: "CPU µs", rounds: cpu(ours) });
  report.add({
    part: "throughput",
    name: "fencepost / bare loop, CPU a record",
    unit: "×",
    rounds: bare.map((took, i) => (ours[i] as Took).cpuSeconds / took.cpuSeconds),
    target: 1 / SHARE,
  });
}

function numberAfter(flag: string, fallback: number): number {
  const at = Deno.args.indexOf(flag);
  const value = at < 0 ? fallback : Number(Deno.args[at + 1]);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`Cannot read ${flag}: give a number above 0`);
  }
  return value;
}

/** How much is measured. */
interface Numbers {
  readonly records: number;
  readonly dwells: number;
  readonly rounds: number;
}

/** The part that was asked for; null for all. */
function onlyPart(): (typeof PARTS)[number] | null {
  const at = Deno.args.indexOf("--only");
  const part = PARTS.find((name) => name === Deno.args[at + 1]);
  if (at >= 0 && part === undefined) {
    throw new RangeError(`Cannot read --only: give one of ${PARTS.join(", ")}`);
  }
  return part ?? null;
}

async function main(): Promise<void> {
  const numbers: Numbers = {
    records: numberAfter("--records", 400_000),
    dwells: numberAfter("--dwells", 100_000),
    rounds: numberAfter("--rounds", 3),
  };
  const only = onlyPart();
  // Before the first client: an idle connection's timer is a warning of Node's each.
  mendKafkajs();
  const broker = await startKafka();
  if (broker === null) Deno.exit(1);
  const admin = new Kafka({ brokers: [...broker.brokers], logLevel: logLevel.NOTHING }).admin();
  const directory = await Deno.makeTempDir({ prefix: "fencepost-bench-" });
  const encoder = new TextEncoder();
  const report = new Report((text) => {
    Deno.stdout.writeSync(encoder.encode(text));
  });
  try {
    await admin.connect();
    const input = await broker.topic(PARTITIONS);
    const world: World = { broker, admin, input, directory };
    if (only !== "hand-over") await compare(world, report, numbers);
    if (only !== "throughput") await handOver(world, report, numbers);
    const machine = { deno: Deno.version.deno, v8: Deno.version.v8, cores: navigator.hardwareConcurrency };
    if (only === null) await Deno.writeTextFile(RESULTS, report.toJson(machine));
  } finally {
    await admin.disconnect();
    await broker.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

if (import.meta.main) {
  await main();
  // kafkajs keeps timers.
  Deno.exit(0);
}
