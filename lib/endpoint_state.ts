/**
 * What is kept of a webhook beside the outbox, read back: a file that is written whole, but that a disk or a person can
 * damage. What is none is refused, since an endpoint that goes on from `NaN` would pass over all that waits for it.
 *
 * @module
 */
import type { BacklogState, Rejected, Retry } from "./backlog_state.ts";
import { parseJsonObject } from "./json_object.ts";

/** What is kept, and of which outbox. */
export interface StoredEndpoint extends BacklogState {
  /** The outbox's id: places in another one mean nothing. */
  readonly outbox: string;
  /** The configuration that the receiver has said to be gone under; null where it has not. */
  readonly disabled: string | null;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads it; null where it is none. */
export function parseEndpointState(bytes: Uint8Array): StoredEndpoint | null {
  const { outbox, cursor, retries, rejected, disabled } = parseJsonObject(bytes) ?? {};
  if (typeof outbox !== "string" || !isCount(cursor)) return null;
  if (!Array.isArray(retries) || !retries.every(isRetry)) return null;
  if (!Array.isArray(rejected) || !rejected.every(isRejected)) return null;
  if (disabled !== null && typeof disabled !== "string") return null;
  return { outbox, cursor, retries, rejected, disabled };
}

function isRetry(value: unknown): value is Retry {
  const { attempts, dueUs, reason, refused = false } = (value ?? {}) as Members;
  return isPlace(value) && isCount(attempts) && isTime(dueUs) && typeof reason === "string" &&
    typeof refused === "boolean";
}

function isRejected(value: unknown): value is Rejected {
  return isPlace(value) && typeof (value as unknown as Members)["detail"] === "string";
}

function isPlace(value: unknown): value is { readonly offset: number; readonly toldUs: number } {
  const { offset, toldUs } = (value ?? {}) as Members;
  return isCount(offset) && isTime(toldUs);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
