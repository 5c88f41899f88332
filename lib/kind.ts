/**
 * The kinds of SPEC 1, as small integers, since they live in typed arrays.
 *
 * @module
 */

/** The device came into the fence. */
export const KIND_ENTER = 0;
/** It left. */
export const KIND_EXIT = 1;
/** An upstream says that it stayed: passed on. */
export const KIND_DWELL = 2;
/** The pair is no longer heard from. */
export const KIND_STALE = 3;
/** Only time moves on. */
export const KIND_HEARTBEAT = 4;

/** One of the `KIND_…` constants. */
export type Kind = 0 | 1 | 2 | 3 | 4;

/** The kinds' names, by their number. */
export const KIND_NAMES = ["ENTER", "EXIT", "DWELL", "STALE", "HEARTBEAT"] as const;

const NAME_BYTES = KIND_NAMES.map((name) => new TextEncoder().encode(name.toLowerCase()));
const LOWER_CASE = 0x20;

/**
 * Reads a kind's name in any ASCII case, or its letter `E`, `X` or `D`.
 *
 * Setting bit 5 makes a letter of an ASCII letter and of nothing else. `toUpperCase` would take `ſtale` for `STALE`.
 *
 * @returns null where it is none
 */
export function parseKind(bytes: Uint8Array, start: number, end: number): Kind | null {
  const first = (bytes[start] as number) | LOWER_CASE;
  switch (end - start) {
    case 1:
      return first === 0x65 ? KIND_ENTER : first === 0x78 ? KIND_EXIT : first === 0x64 ? KIND_DWELL : null;
    case 4:
      return isNamed(KIND_EXIT, bytes, start);
    case 5:
      return isNamed(first === 0x65 ? KIND_ENTER : first === 0x64 ? KIND_DWELL : KIND_STALE, bytes, start);
    case 9:
      return isNamed(KIND_HEARTBEAT, bytes, start);
    default:
      return null;
  }
}

function isNamed(kind: Kind, bytes: Uint8Array, start: number): Kind | null {
  const name = NAME_BYTES[kind] as Uint8Array;
  for (let i = 0; i < name.length; i++) {
    if (((bytes[start + i] as number) | LOWER_CASE) !== name[i]) return null;
  }
  return kind;
}
