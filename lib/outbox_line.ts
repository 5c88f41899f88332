/**
 * A line of the webhooks' outbox: a trigger, which source split told it, and when.
 *
 * ```
 *   ndjson 1796241000123 {"id":"…","kind":"ENTER",…}\n
 *   split  ms since 1970  the trigger's line
 * ```
 *
 * The split, since several share the outbox and each reads back what it wrote itself; the time, since a trigger is given up
 * so long after it was told. In front and not inside, so that the trigger's bytes stay as they were made.
 *
 * @module
 */
import { wholeTriggerId } from "./whole_trigger.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const SPACE = 0x20;
const LINE_END = 0x0a;

/** A line, read. */
export interface OutboxLine {
  /** The split's name, without spaces. */
  readonly split: string;
  /** When it was told, ms since the epoch. */
  readonly toldMs: number;
  /** The trigger's id. */
  readonly id: string;
  /** The trigger, without a line end. */
  readonly trigger: Uint8Array;
}

/** Puts the split and the time before each of some triggers' lines, which all have their `\n`. */
export function encodeOutboxLines(
  lines: { readonly bytes: Uint8Array; readonly byteLength: number; readonly count: number },
  { split, toldMs }: { readonly split: string; readonly toldMs: number },
): Uint8Array {
  const head = encoder.encode(`${split} ${toldMs} `);
  const made = new Uint8Array(lines.byteLength + lines.count * head.length);
  let at = 0;
  for (let start = 0; start < lines.byteLength;) {
    const end = lines.bytes.indexOf(LINE_END, start) + 1;
    made.set(head, at);
    made.set(lines.bytes.subarray(start, end), at + head.length);
    at += head.length + end - start;
    start = end;
  }
  return made;
}

/** Reads a line without its `\n`; null where a crash or a person has damaged it. */
export function parseOutboxLine(line: Uint8Array): OutboxLine | null {
  const splitEnd = line.indexOf(SPACE);
  const timeEnd = line.indexOf(SPACE, splitEnd + 1);
  if (splitEnd <= 0 || timeEnd < 0) return null;
  const time = decoder.decode(line.subarray(splitEnd + 1, timeEnd));
  const toldMs = Number(time);
  // As it is written, and not in another of the ways in which a number may be.
  if (!Number.isSafeInteger(toldMs) || toldMs <= 0 || String(toldMs) !== time) return null;
  const trigger = line.subarray(timeEnd + 1);
  const id = wholeTriggerId(trigger);
  const split = decoder.decode(line.subarray(0, splitEnd));
  return id === null || split.includes("\ufffd") ? null : { split, toldMs, id, trigger };
}
