/**
 * Tells of one crossing of a message: where it is in it, and what the message is without the others.
 *
 * A dead letter keeps that, since sent again it is this crossing alone. The whole message would bring back the others with
 * it, good or bad; and a message with many bad crossings would be kept as often as it has them.
 *
 * @module
 */
import { CROSSINGS_MAX, type Mapping } from "./mapping.ts";
import { Slots } from "./pointer_tree.ts";
import { RecordFinder } from "./record_finder.ts";

/** The number of a crossing: which of the message's records, and which of the things that are looked for in it. */
export function partOf(record: number, crossing: number): number {
  return 1 + record * CROSSINGS_MAX + crossing;
}

/** The number of a crossing, of what {@link MessagePart} says of it. */
export function partAt(record: number, crossing: number): number {
  return partOf(record - 1, crossing - 1);
}

/** Which of the message's records, from 0. */
function recordOf(part: number): number {
  return Math.floor((part - 1) / CROSSINGS_MAX);
}

/** What a dead letter keeps of a crossing. */
export interface MessagePart {
  /** The message, of its crossings only this one. */
  readonly message: Uint8Array;
  /** The number of its record among them, from 1. */
  readonly record: number;
  /** Which of the things that are looked for in each record it is, from 1. */
  readonly crossing: number;
  /** Where it is in the message as it came. */
  readonly pointer: string;
}

/** See the module's header. */
export class MessageParts {
  readonly #mapping: Mapping;
  readonly #slots: Slots;
  readonly #finder = new RecordFinder();

  /** For messages of one format. */
  constructor(mapping: Mapping) {
    this.#mapping = mapping;
    this.#slots = new Slots(mapping.trees.message.slotCount);
  }

  /**
   * One crossing.
   *
   * @param message of this format
   * @param part as the decoder had it, not 0
   */
  of(message: Uint8Array, part: number): MessagePart {
    const { records, trees } = this.#mapping;
    const index = recordOf(part);
    const crossing = 1 + (part - 1) % CROSSINGS_MAX;
    if (records === null) return { message, record: 1, crossing, pointer: "" };
    trees.message.scan(message, 0, this.#slots);
    const finder = this.#finder;
    finder.find(message, this.#slots, records);
    const { pointer, arrayStart, arrayEnd } = finder;
    if (arrayStart === arrayEnd) return { message, record: 1, crossing, pointer };
    const record = message.subarray(finder.starts[index], finder.ends[index]);
    const before = message.subarray(0, arrayStart + 1);
    const behind = message.subarray(arrayEnd - 1);
    const alone = new Uint8Array(before.length + record.length + behind.length);
    alone.set(before);
    alone.set(record, before.length);
    alone.set(behind, before.length + record.length);
    return { message: alone, record: index + 1, crossing, pointer: `${pointer}/${index}` };
  }
}
