/**
 * Sends records again as lines, byte for byte: to stdout, for `… | fencepost run`, or appended to a file that it reads.
 *
 * @module
 */
import type { StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import type { ReplayTarget } from "../replay_target.ts";
import { NdjsonSink } from "./ndjson_sink.ts";

/** Written at once: more than a record, and a system call for some hundreds of them. */
const BATCH_BYTES = 1 << 18;

const LINE_FEED = 0x0a;
/** What a reader of lines takes for an empty one. */
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);

/** See the module's header. */
export class NdjsonReplayTarget implements ReplayTarget {
  readonly name: string;

  readonly #sink: NdjsonSink;
  #bytes = new Uint8Array(BATCH_BYTES);
  #byteLength = 0;
  #count = 0;

  /** @param path a file's, or `-` for stdout */
  constructor(path: string) {
    this.name = path === "-" ? "stdout" : path;
    this.#sink = new NdjsonSink({ path });
  }

  refusal({ record }: StoredDeadLetter): string | null {
    if (record.includes(LINE_FEED)) return "It has a line end in it, so it would be two lines of NDJSON";
    if (record.every((byte) => BLANK.has(byte))) {
      return "It is blank, and blank lines of NDJSON are no records";
    }
    return null;
  }

  firstSeenUs(): Promise<number> {
    return Promise.resolve(NaN);
  }

  async open(): Promise<void> {
    await this.#sink.open(null);
  }

  async send({ record }: StoredDeadLetter): Promise<void> {
    const byteLength = record.length + 1;
    if (this.#byteLength + byteLength > this.#bytes.length) await this.#write();
    if (byteLength > this.#bytes.length) this.#bytes = new Uint8Array(byteLength);
    this.#bytes.set(record, this.#byteLength);
    this.#byteLength += byteLength;
    this.#bytes[this.#byteLength - 1] = LINE_FEED;
    this.#count++;
  }

  async flush(): Promise<void> {
    await this.#write();
    await this.#sink.flush();
  }

  close(): void {
    this.#sink.close();
  }

  async #write(): Promise<void> {
    if (this.#count === 0) return;
    await this.#sink.write({ bytes: this.#bytes, byteLength: this.#byteLength, count: this.#count });
    this.#byteLength = 0;
    this.#count = 0;
  }
}
