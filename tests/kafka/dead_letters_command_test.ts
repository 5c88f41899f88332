/**
 * `fencepost dead-letters` as a process over topics of a real broker: what `run` could not take is listed, sent again,
 * and taken once, or comes back once.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { afterAll } from "../support/after_all.ts";
import { inDirectory, linesOf } from "../support/fencepost_process.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { clientOf, deleteBefore } from "../support/kafka_messages.ts";
import { refused } from "../support/run_case.ts";
import { DeadLettersWorld, partitionOf, transition } from "./dead_letters_world.ts";

const broker = await startKafka();
afterAll(async () => await broker?.stop());

const DAY_MS = 86_400_000;

function kafkaTest(name: string, partitions: number, body: (world: DeadLettersWorld) => Promise<void>): void {
  Deno.test({
    name: `dead-letters over topics: ${name}`,
    ignore: broker === null,
    async fn() {
      if (broker === null) return;
      await inDirectory(async (directory) => {
        await body(await DeadLettersWorld.make(broker, { partitions, directory }));
      });
    },
  });
}

kafkaTest("what is taken appears once, what comes back is a dead letter again, once", 4, async (world) => {
  const nowMs = Date.now();
  const good = ["a", "b", "c"].map((device) => ({ key: device, value: transition(device, nowMs) }));
  const old = { key: "d", value: transition("d", nowMs - 40 * DAY_MS), timestampMs: nowMs - 4000 };
  const odd = {
    key: "truck-7",
    value: transition("truck-7", nowMs, { kind: "GONE" }),
    timestampMs: nowMs - 3000,
  };
  const broken = { partition: 2, value: "{ \u00e9", timestampMs: nowMs - 2000 };
  await world.send([...good, old, odd, broken]);
  await world.runUntil(3, 3);
  const letters = await world.listed();
  const reasonsOf = (of: typeof letters) => of.map(({ reason }) => reason).toSorted();
  deepEqual(reasonsOf(letters), ["INVALID_KIND", "MALFORMED_JSON", "TIME_TOO_OLD"]);
  for (const { source, topic } of letters) deepEqual([source, topic], [world.source, world.deadLetters]);

  const before = await world.found(world.source);
  const inVain = await world.run("replay");
  equal(inVain.status, 1);
  match(inVain.stderr, /TIME_TOO_OLD is not sent: It would come back as TIME_TOO_OLD/);
  match(inVain.stderr, new RegExp(`^fencepost: 0 records sent to topic ${world.source}$`, "m"));
  await world.configure({ time: { max_age: "60d" } });
  const dry = await world.run("replay", "--dry-run", "--force");
  equal(dry.status, 0, dry.stderr);
  match(dry.stderr, /^fencepost: 3 records would be sent to topic /m);
  deepEqual(await world.foundSince(before), []);

  // The cause of one is mended; it is sent again and again, as by someone who is not sure. The others are forced.
  for (const args of [["--reason", "TIME_TOO_OLD"], ["--reason", "TIME_TOO_OLD"], ["--force"]]) {
    const replayed = await world.run("replay", ...args);
    equal(replayed.status, 0, replayed.stderr);
  }
  const sent = await world.foundSince(before);
  const expected = [old, old, old, odd, broken].map(({ value }) => value);
  deepEqual(sent.map(({ value }) => value).toSorted(), expected.toSorted());
  // Their partitions, keys and timestamps are those that they had.
  for (const record of sent) deepEqual(record, before.find(({ value }) => value === record.value));

  await world.runUntil(4, 5);
  const devices = (await world.found(world.triggers)).map(({ value }) => JSON.parse(value).device_id);
  deepEqual(devices.toSorted(), ["a", "b", "c", "d"]);
  deepEqual(reasonsOf(await world.listed()), [
    ...["INVALID_KIND", "INVALID_KIND", "MALFORMED_JSON", "MALFORMED_JSON"],
    "TIME_TOO_OLD",
  ]);
});

kafkaTest("to a file and to stdout; each record's once; what is none of ours is said", 2, async (world) => {
  const record = transition("a", Date.now(), { note: "\u2028é" });
  await world.keep({ record, offset: 0 }, { record, offset: 0 });
  // Of another content at the same offset: the source's topic was made anew.
  await world.keep({ record: transition("b", Date.now()), offset: 0, reason: "LATE" });
  await world.keepNoise();
  const listed = await world.run("list");
  equal(listed.status, 1);
  const place = `${world.deadLetters}\\[0\\]:3`;
  match(listed.stderr, new RegExp(`${place} is no dead letter: it has not the headers of one`));
  match(listed.stdout, /^2 dead letters$/m);
  const file = join(world.directory, "records.ndjson");
  equal((await world.run("replay", "--reason", "INVALID_KIND", "--output", file)).status, 1);
  deepEqual(await linesOf(file), [record]);
  equal((await world.run("replay", "--reason", "INVALID_KIND", "--output", "-")).stdout, `${record}\n`);
  deepEqual(await world.found(world.source), []);
});

kafkaTest("a record whose device belongs elsewhere waits for a word", 4, async (world) => {
  const record = transition("truck-7", Date.now());
  const byDevice = partitionOf("truck-7", 4);
  const from = (byDevice + 1) % 4;
  await world.keep({ record, offset: 0, partition: from });
  const unsaid = await world.run("replay");
  equal(unsaid.status, 1);
  match(
    unsaid.stderr,
    new RegExp(`came from partition ${from}, .* partition ${byDevice}: --partition source`),
  );
  deepEqual(await world.found(world.source), []);
  for (const [by, partition] of [["source", from], ["device", byDevice]] as const) {
    const before = await world.found(world.source);
    const said = await world.run("replay", "--partition", by);
    equal(said.status, 0, said.stderr);
    const sent = await world.foundSince(before);
    deepEqual(sent.map((found) => [found.value, found.key, found.partition]), [[
      record,
      "truck-7",
      partition,
    ]]);
  }
});

kafkaTest("a record that is no more there has its event time as the timestamp, or now", 1, async (world) => {
  const nowMs = Date.now();
  const gone = [transition("a", nowMs - 3_600_000), transition("b", nowMs + 200_000), "{"];
  await world.send(gone.map((value) => ({ value })));
  await deleteBefore(clientOf(broker?.brokers ?? []), world.source, gone.length);
  await world.keep(...gone.map((record, offset) => ({ record, offset })));
  // At an offset that has another record by now, and at one that is still to come.
  await world.send([{ value: transition("f", nowMs) }]);
  const other = transition("e", nowMs - 1000);
  await world.keep({ record: other, offset: 3 }, { record: other, offset: 99 });
  const replayed = await world.run("replay", "--force");
  equal(replayed.status, 0, replayed.stderr);
  const [, ...sent] = await world.found(world.source);
  deepEqual(sent.map(({ value, key }) => [value, key]), [
    [gone[0], "a"],
    [gone[1], "b"],
    [gone[2], null],
    [other, "e"],
    [other, "e"],
  ]);
  const times = sent.map(({ timestampMs }) => timestampMs);
  deepEqual([times[0], times[3], times[4]], [nowMs - 3_600_000, nowMs - 1000, nowMs - 1000]);
  for (const time of times.slice(1, 3)) ok(time >= nowMs && time <= Date.now(), String(time));
});

kafkaTest("more records than go into a send, in their order", 2, async (world) => {
  const partition = partitionOf("a", 2);
  const records = Array.from({ length: 700 }, (_, i) => ({
    value: transition("a", Date.now(), { note: `${i}`.padEnd(300, "x") }),
    partition,
    timestampMs: Date.now() - 10_000 + i,
  }));
  await world.send(records);
  await world.keep(...records.map(({ value }, offset) => ({ record: value, offset, partition })));
  const replayed = await world.run("replay");
  equal(replayed.status, 0, replayed.stderr);
  match(replayed.stderr, /^fencepost: 700 records sent to topic/m);
  const sent = (await world.found(world.source)).slice(records.length);
  deepEqual(sent, records.map((record) => ({ ...record, key: "a" })));
});

kafkaTest("another topic's record is refused, and topics that are not there", 1, async (world) => {
  await world.keep({ record: transition("a", Date.now()), offset: 0, source: "elsewhere" });
  const replayed = await world.run("replay", "--force", "--partition", "device");
  equal(replayed.status, 1);
  match(replayed.stderr, /It came from elsewhere, and topic .* is another source/);
  for (const action of ["list", "replay"] as const) {
    const missing = await world.run(action, "--set", "dead_letters.topic=nowhere");
    refused(missing, 2, /topic nowhere: .*no such topic/);
  }
  const noSource = await world.run("replay", "--set", "source.topic=nowhere");
  refused(noSource, 1, /topic nowhere: there is no such topic/);
  deepEqual(await world.found(world.source), []);
});
