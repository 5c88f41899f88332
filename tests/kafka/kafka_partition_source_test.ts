import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import xxhash from "xxhash-wasm";
import { UnavailableError } from "../../actors/ports.ts";
import { KafkaRefusedError } from "../../actors/adapters/kafka/kafka_client.ts";
import {
  KafkaPartitionSource,
  PartitionRevokedError,
  PROOF_US,
  type QueueMarks,
} from "../../actors/adapters/kafka/kafka_partition_source.ts";
import { parseKafkaPosition } from "../../actors/adapters/kafka/kafka_position.ts";
import type { LogBounds } from "../../actors/adapters/kafka/log_cursor.ts";
import { packBatch } from "../../actors/adapters/kafka/fetched_batch.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import type { Json } from "../../lib/json.ts";
import { randomFrom } from "../support/random.ts";
import { type Fetch, fetched, StillClock } from "./group_support.ts";

const NO_MARKS: QueueMarks = { highRecords: 1e6, highBytes: 1e9, lowRecords: 1e6, lowBytes: 1e9 };
const NEVER = new AbortController().signal;
/** Bytes that a record counts for beside its own. */
const COLUMN_BYTES = 32;

interface World {
  readonly source: KafkaPartitionSource;
  readonly clock: StillClock;
  readonly notices: string[];
  /** What the feed was asked, in order. */
  readonly asked: string[];
  /** A fetch that is sent and answered now. */
  readonly fetch: (fetch: Fetch) => boolean;
}

function makeWorld(options: {
  readonly bounds?: LogBounds | (() => Promise<LogBounds>);
  readonly committed?: number;
  /** Whether the group confirms that the partition is this member's. */
  readonly isOurs?: boolean;
  readonly marks?: QueueMarks;
  readonly compacted?: boolean;
} = {}): World {
  const { bounds = { start: 0, end: 1e6 }, marks = NO_MARKS, compacted = false } = options;
  const { committed = null, isOurs = true } = options;
  const clock = new StillClock();
  const notices: string[] = [];
  const asked: string[] = [];
  const source = new KafkaPartitionSource({
    topic: "t",
    partition: 0,
    clock,
    marks,
    compacted,
    notice: (message) => notices.push(message),
    feed: {
      bounds: typeof bounds === "function" ? bounds : () => Promise.resolve(bounds),
      recordAt: () => Promise.resolve(null),
      committed: () => Promise.resolve(committed),
      confirm: () => isOurs ? Promise.resolve() : Promise.reject(new Error("UNKNOWN_MEMBER_ID")),
      seek: (offset) => asked.push(`seek ${offset}`),
      pause: () => asked.push("pause"),
      resume: () => asked.push("resume"),
      acknowledge: (offset) => asked.push(`acknowledge ${offset}`),
    },
  });
  const fetch = (what: Fetch): boolean => {
    const batch = fetched(what);
    source.observe(batch, { wallUs: clock.wall, monotonicUs: clock.monotonic });
    return batch.messages.length === 0 || source.accept(batch);
  };
  return { source, clock, notices, asked, fetch };
}

Deno.test("kafka_partition_source: says what it is", () => {
  const { source } = makeWorld();
  deepStrictEqual(
    [source.kind, source.name, source.rereadable, source.live, source.keepsUnread, source.placeOf(7, 0)],
    ["kafka", "t", true, true, true, { partition: 0, offset: 7 }],
  );
});

Deno.test("kafka_partition_source: a fetch becomes one buffer and its columns", async () => {
  const values = new Map<number, Uint8Array | null>([
    [10, new TextEncoder().encode("ten")],
    [11, null],
    [12, new Uint8Array(0)],
    [14, new Uint8Array(RECORD_BYTES_MAX).fill(1)],
    [15, new Uint8Array(RECORD_BYTES_MAX + 1).fill(2)],
    [16, new TextEncoder().encode("last")],
  ]);
  const hash = await xxhash();
  const seen = [...values.keys()];
  const value = (offset: number): Uint8Array | null => values.get(offset) ?? null;
  const batch = packBatch(fetched({ at: 10, seen, last: 18, value }), hash);
  strictEqual(batch.count, seen.length);
  deepStrictEqual([...batch.offsets], seen);
  deepStrictEqual([...batch.lines], seen.map(() => 0));
  const { partition, offset, last } = parseKafkaPosition(batch.position);
  deepStrictEqual([partition, offset, last?.offset], [0, 19, 16]);
  deepStrictEqual([...batch.ingestTimesUs ?? []], seen.map((offset) => (1_700_000_000_000 + offset) * 1000));
  seen.forEach((offset, i) => {
    const expected = (values.get(offset) ?? new Uint8Array(0)).subarray(0, RECORD_BYTES_MAX);
    deepStrictEqual(batch.bytes.subarray(batch.starts[i], batch.ends[i]), expected, `offset ${offset}`);
  });
  const overlong = new Uint8Array(RECORD_BYTES_MAX + 1).fill(2);
  deepStrictEqual(
    [...batch.oversize],
    [[4, { byteLength: overlong.length, hash: hash.h64Raw(overlong).toString(16).padStart(16, "0") }]],
  );
});

Deno.test("kafka_partition_source: keys and headers come along where the format asks for them", async () => {
  const hash = await xxhash();
  const batch = fetched({ at: 0, seen: [0, 1] });
  const [one, other] = batch.messages;
  ok(one !== undefined && other !== undefined);
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const headers = { device: bytes("a"), many: [bytes("1"), "2"], bad: Uint8Array.of(0xff), gone: undefined };
  const messages = [{ ...one, key: bytes("k"), headers }, { ...other, key: null }];
  const packed = packBatch({ ...batch, messages }, hash, { withContexts: true });
  const [first, second] = packed.contexts ?? [];
  deepStrictEqual([first?.topic, first?.key, second?.key], [batch.topic, bytes("k"), null]);
  const names = ["device", "many", "bad", "gone", "toString"];
  deepStrictEqual(names.map((name) => first?.header(name)), ["a", "2", null, null, null]);
  strictEqual(second?.header("device"), null);
  strictEqual(packBatch(batch, hash).contexts, null);
});

Deno.test("kafka_partition_source: a record without a timestamp has no ingest time", async () => {
  const batch = fetched({ at: 0, seen: [0] });
  const [message] = batch.messages;
  ok(message !== undefined);
  const packed = packBatch({ ...batch, messages: [{ ...message, timestamp: "-1" }] }, await xxhash());
  deepStrictEqual([...packed.ingestTimesUs ?? []], [NaN]);
});

const OPENINGS: readonly {
  readonly name: string;
  readonly bounds: LogBounds;
  readonly position: Json;
  readonly outcome: "resumed" | "started";
  readonly seek: number;
  readonly missing?: number;
}[] = [
  {
    name: "no position: the log's start",
    bounds: { start: 5, end: 9 },
    position: null,
    outcome: "started",
    seek: 5,
  },
  {
    name: "one before the log's start: a gap of one",
    bounds: { start: 5, end: 9 },
    position: { partition: 0, offset: 4 },
    outcome: "resumed",
    seek: 5,
    missing: 1,
  },
  {
    name: "everything unread was deleted",
    bounds: { start: 90, end: 90 },
    position: { partition: 0, offset: 7 },
    outcome: "resumed",
    seek: 90,
    missing: 83,
  },
  {
    name: "at the log's start",
    bounds: { start: 5, end: 9 },
    position: { partition: 0, offset: 5 },
    outcome: "resumed",
    seek: 5,
  },
  {
    name: "at the log's end",
    bounds: { start: 5, end: 9 },
    position: { partition: 0, offset: 9 },
    outcome: "resumed",
    seek: 9,
  },
];

for (const { name, position, outcome, seek, missing = 0, ...options } of OPENINGS) {
  Deno.test(`kafka_partition_source: opens, ${name}`, async () => {
    const { source, asked, notices } = makeWorld(options);
    strictEqual(await source.open(position), outcome);
    deepStrictEqual(asked, [`seek ${seek}`, "resume"]);
    strictEqual(source.missing, missing);
    strictEqual(notices.length, missing === 0 ? 0 : 1);
    if (missing > 0) {
      match(notices.join(), new RegExp(`partition 0 of t: ${missing} records .*read on from ${seek}`));
    }
  });
}

Deno.test("kafka_partition_source: a position behind the log's end is refused, with the way out", async () => {
  const { source, asked } = makeWorld({ bounds: { start: 5, end: 9 } });
  await rejects(source.open({ partition: 0, offset: 10 }), (error: Error) => {
    ok(error instanceof KafkaRefusedError);
    match(error.message, /checkpoint is at offset 10, but the log ends at 9.*begin afresh/);
    return true;
  });
  deepStrictEqual(asked, []);
});

Deno.test("kafka_partition_source: no checkpoint is not refused to who stood still while another began and committed", async () => {
  const { source, asked } = makeWorld({ committed: 7, isOurs: false });
  await rejects(source.open(null), PartitionRevokedError);
  deepStrictEqual(asked, []);
});

Deno.test("kafka_partition_source: no checkpoint where the group has committed is refused, with the way out", async () => {
  const { source, asked } = makeWorld({ committed: 7 });
  await rejects(source.open(null), (error: Error) => {
    ok(error instanceof KafkaRefusedError);
    match(
      error.message,
      /read it to offset 7.*another deployment.*checkpoint\.path and the deployment that have it.*another source\.group/,
    );
    return true;
  });
  deepStrictEqual(asked, []);
  strictEqual(await source.open({ partition: 0, offset: 3 }), "resumed", "the checkpoint is the truth");
});

for (
  const position of [
    { offset: 4, line: 1 },
    { partition: 1, offset: 4 },
    { partition: 0, offset: -1 },
    { partition: 0, offset: 0.5 },
    "4",
  ]
) {
  Deno.test(`kafka_partition_source: a position of something else is refused: ${JSON.stringify(position)}`, async () => {
    const { source, asked } = makeWorld();
    await rejects(source.open(position), /position/);
    deepStrictEqual(asked, []);
  });
}

Deno.test("kafka_partition_source: what was fetched comes out in order, with the position behind it", async () => {
  const { source, fetch } = makeWorld();
  await source.open(null);
  ok(fetch({ at: 0, seen: [0, 1] }));
  ok(fetch({ at: 2, seen: [2], hidden: 1, last: 3 }));
  const first = await source.read(NEVER);
  const second = await source.read(NEVER);
  deepStrictEqual([...first?.offsets ?? [], ...second?.offsets ?? []], [0, 1, 2]);
  const positions = [first, second].map((batch) => parseKafkaPosition(batch?.position ?? null));
  deepStrictEqual(positions.map(({ offset, last }) => [offset, last?.offset]), [[2, 1], [4, 2]]);
});

Deno.test("kafka_partition_source: a read waits for a fetch, and an abort loses nothing", async () => {
  const { source, fetch } = makeWorld();
  await source.open(null);
  const given = new AbortController();
  const waiting = source.read(given.signal);
  given.abort(new Error("enough"));
  await rejects(waiting, /enough/);
  fetch({ at: 0, seen: [0] });
  await rejects(source.read(given.signal), /enough/);
  const next = source.read(NEVER);
  strictEqual((await next)?.count, 1);
  const later = source.read(NEVER);
  fetch({ at: 1, seen: [1] });
  strictEqual((await later)?.offsets[0], 1);
});

const RECORD_BYTES = "record 0".length + COLUMN_BYTES;

for (
  const { name, marks, highAt, lowAt } of [
    { name: "records", marks: { ...NO_MARKS, highRecords: 5, lowRecords: 2 }, highAt: 5, lowAt: 2 },
    {
      name: "bytes",
      marks: { ...NO_MARKS, highBytes: 5 * RECORD_BYTES, lowBytes: 2 * RECORD_BYTES },
      highAt: 5,
      lowAt: 2,
    },
    {
      name: "either",
      marks: { highRecords: 9, highBytes: 3 * RECORD_BYTES, lowRecords: 0, lowBytes: 1e9 },
      highAt: 3,
      lowAt: 0,
    },
  ]
) {
  Deno.test(`kafka_partition_source: pauses at the high mark and resumes at the low one, by ${name}`, async () => {
    const { source, asked, fetch } = makeWorld({ marks });
    await source.open(null);
    asked.length = 0;
    let offset = 0;
    for (; offset < highAt - 1; offset++) fetch({ at: offset, seen: [offset] });
    deepStrictEqual(asked, [], "one below the high mark");
    fetch({ at: offset, seen: [offset] });
    deepStrictEqual(asked, ["pause"], "at the high mark");
    // Was under way when it paused: taken, and no second pause.
    ok(fetch({ at: offset + 1, seen: [offset + 1] }));
    deepStrictEqual(asked, ["pause"]);
    for (let left = highAt + 1; left > lowAt + 1; left--) await source.read(NEVER);
    deepStrictEqual(asked, ["pause"], "one above the low mark");
    ok(source.paused && !source.caughtUp());
    await source.read(NEVER);
    deepStrictEqual(asked, ["pause", "resume"], "at the low mark");
  });
}

Deno.test("kafka_partition_source: never holds more than its high mark and a fetch, and loses nothing (50 seeds)", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = randomFrom(seed);
    const marks = { ...NO_MARKS, highRecords: 1 + Math.floor(random() * 40), lowRecords: 0 };
    const lowRecords = Math.floor(random() * marks.highRecords);
    const { source, fetch, asked } = makeWorld({ marks: { ...marks, lowRecords }, compacted: true });
    await source.open(null);
    const sent: number[] = [];
    const got: number[] = [];
    let next = 0;
    for (let step = 0; step < 200; step++) {
      if (random() < 0.5 && !source.paused) {
        const seen: number[] = [];
        for (let offset = next; seen.length < 10 && random() < 0.8; offset += 1 + Math.floor(random() * 2)) {
          seen.push(offset);
        }
        const hidden = Math.floor(random() * 2);
        if (seen.length + hidden === 0) continue;
        const last = (seen.at(-1) ?? next - 1) + hidden;
        fetch({ at: next, seen, hidden, last });
        sent.push(...seen);
        next = last + 1;
      } else if (source.queuedRecords > 0) {
        const batch = await source.read(NEVER);
        got.push(...batch?.offsets ?? []);
      }
      ok(source.queuedRecords < marks.highRecords + 10, `seed ${seed}, step ${step}`);
      ok(
        !source.paused || source.queuedRecords > lowRecords,
        `seed ${seed}, step ${step}: paused for nothing`,
      );
    }
    while (source.queuedRecords > 0) got.push(...(await source.read(NEVER))?.offsets ?? []);
    deepStrictEqual(got, sent, `seed ${seed}`);
    const pauses = asked.filter((what) => what === "pause").length;
    strictEqual(asked.filter((what) => what === "resume").length, pauses + 1, `seed ${seed}`);
  }
});

const CONTINUITY: readonly {
  readonly name: string;
  readonly compacted?: boolean;
  readonly fetches: readonly Fetch[];
  readonly missing: number;
  readonly notices: number;
}[] = [
  { name: "no gap", fetches: [{ at: 0, seen: [0, 1] }, { at: 2, seen: [2] }], missing: 0, notices: 0 },
  {
    name: "a transaction's marker between two fetches",
    fetches: [{ at: 0, seen: [0, 1], hidden: 1, last: 2 }, { at: 3, seen: [3] }],
    missing: 0,
    notices: 0,
  },
  {
    name: "fetches that bring nothing to be seen",
    fetches: [{ at: 0, hidden: 3, last: 2 }, { at: 3, hidden: 1, last: 3 }, { at: 4, seen: [4] }],
    missing: 0,
    notices: 0,
  },
  {
    name: "records of a compacted topic",
    compacted: true,
    fetches: [{ at: 0, seen: [3, 7] }, { at: 8, seen: [20] }],
    missing: 0,
    notices: 0,
  },
  {
    name: "retention overtook it",
    fetches: [{ at: 0, seen: [0, 1] }, { at: 12, seen: [12] }],
    missing: 10,
    notices: 1,
  },
  {
    name: "retention overtook it, and nothing is left",
    fetches: [{ at: 0, seen: [0, 1] }, { at: 12, end: 12 }],
    missing: 10,
    notices: 1,
  },
  {
    name: "retention overtook it on a compacted topic",
    compacted: true,
    fetches: [{ at: 0, seen: [0, 1] }, { at: 12, seen: [15] }],
    missing: 10,
    notices: 1,
  },
  {
    name: "a hole in the middle of a log that is not compacted",
    fetches: [{ at: 0, seen: [0, 4], hidden: 1, last: 5 }],
    missing: 3,
    notices: 1,
  },
  {
    name: "many holes: the first, the second, the fourth are said",
    fetches: Array.from({ length: 7 }, (_, i) => ({ at: i * 2, seen: [i * 2 + 1] })),
    missing: 7,
    notices: 3,
  },
];

for (const { name, fetches, missing, notices: expected, compacted = false } of CONTINUITY) {
  Deno.test(`kafka_partition_source: continuity, ${name}`, async () => {
    const { source, fetch, notices } = makeWorld({ compacted });
    await source.open(null);
    for (const what of fetches) fetch(what);
    strictEqual(source.missing, missing, notices.join("\n"));
    strictEqual(notices.length, expected, notices.join("\n"));
    const records = fetches.flatMap(({ seen = [] }) => seen);
    const got: number[] = [];
    while (source.queuedRecords > 0) got.push(...(await source.read(NEVER))?.offsets ?? []);
    deepStrictEqual(got, records);
  });
}

for (const what of [{ at: 4, seen: [4] }, { at: 0, end: 0 }]) {
  Deno.test(`kafka_partition_source: a log that lost its end fails it, fetch ${JSON.stringify(what)}`, async () => {
    const { source, fetch, asked } = makeWorld();
    await source.open({ partition: 0, offset: 10 });
    const waiting = rejects(source.read(NEVER), UnavailableError);
    fetch(what);
    await waiting;
    strictEqual(asked.at(-1), "pause");
    await rejects(source.read(NEVER), /read to offset 10, but the log begins anew at/);
    ok(!fetch({ at: 10, seen: [10] }), "nothing is taken after a failure");
    ok(!source.caughtUp());
    source.close();
    await source.open({ partition: 0, offset: 4 });
    ok(fetch({ at: 4, seen: [4] }), "opened anew, it works again");
  });
}

const CAUGHT_UP: readonly {
  readonly name: string;
  readonly fetches: readonly Fetch[];
  readonly read?: number;
  readonly passed?: { readonly wall: number; readonly monotonic: number };
  readonly expected: boolean;
}[] = [
  { name: "no fetch yet", fetches: [], expected: false },
  { name: "an empty log, asked", fetches: [{ at: 0 }], expected: true },
  { name: "records unread", fetches: [{ at: 0, seen: [0] }], expected: false },
  { name: "all read, the log ends there", fetches: [{ at: 0, seen: [0] }], read: 1, expected: true },
  { name: "all read, the log goes on", fetches: [{ at: 0, seen: [0], end: 2 }], read: 1, expected: false },
  { name: "an open transaction behind", fetches: [{ at: 0, end: 5 }], expected: false },
  {
    name: "a marker at the end",
    fetches: [{ at: 0, seen: [0], hidden: 1, last: 1 }],
    read: 1,
    expected: true,
  },
  { name: "a marker alone", fetches: [{ at: 0, hidden: 1, last: 0 }], expected: true },
  {
    name: "the last fetch is just new enough",
    fetches: [{ at: 0 }],
    passed: { wall: PROOF_US, monotonic: PROOF_US },
    expected: true,
  },
  {
    name: "the process was stopped",
    fetches: [{ at: 0 }],
    passed: { wall: 0, monotonic: PROOF_US + 1 },
    expected: false,
  },
  {
    name: "the machine slept, its monotonic clock too",
    fetches: [{ at: 0 }],
    passed: { wall: PROOF_US + 1, monotonic: 0 },
    expected: false,
  },
  {
    name: "the wall clock was set back",
    fetches: [{ at: 0 }],
    passed: { wall: -1, monotonic: 0 },
    expected: false,
  },
];

for (const { name, fetches, read = 0, passed = { wall: 0, monotonic: 0 }, expected } of CAUGHT_UP) {
  Deno.test(`kafka_partition_source: caught up, ${name}: ${expected}`, async () => {
    const { source, fetch, clock } = makeWorld();
    await source.open(null);
    for (const what of fetches) fetch(what);
    for (let i = 0; i < read; i++) await source.read(NEVER);
    clock.wall += passed.wall;
    clock.monotonic += passed.monotonic;
    strictEqual(source.caughtUp(), expected);
  });
}

Deno.test("kafka_partition_source: an answer to what was asked before a gap proves nothing after it", async () => {
  const { source, clock } = makeWorld();
  await source.open(null);
  const askedAt = { wallUs: clock.wall, monotonicUs: clock.monotonic };
  clock.wall += 10 * PROOF_US;
  clock.monotonic += 10 * PROOF_US;
  source.observe(fetched({ at: 0 }), askedAt);
  ok(!source.caughtUp());
  source.observe(fetched({ at: 0 }), { wallUs: clock.wall, monotonicUs: clock.monotonic });
  ok(source.caughtUp());
});

Deno.test("kafka_partition_source: acknowledges at once, and not once it was revoked", async () => {
  const { source, asked } = makeWorld();
  await source.open(null);
  asked.length = 0;
  await source.acknowledge({ partition: 0, offset: 3 });
  source.close();
  await source.acknowledge({ partition: 0, offset: 4 });
  source.revoke();
  await source.acknowledge({ partition: 0, offset: 5 });
  deepStrictEqual(asked, ["acknowledge 3", "pause", "acknowledge 4"]);
});

Deno.test("kafka_partition_source: closing ends a waiting read, forgets what waits, and takes nothing", async () => {
  const { source, asked, fetch } = makeWorld();
  await source.open(null);
  fetch({ at: 0, seen: [0] });
  await source.read(NEVER);
  const waiting = rejects(source.read(NEVER), /was closed/);
  source.close();
  await waiting;
  source.close();
  ok(!fetch({ at: 1, seen: [1] }));
  await source.open({ partition: 0, offset: 0 });
  deepStrictEqual(asked, ["seek 0", "resume", "pause", "seek 0", "resume"]);
  fetch({ at: 0, seen: [0] });
  strictEqual((await source.read(NEVER))?.offsets[0], 0);
});

Deno.test("kafka_partition_source: revoking ends a waiting read; nothing opens it again, and the feed is left alone", async () => {
  const { source, asked, fetch } = makeWorld();
  await source.open(null);
  const waiting = rejects(source.read(NEVER), PartitionRevokedError);
  asked.length = 0;
  source.revoke();
  await waiting;
  await rejects(source.read(NEVER), PartitionRevokedError);
  ok(!fetch({ at: 0, seen: [0] }));
  source.close();
  await rejects(source.open(null), PartitionRevokedError);
  // The next owner of the partition in this process has the same feed: a pause now would be its pause.
  deepStrictEqual(asked, []);
});

Deno.test("kafka_partition_source: revoked while it opens, it does not open", async () => {
  const answer = Promise.withResolvers<LogBounds>();
  const { source, asked } = makeWorld({ bounds: () => answer.promise });
  const opening = rejects(source.open(null), PartitionRevokedError);
  source.revoke();
  answer.resolve({ start: 0, end: 0 });
  await opening;
  deepStrictEqual(asked, []);
});

Deno.test("kafka_partition_source: silence is counted while a fetch is due, and not while it is paused", async () => {
  const { source, fetch } = makeWorld({ marks: { ...NO_MARKS, highRecords: 1, lowRecords: 0 } });
  strictEqual(source.countSilence(), 0, "not open");
  await source.open(null);
  deepStrictEqual([source.countSilence(), source.countSilence()], [1, 2]);
  fetch({ at: 0 });
  strictEqual(source.countSilence(), 1, "a fetch came back, though it brought nothing");
  fetch({ at: 0, seen: [0] });
  ok(source.paused);
  strictEqual(source.countSilence(), 0, "paused");
  await source.read(NEVER);
  strictEqual(source.countSilence(), 1, "resumed");
});
