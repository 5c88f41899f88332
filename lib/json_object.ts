/**
 * Reads a line back that should be a JSON object: one of ours, or one that a crash tore, or somebody else's.
 *
 * @module
 */

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The members of the object that a line is; null where it is none, or no UTF-8. */
export function parseJsonObject(line: Uint8Array): Readonly<Record<string, unknown>> | null {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(line));
  } catch {
    return null;
  }
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : null;
}
