import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { parseConfig } from "../../lib/config.ts";
import { encodeDeadLetter } from "../../lib/dead_letter.ts";
import { parseResponseHead } from "../../lib/http_response.ts";
import { encodeOutboxLines, parseOutboxLine } from "../../lib/outbox_line.ts";
import { uniteTails } from "../../lib/sink_tails.ts";
import { checkWebhookAddress } from "../../lib/webhook_address.ts";
import { parseWebhookLetter, webhookLetter } from "../../lib/webhook_letter.ts";
import { parseSecret, signedBytes, webhookBody } from "../../lib/webhook_message.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const TRIGGER = encoder.encode(
  '{"id":"9f000000000000000000000000000001","kind":"ENTER","device_id":"tr\\"uck é","fence_id":"depot",' +
    '"event_time":"2026-11-30T20:40:00.123000Z","attributes":{"n":12345678901234567890}}',
);

Deno.test("signedBytes: what another implementation signs", () => {
  const secret = `whsec_${btoa("x".repeat(32))}`;
  const key = parseSecret(secret);
  ok(typeof key !== "string");
  const at = new Date(1_772_366_400_000);
  const material = signedBytes("msg", at.getTime() / 1000, TRIGGER);
  const signature = `v1,${createHmac("sha256", key).update(material).digest("base64")}`;
  equal(signature, new Webhook(secret).sign("msg", at, decoder.decode(TRIGGER)));
});

Deno.test("parseSecret: what is one, and why something is none, without telling it", () => {
  deepEqual(parseSecret(` whsec_${btoa("y".repeat(24))}\n`), encoder.encode("y".repeat(24)));
  const cases = [
    btoa("y".repeat(24)),
    "whsec_!!!",
    `whsec_${btoa("y".repeat(23))}`,
    `whsec_${btoa("y".repeat(65))}`,
    "",
  ];
  for (const text of cases) {
    const why = parseSecret(text);
    ok(typeof why === "string" && !why.includes("eXl5"), String(why));
  }
});

Deno.test("webhookBody: as it is, or in a CloudEvent that keeps every digit", () => {
  equal(webhookBody(TRIGGER, { form: "native" }).bytes, TRIGGER);
  const { bytes, contentType } = webhookBody(TRIGGER, { form: "cloudevents", source: "/fencepost/fleet" });
  equal(contentType, "application/cloudevents+json; charset=utf-8");
  const text = decoder.decode(bytes);
  ok(text.endsWith(`,"data":${decoder.decode(TRIGGER)}}`));
  const { data: _data, ...event } = JSON.parse(text) as Record<string, unknown>;
  deepEqual(event, {
    specversion: "1.0",
    id: "9f000000000000000000000000000001",
    source: "/fencepost/fleet",
    type: "fencepost.trigger.enter",
    subject: 'tr"uck é',
    time: "2026-11-30T20:40:00.123000Z",
    datacontenttype: "application/json",
  });
});

Deno.test("outbox line: there and back, and what is damaged", () => {
  const trigger = decoder.decode(TRIGGER).trimEnd();
  const bytes = encoder.encode(`${trigger}\n{"b":"é"}\n`);
  const made = decoder.decode(
    encodeOutboxLines({ bytes, byteLength: bytes.length, count: 2 }, { split: "t-0", toldMs: 5 }),
  );
  equal(made, `t-0 5 ${trigger}\nt-0 5 {"b":"é"}\n`);
  const line = parseOutboxLine(encoder.encode(`t-0 5 ${trigger}`));
  deepEqual([line?.split, line?.toldMs, decoder.decode(line?.trigger)], ["t-0", 5, trigger]);
  for (
    const text of [
      "",
      "t-0",
      "t-0 5",
      `t-0 ${trigger}`,
      ` 5 ${trigger}`,
      `t-0 x ${trigger}`,
      `t-0 -5 ${trigger}`,
      `t-0 1.5 ${trigger}`,
      `t-0 0x5 ${trigger}`,
      `t-0 5e3 ${trigger}`,
      `t-0  5 ${trigger}`,
      "t-0 5 {",
      "t-0 5 a}",
      // A webhook's actor met it, found no id in it and ended, each time anew.
      "t-0 5 {}",
      `t-0 5 ${trigger.slice(0, -1)}`,
      `t-0 5 ${trigger.replace('"kind"', '"king"')}`,
      "\0\0\0",
    ]
  ) {
    equal(parseOutboxLine(encoder.encode(text)), null, text);
  }
});

Deno.test("webhook letter: known again by its line, and others are none", () => {
  const place = { name: "erp", outbox: "one", offset: 7 };
  const line = encodeDeadLetter(webhookLetter(place, { detail: "status 500", trigger: TRIGGER }), 0);
  deepEqual(parseWebhookLetter(line), place);
  const other = {
    reason: "SINK_REJECTED",
    detail: "",
    source: "topic",
    position: null,
    record: TRIGGER,
  } as const;
  equal(parseWebhookLetter(encodeDeadLetter(other, 0)), null);
  equal(parseWebhookLetter(encoder.encode("{")), null);
});

Deno.test("uniteTails: beginnings of one another, repeated ids, and tails that are no beginnings", () => {
  const tailOf = (ids: string): { id: string; bytes: Uint8Array }[] =>
    [...ids].map((id) => ({ id, bytes: encoder.encode(id) }));
  const cases: readonly (readonly [tails: string[], union: string, lacking: string[]])[] = [
    [["abc", "a", ""], "abc", ["", "bc", "abc"]],
    [["", "ab"], "ab", ["ab", ""]],
    [["aba", "ab"], "aba", ["", "a"]],
    [["ab", "aab"], "aba", ["a", ""]],
    [["ac", "bc"], "acb", ["b", "a"]],
    [["abc"], "abc", [""]],
    [[], "", []],
  ];
  for (const [tails, union, lacking] of cases) {
    const united = uniteTails(tails.map(tailOf));
    equal(united.union.map(({ id }) => id).join(""), union, tails.join());
    deepEqual(united.lacking.map((lines) => lines.map(({ id }) => id).join("")), lacking, tails.join());
  }
});

Deno.test("parseResponseHead: cut anywhere, it asks for more", () => {
  const text =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nRETRY-AFTER:  9\r\nContent-Length: 2\r\n\r\n";
  const bytes = encoder.encode(`${text}ok`);
  for (let end = 0; end < text.length; end++) {
    equal(parseResponseHead(bytes.subarray(0, end)), "more", `cut at ${end}`);
  }
  const expected = { status: 429, retryAfter: "9", byteLength: text.length, bodyBytes: 2, keepsOpen: true };
  deepEqual(parseResponseHead(bytes), expected);
});

Deno.test("parseResponseHead: a body whose length is in doubt ends the connection", () => {
  for (
    const lines of [
      "content-length: 1\r\ncontent-length: 2",
      "content-length: -1",
      "content-length: 1\r\nTransfer-Encoding: chunked",
      "",
    ]
  ) {
    const head = parseResponseHead(encoder.encode(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`));
    ok(typeof head === "object" && head.bodyBytes === null, lines);
  }
});

Deno.test("config: a webhook's keys, and what is refused", () => {
  const webhook = { type: "webhook", name: "erp", url: "https://erp.example/x", secrets: [{ env: "S" }] };
  const sinkOf = (more: object): unknown => ({ sink: [{ ...webhook, ...more }] });
  const [config] = parseConfig(sinkOf({ concurrency: 3, retry_for: "1h" })).sinks;
  deepEqual([config?.concurrency, config?.retryForUs, config?.timeoutUs], [3, 3_600_000_000, 10_000_000]);
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ name: "" }, /sink\.name must be given/],
    [{ name: "../x" }, /sink\.name must be given/],
    [{ name: ".x" }, /sink\.name must be given/],
    [{ url: "" }, /sink\.url must be a URL, got nothing/],
    [{ url: "ftp://erp.example/" }, /must begin with https/],
    [
      { url: "https://user:secret@erp.example/" },
      /must not have a user or a password in it, got what is not shown/,
    ],
    [{ url: "https://erp.example/#x" }, /never sent/],
    [{ secrets: [] }, /must name at least one/],
    [{ secrets: [{}] }, /must have either env or file, got neither/],
    [{ secrets: [{ env: "A", file: "b" }] }, /got both/],
    [{ path: "x" }, /sink\[0\]\.path does not go with sink\[0\]\.type "webhook"/],
    [{ filter: { kinds: ["LEAVE"] } }, /sink\[0\]\.filter\.kinds\[0\] must be "ENTER"/],
  ];
  for (const [more, message] of cases) {
    throws(() => parseConfig(sinkOf(more)), { name: "ConfigError", message });
  }
  const file = { type: "ndjson", path: "a.ndjson" };
  throws(() => parseConfig({ sink: [file, file] }), {
    message: /sink\[1\]\.path must not be sink\[0\]\.path too/,
  });
  throws(() => parseConfig({ sink: [] }), { message: /must have at least one entry/ });
});

Deno.test("checkWebhookAddress: what the URL's text tells alone", () => {
  const cases: readonly (readonly [url: string, message: RegExp])[] = [
    ["http://localhost/", /sink\.url must be a public address.*localhost \(loopback\)/],
    ["http://a.localhost./", /loopback/],
    ["http://[::ffff:10.0.0.1]/", /private/],
    ["http://0x7f.1/", /loopback/],
  ];
  for (const [url, message] of cases) {
    throws(() => checkWebhookAddress("sink", { url, allowPrivate: false }), { name: "ConfigError", message });
    checkWebhookAddress("sink", { url, allowPrivate: true });
  }
  checkWebhookAddress("sink", { url: "https://erp.example/", allowPrivate: false });
});
