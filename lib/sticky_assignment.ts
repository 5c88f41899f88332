/**
 * Who of a consumer group reads which partitions, so that a change of members moves as few as it can.
 *
 * A partition that moves takes its pairs, window and pending dwells along: its new owner restores them from the
 * checkpoint, and until then nothing of it is read. Kafka's usual assigners (range, round robin) count from the beginning
 * each time, and a member that joins moves nearly everything.
 *
 * ```
 *   7 partitions, 3 members: quotas 3 2 2; whoever holds most has the quota of 3
 *
 *   a holds 0 1 2 3   keeps 0 1 2   ─▶ 0 1 2
 *   b holds 4 5 6     keeps 4 5     ─▶ 4 5
 *   c is new          keeps nothing ─▶ 3 6        two moved, and fewer is not balanced
 * ```
 *
 * **Least movement.** Balanced means that no member has two more than another: `extra` members have one more than the
 * rest. A member keeps at most its quota, so the sum of what is kept is the greatest where the larger quotas go to those
 * that hold more than the smaller one: there it saves one partition each, and elsewhere nothing.
 *
 * **Two claims to one partition** come of a member that was stopped while the group went on without it: the claim of the
 * later generation is the true one.
 *
 * Costs members × log members + partitions. Runs in one member at each rebalance.
 *
 * @module
 */

/** A member of the group, and what it says that it has read last. */
export interface StickyMember {
  /** What the group knows it by. */
  readonly id: string;
  /** The generation of the group in which it had these partitions; −1 where it does not know. */
  readonly generation: number;
  /** What it read, by number. */
  readonly partitions: readonly number[];
}

/**
 * Divides the partitions of a topic among the members.
 *
 * @param partitions all of the topic, each once
 * @param members those that read the topic, with ids of their own; whatever else they claim is ignored
 * @returns each member's partitions, ascending; a member without any is there too. Depends on nothing but the values: not
 *   on the order of the members
 */
export function assignSticky(
  partitions: readonly number[],
  members: readonly StickyMember[],
): ReadonlyMap<string, readonly number[]> {
  const held = settleClaims(partitions, members);
  // Ids are compared by code units: every member must come to the same order, whatever its locale.
  const byHolding = [...held].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
  const small = Math.floor(partitions.length / byHolding.length);
  const extra = partitions.length % byHolding.length;
  const assigned = new Map<string, number[]>();
  const kept = new Set<number>();
  byHolding.forEach(([id, holding], rank) => {
    const mine = holding.slice(0, quotaOf(rank, small, extra));
    for (const partition of mine) kept.add(partition);
    assigned.set(id, mine);
  });
  const free = partitions.filter((partition) => !kept.has(partition)).sort(ascending);
  let next = 0;
  byHolding.forEach(([id], rank) => {
    const mine = assigned.get(id) ?? [];
    const room = quotaOf(rank, small, extra) - mine.length;
    mine.push(...free.slice(next, next + room));
    next += room;
    mine.sort(ascending);
  });
  return assigned;
}

function quotaOf(rank: number, small: number, extra: number): number {
  return rank < extra ? small + 1 : small;
}

/** What each member really holds: one owner a partition. */
function settleClaims(
  partitions: readonly number[],
  members: readonly StickyMember[],
): ReadonlyMap<string, number[]> {
  const owners = new Map<number, StickyMember>();
  const known = new Set(partitions);
  for (const member of members) {
    for (const partition of member.partitions) {
      if (!known.has(partition)) continue;
      const other = owners.get(partition);
      if (other === undefined || isTruer(member, other)) owners.set(partition, member);
    }
  }
  const held = new Map<string, number[]>(members.map(({ id }) => [id, []]));
  for (const partition of [...owners.keys()].sort(ascending)) {
    const owner = owners.get(partition);
    if (owner !== undefined) held.get(owner.id)?.push(partition);
  }
  return held;
}

function isTruer(member: StickyMember, other: StickyMember): boolean {
  if (member.generation !== other.generation) return member.generation > other.generation;
  return member.id < other.id;
}

function ascending(a: number, b: number): number {
  return a - b;
}
