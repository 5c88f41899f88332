/**
 * The schemas of what is sent and answered: JSON Schema 2020-12, by name. What is answered has no members but these.
 *
 * @module
 */
import { DEAD_LETTER_REASONS } from "../../../../lib/dead_letter.ts";
import { ref } from "./responses.ts";

/** Times are always these 27 bytes. */
const TIME = {
  type: "string",
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$",
};
const ID = { type: "string", pattern: "^[0-9a-f]{32}$" };
const NAME = { type: "string", minLength: 1, maxLength: 256 };
const COUNT = { type: "integer", minimum: 0 };
const INTEGER = { type: ["integer", "string"] };

function orNull(schema: Record<string, unknown>): Record<string, unknown> {
  return { ...schema, type: [schema["type"], "null"] };
}

/** All of them required, and no others. */
function closed(
  properties: Readonly<Record<string, unknown>>,
  optional: Readonly<Record<string, unknown>> = {},
  description?: string,
): Record<string, unknown> {
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

const PAIR = {
  device_id: NAME,
  fence_id: NAME,
  inside: { type: "boolean", description: "As of the watermark: what waits is not counted" },
  entered_at: orNull({ ...TIME, description: "Of the visit that goes on, or the last one" }),
  left_at: orNull({ ...TIME, description: "Of the last visit; null while inside" }),
  ended_by: { enum: ["EXIT", "STALE", null] },
  entry_id: orNull({
    ...ID,
    description: "The id of the ENTER that began the visit; null where its seq is no number",
  }),
  told: { type: "array", items: ref("Threshold"), description: "Thresholds of the visit that were told" },
  pending: { type: "array", items: ref("Threshold"), description: "Those ahead, with their deadlines" },
  waiting: { type: "array", items: ref("Waiting"), maxItems: 100 },
  waiting_count: { ...COUNT, description: "Records not yet applied; at most 100 are shown" },
  last_seen: { ...TIME, description: "The highest event time of any record of the pair" },
};

const WATERMARK = orNull({ ...TIME, description: "Everything up to here was applied" });

/** See the module's header. */
export const SCHEMAS: Readonly<Record<string, unknown>> = {
  Transition: {
    type: "object",
    description: "A device's crossing of a fence. Unknown members are ignored, and null is absent",
    properties: {
      device_id: NAME,
      fence_id: NAME,
      kind: {
        type: "string",
        description: "ENTER, EXIT, DWELL, STALE or HEARTBEAT, in any case; E, X and D too",
        pattern: "^(?:[Ee]|[Xx]|[Dd]|[Ee][Nn][Tt][Ee][Rr]|[Ee][Xx][Ii][Tt]|[Dd][Ww][Ee][Ll][Ll]|" +
          "[Ss][Tt][Aa][Ll][Ee]|[Hh][Ee][Aa][Rr][Tt][Bb][Ee][Aa][Tt])$",
      },
      event_time: { type: "string", description: "RFC 3339 with an offset or Z" },
      event_time_ms: INTEGER,
      event_time_us: INTEGER,
      event_time_ns: INTEGER,
      ingest_time: {
        type: "string",
        description: "When it was first seen; the arrival clock where it is not given",
      },
      ingest_time_ms: INTEGER,
      ingest_time_us: INTEGER,
      ingest_time_ns: INTEGER,
      seq: { type: ["integer", "string"], description: "The producer's number for the crossing" },
      attributes: { description: "Any JSON up to 16 KiB: carried through to the trigger" },
    },
    required: ["kind"],
  },
  CloudEvent: {
    type: "object",
    description: "A CloudEvent 1.0 with a transition as its data",
    properties: {
      specversion: { const: "1.0" },
      id: { type: "string" },
      source: { type: "string" },
      type: { type: "string" },
      data: ref("Transition"),
      data_base64: { type: "string" },
    },
    required: ["specversion", "id", "source", "type"],
  },
  TransitionsAnswer: closed({
    taken: { ...COUNT, description: "All but the refused" },
    accepted: COUNT,
    suppressed: COUNT,
    dead_lettered: COUNT,
    refused: COUNT,
    skipped: { ...COUNT, description: "Messages that are no transition, by source.format" },
    outcomes: {
      type: "array",
      description:
        "Of each record, in its order. Of a message with several crossings: dead_lettered if one of " +
        "them is, else accepted if one is new",
      items: { enum: ["accepted", "suppressed", "dead_lettered", "refused", "skipped"] },
    },
    dead_letters: {
      type: "array",
      items: closed({
        record: { type: "integer", minimum: 1, description: "Its place in outcomes, from 1" },
        reason: { enum: DEAD_LETTER_REASONS },
        detail: { type: "string" },
      }),
    },
  }),
  Threshold: closed(
    {
      after_s: { type: "number", exclusiveMinimum: 0 },
      event_time: { ...TIME, description: "The DWELL's event time, and its deadline" },
      id: { ...ID, description: "The DWELL's id" },
    },
    { contradicted: { const: true } },
  ),
  Waiting: closed(
    { kind: { enum: ["ENTER", "EXIT", "STALE"] }, event_time: TIME },
    { held_until: { ...TIME, description: "Of one that came late: the watermark at which it is taken" } },
    "A record that the dwell logic has not applied yet",
  ),
  Pair: closed(PAIR),
  PairAnswer: closed({ watermark: WATERMARK, ...PAIR }),
  DeviceAnswer: closed({
    device_id: NAME,
    watermark: WATERMARK,
    pairs_count: { type: "integer", minimum: 1, description: "At most 1,000 pairs are shown" },
    pairs: {
      type: "array",
      items: ref("Pair"),
      minItems: 1,
      maxItems: 1000,
      description: "Those inside first, then those last seen",
    },
  }),
  Trigger: closed(
    {
      id: ID,
      kind: { enum: ["ENTER", "EXIT", "DWELL", "RETRACT"] },
      device_id: NAME,
      fence_id: NAME,
      event_time: TIME,
    },
    {
      entered_at: TIME,
      dwell_s: { type: "number" },
      visit_s: { type: "number" },
      attributes: {},
      seq: { type: "string" },
      late: { const: true },
      beyond_window: { const: true },
      revises: ID,
    },
  ),
  Gap: closed(
    { last_event_id: { type: "string" }, reason: { type: "string" } },
    {},
    "What a client had seen last is not in memory any more: what came behind it may be missing",
  ),
  DeadLettersAnswer: closed({
    dead_letters: {
      type: "array",
      maxItems: 100,
      description: "The newest first",
      items: closed(
        {
          at: TIME,
          reason: { enum: DEAD_LETTER_REASONS },
          detail: { type: "string" },
          source: { type: "string" },
          position: { description: "Where the record was in its source" },
        },
        {
          record: { type: "string", maxLength: 1000 },
          record_base64: { type: "string", maxLength: 1000, description: "Of one that is not UTF-8" },
          clipped: { const: true, description: "There was more of it" },
        },
      ),
    },
  }),
  Alive: closed({ status: { const: "alive" } }),
  Ready: closed({ status: { const: "ready" } }),
  NotReady: closed({ status: { const: "not ready" }, reason: { type: "string" } }),
  Status: { type: "object", description: "A snapshot for the page: its members may change" },
  Problem: closed(
    {
      type: { const: "about:blank" },
      title: { type: "string" },
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: { type: "string", description: "A sentence for whoever reads the client's log" },
    },
    {},
    "By RFC 9457",
  ),
};
