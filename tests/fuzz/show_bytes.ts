/** Bytes as they can be pasted into a test: text where they are, base64 where not; long ones by both ends. */
export function showBytes(bytes: Uint8Array): string {
  let text: string;
  try {
    text = JSON.stringify(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    text = `base64 ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;
  }
  return text.length <= 2000 ? text : `${text.slice(0, 1000)}… (${bytes.length} bytes) …${text.slice(-500)}`;
}
