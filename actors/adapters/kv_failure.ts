/**
 * What Deno KV's failures mean, and what to do. Its errors have no codes: those of opening are `Error`, those of an
 * operation `TypeError`, and only SQLite's words tell them apart.
 *
 * @module
 */

const NOT_WRITABLE =
  "it may not be written to. Give this user the right to write the directory and the files in it";
const DAMAGED = "state.kv is damaged. Put a copy of it back, or move the directory away to begin afresh";

const MEANINGS: readonly { readonly words: string; readonly meaning: string }[] = [
  {
    words: "database or disk is full",
    meaning: "the disk is full. Make room and start again; nothing is lost",
  },
  // Where the file of the shared memory can't grow, say.
  {
    words: "disk I/O error",
    meaning:
      "the disk failed, or is full. Make room, see that it can be written, and start again; nothing is lost",
  },
  {
    words: "read-only database",
    meaning: NOT_WRITABLE,
  },
  {
    words: "readonly database",
    meaning: NOT_WRITABLE,
  },
  {
    words: "Permission denied",
    meaning: NOT_WRITABLE,
  },
  {
    words: "unable to open database file",
    meaning: "state.kv can't be opened. Give this user the right to read and write it",
  },
  {
    words: "file is not a database",
    meaning: DAMAGED,
  },
  {
    words: "malformed",
    meaning: DAMAGED,
  },
  // Deno KV's words for a row that it did not write so.
  {
    words: "value encoding",
    meaning: DAMAGED,
  },
  {
    words: "database is locked",
    meaning: "another program has state.kv open. Close that one and start again",
  },
];

/** Says of a failure what could not be done with the state, why, and what helps. The failure is its cause. */
export function explainKvFailure(cause: unknown, directory: string): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  const meaning = MEANINGS.find(({ words }) => message.includes(words))?.meaning ?? message;
  return new Error(`Cannot use the state in ${directory}: ${meaning}`, { cause });
}
