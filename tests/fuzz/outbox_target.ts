/**
 * Lines of the webhooks' outbox: what is taken for one is one, to the byte, so that writing it again gives the same line;
 * and its body can be made in both forms.
 *
 * @module
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { encodeOutboxLines, parseOutboxLine } from "../../lib/outbox_line.ts";
import { webhookBody } from "../../lib/webhook_message.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { JSON_PIECES, mutateBytes, mutateJson } from "./mutation.ts";
import { showBytes } from "./show_bytes.ts";
import { TRIGGERS } from "./trigger_target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEADS = ["ndjson 1796241000123 ", "fleet-in/3 1 ", "http 253402300799999 "];

/** See the module's header. */
export class OutboxTarget implements FuzzTarget {
  readonly name = "outbox";
  readonly share = 100_000;
  readonly outcomes = ["whole", "damaged"];

  draw(chance: Chance): Uint8Array {
    const line = encoder.encode(chance.pick(HEADS) + chance.pick(TRIGGERS));
    if (chance.happens(0.5)) {
      const trigger = mutateJson(chance, chance.pick(TRIGGERS), chance.pick(TRIGGERS));
      return Uint8Array.of(...encoder.encode(chance.pick(HEADS)), ...trigger.subarray(0, 5000));
    }
    return mutateBytes(chance, line, { other: line, pieces: [...JSON_PIECES, ...HEADS] });
  }

  judge(input: Uint8Array): string {
    const line = parseOutboxLine(input);
    if (line === null) return "damaged";
    const { split, toldMs, id, trigger } = line;
    const bytes = Uint8Array.of(...trigger, 0x0a);
    // A line end inside is whitespace to JSON, and to whoever cuts lines none that comes here.
    if (!trigger.includes(0x0a)) {
      const again = encodeOutboxLines({ bytes, byteLength: bytes.length, count: 1 }, { split, toldMs });
      deepStrictEqual(again.subarray(0, -1), input, "it can be written again");
    }
    strictEqual(webhookBody(trigger, { form: "native" }).bytes.length, trigger.length);
    const event: unknown = JSON.parse(
      decoder.decode(webhookBody(trigger, { form: "cloudevents", source: "s" }).bytes),
    );
    strictEqual((event as { id: unknown }).id, id, "the event has the trigger's id");
    return "whole";
  }

  show(input: Uint8Array): string {
    return showBytes(input);
  }
}
