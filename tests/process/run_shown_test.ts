/**
 * A run that listens: what it shows of itself while it reads a pipe, without an intake.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { EventStream } from "../support/event_stream.ts";
import { inDirectory, killAtOnce, RunFiles, startFencepost, until } from "../support/fencepost_process.ts";

const NOW_MS = Date.now();

function record(kind: string, seconds: number): Uint8Array {
  const event_time_ms = NOW_MS + seconds * 1000;
  return new TextEncoder().encode(
    `${JSON.stringify({ device_id: "truck-7", fence_id: "depot", kind, event_time_ms })}\n`,
  );
}

Deno.test("run --listen: pairs, triggers and a description, but nothing is taken", async () => {
  await inDirectory(async (directory) => {
    const said = Promise.withResolvers<string>();
    const files = new RunFiles(directory);
    const args = ["run", "--output", files.output, ...files.kept, "--listen", "127.0.0.1:0"];
    const { child, ended } = startFencepost(args, {
      input: "piped",
      permissions: ["--allow-read", "--allow-write", "--allow-net", "--allow-env"],
      onStderr: (text) => {
        const found = /Listening on (\S+)/.exec(text);
        if (found !== null) said.resolve(found[1] as string);
      },
    });
    try {
      const url = await said.promise;
      const statusOf = async (path: string, init: RequestInit = {}): Promise<number> => {
        const response = await fetch(url + path, init);
        await response.body?.cancel();
        return response.status;
      };
      await until(async () => await statusOf("/readyz") === 200, "the run to be ready");
      equal(await statusOf("/v1/pairs/truck-7/depot"), 404);
      const stream = await EventStream.open(`${url}/v1/triggers`);
      const stdin = child.stdin.getWriter();
      await stdin.write(record("ENTER", -60));
      await stdin.write(record("EXIT", -50));
      deepEqual((await stream.take(2)).map(({ event }) => event), ["ENTER", "EXIT"]);
      equal(await statusOf("/v1/pairs/truck-7/depot"), 200);
      equal(await statusOf("/v1/devices/truck-7"), 200);
      equal(await statusOf("/v1/transitions", { method: "POST", body: "{}" }), 404);
      const { paths } = await (await fetch(`${url}/openapi.json`)).json() as {
        paths: Record<string, unknown>;
      };
      deepEqual(["/v1/transitions" in paths, "/v1/triggers" in paths], [false, true]);
      await stdin.close();
      equal(await stream.next(), null);
      equal((await ended).status, 0);
    } finally {
      killAtOnce(child);
      await ended;
    }
  });
});
