/**
 * Millions of pairs that are inside, and more that come and go: the workload of what is measured on pairs.
 *
 * ```
 *   filling    ENTER of pair 0, 1, 2 …, 1,000 a second of event time
 *   traffic    ENTER of a new pair, EXIT of one that has been inside, in turns
 * ```
 *
 * Ids have 25 bytes together, a device's 16 and a fence's 9. No copies, no attributes: what is in question is the pairs.
 *
 * @module
 */
import { LineWriter } from "../line_writer.ts";

/** Between two ENTERs of the filling, µs. */
export const FILL_STEP_US = 1_000;

/** From the crossing to its ingest, µs. */
const INGEST_US = 200_000;
/** A prime, so that the EXITs meet all pairs in no order of theirs before they meet one again. */
const EXIT_STRIDE = 1_000_003;
const FENCES = 1_000;

/** A pair's `device_id`, 16 bytes. */
export function deviceName(pair: number): string {
  return `truck-${String(pair).padStart(10, "0")}`;
}

/** A pair's `fence_id`, 9 bytes. */
export function fenceName(pair: number): string {
  return `depot-${String(pair % FENCES).padStart(3, "0")}`;
}

/** The filling as blocks of lines. */
export function* fillLines(
  pairs: number,
  startUs: number,
  stepUs = FILL_STEP_US,
): Generator<Uint8Array, void, void> {
  const writer = new LineWriter();
  for (let pair = 0; pair < pairs; pair++) {
    writeLine(writer, { pair, kind: "ENTER", timeUs: startUs + pair * stepUs });
    if (writer.full) yield writer.take();
  }
  yield writer.take();
}

/** The traffic that follows the filling. */
export class Traffic {
  readonly #filled: number;
  readonly #writer = new LineWriter();
  #entered = 0;

  /** @param filled pairs of the filling */
  constructor(filled: number) {
    this.#filled = filled;
  }

  /** The next so many ENTERs and as many EXITs, all at one time, as blocks of lines. */
  *take(count: number, timeUs: number): Generator<Uint8Array, void, void> {
    for (let i = 0; i < count; i++, this.#entered++) {
      const left = this.#entered * EXIT_STRIDE % this.#filled;
      writeLine(this.#writer, { pair: this.#filled + this.#entered, kind: "ENTER", timeUs });
      writeLine(this.#writer, { pair: left, kind: "EXIT", timeUs });
      if (this.#writer.full) yield this.#writer.take();
    }
    yield this.#writer.take();
  }
}

function writeLine(
  writer: LineWriter,
  crossing: { readonly pair: number; readonly kind: "ENTER" | "EXIT"; readonly timeUs: number },
): void {
  const { pair, kind, timeUs } = crossing;
  writer.write({
    device: deviceName(pair),
    fence: fenceName(pair),
    kind,
    eventTimeUs: timeUs,
    ingestTimeUs: timeUs + INGEST_US,
    place: pair % 10_000,
    seq: null,
    hasAttributes: false,
  });
}
