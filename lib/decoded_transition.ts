/**
 * What a decoded record says. One object is filled again and again: at a million records a second an object each would
 * cost more than the decoding.
 *
 * @module
 */
import { type Kind, KIND_ENTER } from "./kind.ts";

/** A record is at most this long, without its line end. */
export const RECORD_BYTES_MAX = 65_536;
/** A device or fence id is at most this long, in UTF-8. */
export const ID_BYTES_MAX = 256;
/** A `seq` that is a string is at most this long, in UTF-8. */
export const SEQ_BYTES_MAX = 64;
/** `attributes` without whitespace are at most this long. */
export const ATTRIBUTES_BYTES_MAX = 16_384;

/**
 * A transition. Ids, seq and attributes are ranges of `bytes`: UTF-8, ids and seq unescaped, attributes compact JSON.
 * Equal start and end: not there.
 */
export class DecodedTransition {
  /** What happened. */
  kind: Kind = KIND_ENTER;
  /** The record's own buffer, or one that was made for this record; never written again. */
  bytes: Uint8Array = NO_BYTES;
  /** The device id, none of a heartbeat: from here … */
  deviceStart = 0;
  /** … to here. */
  deviceEnd = 0;
  /** The fence id, none of a heartbeat: from here … */
  fenceStart = 0;
  /** … to here. */
  fenceEnd = 0;
  /** When it happened, µs since the epoch. */
  eventTimeUs: number = NaN;
  /** When the pipeline first saw it, µs since the epoch; NaN where the record does not say. */
  ingestTimeUs: number = NaN;
  /** The producer's number as canonical text, `7` for 7 and for `"7"`: from here … */
  seqStart = 0;
  /** … to here. */
  seqEnd = 0;
  /** Attributes as compact JSON: from here … */
  attributesStart = 0;
  /** … to here. */
  attributesEnd = 0;

  /** Back to a transition that says nothing. */
  clear(): void {
    this.kind = KIND_ENTER;
    this.bytes = NO_BYTES;
    this.deviceStart = this.deviceEnd = 0;
    this.fenceStart = this.fenceEnd = 0;
    this.eventTimeUs = NaN;
    this.ingestTimeUs = NaN;
    this.seqStart = this.seqEnd = 0;
    this.attributesStart = this.attributesEnd = 0;
  }
}

const NO_BYTES = new Uint8Array(0);
