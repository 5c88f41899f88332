/**
 * The outbox as one webhook reads it: in order, in pieces, from where it was; and single lines, for what is tried again.
 *
 * @module
 */
import { parseOutboxLine } from "../../../lib/outbox_line.ts";
import type { OutboxEntry, OutboxReader } from "../../webhook_ports.ts";
import type { OutboxLog } from "./outbox_log.ts";

/** Read at once, and so held in memory for each webhook. */
const READ_BYTES = 1 << 17;
const LINE_END = 0x0a;

/** See the module's header. */
export class LogReader implements OutboxReader {
  readonly #log: OutboxLog;
  readonly #damaged: (offset: number) => void;
  /** What was read and not handed out, and where it begins. */
  #bytes = new Uint8Array(0) as Uint8Array;
  #offset: number;

  /** @param damaged told of a line that is none */
  constructor(log: OutboxLog, from: number, damaged: (offset: number) => void) {
    this.#log = log;
    this.#offset = from;
    this.#damaged = damaged;
  }

  async next(): Promise<OutboxEntry | null> {
    for (;;) {
      const end = this.#bytes.indexOf(LINE_END);
      if (end < 0) {
        if (!await this.#readMore()) return null;
        continue;
      }
      const offset = this.#offset;
      const line = this.#bytes.subarray(0, end);
      this.#bytes = this.#bytes.subarray(end + 1);
      this.#offset += end + 1;
      const entry = entryOf(line, offset);
      if (entry !== null) return entry;
      this.#damaged(offset);
    }
  }

  async at(offset: number): Promise<OutboxEntry | null> {
    if (this.#log.keptFrom(offset) !== offset) return null;
    for (let byteLength = 4096;; byteLength *= 8) {
      const bytes = await this.#log.read(offset, byteLength);
      const end = bytes.indexOf(LINE_END);
      if (end >= 0) return entryOf(bytes.subarray(0, end), offset);
      if (bytes.length < byteLength) return null;
    }
  }

  async #readMore(): Promise<boolean> {
    if (this.#bytes.length === 0) this.#offset = this.#log.keptFrom(this.#offset);
    const readTo = this.#offset + this.#bytes.length;
    const more = await this.#log.read(readTo, READ_BYTES);
    if (more.length === 0) {
      if (this.#bytes.length === 0 || this.#log.keptFrom(readTo) === readTo) return false;
      // A segment was cut short: the rest of this line is nowhere.
      this.#damaged(this.#offset);
      this.#bytes = new Uint8Array(0);
      this.#offset = this.#log.keptFrom(readTo);
      return true;
    }
    const joined = new Uint8Array(this.#bytes.length + more.length);
    joined.set(this.#bytes);
    joined.set(more, this.#bytes.length);
    this.#bytes = joined;
    return true;
  }
}

function entryOf(line: Uint8Array, offset: number): OutboxEntry | null {
  const parsed = parseOutboxLine(line);
  if (parsed === null) return null;
  const { split, toldMs, id, trigger } = parsed;
  return {
    ...{ offset, next: offset + line.length + 1, toldUs: toldMs * 1000 },
    ...{ split, id, trigger: trigger.slice() },
  };
}
