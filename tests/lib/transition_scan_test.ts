import { strictEqual } from "node:assert/strict";
import { DecodedTransition } from "../../lib/decoded_transition.ts";
import { plainStringEnd } from "../../lib/plain_json.ts";
import { TransitionParser } from "../../lib/transition_parse.ts";
import { TransitionScanner } from "../../lib/transition_scan.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const textDecoder = new TextDecoder();

/** Ordinary records, from which the mutations start. */
const SEEDS = [
  '{"device_id":"truck-1","fence_id":"depot","kind":"ENTER","event_time":"2026-05-04T08:00:00.250Z"}',
  '{"kind":"x","event_time_ms":1777881600250,"fence_id":"depot","device_id":"truck-1","seq":7}',
  '{"device_id":"a","fence_id":"b","kind":"E","event_time":"2026-05-04T08:00:00Z","ingest_time":"2026-05-04T08:00:01+02:00"}',
  '{"device_id":"a","fence_id":"b","kind":"dwell","event_time_ns":1777881600250000001,"ingest_time_us":1777881600250000}',
  '{"device_id":"a","fence_id":"b","kind":"STALE","event_time_us":"1777881600250000","attributes":{"a":[1,-2.5e3],"b":null}}',
  '{"device_id":"a","fence_id":"b","kind":"EXIT","event_time_ns":"999","seq":"#1","x":{"a":{"b":[true,false]}},"y":[]}',
  '{ "device_id": "clock", "kind": "HEARTBEAT", "event_time": "2026-05-04 08:21:00.000z", "ingest_time_ms": 0.5e1 }',
  '{"device_id":"a","fence_id":"b","kind":"E","event_time":"2026-05-04T08:00:00Z","seq":1,"seq":2,"kind":"X","attributes":7}',
  '{"device_id":"车-07","fence_id":"ворота/№3 🚧","kind":"X","event_time":"2026-05-04T08:00:00Z","seq":null,"é":"\x7f"}',
];

/** What mutations put in: what means something somewhere in a record. */
const PIECES = [
  ...'{}[]":,\\ \t\n\r-+.eE0123456789xTZzn\x00\x7fé🚧',
  "null",
  "true",
  "false",
  '""',
  "1e5",
  "-0",
  "00",
  "\\u0041",
  "\\n",
  "9007199254740993",
  '"a":1,',
  ',"b":[{}]',
  ',"kind":"X"',
  ',"seq":null',
  ',"ingest_time":null',
  ',"ingest_time_ns":null',
  ',"attributes":null',
  "车",
  "\u0080",
  "\ufeff",
  ',"event_time_ms":1777881600250',
  ',"event_time":"2026-05-04T08:00:00.250Z"',
  ',"ingest_time_ns":1777881600250000001',
  ',"attributes": [1, 2]',
  ',"__proto__":{"seq":1}',
  "_ms",
  "_ns",
  "60",
  "+05:30",
  '"device_id":"z",',
  "9".repeat(20),
  "[".repeat(20),
  "y".repeat(300),
];

function mutate(line: string, random: () => number): string {
  const pick = (count: number) => Math.floor(random() * count);
  for (let times = 1 + pick(3); times > 0; times--) {
    const at = pick(line.length + 1);
    const until = Math.min(line.length, at + pick(random() < 0.2 ? 20 : 3));
    const piece = PIECES[pick(PIECES.length)] ?? "";
    const action = pick(5);
    if (action === 0) line = line.slice(0, at) + piece + line.slice(at);
    else if (action === 1) line = line.slice(0, at) + piece + line.slice(until);
    else if (action === 2) line = line.slice(0, at) + line.slice(until);
    else if (action === 3) line = line.slice(0, until) + line.slice(at, until) + line.slice(until);
    else line = swapMembers(line, pick);
  }
  return line;
}

function swapMembers(line: string, pick: (count: number) => number): string {
  const members = line.slice(1, -1).split(",");
  const [member = ""] = members.splice(pick(members.length), 1);
  members.splice(pick(members.length + 1), 0, member);
  return `{${members.join(",")}}`;
}

function show(result: DecodedTransition): string {
  const textOf = (start: number, end: number) => textDecoder.decode(result.bytes.subarray(start, end));
  return JSON.stringify([
    result.kind,
    textOf(result.deviceStart, result.deviceEnd),
    textOf(result.fenceStart, result.fenceEnd),
    // −0 would be shown as 0.
    Object.is(result.eventTimeUs, -0) ? "-0" : String(result.eventTimeUs),
    String(result.ingestTimeUs),
    textOf(result.seqStart, result.seqEnd),
    textOf(result.attributesStart, result.attributesEnd),
  ]);
}

Deno.test("TransitionScanner: what it accepts, the parser accepts with the same result", () => {
  const scanned = new DecodedTransition();
  const parsed = new DecodedTransition();
  const scanner = new TransitionScanner(scanned);
  const parser = new TransitionParser(parsed);
  const frame = new Uint8Array(8192);
  let accepted = 0;
  let refused = 0;
  for (let seed = 0; seed < 25; seed++) {
    const random = randomFrom(seed);
    // What follows the record in its buffer must not be read as a part of it.
    frame.fill(encoder.encode('}],"0 \n')[seed % 7] ?? 0);
    for (let step = 0; step < 10_000; step++) {
      const line = mutate(SEEDS[step % SEEDS.length] ?? "", random);
      const { written: end } = encoder.encodeInto(line, frame);
      // What a text can't be: broken UTF-8.
      if (random() < 0.1) frame[Math.floor(random() * end)] = 0x78 + Math.floor(random() * 0x88);
      const isAccepted = scanner.scan(frame, 0, end);
      // The parser alone decides on the rest: it would be compared with itself.
      if (!isAccepted && step % 8 !== 0) continue;
      const outcome = parser.parse(frame, 0, end);
      if (!isAccepted) {
        if (outcome !== "transition") refused++;
        continue;
      }
      accepted++;
      strictEqual(outcome, "transition", `seed ${seed}, step ${step}: ${line}`);
      strictEqual(show(scanned), show(parsed), `seed ${seed}, step ${step}: ${line}`);
      const { attributesStart: from, attributesEnd: to } = scanned;
      const attributes = from === to
        ? null
        : JSON.parse(textDecoder.decode(scanned.bytes.subarray(from, to)));
      const expected = JSON.parse(textDecoder.decode(frame.subarray(0, end))).attributes ?? null;
      strictEqual(
        JSON.stringify(attributes),
        JSON.stringify(expected),
        `seed ${seed}, step ${step}: ${line}`,
      );
    }
  }
  // Both outcomes were met often enough to mean something.
  strictEqual(accepted > 40_000, true, `accepted ${accepted}`);
  strictEqual(refused > 10_000, true, `refused ${refused}`);
});

Deno.test("plainStringEnd: UTF-8 as TextDecoder has it, for all sequences that matter", () => {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const seconds = [0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
  const others = [0x20, 0x7f, 0x80, 0xbf, 0xc0];
  const bytes = new Uint8Array(5);
  for (let lead = 0x80; lead < 0x100; lead++) {
    for (const second of seconds) {
      for (const third of others) {
        for (const fourth of others) {
          bytes.set([lead, second, third, fourth, 0x22]);
          let isText = true;
          try {
            strict.decode(bytes);
          } catch {
            isText = false;
          }
          strictEqual(plainStringEnd(bytes, 0, 5), isText ? 4 : -1, bytes.join());
        }
      }
    }
  }
});

Deno.test("plainStringEnd: a character that the record's end cuts is none", () => {
  const bytes = encoder.encode('"🚧"');
  for (let end = 1; end <= bytes.length; end++) {
    strictEqual(plainStringEnd(bytes, 1, end), end === bytes.length ? 5 : -1, String(end));
  }
});

Deno.test("TransitionScanner: takes the common records by itself", () => {
  const scanner = new TransitionScanner(new DecodedTransition());
  const taken = SEEDS.map((line) => {
    const bytes = encoder.encode(line);
    return scanner.scan(bytes, 0, bytes.length);
  });
  // The heartbeat's ingest time is written with an exponent.
  strictEqual(taken.join(), "true,true,true,true,true,true,false,true,true");
});
