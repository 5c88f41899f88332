import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { linesByPartition, type PartitionLines } from "../../lib/lines_by_partition.ts";
import { murmur2, toPartition } from "../../lib/murmur2.ts";

const encoder = new TextEncoder();

function lineOf(device: string, number: number): string {
  return JSON.stringify({
    id: number.toString(16).padStart(32, "0"),
    kind: "ENTER",
    device_id: device,
    fence_id: "depot-3",
    event_time: "2026-11-30T20:40:00.123000Z",
  });
}

/** Lines in a buffer that is longer than they are. */
function batchOf(lines: readonly string[]): PartitionLines {
  const text = encoder.encode(lines.map((line) => `${line}\n`).join(""));
  const bytes = new Uint8Array(text.length + 5).fill(0x0a);
  bytes.set(text);
  return { bytes, byteLength: text.length, count: lines.length };
}

function textsOf({ bytes, byteLength, count }: PartitionLines): string[] {
  const lines = new TextDecoder().decode(bytes.subarray(0, byteLength)).split("\n");
  strictEqual(lines.pop(), "", "each line has its end");
  strictEqual(lines.length, count);
  return lines;
}

Deno.test("linesByPartition: a device's lines are in the partition of its plain bytes, in their order", () => {
  const devices = ["truck-7", 'ü"\\', "a", "日本", "truck-8", "\u0001"];
  const lines = Array.from({ length: 60 }, (_, i) => [devices[i % devices.length] as string, i] as const);
  for (const partitions of [1, 2, 3, 7, 100]) {
    const expected = new Map<number, string[]>();
    for (const [device, number] of lines) {
      const bytes = encoder.encode(device);
      const partition = toPartition(murmur2(bytes, 0, bytes.length), partitions);
      expected.set(partition, [...expected.get(partition) ?? [], lineOf(device, number)]);
    }
    const found = linesByPartition(
      batchOf(lines.map(([device, number]) => lineOf(device, number))),
      partitions,
    );
    deepStrictEqual(new Map([...found].map(([partition, some]) => [partition, textsOf(some)])), expected);
  }
  ok(linesByPartition(batchOf(lines.map(([device, i]) => lineOf(device, i))), 7).size > 1);
});

Deno.test("linesByPartition: of no lines there are none", () => {
  for (const partitions of [1, 4]) strictEqual(linesByPartition(batchOf([]), partitions).size, 0);
});
