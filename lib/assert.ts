/**
 * Assertions that stay on in production. A failed one means that *we* are wrong, not the input and not the world:
 * the actor that meets it stops, and its supervisor restores the last checkpoint.
 *
 * @module
 */

/** Thrown by {@link assert}: an invariant of Fencepost itself does not hold. */
export class AssertionFailed extends Error {
  /** Tells the supervisor: this is ours, and the checkpoint is to be gone back to. */
  override readonly name = "AssertionFailed";
}

/**
 * Checks an invariant.
 *
 * @param condition what should hold
 * @param message says what should be true, for example `"the watermark never goes back"`
 * @throws {AssertionFailed} where it does not hold
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(`Assertion failed: ${message}`);
}
