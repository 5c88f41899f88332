/**
 * Base64, as strangers write it.
 *
 * @module
 */

/** The bytes; null where it is no base64. `Uint8Array.fromBase64` would do, but is too new for Deno 2.4. */
export function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
