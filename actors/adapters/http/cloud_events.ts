/**
 * CloudEvents 1.0: the transition in an event's `data`, taken out of the envelope as it was written.
 *
 * The envelope's own attributes say nothing that a transition needs; above all its `id` is not the crossing's, since a
 * producer that sends again may well make a new one.
 *
 * @module
 */
import { decodeBase64 } from "../../../lib/base64.ts";
import { findMember } from "../../../lib/json_member.ts";
import { type RecordHash, RECORDS_MAX, type RecordSpans, spansOfJson } from "../../../lib/record_spans.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The records in structured events: one, or a batch of them. An event without data, and what is no event, stays as it is:
 * the decoder says what it lacks.
 */
export function recordsOfEvents(body: Uint8Array, hash: RecordHash): RecordSpans {
  const events = spansOfJson(body, hash);
  if (events.count > RECORDS_MAX) return events;
  const pieces: Uint8Array[] = [];
  for (let i = 0; i < events.count; i++) {
    const event = events.bytes.subarray(events.starts[i], events.ends[i]);
    pieces.push(events.oversize.has(i) ? event : dataOf(event));
  }
  if (pieces.every((piece) => piece.buffer === body.buffer)) return within(body, pieces, events);
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  const moved = pieces.map((piece) => {
    bytes.set(piece, at);
    at += piece.length;
    return bytes.subarray(at - piece.length, at);
  });
  return within(bytes, moved, events);
}

function within(bytes: Uint8Array, pieces: readonly Uint8Array[], events: RecordSpans): RecordSpans {
  const start = (piece: Uint8Array): number => piece.byteOffset - bytes.byteOffset;
  return {
    bytes,
    starts: Uint32Array.from(pieces, start),
    ends: Uint32Array.from(pieces, (piece) => start(piece) + piece.length),
    count: pieces.length,
    oversize: events.oversize,
  };
}

function dataOf(event: Uint8Array): Uint8Array {
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(event));
  } catch {
    return event;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return event;
  if ("data_base64" in parsed && typeof parsed.data_base64 === "string") {
    return decodeBase64(parsed.data_base64) ?? event;
  }
  const data = findMember(event, { start: 0, end: event.length }, "data");
  return data === null ? event : event.subarray(data.start, data.end);
}
