import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { assignSticky, type StickyMember } from "../../lib/sticky_assignment.ts";
import { randomFrom } from "../support/random.ts";

const member = (id: string, partitions: readonly number[], generation = 1): StickyMember => ({
  id,
  generation,
  partitions,
});

const CASES: readonly {
  readonly name: string;
  readonly partitions: number;
  readonly members: readonly StickyMember[];
  readonly expected: Readonly<Record<string, readonly number[]>>;
}[] = [
  { name: "no members: nobody has anything", partitions: 3, members: [], expected: {} },
  { name: "no partitions", partitions: 0, members: [member("a", [1])], expected: { a: [] } },
  { name: "the first member has all", partitions: 3, members: [member("a", [])], expected: { a: [0, 1, 2] } },
  {
    name: "the header's example",
    partitions: 7,
    members: [member("c", []), member("a", [0, 1, 2, 3]), member("b", [4, 5, 6])],
    expected: { a: [0, 1, 2], b: [4, 5], c: [3, 6] },
  },
  {
    name: "more members than partitions: those that hold keep",
    partitions: 2,
    members: [member("a", []), member("b", [1]), member("c", [0])],
    expected: { a: [], b: [1], c: [0] },
  },
  {
    name: "of a member that left, its own alone move",
    partitions: 6,
    members: [member("a", [0, 1]), member("b", [4, 5])],
    expected: { a: [0, 1, 2], b: [3, 4, 5] },
  },
  {
    name: "the later generation's claim is the true one",
    partitions: 4,
    members: [member("a", [0, 1, 2, 3], 4), member("b", [2, 3], 5)],
    expected: { a: [0, 1], b: [2, 3] },
  },
  {
    name: "claims of one generation: the lower id's",
    partitions: 2,
    members: [member("b", [0, 1]), member("a", [0, 1])],
    expected: { a: [0], b: [1] },
  },
  {
    name: "claims to what is not there, and twice the same, count for nothing",
    partitions: 2,
    members: [member("a", [7, 1, 1, -1]), member("b", [0.5])],
    expected: { a: [1], b: [0] },
  },
];

for (const { name, partitions, members, expected } of CASES) {
  Deno.test(`sticky_assignment: ${name}`, () => {
    deepStrictEqual(Object.fromEntries(assignSticky(numbers(partitions), members)), expected);
  });
}

Deno.test("sticky_assignment: complete, balanced, moves as little as any balanced assignment (200 seeds)", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = randomFrom(seed);
    const partitions = numbers(Math.floor(random() * 8));
    const holders = Math.floor(random() * 4) + 1;
    const ids = ["a", "b", "c", "d"].slice(0, holders);
    const held = new Map<string, number[]>(ids.map((id) => [id, []]));
    // Each partition is held by one of them, or by one that is gone.
    for (const partition of partitions) {
      held.get(ids[Math.floor(random() * (holders + 1))] ?? "")?.push(partition);
    }
    const members = ids.map((id) => member(id, held.get(id) ?? []));
    const assigned = assignSticky(partitions, members);
    const about = `seed ${seed}: ${JSON.stringify(members)} → ${JSON.stringify([...assigned])}`;
    deepStrictEqual([...assigned.values()].flat().sort((a, b) => a - b), partitions, about);
    const sizes = ids.map((id) => assigned.get(id)?.length ?? 0);
    ok(Math.max(...sizes) - Math.min(...sizes) <= 1, about);
    const kept = ids.reduce(
      (sum, id) => sum + (assigned.get(id) ?? []).filter((p) => held.get(id)?.includes(p)).length,
      0,
    );
    strictEqual(kept, keptAtMost(partitions, ids.map((id) => held.get(id) ?? [])), about);
    const again = assignSticky([...partitions].reverse(), [...members].reverse());
    for (const id of ids) deepStrictEqual(again.get(id), assigned.get(id), `${about}, in another order`);
  }
});

Deno.test("sticky_assignment: what was assigned stays so while the members stay (100 seeds)", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = randomFrom(seed);
    const partitions = numbers(Math.floor(random() * 60));
    const ids = numbers(Math.floor(random() * 7) + 1).map((number) => `member-${number}`);
    const first = assignSticky(partitions, ids.map((id) => member(id, [])));
    const second = assignSticky(partitions, ids.map((id) => member(id, first.get(id) ?? [])));
    for (const id of ids) deepStrictEqual(second.get(id), first.get(id), `seed ${seed}, ${id}`);
  }
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

/** The model: of all balanced divisions, one after the other, the most that any leaves where it was. */
function keptAtMost(partitions: readonly number[], held: readonly (readonly number[])[]): number {
  const small = Math.floor(partitions.length / held.length);
  const extra = partitions.length % held.length;
  const sizes = held.map(() => 0);
  const search = (index: number): number => {
    const partition = partitions[index];
    if (partition === undefined) {
      const large = sizes.filter((size) => size === small + 1).length;
      return sizes.every((size) => size >= small && size <= small + 1) && large === extra ? 0 : -Infinity;
    }
    let best = -Infinity;
    held.forEach((own, owner) => {
      const size = sizes[owner] ?? 0;
      if (size > small || (size === small && extra === 0)) return;
      sizes[owner] = size + 1;
      best = Math.max(best, search(index + 1) + (own.includes(partition) ? 1 : 0));
      sizes[owner] = size;
    });
    return best;
  };
  return search(0);
}
