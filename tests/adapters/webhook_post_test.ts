/**
 * One attempt against receivers that mean well and that don't.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { WebhookPost } from "../../actors/adapters/webhook/webhook_post.ts";
import { TIMED_OUT } from "../../actors/webhook_endpoint.ts";
import { parseSecret } from "../../lib/webhook_message.ts";
import type { Attempt } from "../../lib/webhook_retry.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { RawReceiver, SECRET, WebhookReceiver } from "../support/webhook_receiver.ts";

const ID = "0123456789abcdef0123456789abcdef";
const BODY = { contentType: "application/json", bytes: new TextEncoder().encode('{"id":"é"}') };
const OTHER_SECRET = `whsec_${btoa("another secret of the tests, 33 b")}`;
const encoder = new TextEncoder();

function keyOf(secret: string): Uint8Array {
  const key = parseSecret(secret);
  if (typeof key === "string") throw new Error(key);
  return key;
}

function sender(
  url: string,
  more: { secrets?: string[]; allowPrivate?: boolean; caCerts?: string[] } = {},
): WebhookPost {
  const { secrets = [SECRET], allowPrivate = true, caCerts = [] } = more;
  return new WebhookPost({ url: new URL(url), keys: secrets.map(keyOf), allowPrivate, caCerts, idleMax: 4 });
}

/** One attempt, ended by the caller's limit where it is told to be. */
async function postOnce(
  url: string,
  more: Parameters<typeof sender>[1] & { ended?: Promise<void> } = {},
): Promise<Attempt> {
  const post = sender(url, more);
  const limit = new AbortController();
  void more.ended?.then(() => limit.abort(TIMED_OUT));
  try {
    return await post.post(ID, nowS(), BODY, limit.signal);
  } finally {
    post.close();
  }
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

/** A receiver that sends these bytes once it has read something, and closes unless told otherwise. */
async function answering(
  text: string | Uint8Array,
  then: "closes" | "stays" = "closes",
): Promise<{ attempt: Attempt; connections: number }> {
  const receiver = new RawReceiver(async (connection) => {
    await connection.read(new Uint8Array(65_536));
    const bytes = typeof text === "string" ? encoder.encode(text) : text;
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    if (then === "closes") connection.close();
  });
  try {
    const attempt = await postOnce(receiver.url);
    return { attempt, connections: receiver.connections };
  } finally {
    await receiver.close();
  }
}

Deno.test("webhook post: headers and signature are what Standard Webhooks say, one signature for each secret", async () => {
  const receiver = new WebhookReceiver();
  const post = sender(receiver.url, { secrets: [SECRET, OTHER_SECRET] });
  try {
    for (let n = 0; n < 3; n++) {
      deepEqual(await post.post(ID, nowS(), BODY, new AbortController().signal), {
        outcome: "answered",
        status: 204,
        retryAfter: null,
      });
    }
  } finally {
    post.close();
    await receiver.close();
  }
  deepEqual(receiver.forged, []);
  const [{ headers, body } = { headers: new Headers(), body: "" }] = receiver.deliveries;
  equal(headers.get("webhook-id"), ID);
  equal(headers.get("idempotency-key"), ID);
  equal(headers.get("webhook-signature")?.split(" ").length, 2);
  // Who has the new secret only, verifies as well: that is rotation.
  ok(new Webhook(OTHER_SECRET).verify(body, Object.fromEntries(headers)));
});

Deno.test("webhook post: a connection is used again, and one that was closed meanwhile is no failure", async () => {
  let kept = 0;
  const receiver = new RawReceiver(async (connection) => {
    const buffer = new Uint8Array(65_536);
    for (let requests = 0; requests < 2; requests++) {
      if (await connection.read(buffer) === null) return;
      if (requests > 0) kept++;
      await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));
    }
    connection.close();
  });
  const post = sender(receiver.url);
  try {
    for (let n = 0; n < 6; n++) {
      const attempt = await post.post(ID, nowS(), BODY, new AbortController().signal);
      deepEqual(attempt, { outcome: "answered", status: 200, retryAfter: null });
    }
  } finally {
    post.close();
    await receiver.close();
  }
  equal(kept, 3);
  equal(receiver.connections, 3);
});

Deno.test("webhook post: answers, one by one", async () => {
  const cases: readonly [answer: string, expected: Attempt][] = [
    ["HTTP/1.1 200 OK\r\n\r\n", { outcome: "answered", status: 200, retryAfter: null }],
    ["HTTP/1.0 202 Accepted\r\n\r\nbody until the end", {
      outcome: "answered",
      status: 202,
      retryAfter: null,
    }],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 \r\n\r\n", {
      outcome: "answered",
      status: 204,
      retryAfter: null,
    }],
    ["HTTP/1.1 503 Busy\r\nRetry-After: 31536000\r\n\r\n", {
      outcome: "answered",
      status: 503,
      retryAfter: "31536000",
    }],
    ["HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", {
      outcome: "answered",
      status: 410,
      retryAfter: null,
    }],
    ["HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nshort", {
      outcome: "answered",
      status: 200,
      retryAfter: null,
    }],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", {
      outcome: "answered",
      status: 200,
      retryAfter: null,
    }],
  ];
  for (const [answer, expected] of cases) {
    const { attempt } = await answering(answer);
    deepEqual(attempt, expected, answer);
  }
});

Deno.test("webhook post: what is no answer is none", async () => {
  for (
    const answer of [
      "",
      "HTTP/1.1 200",
      "SSH-2.0-x\r\n\r\n",
      "HTTP/1.1 999 x\r\n\r\n",
      "HTTP/2 200 OK\r\n\r\n",
    ]
  ) {
    const { attempt } = await answering(answer);
    equal(attempt.outcome, "unreachable", answer);
  }
});

Deno.test("webhook post: a flood of headers ends with the connection, one of a body is not read", async () => {
  const flood = encoder.encode(`HTTP/1.1 200 OK\r\n${"x-flood: y\r\n".repeat(500_000)}`);
  const { attempt } = await answering(flood, "stays");
  equal(attempt.outcome, "unreachable");
  ok("reason" in attempt && /more than 16384 bytes/.test(attempt.reason), JSON.stringify(attempt));
  const body = new Uint8Array(20_000_000).fill(0x78);
  const head = encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n");
  const both = new Uint8Array(head.length + body.length);
  both.set(head);
  both.set(body, head.length);
  deepEqual((await answering(both, "stays")).attempt, { outcome: "answered", status: 200, retryAfter: null });
});

Deno.test("webhook post: two answers to one request leave nothing for the next request", async () => {
  const receiver = new RawReceiver(async (connection) => {
    await connection.read(new Uint8Array(65_536));
    const second = "HTTP/1.1 204 x\r\ncontent-length: 0\r\n\r\n";
    await connection.write(encoder.encode(`HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n${second}`));
  });
  const post = sender(receiver.url);
  try {
    for (let n = 0; n < 2; n++) {
      const attempt = await post.post(ID, nowS(), BODY, new AbortController().signal);
      deepEqual(attempt, { outcome: "answered", status: 500, retryAfter: null });
    }
  } finally {
    post.close();
    await receiver.close();
  }
});

Deno.test("webhook post: redirects are not followed", async () => {
  const target = new WebhookReceiver();
  const receiver = new WebhookReceiver(() =>
    new Response(null, { status: 307, headers: { location: target.url } })
  );
  const attempt = await postOnce(receiver.url);
  await receiver.close();
  await target.close();
  deepEqual(attempt, { outcome: "answered", status: 307, retryAfter: null });
  equal(target.deliveries.length, 0);
});

Deno.test("webhook post: one that never answers is ended, wherever it stops", async () => {
  const beginnings = ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nx: "];
  for (const beginning of beginnings) {
    const came = Promise.withResolvers<void>();
    const receiver = new RawReceiver(async (connection) => {
      await connection.read(new Uint8Array(65_536));
      if (beginning !== "") await connection.write(encoder.encode(beginning));
      came.resolve();
    });
    const attempt = await postOnce(receiver.url, { ended: came.promise });
    await receiver.close();
    deepEqual(attempt, { outcome: "timed_out", reason: "no answer in time" });
  }
});

Deno.test("webhook post: nobody there, and a name that is none", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  equal((await postOnce(`http://127.0.0.1:${port}/`)).outcome, "unreachable");
  equal((await postOnce("http://no-such-name.invalid/")).outcome, "unreachable");
});

Deno.test("webhook post: addresses that are not public are refused at the connection, by name too", async () => {
  const receiver = new WebhookReceiver();
  try {
    for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"]) {
      const attempt = await postOnce(`http://${host}:${receiver.port}/`, { allowPrivate: false });
      equal(attempt.outcome, "refused_address", host);
      match("reason" in attempt ? attempt.reason : "", /its address is not public/);
    }
    equal(receiver.deliveries.length, 0);
    // Not its name alone decides: allowed, it is reached.
    equal((await postOnce(`http://localhost:${receiver.port}/`)).outcome, "answered");
  } finally {
    await receiver.close();
  }
});

Deno.test("webhook post: TLS: an authority of its own, another name, an unknown authority, an expired certificate", () =>
  inDirectory(async (directory) => {
    const authority = await TestAuthority.make(directory);
    const tlsOf = async (names: string, days = 2): Promise<{ cert: string; key: string }> => {
      const { certFile, keyFile } = await authority.sign({ name: `${names.length}-${days}`, names, days });
      return { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
    };
    const caCerts = [await Deno.readTextFile(authority.caFile)];
    const outcomeAt = async (tls: { cert: string; key: string }, trusted: string[]): Promise<Attempt> => {
      const receiver = new WebhookReceiver(undefined, { tls });
      try {
        return await postOnce(`https://localhost:${receiver.port}/`, { caCerts: trusted });
      } finally {
        await receiver.close();
      }
    };
    const good = await tlsOf("DNS:localhost");
    equal((await outcomeAt(good, caCerts)).outcome, "answered");
    equal((await outcomeAt(good, [])).outcome, "unreachable");
    equal((await outcomeAt(await tlsOf("DNS:elsewhere.example"), caCerts)).outcome, "unreachable");
    equal((await outcomeAt(await tlsOf("DNS:localhost,DNS:b", -1), caCerts)).outcome, "unreachable");
  }));
