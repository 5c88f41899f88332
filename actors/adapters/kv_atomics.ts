/**
 * How many writes of Deno KV go into one atomic: its limits are on bytes, on bytes of keys, and on their number.
 *
 * @module
 */

/** Bytes of keys and values of an atomic at most: Deno KV takes 819,200. */
export const ATOMIC_BYTES_MAX = 800_000;
/** Bytes of keys of an atomic at most: Deno KV takes 81,920. */
const ATOMIC_KEY_BYTES_MAX = 80_000;
/** Mutations of an atomic at most. */
const ATOMIC_MUTATIONS_MAX = 1_000;
/** What a key costs beyond its text: the parts' types and ends, and a number. */
const KEY_BYTES_EXTRA = 48;

/** One write of an atomic. */
export type KvMutation =
  | { readonly type: "set"; readonly key: Deno.KvKey; readonly value: Uint8Array; readonly keyBytes: number }
  | { readonly type: "delete"; readonly key: Deno.KvKey; readonly keyBytes: number };

/** Some mutations that go into one atomic. */
export interface KvAtomic {
  readonly start: number;
  readonly end: number;
  /** Of keys and values, about. */
  readonly byteLength: number;
}

/** As many mutations to an atomic as it takes, in their order. */
export function cutIntoAtomics(mutations: readonly KvMutation[]): KvAtomic[] {
  const slices: KvAtomic[] = [];
  for (let start = 0; start < mutations.length;) {
    let byteLength = 0;
    let keyBytes = 0;
    let end = start;
    for (; end < mutations.length && end - start < ATOMIC_MUTATIONS_MAX; end++) {
      const mutation = mutations[end] as KvMutation;
      keyBytes += mutation.keyBytes;
      const bytes = mutation.keyBytes + (mutation.type === "set" ? mutation.value.length : 0);
      if (end > start && (byteLength + bytes > ATOMIC_BYTES_MAX || keyBytes > ATOMIC_KEY_BYTES_MAX)) break;
      byteLength += bytes;
    }
    slices.push({ start, end, byteLength });
    start = end;
  }
  return slices;
}

/** A mutation with what its key costs. */
export function kvMutation<Of extends { readonly key: Deno.KvKey }>(
  of: Of,
): Of & { readonly keyBytes: number } {
  let keyBytes = KEY_BYTES_EXTRA;
  // UTF-8 takes up to three bytes a UTF-16 unit.
  for (const part of of.key) if (typeof part === "string") keyBytes += part.length * 3;
  return { ...of, keyBytes };
}
