import { equal, ok } from "node:assert/strict";
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
