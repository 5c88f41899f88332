/** The kinds of SPEC 1, as small integers, since they live in typed arrays. */
export const KIND_ENTER = 0;
export const KIND_EXIT = 1;
export const KIND_DWELL = 2;
export const KIND_STALE = 3;
export const KIND_HEARTBEAT = 4;

/** One of the `KIND_…` constants. */
export type Kind = 0 | 1 | 2 | 3 | 4;

/** The kinds' names, by their number. */
export const KIND_NAMES = ["ENTER", "EXIT", "DWELL", "STALE", "HEARTBEAT"] as const;
