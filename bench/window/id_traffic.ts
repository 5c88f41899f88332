/**
 * Ids as a window gets them: new ones, three in a hundred that it has (copies), and one in a hundred that it had and must
 * have forgotten (returns). An id follows from its number, so that nobody has to remember five million of them.
 *
 * @module
 */
import { randomFrom } from "../../tests/support/random.ts";

const COPY_RATIO = 0.03;
const RETURN_RATIO = 0.01;
/** How far back copies are taken from, as a share of the ids that live; and what has expired for certain. */
const COPIED_SHARE = 0.9;
const FORGOTTEN_SHARE = 1.02;

/** How many numbers are drawn before there are returns. */
export function fillCount(ids: number): number {
  return Math.ceil(ids * 1.03);
}

/** See the module's header. */
export class IdTraffic {
  /** Whether the one that was drawn last must be admitted. */
  novel = true;
  readonly #ids: number;
  readonly #copiedSpan: number;
  readonly #returns: boolean;
  readonly #random: () => number;
  #next = 0;
  #returned = -1;

  /**
   * @param options `copiedSpan`: how many of the latest ids copies are taken from; `returns`: not of a window that goes
   * by a clock which can't be moved
   */
  constructor(
    ids: number,
    options: { readonly copiedSpan?: number; readonly returns: boolean; seed: number },
  ) {
    this.#ids = ids;
    this.#copiedSpan = Math.max(1, Math.floor(options.copiedSpan ?? ids * COPIED_SHARE));
    this.#returns = options.returns;
    this.#random = randomFrom(options.seed);
  }

  /** The next new one. */
  drawNew(lanes: Int32Array): void {
    this.novel = true;
    lanesOf(this.#next++, lanes);
  }

  /** The next one, be it new or not. */
  draw(lanes: Int32Array): void {
    const chance = this.#random();
    if (chance < COPY_RATIO) {
      this.novel = false;
      lanesOf(this.#next - 1 - Math.floor(this.#random() * this.#copiedSpan), lanes);
      return;
    }
    const forgotten = this.#next - Math.ceil(this.#ids * FORGOTTEN_SHARE);
    if (this.#returns && chance < COPY_RATIO + RETURN_RATIO && forgotten > this.#returned) {
      this.novel = true;
      this.#returned = forgotten;
      lanesOf(forgotten, lanes);
      return;
    }
    this.drawNew(lanes);
  }
}

/** 128 bits that look like chance, and are different for each number: so is each of the words. */
function lanesOf(number: number, lanes: Int32Array): void {
  for (let lane = 0; lane < 4; lane++) {
    lanes[lane] = mix(Math.imul(number, lane * 2 + 1) + lane * 0x9e37_79b9);
  }
}

/** murmur3's finaliser. */
function mix(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85eb_ca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}
