/**
 * Decodes records: bytes in, a transition or the reason why it is none out. The only way into the engine.
 *
 * ```
 *                     understood
 *   bytes ──▶ scan ─────────────────────────────▶ transition       no escapes, one unit a time: 0.4 µs
 *              │ not wholly
 *              ▼
 *             parse (JSON.parse, all of the rules) ──▶ transition   2 µs
 *                                                 └──▶ DeadLetterReason, and a sentence for a person
 * ```
 *
 * The list of reasons is closed, and every record comes out one way or the other: nothing throws, whatever the bytes.
 * Two checks of SPEC 1 are the caller's, since they need a clock: `TIME_TOO_OLD` and `TIME_IN_FUTURE`. They come before
 * those of seq and attributes, so with `"INVALID_FIELD"` the times are there to be checked.
 *
 * @module
 */
import type { DeadLetterReason } from "./dead_letter.ts";
import { DecodedTransition } from "./decoded_transition.ts";
import { TransitionParser } from "./transition_parse.ts";
import { TransitionScanner } from "./transition_scan.ts";

/** Holds the transition that it decoded last, which the next call overwrites; the bytes it points to stay. */
export class TransitionDecoder extends DecodedTransition {
  /** Why the last refused record was refused: one sentence that names the field, the rule and the value. */
  detail = "";

  readonly #scanner = new TransitionScanner(this);
  readonly #parser = new TransitionParser(this);

  /**
   * Decodes one record.
   *
   * @param bytes holds the record and is not written again, since the result may point into it
   * @param start where the record begins
   * @param end where it ends, its line end not included
   * @returns `"transition"`, or why it is none
   */
  decode(bytes: Uint8Array, start: number, end: number): "transition" | DeadLetterReason {
    if (this.#scanner.scan(bytes, start, end)) return "transition";
    const outcome = this.#parser.parse(bytes, start, end);
    this.detail = this.#parser.detail;
    return outcome;
  }
}
