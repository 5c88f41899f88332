/**
 * What is read, described.
 *
 * @module
 */
import { type Described, json, problemOf } from "./responses.ts";

const ID = { type: "string", minLength: 1, maxLength: 256 };
const DEVICE = { name: "device", in: "path", required: true, description: "Percent-encoded", schema: ID };
const FENCE = { ...DEVICE, name: "fence" };

const PAIR = {
  device_id: "truck-7",
  fence_id: "depot-3",
  inside: true,
  entered_at: "2026-11-30T20:30:00.123000Z",
  left_at: null,
  ended_by: null,
  entry_id: "24b0a3c7d9f4e8215f0c6b7d8e9fa0b1",
  told: [],
  pending: [{
    after_s: 600,
    event_time: "2026-11-30T20:40:00.123000Z",
    id: "9f0c6b7d8e9fa0b124b0a3c7d9f4e821",
  }],
  waiting: [],
  waiting_count: 0,
  last_seen: "2026-11-30T20:30:00.123000Z",
};
const WATERMARK = "2026-11-30T20:34:55.000000Z";

const NO_ID = problemOf("An id has more than 256 bytes, or none");
const NOT_NOW = problemOf("It is being restored, or an output is stuck", { retry: true });
const ELSEWHERE =
  "Where several hosts share a topic, each knows the devices of its partitions: another one may have it.";

/** By method and path. */
export const READ_OPERATIONS: Readonly<Record<string, Described>> = {
  "GET /v1/pairs/:device/:fence": {
    operationId: "getPair",
    tags: ["reading"],
    summary: "One device and one fence",
    description: `As of the watermark: records behind it are in \`waiting\`. ${ELSEWHERE}`,
    parameters: [DEVICE, FENCE],
    responses: {
      "200": json("What is known", "PairAnswer", { watermark: WATERMARK, ...PAIR }),
      "400": NO_ID,
      "404": problemOf("Nothing is known of it here; it says for how long it would be"),
      "503": NOT_NOW,
    },
  },
  "GET /v1/devices/:device": {
    operationId: "getDevice",
    tags: ["reading"],
    summary: "Where a device is",
    description: `All of its pairs, found by a search through all pairs of its partition. ${ELSEWHERE}`,
    parameters: [DEVICE],
    responses: {
      "200": json("What is known", "DeviceAnswer", {
        device_id: PAIR.device_id,
        watermark: WATERMARK,
        pairs_count: 1,
        pairs: [PAIR],
      }),
      "400": NO_ID,
      "404": problemOf("Nothing is known of it here; it says for how long it would be"),
      "503": NOT_NOW,
    },
  },
  "GET /v1/triggers": {
    operationId: "listenToTriggers",
    tags: ["reading"],
    summary: "Triggers as they leave",
    description:
      "Server-sent events of triggers that are durable: `id` is the trigger's id, `event` its kind, `data` " +
      "the trigger (schema Trigger). It begins with what comes next, or behind Last-Event-ID; where that is not in " +
      "memory any more, or was never there, with an event `gap` (schema Gap) and all that is. What comes twice has " +
      "the same id. Comments come while there is nothing to say. Who reads too slowly is cut off.",
    parameters: [
      {
        name: "Last-Event-ID",
        in: "header",
        description: "The last id that was seen",
        schema: { type: "string" },
      },
      {
        name: "last_event_id",
        in: "query",
        description: "The same, where headers can't be sent; the header comes first",
        schema: { type: "string" },
      },
      {
        name: "kind",
        in: "query",
        description: "ENTER, EXIT, DWELL, RETRACT: several by commas or by giving it again",
        schema: { type: "array", items: { type: "string" } },
        style: "form",
        explode: false,
      },
      {
        name: "fence",
        in: "query",
        description: "A pattern in which * stands for anything; up to 16",
        schema: { type: "array", items: ID, maxItems: 16 },
      },
      { name: "device", in: "query", schema: ID },
    ],
    responses: {
      "200": {
        description: "Events, until either side ends it",
        content: {
          "text/event-stream": {
            schema: { type: "string" },
            example:
              `id: 9f0c6b7d8e9fa0b124b0a3c7d9f4e821\nevent: DWELL\ndata: {"id":"9f0c6b7d8e9fa0b124b0a3c7d9f4e821",` +
              `"kind":"DWELL","device_id":"truck-7","fence_id":"depot-3","event_time":"2026-11-30T20:40:00.123000Z",` +
              `"entered_at":"2026-11-30T20:30:00.123000Z","dwell_s":600}\n\n`,
          },
        },
      },
      "400": problemOf("A filter is none"),
      "503": problemOf("Too many listen (http.streams_max), or it is stopping", { retry: true }),
    },
  },
  "GET /v1/dead-letters/recent": {
    operationId: "recentDeadLetters",
    tags: ["reading"],
    summary: "The last dead letters",
    description: "At most 100, since this process began; `fencepost dead-letters list` shows all there are.",
    responses: { "200": json("The newest first", "DeadLettersAnswer") },
  },
  "GET /v1/status": {
    operationId: "getStatus",
    tags: ["operation"],
    summary: "What the page shows",
    parameters: [{
      name: "history",
      in: "query",
      description: "Where it is given: the samples of the last quarter of an hour as well, by column",
      schema: { type: "string" },
    }],
    responses: { "200": json("A snapshot", "Status") },
  },
  "GET /metrics": {
    operationId: "getMetrics",
    tags: ["operation"],
    summary: "Metrics for Prometheus",
    description: "Without a token too, where http.metrics_open is true.",
    responses: {
      "200": {
        description: "The text format",
        content: {
          "text/plain": { schema: { type: "string" } },
          "application/openmetrics-text": { schema: { type: "string" } },
        },
      },
    },
  },
};
