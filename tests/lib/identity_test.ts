/**
 * Ids: the guard's boundaries, which transitions share an id, and an obvious program in strings and big integers.
 *
 * The golden ids of another implementation are in identity_golden_test.ts.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import {
  CODE_DWELL,
  CODE_ENTER,
  CODE_EXIT,
  CODE_PASSED_ON,
  CODE_RETRACT,
  edgeBehind,
  Identity,
  NO_EDGE,
  shareAnId,
} from "../../lib/identity.ts";
import { randomFrom } from "../support/random.ts";

const WIDTHS = { bucketUs: 2_000_000, guardUs: 200_000 };
const { bucketUs: W, guardUs: GUARD } = WIDTHS;
/** The beginning of bucket B. */
const B = 890_000_000;
const T = B * W;
const CODES = [CODE_ENTER, CODE_EXIT, CODE_DWELL, CODE_PASSED_ON, CODE_RETRACT] as const;

const identity = (await Identity.create(WIDTHS)).keepMaterials();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Transition {
  readonly code?: number;
  readonly device?: string;
  readonly fence?: string;
  readonly timeUs?: number;
  readonly seq?: string;
}

/** The ids of a transition. */
function ids(transition: Transition, by = identity): string[] {
  const { code = CODE_ENTER, device = "d", fence = "f", timeUs = T + W / 2, seq = "" } = transition;
  const [deviceBytes, fenceBytes, seqBytes] = [device, fence, seq].map((text) => encoder.encode(text)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const bytes = Uint8Array.of(...deviceBytes, ...fenceBytes, ...seqBytes);
  const fenceEnd = deviceBytes.length + fenceBytes.length;
  const count = by.compute(
    code,
    bytes,
    0,
    deviceBytes.length,
    deviceBytes.length,
    fenceEnd,
    timeUs,
    fenceEnd,
    bytes.length,
  );
  return ([0, 1] as const).slice(0, count).map((which) => by.hex(which));
}

/** What they are made from. */
function materials(transition: Transition, by = identity): string[] {
  return ids(transition, by).map((_, which) => decoder.decode(by.material(which as 0 | 1)));
}

Deno.test("identity: which edge an event carries", () => {
  const table: readonly (readonly [intoUs: number, edge: string | null])[] = [
    [0, "889999999~890000000"],
    [1, "889999999~890000000"],
    [GUARD - 1, "889999999~890000000"],
    [GUARD, null],
    [GUARD + 1, null],
    [W / 2, null],
    [W - GUARD - 1, null],
    [W - GUARD, "890000000~890000001"],
    [W - 1, "890000000~890000001"],
    [W, "890000000~890000001"],
    [W + GUARD - 1, "890000000~890000001"],
    [W + GUARD, null],
  ];
  for (const [intoUs, edge] of table) {
    const bucket = String(B + Math.floor(intoUs / W));
    const slots = edge === null ? [bucket] : [bucket, edge];
    deepEqual(
      materials({ timeUs: T + intoUs }),
      slots.map((slot) => `1:d,1:f,1:E,${slot.length}:${slot},`),
      `${intoUs} µs into the bucket`,
    );
  }
});

Deno.test("identity: without a guard there are no edges, and with the widest one each µs but the middle has one", () => {
  const none = identity.with({ bucketUs: W, guardUs: 0 });
  const wide = identity.with({ bucketUs: W, guardUs: W / 2 - 1 });
  for (const intoUs of [0, 1, W / 2 - 2, W / 2 - 1, W / 2, W / 2 + 1, W - 1]) {
    equal(ids({ timeUs: T + intoUs }, none).length, 1, `${intoUs}`);
    const middle = intoUs === W / 2 - 1 || intoUs === W / 2;
    equal(ids({ timeUs: T + intoUs }, wide).length, middle ? 1 : 2, `${intoUs}`);
  }
});

Deno.test("identity: a seq replaces the bucket, and has no edge", () => {
  deepEqual(materials({ timeUs: T, seq: "7" }), ["1:d,1:f,1:E,2:#7,"]);
  deepEqual(ids({ timeUs: T, seq: "7" }), ids({ timeUs: T + 100 * W, seq: "7" }));
  deepEqual(materials({ seq: "x".repeat(64) }), [`1:d,1:f,1:E,65:#${"x".repeat(64)},`]);
  // A seq that looks like a bucket is none.
  equal(ids({ seq: String(B) })[0] === ids({})[0], false);
});

Deno.test("identity: a delimiter in an id moves nothing", () => {
  const pairs = [["a|b", "c"], ["a", "b|c"], ["a,1:b", "c"], ["a", "b,1:c"], ["1:a,", "c"], ["ab", "c"], [
    "a",
    "bc",
  ]];
  const all = pairs.map(([device, fence]) => ids({ device: device as string, fence: fence as string })[0]);
  equal(new Set(all).size, pairs.length);
});

Deno.test("identity: the longest ids, codes and slots, as strings have them", () => {
  const long = "ü".repeat(128);
  for (const code of CODES) {
    for (const device of ["x", "y".repeat(9), "y".repeat(10), "z".repeat(99), "z".repeat(100), long]) {
      for (const seq of ["", "0", "s".repeat(9), "s".repeat(64)]) {
        const netstring = (text: string): string => `${encoder.encode(text).length}:${text},`;
        const slots = seq === "" ? [String(B), `${B - 1}~${B}`] : [`#${seq}`];
        deepEqual(
          materials({ code, device, fence: long, timeUs: T, seq }),
          slots.map((slot) =>
            netstring(device) + netstring(long) + netstring(String.fromCharCode(code)) + netstring(slot)
          ),
        );
      }
    }
  }
});

Deno.test("identity: narrow buckets have long numbers", () => {
  for (const bucketUs of [1, 2, 3, 1000, 7919]) {
    const narrow = identity.with({ bucketUs, guardUs: Math.floor((bucketUs - 1) / 2) }).keepMaterials();
    for (const timeUs of [946_684_800_000_000, T, T + 1, 2 ** 53 - 1]) {
      const bucket = BigInt(timeUs) / BigInt(bucketUs);
      const [material] = materials({ timeUs }, narrow);
      const slot = String(bucket);
      equal(material, `1:d,1:f,1:E,${slot.length}:${slot},`, `${timeUs} by ${bucketUs}`);
    }
  }
});

/** XXH64 as its author defines it, in big integers. */
function xxh64(bytes: Uint8Array, seed: bigint): bigint {
  const [p1, p2, p3, p4, p5] = [
    0x9E3779B185EBCA87n,
    0xC2B2AE3D27D4EB4Fn,
    0x165667B19E3779F9n,
    0x85EBCA77C2B2AE63n,
    0x27D4EB2F165667C5n,
  ] as const;
  const word = (value: bigint): bigint => BigInt.asUintN(64, value);
  const rotate = (value: bigint, by: bigint): bigint => word((value << by) | (value >> (64n - by)));
  const round = (lane: bigint, input: bigint): bigint => word(rotate(word(lane + input * p2), 31n) * p1);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = word(seed + p5);
  if (bytes.length >= 32) {
    const lanes = [word(seed + p1 + p2), word(seed + p2), seed, word(seed - p1)];
    for (; at + 32 <= bytes.length; at += 32) {
      lanes.forEach((lane, i) => lanes[i] = round(lane, view.getBigUint64(at + i * 8, true)));
    }
    hash = [1n, 7n, 12n, 18n].reduce((sum, by, i) => word(sum + rotate(lanes[i] as bigint, by)), 0n);
    for (const lane of lanes) hash = word((hash ^ round(0n, lane)) * p1 + p4);
  }
  hash = word(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash = word(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * p1 + p4);
  }
  if (at + 4 <= bytes.length) {
    hash = word(rotate(hash ^ word(BigInt(view.getUint32(at, true)) * p1), 23n) * p2 + p3);
    at += 4;
  }
  for (; at < bytes.length; at++) hash = word(rotate(hash ^ word(BigInt(view.getUint8(at)) * p5), 11n) * p1);
  hash = word((hash ^ (hash >> 33n)) * p2);
  hash = word((hash ^ (hash >> 29n)) * p3);
  return hash ^ (hash >> 32n);
}

Deno.test("identity: both lanes, as an obvious program computes them", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomFrom(seed);
    const text = (most: number): string =>
      Array.from({ length: 1 + Math.floor(random() * most) }, () => "abc:,|#~é日"[Math.floor(random() * 10)])
        .join("");
    const transition = {
      code: CODES[Math.floor(random() * 5)] as number,
      device: text(60),
      fence: text(60),
      timeUs: T + Math.floor(random() * 10 * W),
      seq: random() < 0.3 ? text(20) : "",
    };
    const lanes = (material: string): string =>
      [0n, 0x9E3779B97F4A7C15n]
        .map((laneSeed) => xxh64(encoder.encode(material), laneSeed).toString(16).padStart(16, "0")).join("");
    deepEqual(ids(transition), materials(transition).map(lanes), `seed ${seed}`);
  }
});

Deno.test("identity: the lanes are the id's words, and hex writes them anywhere", () => {
  const [id, edge] = ids({ timeUs: T });
  const words = [...identity.lanes].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  equal(words, `${id}${edge}`);
  const target = new Uint8Array(70).fill(0x2e);
  equal(identity.writeHex(target, 3, 1), 35);
  equal(decoder.decode(target), `...${edge}${".".repeat(35)}`);
});

Deno.test("identity: two transitions share an id if and only if shareAnId says so", () => {
  for (const guardUs of [0, 1, GUARD, W / 2 - 1]) {
    const widths = { bucketUs: W, guardUs };
    const by = identity.with(widths);
    const places = [
      0,
      1,
      guardUs - 1,
      guardUs,
      guardUs + 1,
      W / 2,
      W - guardUs - 1,
      W - guardUs,
      W - guardUs + 1,
      W - 1,
    ];
    const times = [-1, 0, 1, 2].flatMap((bucket) => places.map((place) => T + bucket * W + place));
    for (const aUs of times) {
      const a = ids({ timeUs: aUs }, by);
      for (const bUs of times) {
        const shared = ids({ timeUs: bUs }, by).some((id) => a.includes(id));
        equal(shareAnId(aUs, bUs, widths), shared, `guard ${guardUs}: ${aUs - T} and ${bUs - T}`);
        // SPEC 2: events W or more apart, and twice the guard or more, are never one.
        if (Math.abs(aUs - bUs) >= W && Math.abs(aUs - bUs) >= 2 * guardUs) equal(shared, false);
      }
    }
  }
});

Deno.test("identity: edgeBehind, where the guard takes nearly half", () => {
  const widths = { bucketUs: 10, guardUs: 4 };
  const edges = Array.from({ length: 10 }, (_, into) => edgeBehind(70 + into, 7, widths));
  deepEqual(edges, [6, 6, 6, 6, NO_EDGE, NO_EDGE, 7, 7, 7, 7]);
});

Deno.test("identity: materials are kept only on demand", () => {
  const plain = identity.with(WIDTHS);
  ids({ timeUs: T }, plain);
  equal(plain.material().length, 0);
  equal(plain.material(1).length, 0);
  ok(identity.checksum(Uint8Array.of(1, 2, 3)) === xxh64(Uint8Array.of(1, 2, 3), 0n));
});
