/**
 * Requests that nobody should send, from a seed: raw bytes, since no client library would let them pass.
 *
 * @module
 */
/** One hostile request. */
export interface HostileRequest {
  readonly kind: string;
  /** What is sent, piece by piece. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** Whether the connection is left half said, for the server to cut off. */
  readonly hangs: boolean;
}

const encoder = new TextEncoder();

/** Makes the next request; the token is a real one, for those that get past the door. */
export function hostileRequest(random: () => number, token: string): HostileRequest {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const noise = (length: number): string =>
    Array.from({ length }, () => String.fromCharCode(random() < 0.8 ? 33 + below(94) : below(256))).join("");
  const record = JSON.stringify({
    device_id: noise(below(300)),
    fence_id: "f",
    kind: pick(["ENTER", "EXIT"]),
    event_time_ms: 1_760_000_000_000,
  });
  const request = (
    { method = "POST", path = "/v1/transitions", headers = [] as string[], body = "", known = true },
  ): string => {
    const all = [
      `Host: a`,
      ...(known ? [`Authorization: Bearer ${token}`] : []),
      ...headers,
      ...(headers.some((header) => /^(content-length|transfer-encoding)/i.test(header)) || body === ""
        ? []
        : [`Content-Length: ${encoder.encode(body).length}`]),
    ];
    return `${method} ${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`;
  };
  const ndjson = "Content-Type: application/x-ndjson";
  const kinds: readonly (readonly [kind: string, make: () => string])[] = [
    ["noise", () => noise(below(2000))],
    [
      "request line",
      () => `${noise(below(20))} ${noise(below(100))} HTTP/${pick(["1.1", "9.9", "", "2.0"])}\r\n\r\n`,
    ],
    [
      "method",
      () => request({ method: pick(["PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "get", "X".repeat(200)]) }),
    ],
    [
      "path",
      () =>
        request({
          method: "GET",
          path: pick([
            "/../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/v1/../../state.kv",
            "//v1/transitions",
            "/v1/pairs/%00/%ff",
            "/v1/devices/" + "%41".repeat(below(2000)),
            "/v1/transitions?" + "a=b&".repeat(below(500)),
            "/page/../../main.ts",
            "/\u0000",
            "http://elsewhere/v1/transitions",
            "*",
          ]),
        }),
    ],
    [
      "header flood",
      () => request({ headers: Array.from({ length: below(300) }, (_, i) => `X-${i}: ${noise(5)}`) }),
    ],
    [
      "host",
      () => `GET /v1/status HTTP/1.1\r\nHost: ${pick(["[", "%zz", "a b", "a@b", "a/b", noise(20)])}\r\n\r\n`,
    ],
    ["large header", () => request({ headers: [`X-A: ${"a".repeat(below(300_000))}`] })],
    ["header noise", () => request({ headers: [noise(below(200)), ": x", "A : b", "A:\u0000b"] })],
    [
      "guess",
      () =>
        request({
          known: false,
          headers: [`Authorization: Bearer ${noise(below(600))}`, ndjson],
          body: record,
        }),
    ],
    ["no token", () => request({ known: false, headers: [ndjson], body: record })],
    [
      "scheme",
      () =>
        request({
          known: false,
          headers: [`Authorization: ${pick(["Basic", "bearer", "Bearer", ""])} x`, ndjson],
          body: record,
        }),
    ],
    [
      "length lies short",
      () => request({ headers: [ndjson, `Content-Length: ${below(20)}`], body: "{".repeat(100) }),
    ],
    ["length too large", () => request({ headers: [ndjson, "Content-Length: 99999999999"], body: "x" })],
    [
      "length is none",
      () =>
        request({
          headers: [ndjson, `Content-Length: ${pick(["-1", "1e3", "0x10", "1,1", ""])}`],
          body: "x",
        }),
    ],
    [
      "smuggling",
      () =>
        request({
          headers: [ndjson, "Content-Length: 5", "Transfer-Encoding: chunked"],
          body: `0\r\n\r\nPOST /v1/transitions HTTP/1.1\r\n\r\n`,
        }),
    ],
    [
      "chunks",
      () =>
        request({
          headers: [ndjson, "Transfer-Encoding: chunked"],
          body: `${noise(4)}\r\n${noise(below(50))}\r\n0\r\n\r\n`,
        }),
    ],
    [
      "encoding",
      () =>
        request({
          headers: [ndjson, `Content-Encoding: ${pick(["gzip", "br", "deflate", noise(9)])}`],
          body: noise(50),
        }),
    ],
    ["type", () => request({ headers: [`Content-Type: ${noise(below(60))}`], body: record })],
    ["key", () => request({ headers: [ndjson, `Idempotency-Key: ${noise(below(400))}`], body: "poison" })],
    [
      "poison",
      () =>
        request({
          headers: [ndjson],
          body: Array.from({ length: below(40) }, () => noise(below(200))).join("\n"),
        }),
    ],
    ["deep", () => request({ headers: ["Content-Type: application/json"], body: "[".repeat(below(50_000)) })],
    [
      "deep objects",
      () => request({ headers: ["Content-Type: application/json"], body: '{"a":'.repeat(below(10_000)) }),
    ],
    [
      "events",
      () =>
        request({
          headers: [`Content-Type: application/cloudevents${pick(["", "-batch"])}+json`],
          body: pick([
            '{"data":',
            "[{}]",
            '{"data_base64":"%%%"}',
            '{"data":"x"}',
            "[[[[",
            "null",
            '{"data":null}',
          ]),
        }),
    ],
    ["oversize", () => request({ headers: [ndjson], body: "x".repeat(70_000) })],
    ["body too large", () => request({ headers: [ndjson], body: "x\n".repeat(40_000) })],
    ["cut", () => request({ headers: [ndjson, "Content-Length: 5000"], body: "half" })],
    ["cut head", () => request({ headers: [ndjson] }).slice(0, below(60))],
  ];
  const [kind, make] = pick(kinds);
  const bytes = latin1(make());
  const cut = random() < 0.2 ? below(bytes.length + 1) : bytes.length;
  return {
    kind,
    pieces: [bytes.slice(0, cut), bytes.slice(cut)],
    hangs: kind.startsWith("cut") && random() < 0.02,
  };
}

/** One byte a character, so that any byte can be sent. */
function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 255);
}
