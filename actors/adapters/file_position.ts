/**
 * Where reading a file or pipe stands: `{"offset","line","identity"}`, as it is kept in a checkpoint.
 *
 * @module
 */
import type { Json } from "../../lib/json.ts";
import { type FileIdentity, parseFileIdentity } from "./file_identity.ts";

/** A position, checked. */
export interface FilePosition {
  /** Bytes before the next record. */
  readonly offset: number;
  /** Line ends before it. */
  readonly line: number;
  /** The file that it is a position of; null for a pipe's. */
  readonly identity: FileIdentity | null;
}

/**
 * Reads a position back.
 *
 * @throws {Error} where it is none of a file or pipe
 */
export function parseFilePosition(json: Json): FilePosition {
  if (typeof json === "object" && json !== null && "offset" in json && "line" in json) {
    const { offset, line } = json;
    if (isCount(offset) && isCount(line)) {
      return { offset, line, identity: parseFileIdentity(json["identity"]) };
    }
  }
  throw new Error(
    `Cannot go on reading: the checkpoint's position is none of a file, got ${JSON.stringify(json)}`,
  );
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
