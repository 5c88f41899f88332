/**
 * A request's body, whole: bounded in bytes, one by one and all together, and unpacked where it is gzip.
 *
 * @module
 */
import { problem } from "./answer.ts";
import { Gunzip } from "./gunzip.ts";

/** See the module's header. */
export interface BodyLimits {
  /** Bytes of one body at most, unpacked. */
  readonly bytesMax: number;
  /** Bytes of all that are being received. */
  readonly allBytesMax: number;
  /** How long a body may take to come. */
  readonly timeoutMs: number;
}

/** Reads bodies. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  readonly #gunzip = new Gunzip();
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Bytes of bodies that are being received. */
  get byteLength(): number {
    return this.#bytes;
  }

  /** The body, or the answer that is given instead. */
  async read(request: Request): Promise<Uint8Array | Response> {
    const { bytesMax, allBytesMax, timeoutMs } = this.#limits;
    const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
    if (encoding !== "identity" && encoding !== "gzip") {
      return problem(415, `The content encoding must be gzip or none, got ${encoding.slice(0, 40)}`, {
        "accept-encoding": "gzip",
      });
    }
    if (Number(request.headers.get("content-length") ?? 0) > bytesMax) return tooLarge(bytesMax);
    if (request.body === null) return new Uint8Array(0);
    const stream = encoding === "gzip" ? this.#gunzip.unpack(request.body) : request.body;
    const reader = stream.getReader();
    const pieces: Uint8Array[] = [];
    let length = 0;
    // The gate knows connections only, and over HTTP/2 one has many requests.
    let isLate = false;
    const tooLong = setTimeout(() => {
      isLate = true;
      reader.cancel().catch(() => {});
    }, timeoutMs);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (isLate) return problem(408, "The body took too long to come", { connection: "close" });
        if (done) break;
        length += value.length;
        this.#bytes += value.length;
        if (length > bytesMax) return await abandon(reader, tooLarge(bytesMax));
        if (this.#bytes > allBytesMax) {
          return await abandon(
            reader,
            problem(429, "Too many requests are being received", { "retry-after": "1" }),
          );
        }
        pieces.push(value);
      }
    } catch (error) {
      if (error instanceof TypeError && encoding === "gzip") {
        return problem(400, "The body is not gzip, or cut short");
      }
      // Whoever hangs up hears no answer.
      return problem(400, "The body did not come whole");
    } finally {
      clearTimeout(tooLong);
      this.#bytes -= length;
    }
    return pieces.length === 1 ? pieces[0] as Uint8Array : joined(pieces, length);
  }
}

async function abandon(reader: ReadableStreamDefaultReader<Uint8Array>, answer: Response): Promise<Response> {
  await reader.cancel().catch(() => {});
  return answer;
}

function tooLarge(bytesMax: number): Response {
  return problem(413, `A body has at most ${bytesMax} bytes (http.body_bytes_max): send it in parts`, {
    connection: "close",
  });
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
