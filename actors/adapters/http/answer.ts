/**
 * Answers: JSON, and for what could not be done a problem by RFC 9457, which says what and why.
 *
 * @module
 */

/** Headers that every answer has. */
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** An answer in JSON. */
export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return jsonTextAnswer(status, JSON.stringify(body), headers);
}

/** An answer whose JSON is written already. */
export function jsonTextAnswer(status: number, json: string, headers: Record<string, string> = {}): Response {
  return new Response(json + "\n", {
    status,
    headers: { ...HEADERS, "content-type": "application/json", ...headers },
  });
}

/** Text, as it is. */
export function textAnswer(
  text: string,
  contentType: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(text, { headers: { ...HEADERS, "content-type": contentType, ...headers } });
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Who are you?",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  406: "Not acceptable",
  408: "Too slow",
  409: "Conflict",
  413: "Too large",
  415: "Unsupported media type",
  422: "Another request with this key",
  429: "Too many records",
  500: "A fault of ours",
  503: "Not now",
};

/** A problem; `detail` is a sentence for whoever reads the client's log. */
export function problem(status: number, detail: string, headers: Record<string, string> = {}): Response {
  const body = { type: "about:blank", title: TITLES[status] ?? "Problem", status, detail };
  return new Response(JSON.stringify(body) + "\n", {
    status,
    headers: { ...HEADERS, "content-type": "application/problem+json", ...headers },
  });
}
