/**
 * A message's crossings as objects, for comparing.
 *
 * @module
 */
import type { Mapping } from "../../lib/format/mapping.ts";
import { MessageDecoder } from "../../lib/format/message_decoder.ts";
import type { MessageContext } from "../../lib/format/message_values.ts";
import { KIND_NAMES } from "../../lib/kind.ts";
import { formatTimestamp } from "../../lib/time.ts";

const decoder = new TextDecoder();

/** One outcome of a message. */
export interface Decoding {
  readonly outcome: string;
  readonly part: number;
  readonly detail: string;
  readonly kind: string;
  readonly device: string;
  readonly fence: string;
  readonly eventTime: string | null;
  readonly ingestTime: string | null;
  readonly seq: string;
  readonly attributes: string;
}

/** All outcomes of a message. */
export function decodedWith(
  mapping: Mapping,
  message: Uint8Array,
  context: MessageContext | null = null,
): Decoding[] {
  const messages = new MessageDecoder(mapping);
  const found: Decoding[] = [];
  messages.open(message, 0, message.length, context);
  for (let outcome = messages.next(); outcome !== null; outcome = messages.next()) {
    const { part, kind, bytes, eventTimeUs, ingestTimeUs } = messages;
    const textOf = (start: number, end: number): string => decoder.decode(bytes.subarray(start, end));
    found.push({
      outcome,
      part,
      detail: outcome === "transition" || outcome === "skipped" ? "" : messages.detail,
      kind: KIND_NAMES[kind],
      device: textOf(messages.deviceStart, messages.deviceEnd),
      fence: textOf(messages.fenceStart, messages.fenceEnd),
      eventTime: Number.isNaN(eventTimeUs) ? null : formatTimestamp(eventTimeUs),
      ingestTime: Number.isNaN(ingestTimeUs) ? null : formatTimestamp(ingestTimeUs),
      seq: textOf(messages.seqStart, messages.seqEnd),
      attributes: textOf(messages.attributesStart, messages.attributesEnd),
    });
  }
  return found;
}
