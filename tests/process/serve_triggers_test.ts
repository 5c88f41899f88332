/**
 * Listening to triggers, of a real process: what comes, what comes again, who is too many, too slow, or too curious.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { EventStream } from "../support/event_stream.ts";
import { inDirectory, killAtOnce, until } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";

const NOW_MS = Date.now();
/** With one partition triggers leave in the order in which their records came. */
const ONE = ["--partitions", "1"];

function record(kind: string, device: string, seconds: number, fence = "depot"): string {
  return JSON.stringify({ device_id: device, fence_id: fence, kind, event_time_ms: NOW_MS + seconds * 1000 });
}

function devicesIn(events: readonly { readonly data: string }[]): string[] {
  return events.map(({ data }) => (JSON.parse(data) as { device_id: string }).device_id);
}

async function inService(
  args: readonly string[],
  use: (service: RunningService, directory: string) => Promise<void>,
): Promise<void> {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state"), ...ONE, ...args]);
    try {
      await use(service, directory);
    } finally {
      killAtOnce(service.started.child);
      await service.started.ended;
    }
  });
}

Deno.test("serve: triggers come as they are in the output, and again behind the last that was seen", async () => {
  await inService([], async (service, directory) => {
    await service.send([record("ENTER", "before", -100)]);
    const live = await EventStream.open(`${service.url}/v1/triggers`);
    equal(live.response.headers.get("content-type"), "text/event-stream");
    await service.send([record("ENTER", 'a"\n\\', -60), record("ENTER", "b", -50)]);
    await service.send([record("EXIT", "b", -40)]);
    const events = await live.take(3);
    deepEqual(events.map(({ event }) => event), ["ENTER", "ENTER", "EXIT"]);
    const output = (await Deno.readTextFile(join(directory, "state", "triggers.ndjson"))).trimEnd().split(
      "\n",
    );
    deepEqual(events.map(({ data }) => data), output.slice(1));
    for (const { id, data } of events) equal(id, (JSON.parse(data) as { id: string }).id);
    await live.close();
    const lastId = events[0]?.id as string;
    for (
      const [query, headers] of [
        ["", { "last-event-id": lastId }],
        [`?last_event_id=${lastId}`, {}],
        ["?last_event_id=long-ago", { "last-event-id": lastId }],
      ] as const
    ) {
      const again = await EventStream.open(`${service.url}/v1/triggers${query}`, headers);
      deepEqual(await again.take(2), events.slice(1));
      await again.close();
    }
  });
});

Deno.test("serve: filters by kind, fence and device; a filter that is none is refused", async () => {
  await inService([], async (service) => {
    const cases: readonly (readonly [query: string, devices: readonly string[]])[] = [
      ["kind=EXIT", ["b", "e"]],
      ["kind=exit,dwell", ["b", "e"]],
      ["kind=EXIT&kind=ENTER", ["a", "b", "c/1", "d", "b", "e"]],
      ["fence=gate-*", ["c/1", "d"]],
      ["fence=gate-1&fence=de*ot", ["a", "b", "c/1", "b", "e"]],
      [`device=${encodeURIComponent("c/1")}`, ["c/1"]],
      ["kind=ENTER&fence=*&device=b", ["b"]],
    ];
    const streams = await Promise.all(
      cases.map(([query]) => EventStream.open(`${service.url}/v1/triggers?${query}`)),
    );
    await service.send([
      record("ENTER", "a", -60),
      record("ENTER", "b", -59),
      record("ENTER", "c/1", -58, "gate-1"),
      record("ENTER", "d", -57, "gate-2"),
      record("EXIT", "b", -50),
      record("EXIT", "e", -49),
    ]);
    for (const [i, [query, devices]] of cases.entries()) {
      deepEqual(devicesIn(await (streams[i] as EventStream).take(devices.length)), devices, query);
    }
    await Promise.all(streams.map((stream) => stream.close()));
    const refused = [
      "kind=LEAVE",
      "kind=",
      "fence=",
      "device=",
      `device=${"x".repeat(257)}`,
      "fence=a&".repeat(17),
    ];
    for (const query of refused) {
      const response = await fetch(`${service.url}/v1/triggers?${query}`);
      equal(response.status, 400, query);
      await response.body?.cancel();
    }
    const head = await fetch(`${service.url}/v1/triggers`, { method: "HEAD" });
    deepEqual([head.status, head.headers.get("content-type")], [200, "text/event-stream"]);
  });
});

Deno.test("serve: an id that is not known, whatever it is, brings a gap and all that is there", async () => {
  await inService([], async (service, directory) => {
    const { id } = JSON.parse(
      (await service.send([record("ENTER", "a", -60), record("ENTER", "b", -50)])).status === 200
        ? (await Deno.readTextFile(join(directory, "state", "triggers.ndjson"))).split("\n")[0] as string
        : "{}",
    ) as { id: string };
    const hostile = [
      "0".repeat(32),
      id.toUpperCase() + "0",
      `${id}\tx`,
      '"}\\n',
      "data: x",
      "é\u00ff",
      "../../etc",
      "x".repeat(4000),
      id.slice(1),
    ];
    for (const lastId of hostile) {
      const stream = await EventStream.open(`${service.url}/v1/triggers`, { "last-event-id": lastId });
      const [gap, ...rest] = await stream.take(3);
      deepEqual([gap?.event, gap?.id], ["gap", null]);
      const said = JSON.parse(gap?.data as string) as { last_event_id: string };
      equal(lastId.startsWith(said.last_event_id), true);
      ok(said.last_event_id.length <= 100);
      deepEqual(devicesIn(rest), ["a", "b"]);
      await stream.close();
    }
    const inQuery = await EventStream.open(
      `${service.url}/v1/triggers?last_event_id=${encodeURIComponent("\r\n\r\nevent: x")}`,
    );
    equal((await inQuery.next())?.event, "gap");
    await inQuery.close();
    // After a restart nothing is in memory.
    await service.kill();
    const again = await RunningService.start(["--state", join(directory, "state"), ...ONE]);
    const back = await EventStream.open(`${again.url}/v1/triggers`, { "last-event-id": id });
    equal((await back.next())?.event, "gap");
    await again.send([record("ENTER", "c", -40)]);
    deepEqual(devicesIn(await back.take(1)), ["c"]);
    const ended = back.next();
    equal((await again.stop()).status, 0);
    equal(await ended, null);
  });
});

Deno.test("serve: as many may listen as configured, and a place is free again when one hangs up", async () => {
  await inService(["--set", "http.streams_max=40"], async (service) => {
    const streams = await Promise.all(
      Array.from({ length: 40 }, () => EventStream.open(`${service.url}/v1/triggers`)),
    );
    const refused = await fetch(`${service.url}/v1/triggers`);
    equal(refused.status, 503);
    match((await refused.json() as { detail: string }).detail, /http\.streams_max/);
    await service.send(Array.from({ length: 200 }, (_, i) => record("ENTER", `device-${i}`, -60 + i / 10)));
    const all = await Promise.all(streams.map((stream) => stream.take(200)));
    for (const events of all) equal(new Set(devicesIn(events)).size, 200);
    await streams[7]?.close();
    let next: EventStream | null = null;
    await until(async () => {
      next = await EventStream.open(`${service.url}/v1/triggers`);
      if (next.response.status === 200) return true;
      await next.close();
      return false;
    }, "a place that is free");
    await (next as EventStream | null)?.close();
    // All who listen come to their end with the service.
    const ends = streams.filter((_, i) => i !== 7).map((stream) => stream.next());
    equal((await service.stop()).status, 0);
    deepEqual(new Set(await Promise.all(ends)), new Set([null]));
  });
});

Deno.test("serve: one who listens is kept by comments beyond the idle timeout", async () => {
  await inService(["--set", "http.idle_timeout=600ms"], async (service) => {
    const stream = await EventStream.open(`${service.url}/v1/triggers`);
    for (let i = 0; i < 6; i++) await stream.comment();
    await service.send([record("ENTER", "a", -60)]);
    deepEqual(devicesIn(await stream.take(1)), ["a"]);
    await stream.close();
  });
});

Deno.test("serve: one who reads nothing is sent away, and holds up nobody", async () => {
  await inService([], async (service) => {
    const { hostname, port } = new URL(service.url);
    const idle = await Deno.connect({ hostname, port: Number(port) });
    await idle.write(
      new TextEncoder().encode(`GET /v1/triggers HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`),
    );
    const reader = await EventStream.open(`${service.url}/v1/triggers?kind=EXIT`);
    const attributes = { pad: "x".repeat(12_000) };
    // More than the ring and all that lies between it and the client can hold.
    for (let i = 0; i < 40; i++) {
      const lines = Array.from({ length: 100 }, (_, n) =>
        JSON.stringify({
          ...JSON.parse(record("ENTER", `device-${i}-${n}`, -100 + i)) as Record<string, unknown>,
          attributes,
        }));
      equal((await service.send(lines)).status, 200);
    }
    await service.send([record("EXIT", "last", -10)]);
    deepEqual(devicesIn(await reader.take(1)), ["last"]);
    await reader.close();
    const text = await new Response(idle.readable).text();
    match(text.slice(-200), /: too slow: come back with Last-Event-ID/);
    equal((await service.stop()).status, 0);
  });
});

Deno.test("serve: one who takes nothing does not hold up the end", async () => {
  await inService([], async (service) => {
    const { hostname, port } = new URL(service.url);
    const idle = await Deno.connect({ hostname, port: Number(port) });
    await idle.write(new TextEncoder().encode(`GET /v1/triggers HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`));
    const attributes = { pad: "x".repeat(12_000) };
    // More than lies between the ring and the client, and less than the ring.
    for (let i = 0; i < 11; i++) {
      const lines = Array.from({ length: 100 }, (_, n) =>
        JSON.stringify({
          ...JSON.parse(record("ENTER", `device-${i}-${n}`, -100 + i)) as Record<string, unknown>,
          attributes,
        }));
      equal((await service.send(lines)).status, 200);
    }
    const { status, stderr } = await service.stop();
    equal(status, 0, stderr);
    ok(!/failed|Error/.test(stderr), stderr);
    idle.close();
  });
});
