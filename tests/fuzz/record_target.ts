/**
 * Records: whatever the bytes, the decoder says what the oracle's says, which was written from the specification alone;
 * and its two paths agree, since what the fast one accepts nobody else looks at.
 *
 * @module
 */
import { strictEqual } from "node:assert/strict";
import { DEAD_LETTER_REASONS } from "../../lib/dead_letter.ts";
import { DecodedTransition } from "../../lib/decoded_transition.ts";
import { KIND_NAMES } from "../../lib/kind.ts";
import { TransitionParser } from "../../lib/transition_parse.ts";
import { TransitionScanner } from "../../lib/transition_scan.ts";
import type { Chance } from "../sim/chance.ts";
import { readOracleRecord } from "../sim/oracle_record.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateJson } from "./mutation.ts";
import { showBytes } from "./show_bytes.ts";

/** Ordinary records, from which the damaged ones are made. */
export const RECORDS: readonly string[] = [
  '{"device_id":"truck-1","fence_id":"depot","kind":"ENTER","event_time":"2026-05-04T08:00:00.250Z"}',
  '{"kind":"x","event_time_ms":1777881600250,"fence_id":"depot","device_id":"truck-1","seq":7}',
  '{"device_id":"a","fence_id":"b","kind":"E","event_time":"2026-05-04T08:00:00Z","ingest_time":"2026-05-04T08:00:01+02:00"}',
  '{"device_id":"a","fence_id":"b","kind":"dwell","event_time_ns":"1777881600250000001","ingest_time_us":1777881600250000}',
  '{"device_id":"a","fence_id":"b","kind":"STALE","event_time_us":"1777881600250000","attributes":{"a":[1,-2.5e3],"b":null}}',
  '{"device_id":"a","fence_id":"b","kind":"EXIT","event_time_ns":"999","seq":"#1","x":{"a":{"b":[true,false]}},"y":[]}',
  '{ "device_id": "clock", "kind": "HEARTBEAT", "event_time": "2026-05-04 08:21:00.000z", "ingest_time_ms": 0.5e1 }',
  '{"device_id":"a","fence_id":"b","kind":"E","event_time":"2026-05-04T08:00:00Z","seq":1,"kind":"X","attributes":7}',
  '{"device_id":"车-07","fence_id":"ворота/№3 🚧","kind":"X","event_time":"2026-05-04T08:00:00Z","seq":null,"é":"\x7f"}',
];

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** What follows a record in its buffer must not be read as a part of it. */
const FOLLOWING = new TextEncoder().encode('}],"0 \n');

/** See the module's header. */
export class RecordTarget implements FuzzTarget {
  readonly name = "record";
  readonly share = 350_000;
  readonly outcomes = [
    "scanned",
    "parsed",
    ...DEAD_LETTER_REASONS.filter((reason) => !/TIME_|LATE|SINK|TOO_LARGE/.test(reason)),
  ];

  readonly #scanned = new DecodedTransition();
  readonly #parsed = new DecodedTransition();
  readonly #scanner = new TransitionScanner(this.#scanned);
  readonly #parser = new TransitionParser(this.#parsed);

  draw(chance: Chance): Uint8Array {
    return mutateJson(chance, chance.pick(RECORDS), chance.pick(RECORDS));
  }

  judge(input: Uint8Array): string {
    const frame = new Uint8Array(input.length + 32);
    frame.fill(FOLLOWING[input.length % FOLLOWING.length] as number);
    frame.set(input);
    const isScanned = this.#scanner.scan(frame, 0, input.length);
    const outcome = this.#parser.parse(frame, 0, input.length);
    if (isScanned) {
      strictEqual(outcome, "transition", "what is scanned is parsed");
      strictEqual(show(this.#scanned), show(this.#parsed), "both read the same");
    }
    const expected = saidByOracle(input);
    if (expected !== null) {
      strictEqual(saidBy(outcome, this.#parsed), expected, "the decoder reads what the oracle does");
    }
    return isScanned ? "scanned" : outcome === "transition" ? "parsed" : outcome;
  }

  show(input: Uint8Array): string {
    return showBytes(input);
  }
}

/** Every range as bytes. */
function show(result: DecodedTransition): string {
  const textOf = (start: number, end: number): string => decoder.decode(result.bytes.subarray(start, end));
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

function saidBy(outcome: string, result: DecodedTransition): string {
  if (outcome !== "transition" && outcome !== "INVALID_FIELD") return outcome;
  const textOf = (start: number, end: number): string => decoder.decode(result.bytes.subarray(start, end));
  const isWhole = outcome === "transition";
  return JSON.stringify([
    outcome,
    KIND_NAMES[result.kind],
    textOf(result.deviceStart, result.deviceEnd),
    textOf(result.fenceStart, result.fenceEnd),
    result.eventTimeUs,
    Number.isNaN(result.ingestTimeUs) ? null : result.ingestTimeUs,
    isWhole ? textOf(result.seqStart, result.seqEnd) : "",
    isWhole ? parsed(textOf(result.attributesStart, result.attributesEnd)) : null,
  ]);
}

/** Null where the two may differ: what is past 2^53 in either way of looking at it. */
function saidByOracle(input: Uint8Array): string | null {
  // `1e-400` and `0.99999999999999999e1` are no integers, but as doubles they are: the decoder looks at the digits, the
  // oracle at the double.
  if (/e-\d{3}|\.\d{15}/i.test(decoder.decode(input))) return null;
  const said = readOracleRecord(input);
  if (typeof said === "string") return said;
  // The oracle leaves it to the clocks to find such times in the future, or too old.
  const times = [said.eventTimeUs, said.ingestTimeUs ?? 0];
  if (times.some((us) => Math.abs(us) > Number.MAX_SAFE_INTEGER)) return null;
  return JSON.stringify([
    said.invalidField ? "INVALID_FIELD" : "transition",
    said.kind,
    said.deviceId,
    said.fenceId,
    said.eventTimeUs,
    said.ingestTimeUs,
    said.invalidField ? "" : said.seq ?? "",
    said.invalidField ? null : parsed(JSON.stringify(said.attributes) ?? ""),
  ]);
}

/** Attributes as text that does not depend on how they were spelled. */
function parsed(text: string): string | null {
  return text === "" ? null : JSON.stringify(JSON.parse(text));
}
