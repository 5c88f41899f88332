/**
 * The last dead letters that are durable, with their records clipped: for somebody who looks.
 *
 * @module
 */
import { parseJsonObject } from "../lib/json_object.ts";
import type { LineObserver } from "./line_observer.ts";
import type { LineBatch } from "./ports.ts";

/** How many are kept. */
export const DEAD_LETTERS_SHOWN_MAX = 100;
/** Characters of a record, and of a detail, that are kept. */
const CLIPPED_CHARACTERS = 1000;

const LINE_END = 0x0a;

/** A dead letter as it is shown. */
export interface ShownDeadLetter {
  readonly at: string;
  readonly reason: string;
  readonly detail: string;
  readonly source: string;
  readonly position: unknown;
  /** The record's text, or its bytes in base64 where it is none. */
  readonly record?: string;
  readonly record_base64?: string;
  /** Only where not all of the record is shown. */
  readonly clipped?: true;
}

/** See the module's header. */
export class RecentDeadLetters {
  #letters: ShownDeadLetter[] = [];

  /** The newest first. */
  newestFirst(): ShownDeadLetter[] {
    return this.#letters.toReversed();
  }

  /** Watches the dead letters of one split. */
  observer(): LineObserver {
    let written: ShownDeadLetter[] = [];
    return {
      written: (lines) => {
        written = [...written, ...lastOf(lines)].slice(-DEAD_LETTERS_SHOWN_MAX);
      },
      durable: () => {
        if (written.length === 0) return;
        this.#letters = [...this.#letters, ...written].slice(-DEAD_LETTERS_SHOWN_MAX);
        written = [];
      },
      halted: () => {
        written = [];
      },
    };
  }
}

/** Of a piece only as many lines from its end as are ever shown, so that what it costs is bounded. */
function lastOf({ bytes, byteLength }: LineBatch): ShownDeadLetter[] {
  const letters: ShownDeadLetter[] = [];
  for (let end = byteLength; end > 1 && letters.length < DEAD_LETTERS_SHOWN_MAX;) {
    const start = bytes.lastIndexOf(LINE_END, end - 2) + 1;
    const letter = shown(bytes.subarray(start, end));
    if (letter !== null) letters.push(letter);
    end = start;
  }
  return letters.reverse();
}

function shown(line: Uint8Array): ShownDeadLetter | null {
  const letter = parseJsonObject(line);
  if (letter === null) return null;
  const { at, reason, detail, source, position, record, record_base64: base64, byte_length: length } = letter;
  const text = String(record ?? base64 ?? "");
  const isClipped = text.length > CLIPPED_CHARACTERS || length !== undefined;
  const clippedText = clip(text);
  return {
    at: String(at),
    reason: String(reason),
    detail: clip(String(detail)),
    source: String(source),
    position,
    ...(record === undefined ? { record_base64: clippedText } : { record: clippedText }),
    ...(isClipped ? { clipped: true } as const : {}),
  };
}

/** The beginning of a text: whole characters, and of base64 whole bytes. Not a view of the whole, which would be kept. */
function clip(text: string): string {
  if (text.length <= CLIPPED_CHARACTERS) return text;
  const end = text.codePointAt(CLIPPED_CHARACTERS - 1) as number > 0xffff
    ? CLIPPED_CHARACTERS - 1
    : CLIPPED_CHARACTERS;
  return JSON.parse(JSON.stringify(text.slice(0, end))) as string;
}
