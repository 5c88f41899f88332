/**
 * What several outputs hold behind a checkpoint, made into one: the union of their tails, in order, and what each lacks.
 *
 * ```
 *   file   t1 t2 t3          union   t1 t2 t3
 *   topic  t1                lacks   t2 t3
 *   outbox t1 t2             lacks   t3
 * ```
 *
 * All are written the same lines in the same order, so after a crash each tail is a beginning of the longest. The union
 * does not count on that, since a tail may have been taken by retention or cut by a person: it takes the first tail, then
 * what is in a later one and not yet there. An id that stands n times in a tail was told n times (the window had forgotten
 * it), and stands n times in the union.
 *
 * @module
 */

/** A line of a tail. */
export interface TailLine {
  /** The trigger's, 32 hex digits. */
  readonly id: string;
  /** The whole line, without its `\n`. */
  readonly bytes: Uint8Array;
}

/** Tails, one beside the other. */
export interface UnitedTails {
  /** All that any of them has. */
  readonly union: readonly TailLine[];
  /** Of each tail, in the order given, what it does not have of the union. */
  readonly lacking: readonly (readonly TailLine[])[];
}

/** Makes the union, and what each lacks of it. */
export function uniteTails(tails: readonly (readonly TailLine[])[]): UnitedTails {
  const union: TailLine[] = [];
  const counts = new Map<string, number>();
  for (const tail of tails) {
    const more = beyond(counts, tail);
    for (const line of more) {
      union.push(line);
      counts.set(line.id, (counts.get(line.id) ?? 0) + 1);
    }
  }
  return { union, lacking: tails.map((tail) => beyond(countIds(tail), union)) };
}

/** The lines that occur more often than counted: of n where k are counted, all but the first k. */
function beyond(counts: ReadonlyMap<string, number>, lines: readonly TailLine[]): TailLine[] {
  const seen = new Map<string, number>();
  return lines.filter(({ id }) => {
    const nth = (seen.get(id) ?? 0) + 1;
    seen.set(id, nth);
    return nth > (counts.get(id) ?? 0);
  });
}

function countIds(lines: readonly TailLine[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id } of lines) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
