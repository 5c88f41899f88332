import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { ReplayDeadLettersArguments } from "../../../actors/commands/dead_letters_arguments.ts";
import { UsageError } from "../../../actors/commands/flags.ts";
import { replayDeadLetters } from "../../../actors/commands/replay_dead_letters.ts";
import { WebhookReplay } from "../../../actors/adapters/webhook/webhook_replay.ts";
import { SimulatedClock } from "../../sim/simulated_ports.ts";
import type { ReplayTarget } from "../../../actors/replay_target.ts";
import { parseConfig } from "../../../lib/config.ts";
import type { StoredDeadLetter } from "../../../lib/dead_letter_line.ts";
import {
  KAFKA_CONFIG,
  type LetterFiles,
  letterLine,
  type LetterTopic,
  LetterWorld,
  MENDED,
  WALL_US,
} from "../../support/dead_letter_files.ts";

const encoder = new TextEncoder();

/** Keeps what it is sent, and each call. */
class KeepingTarget implements ReplayTarget {
  readonly name: string = "the target";
  readonly calls: string[] = [];
  /** Which call fails. */
  failsAt: string | null = null;
  /** When every record was first seen. */
  seenUs = NaN;
  /** Of which letters it was asked when. */
  readonly asked: StoredDeadLetter[] = [];

  refusal({ record }: StoredDeadLetter): string | null {
    return record.includes(0x0a) ? "It has a line end in it" : null;
  }
  firstSeenUs(letter: StoredDeadLetter): Promise<number> {
    this.asked.push(letter);
    return Promise.resolve(this.seenUs);
  }
  open(): Promise<void> {
    return this.#call("open");
  }
  send({ record }: StoredDeadLetter, firstSeenUs: number): Promise<void> {
    strictEqual(firstSeenUs, this.seenUs);
    return this.#call(new TextDecoder().decode(record));
  }
  flush(): Promise<void> {
    return this.#call("flush");
  }
  close(): void {
    this.calls.push("close");
  }

  #call(name: string): Promise<void> {
    this.calls.push(name);
    return name === this.failsAt ? Promise.reject(new Error("the target is away")) : Promise.resolve();
  }
}

const BROKEN = letterLine({ reason: "MALFORMED_JSON", record: encoder.encode("{") });
const OLD = letterLine({}, 301);
const TORN = '{"reason":"MALF';
const TWO_LINES = letterLine({ record: encoder.encode(MENDED.replace("{", "{\n")) });
const OVERSIZE = letterLine({
  reason: "TOO_LARGE",
  record: encoder.encode("{"),
  oversize: { byteLength: 70_000, hash: "" },
});

async function replay(
  files: LetterFiles,
  { target = new KeepingTarget(), topicTarget = new KeepingTarget(), topic = null, config = {}, ...asked }:
    & Partial<ReplayDeadLettersArguments>
    & { target?: KeepingTarget; topicTarget?: KeepingTarget; topic?: LetterTopic | null; config?: unknown } =
      {},
) {
  const world = new LetterWorld(files, topic);
  const placedBy: unknown[] = [];
  const whole = {
    paths: Object.keys(files),
    reasons: null,
    since: null,
    output: null,
    placeBy: null,
    dryRun: false,
    force: false,
    olderThanTtl: false,
    limit: 1000,
    ...asked,
  };
  try {
    const status = await replayDeadLetters(whole, parseConfig(config), {
      open: world.open,
      openTopic: world.openTopic,
      say: world.say,
      wallUs: world.wallUs,
      target: () => target,
      topicTarget: (placeBy) => {
        placedBy.push(placeBy);
        return Promise.resolve(topicTarget);
      },
      webhooks: new WebhookReplay(parseConfig(config), new SimulatedClock(WALL_US)),
      isSameFile: (one, other) => Promise.resolve(one === other),
    });
    return { status, calls: target.calls, topicCalls: topicTarget.calls, placedBy, said: world.said };
  } finally {
    deepStrictEqual(world.isOpen, []);
  }
}

Deno.test("dead-letters replay: in order, and durable before it is said", async () => {
  const second = MENDED.replace('"a"', '"b"');
  const files = { "a": [letterLine({})], "b": [letterLine({ record: encoder.encode(second) })] };
  const { status, calls, said } = await replay(files);
  strictEqual(status, 0);
  deepStrictEqual(calls, ["open", MENDED, second, "flush", "close"]);
  strictEqual(said, "fencepost: 2 records sent to the target\n");
});

const MIXED: LetterFiles = { "a": [BROKEN, OLD, letterLine({})], "b": [TORN, TWO_LINES, OVERSIZE, null] };

Deno.test("dead-letters replay: what is not sent has a line that says why, and a count", async () => {
  const { status, calls, said } = await replay(MIXED);
  strictEqual(status, 1);
  deepStrictEqual(calls, ["open", MENDED, "flush", "close"]);
  const lines = said.trimEnd().split("\n");
  const begin = [
    "fencepost: a:1 MALFORMED_JSON is not sent: It would come back as MALFORMED_JSON: The record must be JSON",
    "fencepost: a:2 INVALID_KIND is not sent: It is a dead letter since 2026-05-04T07:55:09.250000Z, longer than identity.ttl (5m)",
    "fencepost: b:1 is no dead letter: it is no JSON object",
    "fencepost: b:2 INVALID_KIND is not sent: It has a line end in it",
    "fencepost: b:3 TOO_LARGE is not sent: It was too large, and only the first 1 of its 70000 bytes were kept",
    "fencepost: b:4 is no dead letter: it is too long for one",
    "fencepost: 1 record sent to the target",
    "fencepost: 1 not: too large",
    "fencepost: 1 not: would only come back",
    "fencepost: 1 not: older than identity.ttl",
    "fencepost: 1 not: can't go to the output",
    "fencepost: lines that are no dead letters: 2",
  ];
  strictEqual(lines.length, begin.length);
  for (const [i, text] of begin.entries()) ok(lines[i]?.startsWith(text), lines[i]);
});

Deno.test("dead-letters replay: a dry run says the same, and writes nothing", async () => {
  const { said: expected } = await replay(MIXED);
  const { status, calls, said } = await replay(MIXED, { dryRun: true });
  strictEqual(status, 1);
  deepStrictEqual(calls, ["close"]);
  strictEqual(said, expected.replace("record sent", "record would be sent"));
});

Deno.test("dead-letters replay: each refusal has its own way around it, and two have none", async () => {
  const cases: [Partial<ReplayDeadLettersArguments>, string[]][] = [
    [{ force: true }, ["{", MENDED]],
    [{ olderThanTtl: true }, [MENDED, MENDED]],
    [{ force: true, olderThanTtl: true }, ["{", MENDED, MENDED]],
  ];
  for (const [asked, sent] of cases) {
    const { status, calls } = await replay(MIXED, asked);
    strictEqual(status, 1);
    deepStrictEqual(calls, ["open", ...sent, "flush", "close"]);
  }
});

Deno.test("dead-letters replay: judged by the configuration in force", async () => {
  const late = { "a": [letterLine({ reason: "LATE" }, 400)] };
  const cases: [unknown, number][] = [
    [{ identity: { ttl: "1h" } }, 0],
    [{ identity: { ttl: "1h" }, emit: "ordered" }, 1],
    [{}, 1],
  ];
  for (const [config, status] of cases) strictEqual((await replay(late, { config })).status, status);
});

Deno.test("dead-letters replay: what was not asked for is no reason for status 1", async () => {
  const files = { "a": [BROKEN, OLD, letterLine({ reason: "INVALID_ID" })] };
  const { status, calls } = await replay(files, { reasons: ["INVALID_ID"] });
  strictEqual(status, 0);
  deepStrictEqual(calls, ["open", MENDED, "flush", "close"]);
  strictEqual((await replay(files, { since: { agoUs: 0 } })).status, 0);
});

Deno.test("dead-letters replay: refusals beyond the limit are counted", async () => {
  const files = { "a": [BROKEN, BROKEN, BROKEN] };
  const { said } = await replay(files, { limit: 1 });
  strictEqual(said.match(/is not sent/g)?.length, 1);
  ok(said.includes("fencepost: 2 refusals are not shown; see --limit\n"));
  ok(said.includes("fencepost: 3 not: would only come back"));
  ok(!(await replay(files, { limit: 3 })).said.includes("are not shown"));
});

Deno.test("dead-letters replay: nothing is sent where a later file is missing or is the output", async () => {
  for (const asked of [{ paths: ["a", "none"] }, { paths: ["a", "b"], output: "b" }]) {
    const target = new KeepingTarget();
    await rejects(
      replay({ "a": [letterLine({})], "b": [] }, { ...asked, target }),
      (error) => error instanceof UsageError,
    );
    deepStrictEqual(target.calls.filter((call) => call !== "close"), []);
  }
});

Deno.test("dead-letters replay: a target that fails is closed, and all files", async () => {
  const cases: [string, string[]][] = [
    ["open", ["open", "close"]],
    [MENDED, ["open", MENDED, "close"]],
    ["flush", ["open", MENDED, MENDED, "flush", "close"]],
  ];
  for (const [failsAt, calls] of cases) {
    const target = new KeepingTarget();
    target.failsAt = failsAt;
    await rejects(replay({ "a": [letterLine({})], "b": [letterLine({})] }, { target }), {
      message: "the target is away",
    });
    deepStrictEqual(target.calls, calls);
  }
});

Deno.test("dead-letters replay: from the topic to the source's, unless an output is given", async () => {
  const topic = [[letterLine({})], [letterLine({ record: encoder.encode(MENDED.replace('"a"', '"b"')) })]];
  const asked = { config: KAFKA_CONFIG, topic };
  const sent = ["open", MENDED, MENDED.replace('"a"', '"b"'), "flush", "close"];
  for (const placeBy of [null, "device", "source"] as const) {
    const { status, calls, topicCalls, placedBy } = await replay({}, { ...asked, placeBy });
    deepStrictEqual([status, calls, topicCalls, placedBy], [0, [], sent, [placeBy]]);
  }
  for (const output of ["-", "b"]) {
    const { status, calls, topicCalls } = await replay({}, { ...asked, output });
    deepStrictEqual([status, calls, topicCalls], [0, sent, []]);
  }
  const fromFile = await replay({ "a": [letterLine({})] }, asked);
  deepStrictEqual([fromFile.calls, fromFile.topicCalls], [[], ["open", MENDED, "flush", "close"]]);
});

Deno.test("dead-letters replay: --partition where the records go to no topic", async () => {
  for (const asked of [{}, { config: KAFKA_CONFIG, output: "-" }]) {
    await rejects(
      replay({ "a": [letterLine({})] }, { ...asked, placeBy: "device" }),
      (error) => error instanceof UsageError && error.message.includes("--partition"),
    );
  }
});

Deno.test("dead-letters replay: judged by when it was first seen, asked of what would be sent alone", async () => {
  const record = encoder.encode(
    '{"device_id":"a","fence_id":"f","kind":"ENTER","event_time":"2026-05-04T08:00:00Z"}',
  );
  const eventUs = WALL_US - 10_250_000;
  const skewUs = 300e6;
  const files = { "a": [BROKEN, OLD, TWO_LINES, OVERSIZE, letterLine({ reason: "TIME_IN_FUTURE", record })] };
  for (const [seenUs, isSent] of [[eventUs - skewUs, true], [eventUs - skewUs - 1, false]] as const) {
    const target = new KeepingTarget();
    target.seenUs = seenUs;
    const { calls, said } = await replay(files, { target });
    deepStrictEqual(target.asked.map(({ reason }) => reason), ["TIME_IN_FUTURE"]);
    strictEqual(calls.length, isSent ? 4 : 3);
    strictEqual(
      said.includes("a:5 TIME_IN_FUTURE is not sent: It would come back as TIME_IN_FUTURE"),
      !isSent,
    );
  }
});
