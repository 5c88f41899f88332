/**
 * JSON Pointers (RFC 6901): `/events/0/user~1id` is the member `user/id` of the first element of `events`.
 *
 * @module
 */

/** Steps of a pointer at most, so that nothing that follows one can go deep. */
export const POINTER_STEPS_MAX = 16;
const POINTER_LENGTH_MAX = 500;

/** A pointer's steps, unescaped; none for the whole. Null where the text is no pointer, or is too long. */
export function parsePointer(text: string): readonly string[] | null {
  if (text === "") return [];
  if (!text.startsWith("/") || text.length > POINTER_LENGTH_MAX || !text.isWellFormed()) return null;
  if (/~(?![01])/.test(text)) return null;
  const steps = text.slice(1).split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.length <= POINTER_STEPS_MAX ? steps : null;
}
