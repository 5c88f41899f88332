/**
 * The nearest of some known names: what was probably meant by `--outptu` or `dwell.latenes`.
 *
 * @module
 */

/** More slips than this share of a name and it is another name. */
const SLIPS_SHARE_MAX = 0.4;

/**
 * The known name that takes the fewest slips (a character too many, missing, wrong, or two swapped) to reach from `name`.
 *
 * @returns null where none is near enough to be worth a suggestion
 */
export function nearest(name: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let fewest = Infinity;
  for (const candidate of known) {
    const slips = countSlips(name, candidate);
    if (slips < fewest && slips <= Math.max(name.length, candidate.length) * SLIPS_SHARE_MAX) {
      best = candidate;
      fewest = slips;
    }
  }
  return best;
}

/** The optimal string alignment distance of two names, by its three-row table. */
function countSlips(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let slips = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      if (swapped) slips = Math.min(slips, at(before, column - 2) + 1);
      current.push(slips);
    }
    before = above;
    above = current;
  }
  return at(above, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] as number;
}
