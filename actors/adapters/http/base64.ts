/**
 * Base64, as strangers send it.
 *
 * @module
 */

/** The bytes; null where it is no base64. */
export function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
