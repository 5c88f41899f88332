/**
 * Ids: derived from what happened and nothing else (SPEC 2).
 *
 * ```
 * material = netstring(device_id) netstring(fence_id) netstring(code) netstring(slot)
 * slot     = bucket | bucket "~" (bucket+1) | "#" seq
 * id       = hex16(XXH64(material, 0)) hex16(XXH64(material, 0x9E3779B97F4A7C15))
 *
 *        bucket 11            bucket 12            bucket 13
 *   |-------------------|-------------------|-------------------|
 *                    ^^^ ^^^                    an event at most `guard` before a boundary, or less than
 *                 edge 11~12                    `guard` behind it, carries the id of that edge as well
 * ```
 *
 * Netstrings rather than a delimiter, because `a|b`+`c` and `a`+`b|c` must differ. Two 64-bit lanes rather than
 * XXH128, because xxhash-wasm has no 128-bit variant. An edge id is a key of its own, not the neighbour's bucket id,
 * which would swallow a real re-entry in the middle of the next bucket.
 *
 * The device and fence part of the material is written once and both slots hashed behind it; the views that the hash
 * function wants are made once a length. About 0.2 µs an id, of which the hashing is 0.16.
 *
 * @module
 */
import xxhash, { type XXHashAPI } from "xxhash-wasm";

/** The code of an ENTER in the material. */
export const CODE_ENTER = 0x45;
/** The code of an EXIT. */
export const CODE_EXIT = 0x58;
/** The code of a DWELL of our own. */
export const CODE_DWELL = 0x44;
/** The code of a DWELL that an upstream made and we pass on. */
export const CODE_PASSED_ON = 0x50;
/** The code of a RETRACT. */
export const CODE_RETRACT = 0x52;

const SEED_HIGH_LANE = 0n;
const SEED_LOW_LANE = 0x9E3779B97F4A7C15n;

/** Longest material: two ids of 256 bytes, a seq of 64, and the netstrings around them. */
const MATERIAL_BYTES_MAX = 256 + 5 + 256 + 5 + 4 + 65 + 5 + 64;

const ZERO = 0x30;
const COLON = 0x3a;
const COMMA = 0x2c;
const TILDE = 0x7e;
const HASH = 0x23;

/** Both hex digits of a byte. */
const HEX_PAIRS = new Uint8Array(512);
for (let byte = 0; byte < 256; byte++) {
  const pair = byte.toString(16).padStart(2, "0");
  HEX_PAIRS[byte * 2] = pair.charCodeAt(0);
  HEX_PAIRS[byte * 2 + 1] = pair.charCodeAt(1);
}

/** What identity needs of the configuration. */
export interface IdentityOptions {
  /** Width of a bucket in µs. */
  readonly bucketUs: number;
  /** Half the width of an edge in µs; 0 for none. */
  readonly guardUs: number;
}

/** Computes the one or two ids of a trigger. Holds the last result, so that nothing is allocated a trigger. */
export class Identity {
  /** The last ids: words 0 to 3 the id that may leave, 4 to 7 the edge's; each lane's high word first. */
  readonly lanes = new Int32Array(8);
  /** Width of a bucket, µs. */
  readonly bucketUs: number;
  /** Width of the guard at a bucket's edges, µs. */
  readonly guardUs: number;

  readonly #hash: XXHashAPI;
  readonly #material = new Uint8Array(MATERIAL_BYTES_MAX);
  readonly #views: Uint8Array[] = [];
  readonly #lane = new BigUint64Array(1);
  readonly #laneWords = new Int32Array(this.#lane.buffer);
  /** Room for the longest slot: two buckets of 16 digits and a tilde. */
  readonly #digits = new Uint8Array(33);
  readonly #materials: [Uint8Array, Uint8Array] = [new Uint8Array(0), new Uint8Array(0)];
  #prefixLength = 0;
  #keepMaterials = false;

  private constructor(options: IdentityOptions, hash: XXHashAPI) {
    this.bucketUs = options.bucketUs;
    this.guardUs = options.guardUs;
    this.#hash = hash;
  }

  /** Loads the hash function; the only thing in `lib/` that must be awaited, once, before anything else. */
  static create(options: IdentityOptions): Promise<Identity> {
    return xxhash().then((hash) => new Identity(options, hash));
  }

  /** The same hash function with other widths. */
  with(options: IdentityOptions): Identity {
    return new Identity(options, this.#hash);
  }

  /** From here on {@link material} tells what was hashed. Costs a copy an id, so it is off while running. */
  keepMaterials(): this {
    this.#keepMaterials = true;
    return this;
  }

  /**
   * Computes the ids of a trigger into {@link lanes}. All ranges are half-open and lie in `bytes`.
   *
   * @param code one of the `CODE_…` constants
   * @param eventTimeUs µs since the epoch
   * @param seqStart where the seq's canonical text begins; equal to `seqEnd` where there is none
   * @returns how many ids there are: two where the event lies at an edge, else one
   */
  compute(
    code: number,
    bytes: Uint8Array,
    deviceStart: number,
    deviceEnd: number,
    fenceStart: number,
    fenceEnd: number,
    eventTimeUs: number,
    seqStart: number,
    seqEnd: number,
  ): 1 | 2 {
    const material = this.#material;
    let at = this.#netstring(0, bytes, deviceStart, deviceEnd);
    at = this.#netstring(at, bytes, fenceStart, fenceEnd);
    material[at++] = ZERO + 1;
    material[at++] = COLON;
    material[at++] = code;
    material[at++] = COMMA;
    this.#prefixLength = at;

    if (seqEnd > seqStart) {
      at = this.#number(at, seqEnd - seqStart + 1);
      material[at++] = COLON;
      material[at++] = HASH;
      for (let i = seqStart; i < seqEnd; i++) material[at++] = bytes[i] as number;
      material[at++] = COMMA;
      this.#finish(at, 0);
      return 1;
    }

    const bucket = Math.floor(eventTimeUs / this.bucketUs);
    this.#finish(this.#slot(bucket, -1), 0);
    const edge = edgeBehind(eventTimeUs, bucket, this);
    if (edge === NO_EDGE) return 1;
    this.#finish(this.#slot(edge, edge + 1), 1);
    return 2;
  }

  /** The last result's id as 32 hex digits: 0 the id that may leave, 1 the edge's. */
  hex(which: 0 | 1 = 0): string {
    const target = new Uint8Array(32);
    this.writeHex(target, 0, which);
    return String.fromCharCode(...target);
  }

  /** Writes the last id as 32 hex digits at `at`; returns the place behind them. */
  writeHex(target: Uint8Array, at: number, which: 0 | 1 = 0): number {
    return writeLanesHex(target, at, this.lanes, which * 4);
  }

  /** What the last ids were hashed from; empty unless {@link keepMaterials} was called. */
  material(which: 0 | 1 = 0): Uint8Array {
    return this.#materials[which];
  }

  /** XXH64 with seed 0 of any bytes: for checksums of what is stored. */
  checksum(bytes: Uint8Array): bigint {
    return this.#hash.h64Raw(bytes, 0n);
  }

  #netstring(at: number, bytes: Uint8Array, start: number, end: number): number {
    const material = this.#material;
    at = this.#number(at, end - start);
    material[at++] = COLON;
    for (let i = start; i < end; i++) material[at++] = bytes[i] as number;
    material[at++] = COMMA;
    return at;
  }

  /** Writes the slot of a bucket, or of an edge where `second` is not negative; returns the material's length. */
  #slot(first: number, second: number): number {
    const material = this.#material;
    const digits = this.#digits;
    let begin = digits.length;
    if (second >= 0) {
      begin = decimal(digits, begin, second);
      digits[--begin] = TILDE;
    }
    begin = decimal(digits, begin, first);
    let at = this.#number(this.#prefixLength, digits.length - begin);
    material[at++] = COLON;
    for (let i = begin; i < digits.length; i++) material[at++] = digits[i] as number;
    material[at++] = COMMA;
    return at;
  }

  /** Writes a small number in decimal. */
  #number(at: number, value: number): number {
    const material = this.#material;
    if (value >= 100) material[at++] = ZERO + ((value / 100) | 0);
    if (value >= 10) material[at++] = ZERO + (((value / 10) | 0) % 10);
    material[at++] = ZERO + value % 10;
    return at;
  }

  #finish(length: number, which: 0 | 1): void {
    const view = this.#views[length] ??= this.#material.subarray(0, length);
    const base = which * 4;
    this.#lane[0] = this.#hash.h64Raw(view, SEED_HIGH_LANE);
    this.lanes[base] = this.#laneWords[1] as number;
    this.lanes[base + 1] = this.#laneWords[0] as number;
    this.#lane[0] = this.#hash.h64Raw(view, SEED_LOW_LANE);
    this.lanes[base + 2] = this.#laneWords[1] as number;
    this.lanes[base + 3] = this.#laneWords[0] as number;
    if (this.#keepMaterials) this.#materials[which] = view.slice();
  }
}

/** Writes four words of lanes as 32 hex digits; returns the place behind them. */
export function writeLanesHex(target: Uint8Array, at: number, lanes: Int32Array, base: number): number {
  for (let word = base; word < base + 4; word++) {
    const value = lanes[word] as number;
    for (let shift = 24; shift >= 0; shift -= 8) {
      const pair = ((value >>> shift) & 255) * 2;
      target[at++] = HEX_PAIRS[pair] as number;
      target[at++] = HEX_PAIRS[pair + 1] as number;
    }
  }
  return at;
}

/** What {@link edgeBehind} answers in the middle of a bucket. */
export const NO_EDGE: number = -1;

/**
 * The bucket whose end is the boundary that an event is near: `bucket - 1` at less than `guard` after the start of its
 * bucket, `bucket` at `guard` or less from the end, else {@link NO_EDGE}. Negative event times do not occur: records
 * before the year 2000 are refused.
 */
export function edgeBehind(eventTimeUs: number, bucket: number, widths: IdentityOptions): number {
  const into = eventTimeUs - bucket * widths.bucketUs;
  if (into < widths.guardUs) return bucket - 1;
  if (widths.bucketUs - into <= widths.guardUs) return bucket;
  return NO_EDGE;
}

/** Whether two transitions of one pair and kind, both without seq, share an id: the same bucket or the same edge. */
export function shareAnId(aUs: number, bUs: number, widths: IdentityOptions): boolean {
  const a = Math.floor(aUs / widths.bucketUs);
  const b = Math.floor(bUs / widths.bucketUs);
  if (a === b) return true;
  if (a - b > 1 || b - a > 1) return false;
  const edge = edgeBehind(aUs, a, widths);
  return edge !== NO_EDGE && edge === edgeBehind(bUs, b, widths);
}

/** Writes a non-negative integer before `end`; returns where it begins. */
function decimal(digits: Uint8Array, end: number, value: number): number {
  while (value >= 0x8000_0000) {
    const rest = Math.floor(value / 10);
    digits[--end] = ZERO + (value - rest * 10);
    value = rest;
  }
  // From here on integer arithmetic does; buckets of a millisecond or more are here at once.
  let small = value | 0;
  do {
    const rest = (small / 10) | 0;
    digits[--end] = ZERO + (small - rest * 10);
    small = rest;
  } while (small > 0);
  return end;
}
