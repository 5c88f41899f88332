/**
 * POSTs to one receiver, over connections that are kept.
 *
 * HTTP/1.1 by hand over `Deno.connect` and `Deno.startTls`, and not `fetch`: the addresses of the receiver's name are looked
 * up and judged here, and the very address that was judged is connected to. `fetch` looks a name up by itself, so a name
 * that points to a public address when it is asked about and to 127.0.0.1 when it is used (DNS rebinding) would get through;
 * `node:https` can be told to, but not by Deno 2.4. Each new connection looks the name up again. What is not checked is what
 * lies behind that address: a public proxy or NAT that leads back into the own network is for a firewall.
 *
 * The certificate is checked against the URL's name. Redirects are answers like any other. Of an answer the head is read,
 * and a body only so far as that lets the connection be used again; a flood ends with the connection. A connection that was
 * kept may have been closed by the other side meanwhile: where nothing of an answer has come, the request goes out once
 * more on a new one, which a receiver knows by the id.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import {
  BODY_BYTES_MAX,
  HEAD_BYTES_MAX,
  parseResponseHead,
  type ResponseHead,
} from "../../../lib/http_response.ts";
import { classifyAddress } from "../../../lib/network_address.ts";
import { signedBytes, type WebhookBody } from "../../../lib/webhook_message.ts";
import type { Attempt } from "../../../lib/webhook_retry.ts";
import { TIMED_OUT } from "../../webhook_endpoint.ts";
import type { WebhookSender } from "../../webhook_ports.ts";

/** A connection that was idle for longer is not used again. */
const IDLE_MS_MAX = 15_000;
const READ_BYTES = 16_384;

const encoder = new TextEncoder();

/** See the module's header. */
export interface WebhookPostOptions {
  readonly url: URL;
  /** The keys of the secrets. */
  readonly keys: readonly Uint8Array[];
  readonly allowPrivate: boolean;
  /** PEM of authorities besides the system's. */
  readonly caCerts: readonly string[];
  /** Connections that are kept at most. */
  readonly idleMax: number;
}

interface Idle {
  readonly connection: Deno.Conn;
  readonly sinceMs: number;
}

class RefusedAddressError extends Error {
  override readonly name = "RefusedAddressError";
}

/** See the module's header. */
export class WebhookPost implements WebhookSender {
  readonly #options: WebhookPostOptions;
  readonly #host: string;
  readonly #idle: Idle[] = [];
  #closed = false;

  constructor(options: WebhookPostOptions) {
    this.#options = options;
    this.#host = options.url.hostname.replace(/^\[(.*)\]$/, "$1");
  }

  async post(id: string, timestampS: number, body: WebhookBody, signal: AbortSignal): Promise<Attempt> {
    try {
      return await this.#attempt(await this.#request(id, timestampS, body), signal);
    } catch (error) {
      if (signal.aborted) {
        const outcome = signal.reason === TIMED_OUT ? "timed_out" : "unreachable";
        return { outcome, reason: outcome === "timed_out" ? "no answer in time" : "it was ended" };
      }
      const reason = error instanceof Error
        ? error.message.replaceAll(/\s*\n\s*/g, " ").slice(0, 300)
        : String(error);
      return { outcome: error instanceof RefusedAddressError ? "refused_address" : "unreachable", reason };
    }
  }

  close(): void {
    this.#closed = true;
    for (const { connection } of this.#idle.splice(0)) connection.close();
  }

  async #attempt(request: Uint8Array, signal: AbortSignal): Promise<Attempt> {
    signal.throwIfAborted();
    const kept = this.#takeIdle();
    if (kept !== null) {
      const attempt = await this.#exchange(kept, request, { signal, again: true });
      if (attempt !== null) return attempt;
    }
    const attempt = await this.#exchange(await this.#connect(signal), request, { signal, again: false });
    if (attempt === null) throw new Error("the connection was closed before an answer came");
    return attempt;
  }

  /** Sends and reads; null where a kept connection turned out to be closed. */
  async #exchange(
    connection: Deno.Conn,
    request: Uint8Array,
    { signal, again }: { readonly signal: AbortSignal; readonly again: boolean },
  ): Promise<Attempt | null> {
    let open = true;
    const close = (): void => {
      if (open) connection.close();
      open = false;
    };
    signal.addEventListener("abort", close, { once: true });
    try {
      let came = false;
      try {
        for (let written = 0; written < request.length;) {
          written += await connection.write(request.subarray(written));
        }
      } catch (error) {
        // It may have answered before it read all, as to a body that it finds too large.
        if (signal.aborted) throw error;
      }
      let bytes = new Uint8Array(0);
      let head: ResponseHead | "more" | "malformed" = "more";
      while (head === "more") {
        const more = await readSome(connection, signal);
        if (more === null) {
          if (again && !came) return null;
          throw new Error("the connection was closed before an answer came");
        }
        came = true;
        bytes = joined(bytes, more);
        head = parseResponseHead(bytes);
      }
      if (head === "malformed") {
        throw new Error(`the answer is no HTTP/1.1, or its head has more than ${HEAD_BYTES_MAX} bytes`);
      }
      // An answer is an answer, however its body ends.
      if (await isReadToItsEnd(connection, head, { have: bytes.length, signal }).catch(() => false) && open) {
        open = false;
        this.#keep(connection);
      }
      return { outcome: "answered", status: head.status, retryAfter: head.retryAfter };
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  }

  async #connect(signal: AbortSignal): Promise<Deno.Conn> {
    const { url, caCerts } = this.#options;
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    let failure: unknown = new Error("its name has no address");
    for (const hostname of await this.#addresses(signal)) {
      signal.throwIfAborted();
      try {
        const connecting = Deno.connect({ hostname, port });
        const plain = await orAborted(connecting, signal, (connection) => connection.close());
        if (url.protocol === "http:") return plain;
        const secured = Deno.startTls(plain, { hostname: this.#host, caCerts: [...caCerts] }).then(
          async (tls) => {
            try {
              await tls.handshake();
              return tls;
            } catch (error) {
              tls.close();
              throw error;
            }
          },
        );
        return await orAborted(secured, signal, (connection) => connection.close(), plain);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** The addresses that may be connected to. */
  async #addresses(signal: AbortSignal): Promise<string[]> {
    const isAddress = classifyAddress(this.#host) !== null;
    const found = isAddress
      ? [this.#host]
      : (await orAborted(lookup(this.#host, { all: true }), signal, () => {})).map(({ address }) => address);
    if (this.#options.allowPrivate) return found;
    const allowed = found.filter((address) => classifyAddress(address) === "public");
    if (allowed.length > 0 || found.length === 0) return allowed;
    throw new RefusedAddressError(
      `its address is not public (${
        classifyAddress(found[0] as string) ?? "unknown"
      }), and allow_private is not set`,
    );
  }

  async #request(id: string, timestampS: number, body: WebhookBody): Promise<Uint8Array> {
    const { bytes, contentType } = body;
    const { url, keys } = this.#options;
    const signed = signedBytes(id, timestampS, bytes);
    const signatures = await Promise.all(keys.map((key) => signature(key, signed)));
    const head = encoder.encode([
      `POST ${url.pathname}${url.search} HTTP/1.1`,
      `host: ${url.host}`,
      "user-agent: fencepost",
      `content-type: ${contentType}`,
      `content-length: ${bytes.length}`,
      `webhook-id: ${id}`,
      `webhook-timestamp: ${timestampS}`,
      `webhook-signature: ${signatures.join(" ")}`,
      `idempotency-key: ${id}`,
      "\r\n",
    ].join("\r\n"));
    return joined(head, bytes);
  }

  #takeIdle(): Deno.Conn | null {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return null;
      if (performance.now() - idle.sinceMs <= IDLE_MS_MAX) return idle.connection;
      idle.connection.close();
    }
  }

  #keep(connection: Deno.Conn): void {
    if (this.#closed || this.#idle.length >= this.#options.idleMax) connection.close();
    else this.#idle.push({ connection, sinceMs: performance.now() });
  }
}

/** Reads what is left of a body; false where that is not worth it, or it is not all that comes. */
async function isReadToItsEnd(
  connection: Deno.Conn,
  { byteLength, bodyBytes, keepsOpen }: ResponseHead,
  { have, signal }: { readonly have: number; readonly signal: AbortSignal },
): Promise<boolean> {
  if (bodyBytes === null || bodyBytes > BODY_BYTES_MAX || !keepsOpen) return false;
  let left = byteLength + bodyBytes - have;
  while (left > 0) {
    const more = await readSome(connection, signal);
    if (more === null) return false;
    left -= more.length;
  }
  return left === 0;
}

/** Some bytes; null at the end of the connection, however it came. */
async function readSome(connection: Deno.Conn, signal: AbortSignal): Promise<Uint8Array | null> {
  const bytes = new Uint8Array(READ_BYTES);
  try {
    const byteLength = await connection.read(bytes);
    if (byteLength !== null) return bytes.subarray(0, byteLength);
  } catch (error) {
    if (signal.aborted) throw error;
  }
  signal.throwIfAborted();
  return null;
}

/** Waits for something, or for the signal: then what comes too late is disposed of. */
async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  dispose: (value: T) => void,
  under?: { close(): void },
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } catch (error) {
    if (signal.aborted) {
      work.then(dispose, () => {});
      try {
        under?.close();
      } catch {
        // It went with what was made of it.
      }
    }
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length);
  bytes.set(one);
  bytes.set(other, one.length);
  return bytes;
}

/** By WebCrypto: `createHmac` of Deno 2.4 writes a deprecation of itself to stderr. */
async function signature(key: Uint8Array, signed: Uint8Array): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const hmac = await crypto.subtle.importKey("raw", new Uint8Array(key), algorithm, false, ["sign"]);
  const digest = await crypto.subtle.sign("HMAC", hmac, new Uint8Array(signed));
  return `v1,${Buffer.from(digest).toString("base64")}`;
}
