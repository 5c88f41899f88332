/**
 * Runs of bytes.
 *
 * @module
 */

/** Whether two runs are of the same bytes. */
export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}
