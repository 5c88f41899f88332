import assert, { equal, ok } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { RequestBodies } from "../../../actors/adapters/http/request_body.ts";

const MIB = 1 << 20;

Deno.test("RequestBodies: of a gzip bomb no more is unpacked than shows that it is too large", async () => {
  const zeros = new Blob([new Uint8Array(64 * MIB)]).stream().pipeThrough(new CompressionStream("gzip"));
  const bomb = new Uint8Array(await new Response(zeros).arrayBuffer());
  const bodies = new RequestBodies({ bytesMax: MIB, allBytesMax: 64 * MIB, timeoutMs: 600_000 });
  const unpacked = Promise.withResolvers<number>();
  // All of it comes at once, and the connection stays open.
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(bomb),
    cancel: () => unpacked.resolve(bodies.byteLength),
  });
  const request = new Request("http://localhost/", {
    method: "POST",
    headers: { "content-encoding": "gzip" },
    body,
  });
  const answer = await bodies.read(request);
  ok(answer instanceof Response);
  equal(answer.status, 413);
  const length = await unpacked.promise;
  ok(length <= 6 * MIB, `${length} bytes were unpacked`);
  equal(bodies.byteLength, 0);
});

function bodies(limits: { readonly bytesMax: number; readonly allBytesMax?: number }): RequestBodies {
  return new RequestBodies({ allBytesMax: 1024 * MIB, timeoutMs: 60_000, ...limits });
}

async function packed(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(
    new CompressionStream("gzip"),
  );
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function gzipRequest(body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>): Request {
  return new Request("http://service/", { method: "POST", body, headers: { "content-encoding": "gzip" } });
}

Deno.test("RequestBodies: gzip is unpacked, piece by piece", async () => {
  const bytes = new Uint8Array(3 * MIB);
  for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  const body = await bodies({ bytesMax: 4 * MIB }).read(gzipRequest(await packed(bytes)));
  assert(body instanceof Uint8Array);
  assert(body.length === bytes.length && body.every((byte, i) => byte === bytes[i]));
});

Deno.test("RequestBodies: a gzip bomb leaves the event loop to others while it is unpacked", async () => {
  const bomb = await packed(new Uint8Array(64 * MIB));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const body = await bodies({ bytesMax: 64 * MIB }).read(gzipRequest(bomb));
  isOver = true;
  assert(body instanceof Uint8Array && body.length === 64 * MIB);
  assert(turns > 5, `the event loop had ${turns} turns`);
  await new Promise<void>((resolve) => setImmediate(() => resolve()));
});

Deno.test("RequestBodies: what is too large unpacked is refused, and what is behind it goes on", async () => {
  const reader = bodies({ bytesMax: MIB });
  const bomb = await packed(new Uint8Array(64 * MIB));
  const small = await packed(new TextEncoder().encode("small"));
  const bombs = Array.from({ length: 5 }, () => reader.read(gzipRequest(bomb)));
  const [one, ...others] = await Promise.all([reader.read(gzipRequest(small)), ...bombs]);
  assert.equal(new TextDecoder().decode(one as Uint8Array), "small");
  for (const answer of others) assert.equal((answer as Response).status, 413);
  assert.equal(reader.byteLength, 0);
  // Behind all that was begun with.
  assert.equal((await reader.read(gzipRequest(small)) as Uint8Array).length, 5);
});

Deno.test("RequestBodies: gzip that is cut short, damaged or followed by something is refused", async () => {
  const reader = bodies({ bytesMax: MIB });
  const whole = await packed(new TextEncoder().encode("a record"));
  const damaged = whole.slice();
  damaged[whole.length - 8] = ~(damaged[whole.length - 8] as number);
  for (const body of [whole.slice(0, -6), damaged, new Uint8Array([...whole, ...whole]), whole.slice(1)]) {
    assert.equal((await reader.read(gzipRequest(body)) as Response).status, 400);
  }
  const good = await reader.read(gzipRequest(whole));
  assert.equal(new TextDecoder().decode(good as Uint8Array), "a record");
});

Deno.test("RequestBodies: gzip that doesn't come to its end is let go of in time", async () => {
  const cancelled = Promise.withResolvers<void>();
  const whole = await packed(new TextEncoder().encode("a record"));
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(whole.slice(0, 12)),
    cancel: () => cancelled.resolve(),
  });
  const reader = new RequestBodies({ bytesMax: MIB, allBytesMax: MIB, timeoutMs: 500 });
  assert.equal((await reader.read(gzipRequest(stream)) as Response).status, 408);
  await cancelled.promise;
  // It keeps nobody waiting.
  assert.equal((await reader.read(gzipRequest(whole)) as Uint8Array).length, 8);
});
