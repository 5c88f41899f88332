/**
 * Makes a failing stream small: lines are left out, first halves and in the end single ones, as long as it still fails.
 *
 * This is delta debugging without its refinements: a stream has some hundred lines and runs in milliseconds.
 *
 * @module
 */

/**
 * The fewest lines, in their order, that still fail, as far as leaving out runs of them finds.
 *
 * @param lines fail
 * @param fails tells whether fewer lines do
 */
export async function shrink<T>(
  lines: readonly T[],
  fails: (fewer: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = lines;
  for (let size = Math.ceil(lines.length / 2); size >= 1;) {
    let found = false;
    for (let at = 0; at < kept.length;) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
      if (await fails(fewer)) {
        kept = fewer;
        found = true;
      } else {
        at += size;
      }
    }
    // One line left out can make another one needless.
    if (size > 1) size >>= 1;
    else if (!found) break;
  }
  return kept;
}
