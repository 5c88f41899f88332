/**
 * Files that the measurements read.
 *
 * @module
 */

/** Writes blocks of a generated workload to a file; where each of them ends, bytes. */
export async function writeBlocks(path: string, blocks: Iterable<Uint8Array>): Promise<number[]> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  const ends: number[] = [];
  let end = 0;
  for (const block of blocks) {
    for (let at = 0; at < block.length;) at += await file.write(block.subarray(at));
    ends.push(end += block.length);
  }
  return ends;
}
