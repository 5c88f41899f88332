import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../../lib/json.ts";
import { murmur2, toPartition } from "../../lib/murmur2.ts";
import { type PlaceBy, replayPlace } from "../../lib/replay_place.ts";

const encoder = new TextEncoder();

const DEVICE = "truck-7";

function partitionOf(device: string, partitions: number): number {
  const bytes = encoder.encode(device);
  return toPartition(murmur2(bytes, 0, bytes.length), partitions);
}

/** The partition and the key; why not, where there is none. */
function place(
  record: string,
  position: Json,
  { by = null, partitions = 4 }: { by?: PlaceBy; partitions?: number } = {},
): [number, string | null] | string {
  const placed = replayPlace({ record: encoder.encode(record), position }, { partitions, by });
  if ("why" in placed) return placed.why;
  return [placed.partition, placed.key === null ? null : new TextDecoder().decode(placed.key)];
}

const from = (partition: number): Json => ({ partition, offset: 5 });

Deno.test("replayPlace: to its device's partition, where it came from, keyed by the device", () => {
  const partition = partitionOf(DEVICE, 4);
  for (const by of [null, "device", "source"] as const) {
    deepStrictEqual(place(`{"device_id":"${DEVICE}","kind":"NONE"}`, from(partition), { by }), [
      partition,
      DEVICE,
    ]);
  }
});

Deno.test("replayPlace: what should be in another partition waits for a word", () => {
  const partition = partitionOf(DEVICE, 4);
  const other = (partition + 1) % 4;
  const record = `{"device_id":"${DEVICE}"}`;
  const why = place(record, from(other));
  ok(typeof why === "string");
  match(why, new RegExp(`^It came from partition ${other}, .* partition ${partition}: --partition source`));
  deepStrictEqual(place(record, from(other), { by: "device" }), [partition, DEVICE]);
  deepStrictEqual(place(record, from(other), { by: "source" }), [other, DEVICE]);
});

Deno.test("replayPlace: without a device to where it came from, without a key", () => {
  const records = [
    "{",
    "",
    "[]",
    "null",
    '{"kind":"HEARTBEAT"}',
    '{"device_id":7}',
    '{"device_id":""}',
    '{"device_id":"\\ud800"}',
    JSON.stringify({ device_id: "é".repeat(129) }),
  ];
  for (const record of records) {
    for (const by of [null, "device", "source"] as const) {
      deepStrictEqual(place(record, from(2), { by }), [2, null], record);
    }
    match(String(place(record, from(4))), /^It came from partition 4, and the topic has 4$/);
  }
  const longest = "é".repeat(128);
  deepStrictEqual(place(JSON.stringify({ device_id: longest }), null), [partitionOf(longest, 4), longest]);
});

Deno.test("replayPlace: where it came from is not known, or there no more", () => {
  const record = `{"device_id":"${DEVICE}"}`;
  const partition = partitionOf(DEVICE, 4);
  for (const position of [null, 3, [], { offset: 5, line: 1 }, from(-1), from(0.5), from(4)]) {
    for (const by of [null, "device"] as const) {
      deepStrictEqual(place(record, position, { by }), [partition, DEVICE], JSON.stringify(position));
    }
    strictEqual(typeof place(record, position, { by: "source" }), "string");
  }
  match(String(place("{", null)), /^Neither its device nor the partition/);
});
