/**
 * Ids against those that another implementation in another language computed: `fixtures/golden_ids/make.py`.
 *
 * A failure here means that every trigger of every deployment has a new id. The fixture is never regenerated to pass.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Identity } from "../../lib/identity.ts";
import golden from "../fixtures/golden_ids/ids.json" with { type: "json" };

type GoldenId = typeof golden[number];

/** The ids of an entry and what they were hashed from, the id's strings lying somewhere in a larger buffer. */
function compute(identity: Identity, entry: GoldenId): { materials: string[]; ids: string[] } {
  const encoder = new TextEncoder();
  const device = encoder.encode(entry.device_id);
  const fence = encoder.encode(entry.fence_id);
  const seq = encoder.encode(entry.seq ?? "");
  // Fence before device and a gap between: nothing may depend on where they lie.
  const bytes = new Uint8Array(3 + fence.length + 2 + device.length + 1 + seq.length + 4).fill(0x2c);
  const fenceStart = 3;
  const deviceStart = fenceStart + fence.length + 2;
  const seqStart = deviceStart + device.length + 1;
  bytes.set(fence, fenceStart);
  bytes.set(device, deviceStart);
  bytes.set(seq, seqStart);
  const count = identity.compute(
    entry.code.charCodeAt(0),
    bytes,
    deviceStart,
    deviceStart + device.length,
    fenceStart,
    fenceStart + fence.length,
    entry.event_time_us,
    seqStart,
    seqStart + seq.length,
  );
  const which = count === 2 ? [0, 1] as const : [0] as const;
  return {
    materials: which.map((i) => toHex(identity.material(i))),
    ids: which.map((i) => identity.hex(i)),
  };
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

Deno.test("identity: the golden ids of another implementation", async () => {
  ok(golden.length >= 100, "the fixture is whole");
  for (const entry of golden) {
    const identity = (await Identity.create({ bucketUs: entry.bucket_us, guardUs: entry.guard_us }))
      .keepMaterials();
    const { materials, ids } = compute(identity, entry);
    deepEqual(materials, entry.materials, entry.name);
    deepEqual(ids, entry.ids, entry.name);
  }
});

Deno.test("identity: one instance gives the golden ids in any order, nothing is left of the one before", async () => {
  const usual = golden.filter((entry) => entry.bucket_us === 2_000_000 && entry.guard_us === 200_000);
  const identity = await Identity.create({ bucketUs: 2_000_000, guardUs: 200_000 });
  for (const entry of [...usual, ...usual.toReversed()]) {
    deepEqual(compute(identity, entry).ids, entry.ids, entry.name);
  }
});

Deno.test("identity: the golden ids cover what they should", () => {
  const codes = new Set(golden.map((entry) => entry.code));
  deepEqual([...codes].toSorted(), ["D", "E", "P", "R", "X"]);
  ok(golden.some((entry) => entry.ids.length === 2), "edges");
  ok(golden.every((entry) => entry.seq === null || entry.ids.length === 1), "no edge with a seq");
  // Different materials never share an id here; equal ones always do.
  const materials = new Map<string, string>();
  for (const entry of golden) {
    entry.ids.forEach((id, i) => {
      const material = entry.materials[i] ?? "";
      equal(materials.get(id) ?? material, material, entry.name);
      materials.set(id, material);
    });
  }
  equal(new Set(materials.values()).size, materials.size);
});
