/**
 * The gate: who is let in, who is cut off, and that bytes pass as they are.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Gate } from "../../../actors/adapters/http/gate.ts";
import { until } from "../../support/fencepost_process.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A gate before a server that answers with the length of the body. */
async function withGate(
  limits: {
    connectionsMax?: number;
    requestTimeoutMs?: number;
    idleTimeoutMs?: number;
    refused?: () => void;
  },
  use: (port: number, gate: Gate) => Promise<void>,
): Promise<void> {
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request, { remoteAddr }): Promise<Response> => {
      // A body that was cut off has no length.
      const byteLength = await request.arrayBuffer().then((body) => body.byteLength, () => NaN);
      return new Response(`${byteLength} of ${gate.peerOf(remoteAddr.port)}`);
    },
  );
  const gate: Gate = new Gate({
    hostname: "127.0.0.1",
    port: 0,
    isTls: false,
    serverPort: server.addr.port,
    connectionsMax: limits.connectionsMax ?? 100,
    requestTimeoutMs: limits.requestTimeoutMs ?? 60_000,
    idleTimeoutMs: limits.idleTimeoutMs ?? 60_000,
    refused: limits.refused ?? (() => {}),
  });
  try {
    await use(gate.address.port, gate);
  } finally {
    await gate.close();
    await server.shutdown();
  }
}

/** Sends bytes and reads until the other end closes. */
async function conversation(port: number, text: string): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(text));
  const said = await readAll(connection);
  connection.close();
  return said;
}

async function readAll(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4096);
  let said = "";
  try {
    for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
      said += decoder.decode(buffer.subarray(0, count));
    }
  } catch {
    // Cut off.
  }
  return said;
}

Deno.test("gate: bodies of megabytes pass, and the server knows whose they are", async () => {
  await withGate({}, async (port) => {
    const body = new Uint8Array(3 << 20).fill(65);
    const bodies = Array.from(
      { length: 8 },
      () => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body }),
    );
    for (const response of await Promise.all(bodies)) {
      equal(await response.text(), `${body.length} of 127.0.0.1`);
    }
  });
});

Deno.test("gate: what is half said is cut off: nothing, half a head, half a body", async () => {
  const halves = [
    "",
    "GET / HTTP/1.1\r\nHost: a\r\nX-",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
  ];
  await withGate({ requestTimeoutMs: 300 }, async (port, gate) => {
    const answers = await Promise.all(halves.map((half) => conversation(port, half)));
    for (const answer of answers) ok(answer.startsWith("HTTP/1.1 408 "), answer);
    equal(gate.counts.cut, 3);
    equal(gate.connections, 0);
  });
});

Deno.test("gate: a connection at rest is closed, one that asks again and again is not", async () => {
  await withGate({ idleTimeoutMs: 400, requestTimeoutMs: 400 }, async (port, gate) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const request = encoder.encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const buffer = new Uint8Array(4096);
    const untilMs = performance.now() + 1500;
    while (performance.now() < untilMs) {
      await connection.write(request);
      ok((await connection.read(buffer) ?? 0) > 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    equal(gate.counts.cut, 0);
    equal(await readAll(connection), "");
    connection.close();
    equal(gate.counts.cut, 1);
  });
});

Deno.test("gate: over its bound a connection is told so, and when one has gone the next is let in", async () => {
  let refused = 0;
  await withGate({ connectionsMax: 2, refused: () => refused++ }, async (port, gate) => {
    const held = [await Deno.connect({ port }), await Deno.connect({ port })];
    await until(() => gate.connections === 2, "both to be taken");
    ok((await conversation(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")).startsWith("HTTP/1.1 503 "));
    deepEqual([gate.counts, refused], [{ refused: 1, cut: 0 }, 1]);
    held[0]?.close();
    await until(() => gate.connections === 1, "one to be gone");
    equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "0 of 127.0.0.1");
    held[1]?.close();
  });
});

Deno.test("gate: a client that takes no answer is cut off", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    return new Response(new Uint8Array(64 << 20));
  });
  const gate = new Gate({
    ...{ hostname: "127.0.0.1", port: 0, isTls: false, serverPort: server.addr.port },
    ...{ connectionsMax: 10, requestTimeoutMs: 400, idleTimeoutMs: 400, refused: () => {} },
  });
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: gate.address.port });
  await connection.write(encoder.encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  await until(() => gate.counts.cut === 1, "it to be cut off");
  equal(gate.connections, 0);
  connection.close();
  await gate.close();
  await server.shutdown();
});
