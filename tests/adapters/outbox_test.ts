/**
 * The outbox on the disk: segments, torn ends, positions, what is given back, what damage does.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { loadEndpoint, saveEndpoint } from "../../actors/adapters/webhook/endpoint_files.ts";
import { OutboxLog } from "../../actors/adapters/webhook/outbox_log.ts";
import { LogReader } from "../../actors/adapters/webhook/outbox_reader.ts";
import { OutboxSink } from "../../actors/adapters/webhook/outbox_sink.ts";
import type { Sink } from "../../actors/ports.ts";
import type { Json } from "../../lib/json.ts";
import { SimulatedClock } from "../sim/simulated_ports.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { randomFrom } from "../support/random.ts";

const NOON_US = Date.UTC(2026, 2, 1, 12) * 1000;
const clock = new SimulatedClock(NOON_US);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function trigger(n: number, padding = 0): string {
  return `{"id":"${String(n).padStart(32, "0")}","kind":"ENTER","device_id":"d","fence_id":"f",` +
    `"event_time":"2026-11-30T20:40:00.000000Z","attributes":"${"x".repeat(padding)}"}`;
}

async function write(sink: Sink, ...triggers: readonly string[]): Promise<void> {
  const bytes = encoder.encode(triggers.map((line) => `${line}\n`).join(""));
  await sink.write({ bytes, byteLength: bytes.length, count: triggers.length }, () => {
    throw new Error("The outbox refuses nothing");
  });
}

async function readBack(sink: Sink): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of sink.readBack()) lines.push(decoder.decode(line));
  return lines;
}

function sinkOf(log: OutboxLog, split: string, notices: string[] = []): OutboxSink {
  return new OutboxSink({ log, split, clock, notice: (message) => notices.push(message) });
}

async function readAll(log: OutboxLog, from = log.start): Promise<string[]> {
  const reader = new LogReader(log, from, (offset) => lines.push(`damaged at ${offset}`));
  const lines: string[] = [];
  for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
    deepEqual((await reader.at(entry.offset))?.trigger, entry.trigger, "a line alone is the same");
    equal(entry.toldUs, NOON_US);
    lines.push(`${entry.split} ${decoder.decode(entry.trigger)}`);
  }
  return lines;
}

Deno.test("outbox: splits share it, each reads back its own behind its position, over segments", () =>
  inDirectory(async (directory) => {
    const log = await OutboxLog.open({ directory, segmentBytes: 300 });
    const [one, two] = [sinkOf(log, "one"), sinkOf(log, "two")];
    await one.open(null);
    await two.open(null);
    await write(one, trigger(1), trigger(2));
    await write(two, trigger(3));
    const position = await one.flush();
    await write(two, trigger(4, 500));
    await write(one, trigger(5, 70_000));
    await write(two, trigger(6));
    await one.flush();
    await one.open(position);
    await two.open(position);
    deepEqual(await readBack(one), [trigger(5, 70_000)]);
    deepEqual(await readBack(two), [trigger(4, 500), trigger(6)]);
    const all = [`one ${trigger(1)}`, `one ${trigger(2)}`, `two ${trigger(3)}`, `two ${trigger(4, 500)}`];
    const expected = [...all, `one ${trigger(5, 70_000)}`, `two ${trigger(6)}`];
    deepEqual(await readAll(log), expected);
    equal(await log.countLines(log.start), 6);
    await log.close();
    const again = await OutboxLog.open({ directory, segmentBytes: 300 });
    equal(again.id, log.id);
    deepEqual(await readAll(again), expected);
    await again.close();
  }));

Deno.test("outbox: only what is durable is read, and a torn end is cut off at the next start", () =>
  inDirectory(async (directory) => {
    const log = await OutboxLog.open({ directory });
    const sink = sinkOf(log, "one");
    await sink.open(null);
    let told = 0;
    log.onGrown = (lines) => told += lines;
    await write(sink, trigger(1), trigger(2));
    deepEqual([await readAll(log), told], [[], 0]);
    await sink.flush();
    deepEqual([(await readAll(log)).length, told], [2, 2]);
    await log.close();
    const [segment] = (await Array.fromAsync(Deno.readDir(directory))).filter(({ name }) =>
      name.endsWith(".log")
    );
    const path = join(directory, segment?.name ?? "");
    const { size } = await Deno.stat(path);
    for (const torn of ["o", "one 1772366400000 {", trigger(9)]) {
      await Deno.writeTextFile(path, torn, { append: true });
      const next = await OutboxLog.open({ directory });
      equal(next.end, size);
      equal((await readAll(next)).length, 2);
      await next.close();
    }
    // The last one as a power cut leaves it whose first page was not written, and the one behind it was.
    const holed = `one 1772366400000 ${
      trigger(9).replace(/(?<=0{9})0+9/, (digits) => "\0".repeat(digits.length))
    }`;
    for (const damaged of ["damaged", "one 1772366400000 {\0\0}", holed]) {
      await Deno.writeTextFile(path, `${damaged}\n`, { append: true });
      const next = await OutboxLog.open({ directory });
      const at = next.end - damaged.length - 1;
      deepEqual((await readAll(next)).at(-1), `damaged at ${at}`);
      equal(await new LogReader(next, at, () => {}).at(at), null);
      await next.close();
    }
  }));

Deno.test("outbox: two processes can't have it", () =>
  inDirectory(async (directory) => {
    const log = await OutboxLog.open({ directory });
    // Where a lock can't be tried for, whoever was refused goes on waiting for it.
    if ("tryLock" in Deno.FsFile.prototype) {
      await rejects(OutboxLog.open({ directory }), { name: "StateInUseError" });
    }
    await log.close();
  }));

Deno.test("outbox: a position of another outbox is met once, and what was written since is read back, also after a crash", () =>
  inDirectory(async (directory) => {
    const log = await OutboxLog.open({ directory });
    const elsewhere: Json = { outbox: "another", offset: 12 };
    const notices: string[] = [];
    const first = sinkOf(log, "one", notices);
    await first.open(elsewhere);
    deepEqual(await readBack(first), []);
    await write(first, trigger(1), trigger(2));
    await first.flush();
    const second = sinkOf(log, "one", notices);
    await second.open(elsewhere);
    deepEqual(await readBack(second), [trigger(1), trigger(2)]);
    equal(notices.length, 1);
    const other = sinkOf(log, "one", notices);
    await other.open({ outbox: log.id, offset: log.end + 1 });
    deepEqual(await readBack(other), [], "one that lies behind the end is none of ours either");
    equal(notices.length, 2);
    await log.close();
  }));

Deno.test("outbox: without its segments it is another one, and an endpoint begins at its beginning", () =>
  inDirectory(async (directory) => {
    const log = await OutboxLog.open({ directory });
    const sink = sinkOf(log, "one");
    await sink.open(null);
    await write(sink, trigger(1));
    await sink.flush();
    const { state, isNew } = await loadEndpoint(log, "erp");
    deepEqual([state.cursor, isNew], [log.end, true], "a new one begins at the end");
    const retry = { offset: 0, toldUs: NOON_US, attempts: 1, dueUs: NOON_US, reason: "status 500" };
    await saveEndpoint(log, "erp", { ...state, retries: [retry] });
    deepEqual((await loadEndpoint(log, "erp")).state.retries, [retry]);
    await log.close();
    for await (const { name } of Deno.readDir(directory)) {
      if (name.endsWith(".log")) await Deno.remove(join(directory, name));
    }
    const other = await OutboxLog.open({ directory });
    ok(other.id !== log.id);
    deepEqual((await loadEndpoint(other, "erp")).state, {
      cursor: 0,
      retries: [],
      rejected: [],
      disabled: null,
    });
    await other.close();
  }));

Deno.test("outbox: space is given back segment by segment, with gaps, and never the one that is written to", () =>
  inDirectory(async (directory) => {
    const random = randomFrom(5);
    const options = { directory, segmentBytes: 1000 };
    let log = await OutboxLog.open(options);
    const sink = sinkOf(log, "one");
    await sink.open(null);
    for (let n = 0; n < 100; n++) {
      await write(sink, trigger(n, Math.floor(random() * 200)));
      await sink.flush();
    }
    const all = await readAll(log);
    const reader = new LogReader(log, 0, () => {});
    const offsets: number[] = [];
    for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
      offsets.push(entry.offset);
    }
    const kept = offsets[40] as number;
    await log.drop(({ start, end }) => kept >= start && kept < end);
    const left = await readAll(log);
    ok(left.includes(all[40] as string) && left.includes(all[99] as string));
    ok(left.length < 30, `${left.length} lines are left`);
    await log.close();
    log = await OutboxLog.open(options);
    deepEqual(await readAll(log), left);
    equal(await log.countLines(0), left.length);
    equal(
      await new LogReader(log, 0, () => {}).at(offsets[60] as number),
      null,
      "what is gone is not another trigger",
    );
    await log.close();
  }));

Deno.test("outbox: a segment that was cut short holds up nothing behind it", () =>
  inDirectory(async (directory) => {
    const options = { directory, segmentBytes: 100 };
    const log = await OutboxLog.open(options);
    const sink = sinkOf(log, "one");
    await sink.open(null);
    for (let n = 0; n < 3; n++) {
      await write(sink, trigger(2 * n), trigger(2 * n + 1));
      await sink.flush();
    }
    const line = log.end / 6;
    await log.close();
    await Deno.truncate(join(directory, `${String(2 * line).padStart(16, "0")}.log`), line + 30);
    const again = await OutboxLog.open(options);
    deepEqual(await readAll(again), [
      ...[`one ${trigger(0)}`, `one ${trigger(1)}`, `one ${trigger(2)}`, `damaged at ${3 * line}`],
      ...[`one ${trigger(4)}`, `one ${trigger(5)}`],
    ]);
    await again.close();
  }));
