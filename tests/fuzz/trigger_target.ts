/**
 * Triggers that are read back: a file's tail, the outbox's lines, a topic's.
 *
 * Three look at them: `parseTrigger`, `TriggerLine`, which looks at bytes alone, and the audit. None of them throws,
 * whatever was written there; what both of the first take for a trigger they read alike; and the audit counts each line
 * once, as one thing or another.
 *
 * @module
 */
import { ok, strictEqual } from "node:assert/strict";
import { Audit } from "../../lib/audit.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { parseTrigger } from "../../lib/trigger.ts";
import { TriggerLine } from "../../lib/trigger_line.ts";
import { wholeTriggerId } from "../../lib/whole_trigger.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateJson } from "./mutation.ts";
import { showBytes } from "./show_bytes.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const BUCKET_US = 2_000_000;
/** What one audit is fed: its memory is by the line. */
const AUDITED_MAX = 20_000;

/** Triggers as they are written. */
export const TRIGGERS: readonly string[] = [
  '{"id":"0123456789abcdef0123456789abcdef","kind":"ENTER","device_id":"truck-7","fence_id":"depot-3","event_time":"2026-11-30T20:30:00.123000Z"}',
  '{"id":"00000000000000000000000000000001","kind":"EXIT","device_id":"a\\"b","fence_id":"\\u0000","event_time":"2026-11-30T20:30:00.123000Z","entered_at":"2026-11-30T20:30:00.123000Z","visit_s":600.5,"attributes":{"a":[1,2]},"seq":"7","late":true}',
  '{"id":"9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f","kind":"DWELL","device_id":"车-07","fence_id":"ворота","event_time":"2026-11-30T20:40:00.123000Z","entered_at":"2026-11-30T20:30:00.123000Z","dwell_s":600,"beyond_window":true}',
  '{"id":"ffffffffffffffffffffffffffffffff","kind":"RETRACT","device_id":"truck-7","fence_id":"depot-3","event_time":"2026-11-30T20:40:00.123000Z","revises":"9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f"}',
];

/** See the module's header. */
export class TriggerTarget implements FuzzTarget {
  readonly name = "trigger";
  readonly share = 200_000;
  readonly outcomes = ["whole", "both, but not alike", "parsed only", "line only", "none"];

  readonly #line = new TriggerLine();
  #audit = new Audit(BUCKET_US);
  #audited = 0;

  draw(chance: Chance): Uint8Array {
    return mutateJson(chance, chance.pick(TRIGGERS), chance.pick(TRIGGERS));
  }

  judge(input: Uint8Array): string {
    const told = parseTrigger(input);
    const isLine = this.#line.read(input, 0, input.length);
    this.#auditLine(input, told !== null);
    if (told === null) {
      strictEqual(wholeTriggerId(input), null, "what is none is not whole");
      return isLine ? "line only" : "none";
    }
    strictEqual(formatTimestamp(told.eventTimeUs).length, 27, "its time can be written");
    if (!isLine) return "parsed only";
    const id = wholeTriggerId(input);
    if (id === null) return "both, but not alike";
    strictEqual(id, told.id, "it has one id");
    strictEqual(decoder.decode(this.#line.id), told.id);
    strictEqual(decoder.decode(this.#line.device), told.device.toWellFormed());
    return "whole";
  }

  show(input: Uint8Array): string {
    return showBytes(input);
  }

  #auditLine(input: Uint8Array, isTrigger: boolean): void {
    if (this.#audited++ % AUDITED_MAX === 0) {
      this.#audit = new Audit(BUCKET_US);
      this.#audit.beginFile("a");
    }
    const before = this.#audit.summary();
    const finding = this.#audit.feed(input);
    const after = this.#audit.summary();
    strictEqual(after.triggers - before.triggers, isTrigger ? 1 : 0, "the audit counts a trigger once");
    const isOther = !isTrigger && input.length > 0;
    strictEqual(after.other_lines - before.other_lines, isOther ? 1 : 0, "or another line");
    ok(finding === null || isTrigger, "nothing is wrong with what is no trigger");
    if (finding !== null) JSON.stringify(finding);
  }
}
