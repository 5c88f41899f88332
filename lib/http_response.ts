/**
 * The beginning of an HTTP/1.1 response, read out of the bytes that a receiver sends: as little as a webhook needs of it,
 * and nothing that a hostile one could make large.
 *
 * @module
 */

/** A response's head may have so many bytes. */
export const HEAD_BYTES_MAX = 16_384;
/** A body that is longer is not read to its end. */
export const BODY_BYTES_MAX = 65_536;

const decoder = new TextDecoder("latin1");

/** What is needed of it. */
export interface ResponseHead {
  /** 200 to 599. */
  readonly status: number;
  /** As it came. */
  readonly retryAfter: string | null;
  /** Bytes of the head itself. */
  readonly byteLength: number;
  /** The body's length; null where it has to be read until the end of the connection, or in a way that is not read here. */
  readonly bodyBytes: number | null;
  /** Whether the receiver will take another request on the connection. */
  readonly keepsOpen: boolean;
}

/**
 * Reads a head; interim ones (100, 103) before it are passed over.
 *
 * @param bytes what has come so far
 * @returns `more` where it is not all there, `malformed` where it is none, or is too long
 */
export function parseResponseHead(bytes: Uint8Array): ResponseHead | "more" | "malformed" {
  const text = decoder.decode(bytes.subarray(0, HEAD_BYTES_MAX));
  for (let start = 0;;) {
    const end = text.indexOf("\r\n\r\n", start);
    if (end < 0) {
      const isPlausible = "HTTP/1.".startsWith(text.slice(start, start + 7));
      return bytes.length < HEAD_BYTES_MAX && isPlausible ? "more" : "malformed";
    }
    const head = parseOne(text.slice(start, end), end + 4);
    if (head === "malformed") return head;
    if (head !== "interim") return head;
    start = end + 4;
  }
}

function parseOne(text: string, byteLength: number): ResponseHead | "interim" | "malformed" {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const match = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: |$)/.exec(statusLine);
  if (match === null) return "malformed";
  const status = Number(match[2]);
  if (status === 101) return "malformed";
  if (status < 200) return "interim";
  const values = (name: string): string[] =>
    lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) =>
      line.slice(name.length + 1).trim()
    );
  const lengths = values("content-length");
  const isPlain = values("transfer-encoding").length === 0 && lengths.length === 1 &&
    /^[0-9]{1,9}$/.test(lengths[0] ?? "");
  const bodyBytes = status === 204 || status === 304 ? 0 : isPlain ? Number(lengths[0]) : null;
  const connection = values("connection").join(",").toLowerCase();
  return {
    status,
    retryAfter: values("retry-after")[0] ?? null,
    byteLength,
    bodyBytes,
    keepsOpen: match[1] === "1" && !connection.includes("close"),
  };
}
