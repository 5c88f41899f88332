/**
 * The service over TLS: its certificate, half handshakes, and what is wrong with either.
 *
 * @module
 */
import { equal, match, rejects } from "node:assert/strict";
import { join } from "node:path";
import { TestAuthority } from "../support/certificates.ts";
import { inDirectory, startFencepost } from "../support/fencepost_process.ts";

const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];

async function get(port: number, caFile: string): Promise<string> {
  const caCerts = [await Deno.readTextFile(caFile)];
  const connection = await Deno.connectTls({ hostname: "localhost", port, caCerts });
  try {
    await connection.write(
      new TextEncoder().encode("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    );
    const buffer = new Uint8Array(1024);
    const count = await connection.read(buffer);
    return new TextDecoder().decode(buffer.subarray(0, count ?? 0)).split("\r\n", 1)[0] as string;
  } finally {
    connection.close();
  }
}

Deno.test("serve: over TLS, whoever does not finish a handshake is cut off, and others are answered", async () => {
  await inDirectory(async (directory) => {
    const authority = await TestAuthority.make(join(directory, "ca"));
    const stranger = await TestAuthority.make(join(directory, "stranger"));
    const { certFile, keyFile } = await authority.sign({ name: "here", names: "DNS:localhost,IP:127.0.0.1" });
    const said = Promise.withResolvers<number>();
    const tls = JSON.stringify({ cert_file: certFile, key_file: keyFile });
    const started = startFencepost([
      ...["serve", "--listen", "127.0.0.1:0", "--state", join(directory, "state")],
      ...["--set", `http.tls=${tls}`, "--set", "http.request_timeout=1s"],
    ], {
      permissions: PERMISSIONS,
      onStderr: (text) => {
        const found = /Listening on https:\/\/127\.0\.0\.1:(\d+)/.exec(text);
        if (found !== null) said.resolve(Number(found[1]));
      },
    });
    started.ended.then(({ stderr }) => said.reject(new Error(stderr)));
    const port = await said.promise;
    // Neither says anything that TLS would understand.
    const silent = await Deno.connect({ port });
    const plain = await Deno.connect({ port });
    await plain.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    match(await get(port, authority.caFile), /^HTTP\/1\.1 (200|503) /);
    await rejects(get(port, stranger.caFile));
    for (const connection of [silent, plain]) {
      const buffer = new Uint8Array(256);
      for (;;) {
        const count = await connection.read(buffer).catch(() => null);
        if (count === null) break;
      }
      connection.close();
    }
    match(await get(port, authority.caFile), /^HTTP\/1\.1 200 /);
    started.child.kill("SIGTERM");
    const { status, stderr } = await started.ended;
    equal(status, 0, stderr);
  });
});

Deno.test("serve: a certificate that can't be used is refused, and says which", async () => {
  await inDirectory(async (directory) => {
    const authority = await TestAuthority.make(join(directory, "ca"));
    const { certFile, keyFile } = await authority.sign({ name: "here", names: "DNS:localhost" });
    const other = await authority.sign({ name: "other", names: "DNS:localhost" });
    const nothing = join(directory, "nothing.pem");
    const table: readonly (readonly [cert: string, key: string, said: RegExp])[] = [
      [nothing, keyFile, /Cannot read http\.tls\.cert_file from .*nothing\.pem/],
      [certFile, nothing, /Cannot read http\.tls\.key_file from .*nothing\.pem/],
      [keyFile, keyFile, /Cannot listen on 127\.0\.0\.1:0: .*/],
      [certFile, other.keyFile, /Cannot listen on 127\.0\.0\.1:0: .*/],
    ];
    for (const [cert_file, key_file, what] of table) {
      const tls = JSON.stringify({ cert_file, key_file });
      const { status, stderr } = await startFencepost([
        ...[
          "serve",
          "--listen",
          "127.0.0.1:0",
          "--state",
          join(directory, "state"),
          "--set",
          `http.tls=${tls}`,
        ],
      ], { permissions: PERMISSIONS }).ended;
      equal(status, 1, stderr);
      match(stderr, what);
    }
  });
});
