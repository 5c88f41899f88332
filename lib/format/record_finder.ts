/**
 * Finds a message's crossings: the elements of the first array that its format names, or an object there as the only one.
 *
 * @module
 */
import { skipSpace } from "../plain_json.ts";
import type { Mapping } from "./mapping.ts";
import { skipValue, type Slots } from "./pointer_tree.ts";

/** Crossings of a message at most. */
export const MESSAGE_RECORDS_MAX = 1000;

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;

/** See the module's header. Holds what was found last. */
export class RecordFinder {
  /** Where each crossing begins. */
  readonly starts: Uint32Array = new Uint32Array(MESSAGE_RECORDS_MAX);
  /** Where each ends. */
  readonly ends: Uint32Array = new Uint32Array(MESSAGE_RECORDS_MAX);
  /** How many there are. */
  count = 0;
  /** The pointer at which they were found. */
  pointer = "";
  /** Where their array begins; at its end where they are in none. */
  arrayStart = 0;
  /** Where it ends. */
  arrayEnd = 0;

  /** Finds them in a message that was scanned into these slots. Null is as good as nothing. */
  find(
    bytes: Uint8Array,
    { starts, ends }: Slots,
    records: NonNullable<Mapping["records"]>,
  ): "found" | "nothing" | "too_many" {
    this.count = this.arrayStart = this.arrayEnd = 0;
    for (const { slot, pointer } of records) {
      if (ends[slot] === 0) continue;
      const at = starts[slot] as number;
      const first = bytes[at];
      if (first !== OPEN_BRACKET && first !== OPEN_BRACE) continue;
      this.pointer = pointer;
      if (first === OPEN_BRACKET) {
        this.arrayStart = at;
        this.arrayEnd = ends[slot] as number;
        return this.#elements(bytes, at) ? "found" : "too_many";
      }
      this.starts[0] = at;
      this.ends[0] = ends[slot] as number;
      this.count = 1;
      return "found";
    }
    return "nothing";
  }

  /** Notes where an array's elements are; false where they are too many. */
  #elements(bytes: Uint8Array, at: number): boolean {
    at = skipSpace(bytes, at + 1);
    while (bytes[at] !== CLOSE_BRACKET) {
      if (this.count === MESSAGE_RECORDS_MAX) return false;
      const end = skipValue(bytes, at);
      this.starts[this.count] = at;
      this.ends[this.count++] = end;
      at = skipSpace(bytes, end);
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
    return true;
  }
}
