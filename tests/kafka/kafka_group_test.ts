import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { CompressionTypes, type Kafka } from "kafkajs";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import { afterAll } from "../support/after_all.ts";
import { startKafka } from "../support/kafka_broker.ts";
import { otherProducer } from "../support/kafka_messages.ts";
import { HangingSockets, TestMember } from "./group_support.ts";
import { groupTest, type GroupWorld, numbers } from "./group_world.ts";

const broker = await startKafka();
afterAll(async () => await broker?.stop());

const test = groupTest.bind(null, broker);

/** As retention does: the log's start moves. */
async function deleteUpTo({ withAdmin, topic }: GroupWorld, offset: number): Promise<void> {
  await withAdmin(async (admin) => {
    // Loads the topic's metadata, without which kafkajs knows no leader to ask.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  });
}

async function committedOffset({ withAdmin, topic, group }: GroupWorld, partition: number): Promise<number> {
  return await withAdmin(async (admin) => {
    const [of] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
    return Number(of?.partitions.find((each) => each.partition === partition)?.offset);
  });
}

test(
  "one member reads all partitions, each in order, what was there and what comes",
  { partitions: 3 },
  async ({ log, started, produce }) => {
    await produce({ count: 300, partitions: 3, compression: CompressionTypes.GZIP });
    const member = await started();
    await log.until(() => log.count === 300);
    await produce({ from: 300, count: 30, partitions: 3 });
    await log.until(() => log.count === 330);
    for (const partition of [0, 1, 2]) deepStrictEqual(log.values.get(partition), numbers(partition, 330, 3));
    await log.until(() => [...member.sources.values()].every((source) => source.caughtUp()));
    deepStrictEqual([member.partitions, member.notices, member.failures], [[0, 1, 2], [], []]);
  },
);

test(
  "what a producer took back is not read, whichever transaction ended first",
  { partitions: 1 },
  async ({ topic, log, started, kafka }) => {
    const send = (values: readonly string[]) => ({ topic, messages: values.map((value) => ({ value })) });
    await otherProducer(kafka, `${topic}-a`, (a) =>
      otherProducer(kafka, `${topic}-b`, async (b) => {
        const first = await a.transaction();
        await first.send(send(["aborted last, 1", "aborted last, 2"]));
        const second = await b.transaction();
        await second.send(send(["aborted first"]));
        await second.abort();
        await first.send(send(["aborted last, 3"]));
        await first.abort();
        const third = await a.transaction();
        await third.send(send(["committed"]));
        await third.commit();
      }));
    await otherProducer(kafka, null, (producer) => producer.send(send(["plain"])));
    const member = await started();
    await log.until(() => log.count === 2);
    deepStrictEqual(log.values.get(0), ["committed", "plain"]);
    await log.until(() => member.sources.get(0)?.caughtUp() === true);
    deepStrictEqual(member.notices, [], "nothing is missing");
  },
);

test("tombstones, empty and huge records come through", {
  partitions: 1,
  configs: { "max.message.bytes": "4000000" },
}, async ({ topic, log, started, kafka }) => {
  const values = ["before", null, "", "x".repeat(65_536), "y".repeat(900_000), "{", "\u0000", "after"];
  await otherProducer(
    kafka,
    null,
    (producer) => producer.send({ topic, messages: values.map((value) => ({ value })) }),
  );
  await started();
  await log.until(() => log.count === values.length);
  deepStrictEqual(log.values.get(0), values.map((value) => (value ?? "").slice(0, 65_536)));
});

test(
  "the checkpoint is where it goes on, whatever was committed",
  { partitions: 1 },
  async (world) => {
    const { log, started, produce } = world;
    await produce({ count: 100 });
    const first = await started();
    await log.until(() => log.count === 100);
    await first.group.stop();
    strictEqual(await committedOffset(world, 0), 100);
    log.checkpoints.set(0, { partition: 0, offset: 40 });
    log.values.clear();
    await started();
    await log.until(() => log.count === 60);
    deepStrictEqual(log.values.get(0), numbers(40, 100));
  },
);

test(
  "a checkpoint that is gone is not taken for one that never was",
  { partitions: 2 },
  async ({ log, started, produce }) => {
    await produce({ count: 50 });
    const first = await started();
    await log.until(() => log.count === 50);
    await first.group.stop();
    log.checkpoints.clear();
    const second = await started();
    await log.until(() => second.failures.length > 0 && second.sources.has(1));
    match(
      String(second.failures),
      /^KafkaRefusedError: Cannot begin partition 0 .* has read it to offset 50/,
    );
    deepStrictEqual(second.partitions, [1], "what was never read begins");
    strictEqual(log.count, 50);
  },
);

test(
  "a slow partition is paused at its mark and holds up no other, and loses nothing",
  { partitions: 2 },
  async ({ log, member: create, produce }) => {
    const marks = { highRecords: 100, highBytes: 1e9, lowRecords: 50, lowBytes: 1e9 };
    const member = create({ marks });
    member.reads = false;
    await member.group.start();
    await log.until(() => member.sources.size === 2);
    // Many sends, so that a fetch brings part of it, whatever its size.
    for (let from = 0; from < 2_000; from += 200) await produce({ from, count: 200, partitions: 2 });
    await log.until(() => [...member.sources.values()].every(({ paused }) => paused));
    const slow = member.sources.get(0);
    ok(slow !== undefined && slow.queuedRecords >= 100 && !slow.caughtUp());
    member.reads = true;
    await log.until(() => log.count === 2_000);
    for (const partition of [0, 1]) deepStrictEqual(log.values.get(partition), numbers(partition, 2_000, 2));
    await log.until(() => slow.caughtUp());
  },
);

test("retention overtakes a partition that is paused: said, counted, and read on from the log's start", {
  partitions: 1,
}, async (world) => {
  const { log, member: create, produce } = world;
  const member = create({ marks: { highRecords: 10, highBytes: 1e9, lowRecords: 0, lowBytes: 1e9 } });
  member.reads = false;
  await member.group.start();
  await log.until(() => member.sources.size === 1);
  const source = member.sources.get(0);
  await produce({ count: 10 });
  await log.until(() => source?.paused === true);
  const queued = source?.queuedRecords ?? 0;
  await produce({ from: 10, count: 90 });
  await deleteUpTo(world, 70);
  member.reads = true;
  await log.until(() => log.values.get(0)?.at(-1) === "99");
  deepStrictEqual(log.values.get(0), [...numbers(0, queued), ...numbers(70, 100)]);
  strictEqual(source?.missing, 70 - queued);
  match(member.notices.join("\n"), new RegExp(`${70 - queued} records from offset ${queued} on are missing`));
});

test(
  "a position before the log's start is said, one behind its end is refused",
  { partitions: 2 },
  async (world) => {
    const { log, started, produce } = world;
    await produce({ count: 40, partitions: 2 });
    await deleteUpTo(world, 15);
    log.checkpoints.set(0, { partition: 0, offset: 5 });
    log.checkpoints.set(1, { partition: 1, offset: 21 });
    const member = await started();
    await log.until(() => log.values.get(0)?.length === 5 && member.failures.length === 1);
    match(member.notices.join("\n"), /partition 0 of .*: 10 records from offset 5 on are missing/);
    ok(member.failures[0] instanceof KafkaRefusedError);
    match(member.failures[0].message, /partition 1 of .*checkpoint is at offset 21, but the log ends at 20/);
  },
);

test("a session that the broker does not allow is refused", { partitions: 1 }, async ({ member }) => {
  await rejects(member({ sessionTimeoutMs: 500 }).group.start(), {
    name: "KafkaRefusedError",
    message: /don't allow this source\.session_timeout .*INVALID_SESSION_TIMEOUT/,
  });
});

test(
  "what was aborted is not seen, and an open transaction is something unread",
  { partitions: 1 },
  async ({ topic, log, started, kafka }) => {
    const member = await started();
    await log.until(() => member.sources.size === 1);
    const source = member.sources.get(0);
    await otherProducer(kafka, `producer-of-${topic}`, async (producer) => {
      for (const [value, keep] of [["a", true], ["b", false], ["c", true], ["d", false]] as const) {
        const transaction = await producer.transaction();
        await transaction.send({ topic, messages: [{ value }] });
        await (keep ? transaction.commit() : transaction.abort());
      }
      await log.until(() => source?.caughtUp() === true && log.count === 2);
      const open = await producer.transaction();
      await open.send({ topic, messages: [{ value: "e" }] });
      await log.until(() => source?.caughtUp() === false);
      strictEqual(log.count, 2);
      await open.commit();
    });
    await log.until(() => log.count === 3 && source?.caughtUp() === true);
    deepStrictEqual(log.values.get(0), ["a", "c", "e"]);
    deepStrictEqual([source?.missing, member.notices], [0, []]);
  },
);

test("of two and three members nobody loses more than must move, and what they read is each once", {
  partitions: 8,
}, async ({ log, started, produce }) => {
  await produce({ count: 800, partitions: 8 });
  const a = await started();
  await log.until(() => a.sources.size === 8);
  const b = await started();
  await log.until(() => a.sources.size === 4 && b.sources.size === 4);
  const [aOfTwo, bOfTwo] = [a.partitions, b.partitions];
  deepStrictEqual([...aOfTwo, ...bOfTwo].sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
  await produce({ from: 800, count: 800, partitions: 8 });
  const c = await started();
  await log.until(() => a.sources.size + b.sources.size + c.sources.size === 8 && c.sources.size === 2);
  ok(a.partitions.every((partition) => aOfTwo.includes(partition)), `${a.partitions} of ${aOfTwo}`);
  ok(b.partitions.every((partition) => bOfTwo.includes(partition)), `${b.partitions} of ${bOfTwo}`);
  const [aOfThree, cOfThree] = [a.partitions, c.partitions];
  await b.group.stop();
  await log.until(() => a.sources.size === 4 && c.sources.size === 4);
  ok(aOfThree.every((partition) => a.partitions.includes(partition)), `${aOfThree} in ${a.partitions}`);
  ok(cOfThree.every((partition) => c.partitions.includes(partition)), `${cOfThree} in ${c.partitions}`);
  await produce({ from: 1600, count: 800, partitions: 8 });
  await log.until(() => log.count >= 2400);
  for (let partition = 0; partition < 8; partition++) {
    deepStrictEqual(log.values.get(partition), numbers(partition, 2400, 8));
  }
  deepStrictEqual([a, b, c].flatMap(({ failures, notices }) => [...failures, ...notices]), []);
});

test("a drain longer than the session: the newcomer waits, and what was acknowledged is committed", {
  partitions: 4,
}, async (world) => {
  const { log, started, produce } = world;
  await produce({ count: 400, partitions: 4 });
  const limits = { sessionTimeoutMs: 1_500 };
  const a = await started(limits);
  await log.until(() => log.count === 400);
  const draining = Promise.withResolvers<void>();
  let drains = 0;
  a.drain = () => {
    drains++;
    return draining.promise;
  };
  const joining = started(limits);
  await log.until(() => drains === 4);
  // The one wait that can't be had otherwise: for the broker to lose its patience, if it were to.
  const until = performance.now() + 2 * limits.sessionTimeoutMs;
  await log.until(() => performance.now() > until);
  a.drain = () => Promise.resolve();
  deepStrictEqual([...new Set(a.given)].length, 4);
  draining.resolve();
  const b = await joining;
  await log.until(() => a.sources.size === 2 && b.sources.size === 2);
  for (let partition = 0; partition < 4; partition++) {
    strictEqual(await committedOffset(world, partition), 100);
  }
  strictEqual(log.count, 400);
  deepStrictEqual([...a.notices, ...b.notices], []);
});

test(
  "a drain that does not end is not waited for longer than the group would",
  { partitions: 2 },
  async ({ log, started, produce }) => {
    await produce({ count: 20, partitions: 2 });
    const a = await started({ rebalanceTimeoutMs: 2_000, sessionTimeoutMs: 1_500 });
    await log.until(() => log.count === 20);
    const draining = Promise.withResolvers<void>();
    a.drain = () => draining.promise;
    const b = await started({ rebalanceTimeoutMs: 2_000, sessionTimeoutMs: 1_500 });
    await log.until(() => b.sources.size === 1);
    match(a.notices.join("\n"), /could not be drained in time/);
    // The one that it keeps is not handed out a second time beside the first.
    strictEqual(a.given.length, 2);
    a.drain = () => Promise.resolve();
    draining.resolve();
    await log.until(() => a.sources.size === 1);
    deepStrictEqual([...a.partitions, ...b.partitions].sort(), [0, 1]);
  },
);

test("a member that leaves hands over at once", { partitions: 2 }, async ({ log, started, produce }) => {
  const a = await started({ sessionTimeoutMs: 30_000 });
  await log.until(() => a.sources.size === 2);
  const b = await started({ sessionTimeoutMs: 30_000 });
  await log.until(() => a.sources.size === 1 && b.sources.size === 1);
  await a.group.stop();
  deepStrictEqual(a.partitions, []);
  // Sooner than the session, or the test would take as long.
  await log.until(() => b.sources.size === 2);
  await produce({ count: 10, partitions: 2 });
  await log.until(() => log.count === 10);
});

test(
  "a member that stood still lets go of what it had, and joins anew",
  { partitions: 2 },
  async ({ log, started, produce, hangingClient }) => {
    const sockets = new HangingSockets();
    const limits = { sessionTimeoutMs: 1_500 };
    const a = await started(limits, hangingClient(sockets));
    await log.until(() => a.sources.size === 2);
    const b = await started(limits);
    await log.until(() => a.sources.size === 1 && b.sources.size === 1);
    const [kept] = a.partitions;
    const source = a.sources.get(kept ?? -1);
    sockets.hang("all");
    await log.until(() => b.sources.size === 2);
    await produce({ count: 20, partitions: 2 });
    await log.until(() => log.count === 20);
    ok(source !== undefined && !source.caughtUp(), "it must not think so: it hears of nothing");
    const given = a.given.length;
    sockets.goOn();
    await log.until(() => a.sources.size === 1 && b.sources.size === 1 && a.given.length > given);
    deepStrictEqual(a.failures, []);
    await produce({ from: 20, count: 20, partitions: 2 });
    await log.until(() => log.count === 40);
    for (const partition of [0, 1]) deepStrictEqual(log.values.get(partition), numbers(partition, 40, 2));
  },
);

test(
  "a partition is confirmed, and not to a member that has lost it and does not know that yet",
  { partitions: 1 },
  async ({ log, started, hangingClient }) => {
    const sockets = new HangingSockets();
    const limits = { sessionTimeoutMs: 1_500 };
    const a = await started(limits, hangingClient(sockets));
    await log.until(() => a.sources.size === 1);
    const source = a.sources.get(0);
    ok(source !== undefined);
    await source.confirm();
    sockets.hang("all");
    const b = await started(limits);
    await log.until(() => b.sources.size === 1);
    const refused = rejects(source.confirm(), { type: "UNKNOWN_MEMBER_ID" });
    sockets.goOn();
    await refused;
  },
);

test(
  "a consumer that hears of nothing any more is replaced",
  { partitions: 1 },
  async ({ log, started, produce, hangingClient }) => {
    const sockets = new HangingSockets();
    const member = await started(
      { watchdogMs: 1_200, rebalanceTimeoutMs: 1_000, sessionTimeoutMs: 1_500 },
      hangingClient(sockets),
    );
    await log.until(() => member.sources.size === 1);
    sockets.hang("open ones");
    await log.until(() => member.given.length > 1 && member.sources.size === 1);
    match(member.notices[0] ?? "", /no fetch has come back for 1.2 s; it is tried again/);
    match(member.notices.at(-1) ?? "", /^Reads .* again$/);
    await produce({ count: 5 });
    await log.until(() => log.count === 5);
    // The one that was given up still waits for its answers.
    sockets.goOn();
    await member.group.stop();
    await log.until(() => sockets.open === 0);
  },
);

test("a topic that is not there is refused at once", { partitions: 1 }, async ({ log, kafka }) => {
  const member = new TestMember(log, { kafka, topic: "nowhere-to-be-found", group: "g" });
  await rejects(member.group.start(), KafkaRefusedError);
  await member.group.stop();
});

test(
  "a topic that is deleted while it is read: tried for a while, then the group ends",
  { partitions: 1 },
  async ({ topic, log, started, withAdmin }) => {
    const member = await started({ refusalPatienceMs: 300 });
    await log.until(() => member.sources.size === 1);
    await withAdmin((admin) => admin.deleteTopics({ topics: [topic] }));
    await log.until(() => member.failures.length === 1);
    ok(member.failures[0] instanceof KafkaRefusedError, String(member.failures[0]));
    match(member.notices.join("\n"), /tried again until it works/);
    strictEqual(member.sources.size, 0);
  },
);

/** A client whose first questions about topics are answered as if there were none. */
function forgetfulClient(kafka: Kafka, times: number, error: Error): Kafka {
  let left = times;
  const admin: Kafka["admin"] = (config) => {
    const real = kafka.admin(config);
    if (left === 0) return real;
    left--;
    return { ...real, fetchTopicMetadata: () => Promise.reject(error) };
  };
  return Object.create(kafka, { admin: { value: admin } });
}

test(
  "a group that has no coordinator yet is joined when it has one",
  { partitions: 1 },
  async ({ kafka, log, started }) => {
    const error = Object.assign(new Error("Failed to find group coordinator"), {
      name: "KafkaJSGroupCoordinatorNotFound",
    });
    const member = await started({}, forgetfulClient(kafka, 2, error));
    await log.until(() => member.sources.size === 1);
    strictEqual(member.notices.length, 2, member.notices.join("\n"));
  },
);

test(
  "a member that is stopped before it has joined is stopped",
  { partitions: 1 },
  async ({ log, member: create, hangingClient }) => {
    const sockets = new HangingSockets();
    sockets.hang("all");
    const member = create({}, hangingClient(sockets));
    const starting = member.group.start();
    await log.until(() => sockets.open > 0);
    await member.group.stop();
    await starting;
    deepStrictEqual([member.given, member.failures, member.notices], [[], [], []]);
    // What it had asked is not waited for.
    sockets.goOn();
    await log.until(() => sockets.open === 0);
  },
);
