/**
 * The canonical workload: the same bytes for ever, and what its summary says is what is in it.
 *
 * @module
 */
import { deepEqual, equal, notDeepEqual, ok, throws } from "node:assert/strict";
import { generateLoad } from "../../bench/load.ts";
import { type LoadOptions, type LoadSummary, parseLoadArguments } from "../../bench/load_options.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import { parseConfig } from "../../lib/config.ts";
import { CODE_ENTER, CODE_EXIT, Identity } from "../../lib/identity.ts";
import { judgeTimes } from "../../lib/plausibility.ts";
import { TransitionDecoder } from "../../lib/transition.ts";

const WILD: LoadOptions = {
  seed: 3,
  records: 20_000,
  duplicateRatio: 0.1,
  lateRatio: 0.1,
  poisonRatio: 0.02,
  staleRatio: 0.1,
  heartbeatRatio: 0.02,
  seqRatio: 0.3,
  attributesRatio: 0.1,
};

interface Record {
  readonly device_id: string;
  readonly fence_id: string;
  readonly kind: "ENTER" | "EXIT" | "STALE" | "HEARTBEAT";
  readonly event_time: string;
  readonly ingest_time: string;
  readonly seq?: number;
  readonly attributes?: unknown;
}

interface Generated {
  readonly blocks: readonly Uint8Array[];
  readonly lines: readonly Uint8Array[];
  readonly summary: LoadSummary;
}

function generate(options: LoadOptions): Generated {
  const load = generateLoad(options);
  const blocks: Uint8Array[] = [];
  let next = load.next();
  for (; !next.done; next = load.next()) blocks.push(next.value);
  const lines = blocks.flatMap((block) => {
    equal(block[block.length - 1], 0x0a, "a block ends with a line");
    const found: Uint8Array[] = [];
    for (let at = 0; at < block.length;) {
      const end = block.indexOf(0x0a, at);
      found.push(block.subarray(at, end));
      at = end + 1;
    }
    return found;
  });
  return { blocks, lines, summary: next.value };
}

/** The lines that are no poison. */
function records({ lines }: Generated): Record[] {
  const decoder = new TransitionDecoder();
  return lines.filter((line) => refusalOf(decoder, line) === null)
    .map((line) => JSON.parse(new TextDecoder().decode(line)));
}

function refusalOf(decoder: TransitionDecoder, line: Uint8Array): string | null {
  const outcome = decoder.decode(line, 0, line.length);
  if (outcome !== "transition") return outcome;
  const { eventTimeUs, ingestTimeUs } = decoder;
  const times = { eventTimeUs, ingestTimeUs, dedupClockUs: ingestTimeUs, wallUs: ingestTimeUs };
  return judgeTimes(times, parseConfig({}).time)?.reason ?? null;
}

function toUs(timestamp: string): number {
  return Date.parse(timestamp) * 1000 + Number(timestamp.slice(23, 26));
}

Deno.test("load: the same options give the same bytes, another seed others", () => {
  const first = generate({ seed: 1, records: 5000 });
  const again = generate({ seed: 1, records: 5000 });
  deepEqual(again.blocks, first.blocks);
  notDeepEqual(generate({ seed: 2, records: 5000 }).blocks, first.blocks);
  // Numbers measured before and after a change of this line can't be compared.
  equal(
    new TextDecoder().decode(first.lines[0]),
    '{"device_id":"truck-000000","fence_id":"customer-000239","kind":"ENTER",' +
      '"event_time":"2025-05-05T04:00:03.435190Z","ingest_time":"2025-05-05T04:00:03.784437Z",' +
      '"lat":52.8748,"lon":13.1251,"seq":14}',
  );
});

Deno.test("load: exactly as many lines as asked for, in blocks that are never written again", () => {
  for (const count of [0, 1, 2, 4000]) {
    const { lines, blocks, summary } = generate({ seed: 9, records: count });
    equal(lines.length, count);
    equal(summary.lines, count);
    equal(summary.bytes, blocks.reduce((sum, block) => sum + block.length, 0));
  }
  ok(generate({ seed: 9, records: 4000 }).blocks.length > 1);
  throws(() => generate({ seed: 9, records: 1.5 }), AssertionFailed);
  throws(() => generate({ seed: 9, records: -1 }), AssertionFailed);
});

Deno.test("load: by default a line has some 180 bytes, and three in a hundred crossings are copies", () => {
  const { summary } = generate({ seed: 4, records: 20_000 });
  const mean = summary.bytes / summary.lines;
  ok(mean > 170 && mean < 200, `${mean} bytes`);
  ok(summary.copies > 400 && summary.copies < 750, `${summary.copies} copies`);
  deepEqual([summary.late, summary.stales, summary.heartbeats, summary.poison], [0, 0, 0, {}]);
});

Deno.test("load: the summary counts what the lines say", () => {
  const generated = generate(WILD);
  const { summary } = generated;
  const refused: { [reason: string]: number } = {};
  const decoder = new TransitionDecoder();
  for (const line of generated.lines) {
    const reason = refusalOf(decoder, line);
    if (reason !== null) refused[reason] = (refused[reason] ?? 0) + 1;
  }
  deepEqual(refused, { ...summary.poison });
  equal(Object.keys(refused).length, 11, "a line for every reason that a line alone can have");

  const heartbeats = records(generated).filter((record) => record.kind === "HEARTBEAT").length;
  equal(heartbeats, summary.heartbeats);
  const poison = Object.values(refused).reduce((sum, count) => sum + count, 0);
  const { enters, exits, stales, copies } = summary;
  equal(enters + exits + stales + copies + heartbeats + poison, summary.lines);
  ok(stales > 0 && summary.late > 500 && copies > 500, "all of it occurs");
  ok(records(generated).some((record) => record.seq !== undefined));
  ok(records(generated).some((record) => record.attributes !== undefined));
});

Deno.test("load: crossings that are no copies have ids of their own, and copies none", async () => {
  const generated = generate(WILD);
  const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
  const encoder = new TextEncoder();
  const known = new Set<string>();
  let enters = 0;
  let exits = 0;
  for (const { device_id, fence_id, kind, event_time, seq } of records(generated)) {
    if (kind !== "ENTER" && kind !== "EXIT") continue;
    const bytes = encoder.encode(device_id + fence_id + (seq ?? ""));
    const fence = device_id.length;
    const end = fence + fence_id.length;
    const code = kind === "ENTER" ? CODE_ENTER : CODE_EXIT;
    const count = identity.compute(code, bytes, 0, fence, fence, end, toUs(event_time), end, bytes.length);
    const ids = count === 2 ? [identity.hex(0), identity.hex(1)] : [identity.hex(0)];
    if (ids.some((id) => known.has(id))) continue;
    for (const id of ids) known.add(id);
    if (kind === "ENTER") enters++;
    else exits++;
  }
  equal(enters, generated.summary.enters);
  equal(exits, generated.summary.exits);
});

Deno.test("load: ingest follows the event by 50 to 900 ms, and only uploads are late", () => {
  const generated = generate({ seed: 6, records: 20_000, duplicateRatio: 0, lateRatio: 0.1 });
  let late = 0;
  let newestFirst = 0;
  let highestUs = -Infinity;
  const lastOf = new Map<string, { eventUs: number; late: boolean }>();
  for (const { device_id, event_time, ingest_time } of records(generated)) {
    const eventUs = toUs(event_time);
    const delayUs = toUs(ingest_time) - eventUs;
    highestUs = Math.max(highestUs, eventUs);
    ok(delayUs >= 50_000, `${event_time} came in after ${delayUs} µs`);
    const isLate = delayUs > 1_000_000;
    if (isLate) late++;
    else ok(highestUs - eventUs < 1_000_000, "what is not late is not far out of order");
    const last = lastOf.get(device_id);
    if (last?.late && isLate && eventUs < last.eventUs) newestFirst++;
    lastOf.set(device_id, { eventUs, late: isLate });
  }
  equal(late, generated.summary.late);
  ok(newestFirst > 0, "some uploads are newest first");
});

Deno.test("load: each pair is entered and left in turn, and stays and drives last three seconds at least", () => {
  // So much in so short a time that the shortest stays are reached.
  const generated = generate({ seed: 5, records: 5000, pairs: 600, spanUs: 60_000_000, duplicateRatio: 0 });
  const pairs = new Map<string, { timeUs: number; kind: string }[]>();
  for (const { device_id, fence_id, kind, event_time } of records(generated)) {
    const pair = `${device_id} ${fence_id}`;
    pairs.set(pair, [...pairs.get(pair) ?? [], { timeUs: toUs(event_time), kind }]);
  }
  equal(pairs.size, 600);
  for (const [pair, crossings] of pairs) {
    crossings.sort((a, b) => a.timeUs - b.timeUs);
    crossings.forEach((crossing, i) => {
      const before = crossings[i - 1];
      if (before === undefined) return;
      ok(before.kind !== crossing.kind, `${pair} alternates`);
      ok(crossing.timeUs - before.timeUs >= 3_000_000, `${pair} after ${crossing.timeUs - before.timeUs} µs`);
    });
  }
});

Deno.test("load: span and pairs are about what was asked for", () => {
  for (const spanUs of [1800e6, 14400e6]) {
    const generated = generate({ seed: 8, records: 20_000, spanUs });
    const all = records(generated);
    const tookUs = toUs(all[all.length - 1]?.event_time ?? "") - toUs(all[0]?.event_time ?? "");
    ok(Math.abs(tookUs / spanUs - 1) < 0.1, `${tookUs} of ${spanUs} µs`);
  }
  equal(generate({ seed: 8, records: 20_000, pairs: 1200 }).summary.trucks, 100);
});

Deno.test("load: the command line", () => {
  deepEqual(parseLoadArguments([]), { records: 1_000_000, seed: 1 });
  deepEqual(parseLoadArguments(["--records", "5", "--seed", "7", "--span", "2h", "--late", "0.1"]), {
    records: 5,
    seed: 7,
    spanUs: 7_200_000_000,
    lateRatio: 0.1,
  });
  for (
    const wrong of [["--recs", "5"], ["--records"], ["--records", "many"], ["--span", "4"], ["--late", "-1"]]
  ) {
    throws(() => parseLoadArguments(wrong), RangeError, wrong.join(" "));
  }
});
