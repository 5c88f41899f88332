/**
 * Reads the messages of a batch by a format: each is any number of records, which share its place in the source.
 *
 * ```
 *   batch   m0          m1    m2                 position behind it
 *           ├ t  t  ✗   ┄     ├ t  t  t  t  t
 *           └ all or none after a crash: a barrier is drawn between two batches only
 * ```
 *
 * What it leaves in the middle goes on with the next call, so that a piece of work is bounded by records and not by
 * messages.
 *
 * @module
 */
import type { DeadLetterReason } from "../lib/dead_letter.ts";
import { RECORD_BYTES_MAX } from "../lib/decoded_transition.ts";
import type { CrossingOutcome } from "../lib/format/crossing_decoder.ts";
import type { Mapping } from "../lib/format/mapping.ts";
import { MessageDecoder } from "../lib/format/message_decoder.ts";
import { MessageParts, partAt } from "../lib/format/message_parts.ts";
import type { Json } from "../lib/json.ts";
import type { OversizeRecord, RecordBatch } from "../lib/record_batch.ts";

/** What a dead letter says of a record. */
interface Letter {
  readonly reason: DeadLetterReason;
  readonly detail: string;
  readonly record: Uint8Array;
  readonly oversize?: OversizeRecord;
}

/** See the module's header. */
export class MessageReader {
  /** Has the transition that came last. */
  readonly decoder: MessageDecoder;
  /** Records that the last message was, what is skipped not counted. */
  count = 0;
  readonly #parts: MessageParts;
  #isOpen = false;

  constructor(mapping: Mapping) {
    this.decoder = new MessageDecoder(mapping);
    this.#parts = new MessageParts(mapping);
  }

  /** The next outcome of a message of the batch, to be asked again until that is null. */
  next(batch: RecordBatch, i: number): CrossingOutcome | null {
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.count = 0;
      const oversize = batch.oversize.size === 0 ? undefined : batch.oversize.get(i);
      if (oversize !== undefined) {
        this.count++;
        return this.decoder.refuse("TOO_LARGE", tooLarge(oversize));
      }
      const { starts, ends, contexts } = batch;
      this.decoder.open(batch.bytes, starts[i] as number, ends[i] as number, contexts?.[i] ?? null);
    }
    const outcome = this.decoder.next();
    if (outcome === null) this.#isOpen = false;
    else if (outcome !== "skipped") this.count++;
    return outcome;
  }

  /** The dead letter of one crossing, of that of its message: its place in it, and the message without the others. */
  letterOf<Whole extends Letter>(
    whole: Whole,
    part: number,
    place: Json,
  ): Whole & { readonly position: Json } {
    const { message, ...within } = this.#parts.of(whole.record, part);
    const detail = within.pointer === "" ? whole.detail : `${within.pointer}: ${whole.detail}`;
    return { ...whole, detail, record: message, position: { ...place as object, part: within } };
  }
}

/** Says that a record has too many bytes. */
export function tooLarge({ byteLength }: OversizeRecord): string {
  return `The record has ${byteLength} bytes, ${RECORD_BYTES_MAX} are the most`;
}

/** Which crossing of its message a dead letter's position names; 0 where it names none. */
export function partIn(position: Json): number {
  const part = memberOf(position, "part");
  const record = memberOf(part, "record");
  const crossing = memberOf(part, "crossing");
  return typeof record === "number" && typeof crossing === "number" ? partAt(record, crossing) : 0;
}

function memberOf(json: Json | undefined, name: string): Json | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  return (json as Readonly<Record<string, Json>>)[name];
}
