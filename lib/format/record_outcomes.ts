/**
 * What a record is by the format of its source: for commands that look at some records, one by one. A split has no time for
 * objects, and goes its own ways.
 *
 * @module
 */
import type { DecodedTransition } from "../decoded_transition.ts";
import { TransitionDecoder } from "../transition.ts";
import type { CrossingOutcome } from "./crossing_decoder.ts";
import type { Format } from "./format.ts";
import { MessageDecoder } from "./message_decoder.ts";
import type { MessageContext } from "./message_values.ts";

/** One outcome of a record; the transition is overwritten with the next. */
export interface RecordOutcome {
  /** What it is. */
  readonly outcome: CrossingOutcome;
  /** Its fields; its times hold also where only the rest of it is wrong. */
  readonly transition: DecodedTransition;
  /** Why it is refused. */
  readonly detail: string;
  /** Which crossing of its message it is; 0 where the record is the transition. */
  readonly part: number;
}

/** Whether an outcome has times that can be judged. */
export function hasTimes({ outcome, transition }: RecordOutcome): boolean {
  return outcome === "transition" || outcome === "INVALID_FIELD" && !Number.isNaN(transition.eventTimeUs);
}

/** Makes a function that tells a record's outcomes, one after the other. */
export function recordOutcomes(
  { mapping }: Pick<Format, "mapping">,
): (record: Uint8Array, context: MessageContext | null) => Iterable<RecordOutcome> {
  if (mapping === null) {
    const transition = new TransitionDecoder();
    return (record) => {
      const outcome = transition.decode(record, 0, record.length);
      return [{ outcome, transition, detail: transition.detail, part: 0 }];
    };
  }
  const messages = new MessageDecoder(mapping);
  return function* (record, context) {
    messages.open(record, 0, record.length, context);
    for (let outcome = messages.next(); outcome !== null; outcome = messages.next()) {
      yield { outcome, transition: messages, detail: messages.detail, part: messages.part };
    }
  };
}
