/**
 * Says that a state directory has held a state: which format, and of which splits.
 *
 * SQLite opens a file of no bytes as a new database without a word, and one that was copied without its journal as an
 * older or empty one. Going on from there would tell every trigger again. The marker is written after the first
 * checkpoint and is what such a state is recognised by.
 *
 * @module
 */
import { join } from "node:path";

/** Version of what the directory holds. */
const FORMAT = 1;

/** What a marker says. */
export interface StateMarker {
  /** Splits that have had a checkpoint. */
  readonly splits: readonly string[];
}

/**
 * Reads the marker of a directory.
 *
 * @returns null where there is none
 * @throws {Error} where it is of another version, or damaged
 */
export async function readMarker(directory: string): Promise<StateMarker | null> {
  let text: string;
  try {
    text = await Deno.readTextFile(join(directory, "format"));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  const marker = parse(text);
  if (marker === null) {
    throw new Error(
      `Cannot use the state in ${directory}: it is not of format ${FORMAT}, which this version reads. ` +
        `Use the version that wrote it, or another directory`,
    );
  }
  return marker;
}

/** Writes the marker: under another name first, so that there is never half of one. */
export async function writeMarker(directory: string, { splits }: StateMarker): Promise<void> {
  const temporary = join(directory, "format.new");
  {
    using file = await Deno.open(temporary, { write: true, create: true, truncate: true });
    const bytes = new TextEncoder().encode(`${JSON.stringify({ fencepost: FORMAT, splits })}\n`);
    for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
    await file.syncData();
  }
  await Deno.rename(temporary, join(directory, "format"));
}

/**
 * Of a directory with a marker, looks whether its database is there. One of no bytes would open as a new one.
 *
 * @throws {Error} where it is empty or missing
 */
export async function refuseEmpty(path: string, directory: string): Promise<void> {
  try {
    if ((await Deno.stat(path)).size > 0) return;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  throw emptyState(directory);
}

/** The error of a state that is empty where the marker says that there was one. */
export function emptyState(directory: string): Error {
  return new Error(
    `Cannot use the state in ${directory}: it is empty, though there was a checkpoint in it. Put a copy of state.kv back ` +
      `(with state.kv-wal, if there is one), or move the directory away to begin afresh`,
  );
}

function parse(text: string): StateMarker | null {
  try {
    const { fencepost, splits } = JSON.parse(text) as { fencepost?: unknown; splits?: unknown };
    if (fencepost !== FORMAT || !Array.isArray(splits)) return null;
    return splits.every((split) => typeof split === "string") ? { splits } : null;
  } catch {
    return null;
  }
}
